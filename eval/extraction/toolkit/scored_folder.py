"""Writes a run folder from existing predictions, so that they are measured like any other run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.extraction.manifest import ExtractionManifest, ReportSettings
from eval.extraction.row import OUTCOMES, ROWS, ExtractionRow
from eval.extraction.run_files import MANIFEST, OUTPUT_FILES, SAMPLES
from eval.extraction.samples.sample import Sample
from eval.extraction.samples.sample_rows import hash_samples, sample_to_row
from eval.extraction.settings import DEFAULT_MATCHING
from eval.extraction.toolkit.predictions import Prediction, score_predictions
from eval.harness.outputs import delete_outputs_and_report, require_owned_folder
from eval.manifest import library_versions, utc_now
from eval.stats.bootstrap import RESAMPLES
from kg.base.errors import RecordError, WriteError
from kg.base.files import write_json_atomic, write_jsonl_atomic


@dataclass(frozen=True, kw_only=True)
class ScoredRunInfo:
    """What the manifest says about a scored run, and whether the run may replace another.

    Attributes:
        dataset: name of the gold set.
        extractors: system → parameters of its extractor.
        offline: whether no model was called.
        notes: notes for readers of the report, one clause each.
        seed: seed of the resamples.
        resamples: number of bootstrap resamples.
        overwrite: whether to replace an existing run in the folder.
    """

    dataset: str
    extractors: dict[str, Any]
    offline: bool
    notes: tuple[str, ...] = ()
    seed: int = 42
    resamples: int = RESAMPLES
    overwrite: bool = False


def write_scored_run(
    out: Path, samples: Sequence[Sample], predictions: Iterable[Prediction], info: ScoredRunInfo
) -> ExtractionManifest:
    """Scores predictions and writes rows, samples and manifest of a run.

    Args:
        out: folder to write to.
        samples: the gold set.
        predictions: predictions for these samples.
        info: further content of the manifest, and whether to overwrite.

    Raises:
        RecordError: there are no predictions.
        WriteError: the folder has a run and ``overwrite`` is false, or it cannot be written.
    """
    if (out / ROWS).exists() and not info.overwrite:
        raise WriteError(
            "the folder holds a run already",
            where=str(out),
            hint="Choose another --out, or use --overwrite to replace it.",
        )
    require_owned_folder(out, (ROWS, MANIFEST))
    started_at = utc_now()
    rows = list(score_predictions(samples, predictions))
    if not rows:
        raise RecordError(
            "nothing to score: no extraction has a gold sample",
            hint="Extractions and gold samples are matched by id.",
        )
    scored_ids = {row.id for row in rows}
    scored_samples = [sample for sample in samples if sample.id in scored_ids]
    manifest = _build_manifest(scored_samples, rows, info, started_at)
    out.mkdir(parents=True, exist_ok=True)
    delete_outputs_and_report(out, OUTPUT_FILES)
    write_json_atomic(out / MANIFEST, manifest)
    write_jsonl_atomic(out / SAMPLES, map(sample_to_row, scored_samples))
    write_jsonl_atomic(out / ROWS, rows)
    return manifest


def _build_manifest(
    samples: Sequence[Sample], rows: Sequence[ExtractionRow], info: ScoredRunInfo, started_at: str
) -> ExtractionManifest:
    systems = tuple(dict.fromkeys(row.system for row in rows))
    counts = Counter(row.outcome for row in rows)
    return ExtractionManifest(
        rows=ROWS,
        samples=SAMPLES,
        dataset=info.dataset,
        dataset_sha256=hash_samples(samples),
        sample_count=len(samples),
        data_notes=info.notes,
        repeats=max(row.repeat for row in rows) + 1,
        systems=systems,
        offline=info.offline,
        extractors={name: info.extractors.get(name, {}) for name in systems},
        prompts={},
        matching=DEFAULT_MATCHING,
        seed=info.seed,
        measuring=ReportSettings(resamples=info.resamples),
        versions=library_versions(),
        started=started_at,
        ended=utc_now(),
        status="complete",
        counts={outcome: counts[outcome] for outcome in OUTCOMES},
    )
