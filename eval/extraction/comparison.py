"""Compares the systems of one run: ranking, paired tests, win rates and Pareto frontiers.

All comparisons are paired: only samples for which both systems have a value count. A sample whose
call failed has no value. With repeats, a system's value of a sample is the mean over its repeats.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from eval.extraction.comparison_record import ComparedMetric, EffectLabel, RankedSystem, WinRate
from eval.extraction.comparison_record import ExtractionComparison as ExtractionComparison
from eval.extraction.comparison_record import PairComparison as PairComparison
from eval.extraction.metrics.measurement_plan import MeasurementPlan
from eval.extraction.metrics.quality_score import compute_sample_metrics
from eval.extraction.record import ExtractionReport
from eval.extraction.row import ExtractionRow
from eval.stats.bootstrap import (
    ClusterResamples,
    Floats,
    ResampledCounts,
    resample_blocks,
    round_significant,
)
from eval.stats.effects import cohens_d_paired, cohens_d_pooled, paired_t_test, wilcoxon_test
from eval.stats.paired_tests import adjust_holm
from eval.stats.paired_values import build_difference_block, choose_better, compare_values
from kg.words.plain_text import join_list

_TIE_TOLERANCE = 1e-12


class _Metric(NamedTuple):
    """A metric that is compared sample by sample."""

    key: str
    """Field of ``SampleMetrics``; empty for latency and cost, which are read from the row."""
    higher_is_better: bool = True
    is_binary: bool = False
    is_share: bool = True


_COMPARED_METRICS: dict[ComparedMetric, _Metric] = {
    "extraction_quality_score": _Metric("eqs"),
    "schema_validity": _Metric("valid", is_binary=True),
    "exact_match": _Metric("exact_match", is_binary=True),
    "field_f1_strict": _Metric("f1_strict"),
    "field_f1_partial": _Metric("f1_partial"),
    "field_f1_lenient": _Metric("f1_lenient"),
    "field_precision_partial": _Metric("precision_partial"),
    "field_recall_partial": _Metric("recall_partial"),
    "type_accuracy": _Metric("type_accuracy"),
    "hallucination_rate": _Metric("hallucination_rate", higher_is_better=False),
    "omission_rate": _Metric("omission_rate", higher_is_better=False),
    "latency_s": _Metric("", higher_is_better=False, is_share=False),
    "cost_usd": _Metric("", higher_is_better=False, is_share=False),
}
_SCORE: ComparedMetric = "extraction_quality_score"

_MetricValues = Mapping[ComparedMetric, Floats]


def compare_systems(
    rows: Iterable[ExtractionRow], report: ExtractionReport, plan: MeasurementPlan
) -> ExtractionComparison:
    """Compares all systems of a run with each other.

    Args:
        rows: the rows from which the report was computed, in any order; iterated once.
        report: the report of these rows.
        plan: settings of the measurement.

    Returns:
        The comparison; it has no pairs if there is only one system.
    """
    ranking = _rank_systems(report)
    order = [standing.system for standing in ranking]
    values = _collect_sample_values(rows, plan)
    draws = ClusterResamples(report.n_samples, plan.resamples, plan.seed)
    couples = list(itertools.combinations(order, 2))
    pairs: list[PairComparison] = []
    for name, metric in _COMPARED_METRICS.items():
        pairs += _compare_on_metric(name, metric, couples, values, draws, plan)
    best, frontiers = _find_best_systems(report), _compute_frontiers(report)
    return ExtractionComparison(
        ranking=ranking,
        pairs=tuple(pairs),
        win_rates=tuple(_compute_win_rates(order, values)),
        frontiers={name: front for name, (front, _) in frontiers.items()},
        best_by_metric=best,
        notes=tuple(_comparison_notes(ranking, frontiers, report)),
    )


def effect_label(d: float | None) -> EffectLabel:
    """Returns the specification's word (4.5.5) for an effect size; empty if ``d`` is ``None``."""
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


def specification_cohens_d(first: Floats, second: Floats) -> float | None:
    """Computes Cohen's d as the specification (4.5.5) defines it, for two samples of equal size.

    The specification divides squared deviations by n, whereas the usual pooled standard deviation
    divides by n - 1; its d is therefore larger by the factor sqrt(n / (n - 1)).

    Args:
        first: one value per sample, shape (n,).
        second: the values of the other system, shape (n,).

    Returns:
        ``None`` for fewer than two samples, or if neither system's values vary. The specification
        returns 0 in that case, which would wrongly report "no difference".
    """
    usual = cohens_d_pooled(first, second)
    return None if usual is None else usual * math.sqrt(first.size / (first.size - 1))


