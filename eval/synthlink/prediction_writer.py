"""Writes the predictions of a run, in the format of the specification.

They depend only on the rows and are in the order of the catalogue, so a resumed run writes the same
bytes as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from eval.synthlink.agents.trail import CitedPage, Trail
from eval.synthlink.files import ROWS, RUN_MANIFEST, name_predictions
from eval.synthlink.predictions import Iteration, Prediction
from eval.synthlink.row import SynthLinkRow, read_rows
from eval.synthlink.run_manifest import read_run_manifest_file
from kg.base.files import to_json_bytes, write_bytes_atomic


def write_predictions(folder: Path) -> None:
    """Writes the predictions of a finished run: one file for each repeat.

    Raises:
        MissingFileError, RecordError: manifest or rows are missing or damaged.
        WriteError: they cannot be written.
    """
    for name, content in render_predictions(folder).items():
        write_bytes_atomic(folder / name, content)


def render_predictions(folder: Path) -> dict[str, bytes]:
    """Returns the name and content of each file of predictions that a run should have.

    Raises:
        MissingFileError, RecordError: manifest or rows are missing or damaged.
    """
    rows = list(read_rows(folder / ROWS))
    files = {}
    for repeat in range(read_run_manifest_file(folder / RUN_MANIFEST).repeats):
        records = list(iter_predictions(row for row in rows if row.repeat == repeat))
        files[name_predictions(repeat)] = to_json_bytes(records, indent=2) + b"\n"
    return files


def iter_predictions(rows: Iterable[SynthLinkRow]) -> Iterator[Prediction]:
    """Yields the predictions of rows; an abstention is an empty answer.

    Rows that are ``INVALID`` or ``ERROR`` are left out, so their questions are scored as missing:
    they score like an abstention, but are counted separately.
    """
    for row in rows:
        if row.trail is not None and row.outcome in ("ANSWERED", "ABSTAINED"):
            answer = row.trail.answer if row.outcome == "ANSWERED" else ""
            yield _build_prediction(row.id, answer, row.trail)


def _build_prediction(name: str, answer: str, trail: Trail) -> Prediction:
    return Prediction(
        question_id=name,
        predicted_answer=answer,
        retrieved_docs=_list_names(trail.docs),
        iterations=tuple(
            Iteration(
                answers=(round_.answer,) if round_.answer else (),
                docs=_list_names(round_.found),
                opened=_list_names(round_.read) if trail.records_read else None,
            )
            for round_ in trail.rounds
        ),
        sources_verified=trail.verified,
    )


def _list_names(pages: Iterable[CitedPage]) -> tuple[str, ...]:
    return tuple(page.name for page in pages)
