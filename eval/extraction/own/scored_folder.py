"""A run folder made of extractions that exist already: scored, and measured like any other run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.extraction.own.predictions import Prediction, scored_rows
from eval.extraction.row import OUTCOMES, ROWS, ExtractionRow
from eval.extraction.running.manifest import ExtractionManifest, Measuring
from eval.extraction.running.output_files import MANIFEST, OUTPUTS, SAMPLES
from eval.extraction.samples.sample import Sample
from eval.extraction.samples.sample_rows import as_row, digest_of
from eval.extraction.settings import DEFAULT
from eval.manifest import library_versions, now
from eval.running.made_files import forget_with_page, refuse_page_of_others
from eval.stats.intervals import RESAMPLES
from kg.base.errors import RecordError, WriteError
from kg.base.files import write_json_atomic, write_jsonl_atomic


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What is said of such a run beside its rows.

    Attributes:
        dataset: name of the gold set.
        extractors: by system, what is known of who extracted.
        offline: whether no model was called.
        notes: what a reader must know, one clause each.
        seed: of the resamples.
        resamples: how many.
        overwrite: whether the folder's run is replaced.
    """

    dataset: str
    extractors: dict[str, Any]
    offline: bool
    notes: tuple[str, ...] = ()
    seed: int = 42
    resamples: int = RESAMPLES
    overwrite: bool = False


def write_scored(
    out: Path, samples: Sequence[Sample], predictions: Iterable[Prediction], scoring: Scoring
) -> ExtractionManifest:
    """Writes rows, samples and manifest; the report is made of them as of those of a run.

    Args:
        out: the folder.
        samples: the gold set.
        predictions: of these samples.
        scoring: what else is said.

    Raises:
        RecordError: there is no prediction.
        WriteError: the folder holds a run and may not be replaced, or cannot be written.
    """
    if (out / ROWS).exists() and not scoring.overwrite:
        raise WriteError(
            "the folder holds a run already",
            where=str(out),
            hint="Choose another --out, or use --overwrite to replace it.",
        )
    refuse_page_of_others(out, (ROWS, MANIFEST))
    started = now()
    rows = list(scored_rows(samples, predictions))
    if not rows:
        raise RecordError(
            "nothing to score: no extraction has a gold sample",
            hint="Ids of extractions and of the gold set must be the same.",
        )
    asked = {row.id for row in rows}
    kept = [sample for sample in samples if sample.id in asked]
    manifest = _manifest(kept, rows, scoring, started)
    out.mkdir(parents=True, exist_ok=True)
    forget_with_page(out, OUTPUTS)
    write_json_atomic(out / MANIFEST, manifest)
    write_jsonl_atomic(out / SAMPLES, map(as_row, kept))
    write_jsonl_atomic(out / ROWS, rows)
    return manifest


def _manifest(
    samples: Sequence[Sample], rows: Sequence[ExtractionRow], scoring: Scoring, started: str
) -> ExtractionManifest:
    systems = tuple(dict.fromkeys(row.system for row in rows))
    counts = Counter(row.outcome for row in rows)
    return ExtractionManifest(
        rows=ROWS,
        samples=SAMPLES,
        dataset=scoring.dataset,
        dataset_sha256=digest_of(samples),
        sample_count=len(samples),
        data_notes=scoring.notes,
        repeats=max(row.repeat for row in rows) + 1,
        systems=systems,
        offline=scoring.offline,
        extractors={name: scoring.extractors.get(name, {}) for name in systems},
        prompts={},
        matching=DEFAULT,
        seed=scoring.seed,
        measuring=Measuring(resamples=scoring.resamples),
        versions=library_versions(),
        started=started,
        ended=now(),
        status="complete",
        counts={outcome: counts[outcome] for outcome in OUTCOMES},
    )
