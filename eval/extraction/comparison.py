"""Compares the systems of one run: ranking, paired tests, win rates and Pareto frontiers.

All comparisons are paired: only samples for which both systems have a value are used. A sample
whose call failed has no value, unless failed calls count as 0. With repeats, the value of a sample
is the mean over its repeats.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from eval.extraction.comparison_record import ComparedMetric, EffectLabel, RankedSystem, WinRate
from eval.extraction.comparison_record import ExtractionComparison as ExtractionComparison
from eval.extraction.comparison_record import SampleComparison as SampleComparison
from eval.extraction.metrics.measurement_plan import MeasurementPlan
from eval.extraction.metrics.quality_score import compute_sample_metrics
from eval.extraction.ranking import Frontier, compute_frontiers, find_best_systems, rank_systems
from eval.extraction.record import ExtractionReport, Headline
from eval.extraction.row import ExtractionRow
from eval.metrics.comparison import adjust_family, compare_item_values, round_optional
from eval.stats.bootstrap import ClusterResamples, Floats, round_significant
from eval.stats.effects import cohens_d_paired, cohens_d_pooled, paired_t_test, wilcoxon_test
from kg.base.plain_text import join_list

_TIE_TOLERANCE = 1e-12
"""Two scores that differ by at most this much (rounding errors) are a tie."""


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
    "field_accuracy_macro": _Metric("field_accuracy"),
    "hallucination_rate": _Metric("hallucination_rate", higher_is_better=False),
    "omission_rate": _Metric("omission_rate", higher_is_better=False),
    "latency_s": _Metric("", higher_is_better=False, is_share=False),
    "cost_usd": _Metric("", higher_is_better=False, is_share=False),
}
_QUALITY_SCORE: ComparedMetric = "extraction_quality_score"

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
    ranking = rank_systems(report)
    system_names = [entry.system for entry in ranking]
    values = _collect_sample_values(rows, plan)
    system_pairs = list(itertools.combinations(system_names, 2))
    pairs = _compare_values(values, system_pairs, tuple(_COMPARED_METRICS), plan)
    best, frontiers = find_best_systems(report), compute_frontiers(report)
    return ExtractionComparison(
        ranking=ranking,
        pairs=pairs,
        win_rates=tuple(_compute_win_rates(system_names, values, report.headline)),
        frontiers={name: frontier for name, (frontier, _) in frontiers.items()},
        best_by_metric=best,
        notes=tuple(_iter_notes(ranking, frontiers, report)),
    )


def compare_pairs(
    rows: Iterable[ExtractionRow],
    pairs: Sequence[tuple[str, str]],
    metric_names: Sequence[ComparedMetric],
    plan: MeasurementPlan,
) -> tuple[SampleComparison, ...]:
    """Compares some pairs of systems on some metrics, by metric and then by pair.

    Args:
        rows: the rows of all systems, in any order; iterated once.
        pairs: the pairs, which are one family of tests for each metric.
        metric_names: the metrics.
        plan: settings of the measurement.
    """
    return _compare_values(_collect_sample_values(rows, plan), pairs, metric_names, plan)


def effect_label(d: float | None) -> EffectLabel:
    """Returns the word for an effect size (specification 4.5.5); empty if ``d`` is ``None``."""
    if d is None:
        return ""
    magnitude = abs(d)
    return (
        "negligible"
        if magnitude < 0.2
        else "small"
        if magnitude < 0.5
        else "medium"
        if magnitude < 0.8
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
        Cohen's d; ``None`` for fewer than two samples, or if neither system's values vary. The
        specification returns 0 in these cases, which would wrongly mean "no difference".
    """
    pooled_d = cohens_d_pooled(first, second)
    return None if pooled_d is None else pooled_d * math.sqrt(first.size / (first.size - 1))


def _collect_sample_values(
    rows: Iterable[ExtractionRow], plan: MeasurementPlan
) -> dict[str, _MetricValues]:
    """Returns system → metric → one value per sample, nan where there is none.

    Samples are sorted by id, so the result does not depend on the order of the rows.
    """
    # System → sample → table with the sum of values (row 0) and their number (row 1) per metric.
    sums: dict[str, dict[str, Floats]] = defaultdict(dict)
    for row in rows:
        totals = sums[row.system].setdefault(row.id, np.zeros((2, len(_COMPARED_METRICS))))
        row_values = np.array(
            [math.nan if value is None else value for value in _iter_row_values(row, plan)]
        )
        has_value = ~np.isnan(row_values)
        totals[0, has_value] += row_values[has_value]
        totals[1, has_value] += 1
    sample_ids = sorted({name for totals_by_sample in sums.values() for name in totals_by_sample})
    no_values = np.zeros((2, len(_COMPARED_METRICS)))
    sample_values: dict[str, _MetricValues] = {}
    for system, totals_by_sample in sums.items():
        table = np.array([totals_by_sample.get(name, no_values) for name in sample_ids])
        with np.errstate(invalid="ignore", divide="ignore"):
            means = table[:, 0] / table[:, 1]
        sample_values[system] = {
            name: means[:, column] for column, name in enumerate(_COMPARED_METRICS)
        }
    return sample_values