def _rank_systems(report: ExtractionReport) -> tuple[RankedSystem, ...]:
    ranked = []
    for name, system in report.systems.items():
        score = system.metrics[_SCORE]
        ranked.append(RankedSystem(system=name, score=score.value, low=score.low, high=score.high))
    ranked.sort(key=lambda system: (system.score is None, -(system.score or 0.0), system.system))
    return tuple(ranked)


def _collect_sample_values(
    rows: Iterable[ExtractionRow], plan: MeasurementPlan
) -> dict[str, _MetricValues]:
    """Returns system → metric → one value per sample, nan where there is none.

    Samples are sorted by id, so the result does not depend on the order of the rows.
    """
    sums: dict[str, dict[str, Floats]] = defaultdict(dict)
    for row in rows:
        known = sums[row.system].setdefault(row.id, np.zeros((2, len(_COMPARED_METRICS))))
        given = np.array(
            [math.nan if value is None else value for value in _row_metric_values(row, plan)]
        )
        there = ~np.isnan(given)
        known[0, there] += given[there]
        known[1, there] += 1
    names = sorted({name for of_system in sums.values() for name in of_system})
    nothing = np.zeros((2, len(_COMPARED_METRICS)))
    sample_values: dict[str, _MetricValues] = {}
    for system, of_system in sums.items():
        table = np.array([of_system.get(name, nothing) for name in names])
        with np.errstate(invalid="ignore", divide="ignore"):
            means = table[:, 0] / table[:, 1]
        sample_values[system] = {
            name: means[:, column] for column, name in enumerate(_COMPARED_METRICS)
        }
    return sample_values


def _row_metric_values(row: ExtractionRow, plan: MeasurementPlan) -> Iterator[float | None]:
    if row.outcome == "ERROR":
        yield from (None for _ in _COMPARED_METRICS)
        return
    scored = compute_sample_metrics(row.score, invalid=plan.invalid, weights=plan.weights)
    for name, metric in _COMPARED_METRICS.items():
        if metric.key:
            value = getattr(scored, metric.key)
            yield None if value is None else float(value)
        elif name == "latency_s":
            yield row.latency_s
        else:
            yield None if row.usage is None else row.usage.cost_usd


def _compare_on_metric(
    name: ComparedMetric,
    metric: _Metric,
    pairs: Sequence[tuple[str, str]],
    values: Mapping[str, _MetricValues],
    resamples: ClusterResamples,
    plan: MeasurementPlan,
) -> Iterator[PairComparison]:
    both = [(values[first][name], values[second][name]) for first, second in pairs]
    resampled = resample_blocks(
        [build_difference_block(*values_of_pair) for values_of_pair in both], resamples
    )
    comparisons = [
        _compare_pair(name, metric, couple, values_of_pair, data, plan)
        for couple, values_of_pair, data in zip(pairs, both, resampled, strict=True)
    ]
    for comparison, p in zip(
        comparisons, adjust_holm([comparison.p for comparison in comparisons]), strict=True
    ):
        yield msgspec.structs.replace(
            comparison,
            p_holm=None if p is None else round_significant(p),
            better=choose_better(
                (comparison.first, comparison.second),
                (comparison.low, comparison.high),
                p,
                higher_is_better=metric.higher_is_better,
            ),
        )


def _compare_pair(
    name: ComparedMetric,
    metric: _Metric,
    pair: tuple[str, str],
    value_pair: tuple[Floats, Floats],
    data: ResampledCounts,
    plan: MeasurementPlan,
) -> PairComparison:
    result = compare_values(
        *value_pair,
        data,
        confidence=plan.confidence,
        seed=plan.seed,
        is_binary=metric.is_binary and plan.repeats == 1,
        is_share=metric.is_share,
    )
    comparison = PairComparison(metric=name, first=pair[0], second=pair[1], **result.to_dict())
    if not result.n:
        return comparison
    shared = ~np.isnan(value_pair[0]) & ~np.isnan(value_pair[1])
    first, second = value_pair[0][shared], value_pair[1][shared]
    differences = first - second
    ranks, student = wilcoxon_test(differences), paired_t_test(differences)
    paired, pooled = cohens_d_paired(differences), specification_cohens_d(first, second)
    return msgspec.structs.replace(
        comparison,
        wilcoxon_p=round_significant(ranks.p_value),
        wilcoxon_exact=ranks.is_exact,
        t_statistic=None if student is None else round_significant(student.statistic),
        t_p=None if student is None else round_significant(student.p_value),
        cohens_d=None if paired is None else round_significant(paired),
        cohens_d_pooled=None if pooled is None else round_significant(pooled),
        effect=effect_label(pooled),
    )


