"""Defines the row: the outcome of one question."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from eval.harness.grid import RowKey
from eval.model.usage import Usage
from eval.synthlink.agents.trail import Trail
from kg.base.files import iter_decoded_lines

Outcome = Literal["ANSWERED", "ABSTAINED", "INVALID", "ERROR"]
"""``INVALID``: a reply that cannot be read. ``ERROR``: a call, a search or the agent failed.
Neither is an abstention."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


class SynthLinkRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``rows.jsonl``."""

    id: str
    """Id of the question, which the agent does not see."""
    category: str
    system: str
    repeat: int = 0
    outcome: Outcome
    error: str | None = None
    """What failed; null unless the outcome is ``ERROR``."""
    note: str = ""
    """Corrections of the trail, or the reason why it cannot be read."""
    trail: Trail | None = None
    """All rounds up to the end or the failure; null if the agent returned none."""
    latency_s: float | None = None
    """Seconds of waiting for models, without back-off; null without a model."""
    usage: Usage | None = None
    """Tokens of all rounds; null without a model."""


def read_rows(path: Path | str) -> Iterable[SynthLinkRow]:
    """Yields the rows of a finished file.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged.
    """
    decode = msgspec.json.Decoder(SynthLinkRow).decode
    return (row for _, row in iter_decoded_lines(path, "synthlink-row", decode))


def get_row_key(row: SynthLinkRow) -> RowKey:
    """Returns the row key, with the outcome code and usage that the journal needs."""
    return RowKey(row.id, row.system, row.repeat, OUTCOMES.index(row.outcome), row.usage)
