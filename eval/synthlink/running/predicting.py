"""Predictions in the specification's format, made of a run's rows.

They hold nothing that the rows do not, no clock and no order but the catalogue's; so a run that was
cut off and taken up again writes the same bytes as one that was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from eval.synthlink.agents.trail import CitedPage, Trail
from eval.synthlink.predictions import Iteration, Prediction
from eval.synthlink.running.output_files import PREDICTIONS, ROWS
from eval.synthlink.running.row import SynthLinkRow, read_rows
from kg.base.files import to_json_bytes, write_bytes_atomic


def write_predictions(folder: Path) -> Path:
    """Writes the predictions of a finished run; returns where.

    Raises:
        RecordError: the rows are damaged.
        WriteError: they cannot be written.
    """
    path = folder / PREDICTIONS
    made = list(predictions(read_rows(folder / ROWS)))
    write_bytes_atomic(path, to_json_bytes(made, indent=2) + b"\n")
    return path


def predictions(rows: Iterable[SynthLinkRow]) -> Iterator[Prediction]:
    """What rows predict. An abstention predicts an empty answer.

    Rows that are ``INVALID`` or ``ERROR`` are left out: nothing was said, so their questions count
    as missing, which is worth as little as an abstention and is told apart from it.
    """
    for row in rows:
        if row.trail is not None and row.outcome in ("ANSWERED", "ABSTAINED"):
            answer = row.trail.answer if row.outcome == "ANSWERED" else ""
            yield _prediction(row.id, answer, row.trail)


def _prediction(name: str, answer: str, trail: Trail) -> Prediction:
    return Prediction(
        question_id=name,
        predicted_answer=answer,
        retrieved_docs=_names(trail.docs),
        iterations=tuple(
            Iteration(answers=(one.answer,) if one.answer else (), docs=_names(one.found))
            for one in trail.rounds
        ),
        sources_verified=trail.verified,
    )


def _names(pages: Iterable[CitedPage]) -> tuple[str, ...]:
    return tuple(page.name for page in pages)
