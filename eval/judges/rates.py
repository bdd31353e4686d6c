"""Computes how often judges give the known right verdict on anchors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from kg.base.proportions import wilson_interval


class Rate(msgspec.Struct, frozen=True):
    """A share of anchors with Wilson's 95 % interval; null if no anchor has a verdict."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    unjudged: int
    """Number of anchors without a verdict, which are not counted in ``n`` or the share."""


def compute_rate(verdicts: Sequence[Hashable | None], expected: Hashable) -> Rate:
    """Computes the share of verdicts that equal the expected one; None means no verdict."""
    n = len(verdicts) - verdicts.count(None)
    if not n:
        return Rate(None, None, None, 0, len(verdicts))
    hits = verdicts.count(expected)
    low, high = wilson_interval(hits, n)
    return Rate(hits / n, low, high, n, len(verdicts) - n)
