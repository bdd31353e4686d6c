"""Which of several systems extracts better, and whether the data can tell.

Paired on the same samples: a sample counts where both systems have a value of it, which after a
failed call neither has. Systems asked several times count by the mean over their repeats.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from eval.extraction.comparison_record import Compared as Compared
from eval.extraction.comparison_record import ComparedMetric, Effect, Standing, WinRate
from eval.extraction.comparison_record import ExtractionComparison as ExtractionComparison
from eval.extraction.measuring.measure_plan import Plan
from eval.extraction.measuring.quality_score import per_sample
from eval.extraction.record import ExtractionReport
from eval.extraction.row import ExtractionRow
from eval.stats.effects import cohens_d_paired, cohens_d_pooled, paired_t, wilcoxon
from eval.stats.intervals import Draws, Floats, Resampled, resample_blocks, tidy
from eval.stats.paired import holm
from eval.stats.paired_values import better_of, difference_block, paired_values
from kg.words.plain_text import listing

_SAME = 1e-12


class _Metric(NamedTuple):
    """What is compared sample by sample."""

    key: str
    """Its name in ``SampleValues``; empty for what a call took."""
    higher_is_better: bool = True
    yes_or_no: bool = False
    share: bool = True


_METRICS: dict[ComparedMetric, _Metric] = {
    "extraction_quality_score": _Metric("eqs"),
    "schema_validity": _Metric("valid", yes_or_no=True),
    "exact_match": _Metric("exact_match", yes_or_no=True),
    "field_f1_strict": _Metric("f1_strict"),
    "field_f1_partial": _Metric("f1_partial"),
    "field_f1_lenient": _Metric("f1_lenient"),
    "field_precision_partial": _Metric("precision_partial"),
    "field_recall_partial": _Metric("recall_partial"),
    "type_accuracy": _Metric("type_accuracy"),
    "hallucination_rate": _Metric("hallucination_rate", higher_is_better=False),
    "omission_rate": _Metric("omission_rate", higher_is_better=False),
    "latency_s": _Metric("", higher_is_better=False, share=False),
    "cost_usd": _Metric("", higher_is_better=False, share=False),
}
_SCORE: ComparedMetric = "extraction_quality_score"

_Values = Mapping[ComparedMetric, Floats]


def compare(
    rows: Iterable[ExtractionRow], report: ExtractionReport, plan: Plan
) -> ExtractionComparison:
    """Holds all systems of a run against each other.

    Args:
        rows: those the report was made from, in any order; read once.
        report: their numbers.
        plan: how they were measured.

    Returns:
        The comparison; without a pair where there is one system only.
    """
    ranking = _ranking(report)
    order = [standing.system for standing in ranking]
    values = _per_sample(rows, plan)
    draws = Draws(report.n_samples, plan.resamples, plan.seed)
    couples = list(itertools.combinations(order, 2))
    pairs: list[Compared] = []
    for name, metric in _METRICS.items():
        pairs += _compared(name, metric, couples, values, draws, plan)
    best, frontiers = _best(report), _frontiers(report)
    return ExtractionComparison(
        ranking=ranking,
        pairs=tuple(pairs),
        win_rates=tuple(_win_rates(order, values)),
        frontiers={name: front for name, (front, _) in frontiers.items()},
        best_by_metric=best,
        notes=tuple(_notes(ranking, frontiers, report)),
    )


def effect_word(d: float | None) -> Effect:
    """Cohen's d in a word, as the specification (4.5.5) puts it; empty where there is none."""
    if d is None:
        return ""
    size = abs(d)
    return (
        "negligible"
        if size < 0.2
        else "small"
        if size < 0.5
        else "medium"
        if size < 0.8
        else "large"
    )


def specified_d(first: Floats, second: Floats) -> float | None:
    """Cohen's d as the specification (4.5.5) reckons it, of as many values on either side.

    It takes deviations over n where the usual pooled ones are over n - 1, so that its d is larger
    by the square root of n / (n - 1).

    Args:
        first: one value for each sample, shape (n,).
        second: the same of the other system.

    Returns:
        Null for fewer than two samples, or where neither system's values vary; the specification
        says 0 there, which would be no difference.
    """
    usual = cohens_d_pooled(first, second)
    return None if usual is None else usual * math.sqrt(first.size / (first.size - 1))


