"""A table of every sample of a benchmark with the systems' answers, for browsing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

MAX_TEXT_LENGTH = 6_000
"""Maximum number of characters shown of one text; the files of the run have all of it."""

Look = Literal["right", "held", "wrong", "none"]
"""The four colours of marks, whatever a benchmark calls them."""

ItemTone: TypeAlias = Look | Literal[""]


@dataclass(frozen=True)
class Mark:
    """An outcome of a system's answer to a sample."""

    key: str
    symbol: str
    name: str
    words: str
    look: Look


@dataclass(frozen=True)
class Detail:
    """A titled text or list of texts that the reader unfolds.

    Attributes:
        title: what it is.
        items: a text, or the items of a list.
        form: ``code`` keeps its spacing.
        tones: per item ``right``, ``wrong`` or nothing; empty where no item has any.
    """

    title: str
    items: tuple[str, ...]
    form: Literal["text", "list", "code"] = "text"
    tones: tuple[ItemTone, ...] = ()


@dataclass(frozen=True)
class ComparedLine:
    """One line of a comparison.

    Attributes:
        verdict: the result, with a sign before its words.
        look: its colour.
        cells: one for each head.
    """

    verdict: str
    look: Look
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """Two sides next to each other, line by line, each line with a verdict.

    Attributes:
        title: what it is.
        heads: of the verdict, of the lines' names, and of each side.
        lines: in order.
    """

    title: str
    heads: tuple[str, ...]
    lines: tuple[ComparedLine, ...]


AnyDetail: TypeAlias = Detail | Compared


@dataclass(frozen=True)
class Answer:
    """One system's answer to one sample.

    Attributes:
        mark: key of a ``Mark``.
        line: the answer itself or why there is none.
        details: how it came about.
    """

    mark: str
    line: str
    details: tuple[AnyDetail, ...] = ()


@dataclass(frozen=True)
class SampleRow:
    """One sample.

    Attributes:
        id: unique.
        facets: one value for each of the table's facets.
        question: the heading.
        truth: the answer that is right.
        details: what all systems were given.
        answers: one for each system, ``None`` where it was not asked.
    """

    id: str
    facets: tuple[str, ...]
    question: str
    truth: str
    details: tuple[AnyDetail, ...]
    answers: tuple[Answer | None, ...]

    @property
    def length(self) -> int:
        """Approximate number of characters on a page, for deciding how many rows it can have."""
        texts = _count_chars(self.details)
        texts += sum(_count_chars(one.details) + len(one.line) for one in self.answers if one)
        return len(self.question) + texts


@dataclass(frozen=True)
class Samples:
    """A table of samples.

    Attributes:
        noun: singular and plural.
        facets: names of what samples can be filtered by.
        systems: names in the order of the columns.
        marks: from the best to the worst.
        rows: in the benchmark's order.
        elsewhere: which files have all rows, for readers without scripts.
    """

    noun: tuple[str, str]
    facets: tuple[str, ...]
    systems: tuple[str, ...]
    marks: tuple[Mark, ...]
    rows: tuple[SampleRow, ...]
    elsewhere: str

    @property
    def count(self) -> str:
        """The number of samples, in words."""
        return f"{len(self.rows):,} {self.noun[len(self.rows) != 1]}"

    def get_mark(self, key: str) -> Mark:
        """Returns the mark with this key."""
        return next(mark for mark in self.marks if mark.key == key)


def _count_chars(details: Iterable[AnyDetail]) -> int:
    """Counts the characters of what is unfolded."""
    total = 0
    for one in details:
        if isinstance(one, Compared):
            total += sum(len(cell) + 4 for line in one.lines for cell in line.cells)
        else:
            total += sum(min(len(item), MAX_TEXT_LENGTH) for item in one.items)
    return total
