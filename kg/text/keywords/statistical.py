"""Keywords by YAKE: statistics of the text alone, no model, no other texts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from kg.base.overhearing import overheard
from kg.text.chunks import Chunk
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.normaliser import FUNCTION_WORDS, mend, normalise, words

LONGEST = 3
"""Words a keyword has at most."""
DEDUP = 0.9
"""Of two keywords more alike than this, the worse one goes; likeness as YAKE's ``seqm`` has it."""
MAX_KEYWORD = 100
"""Characters a keyword has at most: longer ones are file names, hashes and the like."""
LANGUAGE = "en"
"""Of chunks that name none."""

_BORDER = re.compile(r"\n{2,}|\n(?=\s*(?:[-*•]|\d+[.)]) )")
"""Between paragraphs, and before the items of a list."""
_TERM = re.compile(r"[^\W_]+(?:[-+#]+[^\W_]+)*(?:\+{1,2}|#)?")
_MOST_TERM = 40
"""Characters of a term that is kept whole."""


class Yake:
    """YAKE's keywords of each chunk by itself.

    R. Campos et al., YAKE! Keyword extraction from single documents using multiple local features,
    Information Sciences 509, 2020. Features and ranking are the library's. It drops words that
    hold digits or signs and words of two letters; but "2PL", "B+-tree", "C++" and "ER" are what
    texts are about, so these are put to it as ordinary words and put back in what it finds.

    Args:
        top_n: keywords a chunk has at most; None: the whole part of the square root of its
            characters.
    """

    name = "yake"

    def __init__(self, top_n: int | None = None) -> None:
        self.top_n = top_n
        self.failed = 0

    def params(self) -> dict[str, object]:
        """What decides the keywords."""
        from importlib.metadata import version

        return {
            "top_n": self.top_n,
            "longest": LONGEST,
            "dedup": DEDUP,
            "version": version("yake"),
        }

    def extract(
        self, chunks: Sequence[Chunk], on_done: Callable[[ChunkKeywords], None]
    ) -> list[ChunkKeywords]:
        """As the protocol says; a chunk of function words has no keywords.

        The chunk's language, where its metadata names one, chooses the function words; else they
        are English.
        """
        found = []
        for chunk in chunks:
            row = ChunkKeywords(chunk.id, tuple(self._keywords(chunk)))
            on_done(row)
            found.append(row)
        return found

    def _keywords(self, chunk: Chunk) -> list[str]:
        text = mend(chunk.text).casefold()
        wanted = self.top_n or math.isqrt(len(chunk.text))
        kept: dict[str, str] = {}
        with overheard("yake") as complaints:
            ranked = _ranked(chunk, 2 * wanted)
        if complaints:  # whatever goes wrong in it, it logs, and returns nothing
            self.failed += 1
        for keyword in ranked:
            key = normalise(keyword)
            # What the library puts together again need not stand in the text like this.
            if key and key not in kept and len(keyword) <= MAX_KEYWORD:
                if keyword.casefold() in text:
                    kept[key] = keyword
                if len(kept) == wanted:
                    break
        return list(kept.values())


def _ranked(chunk: Chunk, top: int) -> list[str]:
    """The library's keywords of a chunk, best first."""
    from yake import KeywordExtractor

    language = str(chunk.metadata.get("language", LANGUAGE))[:2].lower()
    # A border ends a sentence, also where no full stop says so: after headings and items.
    text = " . ".join(mend(piece) for piece in _BORDER.split(chunk.text))
    terms = _Terms()
    library = KeywordExtractor(
        lan=language if language.isalpha() else LANGUAGE,
        n=LONGEST,
        dedup_lim=DEDUP,
        dedup_func="seqm",
        window_size=1,
        top=top,
    )
    found = library.extract_keywords(_TERM.sub(terms.stand_in, text))
    return [terms.put_back(keyword) for keyword, _ in found]


class _Terms:
    """The terms of one chunk that YAKE would drop, and the words that stand in for them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms: dict[str, str] = {}

    def stand_in(self, found: re.Match[str]) -> str:
        """A word of letters, the same for plural and singular but for its s, with its capitals."""
        term = found[0]
        if not _is_dropped(term):
            return term
        key = normalise(term)
        letters = _letters(self._numbers.setdefault(key, len(self._numbers)))
        word = f"qz{letters}zq"
        if term.isupper():
            word = word.upper()
        elif term[0].isupper():
            word = word.capitalize()
        if not key.endswith("s") and term.endswith("s"):
            word += "s"
        self._terms[word] = term
        return word

    def put_back(self, keyword: str) -> str:
        return " ".join(self._terms.get(word, word) for word in keyword.split(" "))


def _is_dropped(term: str) -> bool:
    """Whether a term is one that YAKE drops and a reader would not."""
    if len(term) > _MOST_TERM or not any(char.isalpha() for char in term):
        return False
    if len(term) == 2 and term.isupper():
        return term.casefold() not in FUNCTION_WORDS
    return any(char.isdigit() for char in term) or any(word[-1] in "+#" for word in words(term))


def _letters(number: int) -> str:
    """A number in letters: 0 is a, 25 is z, 26 is ba."""
    rest, last = divmod(number, 26)
    return (_letters(rest) if rest else "") + chr(ord("a") + last)
