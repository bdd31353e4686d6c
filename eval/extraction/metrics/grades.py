"""Grades metrics from A+ to F and checks service levels, by fixed limits.

The service levels are those of the benchmark's specification (section 4.5.10). For grades it gives
no limits, only one example (4.5.8: validity 98.7 % is A+, partial F1 .856 A, exact match 67.3 % B+,
hallucination 3.2 % A+, p95 1.2 s A). The limits here reproduce that example. Where the example
allows it, the limit for ``A+`` equals that of the service level *excellence*, and the limit for
``A`` that of *target*; the limit of *minimum* earns a ``B`` or ``C``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from eval.extraction.record import Check, Estimate, Grade, Level, ServiceLevel

GRADES: Final = ("A+", "A", "B+", "B", "C", "D", "F")
_MIN_VALUES: Final[Mapping[str, tuple[float, ...]]] = {
    "extraction_quality_score": (0.90, 0.85, 0.80, 0.75, 0.70, 0.60),
    "schema_validity": (0.98, 0.95, 0.92, 0.90, 0.80, 0.70),
    "field_f1_partial": (0.90, 0.85, 0.80, 0.75, 0.70, 0.60),
    "exact_match": (0.85, 0.75, 0.65, 0.55, 0.45, 0.30),
    "type_accuracy": (0.98, 0.95, 0.92, 0.90, 0.80, 0.70),
    "success_rate": (0.999, 0.995, 0.99, 0.98, 0.95, 0.90),
}
"""Minimum values for A+, A, B+, B, C and D; a lower value is an F."""
_MAX_VALUES: Final[Mapping[str, tuple[float, ...]]] = {
    "hallucination_rate": (0.05, 0.075, 0.10, 0.15, 0.20, 0.30),
    "latency_p95_s": (1.0, 2.0, 3.0, 5.0, 8.0, 15.0),
}
"""Maximum values for A+, A, B+, B, C and D; a higher value is an F."""


class Requirements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Requirements of a service level; ``…_max`` are upper limits; latency is in milliseconds."""

    eqs: float
    schema_validity: float
    field_f1_partial: float
    hallucination_rate_max: float
    p95_latency_max: float
    success_rate: float


REQUIREMENTS: Final[Mapping[Level, Requirements]] = {
    "minimum": Requirements(
        eqs=0.75,
        schema_validity=0.95,
        field_f1_partial=0.70,
        hallucination_rate_max=0.10,
        p95_latency_max=5000.0,
        success_rate=0.99,
    ),
    "target": Requirements(
        eqs=0.85,
        schema_validity=0.98,
        field_f1_partial=0.80,
        hallucination_rate_max=0.05,
        p95_latency_max=2000.0,
        success_rate=0.995,
    ),
    "excellence": Requirements(
        eqs=0.90,
        schema_validity=0.99,
        field_f1_partial=0.90,
        hallucination_rate_max=0.02,
        p95_latency_max=1000.0,
        success_rate=0.999,
    ),
}
"""The requirements of the specification (4.5.10)."""

_MILLISECONDS_PER_SECOND = 1000.0


def grade_metrics(metrics: Mapping[str, Estimate]) -> tuple[Grade, ...]:
    """Grades every metric that has limits, in the order of the limit tables."""
    grades = []
    for limit_table, higher_is_better in ((_MIN_VALUES, True), (_MAX_VALUES, False)):
        for name, grade_limits in limit_table.items():
            estimate = metrics[name]
            worst_value, best_value = (
                (estimate.low, estimate.high) if higher_is_better else (estimate.high, estimate.low)
            )
            grades.append(
                Grade(
                    metric=name,
                    value=estimate.value,
                    grade=grade_value(name, estimate.value),
                    grade_at_worst=grade_value(name, worst_value),
                    grade_at_best=grade_value(name, best_value),
                    higher_is_better=higher_is_better,
                    limits=dict(zip(GRADES, grade_limits, strict=False)),
                )
            )
    return tuple(grades)


def grade_value(metric: str, value: float | None) -> str:
    """Returns the grade of one value; empty if the value is ``None``.

    Raises:
        KeyError: the metric has no limits.
    """
    if value is None:
        return ""
    if metric in _MIN_VALUES:
        limits_met = [value >= limit for limit in _MIN_VALUES[metric]]
    else:
        limits_met = [value <= limit for limit in _MAX_VALUES[metric]]
    return GRADES[limits_met.index(True)] if True in limits_met else GRADES[-1]


def check_service_levels(
    metrics: Mapping[str, Estimate], requirements: Mapping[Level, Requirements] = REQUIREMENTS
) -> dict[Level, ServiceLevel]:
    """Checks the requirements of every service level.

    Args:
        metrics: metrics of one system.
        requirements: requirements by level.
    """
    levels: dict[Level, ServiceLevel] = {}
    for level, requirement in requirements.items():
        checks = (
            check_limit("extraction_quality_score", metrics, requirement.eqs),
            check_limit("schema_validity", metrics, requirement.schema_validity),
            check_limit("field_f1_partial", metrics, requirement.field_f1_partial),
            check_limit(
                "hallucination_rate", metrics, requirement.hallucination_rate_max, is_minimum=False
            ),
            check_limit(
                "latency_p95_s",
                metrics,
                requirement.p95_latency_max / _MILLISECONDS_PER_SECOND,
                is_minimum=False,
            ),
            check_limit("success_rate", metrics, requirement.success_rate),
        )
        levels[level] = ServiceLevel(passed=have_all_passed(checks), checks=checks)
    return levels


def have_all_passed(checks: tuple[Check, ...]) -> bool | None:
    """Returns whether all checks pass; ``None`` if none fails but at least one is undefined."""
    verdicts = [check.passed for check in checks]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def check_limit(
    metric: str,
    metrics: Mapping[str, Estimate],
    limit: float,
    *,
    is_minimum: bool = True,
    strict: bool = False,
) -> Check:
    """Checks one requirement: the value is at least, or at most, a limit.

    Args:
        metric: name of the metric.
        metrics: values by name.
        limit: the limit; a value equal to it passes, unless ``strict``.
        is_minimum: whether the limit is a minimum; otherwise it is a maximum.
        strict: whether a value equal to the limit fails.
    """
    estimate = metrics[metric]

    def meets_limit(value: float) -> bool:
        if value == limit:
            return not strict
        return value > limit if is_minimum else value < limit

    ends = [end for end in (estimate.low, estimate.high) if end is not None]
    return Check(
        metric=metric,
        limit=limit,
        higher_is_better=is_minimum,
        value=estimate.value,
        passed=None if estimate.value is None else meets_limit(estimate.value),
        sure=len(ends) > 1 and len({meets_limit(end) for end in ends}) == 1,
    )
