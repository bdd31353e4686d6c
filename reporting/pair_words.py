"""Tests in words: a finding only where the test made one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from eval.metrics.record import PairedComparison
from eval.stats.paired import ALPHA
from reporting.charts import UNDEFINED, number
from reporting.forest import Difference, signed
from reporting.view_records import PairRow
from reporting.visible import shown_name


def shown_p(value: float | None) -> str:
    """A p value for reading; never 0."""
    if value is None:
        return UNDEFINED
    return "<0.001" if value < 0.001 else number(value)


def pair_row(pair: PairedComparison) -> PairRow:
    """One line of a comparison table."""
    interval = ""
    if pair.low is not None and pair.high is not None:
        interval = f"{signed(pair.low)} to {signed(pair.high)}"
    counts = ""
    if pair.discordant is not None:
        counts = f"{pair.discordant.only_a} : {pair.discordant.only_b}"
    return PairRow(
        pair=pair,
        difference=signed(pair.difference),
        interval=interval,
        p=shown_p(pair.p_holm if pair.p_holm is not None else pair.p),
        discordant=counts,
        effect=signed(pair.cohens_d, 2),
        smallest=number(pair.minimum_detectable_effect),
        finding=finding(pair),
    )


class Tested(Protocol):
    """A paired difference of a record, with its test."""

    @property
    def difference(self) -> float | None:
        """Null where one of the two has no value."""

    @property
    def low(self) -> float | None:
        """Of its interval."""

    @property
    def high(self) -> float | None:
        """Of its interval."""

    @property
    def p(self) -> float | None:
        """Null where nothing was tested."""

    @property
    def p_holm(self) -> float | None:
        """``p``, adjusted for all pairs."""

    @property
    def better(self) -> str | None:
        """The one shown to be better."""


class TestedSystems(Tested, Protocol):
    """The same with its two systems, to be drawn."""

    @property
    def first(self) -> str:
        """The one whose value the other's is taken from."""

    @property
    def second(self) -> str:
        """The other one."""

    @property
    def smallest_found(self) -> float | None:
        """The true difference that would be found four times in five."""


def tells_apart(pair: Tested) -> bool:
    """Whether the data tell the two systems apart: by test and interval together.

    Also of a metric that only describes, such as coverage, where neither value is the better one.
    """
    if pair.better is not None:
        return True
    p = pair.p if pair.p_holm is None else pair.p_holm
    apart = pair.low is not None and pair.high is not None and (pair.low > 0 or pair.high < 0)
    return p is not None and p < ALPHA and apart


def finding(pair: Tested) -> str:
    """What the data say of a pair, in a few words."""
    if pair.better:
        return f"{shown_name(pair.better)} is better"
    if pair.difference is None:
        return "no value to compare"
    if pair.p is None and pair.p_holm is None:
        return "not tested"
    return "they differ" if tells_apart(pair) else "cannot be told apart"


def calibration_finding(confidence: float, accuracy: float, p: float) -> str:
    """Whether confidence means what it says, as far as the data can tell.

    Args:
        confidence: mean over the replies that state one.
        accuracy: share of these that are right.
        p: share of calibrated systems that would show as great a calibration error by chance.
    """
    gap = confidence - accuracy
    if p >= ALPHA:
        return "no more than chance would show"
    size = f"by {number(abs(gap) * 100, 1)} points on average"
    if abs(gap) < 0.005:
        return "off, too sure here and too unsure there"
    return f"overconfident {size}" if gap > 0 else f"underconfident {size}"


def told_apart(pairs: Sequence[Tested], higher_is_better: bool | None) -> str:
    """How many pairs the data tell apart, in a sentence."""
    told = sum(tells_apart(one) for one in pairs)
    without = sum(one.difference is None for one in pairs)
    if len(pairs) == 1:
        text = "The data tell the two apart." if told else "The data cannot tell the two apart."
        if without:
            text = "One of the two has no value, so there is nothing to compare."
        return text
    much = f"{told or 'none'} of the {len(pairs)} pairs"
    if told == len(pairs):
        much = "both pairs" if told == 2 else f"all {told} pairs"
    text = f"The data tell {much} apart"
    if higher_is_better is None and told:
        text += ", and neither value is the better one"
    if without:
        text += f"; {without} cannot be compared, since a system has no value"
    return f"{text}."


def forest_line(one: TestedSystems) -> Difference:
    """A paired difference as a line of a forest plot."""
    first, second = shown_name(one.first), shown_name(one.second)
    return Difference(
        first=first,
        second=second,
        value=one.difference,
        low=one.low,
        high=one.high,
        smallest=one.smallest_found,
        tells=tells_apart(one),
        text=f"{first} less {second}: {finding(one)}",
    )