def _ranking(report: ExtractionReport) -> tuple[Standing, ...]:
    found = []
    for name, system in report.systems.items():
        score = system.metrics[_SCORE]
        found.append(Standing(system=name, score=score.value, low=score.low, high=score.high))
    found.sort(key=lambda one: (one.score is None, -(one.score or 0.0), one.system))
    return tuple(found)


def _per_sample(rows: Iterable[ExtractionRow], plan: Plan) -> dict[str, _Values]:
    """System → metric → one value for each sample, nan where it has none.

    Samples stand in the order of their ids, whatever order the rows came in.
    """
    sums: dict[str, dict[str, Floats]] = defaultdict(dict)
    for row in rows:
        known = sums[row.system].setdefault(row.id, np.zeros((2, len(_METRICS))))
        given = np.array([math.nan if one is None else one for one in _values(row, plan)])
        there = ~np.isnan(given)
        known[0, there] += given[there]
        known[1, there] += 1
    names = sorted({name for of_system in sums.values() for name in of_system})
    nothing = np.zeros((2, len(_METRICS)))
    found: dict[str, _Values] = {}
    for system, of_system in sums.items():
        table = np.array([of_system.get(name, nothing) for name in names])
        with np.errstate(invalid="ignore", divide="ignore"):
            means = table[:, 0] / table[:, 1]
        found[system] = {name: means[:, column] for column, name in enumerate(_METRICS)}
    return found


def _values(row: ExtractionRow, plan: Plan) -> Iterator[float | None]:
    if row.outcome == "ERROR":
        yield from (None for _ in _METRICS)
        return
    scored = per_sample(row.score, invalid=plan.invalid, weights=plan.weights)
    for name, metric in _METRICS.items():
        if metric.key:
            value = getattr(scored, metric.key)
            yield None if value is None else float(value)
        elif name == "latency_s":
            yield row.latency_s
        else:
            yield None if row.usage is None else row.usage.cost_usd


def _compared(
    name: ComparedMetric,
    metric: _Metric,
    couples: Sequence[tuple[str, str]],
    values: Mapping[str, _Values],
    draws: Draws,
    plan: Plan,
) -> Iterator[Compared]:
    both = [(values[first][name], values[second][name]) for first, second in couples]
    resampled = resample_blocks([difference_block(*one) for one in both], draws)
    found = [
        _pair(name, metric, couple, one, data, plan)
        for couple, one, data in zip(couples, both, resampled, strict=True)
    ]
    for one, p in zip(found, holm([one.p for one in found]), strict=True):
        yield msgspec.structs.replace(
            one,
            p_holm=None if p is None else tidy(p),
            better=better_of(
                (one.first, one.second),
                (one.low, one.high),
                p,
                higher_is_better=metric.higher_is_better,
            ),
        )


def _pair(
    name: ComparedMetric,
    metric: _Metric,
    couple: tuple[str, str],
    both: tuple[Floats, Floats],
    data: Resampled,
    plan: Plan,
) -> Compared:
    found = paired_values(
        *both,
        data,
        confidence=plan.confidence,
        seed=plan.seed,
        yes_or_no=metric.yes_or_no and plan.repeats == 1,
        share=metric.share,
    )
    one = Compared(metric=name, first=couple[0], second=couple[1], **found.fields())
    if not found.n:
        return one
    shared = ~np.isnan(both[0]) & ~np.isnan(both[1])
    first, second = both[0][shared], both[1][shared]
    apart = first - second
    ranks, student = wilcoxon(apart), paired_t(apart)
    paired, pooled = cohens_d_paired(apart), specified_d(first, second)
    return msgspec.structs.replace(
        one,
        wilcoxon_p=tidy(ranks.p),
        wilcoxon_exact=ranks.exact,
        t_statistic=None if student is None else tidy(student.statistic),
        t_p=None if student is None else tidy(student.p),
        cohens_d=None if paired is None else tidy(paired),
        cohens_d_pooled=None if pooled is None else tidy(pooled),
        effect=effect_word(pooled),
    )


