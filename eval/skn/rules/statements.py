"""The statements of a text: its sentences, without questions and without a search result's frame.

One reading of texts for all that is done by rules: what an extractor without a model writes down,
what counts as kept of a text, what an answer is held against.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from eval.reader import NEGATIONS, names_in
from kg.text.normaliser import content_words, normalise, words, written_words
from kg.words.plain_text import one_line

MAX_CHARS = 200_000
"""A text is read this far."""
MAX_STATEMENTS = 2_000

HEDGES = frozenset(
    """may might could perhaps maybe possibly probably likely unlikely presumably apparently
    allegedly reportedly supposedly seemingly seem seems suggest suggests suspect suspected appear
    appears unclear uncertain unconfirmed believe believes believed assume assumed rumoured rumored
    """.split()  # noqa: SIM905 - a wall of quotation marks would hide the words
)
"""Words that say a sentence is not certain. "Can" and "would" are left out: they also state what
is so."""

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


def statements(text: str) -> list[str]:
    """The sentences of ``text`` in order, each on one line and once; questions are left out.

    A sentence ends with its line, at "…" and "...", and at a stop that no abbreviation ends in. A
    search result's number, title and address are no statements: they say where one stands. At most
    ``MAX_CHARS`` characters are read and at most ``MAX_STATEMENTS`` given.
    """
    found: dict[str, str] = {}
    text = text[:MAX_CHARS]
    framed = _RESULT.search(text) is not None
    for line in text.splitlines():
        if framed and _FRAME.fullmatch(line):
            continue
        for sentence in _sentences(line):
            if len(found) == MAX_STATEMENTS:
                return list(found.values())
            # Two are one if only signs and capitals part them; one without words says nothing.
            if not sentence.rstrip(_CLOSING).endswith("?") and content_words(sentence):
                found.setdefault(normalise(sentence), sentence)
    return list(found.values())


def titles(text: str) -> list[str]:
    """The titles of the search results in ``text``; they name what the statements are about."""
    text = text[:MAX_CHARS]
    if not _RESULT.search(text):
        return []
    found = map(_TITLE.fullmatch, text.splitlines())
    return [one_line(title[1]) for title in found if title]


def asking(question: str) -> str:
    """The sentences of a question that ask; all of it if none ends in a question mark.

    What stands before them only sets the scene.
    """
    asks = [one for one in _sentences(question) if one.rstrip(_CLOSING).endswith("?")]
    return " ".join(asks) or one_line(question)


def _sentences(line: str) -> Iterator[str]:
    lead = _LEAD.match(line)
    pieces = one_line(line[lead.end() if lead else 0 :]).split(" ")
    sentence: list[str] = []
    for piece, following in pairwise([*pieces, ""]):
        sentence.append(piece)
        if _ends(piece, following):
            yield " ".join(sentence)
            sentence = []
    if sentence:
        yield " ".join(sentence)


def _ends(piece: str, following: str) -> bool:
    """Whether a sentence ends with ``piece``, when ``following`` comes after it."""
    bare = piece.rstrip(_CLOSING)
    if bare.endswith(("…", "...")):
        return True
    if not bare.endswith((".", "!", "?")) or bare.lower() in _ABBREVIATIONS:
        return False
    begins = following.lstrip(_OPENING)[:1]
    return not _ALONE.fullmatch(bare) and (begins.isupper() or begins.isdigit())


def is_hedged(statement: str) -> bool:
    """Whether a statement says of itself that it is not certain."""
    return not HEDGES.isdisjoint(words(statement))


def subject_matter(statement: str) -> frozenset[str]:
    """What a statement is about: its stemmed content words without negations."""
    return frozenset(content_words(statement)) - NEGATIONS


def names_written(text: str) -> list[str]:
    """The names and numbers of a text as it writes them, words side by side as one, each once.

    Words with a capital or digit. The first word of a sentence is one only if it has a digit or a
    further capital, as "PostgreSQL" has and "Why" has not.
    """
    names: list[str] = []
    for sentence in _sentences(text):
        run: list[str] = []
        for place, word in enumerate(written_words(sentence)):
            marked = any(char.isupper() or char.isdigit() for char in word[1:])
            if names_in(word) and (place or marked or word[0].isdigit()):
                run.append(word)
            elif run:
                names.append(" ".join(run))
                run = []
        if run:
            names.append(" ".join(run))
    return list(dict.fromkeys(names))
