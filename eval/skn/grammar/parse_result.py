"""The result of parsing an SKN block: the document, if any, and the problems with their positions.

A repair turn quotes a problem to the model (``eval.skn.formats.prompts.build_repair_turn``). The
wording of problems is therefore part of a prompt.
"""

from __future__ import annotations

from typing import NamedTuple

from eval.skn.grammar.document import Document

MAX_PROBLEMS = 100
"""Maximum number of recorded problems; a long text that is not SKN has one on every line."""


class Problem(NamedTuple):
    """One violation of the grammar.

    Attributes:
        line: number of the line, from 1; lines end in LF or CRLF.
        column: position of the character in that line, from 1.
        what: description of the problem, in one clause.
    """

    line: int
    column: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.what}"


class ParseResult(NamedTuple):
    """The result of parsing a text.

    Attributes:
        document: the document; ``None`` if there is none, or if strict parsing found a problem.
        problems: the deviations from the grammar, in the order of the text. After the first
            ``MAX_PROBLEMS``, a last one gives the number of those left out.
        lossless: whether there is a document and no content of the block was dropped or guessed.
        loss: the first problem that made the parser drop or guess content; ``None`` if there is
            none.
    """

    document: Document | None
    problems: tuple[Problem, ...]
    lossless: bool
    loss: Problem | None = None


class Findings:
    """Collects the first ``MAX_PROBLEMS`` problems, and the first one that loses content."""

    def __init__(self) -> None:
        self.loss: Problem | None = None
        self.count = 0
        self._recorded: list[Problem] = []

    def add_problem(
        self, line: int, column: int, what: str, *, loses_content: bool = False
    ) -> None:
        """Adds one problem.

        Args:
            line: number of the line, from 1.
            column: position in the line, from 1.
            what: description of the problem, in one clause.
            loses_content: whether content is dropped or guessed because of the problem.
        """
        self.count += 1
        problem = Problem(line, column, what)
        if loses_content and (self.loss is None or problem[:2] < self.loss[:2]):
            self.loss = problem
        if len(self._recorded) < MAX_PROBLEMS:
            self._recorded.append(problem)

    def list_problems(self) -> tuple[Problem, ...]:
        """Returns the problems in the order of the text; a last one counts those not recorded."""
        recorded = sorted(self._recorded, key=lambda problem: problem[:2])
        if self.count > MAX_PROBLEMS:
            n_more = self.count - MAX_PROBLEMS
            recorded.append(
                Problem(recorded[-1].line, recorded[-1].column, f"and {n_more} more problems")
            )
        return tuple(recorded)
