"""Splits a text into statements: its sentences, without questions and headers of search results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from eval.questions.lexical_answerer import NEGATIONS, find_names
from kg.base.plain_text import to_one_line
from kg.words.normaliser import (
    extract_content_words,
    normalise_phrase,
    split_cased_words,
    split_words,
)

MAX_CHARS = 200_000
"""Maximum number of characters of a text that are read."""
MAX_STATEMENTS = 2_000
"""Maximum number of statements of a text."""

HEDGES = frozenset(
    """may might could perhaps maybe possibly probably likely unlikely presumably apparently
    allegedly reportedly supposedly seemingly seem seems suggest suggests suspect suspected appear
    appears unclear uncertain unconfirmed believe believes believed assume assumed rumoured rumored
    """.split()  # noqa: SIM905 - easier to read than many quoted strings
)
"""Words that mark a sentence as uncertain. "Can" and "would" are not among them, because they are
also used for certain statements."""

_ABBREVIATIONS = frozenset(
    "e.g. i.e. vs. cf. etc. approx. ca. no. fig. dr. mr. mrs. ms. prof. st. inc. ltd.".split()  # noqa: SIM905
)
_CLOSING = "\"'”’)]"
_OPENING = "\"'“‘(["
# A search result has the lines "[Result 1]", "Title: …", "URL: …" and "Content: …".
_RESULT_NUMBER = re.compile(r"^\[Result \d+\]$", re.MULTILINE)
_RESULT_HEADER = re.compile(r"\[Result \d+\]|Title:.*|URL:.*")
_TITLE = re.compile(r"Title:(.*)")
_LINE_PREFIX = re.compile(r"\s*(?:Content:|[-*•·]|\d{1,3}[.)])\s+")
"""The word "Content:", a bullet or a number at the start of a line."""
_SINGLE_LETTER = re.compile(r"[^\W\d_]\.")
"""An initial, as in "J. Smith"; its full stop does not end a sentence."""


def split_statements(text: str) -> list[str]:
    """Returns the distinct sentences of ``text`` in order, each on one line, without questions.

    A sentence ends at the end of its line, at "…" and "...", and at a full stop that does not
    belong to an abbreviation. Number, title and address of a search result are not statements. At
    most ``MAX_CHARS`` characters are read and at most ``MAX_STATEMENTS`` returned.
    """
    statements: dict[str, str] = {}
    text = text[:MAX_CHARS]
    has_search_results = _RESULT_NUMBER.search(text) is not None
    for line in text.splitlines():
        if has_search_results and _RESULT_HEADER.fullmatch(line):
            continue
        for sentence in _split_sentences(line):
            if len(statements) == MAX_STATEMENTS:
                return list(statements.values())
            # Sentences that differ only in punctuation and case count as one; those without
            # content words are dropped.
            if not sentence.rstrip(_CLOSING).endswith("?") and extract_content_words(sentence):
                statements.setdefault(normalise_phrase(sentence), sentence)
    return list(statements.values())


def find_titles(text: str) -> list[str]:
    """Returns the titles of the search results in ``text``; they name what the text is about."""
    text = text[:MAX_CHARS]
    if not _RESULT_NUMBER.search(text):
        return []
    matches = map(_TITLE.fullmatch, text.splitlines())
    return [to_one_line(title[1]) for title in matches if title]


def select_asking_sentences(question: str) -> str:
    """Returns the sentences of a question that end in a question mark; all of it if none does.

    The other sentences only give background.
    """
    asking_sentences = [
        sentence
        for sentence in _split_sentences(question)
        if sentence.rstrip(_CLOSING).endswith("?")
    ]
    return " ".join(asking_sentences) or to_one_line(question)


def _split_sentences(line: str) -> Iterator[str]:
    prefix = _LINE_PREFIX.match(line)
    words = to_one_line(line[prefix.end() if prefix else 0 :]).split(" ")
    sentence: list[str] = []
    for word, next_word in pairwise([*words, ""]):
        sentence.append(word)
        if _ends_sentence(word, next_word):
            yield " ".join(sentence)
            sentence = []
    if sentence:
        yield " ".join(sentence)


def _ends_sentence(word: str, next_word: str) -> bool:
    """Returns whether a sentence ends with ``word`` if ``next_word`` follows it."""
    stripped = word.rstrip(_CLOSING)
    if stripped.endswith(("…", "...")):
        return True
    if not stripped.endswith((".", "!", "?")) or stripped.lower() in _ABBREVIATIONS:
        return False
    initial = next_word.lstrip(_OPENING)[:1]
    return not _SINGLE_LETTER.fullmatch(stripped) and (initial.isupper() or initial.isdigit())


def is_hedged(statement: str) -> bool:
    """Returns whether a statement contains a word that marks it as uncertain."""
    return not HEDGES.isdisjoint(split_words(statement))


def extract_subject_words(statement: str) -> frozenset[str]:
    """Returns the stemmed content words of a statement, without negations."""
    return frozenset(extract_content_words(statement)) - NEGATIONS


def find_written_names(text: str) -> list[str]:
    """Returns the distinct names and numbers of a text as written; adjacent ones form one name.

    Names are words with a capital or a digit. The first word of a sentence counts only if it has a
    digit or another capital: "PostgreSQL" does, "Why" does not.
    """
    names: list[str] = []
    for sentence in _split_sentences(text):
        name_words: list[str] = []
        for position, word in enumerate(split_cased_words(sentence)):
            has_name_mark = any(char.isupper() or char.isdigit() for char in word[1:])
            if find_names(word) and (position or has_name_mark or word[0].isdigit()):
                name_words.append(word)
            elif name_words:
                names.append(" ".join(name_words))
                name_words = []
        if name_words:
            names.append(" ".join(name_words))
    return list(dict.fromkeys(names))
