"""The row: what became of one question."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from eval.result import Usage
from eval.synthlink.agents.trail import Trail
from kg.base.files import iter_decoded_lines

Outcome = Literal["ANSWERED", "ABSTAINED", "INVALID", "ERROR"]
"""``INVALID``: a reply that cannot be read. ``ERROR``: a call or a search that failed, or an agent
that broke down. Neither is ever an abstention."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


class SynthLinkRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``rows.jsonl``."""

    id: str
    """Of the question; the agent never saw it."""
    category: str
    system: str
    outcome: Outcome
    error: str | None = None
    """What failed; null unless the outcome is ``ERROR``."""
    note: str = ""
    """What was put right in the trail, or what cannot be read of it."""
    trail: Trail | None = None
    """Every iteration, as far as it came; null where the agent left none."""
    latency_s: float | None = None
    """Seconds spent waiting for models, without back-off; null without a model."""
    usage: Usage | None = None
    """Tokens of all iterations; null without a model."""


def read_rows(path: Path | str) -> Iterable[SynthLinkRow]:
    """Yields the rows of a finished file.

    Raises:
        MissingFileError, RecordError: as named there, with file and line.
    """
    decode = msgspec.json.Decoder(SynthLinkRow).decode
    return (row for _, row in iter_decoded_lines(path, "synthlink-row", decode))
