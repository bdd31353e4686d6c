"""Splits a reply into sentences, clauses and case-folded words, in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# Everything that separates words: punctuation and symbols of the supported scripts. ``\W`` would
# split the vowel signs off Devanagari letters. Apostrophes and hyphens are parts of words.
_SEPARATORS = (
    r"\s!-&(-,./:-@\[-`{-~\u00a1-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7"
    r"\u2010-\u2018\u201a-\u206f\u2190-\u2bff\u3000-\u3004\u3008-\u3020\u30fb\ufe00-\ufe0f"
    r"\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\U0001f000-\U0001faff"
)
_WORD = re.compile(rf"[^{_SEPARATORS}]+")
# A full stop inside a number does not end a sentence.
_SENTENCE_END = re.compile(r"\.(?!\d)|[!?\n;。！？؟।॥۔]|\.(?=\d)(?<!\d\.)")
_CLAUSE_END = re.compile(r"[,:()|/،、「」『』\[\]\u2012-\u2015]|\s--?\s")
_QUESTION_MARKS = frozenset("?？؟")
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
    """The part of a sentence between two separators."""

    words: tuple[str, ...]
    separator: str
    """The separator before it: ``,``, ``/`` …; empty at the start of the sentence."""


class Sentence(NamedTuple):
    """The clauses of a sentence that is not a question."""

    clauses: tuple[Clause, ...]
    end: str
    """The character that ended it: ``.``, a line break …; empty at the end of the text."""
    is_numbered: bool
    """Whether a digit follows the full stop, as in "No. 5"."""

    @property
    def words(self) -> list[str]:
        """All words of the sentence, in order."""
        return [word for clause in self.clauses for word in clause.words]


def fold_word(word: str) -> str:
    """Folds the case of a word; a Turkish dotted capital I becomes a plain i."""
    return word.casefold().replace("i\u0307", "i").strip("'-")


def split_words(text: str) -> tuple[str, ...]:
    """Returns the folded words of a text, with English contractions written out."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        word = fold_word(match.group())
        if word in _CONTRACTIONS:
            found += _CONTRACTIONS[word].split()
        elif word.endswith("n't") and len(word) > 3:
            found += [word[:-3], "not"]
        elif word:
            found.append(word)
    return tuple(found)


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yields the sentences of a cleaned text in order, without questions."""
    start = 0
    for stop in _SENTENCE_END.finditer(text):
        if stop.start() > start and stop.group() not in _QUESTION_MARKS:
            following = text[stop.end() : stop.end() + 2].lstrip(" ")
            yield Sentence(
                tuple(_split_clauses(text[start : stop.start()])),
                stop.group(),
                stop.group() == "." and following[:1].isdigit(),
            )
        start = stop.end()
    if text[start:].strip():
        yield Sentence(tuple(_split_clauses(text[start:])), "", False)


def _split_clauses(text: str) -> Iterator[Clause]:
    start, before = 0, ""
    for stop in _CLAUSE_END.finditer(text):
        words = split_words(text[start : stop.start()])
        if words:
            yield Clause(words, before)
            before = ""
        # Of several separators in a row, "/" or "|" is kept: it shows a list of alternatives.
        mark = stop.group().strip()
        before = before if before in ("/", "|") else mark
        start = stop.end()
    words = split_words(text[start:])
    if words:
        yield Clause(words, before)