def _iter_row_values(row: ExtractionRow, plan: MeasurementPlan) -> Iterator[float | None]:
    if row.outcome == "ERROR" and plan.failed != "zero":
        yield from (None for _ in _COMPARED_METRICS)
        return
    sample_metrics = compute_sample_metrics(row.score, invalid=plan.invalid, weights=plan.weights)
    for name, metric in _COMPARED_METRICS.items():
        if metric.key:
            value = getattr(sample_metrics, metric.key)
            yield None if value is None else float(value)
        elif name == "latency_s":
            yield row.latency_s
        else:
            yield None if row.usage is None else row.usage.cost_usd


def _compare_values(
    values: Mapping[str, _MetricValues],
    pairs: Sequence[tuple[str, str]],
    metric_names: Sequence[ComparedMetric],
    plan: MeasurementPlan,
) -> tuple[SampleComparison, ...]:
    n_samples = next(iter(next(iter(values.values())).values())).size
    resamples = ClusterResamples(n_samples, plan.resamples, plan.seed)
    return tuple(
        comparison
        for name in metric_names
        for comparison in _compare_on_metric(
            name, _COMPARED_METRICS[name], pairs, values, resamples, plan
        )
    )


def _compare_on_metric(
    name: ComparedMetric,
    metric: _Metric,
    pairs: Sequence[tuple[str, str]],
    values: Mapping[str, _MetricValues],
    resamples: ClusterResamples,
    plan: MeasurementPlan,
) -> list[SampleComparison]:
    value_pairs = [
        (values[candidate][name], values[baseline][name]) for candidate, baseline in pairs
    ]
    comparisons = compare_item_values(
        [
            SampleComparison(metric=name, candidate=candidate, baseline=baseline)
            for candidate, baseline in pairs
        ],
        value_pairs,
        resamples,
        confidence=plan.confidence,
        is_binary=metric.is_binary and plan.repeats == 1,
        is_share=metric.is_share,
    )
    return adjust_family(
        [
            _add_effect_sizes(comparison, *value_pair)
            for comparison, value_pair in zip(comparisons, value_pairs, strict=True)
        ],
        higher_is_better=metric.higher_is_better,
    )


def _add_effect_sizes(
    comparison: SampleComparison, candidate: Floats, baseline: Floats
) -> SampleComparison:
    """Adds the specification's tests and effect sizes, if any sample has both values."""
    has_both = ~np.isnan(candidate) & ~np.isnan(baseline)
    candidate, baseline = candidate[has_both], baseline[has_both]
    if not candidate.size:
        return comparison
    differences = candidate - baseline
    signed_ranks, t_test = wilcoxon_test(differences), paired_t_test(differences)
    d_pooled = specification_cohens_d(candidate, baseline)
    return msgspec.structs.replace(
        comparison,
        wilcoxon_p=round_significant(signed_ranks.p_value),
        wilcoxon_exact=signed_ranks.is_exact,
        t_statistic=None if t_test is None else round_significant(t_test.statistic),
        t_p=None if t_test is None else round_significant(t_test.p_value),
        cohens_d=round_optional(cohens_d_paired(differences)),
        cohens_d_pooled=round_optional(d_pooled),
        effect=effect_label(d_pooled),
    )


def _compute_win_rates(
    system_names: Sequence[str], values: Mapping[str, _MetricValues], headline: Headline
) -> Iterator[WinRate]:
    for candidate, baseline in itertools.permutations(system_names, 2):
        differences = values[candidate][headline] - values[baseline][headline]
        differences = differences[~np.isnan(differences)]
        wins, losses = (
            int((differences > _TIE_TOLERANCE).sum()),
            int((differences < -_TIE_TOLERANCE).sum()),
        )
        yield WinRate(
            candidate=candidate,
            baseline=baseline,
            n=differences.size,
            wins=wins,
            losses=losses,
            ties=differences.size - wins - losses,
            share=round_significant(wins / differences.size) if differences.size else None,
        )


def _iter_notes(
    ranking: Sequence[RankedSystem], frontiers: Mapping[str, Frontier], report: ExtractionReport
) -> Iterator[str]:
    yield (
        "The ranking only sorts the scores. Use the paired tests to see whether neighbours differ. "
        "p values are Holm-adjusted over the pairs of each metric, not over the metrics."
    )
    incomplete = [
        f"{entry.system} ({entry.missing} of {report.n_samples * report.repeats})"
        for entry in ranking
        if entry.missing and entry.score is not None
    ]
    if incomplete:
        yield (
            f"Calls failed: {join_list(incomplete)}. Ranking, bests and frontiers take these "
            "systems at their worst, as if all failed calls were wrong; the paired tests only have "
            "samples that both systems answered."
        )
    unscored = [entry.system for entry in ranking if entry.score is None]
    if unscored:
        yield f"Ranked last because the headline has no value: {join_list(unscored)}."
    for name, (_, systems_without_value) in frontiers.items():
        if systems_without_value and len(systems_without_value) < len(report.systems):
            price = "latency" if name.endswith("latency") else "cost"
            yield (
                f"Not on the accuracy and {price} chart, a value is missing: "
                f"{join_list(systems_without_value)}."
            )
