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
from eval.metrics.runs.run_set import (
    describe_left_out,
    hash_items,
    list_systems,
    name_systems,
    require_distinct_folders,
    select_shared_items,
)
from eval.stats.bootstrap import ClusterResamples, resample_blocks
from eval.stats.estimates import Estimate, compute_ratios, estimate_column
from eval.synthlink.asked_questions import find_asked_questions, select_questions
from eval.synthlink.files import PREDICTIONS, ROWS, RUN_MANIFEST
from eval.synthlink.metrics import METRICS, MetricName, Mode
from eval.synthlink.prediction_writer import render_predictions
from eval.synthlink.run_manifest import read_run_manifest_file
from eval.synthlink.scoring.comparison import ALL_GROUP, compare_pairs, list_shared_modes
from eval.synthlink.scoring.manifest import SynthLinkManifest, read_manifest
from eval.synthlink.scoring.mean_scores import estimate_means
from eval.synthlink.scoring.outputs import MANIFEST_FILE, ScoredPredictions, read_scores
from eval.synthlink.scoring.record import UNUSABLE_STATUSES, SynthLinkReport
from eval.synthlink.scoring.repeats import average_report
from kg.base.errors import CardSetMismatchError, MissingFileError
from kg.base.files import sha256_file
from kg.base.proportions import wilson_interval

_NOUN: Final = "question"


class SynthLinkMeasurement(Measurement):
    """Measures the scores of SynthLink runs.

    Args:
        scores: name of a system → its scores; all with the same questions and settings. With
            repeats, the value of a question is its mean over the repeats.
        runs: what is measured.
        plan: how questions are resampled.
    """

    def __init__(
        self, scores: Mapping[str, ScoredPredictions], runs: MeasuredRuns, plan: ResamplingPlan
    ) -> None:
        super().__init__(runs, plan)
        self._scores = scores
        self._reports = {
            name: msgspec.structs.replace(
                average_report(scored.report, scored.repeats),
                resamples=plan.resamples,
                seed=plan.seed,
                confidence=plan.confidence,
            )
            for name, scored in scores.items()
        }
        self._metrics = _list_metrics(list_shared_modes(self._reports))

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
            FAILURE_METRIC: _estimate_failures(self._scores[system], resamples, self.plan),
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
    """Measures the scores of SynthLink runs on the questions that all of them asked.

    A question without a usable answer counts as 0. Predictions that no run of ours wrote count as
    answers to all questions of the catalogue.

    Raises:
        SettingError: a folder is given twice.
        MissingFileError: a folder has no scores.
        RecordError: a file is damaged.
        CardSetMismatchError: the runs have different catalogues or settings, or no question in
            common, or scores do not belong to the predictions next to them.
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
    asked = _list_asked_questions(folders, manifests)
    shared, _ = select_shared_items(folders, asked, noun=_NOUN)
    numbers = sorted(shared.values())
    scores = [select_questions(read_scores(folder), numbers) for folder in folders]
    own_names = [
        [_name_system(folder, scored.name)] for folder, scored in zip(folders, scores, strict=True)
    ]
    systems = list_systems(name_systems(folders, own_names))
    scores_by_name = {system.name: scored for system, scored in zip(systems, scores, strict=True)}
    reports = {name: scored.report for name, scored in scores_by_name.items()}
    metrics = _list_metrics(list_shared_modes(reports))
    first = manifests[0]
    runs = MeasuredRuns(
        benchmark="synthlink",
        noun=_NOUN,
        systems=systems,
        n_items=len(numbers),
        n_left_out=first.questions - len(numbers),
        metrics={
            **{name: MetricInfo(higher_is_better=True) for name in metrics},
            FAILURE_METRIC: MetricInfo(higher_is_better=False, is_compared=False),
        },
        headline=tuple(metrics)[: len(METRICS)],
        items=_hash_questions(first, numbers),
        details={
            "graph": (first.graph_sha256 or "none")[:12],
            "pages": (first.pages_sha256 or "none")[:12],
        },
        notes=(
            *describe_left_out(len(numbers), first.questions - len(numbers), noun=_NOUN),
            *_list_notes(reports, manifests),
        ),
        asked=tuple(asked),
    )
    return SynthLinkMeasurement(scores_by_name, runs, plan)


def _list_asked_questions(
    folders: Sequence[Path], manifests: Sequence[SynthLinkManifest]
) -> list[dict[str, int]]:
    """Returns the numbers, from 0, of the questions that each run asked; the keys are texts."""
    return [
        {
            str(number): number
            for number in find_asked_questions(folder / manifest.predictions, manifest.questions)[
                : manifest.limit
            ]
        }
        for folder, manifest in zip(folders, manifests, strict=True)
    ]


def _hash_questions(manifest: SynthLinkManifest, numbers: Sequence[int]) -> str:
    """Returns the start of the hash of the catalogue, or of the part of it that is measured."""
    if len(numbers) == manifest.questions:
        return manifest.catalog_sha256[:12]
    return hash_items({str(number): manifest.catalog_sha256 for number in numbers})


def _list_metrics(modes: Sequence[Mode]) -> dict[str, tuple[Mode, MetricName]]:
    """Returns name → mode and metric; in any mode but the first, the mode is part of the name."""
    return {
        metric if mode == modes[0] else f"{mode}_{metric}": (mode, metric)
        for mode in modes
        for metric in METRICS
    }


def _read_checked_manifest(folder: Path) -> SynthLinkManifest:
    _require_scores(folder)
    manifest = read_manifest(folder)
    if manifest.predictions != PREDICTIONS:
        return manifest
    hashes = {
        manifest.predictions: manifest.predictions_sha256,
        **{repeat.file: repeat.sha256 for repeat in manifest.repeats},
    }
    for name, sha256 in hashes.items():
        path = folder / name
        if path.is_file() and sha256_file(path) != sha256:
            raise CardSetMismatchError(
                "the scores are of other predictions",
                where=str(path),
                hint="Score them again with `epoche synthlink score`.",
            )
    if (folder / RUN_MANIFEST).is_file():
        for name, content in render_predictions(folder).items():
            path = folder / name
            if path.is_file() and path.read_bytes() != content:
                raise CardSetMismatchError(
                    f"these are not the predictions that the run's {ROWS} gives",
                    where=str(path),
                    hint=f"`epoche verify {folder}` lists what differs; give the command of the "
                    "run again to write and score them anew.",
                )
    return manifest


def _require_scores(folder: Path) -> None:
    """Refuses a run that was not finished, or not scored, as with ``--no-score``."""
    if (folder / MANIFEST_FILE).is_file() or not (folder / RUN_MANIFEST).is_file():
        return
    manifest = read_run_manifest_file(folder / RUN_MANIFEST)
    if not (folder / PREDICTIONS).is_file():
        raise MissingFileError(
            f"the run has no predictions yet; it is {manifest.status}",
            where=str(folder),
            hint="Give its command again: it goes on where it stopped.",
        )
    catalog = folder / manifest.dataset
    options = f"--catalog {catalog.resolve()} " if catalog.exists() else ""
    raise MissingFileError(
        "the run has no scores yet",
        where=str(folder),
        hint=f"`epoche synthlink score --predictions {folder / PREDICTIONS} {options}"
        f"--output-dir {folder}` computes them.",
    )


def _name_system(folder: Path, file_name: str) -> str:
    """Returns the name of the run's system; of scores without a run, that of their file."""
    if (folder / RUN_MANIFEST).is_file():
        return read_run_manifest_file(folder / RUN_MANIFEST).name
    return Path(file_name).stem


