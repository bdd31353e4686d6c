"""Finds names and noun phrases in sentences by rules, without a tagger.

* A **name** is a sequence of capitalised words, which may contain numbers and small words such as
  "of" ("Battle of Hastings", "Publix Super Markets", "2PL"). A single capitalised word at the start
  of a sentence counts only if the documents capitalise it elsewhere too.
* A **noun phrase** is a sequence of two or three content words that stands alone, between function
  words or signs, at least twice in the documents ("buffer pool"); wherever it occurs, it counts.

Names are English, and of other languages that capitalise names alone. In German, every noun is a
name by these rules. Scripts without capitals have no names, only noun phrases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kg.words.normaliser import FUNCTION_WORDS, normalise_phrase, stem_word

MAX_PHRASE_WORDS: Final = 12
"""Maximum number of words of a name; a longer sequence is a table or a heading in capitals."""
MIN_OCCURRENCES: Final = 2
"""How often a noun phrase must stand alone in the documents."""
_NOUN_PHRASE_LENGTHS: Final = (3, 2)
# A word with its inner signs and final signs, or one other sign: "O'Neill", "B+-tree", "C++".
_TOKEN: Final = re.compile(r"[^\W_]+(?:[.'’&+#/-]+[^\W_]+)*[+#]*|[^\w\s]")
_POSSESSIVE: Final = re.compile(r"['’]s?$")
_INNER_WORDS: Final = frozenset(
    "of the de la le du des van von der den di da del al el for in on and".split()  # noqa: SIM905
)
"""Words that a name may contain."""
_WEAK_INNER_WORDS: Final = frozenset(("for", "in", "on", "and"))
"""Inner words that do not join two names by themselves: "Paris and London" are two."""
_MAX_INNER_WORDS: Final = 2
_NO_NAMES: Final = FUNCTION_WORDS | frozenset(
    """he she they we you i him them us me his her our your my not no yes so such also however while
    after before during when since until although though because there here both each every some any
    all most many few several other another more less one two three four five six seven eight nine
    ten another just only even still again once about over under between through despite""".split()  # noqa: SIM905
)
"""Words that are no names, and no part of noun phrases, even if capitalised."""


class Token(NamedTuple):
    """A word or sign of a sentence."""

    text: str
    start: int
    end: int

    @property
    def is_content_word(self) -> bool:
        """Whether it is a word that a phrase may begin or end with."""
        return self.text[0].isalnum() and self.text.casefold() not in _NO_NAMES

    @property
    def is_capitalised(self) -> bool:
        """Whether it has a capital letter and may be part of a name."""
        return self.is_content_word and any(char.isupper() for char in self.text)


class Phrase(NamedTuple):
    """A name or noun phrase in a sentence."""

    text: str
    form: str
    """Its normal form; see ``normalise_phrase``."""
    start: int
    end: int


class PhraseFinder:
    """Finds phrases with the statistics of all documents.

    Args:
        sentences: all sentences of the documents.
        known_names: further names, such as titles.
    """

    def __init__(self, sentences: Iterable[str], known_names: Iterable[str] = ()) -> None:
        self._names = {normalise_phrase(name) for name in known_names}
        counts: Counter[str] = Counter()
        for sentence in sentences:
            tokens = tokenise(sentence)
            for first, last in _iter_names(sentence, tokens):
                if first > 0 or last > first:
                    self._names.add(_make_phrase(sentence, tokens, first, last).form)
            counts.update(_iter_lone_runs(tokens))
        self._noun_phrases = {run for run, count in counts.items() if count >= MIN_OCCURRENCES}

    def find_phrases(self, sentence: str) -> list[Phrase]:
        """Returns the phrases of a sentence in their order; none overlaps another."""
        tokens = tokenise(sentence)
        phrases: list[Phrase] = []
        covered = [False] * len(tokens)
        for first, last in _iter_names(sentence, tokens):
            phrase = _make_phrase(sentence, tokens, first, last)
            if len(phrase.form) > 1 and (first > 0 or last > first or phrase.form in self._names):
                phrases.append(phrase)
                covered[first : last + 1] = [True] * (last - first + 1)
        words = [_make_key(token) for token in tokens]
        for length in _NOUN_PHRASE_LENGTHS:
            for first in range(len(tokens) - length + 1):
                last = first + length - 1
                run = " ".join(words[first : last + 1])
                if run in self._noun_phrases and not any(covered[first : last + 1]):
                    phrases.append(_make_phrase(sentence, tokens, first, last))
                    covered[first : last + 1] = [True] * length
        return sorted(phrases, key=lambda phrase: phrase.start)


def tokenise(sentence: str) -> list[Token]:
    """Splits a sentence into words and signs."""
    return [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(sentence)]


def _iter_names(sentence: str, tokens: Sequence[Token]) -> Iterable[tuple[int, int]]:
    """Yields the first and last token of each sequence that looks like a name."""
    index = 0
    while index < len(tokens):
        if not tokens[index].is_capitalised:
            index += 1
            continue
        last = index
        while (following := _find_continuation(sentence, tokens, last)) is not None:
            last = following
        if last - index < MAX_PHRASE_WORDS:
            yield index, last
        index = last + 1


def _find_continuation(sentence: str, tokens: Sequence[Token], last: int) -> int | None:
    """Returns the next token of a name that goes on after the token ``last``."""
    if _POSSESSIVE.search(tokens[last].text):
        return None
    following = last + 1
    while (
        following < len(tokens)
        and following - last <= _MAX_INNER_WORDS
        and tokens[following].text in _INNER_WORDS
    ):
        following += 1
    if following == len(tokens):
        return None
    token, inner = tokens[following], tokens[last + 1 : following]
    if not inner:
        goes_on = token.is_capitalised or token.text.isdigit()
        return following if goes_on and sentence[tokens[last].end : token.start].isspace() else None
    return following if token.is_capitalised and inner[0].text not in _WEAK_INNER_WORDS else None


def _iter_lone_runs(tokens: Sequence[Token]) -> Iterable[str]:
    """Yields the sequences of content words between other tokens that have the length of a phrase.

    Capitalised words end a sequence, except at the start of the sentence.
    """
    run: list[str] = []
    for index, token in enumerate(tokens):
        if token.is_content_word and (index == 0 or not token.is_capitalised):
            run.append(_make_key(token))
            continue
        if len(run) in _NOUN_PHRASE_LENGTHS:
            yield " ".join(run)
        run = []
    if len(run) in _NOUN_PHRASE_LENGTHS:
        yield " ".join(run)


def _make_key(token: Token) -> str:
    return stem_word(token.text.casefold()) if token.is_content_word else token.text


def _make_phrase(sentence: str, tokens: Sequence[Token], first: int, last: int) -> Phrase:
    start, end = tokens[first].start, tokens[last].end
    # A sentence may contain the break of a wrapped line.
    text = " ".join(_POSSESSIVE.sub("", sentence[start:end]).split())
    return Phrase(text, normalise_phrase(text), start, end)