def _win_rates(order: Sequence[str], values: Mapping[str, _Values]) -> Iterator[WinRate]:
    for first, second in itertools.permutations(order, 2):
        apart = values[first][_SCORE] - values[second][_SCORE]
        apart = apart[~np.isnan(apart)]
        wins, losses = int((apart > _SAME).sum()), int((apart < -_SAME).sum())
        yield WinRate(
            first=first,
            second=second,
            n=apart.size,
            wins=wins,
            losses=losses,
            ties=apart.size - wins - losses,
            share=tidy(wins / apart.size) if apart.size else None,
        )


def _value(report: ExtractionReport, system: str, metric: str) -> float | None:
    found = report.systems[system].metrics.get(metric)
    return None if found is None else found.value


_Front = tuple[tuple[str, ...], tuple[str, ...]]
"""Systems on the frontier, and those that cannot be placed."""


def _frontiers(report: ExtractionReport) -> dict[str, _Front]:
    return {
        "accuracy_vs_latency": _frontier(report, "latency_p95_s"),
        "accuracy_vs_cost": _frontier(report, "cost_usd_per_sample"),
    }


def _frontier(report: ExtractionReport, price: str) -> _Front:
    """Those that no other matches in score and price and beats in one of them."""
    points: dict[str, tuple[float, float]] = {}
    for name in report.systems:
        score, paid = _value(report, name, _SCORE), _value(report, name, price)
        if score is not None and paid is not None:
            points[name] = (score, -paid)
    front = [
        name
        for name, mine in points.items()
        if not any(
            all(theirs >= own for theirs, own in zip(other, mine, strict=True)) and other != mine
            for other in points.values()
        )
    ]
    front.sort(key=lambda name: (-points[name][0], name))
    return tuple(front), tuple(sorted(set(report.systems) - set(points)))


def _best(report: ExtractionReport) -> dict[str, str | None]:
    def read(metric: str) -> Callable[[str], float | None]:
        return lambda system: _value(report, system, metric)

    def for_its_price(system: str) -> float | None:
        """Score for each dollar of a sample: of one that costs nothing, more than any other's."""
        score, paid = read(_SCORE)(system), read("cost_usd_per_sample")(system)
        if score is None or paid is None:
            return None
        return score / paid if paid else math.inf if score else 0.0

    wanted: dict[str, tuple[Callable[[str], float | None], bool]] = {
        "highest_eqs": (read(_SCORE), True),
        "highest_f1_partial": (read("field_f1_partial"), True),
        "highest_exact_match": (read("exact_match"), True),
        "lowest_hallucination": (read("hallucination_rate"), False),
        "fastest_p95": (read("latency_p95_s"), False),
        "best_cost_performance": (for_its_price, True),
    }
    best: dict[str, str | None] = {}
    for key, (value_of, higher) in wanted.items():
        known = {name: one for name in report.systems if (one := value_of(name)) is not None}
        top = (max if higher else min)(known.values(), default=None)
        holders = [name for name, one in known.items() if one == top]
        best[key] = holders[0] if len(holders) == 1 else None
    return best


def _notes(
    ranking: Sequence[Standing], frontiers: Mapping[str, _Front], report: ExtractionReport
) -> Iterator[str]:
    yield (
        "A ranking orders values and tests nothing: whether neighbours differ, the paired tests "
        "say. p is adjusted by Holm over the pairs of each metric, not over the metrics."
    )
    unscored = [standing.system for standing in ranking if standing.score is None]
    if unscored:
        yield f"Without a quality score, and so ranked last: {listing(unscored)}."
    for name, (_, unplaced) in frontiers.items():
        if unplaced and len(unplaced) < len(report.systems):
            price = "latency" if name.endswith("latency") else "cost"
            yield f"Not placed by accuracy and {price}, for lack of one: {listing(unplaced)}."
