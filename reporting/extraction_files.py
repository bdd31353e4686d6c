"""Writes the files derived from the rows of an extraction run, for every command that needs them.

The HTML report is not among them: ``reporting/benchmark_sections/page.py`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from eval.extraction.metrics.quality_score import SampleMetrics, compute_sample_metrics
from eval.extraction.outputs import write_outputs
from eval.extraction.record import ExtractionReport
from eval.extraction.row import ERROR, OUTCOMES, read_rows
from eval.extraction.running.manifest import ExtractionManifest, read_manifest
from eval.extraction.running.output_files import MANIFEST, PER_SAMPLE
from eval.running.outputs import delete_outputs
from kg.base.files import write_text_atomic
from reporting.escaped_text import to_csv

_VALUE_FIELDS: Final = SampleMetrics.__struct_fields__
_CSV_COLUMNS: Final = (
    *("id", "system", "repeat", "outcome", "domain", "language", "complexity"),
    *_VALUE_FIELDS,
    *("confidence", "latency_s", "ttft_s", "prompt_tokens", "completion_tokens", "cost_usd"),
    *("retries", "timed_out", "problem"),
)


def write_run_files(folder: Path) -> ExtractionReport:
    """Computes a run's metrics and writes all derived files except the HTML report.

    Raises:
        MissingFileError, RecordError: the folder does not contain a run.
        WriteError: a file cannot be written.
    """
    report = write_outputs(folder)
    manifest = read_manifest(folder / MANIFEST)
    if manifest.measuring.per_sample:
        write_text_atomic(
            folder / PER_SAMPLE, to_csv(_CSV_COLUMNS, _iter_csv_rows(folder, manifest))
        )
    else:
        delete_outputs(folder, [PER_SAMPLE])
    return report


def _iter_csv_rows(folder: Path, manifest: ExtractionManifest) -> Iterator[tuple[object, ...]]:
    """Yields one CSV line per row; the metrics of a failed call are left empty."""
    invalid_policy, weights = manifest.matching.invalid, manifest.measuring.weights
    for row in read_rows(folder / manifest.rows):
        score, usage = row.score, row.usage
        values: tuple[object, ...] = (None,) * len(_VALUE_FIELDS)
        if row.outcome != OUTCOMES[ERROR]:
            metrics = compute_sample_metrics(score, invalid=invalid_policy, weights=weights)
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
