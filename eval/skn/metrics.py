"""Computes every metric of an SKN benchmark run, under the published names and under our own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from eval.skn.formats.pipelines import DEFAULT_PIPELINES, PIPELINES
from eval.skn.published.efficiency import compute_efficiency
from eval.skn.published.missing_verdicts import judge_rows
from eval.skn.published.published_metrics import bootstrap_ci, compute_published_keys
from eval.skn.published.seed_keys import select_published_keys
from eval.skn.published.wide_reader import read_wide_rows, require_ids
from eval.skn.scoring.differences import compare_pipelines
from eval.skn.scoring.notes import list_notes, list_published_notes
from eval.skn.scoring.observation import Observation, build_observation
from eval.skn.scoring.pairs import select_pairs
from eval.skn.scoring.pipeline_report import build_pipeline_report
from eval.skn.scoring.record import Mode, SknReport
from eval.skn.scoring.sample_counts import MeasurementPlan, SampleCounts
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import sha256_bytes
from kg.base.provenance import package_version

if TYPE_CHECKING:
    from eval.skn.items import Sample
    from eval.skn.row import SknRow

__all__ = [
    "MeasurementPlan",
    "bootstrap_ci",
    "calculate_metrics",
    "compute_efficiency",
    "measure_observations",
    "measure_run",
]

MISSING_STAGE = "missing"
"""The stage recorded for a row that is missing from the run."""


def measure_run(
    rows: Iterable[SknRow],
    plan: MeasurementPlan | None = None,
    *,
    agreement: Any = None,
    mode: Mode = "corrected",
) -> SknReport:
    """Computes the metrics of a run and compares its pipelines.

    Args:
        rows: rows of any number of pipelines, in any order. A sample without a row of a pipeline
            counts as a failure of that pipeline, so that all are measured on the same samples.
        plan: settings of the resampling.
        agreement: agreement of the judges; copied into the report.
        mode: the definitions of the published keys that are written next to the report; copied
            into the report.

    Raises:
        RecordError: there are no rows, or two rows contradict each other about a sample.
        DuplicateIdError: there are two rows of one sample, pipeline and repeat.
    """
    return measure_observations(
        [build_observation(row) for row in rows], plan, agreement=agreement, mode=mode
    )


def measure_observations(
    rows: Sequence[Observation],
    plan: MeasurementPlan | None = None,
    *,
    agreement: Any = None,
    mode: Mode = "corrected",
) -> SknReport:
    """Does what ``measure_run`` does, from observations of any source.

    Raises:
        RecordError, DuplicateIdError: see ``measure_run``.
    """
    plan = plan or MeasurementPlan()
    rows_by_pipeline = group_by_pipeline(rows)
    samples = SampleCounts(rows_by_pipeline, plan)
    pipelines = {name: build_pipeline_report(samples, name) for name in rows_by_pipeline}
    pairs = select_pairs(list(rows_by_pipeline))
    comparisons = compare_pipelines(samples, pairs)
    row_by_sample = {row.sample: row for row in next(iter(rows_by_pipeline.values()))}
    categories = dict(sorted(Counter(row.category for row in row_by_sample.values()).items()))
    answerable = sum(row.answerable for row in row_by_sample.values())
    described_samples = [
        [row.sample, row.category, row.answerable] for _, row in sorted(row_by_sample.items())
    ]
    digest = sha256_bytes(msgspec.json.encode(described_samples))[:12]
    version = package_version()
    return SknReport(
        version=version,
        signature=(
            f"accuracy|samples:{digest}|n:{len(row_by_sample)}|repeats:{samples.repeats}|"
            f"pipelines:{len(rows_by_pipeline)}|boot:{plan.resamples}|seed:{plan.seed}|"
            f"conf:{plan.confidence:g}|judge:{plan.describe_judge(rows_by_pipeline)}|v:{version}"
        ),
        mode=mode,
        samples=digest,
        n_samples=len(row_by_sample),
        n_answerable=answerable,
        repeats=samples.repeats,
        categories=categories,
        pipelines=pipelines,
        pairs=pairs,
        comparisons=comparisons,
        judges=agreement,
        same_judge=plan.same_judge,
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        notes=(
            *(list_published_notes(pipelines) if mode == "published" else ()),
            *list_notes(pipelines, comparisons, categories, answerable, plan),
        ),
    )


def calculate_metrics(
    results: list[dict[str, Any]],
    pipelines: Sequence[str] | None = None,
    model: str | None = None,
    *,
    mode: Mode = "corrected",
    plan: MeasurementPlan | None = None,
) -> dict[str, Any]:
    """Computes the metrics under the published function's name and keys.

    Args:
        results: one object per sample, with ``{pipeline}_answer`` and ``{pipeline}_confidence``
            (see ``detailed_results.json``). Answers without verdicts are judged, and the verdicts
            are written into the rows, as the published function does.
        pipelines: names; None means ``json`` and ``skn``.
        model: ``provider/model`` of the judge, called only for missing verdicts; None means
            ``EPOCHE_JUDGE_MODEL``.
        mode: ``published`` computes exactly what the published code does, including its faults
            and rounding; ``corrected`` computes what ``measure_run`` does, with null for a value
            that is undefined.
        plan: settings of the resampling; only the mode ``corrected`` uses them.

    Returns:
        Pipeline → key → value.

    Raises:
        RecordError, DuplicateIdError: see ``measure_run``.
        EpocheError: a verdict is missing and no judge is available.
    """
    names = list(pipelines or DEFAULT_PIPELINES)
    if mode == "corrected":
        require_ids(results)
    judge_rows(results, names, model, mode)
    if mode == "published":
        return {name: compute_published_keys(results, name) for name in names}
    rows_by_pipeline = group_by_pipeline(list(read_wide_rows(results, names)))
    samples = SampleCounts(rows_by_pipeline, plan or MeasurementPlan())
    return {name: select_published_keys(build_pipeline_report(samples, name)) for name in names}


def group_by_pipeline(
    rows: Sequence[Observation], pipelines: Sequence[str] = ()
) -> dict[str, list[Observation]]:
    """Groups rows by pipeline in a fixed order and adds a failed row for each missing one.

    Args:
        rows: the rows.
        pipelines: pipelines that may have no row.

    Raises:
        RecordError, DuplicateIdError: see ``measure_run``.
    """
    if not rows:
        raise RecordError("no rows to measure", hint="Run the benchmark first.")
    first_rows: dict[str, Observation] = {}
    observations: dict[tuple[str, str, int], Observation] = {}
    for row in rows:
        first_row = first_rows.setdefault(row.sample, row)
        if (first_row.category, first_row.answerable) != (row.category, row.answerable):
            raise RecordError(
                f"two rows of sample {row.sample!r} differ in category or answerability",
                hint="Measure the rows of one run together.",
            )
        key = (row.pipeline, row.sample, row.repeat)
        if key in observations:
            raise DuplicateIdError(
                f"two rows of sample {row.sample!r} on {row.pipeline!r}, repeat {row.repeat}",
                hint="Measure each run by itself.",
            )
        observations[key] = row
    order = {name: position for position, name in enumerate(PIPELINES)}
    names = sorted(
        {row.pipeline for row in rows}.union(pipelines),
        key=lambda pipeline: (order.get(pipeline, len(order)), pipeline),
    )
    repeats = 1 + max(row.repeat for row in rows)
    return {
        name: [
            observations.get((name, sample, repeat))
            or make_missing_row(first_rows[sample], name, repeat)
            for sample in sorted(first_rows)
            for repeat in range(repeats)
        ]
        for name in names
    }


def make_missing_row(sample: Observation | Sample, pipeline: str, repeat: int) -> Observation:
    """Makes the failed row that stands for a row that does not exist.

    Args:
        sample: the sample, or another row on it.
        pipeline: name of the pipeline.
        repeat: number of the repeat, from 0.
    """
    return Observation(
        sample=sample.sample if isinstance(sample, Observation) else sample.id,
        category=sample.category,
        answerable=sample.answerable,
        pipeline=pipeline,
        repeat=repeat,
        outcome="ERROR",
        stage=MISSING_STAGE,
        has_answer_text=False,
    )
