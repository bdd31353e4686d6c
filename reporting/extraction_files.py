"""All that is made of a run's rows, the page included, whoever asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from eval.extraction.measuring.quality_score import SampleValues, per_sample
from eval.extraction.outputs import write_outputs
from eval.extraction.record import ExtractionReport
from eval.extraction.row import ERROR, OUTCOMES, read_rows
from eval.extraction.running.manifest import ExtractionManifest, read_manifest
from eval.extraction.running.output_files import MANIFEST, PER_SAMPLE
from eval.running.made_files import forget
from kg.base.files import write_text_atomic
from reporting.guarded_text import to_csv

_VALUES: Final = SampleValues.__struct_fields__
_HEAD: Final = (
    *("id", "system", "repeat", "outcome", "domain", "language", "complexity"),
    *_VALUES,
    *("confidence", "latency_s", "ttft_s", "prompt_tokens", "completion_tokens", "cost_usd"),
    *("retries", "timed_out", "problem"),
)


def write_files(folder: Path) -> ExtractionReport:
    """Measures a run and writes everything but its page.

    Raises:
        MissingFileError, RecordError: the folder holds no run.
        WriteError: a file cannot be written.
    """
    report = write_outputs(folder)
    manifest = read_manifest(folder / MANIFEST)
    if manifest.measuring.per_sample:
        write_text_atomic(folder / PER_SAMPLE, to_csv(_HEAD, _lines(folder, manifest)))
    else:
        forget(folder, [PER_SAMPLE])
    return report


def _lines(folder: Path, manifest: ExtractionManifest) -> Iterator[tuple[object, ...]]:
    """One line a row; a failed call has no metrics."""
    invalid, weights = manifest.matching.invalid, manifest.measuring.weights
    for row in read_rows(folder / manifest.rows):
        score, usage = row.score, row.usage
        values: tuple[object, ...] = (None,) * len(_VALUES)
        if row.outcome != OUTCOMES[ERROR]:
            found = per_sample(score, invalid=invalid, weights=weights)
            values = tuple(getattr(found, name) for name in _VALUES)
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
