"""The row: what became of one sample put to one system, from the call to its score."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from eval.extraction.verdicts.sample_score import SampleScore
from eval.result import Usage
from kg.base.files import iter_decoded_lines

ROWS = "rows.jsonl"
"""Name of the file of rows in a run's folder."""

Outcome = Literal["OK", "INVALID", "UNPARSABLE", "ERROR"]
"""``INVALID``: JSON, but no valid instance of the schema. ``UNPARSABLE``: a reply that is no JSON,
a refusal with it. ``ERROR``: a call that failed; never an empty extraction."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

ERROR = OUTCOMES.index("ERROR")
"""The code a journal keeps for a row whose call failed."""


class ExtractionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``rows.jsonl``.

    What a call took is that of the call that was made, also where the reply came from the cache:
    a row says the same either way. All of it is null or 0 for a system that calls nothing.
    """

    id: str
    """Of the sample."""
    system: str
    """Who extracted: ``provider/model``, or the name of a baseline."""
    repeat: int = 0
    outcome: Outcome
    predicted: Any = None
    """What was extracted, as JSON; null where the outcome is ``UNPARSABLE`` or ``ERROR``."""
    raw: str = ""
    """The reply, where it was not just the JSON in ``predicted``."""
    problem: str = ""
    """Why there is no valid extraction, in words."""
    notes: tuple[str, ...] = ()
    """What was not done as asked: a looser response format, no log-probabilities."""
    confidence: float | None = None
    """The probability the model gave to its reply as a whole; null without log-probabilities."""
    latency_s: float | None = None
    """Seconds from sending the request that succeeded to its last byte."""
    ttft_s: float | None = None
    """Seconds from sending it to the first token of the reply; null where nobody measured it."""
    at_s: float | None = None
    """When the reply was complete, in seconds since 1970."""
    usage: Usage | None = None
    """Tokens as the server counted them, and their price."""
    retries: int = 0
    """Attempts that failed and were made again."""
    timed_out: bool = False
    """Whether any attempt had no complete reply within the time limit, retried or not."""
    input_chars: int = 0
    """Characters of the whole prompt."""
    output_chars: int = 0
    """Characters of the reply."""
    score: SampleScore
    """What the extraction is worth; of a call that failed, what was expected of it."""


def read_rows(path: Path | str) -> Iterable[ExtractionRow]:
    """Yields the rows of a finished file.

    Raises:
        MissingFileError, RecordError: as named there, with file and line.
    """
    decode = msgspec.json.Decoder(ExtractionRow).decode
    return (row for _, row in iter_decoded_lines(path, "extraction-row", decode))
