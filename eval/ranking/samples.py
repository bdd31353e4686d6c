"""Everything measured of every question, and the draws that all intervals and tests share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eval.ranking.answerability import COMPARABLE, STATISTICS, answerability
from eval.ranking.measures import ALL_GOLD, MEASURES, per_question
from eval.ranking.questions import KINDS, UNANSWERABLE, Question
from eval.ranking.rankings import Rankings
from eval.ranking.record import ALL, Measured, Value
from eval.stats.intervals import (
    Distribution,
    Draws,
    Floats,
    Resampled,
    ratio_distribution,
    resampled_sums,
    tidy,
)
from eval.stats.shown import Interval, edge, interval_of
from kg.base.proportions import wilson


class Samples:
    """Some retrievers on the same questions.

    Args:
        questions: at least one.
        rankings: of every retriever and variant, by name.
        draws: over the questions.
        confidence: coverage intervals aim at.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        rankings: Mapping[str, Rankings],
        draws: Draws,
        confidence: float,
    ) -> None:
        self.questions = questions
        self.rankings = rankings
        self.draws = draws
        self.confidence = confidence
        self._values = {name: per_question(one, questions) for name, one in rankings.items()}
        self._known: dict[tuple[str, str], Distribution] = {}

    @cached_property
    def answerable(self) -> NDArray[np.bool_]:
        """Which questions have gold, shape (questions,)."""
        return np.array([question.answerable for question in self.questions])

    @cached_property
    def groups(self) -> dict[str, NDArray[np.bool_]]:
        """Which answerable questions are in each group that has any, ``all`` first."""
        groups = {ALL: self.answerable}
        for kind in KINDS:
            of_kind = np.array([question.kind == kind for question in self.questions])
            if kind != UNANSWERABLE and of_kind.any():
                groups[kind] = of_kind
        return groups

    def columns(self, group: str) -> tuple[str, ...]:
        """The measures of a group: only all questions together have unanswerable ones."""
        return (*MEASURES, *STATISTICS) if group == ALL else MEASURES

    def values(self, name: str, group: str) -> Floats:
        """The measures of each question of a group, shape (questions of it, len(MEASURES))."""
        return self._values[name][self.groups[group]]

    def distribution(self, name: str, group: str) -> Distribution:
        """The bootstrap distribution of a retriever's measures over a group's questions."""
        if (name, group) not in self._known:
            parts = [self._means(name, group)]
            if group == ALL:
                parts.append(self._answerability(name))
            self._known[name, group] = _beside(parts)
        return self._known[name, group]

    def measured(self, name: str) -> Measured:
        """All of one retriever's numbers."""
        nothing = np.array([not self.rankings[name].by_question[q.id] for q in self.questions])
        return Measured(
            params=self.rankings[name].params,
            measures={
                group: dict(zip(self.columns(group), self._shown(name, group), strict=True))
                for group in self.groups
            },
            found_nothing={
                "answerable": int((nothing & self.answerable).sum()),
                "unanswerable": int((nothing & ~self.answerable).sum()),
            },
        )

    def _means(self, name: str, group: str) -> Distribution:
        inside = self.groups[group]
        per_cluster = np.zeros((len(self.questions), len(MEASURES) + 1))
        per_cluster[inside, :-1] = self._values[name][inside]
        per_cluster[inside, -1] = 1.0
        resampled = Resampled(per_cluster, resampled_sums(per_cluster, self.draws))
        width = len(MEASURES)
        counted = np.zeros((width, width + 1))
        counted[:, -1] = 1.0
        return ratio_distribution(resampled, np.eye(width, width + 1), counted)

    def _answerability(self, name: str) -> Distribution:
        if name not in COMPARABLE:
            width, count = len(STATISTICS), len(self.questions)
            return Distribution(
                values=np.full(width, np.nan),
                replicates=np.full((self.draws.resamples, width), np.nan),
                jackknife=np.full((count, width), np.nan),
                support=np.zeros(width),
            )
        best = np.array(self.rankings[name].best_scores(self.questions))
        return answerability(best, self.answerable, self.draws)

    def _shown(self, name: str, group: str) -> list[Value]:
        spread = self.distribution(name, group)
        intervals = spread.intervals(self.confidence)
        inside, outside = int(self.groups[group].sum()), int((~self.answerable).sum())
        shown: list[Value] = []
        for column, measure in enumerate(self.columns(group)):
            value = float(spread.values[column])
            n = outside if measure in STATISTICS else inside
            if np.isnan(value):
                shown.append(Value(value=None, n=n, why=self._why(name, measure, n, inside)))
                continue
            if measure == ALL_GOLD:
                low, high = wilson(value * n, n, self.confidence)
                found = Interval(low, high, "wilson")
            else:
                found = interval_of(intervals, column) or edge(
                    value, float(intervals.support[column]), self.confidence
                )
            shown.append(
                Value(
                    value=tidy(value),
                    low=tidy(found.low),
                    high=tidy(found.high),
                    method=found.method,
                    n=n,
                )
            )
        return shown

    @staticmethod
    def _why(name: str, measure: str, n: int, inside: int) -> str:
        """Why a measure has no value."""
        if not inside:
            return "no question with gold"
        if measure in STATISTICS and not n:
            return "no unanswerable question"
        if name not in COMPARABLE:
            return "scores cannot be compared from one question to the next"
        return "more than a tenth of the answerable questions found nothing"


def _beside(parts: Sequence[Distribution]) -> Distribution:
    """Distributions over the same draws, their columns side by side."""
    return Distribution(
        values=np.concatenate([part.values for part in parts]),
        replicates=np.concatenate([part.replicates for part in parts], axis=1),
        jackknife=np.concatenate([part.jackknife for part in parts], axis=1),
        support=np.concatenate([part.support for part in parts]),
    )
