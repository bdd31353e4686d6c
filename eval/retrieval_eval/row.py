"""Defines the row: the ranking of one retriever for one question, with its metrics."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from eval.harness.grid import RowKey
from eval.model.usage import Usage
from eval.retrieval_eval.questions import Kind
from kg.base.files import iter_decoded_lines

Outcome = Literal["OK", "INVALID", "ERROR"]
"""``INVALID``: a reply that is not a ranking of the corpus. ``ERROR``: the retriever failed."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


class RetrievalRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``rows.jsonl``.

    A row without a usable ranking counts as one for which nothing was found.
    """

    id: str
    """Id of the question."""
    system: str
    """Name of the retriever."""
    repeat: int = 0
    outcome: Outcome
    kind: Kind
    gold: tuple[str, ...]
    measures: dict[str, float] | None
    """Metric → value; null for an unanswerable question, which has no gold."""
    best_score: float | None
    """Null if nothing was found."""
    ranks: dict[str, int | None]
    """Rank of each gold chunk, from 1; null if it was not found."""
    found: tuple[tuple[str, float], ...]
    """The first chunks and their scores."""
    problem: str = ""
    """Why there is no ranking; empty if the outcome is ``OK``."""
    notes: tuple[str, ...] = ()
    """What was changed in the ranking, such as its length."""
    latency_s: float | None = None
    """Seconds of waiting for models; null without a model."""
    usage: Usage | None = None


def read_rows(path: Path) -> Iterable[RetrievalRow]:
    """Yields the rows of a finished file.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged.
    """
    decode = msgspec.json.Decoder(RetrievalRow).decode
    return (row for _, row in iter_decoded_lines(path, "retrieval-row", decode))


def get_row_key(row: RetrievalRow) -> RowKey:
    """Returns the row key, with the outcome code and usage that the journal needs."""
    return RowKey(row.id, row.system, row.repeat, OUTCOMES.index(row.outcome), row.usage)
