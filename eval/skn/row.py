"""Defines the row: the result of one question on one pipeline, from the search to the verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from eval.model.usage import Usage
from eval.skn.agent import Response
from eval.skn.formats.extraction import Extraction
from eval.skn.judges.record import Verdicts
from eval.skn.retention.retention import Retention
from kg.base.files import iter_decoded_lines

Outcome = Literal["ANSWERED", "ABSTAINED", "INVALID", "ERROR"]
"""``INVALID``: a reply that cannot be read, of the extractor or the agent. ``ERROR``: a call or a
search that failed. Neither is an abstention."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

Stage = Literal["", "search", "extraction", "agent", "judging"]
"""The stage in which a row ended early; empty for a row with an answer or abstention."""

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)

AbstentionSign = Literal["field", "text", ""]
"""What shows that an agent abstains: the field of its reply, or the words of its answer; empty if
it does not abstain."""


class SknRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``rows.jsonl``."""

    id: str
    """Id of the sample."""
    category: str
    pipeline: str
    repeat: int = 0
    answerable: bool
    outcome: Outcome
    stage: Stage = ""
    error: str | None = None
    """Why the call or the search failed; null unless the outcome is ``ERROR``."""
    abstained_by: AbstentionSign = ""
    extraction: Extraction | None = None
    response: Response | None = None
    verdicts: Verdicts | None = None
    """Null if there was nothing to judge."""
    retention: Retention | None = None
    search_s: float | None = None
    """Seconds of the live search; null if it was replayed."""
    latency_s: float | None = None
    """Seconds of waiting for extraction and agent, without back-off; null without a model."""
    usage: Usage | None = None
    """Tokens of extraction and agent; those of the judges are in the verdicts."""

    @property
    def has_answer_text(self) -> bool:
        """Whether there is an answer or abstention in words, which judges can judge."""
        return (
            self.outcome in ("ANSWERED", "ABSTAINED")
            and self.response is not None
            and bool(self.response.answer.strip())
        )


def read_rows(path: Path | str) -> Iterable[SknRow]:
    """Yields the rows of a finished file.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged.
    """
    decode = msgspec.json.Decoder(SknRow).decode
    return (row for _, row in iter_decoded_lines(path, "skn-row", decode))
