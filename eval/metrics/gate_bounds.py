"""Chooses the number that a condition of the gate is tested on where answers failed or are missing.

A failed answer costs less than a wrong one: who lets calls fail that would be answered wrongly has
a better value. So the gate tests the bound at which these answers count against the condition.
"""

from __future__ import annotations

from collections.abc import Mapping

from eval.metrics.measurement import FAILURE_METRIC
from eval.stats.estimates import Estimate


def has_failures(values: Mapping[str, Estimate]) -> bool:
    """Returns whether a system has failed or missing answers, by its metrics.

    Unreadable replies alone are none: they are what the system said, and cost it what an
    abstention in the wrong place costs.
    """
    return FAILURE_METRIC in values and bool(values[FAILURE_METRIC].numerator)


def find_tested_number(value: Estimate, end: str, *, is_lower_limit: bool) -> float | None:
    """Returns the number that a condition is tested on if answers failed.

    Args:
        value: the estimate.
        end: the part of it that the condition names: an end of the interval is moved by as much as
            the bound differs from the value; a bound is that bound.
        is_lower_limit: whether the number must be larger than the limit.
    """
    number: float | None = getattr(value, end or "value")
    worst, best = value.worst, value.best
    if end in ("worst", "best") or number is None or worst is None or best is None:
        return number
    bound = min(worst, best) if is_lower_limit else max(worst, best)
    if end == "" or value.value is None:
        return bound
    return number + (bound - value.value)
