"""The record of a comparison of two systems on one metric, the same for all benchmarks."""

from __future__ import annotations

from typing import Literal

import msgspec

from eval.stats.estimates import IntervalMethod
from eval.stats.paired_tests import Discordant

TestName = Literal[
    "mcnemar-exact", "mcnemar", "sign-flip", "wilcoxon", "cluster-bootstrap", "bootstrap", "none"
]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One system compared with a baseline on one metric, over the items that both answered.

    Benchmarks that report further statistics derive their record from this one.
    """

    metric: str
    candidate: str
    baseline: str
    value_candidate: float | None = None
    value_baseline: float | None = None
    difference: float | None = None
    """``value_candidate - value_baseline``; null if either value is null."""
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    test: TestName = "none"
    exact: bool = False
    """Whether the test enumerated all cases, instead of a random sample of them."""
    p: float | None = None
    p_holm: float | None = None
    """Adjusted by Holm's method over the pairs that are compared on this metric."""
    better: str | None = None
    """The better system if the difference is significant; otherwise null."""
    n: int = 0
    """Number of items for which both systems have a value."""
    n_differ: int = 0
    """Number of items on which the two values differ."""
    discordant: Discordant | None = None
    """The 2×2 table, for metrics that are 0 or 1 per item."""
    minimum_detectable_effect: float | None = None
    """The smallest difference that would be detected with 80 % power."""
