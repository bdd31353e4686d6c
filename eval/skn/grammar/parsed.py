"""What reading an SKN block gives: a document or none, and what was wrong, where."""

from __future__ import annotations

from typing import NamedTuple

from eval.skn.grammar.document import Document

MAX_PROBLEMS = 100
"""Problems that are kept; a megabyte of noise has one a line, which nobody reads."""


class Problem(NamedTuple):
    """Something that is not as the grammar has it.

    Attributes:
        line: the line it is on, from 1; lines end in LF or CRLF.
        column: the character of that line, from 1.
        what: what is wrong, in one clause.
    """

    line: int
    column: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.what}"


class Parsed(NamedTuple):
    """What came of reading a text.

    Attributes:
        document: what was read; ``None`` if nothing could be, or if strict reading found a problem.
        problems: what deviates from the grammar, in the order of the text, at most
            ``MAX_PROBLEMS`` and then one more that says how many there are.
        lossless: there is a document, and nothing written inside the block was dropped or guessed.
        loss: the first problem for which something was; ``None`` if nothing was.
    """

    document: Document | None
    problems: tuple[Problem, ...]
    lossless: bool
    loss: Problem | None = None


class Findings:
    """Collects problems, the first ``MAX_PROBLEMS`` of them, and whether anything was lost."""

    def __init__(self) -> None:
        self.loss: Problem | None = None
        self.count = 0
        self._kept: list[Problem] = []

    def add(self, line: int, column: int, what: str, *, lost: bool = False) -> None:
        """Notes one problem.

        Args:
            line: from 1.
            column: from 1.
            what: what is wrong, in one clause.
            lost: whether reading on drops or guesses something.
        """
        self.count += 1
        problem = Problem(line, column, what)
        if lost and (self.loss is None or problem[:2] < self.loss[:2]):
            self.loss = problem
        if len(self._kept) < MAX_PROBLEMS:
            self._kept.append(problem)

    def problems(self) -> tuple[Problem, ...]:
        """The problems in the order of the text, and a last one for those that were not kept."""
        kept = sorted(self._kept, key=lambda problem: problem[:2])
        if self.count > MAX_PROBLEMS:
            more = self.count - MAX_PROBLEMS
            kept.append(Problem(kept[-1].line, kept[-1].column, f"and {more} more problems"))
        return tuple(kept)
