"""Paired comparisons in words: a finding only where the test made one."""

from __future__ import annotations

from eval.metrics.record import PairedComparison
from eval.stats.paired import ALPHA
from reporting.charts import UNDEFINED, number
from reporting.view_records import PairRow
from reporting.visible import shown_name


def _p(value: float | None) -> str:
    if value is None:
        return UNDEFINED
    return "<0.001" if value < 0.001 else number(value)


def pair_row(pair: PairedComparison) -> PairRow:
    """One line of a comparison table."""
    interval = ""
    if pair.low is not None and pair.high is not None:
        interval = f"{_signed(pair.low)} to {_signed(pair.high)}"
    counts = ""
    if pair.discordant is not None:
        counts = f"{pair.discordant.only_a} : {pair.discordant.only_b}"
    return PairRow(
        pair=pair,
        difference=_signed(pair.difference),
        interval=interval,
        p=_p(pair.p_holm if pair.p_holm is not None else pair.p),
        discordant=counts,
        smallest=number(pair.minimum_detectable_effect),
        finding=_finding(pair),
    )


def _finding(pair: PairedComparison) -> str:
    if pair.better:
        return f"{shown_name(pair.better)} is better"
    p = pair.p if pair.p_holm is None else pair.p_holm
    if p is None:
        return "not tested"
    # Of a metric that only describes, such as coverage, neither value is the better one; whether
    # the two differ is judged as the comparison judges it: by test and interval together.
    apart = pair.low is not None and pair.high is not None and (pair.low > 0 or pair.high < 0)
    return "they differ" if p < ALPHA and apart else "cannot be told apart"


def _signed(value: float | None) -> str:
    text = number(value)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text
