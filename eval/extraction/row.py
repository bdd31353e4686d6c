"""Defines the row: the reply of one system to one sample, with its outcome and score."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from eval.extraction.verdicts.quotes import Grounding
from eval.extraction.verdicts.sample_score import SampleScore
from eval.model.usage import Usage
from kg.base.files import iter_decoded_lines

ROWS = "rows.jsonl"
"""Name of the rows file in a run's folder."""

Outcome = Literal["OK", "INVALID", "UNPARSABLE", "ERROR", "NULLS"]
"""``INVALID``: JSON that is not valid under the schema. ``UNPARSABLE``: a reply that is not JSON,
refusals included. ``ERROR``: the call failed; it is never treated as an empty extraction.
``NULLS``: valid but for nulls where the schema allows none, which count as fields left out."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

ERROR = OUTCOMES.index("ERROR")
"""Code that the journal stores for a row whose call failed."""


class ExtractionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``rows.jsonl``.

    Latency and usage are those of the original call, also if the reply came from the cache, so a
    cached run writes the same rows. They are null or 0 for a system that makes no calls.
    """

    id: str
    """Id of the sample."""
    system: str
    """Name of the system: ``provider/model``, or that of a system of others."""
    repeat: int = 0
    outcome: Outcome
    predicted: Any = None
    """The extracted JSON; null if the outcome is ``UNPARSABLE`` or ``ERROR``."""
    raw: str = ""
    """The reply; empty if it was exactly the JSON in ``predicted``."""
    problem: str = ""
    """The reason if there is no valid extraction; otherwise empty."""
    notes: tuple[str, ...] = ()
    """Deviations from the request: a looser response format, no log-probabilities."""
    confidence: float | None = None
    """Probability that the model gave to its whole reply; null without log-probabilities."""
    latency_s: float | None = None
    """Seconds from sending the request that succeeded to its last byte."""
    ttft_s: float | None = None
    """Seconds from sending it to the first token of the reply; null if not measured."""
    at_s: float | None = None
    """When the reply was complete, in seconds since 1970."""
    usage: Usage | None = None
    """Tokens as the server counted them, and their price."""
    retries: int = 0
    """Number of failed attempts after which the call was repeated."""
    timed_out: bool = False
    """Whether any attempt exceeded the time limit, retried or not."""
    input_chars: int = 0
    """Characters of the whole prompt."""
    output_chars: int = 0
    """Characters of the reply."""
    grounding: Grounding | None = None
    """Counts of quotes; null if neither the reply nor the gold has any, or the call failed."""
    score: SampleScore
    """Score of the extraction; for a failed call it only counts the expected fields."""


def read_rows(path: Path | str) -> Iterable[ExtractionRow]:
    """Yields the rows of a finished rows file.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged; the message names
            file and line.
    """
    decode = msgspec.json.Decoder(ExtractionRow).decode
    return (row for _, row in iter_decoded_lines(path, "extraction-row", decode))
