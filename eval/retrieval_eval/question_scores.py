"""Holds the metrics of every question and retriever, and resamples them for intervals and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from eval.retrieval_eval.answerability import (
    ANSWERABILITY_MEASURES,
    COMPARABLE_RETRIEVERS,
    bootstrap_answerability,
)
from eval.retrieval_eval.metrics import ALL_GOLD, METRIC_NAMES
from eval.retrieval_eval.questions import KINDS, UNANSWERABLE, Kind
from eval.retrieval_eval.record import ALL_QUESTIONS, MetricEstimate, RetrieverMetrics
from eval.retrieval_eval.row import RetrievalRow
from eval.stats.bootstrap import (
    ClusterResamples,
    Distribution,
    Floats,
    ResampledCounts,
    compute_ratio_distribution,
    compute_resampled_sums,
    round_significant,
)
from eval.stats.estimates import Interval, choose_interval, compute_edge_interval
from kg.base.proportions import wilson_interval


@dataclass(frozen=True)
class RetrieverScores:
    """The scores of one retriever.

    Attributes:
        values: the metrics of each question, shape (questions, len(METRIC_NAMES)); nan for
            unanswerable questions.
        best_scores: the best score of each question, -inf if nothing was found; shape
            (questions,).
        is_comparable: whether scores are comparable between questions.
    """

    values: Floats
    best_scores: Floats
    is_comparable: bool

    @classmethod
    def from_rows(cls, name: str, rows: Iterable[RetrievalRow], kinds: Mapping[str, Kind]) -> Self:
        """Collects the scores of one retriever; those of several repeats are averaged.

        Args:
            name: name of the retriever in its own run.
            rows: its rows; those of other questions are ignored. A question without a row counts
                as one for which nothing was found.
            kinds: id of a question → its kind, in the order of the scores.
        """
        rows_by_id: dict[str, list[RetrievalRow]] = {id_: [] for id_ in kinds}
        for row in rows:
            if row.id in rows_by_id:
                rows_by_id[row.id].append(row)
        values = np.full((len(kinds), len(METRIC_NAMES)), np.nan)
        best_scores = np.full(len(kinds), -np.inf)
        for index, (id_, kind) in enumerate(kinds.items()):
            repeats = rows_by_id[id_]
            if kind != UNANSWERABLE:
                measured = [row.measures for row in repeats if row.measures is not None]
                values[index] = [
                    sum(measures[metric] for measures in measured) / max(len(measured), 1)
                    for metric in METRIC_NAMES
                ]
            found = [row.best_score for row in repeats if row.best_score is not None]
            if found:
                best_scores[index] = sum(found) / len(found)
        return cls(values, best_scores, name in COMPARABLE_RETRIEVERS)


class QuestionScores:
    """The scores of several retrievers on the same questions.

    All retrievers share the same resamples, so that their differences are paired.

    Args:
        kinds: the kind of each question; at least one.
        retrievers: name → scores, of every retriever and variant.
        resamples: bootstrap resamples of the questions.
        confidence: nominal coverage of the intervals.
    """

    def __init__(
        self,
        kinds: Sequence[Kind],
        retrievers: Mapping[str, RetrieverScores],
        resamples: ClusterResamples,
        confidence: float,
    ) -> None:
        self.kinds = np.array(kinds)
        self.retrievers = retrievers
        self.resamples = resamples
        self.confidence = confidence
        self._distribution_cache: dict[tuple[str, str], Distribution] = {}

    @cached_property
    def answerable(self) -> NDArray[np.bool_]:
        """Whether each question has gold, shape (questions,)."""
        is_answerable: NDArray[np.bool_] = self.kinds != UNANSWERABLE
        return is_answerable

    @cached_property
    def groups(self) -> dict[str, NDArray[np.bool_]]:
        """Group → whether each question is in it, shape (questions,); ``all`` first.

        Groups contain answerable questions only; empty ones are omitted.
        """
        groups = {ALL_QUESTIONS: self.answerable}
        for kind in KINDS:
            has_kind = self.kinds == kind
            if kind != UNANSWERABLE and has_kind.any():
                groups[kind] = has_kind
        return groups

    def list_metrics(self, group: str) -> tuple[str, ...]:
        """Lists the metrics of a group; answerability is computed for all questions only."""
        return (*METRIC_NAMES, *ANSWERABILITY_MEASURES) if group == ALL_QUESTIONS else METRIC_NAMES

    def get_values(self, name: str, group: str) -> Floats:
        """Returns the metrics of a group's questions, shape (questions, len(METRIC_NAMES))."""
        return self.retrievers[name].values[self.groups[group]]

    def get_distribution(self, name: str, group: str) -> Distribution:
        """Returns the bootstrap distribution of a retriever's metrics over a group's questions."""
        if (name, group) not in self._distribution_cache:
            distributions = [self._bootstrap_means(name, group)]
            if group == ALL_QUESTIONS:
                distributions.append(self._bootstrap_answerability(name))
            self._distribution_cache[name, group] = _concatenate_distributions(distributions)
        return self._distribution_cache[name, group]

    def build_record(self, name: str, params: object) -> RetrieverMetrics:
        """Builds the record of one retriever's metrics.

        Args:
            name: name of the retriever.
            params: everything that determines its rankings.
        """
        is_empty = np.isneginf(self.retrievers[name].best_scores)
        return RetrieverMetrics(
            params=params,
            measures={group: self.estimate_metrics(name, group) for group in self.groups},
            found_nothing={
                "answerable": int((is_empty & self.answerable).sum()),
                "unanswerable": int((is_empty & ~self.answerable).sum()),
            },
        )

    def _bootstrap_means(self, name: str, group: str) -> Distribution:
        # A mean over the group is the ratio of two sums: the sum of the values, and the number of
        # questions of the group (the last column). This number differs between resamples.
        in_group = self.groups[group]
        per_cluster = np.zeros((len(self.kinds), len(METRIC_NAMES) + 1))
        per_cluster[in_group, :-1] = self.retrievers[name].values[in_group]
        per_cluster[in_group, -1] = 1.0
        resampled = ResampledCounts(
            per_cluster, compute_resampled_sums(per_cluster, self.resamples)
        )
        n_metrics = len(METRIC_NAMES)
        denominators = np.zeros((n_metrics, n_metrics + 1))
        denominators[:, -1] = 1.0
        return compute_ratio_distribution(resampled, np.eye(n_metrics, n_metrics + 1), denominators)

    def _bootstrap_answerability(self, name: str) -> Distribution:
        retriever = self.retrievers[name]
        if not retriever.is_comparable:
            n_statistics, n_questions = len(ANSWERABILITY_MEASURES), len(self.kinds)
            return Distribution(
                values=np.full(n_statistics, np.nan),
                replicates=np.full((self.resamples.n_resamples, n_statistics), np.nan),
                jackknife=np.full((n_questions, n_statistics), np.nan),
                support=np.zeros(n_statistics),
            )
        return bootstrap_answerability(retriever.best_scores, self.answerable, self.resamples)

    def estimate_metrics(self, name: str, group: str) -> dict[str, MetricEstimate]:
        """Estimates a retriever's metrics over a group's questions; returns them by name."""
        distribution = self.get_distribution(name, group)
        intervals = distribution.compute_intervals(self.confidence)
        n_group, n_unanswerable = int(self.groups[group].sum()), int((~self.answerable).sum())
        estimates: dict[str, MetricEstimate] = {}
        for column, measure in enumerate(self.list_metrics(group)):
            value = float(distribution.values[column])
            n = n_unanswerable if measure in ANSWERABILITY_MEASURES else n_group
            if np.isnan(value):
                reason = self._explain_missing_value(name, measure, n, n_group)
                estimates[measure] = MetricEstimate(value=None, n=n, why=reason)
                continue
            if measure == ALL_GOLD:
                low, high = wilson_interval(value * n, n, self.confidence)
                interval = Interval(low, high, "wilson")
            else:
                interval = choose_interval(intervals, column) or compute_edge_interval(
                    value, float(intervals.support[column]), self.confidence
                )
            estimates[measure] = MetricEstimate(
                value=round_significant(value),
                low=round_significant(interval.low),
                high=round_significant(interval.high),
                method=interval.method,
                n=n,
            )
        return estimates

    def _explain_missing_value(self, name: str, metric: str, n: int, n_group: int) -> str:
        """Explains why a metric has no value."""
        if not n_group:
            return "no question with gold"
        if metric in ANSWERABILITY_MEASURES and not n:
            return "no unanswerable question"
        if not self.retrievers[name].is_comparable:
            return "scores are not comparable between questions"
        return "nothing was found for more than a tenth of the answerable questions"


def _concatenate_distributions(distributions: Sequence[Distribution]) -> Distribution:
    """Concatenates the columns of distributions over the same resamples."""
    return Distribution(
        values=np.concatenate([distribution.values for distribution in distributions]),
        replicates=np.concatenate(
            [distribution.replicates for distribution in distributions], axis=1
        ),
        jackknife=np.concatenate(
            [distribution.jackknife for distribution in distributions], axis=1
        ),
        support=np.concatenate([distribution.support for distribution in distributions]),
    )
