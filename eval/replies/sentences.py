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
# A full stop inside a number does not end a sentence, but one before a number may ("No. 5").
_SENTENCE_END = re.compile(r"\.(?!\d)|[!?\n;。！？؟।॥۔]|\.(?=\d)(?<!\d\.)")
# Punctuation between clauses: commas, colons, brackets, slashes and dashes.
_CLAUSE_BOUNDARY = re.compile(r"[,:()|/،、「」『』\[\]\u2012-\u2015]|\s--?\s")
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
    words: list[str] = []
    for match in _WORD.finditer(text):
        word = fold_word(match.group())
        if word in _CONTRACTIONS:
            words += _CONTRACTIONS[word].split()
        elif word.endswith("n't") and len(word) > 3:
            words += [word[:-3], "not"]
        elif word:
            words.append(word)
    return tuple(words)


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yields the sentences of a cleaned text in order, without questions."""
    start = 0
    for boundary in _SENTENCE_END.finditer(text):
        if boundary.start() > start and boundary.group() not in _QUESTION_MARKS:
            next_chars = text[boundary.end() : boundary.end() + 2].lstrip(" ")
            yield Sentence(
                tuple(_split_clauses(text[start : boundary.start()])),
                boundary.group(),
                boundary.group() == "." and next_chars[:1].isdigit(),
            )
        start = boundary.end()
    if text[start:].strip():
        yield Sentence(tuple(_split_clauses(text[start:])), "", False)


def _split_clauses(text: str) -> Iterator[Clause]:
    start, last_separator = 0, ""
    for boundary in _CLAUSE_BOUNDARY.finditer(text):
        words = split_words(text[start : boundary.start()])
        if words:
            yield Clause(words, last_separator)
            last_separator = ""
        # Of several separators in a row, "/" or "|" is kept: it shows a list of alternatives.
        separator = boundary.group().strip()
        last_separator = last_separator if last_separator in ("/", "|") else separator
        start = boundary.end()
    words = split_words(text[start:])
    if words:
        yield Clause(words, last_separator)
