"""From a comparison to what its page shows: standings, forest plots and tables, no markup.

Every number comes from the record as it stands there; nothing is computed again.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from eval.comparing.comparison import ComparisonReport
from eval.comparing.words import verdict
from eval.metrics.abstention import metric as metric_of
from eval.metrics.record import PairedComparison
from eval.stats.paired import Discordant
from reporting.forest import Difference, Forest, forest
from reporting.glossary import MetricWords, metric_words
from reporting.pair_words import pair_row, tells_apart, told_apart
from reporting.view_records import PairRow
from reporting.visible import shown_name, visible

MOST_DRAWN = 15
"""With more pairs than this, a plot holds every system against the first of the table only."""

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "describes only"}


@dataclass(frozen=True)
class Standing:
    """One system on one metric.

    Attributes:
        value: to three decimals, or a dash.
        better: systems it is shown to be better than.
        worse: systems shown to be better than it.
        differs: systems it is told from on a metric that only describes.
        open: systems it cannot be told from.
        first: whether no system is shown to be better.
    """

    value: str
    better: int
    worse: int
    differs: int
    open: int
    first: bool


@dataclass(frozen=True)
class MetricPart:
    """Everything about one metric under one policy."""

    key: str
    policy: str
    words: MetricWords
    direction: str
    summary: str
    forest: Forest
    against: str
    """The system that all others are drawn against; empty when every pair is drawn."""
    rows: tuple[PairRow, ...]


class ComparisonView:
    """What the template reads; systems in the order of their accuracy."""

    def __init__(self, report: ComparisonReport) -> None:
        self.report = report
        self.policies = list(dict.fromkeys(one.policy for one in report.comparisons))
        self.metrics = list(dict.fromkeys(one.metric for one in report.comparisons))
        self.metrics.sort(key=lambda name: name != "accuracy")
        compared = dict.fromkeys(n for one in report.comparisons for n in (one.a, one.b))
        accuracy = self._values(self.policies[0], "accuracy") if self.policies else {}

        def downhill(name: str) -> float:
            # An order of values is no finding; it only lets tables read downhill.
            value = accuracy.get(name)
            return 1.0 if value is None else -value

        self.systems = sorted(compared, key=downhill)

    def pairs(self, policy: str, metric: str) -> list[PairedComparison]:
        """The pairs of one metric, the system that stands higher in the table first."""
        place = {name: at for at, name in enumerate(self.systems)}
        against = self.report.baseline
        found = [
            one
            if one.b == against or (place[one.a] < place[one.b] and not against)
            else turned(one)
            for one in self.report.comparisons
            if (one.policy, one.metric) == (policy, metric)
        ]
        return sorted(found, key=lambda one: (place[one.a], place[one.b]))

    def parts(self, metric: str) -> list[MetricPart]:
        """One metric under every policy."""
        return [self._part(policy, metric) for policy in self.policies]

    def standings(self, policy: str) -> list[tuple[str, list[Standing]]]:
        """Per system its place on every metric, in the order of ``metrics``."""
        tallies = {name: self._standings(policy, name) for name in self.metrics}
        return [
            (shown_name(system), [tallies[name][system] for name in self.metrics])
            for system in self.systems
        ]

    def signatures(self) -> list[str]:
        """The signature of every metric compared, once."""
        return list(dict.fromkeys(visible(one.signature) for one in self.report.comparisons))

    def _values(self, policy: str, metric: str) -> dict[str, float | None]:
        values: dict[str, float | None] = {}
        for one in self.report.comparisons:
            if (one.policy, one.metric) == (policy, metric):
                values[one.a], values[one.b] = one.value_a, one.value_b
        return values

    def _standings(self, policy: str, metric: str) -> dict[str, Standing]:
        pairs = self.pairs(policy, metric)
        values = self._values(policy, metric)
        higher = metric_of(metric, pairs[0].policy).higher_is_better
        found = {}
        for system in self.systems:
            mine = [one for one in pairs if system in (one.a, one.b)]
            told = [one for one in mine if one.better is not None]
            better = sum(one.better == system for one in told)
            differs = sum(tells_apart(one) for one in mine) - len(told)
            value = values.get(system)
            found[system] = Standing(
                value="–" if value is None else f"{value:.3f}",
                better=better,
                worse=len(told) - better,
                differs=differs,
                open=len(mine) - len(told) - differs,
                first=higher is not None and value is not None and better == len(told) > 0,
            )
        return found

    def _part(self, policy: str, metric: str) -> MetricPart:
        pairs = self.pairs(policy, metric)
        higher = metric_of(metric, pairs[0].policy).higher_is_better
        drawn, against = pairs, self.report.baseline or ""
        if not against and len(pairs) > MOST_DRAWN:
            against = self.systems[0]
            drawn = [
                one if one.b == against else turned(one)
                for one in pairs
                if against in (one.a, one.b)
            ]
        return MetricPart(
            key=metric,
            policy=policy,
            words=metric_words(metric),
            direction=DIRECTIONS[higher],
            summary=told_apart(pairs, higher),
            forest=forest(
                [_difference(one) for one in drawn],
                against=shown_name(against),
                higher_is_better=higher,
            ),
            against=shown_name(against),
            rows=tuple(map(pair_row, pairs)),
        )


def turned(pair: PairedComparison) -> PairedComparison:
    """The same comparison with its systems in the other order."""

    def minus(value: float | None) -> float | None:
        return None if value is None else 0.0 - value

    counts = pair.discordant
    return replace(
        pair,
        a=pair.b,
        b=pair.a,
        value_a=pair.value_b,
        value_b=pair.value_a,
        difference=minus(pair.difference),
        low=minus(pair.high),
        high=minus(pair.low),
        cohens_d=minus(pair.cohens_d),
        discordant=counts and Discordant(counts.both, counts.only_b, counts.only_a, counts.neither),
    )


def _difference(pair: PairedComparison) -> Difference:
    return Difference(
        first=shown_name(pair.a),
        second=shown_name(pair.b),
        value=pair.difference,
        low=pair.low,
        high=pair.high,
        smallest=pair.minimum_detectable_effect,
        tells=tells_apart(pair),
        text=visible(verdict(pair)),
    )
