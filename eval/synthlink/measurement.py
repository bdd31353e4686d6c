"""Measures and compares scored SynthLink runs for the commands that serve all benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from eval.metrics.comparison import Comparison
from eval.metrics.measurement import (
    FAILURE_METRIC,
    MeasuredRuns,
    Measurement,
    MetricInfo,
    ResamplingPlan,
    SystemPair,
)
from eval.metrics.run_set import list_systems, name_systems, require_distinct_folders
from eval.stats.bootstrap import ClusterResamples
from eval.stats.estimates import Estimate
from eval.synthlink.comparison import ALL_GROUP, compare_pairs, list_shared_modes
from eval.synthlink.manifest import SynthLinkManifest, read_manifest
from eval.synthlink.mean_scores import estimate_means
from eval.synthlink.metrics import METRICS, MetricName, Mode
from eval.synthlink.outputs import read_scores
from eval.synthlink.record import SynthLinkReport
from eval.synthlink.run_files import PREDICTIONS, RUN_MANIFEST
from eval.synthlink.run_manifest import read_run_manifest_file
from kg.base.errors import CardSetMismatchError
from kg.base.files import sha256_file
from kg.base.proportions import wilson_interval

_NOUN: Final = "question"
_UNUSABLE: Final = ("missing", "refused")
"""Statuses of questions whose answer is missing or cannot be read."""


class SynthLinkMeasurement(Measurement):
    """Measures the scores of SynthLink runs.

    Args:
        reports: name of a system → its scores; all with the same questions and settings.
        runs: what is measured.
        plan: how questions are resampled.
    """

    def __init__(
        self, reports: Mapping[str, SynthLinkReport], runs: MeasuredRuns, plan: ResamplingPlan
    ) -> None:
        super().__init__(runs, plan)
        self._reports = {
            name: msgspec.structs.replace(
                report, resamples=plan.resamples, seed=plan.seed, confidence=plan.confidence
            )
            for name, report in reports.items()
        }
        self._metrics = _list_metrics(list_shared_modes(reports))

    def estimates(self, system: str) -> Mapping[str, Estimate]:
        """See ``Measurement``."""
        report = self._reports[system]
        resamples = ClusterResamples(report.n_questions, self.plan.resamples, self.plan.seed)
        means = {
            mode: estimate_means(
                report.modes[mode].questions,
                np.ones(report.n_questions, dtype=np.bool_),
                mode,
                resamples,
                self.plan.confidence,
            )
            for mode in {mode for mode, _ in self._metrics.values()}
        }
        return {
            **{name: means[mode][metric] for name, (mode, metric) in self._metrics.items()},
            FAILURE_METRIC: _estimate_failures(report, self.plan.confidence),
        }

    def compare(
        self, pairs: Sequence[SystemPair], metric_names: Sequence[str]
    ) -> tuple[Comparison, ...]:
        """See ``Measurement``.

        p-values are adjusted over all metrics of a mode and all pairs, as in SynthLink's own
        comparison.
        """
        compared = {
            (mode, difference.metric, difference.candidate, difference.baseline): difference
            for mode in {self._metrics[name][0] for name in metric_names}
            for difference in compare_pairs(mode, self._reports, pairs, (ALL_GROUP,))
        }
        return tuple(
            msgspec.structs.replace(compared[*self._metrics[name], *pair], metric=name)
            for name in metric_names
            for pair in pairs
        )


def measure_runs(folders: Sequence[Path], plan: ResamplingPlan) -> SynthLinkMeasurement:
    """Measures the scores of SynthLink runs, over all questions of the catalogue.

    A question without a usable answer counts as 0.

    Raises:
        SettingError: a folder is given twice.
        MissingFileError: a folder has no scores.
        RecordError: a file is damaged.
        CardSetMismatchError: the runs have different catalogues or settings, or scores do not
            belong to the predictions next to them.
    """
    require_distinct_folders(folders)
    manifests = [_read_checked_manifest(folder) for folder in folders]
    for folder, manifest in zip(folders, manifests, strict=True):
        if manifest.catalog_sha256 != manifests[0].catalog_sha256:
            raise CardSetMismatchError(
                "the runs are of different catalogues",
                where=f"{folders[0]} and {folder}",
                hint="Score both with the same catalogue.",
            )
    scores = [read_scores(folder) for folder in folders]
    own_names = [
        [_name_system(folder, scored.name)] for folder, scored in zip(folders, scores, strict=True)
    ]
    systems = list_systems(name_systems(folders, own_names))
    reports = {system.name: scored.report for system, scored in zip(systems, scores, strict=True)}
    metrics = _list_metrics(list_shared_modes(reports))
    first = manifests[0]
    runs = MeasuredRuns(
        benchmark="synthlink",
        noun=_NOUN,
        systems=systems,
        n_items=first.questions,
        n_left_out=0,
        metrics={
            **{name: MetricInfo(higher_is_better=True) for name in metrics},
            FAILURE_METRIC: MetricInfo(higher_is_better=False, is_compared=False),
        },
        headline=tuple(metrics)[: len(METRICS)],
        items=first.catalog_sha256[:12],
        details={
            "graph": (first.graph_sha256 or "none")[:12],
            "pages": (first.pages_sha256 or "none")[:12],
        },
        notes=tuple(_list_notes(reports, manifests)),
    )
    return SynthLinkMeasurement(reports, runs, plan)


def _list_metrics(modes: Sequence[Mode]) -> dict[str, tuple[Mode, MetricName]]:
    """Returns name → mode and metric; in any mode but the first, the mode is part of the name."""
    return {
        metric if mode == modes[0] else f"{mode}_{metric}": (mode, metric)
        for mode in modes
        for metric in METRICS
    }


def _read_checked_manifest(folder: Path) -> SynthLinkManifest:
    manifest = read_manifest(folder)
    predictions = folder / PREDICTIONS
    if (
        manifest.predictions == PREDICTIONS
        and predictions.is_file()
        and sha256_file(predictions) != manifest.predictions_sha256
    ):
        raise CardSetMismatchError(
            "the scores are of other predictions",
            where=str(predictions),
            hint="Score them again with `epoche synthlink score`.",
        )
    return manifest


def _name_system(folder: Path, file_name: str) -> str:
    """Returns the name of the run's system; of scores without a run, that of their file."""
    if (folder / RUN_MANIFEST).is_file():
        return read_run_manifest_file(folder / RUN_MANIFEST).name
    return Path(file_name).stem


def _estimate_failures(report: SynthLinkReport, confidence: float) -> Estimate:
    """Estimates the share of questions whose answer is missing or cannot be read."""
    questions = next(iter(report.modes.values())).questions
    count = sum(row.status in _UNUSABLE for row in questions)
    low, high = wilson_interval(count, len(questions), confidence)
    return Estimate(
        value=count / len(questions),
        low=low,
        high=high,
        method="wilson",
        n=len(questions),
        numerator=count,
        denominator=len(questions),
        higher_is_better=False,
    )


def _list_notes(
    reports: Mapping[str, SynthLinkReport], manifests: Sequence[SynthLinkManifest]
) -> Iterator[str]:
    for name, report in reports.items():
        yield from (f"{name}: {note}" for note in report.notes)
    if any(manifest.judge != manifests[0].judge for manifest in manifests):
        yield "The runs were not judged by the same judge."
