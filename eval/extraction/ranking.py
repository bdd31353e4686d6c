"""Ranks the systems of one run: by headline, by each criterion, and on Pareto frontiers.

All take a value at its worst, as if everything that failed calls would have returned were wrong, so
that no system leads because it answered only the easy samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from eval.extraction.comparison_record import RankedSystem
from eval.extraction.record import Estimate, ExtractionReport

_QUALITY_SCORE = "extraction_quality_score"


def rank_systems(report: ExtractionReport) -> tuple[RankedSystem, ...]:
    """Ranks the systems by the headline; those without a value come last."""
    entries = []
    for name, system in report.systems.items():
        score = system.metrics[report.headline]
        entries.append(
            RankedSystem(
                system=name,
                score=score.value,
                low=score.low,
                high=score.high,
                worst=get_worst(score),
                missing=score.missing,
            )
        )
    entries.sort(
        key=lambda one: (
            one.worst is None,
            -(one.worst or 0.0),
            -(one.score or 0.0),
            one.system,
        )
    )
    return tuple(entries)


def get_worst(estimate: Estimate) -> float | None:
    """Returns a value with failed calls at their worst; the value itself if none failed."""
    has_bound = estimate.missing and estimate.value is not None and estimate.worst is not None
    return estimate.worst if has_bound else estimate.value


def _get_metric_value(report: ExtractionReport, system: str, metric: str) -> float | None:
    estimate = report.systems[system].metrics.get(metric)
    return None if estimate is None else get_worst(estimate)


Frontier = tuple[tuple[str, ...], tuple[str, ...]]
"""Systems on the frontier, and systems for which one of the two values is missing."""


def compute_frontiers(report: ExtractionReport) -> dict[str, Frontier]:
    """Computes the frontiers of headline and latency, and of headline and cost."""
    return {
        "accuracy_vs_latency": _find_pareto_frontier(report, "latency_p95_s"),
        "accuracy_vs_cost": _find_pareto_frontier(report, "cost_usd_per_sample"),
    }


def _find_pareto_frontier(report: ExtractionReport, cost_metric: str) -> Frontier:
    """Returns the Pareto frontier of headline and cost: the systems that no other system dominates.

    A system dominates another one if it is at least as good in both values and better in one.
    """
    points: dict[str, tuple[float, float]] = {}
    for name in report.systems:
        score, cost = (
            _get_metric_value(report, name, report.headline),
            _get_metric_value(report, name, cost_metric),
        )
        if score is not None and cost is not None:
            points[name] = (score, -cost)
    frontier = [
        name
        for name, point in points.items()
        if not any(
            all(
                other_value >= own_value
                for other_value, own_value in zip(other_point, point, strict=True)
            )
            and other_point != point
            for other_point in points.values()
        )
    ]
    frontier.sort(key=lambda name: (-points[name][0], name))
    return tuple(frontier), tuple(sorted(set(report.systems) - set(points)))


_BESTS = {
    "highest_eqs": (_QUALITY_SCORE, 1),
    "highest_f1_partial": ("field_f1_partial", 1),
    "highest_exact_match": ("exact_match", 1),
    "lowest_hallucination": ("hallucination_rate", -1),
    "fastest_p95": ("latency_p95_s", -1),
}
"""Criterion → metric, and −1 where less is better."""


def find_best_systems(report: ExtractionReport) -> dict[str, str | None]:
    """Returns the best system by each criterion, at its worst; ``None`` for ties.

    There is none either if another system could be as good, depending on its failed calls.
    """
    bests: dict[str, str | None] = {}
    for key, (metric, sign) in _BESTS.items():
        values, best_values = {}, {}
        for name, system in report.systems.items():
            estimate = system.metrics.get(metric)
            value = None if estimate is None else get_worst(estimate)
            if estimate is None or value is None:
                continue
            best_values[name] = sign * value
            if estimate.missing and estimate.best is not None:
                best_values[name] = sign * estimate.best
            # Who answers little invents little: a rate of what was extracted proves nothing then.
            if metric != "hallucination_rate" or not system.outcomes.error:
                values[name] = sign * value
        best = _find_only_best(values)
        others = (value for name, value in best_values.items() if name != best)
        is_sure = best is not None and all(value < values[best] for value in others)
        bests[key] = best if is_sure else None
    costs = {name: _compute_score_per_dollar(report, name) for name in report.systems}
    known = {name: value for name, value in costs.items() if value is not None}
    return bests | {"best_cost_performance": _find_only_best(known)}


def _find_only_best(values: Mapping[str, float]) -> str | None:
    best_value = max(values.values(), default=None)
    names = [name for name, value in values.items() if value == best_value]
    return names[0] if len(names) == 1 else None


def _compute_score_per_dollar(report: ExtractionReport, system: str) -> float | None:
    """Returns score per dollar and sample; infinite for a free system with a score above 0."""
    score = _get_metric_value(report, system, _QUALITY_SCORE)
    cost = _get_metric_value(report, system, "cost_usd_per_sample")
    if score is None or cost is None:
        return None
    return score / cost if cost else math.inf if score else 0.0
