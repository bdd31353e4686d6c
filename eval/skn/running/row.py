"""The row: what became of one question on one pipeline, from the search to the verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

import msgspec

from eval.result import Usage, round_cost
from eval.skn.agent import Response
from eval.skn.formats.extraction import Extraction
from eval.skn.judges.record import Verdicts
from eval.skn.rules.retention import Retention
from kg.base.files import iter_decoded_lines

ROWS = "rows.jsonl"
"""Name of the file of rows in a run's folder."""

Outcome = Literal["ANSWERED", "ABSTAINED", "INVALID", "ERROR"]
"""``INVALID``: a reply that cannot be read, at any stage up to the agent. ``ERROR``: a call or a
search that failed. Neither is ever an abstention."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Stage = Literal["", "search", "extraction", "agent", "judging"]
"""Where a row ended early; empty for one that has its answer or abstention."""


class SknRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``rows.jsonl``."""

    id: str
    """Of the sample."""
    category: str
    pipeline: str
    repeat: int = 0
    answerable: bool
    outcome: Outcome
    stage: Stage = ""
    error: str | None = None
    """Why the call or the search failed; null unless the outcome is ``ERROR``."""
    abstained_by: Literal["field", "text", ""] = ""
    """Whether the agent said that it abstains in so many fields, or its answer's words do."""
    extraction: Extraction | None = None
    response: Response | None = None
    verdicts: Verdicts | None = None
    """Null where there was nothing to judge."""
    retention: Retention | None = None
    search_s: float | None = None
    """Seconds of the live search; null where it was replayed."""
    latency_s: float | None = None
    """Seconds spent waiting for extraction and agent, without back-off; null without a model."""
    usage: Usage | None = None
    """Tokens of extraction and agent; what judging took is in the verdicts."""

    @property
    def judging_failed(self) -> bool:
        """Whether a judge could not be called, so that it is worth asking again."""
        problems = () if self.verdicts is None else self.verdicts.problems
        return any(problem.kind == "call" for problem in problems)

    @property
    def spent(self) -> Usage | None:
        """Tokens and cost of all calls, the judges' with them."""
        judged = None if self.verdicts is None else self.verdicts.usage
        if self.usage is None or judged is None:
            return self.usage or judged
        costs = (self.usage.cost_usd, judged.cost_usd)
        both = Usage(
            self.usage.prompt_tokens + judged.prompt_tokens,
            self.usage.completion_tokens + judged.completion_tokens,
            None if None in costs else sum(cost for cost in costs if cost),
        )
        return round_cost(both)


def read_rows(path: Path | str) -> Iterable[SknRow]:
    """Yields the rows of a finished file.

    Raises:
        MissingFileError, RecordError: as named there, with file and line.
    """
    decode = msgspec.json.Decoder(SknRow).decode
    return (row for _, row in iter_decoded_lines(path, "skn-row", decode))
