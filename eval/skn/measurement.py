"""Measures and compares SKN runs for the commands that serve all benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from eval.metrics.comparison import Comparison
from eval.metrics.measurement import (
    FAILURE_METRIC,
    MeasuredRuns,
    Measurement,
    MetricInfo,
    ResamplingPlan,
    SystemPair,
)
from eval.metrics.metric_value import ConfidenceCounts
from eval.metrics.runs.run_set import (
    describe_left_out,
    describe_missing_rows,
    hash_items,
    list_systems,
    name_runs,
    name_systems,
    require_distinct_folders,
    select_shared_items,
)
from eval.skn.files import MANIFEST, SAMPLES
from eval.skn.items import read_samples
from eval.skn.manifest import SknManifest, read_manifest
from eval.skn.metrics import MISSING_STAGE, group_by_pipeline, make_missing_row
from eval.skn.row import read_rows
from eval.skn.scoring.differences import OVERALL_METRICS, PER_SAMPLE_METRICS, compare_pipelines
from eval.skn.scoring.metric_definitions import (
    METRICS,
    NOT_JUDGED_NOTE,
    RETENTION_METRICS,
    STATED_CONFIDENCES,
    VERDICT_METRICS,
)
from eval.skn.scoring.observation import Observation, build_observation
from eval.skn.scoring.pipeline_report import (
    CALIBRATION_METRICS,
    QUANTILE_METRICS,
    build_pipeline_report,
    compute_ratio_estimates,
    count_confidences,
)
from eval.skn.scoring.record import Pair
from eval.skn.scoring.sample_counts import MeasurementPlan, SampleCounts
from eval.stats.estimates import Estimate
from eval.stats.ratio_metrics import RatioMetric
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.plain_text import join_list

_NOUN: Final = "sample"
_FAILURES: Final = RatioMetric(
    FAILURE_METRIC, {"failed": 1}, {"rows": 1}, higher_is_better=False, is_binary=True
)
_COMPARED: Final = frozenset((*PER_SAMPLE_METRICS, *OVERALL_METRICS))
_METRICS: Final = {
    **{
        metric.name: MetricInfo(
            metric.higher_is_better,
            metric.in_unit_interval,
            metric.name in _COMPARED,
            metric.name in STATED_CONFIDENCES,
        )
        for metric in METRICS.values()
    },
    **{name: MetricInfo(False, is_of_confidences=True) for name in CALIBRATION_METRICS},
    **{name: MetricInfo(False, is_share=False) for name in QUANTILE_METRICS},
    **{metric.name: MetricInfo(None, is_compared=False) for metric in RETENTION_METRICS.values()},
    FAILURE_METRIC: MetricInfo(False, is_compared=False),
}
_HEADLINE: Final = ("accuracy", "hallucination_rate", "groundedness", "abstention_f1", "ece")
_NO_EXTRACTION: Final = Estimate(value=None, why="there is no extraction")
_DECISIVE_SETTINGS: Final = ("mode", "search", "setting", "agent", "judges", "model", "judge_model")
"""Fields of the manifest that decide the rows of a pipeline; a note names those that differ."""


class SknMeasurement(Measurement):
    """Measures the pipelines of SKN runs.

    Args:
        samples: the rows of all pipelines on the shared samples.
        runs: what is measured.
        plan: how samples are resampled.
    """

    def __init__(self, samples: SampleCounts, runs: MeasuredRuns, plan: ResamplingPlan) -> None:
        self._samples = samples
        super().__init__(runs, plan)

    def estimates(self, system: str) -> Mapping[str, Estimate]:
        """See ``Measurement``."""
        report = build_pipeline_report(self._samples, system)
        return {
            **report.metrics,
            **{
                metric.name: report.retention.get(kind, _NO_EXTRACTION)
                for kind, metric in RETENTION_METRICS.items()
            },
            **compute_ratio_estimates(self._samples, [_FAILURES], system),
        }

    def count_confidences(self) -> Mapping[str, ConfidenceCounts]:
        """See ``Measurement``."""
        return {name: count_confidences(rows) for name, rows in self._samples.rows.items()}

    def compare(
        self, pairs: Sequence[SystemPair], metric_names: Sequence[str]
    ) -> tuple[Comparison, ...]:
        """See ``Measurement``."""
        compared = compare_pipelines(
            self._samples, [Pair(candidate, baseline, "") for candidate, baseline in pairs]
        )
        return tuple(
            comparison
            for name in metric_names
            for comparison in compared
            if comparison.metric == name
        )


def measure_runs(folders: Sequence[Path], plan: ResamplingPlan) -> SknMeasurement:
    """Measures SKN runs on the samples that all of them asked.

    A sample without a row of a pipeline counts as a failure of that pipeline.

    Raises:
        SettingError: a folder is given twice.
        MissingFileError, RecordError, DuplicateIdError: a folder contains no run, or a file of it
            is damaged.
        CardSetMismatchError: the runs are of different samples.
    """
    require_distinct_folders(folders)
    manifests = [read_manifest(folder / MANIFEST) for folder in folders]
    for folder, manifest in zip(folders, manifests, strict=True):
        if manifest.dataset_sha256 != manifests[0].dataset_sha256:
            raise CardSetMismatchError(
                "the runs are of different data sets",
                where=f"{folders[0]} and {folder}",
                hint="Compare runs on the same data set.",
            )
    names = name_systems(folders, [manifest.pipelines for manifest in manifests])
    rows = [
        list(_read_observations(folder, manifest, run_names))
        for folder, manifest, run_names in zip(folders, manifests, names, strict=True)
    ]
    asked = [{row.sample: [row.category, row.answerable] for row in found} for found in rows]
    shared, n_left_out = select_shared_items(folders, asked, noun=_NOUN)
    repeats = min(manifest.repeats for manifest in manifests)
    systems = list_systems(names)
    shared_rows = [
        row
        for run_rows in rows
        for row in run_rows
        if row.sample in shared and row.repeat < repeats
    ]
    rows_by_pipeline = group_by_pipeline(shared_rows, [system.name for system in systems])
    unjudged = frozenset(
        name
        for manifest, run_names in zip(manifests, names, strict=True)
        for name in run_names.values()
        if not manifest.is_judged
    )
    same_judge = any(manifest.same_judge for manifest in manifests)
    skn_plan = MeasurementPlan(
        plan.resamples, plan.seed, plan.confidence, same_judge=same_judge, unjudged=unjudged
    )
    is_judged = any(manifest.is_judged for manifest in manifests)
    runs = MeasuredRuns(
        benchmark="skn",
        noun=_NOUN,
        systems=systems,
        n_items=len(shared),
        n_left_out=n_left_out,
        metrics={
            name: info
            if is_judged or name not in VERDICT_METRICS
            else replace(info, is_compared=False)
            for name, info in _METRICS.items()
        },
        headline=tuple(name for name in _HEADLINE if is_judged or name not in VERDICT_METRICS),
        items=hash_items(shared),
        details={"repeats": str(repeats), "judge": skn_plan.describe_judge(rows_by_pipeline)},
        notes=(
            *_describe_unjudged(folders, manifests),
            *describe_left_out(len(shared), n_left_out, noun=_NOUN),
            *_list_missing_rows(folders, manifests, rows),
            *_list_notes(manifests, repeats),
        ),
        asked=tuple(asked),
    )
    return SknMeasurement(SampleCounts(rows_by_pipeline, skn_plan), runs, plan)


def _read_observations(
    folder: Path, manifest: SknManifest, names: Mapping[str, str]
) -> Iterator[Observation]:
    """Yields the rows of a run, with the pipelines' names among all runs, then those it lacks.

    Raises:
        RecordError: a row is of an unknown pipeline, or of a sample that was not asked.
    """
    path = folder / manifest.rows
    samples = {sample.id: sample for sample in read_samples(folder / SAMPLES)}
    found: set[tuple[str, str, int]] = set()
    for row in read_rows(path):
        if row.pipeline not in names or row.id not in samples:
            raise RecordError(
                f"a row of {row.pipeline!r} on {row.id!r}, which are not in this run",
                where=str(path),
                hint=f"{MANIFEST} names {join_list(manifest.pipelines)}, {SAMPLES} the samples.",
            )
        found.add((row.id, row.pipeline, row.repeat))
        yield build_observation(msgspec.structs.replace(row, pipeline=names[row.pipeline]))
    for sample in samples.values():
        for repeat in range(manifest.repeats):
            for own_name, name in names.items():
                if (sample.id, own_name, repeat) not in found:
                    yield make_missing_row(sample, name, repeat)


def _list_missing_rows(
    folders: Sequence[Path],
    manifests: Sequence[SknManifest],
    rows: Sequence[Sequence[Observation]],
) -> Iterator[str]:
    for name, manifest, run_rows in zip(name_runs(folders), manifests, rows, strict=True):
        n_missing = sum(row.stage == MISSING_STAGE for row in run_rows)
        yield from describe_missing_rows(name, n_missing, manifest.status)


def _describe_unjudged(folders: Sequence[Path], manifests: Sequence[SknManifest]) -> Iterator[str]:
    """Yields that answers were not judged, with the runs if not all."""
    names = [
        name
        for name, manifest in zip(name_runs(folders), manifests, strict=True)
        if not manifest.is_judged
    ]
    if names:
        is_all = len(names) == len(folders)
        yield NOT_JUDGED_NOTE if is_all else f"{join_list(names)}: {NOT_JUDGED_NOTE}"


def _list_notes(manifests: Sequence[SknManifest], repeats: int) -> Iterator[str]:
    if any(manifest.repeats > repeats for manifest in manifests):
        yield f"Only the first {repeats} repeats count, since not all runs have more."
    different = [
        name
        for name in _DECISIVE_SETTINGS
        if any(getattr(manifest, name) != getattr(manifests[0], name) for manifest in manifests)
    ]
    if different:
        yield f"The runs differ in {join_list(different)}, not only in their pipelines."
