"""Builds the standings, forest plots and tables of a comparison page, as records without markup.

Every number is copied from the comparison record and not computed again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec.structs import replace

from eval.abstention.comparison.report import ComparisonReport
from eval.abstention.comparison.text import describe_comparison
from eval.abstention.metrics.definitions import choose_ranking_metric, is_higher_better
from eval.abstention.metrics.record import CardComparison
from eval.blocks.charts import ForestChart, PlottedDifference
from eval.blocks.comparison_text import is_significant, summarise_findings
from eval.blocks.glossary import RANKING_NAMES, MetricDescription, describe_metric
from eval.blocks.text_format import format_name
from eval.stats.paired_tests import Discordant
from reporting.card_report.view_records import PairRow, build_pair_row
from reporting.visible_text import make_visible

MAX_PLOTTED_PAIRS = 15
"""Maximum number of pairs to plot. With more pairs, only those with the first system of the table
are plotted."""

DIRECTION_TEXTS = {True: "higher is better", False: "lower is better", None: "descriptive only"}


@dataclass(frozen=True)
class Standing:
    """One system on one metric.

    Attributes:
        value: value to three decimals, or a dash.
        better: number of systems that it is significantly better than.
        worse: number of systems that are significantly better than it.
        differs: number of systems that it differs from significantly, on a metric without a better
            direction.
        undecided: number of systems that it does not differ from significantly.
        is_best: whether it is significantly better than at least one system, and no system is
            significantly better than it.
    """

    value: str
    better: int
    worse: int
    differs: int
    undecided: int
    is_best: bool


@dataclass(frozen=True)
class MetricPart:
    """The part of the page about one metric under one policy."""

    key: str
    policy: str
    description: MetricDescription
    direction: str
    summary: str
    forest: ForestChart
    against: str
    """The second system of every plotted pair: the baseline or, if there are too many pairs to plot
    them all, the first system of the table. Otherwise empty."""
    rows: tuple[PairRow, ...]


class ComparisonView:
    """The data of the comparison page; systems are in the order of ``ranking``."""

    def __init__(self, report: ComparisonReport) -> None:
        self.report = report
        self.policies = list(dict.fromkeys(pair.policy for pair in report.comparisons))
        self.metrics = list(dict.fromkeys(pair.metric for pair in report.comparisons))
        self.ranking = choose_ranking_metric(self.metrics)
        """The metric by which systems are sorted."""
        self.metrics.sort(key=lambda name: (name != self.ranking, name != "accuracy"))
        names = dict.fromkeys(
            n for pair in report.comparisons for n in (pair.candidate, pair.baseline)
        )
        values = self._collect_values(self.policies[0], self.ranking) if self.policies else {}

        def sort_key(name: str) -> float:
            # The order by value does not imply significance; systems without a value are last.
            value = values.get(name)
            return math.inf if value is None else -value

        self.systems = sorted(names, key=sort_key)

    @property
    def ranking_name(self) -> str:
        """The name of that metric in a sentence."""
        return RANKING_NAMES[self.ranking]

    def list_pairs(self, policy: str, metric: str) -> list[CardComparison]:
        """Lists the pairs of one metric; the system that is higher in the table comes first.

        With a baseline, the baseline is the second system of every pair.
        """
        rank = {name: index for index, name in enumerate(self.systems)}
        baseline = self.report.baseline
        oriented_pairs = [
            pair
            if pair.baseline == baseline
            or (rank[pair.candidate] < rank[pair.baseline] and not baseline)
            else swap_pair(pair)
            for pair in self.report.comparisons
            if (pair.policy, pair.metric) == (policy, metric)
        ]
        return sorted(oriented_pairs, key=lambda pair: (rank[pair.candidate], rank[pair.baseline]))

    def build_parts(self, metric: str) -> list[MetricPart]:
        """Builds the parts of one metric, one per policy."""
        return [
            self._build_part(policy, metric)
            for policy in self.policies
            if self.list_pairs(policy, metric)
        ]

    def build_standings(self, policy: str) -> list[tuple[str, list[Standing]]]:
        """Builds each system's standing on every metric, in the order of ``metrics``."""
        names = self.list_metrics(policy)
        standings = {name: self._count_standings(policy, name) for name in names}
        return [
            (format_name(system), [standings[name][system] for name in names])
            for system in self.systems
        ]

    def list_metrics(self, policy: str) -> list[str]:
        """Lists the metrics that are compared under a policy."""
        return [name for name in self.metrics if self.list_pairs(policy, name)]

    def list_signatures(self) -> list[str]:
        """Lists the signatures of the compared metrics, without duplicates."""
        return list(dict.fromkeys(make_visible(pair.signature) for pair in self.report.comparisons))

    def _collect_values(self, policy: str, metric: str) -> dict[str, float | None]:
        values: dict[str, float | None] = {}
        for pair in self.report.comparisons:
            if (pair.policy, pair.metric) == (policy, metric):
                values[pair.candidate], values[pair.baseline] = (
                    pair.value_candidate,
                    pair.value_baseline,
                )
        return values

    def _count_standings(self, policy: str, metric: str) -> dict[str, Standing]:
        pairs = self.list_pairs(policy, metric)
        values = self._collect_values(policy, metric)
        higher_is_better = is_higher_better(metric, pairs[0].policy)
        standings = {}
        for system in self.systems:
            system_pairs = [pair for pair in pairs if system in (pair.candidate, pair.baseline)]
            won_or_lost = [pair for pair in system_pairs if pair.better is not None]
            better = sum(pair.better == system for pair in won_or_lost)
            differs = sum(is_significant(pair) for pair in system_pairs) - len(won_or_lost)
            value = values.get(system)
            standings[system] = Standing(
                value="–" if value is None else f"{value:.3f}",
                better=better,
                worse=len(won_or_lost) - better,
                differs=differs,
                undecided=len(system_pairs) - len(won_or_lost) - differs,
                is_best=higher_is_better is not None
                and value is not None
                and better == len(won_or_lost) > 0,
            )
        return standings

    def _build_part(self, policy: str, metric: str) -> MetricPart:
        pairs = self.list_pairs(policy, metric)
        higher_is_better = is_higher_better(metric, pairs[0].policy)
        plotted_pairs, reference = pairs, self.report.baseline or ""
        if not reference and len(pairs) > MAX_PLOTTED_PAIRS:
            reference = self.systems[0]
            plotted_pairs = [
                pair if pair.baseline == reference else swap_pair(pair)
                for pair in pairs
                if reference in (pair.candidate, pair.baseline)
            ]
        return MetricPart(
            key=metric,
            policy=policy,
            description=describe_metric(metric),
            direction=DIRECTION_TEXTS[higher_is_better],
            summary=summarise_findings(pairs, higher_is_better),
            forest=ForestChart(
                tuple(_to_plotted_difference(pair) for pair in plotted_pairs),
                reference=format_name(reference),
                higher_is_better=higher_is_better,
            ),
            against=format_name(reference),
            rows=tuple(map(build_pair_row, pairs)),
        )


def swap_pair(pair: CardComparison) -> CardComparison:
    """Returns the same comparison with its two systems swapped."""

    def negate_value(value: float | None) -> float | None:
        return None if value is None else 0.0 - value  # unlike -value, never -0.0

    counts = pair.discordant
    return replace(
        pair,
        candidate=pair.baseline,
        baseline=pair.candidate,
        value_candidate=pair.value_baseline,
        value_baseline=pair.value_candidate,
        difference=negate_value(pair.difference),
        low=negate_value(pair.high),
        high=negate_value(pair.low),
        cohens_d=negate_value(pair.cohens_d),
        discordant=counts
        and Discordant(counts.both, counts.only_baseline, counts.only_candidate, counts.neither),
    )


def _to_plotted_difference(pair: CardComparison) -> PlottedDifference:
    return PlottedDifference(
        first=format_name(pair.candidate),
        second=format_name(pair.baseline),
        value=pair.difference,
        low=pair.low,
        high=pair.high,
        minimum_detectable_effect=pair.minimum_detectable_effect,
        is_significant=is_significant(pair),
        text=make_visible(describe_comparison(pair)),
    )
