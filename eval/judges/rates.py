"""How often judges say what is known to be right."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from kg.base.proportions import wilson


class Rate(msgspec.Struct, frozen=True):
    """A share of anchors with Wilson's interval of 95 %; null where there is none."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    unjudged: int
    """Anchors without a verdict, which are in neither ``n`` nor the share."""


def rate_of(verdicts: Sequence[Hashable | None], wanted: Hashable) -> Rate:
    """How many of the verdicts are the one wanted; null is no verdict."""
    n = len(verdicts) - verdicts.count(None)
    if not n:
        return Rate(None, None, None, 0, len(verdicts))
    hits = verdicts.count(wanted)
    low, high = wilson(hits, n)
    return Rate(hits / n, low, high, n, len(verdicts) - n)