def _estimate_failures(
    scored: ScoredPredictions, resamples: ClusterResamples, plan: ResamplingPlan
) -> Estimate:
    """Estimates the share of answers, over all repeats, that are missing or cannot be read."""
    report, repeats = scored.report, scored.repeats
    n, n_repeats = report.n_questions, 1 if repeats is None else repeats.n_repeats
    if repeats is None:
        questions = next(iter(report.modes.values())).questions
        counts = [int(row.status in UNUSABLE_STATUSES) for row in questions]
    else:
        counts = [row.n_unusable for row in next(iter(repeats.modes.values())).questions]
    total = sum(counts)
    estimate = Estimate(
        value=total / (n * n_repeats),
        n=n,
        numerator=total,
        denominator=n * n_repeats,
        higher_is_better=False,
    )
    if repeats is None:
        low, high = wilson_interval(total, n, plan.confidence)
        return msgspec.structs.replace(estimate, low=low, high=high, method="wilson")
    # The repeats of a question are not independent, so whole questions are resampled.
    block = np.column_stack([np.array(counts, dtype=np.float64), np.full(n, float(n_repeats))])
    (data,) = resample_blocks([block], resamples)
    ratios = compute_ratios(data, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    return estimate_column(ratios, 0, estimate, plan.confidence)


def _list_notes(
    reports: Mapping[str, SynthLinkReport], manifests: Sequence[SynthLinkManifest]
) -> Iterator[str]:
    for name, report in reports.items():
        yield from (f"{name}: {note}" for note in report.notes)
    if any(manifest.judge != manifests[0].judge for manifest in manifests):
        yield "The runs were not judged by the same judge."
