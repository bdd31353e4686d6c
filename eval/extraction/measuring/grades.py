"""Grades from A+ to F, and service levels: what a value is worth, by limits that are stated.

The service levels are the specification's (4.5.10). It shows grades in one example (4.5.8: validity
98.7 % is A+, partial F1 .856 A, exact match 67.3 % B+, hallucination 3.2 % A+, p95 1.2 s A) and
gives no limits; those here are laid so that the example comes out, ``A+`` and ``A`` being the
levels *excellence* and *target* where those agree with it, and the *minimum* level a ``B`` or
``C``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from eval.extraction.record import Check, Grade, Level, ServiceLevel, Value

GRADES: Final = ("A+", "A", "B+", "B", "C", "D", "F")
_UP: Final[Mapping[str, tuple[float, ...]]] = {
    "extraction_quality_score": (0.90, 0.85, 0.80, 0.75, 0.70, 0.60),
    "schema_validity": (0.98, 0.95, 0.92, 0.90, 0.80, 0.70),
    "field_f1_partial": (0.90, 0.85, 0.80, 0.75, 0.70, 0.60),
    "exact_match": (0.85, 0.75, 0.65, 0.55, 0.45, 0.30),
    "type_accuracy": (0.98, 0.95, 0.92, 0.90, 0.80, 0.70),
    "success_rate": (0.999, 0.995, 0.99, 0.98, 0.95, 0.90),
}
"""The least value that earns A+, A, B+, B, C and D; below is F."""
_DOWN: Final[Mapping[str, tuple[float, ...]]] = {
    "hallucination_rate": (0.05, 0.075, 0.10, 0.15, 0.20, 0.30),
    "latency_p95_s": (1.0, 2.0, 3.0, 5.0, 8.0, 15.0),
}
"""The greatest value that earns A+, A, B+, B, C and D; above is F."""


class Requirements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a service level asks for; ``…_max`` are upper limits, and milliseconds."""

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
        p95_latency_max=5000,
        success_rate=0.99,
    ),
    "target": Requirements(
        eqs=0.85,
        schema_validity=0.98,
        field_f1_partial=0.80,
        hallucination_rate_max=0.05,
        p95_latency_max=2000,
        success_rate=0.995,
    ),
    "excellence": Requirements(
        eqs=0.90,
        schema_validity=0.99,
        field_f1_partial=0.90,
        hallucination_rate_max=0.02,
        p95_latency_max=1000,
        success_rate=0.999,
    ),
}
"""The specification's (4.5.10)."""

_MILLISECONDS = 1000.0


def grades(metrics: Mapping[str, Value]) -> tuple[Grade, ...]:
    """The grade of every metric that has limits, in the order of the tables."""
    found = []
    for limits, higher in ((_UP, True), (_DOWN, False)):
        for name, steps in limits.items():
            one = metrics[name]
            bad, good = (one.low, one.high) if higher else (one.high, one.low)
            found.append(
                Grade(
                    metric=name,
                    value=one.value,
                    grade=grade(name, one.value),
                    grade_at_worst=grade(name, bad),
                    grade_at_best=grade(name, good),
                    higher_is_better=higher,
                    limits=dict(zip(GRADES, steps, strict=False)),
                )
            )
    return tuple(found)


def grade(metric: str, value: float | None) -> str:
    """The grade of one value; empty where there is none.

    Raises:
        KeyError: the metric has no limits.
    """
    if value is None:
        return ""
    if metric in _UP:
        passed = [value >= limit for limit in _UP[metric]]
    else:
        passed = [value <= limit for limit in _DOWN[metric]]
    return GRADES[passed.index(True)] if True in passed else GRADES[-1]


def service_levels(
    metrics: Mapping[str, Value], requirements: Mapping[Level, Requirements] = REQUIREMENTS
) -> dict[Level, ServiceLevel]:
    """Every level with its checks.

    Args:
        metrics: of one system.
        requirements: by level.
    """
    found: dict[Level, ServiceLevel] = {}
    for level, wanted in requirements.items():
        checks = (
            check("extraction_quality_score", metrics, wanted.eqs),
            check("schema_validity", metrics, wanted.schema_validity),
            check("field_f1_partial", metrics, wanted.field_f1_partial),
            check("hallucination_rate", metrics, wanted.hallucination_rate_max, higher=False),
            check("latency_p95_s", metrics, wanted.p95_latency_max / _MILLISECONDS, higher=False),
            check("success_rate", metrics, wanted.success_rate),
        )
        found[level] = ServiceLevel(passed=all_of(checks), checks=checks)
    return found


def all_of(checks: tuple[Check, ...]) -> bool | None:
    """Whether all checks pass; null where none fails and one cannot be made."""
    verdicts = [one.passed for one in checks]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def check(
    metric: str,
    metrics: Mapping[str, Value],
    limit: float,
    *,
    higher: bool = True,
    strict: bool = False,
) -> Check:
    """One requirement: at least, or at most, a limit.

    Args:
        metric: whose value.
        metrics: by name.
        limit: the limit itself passes, unless ``strict``.
        higher: whether more is better.
        strict: whether the value must be beyond the limit.
    """
    one = metrics[metric]

    def holds(value: float) -> bool:
        if value == limit:
            return not strict
        return value > limit if higher else value < limit

    ends = [end for end in (one.low, one.high) if end is not None]
    return Check(
        metric=metric,
        limit=limit,
        higher_is_better=higher,
        value=one.value,
        passed=None if one.value is None else holds(one.value),
        sure=len(ends) > 1 and len({holds(end) for end in ends}) == 1,
    )
