"""Splits a text into statements: its sentences, without questions and headers of search results.

Everything that works by rules uses this: the rule extractor, the retention counts and the rule
judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from eval.reader import NEGATIONS, find_names
from kg.text.normaliser import (
    extract_content_words,
    normalise_phrase,
    split_cased_words,
    split_words,
)
from kg.words.plain_text import to_one_line

MAX_CHARS = 200_000
"""Characters of a text that are read."""
MAX_STATEMENTS = 2_000

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
_RESULT = re.compile(r"^\[Result \d+\]$", re.MULTILINE)
_FRAME = re.compile(r"\[Result \d+\]|Title:.*|URL:.*")
_TITLE = re.compile(r"Title:(.*)")
_LEAD = re.compile(r"\s*(?:Content:|[-*•·]|\d{1,3}[.)])\s+")
_ALONE = re.compile(r"[^\W\d_]\.")


def split_statements(text: str) -> list[str]:
    """Returns the distinct sentences of ``text`` in order, each on one line, without questions.

    A sentence ends at the end of its line, at "…" and "...", and at a full stop that does not
    belong to an abbreviation. Number, title and address of a search result are not statements. At
    most ``MAX_CHARS`` characters are read and at most ``MAX_STATEMENTS`` returned.
    """
    statements: dict[str, str] = {}
    text = text[:MAX_CHARS]
    framed = _RESULT.search(text) is not None
    for line in text.splitlines():
        if framed and _FRAME.fullmatch(line):
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
    if not _RESULT.search(text):
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
    lead = _LEAD.match(line)
    pieces = to_one_line(line[lead.end() if lead else 0 :]).split(" ")
    sentence: list[str] = []
    for piece, following in pairwise([*pieces, ""]):
        sentence.append(piece)
        if _ends_sentence(piece, following):
            yield " ".join(sentence)
            sentence = []
    if sentence:
        yield " ".join(sentence)


def _ends_sentence(piece: str, following: str) -> bool:
    """Returns whether a sentence ends with ``piece`` when the word after it is ``following``."""
    bare = piece.rstrip(_CLOSING)
    if bare.endswith(("…", "...")):
        return True
    if not bare.endswith((".", "!", "?")) or bare.lower() in _ABBREVIATIONS:
        return False
    begins = following.lstrip(_OPENING)[:1]
    return not _ALONE.fullmatch(bare) and (begins.isupper() or begins.isdigit())


def is_hedged(statement: str) -> bool:
    """Returns whether a statement contains a word that marks it as uncertain."""
    return not HEDGES.isdisjoint(split_words(statement))


def subject_words(statement: str) -> frozenset[str]:
    """Returns the stemmed content words of a statement, without negations."""
    return frozenset(extract_content_words(statement)) - NEGATIONS


def find_written_names(text: str) -> list[str]:
    """Returns the distinct names and numbers of a text as written; adjacent ones form one name.

    Names are words with a capital or digit. The first word of a sentence counts only if it has a
    digit or a further capital, like "PostgreSQL" and unlike "Why".
    """
    names: list[str] = []
    for sentence in _split_sentences(text):
        run: list[str] = []
        for position, word in enumerate(split_cased_words(sentence)):
            marked = any(char.isupper() or char.isdigit() for char in word[1:])
            if find_names(word) and (position or marked or word[0].isdigit()):
                run.append(word)
            elif run:
                names.append(" ".join(run))
                run = []
        if run:
            names.append(" ".join(run))
    return list(dict.fromkeys(names))