def _compute_win_rates(
    order: Sequence[str], values: Mapping[str, _MetricValues]
) -> Iterator[WinRate]:
    for first, second in itertools.permutations(order, 2):
        differences = values[first][_SCORE] - values[second][_SCORE]
        differences = differences[~np.isnan(differences)]
        wins, losses = (
            int((differences > _TIE_TOLERANCE).sum()),
            int((differences < -_TIE_TOLERANCE).sum()),
        )
        yield WinRate(
            first=first,
            second=second,
            n=differences.size,
            wins=wins,
            losses=losses,
            ties=differences.size - wins - losses,
            share=round_significant(wins / differences.size) if differences.size else None,
        )


def _metric_value(report: ExtractionReport, system: str, metric: str) -> float | None:
    estimate = report.systems[system].metrics.get(metric)
    return None if estimate is None else estimate.value


_Frontier = tuple[tuple[str, ...], tuple[str, ...]]
"""Systems on the frontier, and systems that lack one of the two values."""


def _compute_frontiers(report: ExtractionReport) -> dict[str, _Frontier]:
    return {
        "accuracy_vs_latency": _pareto_frontier(report, "latency_p95_s"),
        "accuracy_vs_cost": _pareto_frontier(report, "cost_usd_per_sample"),
    }


def _pareto_frontier(report: ExtractionReport, cost_metric: str) -> _Frontier:
    """Returns the systems that no other system dominates in score and price (Pareto frontier)."""
    points: dict[str, tuple[float, float]] = {}
    for name in report.systems:
        score, paid = _metric_value(report, name, _SCORE), _metric_value(report, name, cost_metric)
        if score is not None and paid is not None:
            points[name] = (score, -paid)
    front = [
        name
        for name, point in points.items()
        if not any(
            all(other_value >= own for other_value, own in zip(other, point, strict=True))
            and other != point
            for other in points.values()
        )
    ]
    front.sort(key=lambda name: (-points[name][0], name))
    return tuple(front), tuple(sorted(set(report.systems) - set(points)))


def _find_best_systems(report: ExtractionReport) -> dict[str, str | None]:
    def value_reader(metric: str) -> Callable[[str], float | None]:
        return lambda system: _metric_value(report, system, metric)

    def score_per_dollar(system: str) -> float | None:
        """Quality score per dollar and sample; infinite for a free system with a score above 0."""
        score, paid = value_reader(_SCORE)(system), value_reader("cost_usd_per_sample")(system)
        if score is None or paid is None:
            return None
        return score / paid if paid else math.inf if score else 0.0

    criteria: dict[str, tuple[Callable[[str], float | None], bool]] = {
        "highest_eqs": (value_reader(_SCORE), True),
        "highest_f1_partial": (value_reader("field_f1_partial"), True),
        "highest_exact_match": (value_reader("exact_match"), True),
        "lowest_hallucination": (value_reader("hallucination_rate"), False),
        "fastest_p95": (value_reader("latency_p95_s"), False),
        "best_cost_performance": (score_per_dollar, True),
    }
    best: dict[str, str | None] = {}
    for key, (value_of, higher) in criteria.items():
        known = {name: value for name in report.systems if (value := value_of(name)) is not None}
        top = (max if higher else min)(known.values(), default=None)
        holders = [name for name, value in known.items() if value == top]
        best[key] = holders[0] if len(holders) == 1 else None
    return best


def _comparison_notes(
    ranking: Sequence[RankedSystem], frontiers: Mapping[str, _Frontier], report: ExtractionReport
) -> Iterator[str]:
    yield (
        "The ranking only sorts the scores. Use the paired tests to see whether neighbours differ. "
        "p values are Holm-adjusted over the pairs of each metric, not over the metrics."
    )
    unscored = [standing.system for standing in ranking if standing.score is None]
    if unscored:
        yield f"Ranked last because they have no quality score: {join_list(unscored)}."
    for name, (_, unplaced) in frontiers.items():
        if unplaced and len(unplaced) < len(report.systems):
            price = "latency" if name.endswith("latency") else "cost"
            yield (
                f"Not on the accuracy and {price} chart, a value is missing: {join_list(unplaced)}."
            )
