"""Writes the output files of a run from its rows, samples and manifest.

Outputs depend only on these (not on the time or the order of rows), so an interrupted and resumed
run writes the same bytes as an uninterrupted one. Rows are streamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from eval.extraction.aggregate import aggregate_rows
from eval.extraction.files import (
    COMPARISON,
    MANIFEST,
    METRICS,
    PER_SAMPLE,
    PREDICTIONS,
    SUMMARY,
)
from eval.extraction.manifest import ExtractionManifest, read_manifest
from eval.extraction.metrics.quality_score import SampleMetrics, compute_sample_metrics
from eval.extraction.record import ExtractionReport
from eval.extraction.row import ERROR, OUTCOMES, ExtractionRow, read_rows
from eval.extraction.summary import render_summary
from eval.harness.outputs import delete_outputs
from eval.metrics.record_digest import add_digest
from kg.base.csv_text import to_csv
from kg.base.files import (
    sha256_file,
    to_json_bytes,
    write_files_atomic,
    write_jsonl_atomic,
    write_text_atomic,
)

_VALUE_FIELDS: Final = SampleMetrics.__struct_fields__
_CSV_COLUMNS: Final = (
    *("id", "system", "repeat", "outcome", "domain", "language", "complexity"),
    *_VALUE_FIELDS,
    *("confidence", "latency_s", "ttft_s", "prompt_tokens", "completion_tokens", "cost_usd"),
    *("retries", "timed_out", "problem"),
)


def write_outputs(folder: Path) -> ExtractionReport:
    """Measures a run and writes its output files.

    Args:
        folder: folder of the run. If the run was interrupted, the rows so far are measured.

    Raises:
        MissingFileError, RecordError: the folder has no run.
        WriteError: a file cannot be written.
    """
    manifest = read_manifest(folder / MANIFEST)
    rows_path = folder / manifest.rows
    plan = manifest.build_measurement_plan(tuple(_manifest_notes(manifest)))
    rows_sha256 = sha256_file(rows_path)
    report = aggregate_rows(read_rows(rows_path), plan)
    report = add_digest(msgspec.structs.replace(report, rows_sha256=rows_sha256))
    contents = {
        folder / METRICS: to_json_bytes({"report": report}, indent=2) + b"\n",
        folder / SUMMARY: render_summary(manifest, report).encode(),
    }
    if len(report.systems) > 1:
        from eval.extraction.comparison import compare_systems

        comparison = compare_systems(read_rows(rows_path), report, plan)
        comparison = add_digest(msgspec.structs.replace(comparison, rows_sha256=rows_sha256))
        contents[folder / COMPARISON] = to_json_bytes(comparison, indent=2) + b"\n"
    else:
        delete_outputs(folder, [COMPARISON])
    write_files_atomic(contents)
    if manifest.measuring.predictions:
        write_jsonl_atomic(folder / PREDICTIONS, map(_prediction_row, read_rows(rows_path)))
    else:
        delete_outputs(folder, [PREDICTIONS])
    if manifest.measuring.per_sample:
        csv_rows = _iter_csv_rows(folder, manifest)
        write_text_atomic(folder / PER_SAMPLE, to_csv(_CSV_COLUMNS, csv_rows))
    else:
        delete_outputs(folder, [PER_SAMPLE])
    return report


def _manifest_notes(manifest: ExtractionManifest) -> Iterator[str]:
    """Yields the notes on the run that a reader of its numbers needs."""
    if manifest.offline:
        yield (
            "No model was called: rules extracted. The numbers describe these rules and say "
            "nothing about any model."
        )
    if manifest.status != "complete":
        yield "The run was interrupted: only the rows written so far are measured."
    if manifest.rejected:
        rows = "1 row was" if manifest.rejected == 1 else f"{manifest.rejected} rows were"
        yield f"{rows} left out as malformed: {'; '.join(manifest.rejections[:3])}."
    yield from (f"Data: {note}." for note in manifest.data_notes)
    for system, observed in manifest.observed.items():
        fallbacks = observed.get("fallbacks") if isinstance(observed, dict) else None
        for fallback, count in (fallbacks or {}).items():
            yield f"{system}: {fallback}, in {count} calls."


def _prediction_row(row: ExtractionRow) -> dict[str, object]:
    return {
        "id": row.id,
        "system": row.system,
        "repeat": row.repeat,
        "outcome": row.outcome,
        "predicted": row.predicted,
    }


def _iter_csv_rows(folder: Path, manifest: ExtractionManifest) -> Iterator[tuple[object, ...]]:
    """Yields one CSV line per row; without metrics if a failed call is left out."""
    invalid, measuring = manifest.matching.invalid, manifest.measuring
    for row in read_rows(folder / manifest.rows):
        score, usage = row.score, row.usage
        values: tuple[object, ...] = (None,) * len(_VALUE_FIELDS)
        if row.outcome != OUTCOMES[ERROR] or measuring.failed == "zero":
            metrics = compute_sample_metrics(score, invalid=invalid, weights=measuring.weights)
            values = tuple(getattr(metrics, name) for name in _VALUE_FIELDS)
        yield (
            *(row.id, row.system, row.repeat, row.outcome),
            *(score.domain, score.language, score.complexity.bin),
            *values,
            *(row.confidence, row.latency_s, row.ttft_s),
            None if usage is None else usage.prompt_tokens,
            None if usage is None else usage.completion_tokens,
            None if usage is None else usage.cost_usd,
            *(row.retries, row.timed_out, row.problem),
        )
