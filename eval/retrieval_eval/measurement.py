"""Measures and compares retrieval evaluations for the commands that serve all benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
    describe_missing_rows,
    hash_items,
    list_systems,
    name_runs,
    name_systems,
    require_distinct_folders,
    select_shared_items,
)
from eval.retrieval_eval.answerability import ANSWERABILITY_MEASURES, FALSE_POSITIVES
from eval.retrieval_eval.differences import compare_retrievers
from eval.retrieval_eval.files import MANIFEST
from eval.retrieval_eval.items import RetrievalItem, read_items
from eval.retrieval_eval.manifest import RetrievalManifest, read_manifest
from eval.retrieval_eval.metrics import METRIC_NAMES
from eval.retrieval_eval.question_scores import QuestionScores, RetrieverScores
from eval.retrieval_eval.questions import Kind
from eval.retrieval_eval.record import ALL_QUESTIONS
from eval.retrieval_eval.row import RetrievalRow, read_rows
from eval.stats.bootstrap import ClusterResamples, round_significant
from eval.stats.estimates import Estimate
from kg.base.errors import RecordError
from kg.base.proportions import wilson_interval

_NOUN: Final = "question"
_METRICS: Final = {
    **{
        name: MetricInfo(higher_is_better=name != FALSE_POSITIVES)
        for name in (*METRIC_NAMES, *ANSWERABILITY_MEASURES)
    },
    FAILURE_METRIC: MetricInfo(higher_is_better=False, is_compared=False),
}


@dataclass(frozen=True)
class _Run:
    """A run folder that was read.

    Attributes:
        manifest: its manifest.
        items: id → question, in the order of the run.
        rows: system → its rows.
    """

    manifest: RetrievalManifest
    items: Mapping[str, RetrievalItem]
    rows: Mapping[str, Sequence[RetrievalRow]]


class RetrievalMeasurement(Measurement):
    """Measures retrievers over all answerable questions.

    Args:
        scores: the scores of all retrievers.
        failures: name of a retriever → number of rows without a usable ranking, and of all rows.
        runs: what is measured.
        plan: how questions are resampled.
    """

    def __init__(
        self,
        scores: QuestionScores,
        failures: Mapping[str, tuple[int, int]],
        runs: MeasuredRuns,
        plan: ResamplingPlan,
    ) -> None:
        super().__init__(runs, plan)
        self._scores = scores
        self._failures = failures

    def estimates(self, system: str) -> Mapping[str, Estimate]:
        """See ``Measurement``."""
        deviations = self._scores.get_distribution(system, ALL_QUESTIONS).compute_standard_errors()
        estimates = self._scores.estimate_metrics(system, ALL_QUESTIONS)
        ranking_estimates = {
            name: Estimate(
                value=estimate.value,
                low=estimate.low,
                high=estimate.high,
                method=estimate.method,
                n=estimate.n,
                std=None if np.isnan(deviation) else float(deviation),
                higher_is_better=_METRICS[name].higher_is_better,
                why=estimate.why,
            )
            for (name, estimate), deviation in zip(estimates.items(), deviations, strict=True)
        }
        return {**ranking_estimates, FAILURE_METRIC: self._estimate_failures(system)}

    def _estimate_failures(self, system: str) -> Estimate:
        n_failed, n_rows = self._failures[system]
        low, high = wilson_interval(n_failed, n_rows, self.plan.confidence)
        return Estimate(
            value=round_significant(n_failed / n_rows),
            low=round_significant(low),
            high=round_significant(high),
            method="wilson",
            n=n_rows,
            numerator=float(n_failed),
            denominator=float(n_rows),
            higher_is_better=False,
        )

    def compare(
        self, pairs: Sequence[SystemPair], metric_names: Sequence[str]
    ) -> tuple[Comparison, ...]:
        """See ``Measurement``."""
        compared = compare_retrievers(self._scores, pairs)
        return tuple(
            comparison
            for name in metric_names
            for comparison in compared
            if comparison.metric == name and comparison.group == ALL_QUESTIONS
        )


def measure_runs(folders: Sequence[Path], plan: ResamplingPlan) -> RetrievalMeasurement:
    """Measures retrieval runs on the questions that all of them asked.

    A question without a usable ranking of a retriever counts as one for which it found nothing.

    Raises:
        SettingError: a folder is given twice.
        MissingFileError, RecordError: a file is missing or damaged.
        CardSetMismatchError: the runs have no question in common.
    """
    require_distinct_folders(folders)
    read = [_read_run(folder) for folder in folders]
    contents = [
        {id_: (item.question, item.kind, item.gold, item.qrels) for id_, item in run.items.items()}
        for run in read
    ]
    shared, n_left_out = select_shared_items(folders, contents, noun=_NOUN)
    kinds = {id_: kind for id_, (_, kind, *_) in shared.items()}
    names = name_systems(folders, [run.manifest.systems for run in read])
    retrievers: dict[str, RetrieverScores] = {}
    failures: dict[str, tuple[int, int]] = {}
    for run, run_names in zip(read, names, strict=True):
        for own_name, name in run_names.items():
            rows = run.rows.get(own_name, ())
            retrievers[name] = RetrieverScores.from_rows(own_name, rows, kinds)
            failures[name] = _count_failures(rows, kinds, run.manifest.repeats)
    scores = QuestionScores(
        list(kinds.values()),
        retrievers,
        ClusterResamples(len(kinds), plan.resamples, plan.seed),
        plan.confidence,
    )
    manifests = [run.manifest for run in read]
    runs = MeasuredRuns(
        benchmark="retrieval",
        noun=_NOUN,
        systems=list_systems(names),
        n_items=len(shared),
        n_left_out=n_left_out,
        metrics=_METRICS,
        headline=METRIC_NAMES,
        items=hash_items(shared),
        details={
            "questions": manifests[0].questions_sha256[:12],
            "run": manifests[0].corpus.run[:12],
        },
        notes=(
            *describe_left_out(len(shared), n_left_out, noun=_NOUN),
            *_list_missing_rows(folders, read),
            *_list_notes(manifests),
        ),
        asked=tuple(contents),
    )
    return RetrievalMeasurement(scores, failures, runs, plan)


def _read_run(folder: Path) -> _Run:
    manifest = read_manifest(folder / MANIFEST)
    items = {item.id: item for item in read_items(folder / manifest.items)}
    rows: dict[str, list[RetrievalRow]] = {name: [] for name in manifest.systems}
    path = folder / manifest.rows
    for row in read_rows(path):
        if row.system not in rows or row.id not in items:
            raise RecordError(
                f"a row of {row.system!r} on {row.id!r}, which are not in this run",
                where=str(path),
                hint="Run `epoche retrieval eval` again to replace it.",
            )
        rows[row.system].append(row)
    return _Run(manifest, items, rows)


def _count_failures(
    rows: Sequence[RetrievalRow], kinds: Mapping[str, Kind], repeats: int
) -> tuple[int, int]:
    """Returns the number of rows on some questions without a usable ranking, and of all rows."""
    n_rows = len(kinds) * repeats
    n_usable = sum(row.outcome == "OK" and row.id in kinds for row in rows)
    return n_rows - n_usable, n_rows


def _list_missing_rows(folders: Sequence[Path], runs: Sequence[_Run]) -> Iterator[str]:
    for name, run in zip(name_runs(folders), runs, strict=True):
        manifest = run.manifest
        n_missing = len(run.items) * manifest.repeats * len(run.rows) - sum(
            map(len, run.rows.values())
        )
        yield from describe_missing_rows(name, n_missing, manifest.status)


def _list_notes(manifests: Sequence[RetrievalManifest]) -> Iterator[str]:
    if any(manifest.corpus.run != manifests[0].corpus.run for manifest in manifests):
        yield "The evaluations searched different runs of the text."
    if any(manifest.split != "test" for manifest in manifests):
        yield "Numbers include dev questions: settings chosen on these look better than they are."
