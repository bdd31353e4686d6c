"""Writes a run folder from existing predictions, so that they are measured like any other run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eval.extraction.benchmark import EXTRACTION
from eval.extraction.files import SAMPLES
from eval.extraction.manifest import ExtractionManifest, ReportSettings
from eval.extraction.row import ROWS
from eval.extraction.samples.sample import Sample
from eval.extraction.samples.sample_rows import hash_samples, sample_to_row
from eval.extraction.settings import DEFAULT_MATCHING, Matching
from eval.harness.predictions.scored_run import write_scored_run as write_folder
from eval.harness.reply import Reply
from kg.base.errors import RecordError
from kg.base.files import write_jsonl_atomic
from kg.base.provenance import library_versions, utc_now

DEFAULT_REPORT = ReportSettings()


@dataclass(frozen=True, kw_only=True)
class ScoredRunInfo:
    """What the manifest says about a scored run, and whether the run may replace another.

    Attributes:
        dataset: name of the gold set.
        extractors: system → parameters of its extractor.
        offline: whether no model was called.
        notes: notes for readers of the report, one clause each.
        seed: seed of the resamples.
        measuring: how the report is computed from the rows.
        overwrite: whether to replace an existing run in the folder.
        all_samples: whether samples without any prediction belong to the run, as failures.
        matching: how fields are compared.
    """

    dataset: str
    extractors: dict[str, Any]
    offline: bool
    notes: tuple[str, ...] = ()
    seed: int = 42
    measuring: ReportSettings = DEFAULT_REPORT
    overwrite: bool = False
    all_samples: bool = False
    matching: Matching = DEFAULT_MATCHING


def write_scored_run(
    out: Path, samples: Sequence[Sample], predictions: Iterable[Reply], info: ScoredRunInfo
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
    replies = list(predictions)
    if not replies:
        raise RecordError(
            "nothing to score: no extraction has a gold sample",
            hint="Extractions and gold samples are matched by id.",
        )
    scored_ids = {reply.id for reply in replies}
    scored_samples = [sample for sample in samples if info.all_samples or sample.id in scored_ids]
    texts = {sample.id: len(sample.text) for sample in scored_samples}
    return write_folder(
        out,
        EXTRACTION,
        _build_manifest(scored_samples, replies, info),
        scored_samples,
        [msgspec.structs.replace(reply, input_chars=texts[reply.id]) for reply in replies],
        write_items=lambda: write_jsonl_atomic(out / SAMPLES, map(sample_to_row, scored_samples)),
        overwrite=info.overwrite,
    )


def _build_manifest(
    samples: Sequence[Sample], replies: Sequence[Reply], info: ScoredRunInfo
) -> ExtractionManifest:
    systems = tuple(dict.fromkeys(reply.system for reply in replies))
    return ExtractionManifest(
        rows=ROWS,
        samples=SAMPLES,
        dataset=info.dataset,
        dataset_sha256=hash_samples(samples),
        sample_count=len(samples),
        data_notes=info.notes,
        repeats=max(reply.repeat for reply in replies) + 1,
        systems=systems,
        offline=info.offline,
        extractors={name: info.extractors.get(name, {}) for name in systems},
        prompts={},
        matching=info.matching,
        seed=info.seed,
        measuring=info.measuring,
        versions=library_versions(),
        started=utc_now(),
        status="running",
    )
