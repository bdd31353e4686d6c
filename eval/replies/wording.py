"""Cuts a reply into sentences, clauses and folded words, whatever the script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# Everything that separates words: punctuation and symbols of the scripts we read. Not ``\W``, which
# would tear the vowel signs off Devanagari letters. Apostrophes and hyphens belong to words.
_SEPARATORS = (
    r"\s!-&(-,./:-@\[-`{-~\u00a1-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7"
    r"\u2010-\u2018\u201a-\u206f\u2190-\u2bff\u3000-\u3004\u3008-\u3020\u30fb\ufe00-\ufe0f"
    r"\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\U0001f000-\U0001faff"
)
_WORD = re.compile(rf"[^{_SEPARATORS}]+")
# A full stop inside a number ends nothing.
_SENTENCE_END = re.compile(r"\.(?!\d)|[!?\n;。！？؟।॥۔]|\.(?=\d)(?<!\d\.)")
_CLAUSE_END = re.compile(r"[,:()|/،、「」『』\[\]\u2012-\u2015]|\s--?\s")
_ASKING = frozenset("?？؟")
_CONTRACTIONS = {
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "cant": "can not",
    "dont": "do not",
    "doesnt": "does not",
    "didnt": "did not",
    "isnt": "is not",
    "i'm": "i am",
    "im": "i am",
    "i'd": "i would",
    "i've": "i have",
    "i'll": "i will",
    "we're": "we are",
    "we've": "we have",
    "it's": "it is",
    "that's": "that is",
    "there's": "there is",
    "what's": "what is",
}


class Clause(NamedTuple):
    """A stretch of a sentence between two pauses."""

    words: tuple[str, ...]
    before: str
    """The pause before it: ``,``, ``/`` …; empty at the start of the sentence."""


class Sentence(NamedTuple):
    """A sentence as clauses; never a question, since questions are left out."""

    clauses: tuple[Clause, ...]
    end: str
    """What ended it: ``.``, a line break …; empty at the end of the text."""
    numbered: bool
    """A digit follows at once, as in "No. 5"."""

    @property
    def words(self) -> list[str]:
        """All its words in order."""
        return [word for clause in self.clauses for word in clause.words]


def fold(word: str) -> str:
    """A word without case; Turkish dotted and Latin capitals alike."""
    return word.casefold().replace("i\u0307", "i").strip("'-")


def words_in(text: str) -> tuple[str, ...]:
    """The folded words of a text, English contractions written out."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        word = fold(match.group())
        if word in _CONTRACTIONS:
            found += _CONTRACTIONS[word].split()
        elif word.endswith("n't") and len(word) > 3:
            found += [word[:-3], "not"]
        elif word:
            found.append(word)
    return tuple(found)


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a cleaned text in order, questions left out."""
    start = 0
    for stop in _SENTENCE_END.finditer(text):
        if stop.start() > start and stop.group() not in _ASKING:
            following = text[stop.end() : stop.end() + 2].lstrip(" ")
            yield Sentence(
                tuple(_clauses(text[start : stop.start()])),
                stop.group(),
                stop.group() == "." and following[:1].isdigit(),
            )
        start = stop.end()
    if text[start:].strip():
        yield Sentence(tuple(_clauses(text[start:])), "", False)


def _clauses(text: str) -> Iterator[Clause]:
    start, before = 0, ""
    for stop in _CLAUSE_END.finditer(text):
        words = words_in(text[start : stop.start()])
        if words:
            yield Clause(words, before)
            before = ""
        # Of several pauses in a row the one that lists alternatives is the telling one.
        mark = stop.group().strip()
        before = before if before in ("/", "|") else mark
        start = stop.end()
    words = words_in(text[start:])
    if words:
        yield Clause(words, before)
