"""The passages that facts were extracted from, and the words in them that state each fact.

With it, cards are proved twice: by the graph, and by what the passages say. What a passage states
is not unknown, and a fact that is set aside must not stand in the passages that systems read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kg.base.errors import DuplicateIdError
from kg.base.files import iter_records
from kg.claims import Claim
from kg.words.name_forms import ARTICLES, normalise_name
from kg.words.sentences import split_sentences

_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SIGN_NAMES: Final = {"+": "plus", "#": "sharp"}
_FINAL_SIGNS: Final = re.compile(r"(?<=\w)[+#]+(?!\w)")

MAX_TITLE_CHARS: Final = 120


class SourcePassage(msgspec.Struct, frozen=True):
    """A passage of a document."""

    id: str
    text: str
    title: str = ""

    @property
    def words(self) -> str:
        """The words of title and text in a form for comparison, see ``pad_words``."""
        return pad_words(f"{self.title} {self.text}")


class Quote(msgspec.Struct, frozen=True):
    """The words of a passage that state a fact."""

    subj: str
    pred: str
    obj: str
    passage: str
    text: str

    @property
    def claim(self) -> Claim:
        """The fact."""
        return Claim(self.subj, self.pred, self.obj)


def read_passages(path: Path) -> list[SourcePassage]:
    """Reads passages, one JSON object per line, with ``id``, ``text`` and perhaps ``title``.

    Args:
        path: the file, or a run of ``epoche kg build``, whose chunks are the passages, without
            their blocks of code, which state nothing.

    Raises:
        MissingFileError: no such file.
        RecordError: a line is not such an object.
        DuplicateIdError: two passages have the same id.
        RunFolderError: the run cannot be opened.
    """
    if path.is_dir():
        from kg.text.run.folder import open_run

        return [
            SourcePassage(chunk.id, chunk.prose, chunk.headings) for chunk in open_run(path).chunks
        ]
    passages = list(iter_records(path, "passage", _parse_passage))
    seen: set[str] = set()
    for passage in passages:
        if passage.id in seen:
            raise DuplicateIdError(f"two passages have the id {passage.id!r}", where=str(path))
        seen.add(passage.id)
    return passages


def _parse_passage(row: dict[str, Any]) -> SourcePassage:
    id_ = row.get("id", row.get("_id"))
    values = {"id": str(id_) if isinstance(id_, int) else id_, "text": row.get("text")}
    passage = msgspec.convert({**values, "title": row.get("title") or ""}, SourcePassage)
    if passage.title:
        return passage
    metadata = row.get("metadata")
    section = metadata.get("section") if isinstance(metadata, dict) else None
    title, text = _split_title(passage.text, section)
    return SourcePassage(passage.id, text, title)


def _split_title(text: str, section: Any) -> tuple[str, str]:
    """Splits a text at its first line, if this is the title, as in corpora without a key for it.

    The line is one if it is the section's name, if a blank line follows, or if the text is one
    other line, whose first word would have fitted beside it.

    Returns:
        The title, empty if there is none, and the text.
    """
    first, _, rest = text.partition("\n")
    body = rest.lstrip("\n")
    if not first or not body.strip():
        return "", text
    if first == section:
        return first, body
    if len(first) > MAX_TITLE_CHARS or not (first[-1].isalnum() or first[-1] == ")"):
        return "", text
    is_one_line = "\n" not in body.rstrip() and "|" not in first
    has_room = len(f"{first} {body.split(maxsplit=1)[0]}") <= len(body) and not body[0].islower()
    return (first, body) if body != rest or (is_one_line and has_room) else ("", text)


def normalise_mention(text: str, articles: Iterable[str] = ARTICLES["en"]) -> str:
    """Normalises a name like ``normalise_name``, with the signs that tell names apart.

    "C++", "C#" and "C" stay different, and "1,233" is "1233".
    """
    text = _THOUSANDS.sub("", text)
    text = _FINAL_SIGNS.sub(lambda match: "".join(_SIGN_NAMES[sign] for sign in match[0]), text)
    return normalise_name(text, articles)


def pad_words(text: str) -> str:
    """Returns the words of a text in a form for comparison, each between spaces."""
    return f" {normalise_mention(text, ())} "


class Evidence:
    """Passages, and quotes of them.

    Args:
        passages: the passages.
        quotes: what states which fact.
        words: the words of passages by their ids, if they are known already.
    """

    def __init__(
        self,
        passages: Sequence[SourcePassage],
        quotes: Iterable[Quote],
        words: Mapping[str, str] | None = None,
    ) -> None:
        self.passages = {passage.id: passage for passage in passages}
        self._words = words or {passage.id: passage.words for passage in passages}
        self._by_word: dict[str, set[str]] = defaultdict(set)
        for id_, text in self._words.items():
            for word in text.split():
                self._by_word[word].add(id_)
        self._quotes: dict[Claim, list[Quote]] = defaultdict(list)
        for quote in quotes:
            self._quotes[quote.claim].append(quote)

    @classmethod
    def load(cls, passages: Path, quotes: Path) -> Evidence:
        """Reads passages and quotes.

        Raises:
            EpocheError: a file is missing or not valid.
        """
        rows = iter_records(quotes, "quote", lambda row: msgspec.convert(row, Quote))
        return cls(read_passages(passages), rows)

    def list_quotes(self, claim: Claim) -> list[Quote]:
        """Lists what states a fact."""
        return self._quotes.get(claim, [])

    def find_passages(self, names: Iterable[str]) -> set[str]:
        """Finds the passages that mention one of some names."""
        found: set[str] = set()
        for name in names:
            phrase = pad_words(name)
            words = phrase.split()
            if words:
                candidates = set.intersection(*(self._by_word.get(w, set()) for w in words))
                found |= {id_ for id_ in candidates if phrase in self._words[id_]}
        return found

    def find_mentions(self, subject: Iterable[str], target: Iterable[str]) -> set[str]:
        """Finds the passages that mention both ends of a claim, by any of their names."""
        return self.find_passages(subject) & self.find_passages(target)

    def remove_mentions(
        self, claims: Mapping[Claim, tuple[Sequence[str], Sequence[str]]]
    ) -> Evidence:
        """Returns the evidence without the sentences that could state some claims.

        Of each passage that mentions both ends, or is quoted for the claim, every sentence that
        mentions the object is removed.

        Args:
            claims: claim → names of its subject and of its object.
        """
        removed: dict[str, set[str]] = defaultdict(set)
        for claim, (subject, target) in claims.items():
            quoted = {quote.passage for quote in self.list_quotes(claim)}
            for id_ in quoted | self.find_mentions(subject, target):
                removed[id_] |= {pad_words(name) for name in target}
        passages, texts = [], {}
        for passage in self.passages.values():
            words = self._words[passage.id]
            phrases = removed.get(passage.id)
            if phrases:
                text = _remove_sentences(passage.text, phrases)
                has_name = any(phrase in pad_words(passage.title) for phrase in phrases)
                title = "" if has_name else passage.title
                passage = SourcePassage(passage.id, text, title)
                words = passage.words
            if passage.text:
                passages.append(passage)
                texts[passage.id] = words
        quotes = [
            quote
            for group in self._quotes.values()
            for quote in group
            if pad_words(quote.text) in texts.get(quote.passage, "")
        ]
        return Evidence(passages, quotes, texts)


def _remove_sentences(text: str, phrases: Collection[str]) -> str:
    """Returns a text without the sentences that contain a phrase, see ``pad_words``.

    Nothing is left of a text in which a phrase goes on from one sentence to the next.
    """
    left = "".join(
        sentence
        for sentence in split_sentences(text)
        if not any(phrase in pad_words(sentence) for phrase in phrases)
    ).strip()
    words = pad_words(left)
    return "" if any(phrase in words for phrase in phrases) else left
