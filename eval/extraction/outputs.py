"""The files of a finished run, made of its rows, its samples and its manifest.

They hold nothing that those do not, no clock and no order but theirs; so a run that was cut off
and taken up again writes the same bytes as one that was not. Rows are streamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eval.extraction.aggregate import aggregate
from eval.extraction.record import ExtractionReport
from eval.extraction.row import ExtractionRow, read_rows
from eval.extraction.running.manifest import ExtractionManifest, read_manifest
from eval.extraction.running.output_files import (
    COMPARISON,
    MANIFEST,
    METRICS,
    PREDICTIONS,
    SUMMARY,
)
from eval.extraction.summary import summary
from eval.running.made_files import forget
from kg.base.files import (
    to_json_bytes,
    write_files_atomic,
    write_jsonl_atomic,
)


def write_outputs(folder: Path) -> ExtractionReport:
    """Measures a run and writes its files.

    Args:
        folder: of the run; it may have been cut off: its rows so far are measured.

    Raises:
        MissingFileError, RecordError: the folder holds no run.
        WriteError: a file cannot be written.
    """
    manifest = read_manifest(folder / MANIFEST)
    rows = folder / manifest.rows
    plan = manifest.plan(tuple(_notes(manifest)))
    report = aggregate(read_rows(rows), plan)
    contents = {
        folder / METRICS: to_json_bytes({"report": report}, indent=2) + b"\n",
        folder / SUMMARY: summary(manifest, report).encode(),
    }
    if len(report.systems) > 1:
        from eval.extraction.comparing import compare

        comparison = compare(read_rows(rows), report, plan)
        contents[folder / COMPARISON] = to_json_bytes(comparison, indent=2) + b"\n"
    else:
        forget(folder, [COMPARISON])
    write_files_atomic(contents)
    if manifest.measuring.predictions:
        write_jsonl_atomic(folder / PREDICTIONS, map(_prediction, read_rows(rows)))
    else:
        forget(folder, [PREDICTIONS])
    return report


def _notes(manifest: ExtractionManifest) -> Iterator[str]:
    """What every reader of the numbers must know of how the run was made."""
    if manifest.offline:
        yield (
            "No model was called: rules filled the schemas from surface cues. The run measures "
            "what those are worth, and says nothing about how a model fares."
        )
    if manifest.status != "complete":
        yield "The run was cut off: these are the rows so far."
    if manifest.rejected:
        rows = "1 row was" if manifest.rejected == 1 else f"{manifest.rejected} rows were"
        yield f"{rows} no sample and left out: {'; '.join(manifest.rejections[:3])}."
    yield from (f"Data: {note}." for note in manifest.data_notes)
    for system, observed in manifest.observed.items():
        told = observed.get("fallbacks") if isinstance(observed, dict) else None
        for what, count in (told or {}).items():
            yield f"{system}: {what}, in {count} calls."


def _prediction(row: ExtractionRow) -> dict[str, object]:
    return {
        "id": row.id,
        "system": row.system,
        "repeat": row.repeat,
        "outcome": row.outcome,
        "predicted": row.predicted,
    }
