"""Describes the results of paired tests, for tables, sentences and plots."""

from __future__ import annotations

from collections.abc import Sequence

from eval.metrics.comparison import Comparison
from eval.metrics.record import CardComparison
from eval.stats.paired_tests import ALPHA
from reporting.charts import UNDEFINED_TEXT, format_number
from reporting.forest_plot import PlottedDifference, format_signed
from reporting.view_records import PairRow
from reporting.visible_text import format_name


def format_p_value(value: float | None) -> str:
    """Formats a p-value; a value below 0.001 is written as ``<0.001``, never as 0."""
    if value is None:
        return UNDEFINED_TEXT
    return "<0.001" if value < 0.001 else format_number(value)


def build_pair_row(pair: CardComparison) -> PairRow:
    """Builds one row of a comparison table."""
    interval = ""
    if pair.low is not None and pair.high is not None:
        interval = f"{format_signed(pair.low)} to {format_signed(pair.high)}"
    counts = ""
    if pair.discordant is not None:
        counts = f"{pair.discordant.only_candidate} : {pair.discordant.only_baseline}"
    return PairRow(
        pair=pair,
        difference=format_signed(pair.difference),
        interval=interval,
        p=format_p_value(pair.p_holm if pair.p_holm is not None else pair.p),
        discordant=counts,
        effect_size=format_signed(pair.cohens_d, 2),
        minimum_detectable_effect=format_number(pair.minimum_detectable_effect),
        finding=describe_finding(pair),
    )


def is_significant(pair: Comparison) -> bool:
    """Whether a difference is significant: p is below ``ALPHA`` and the interval excludes zero.

    This covers metrics without a better direction too, such as coverage, for which ``better`` is
    never set.
    """
    if pair.better is not None:
        return True
    p = pair.p if pair.p_holm is None else pair.p_holm
    excludes_zero = (
        pair.low is not None and pair.high is not None and (pair.low > 0 or pair.high < 0)
    )
    return p is not None and p < ALPHA and excludes_zero


def describe_finding(pair: Comparison) -> str:
    """Describes the result of a paired test, in a few words."""
    if pair.better:
        return f"{format_name(pair.better)} is better"
    if pair.difference is None:
        return "no value to compare"
    if pair.p is None and pair.p_holm is None:
        return "not tested"
    return "they differ" if is_significant(pair) else "no significant difference"


def describe_calibration(confidence: float, accuracy: float, p_value: float) -> str:
    """Describes the result of a calibration test.

    Args:
        confidence: mean confidence of the replies that state one.
        accuracy: share of these replies that are right.
        p_value: probability that a calibrated system shows so large a calibration error by chance.
    """
    gap = confidence - accuracy
    if p_value >= ALPHA:
        return "not significant"
    size = f"by {format_number(abs(gap) * 100, 1)} points on average"
    if abs(gap) < 0.005:
        return "overconfident in some bins, underconfident in others"
    return f"overconfident {size}" if gap > 0 else f"underconfident {size}"


def summarise_findings(pairs: Sequence[Comparison], higher_is_better: bool | None) -> str:
    """Says in one sentence how many pairs differ significantly.

    Args:
        pairs: the tested pairs of one metric.
        higher_is_better: direction of the metric; ``None`` if neither direction is better.
    """
    n_significant = sum(is_significant(pair) for pair in pairs)
    n_undefined = sum(pair.difference is None for pair in pairs)
    if len(pairs) == 1:
        if n_undefined:
            return "One of the two has no value, so there is nothing to compare."
        return f"The difference is {'' if n_significant else 'not '}significant."
    share_text = f"{n_significant or 'none'} of the {len(pairs)} pairs"
    if n_significant == len(pairs):
        share_text = "both pairs" if n_significant == 2 else f"all {n_significant} pairs"
    text = f"Significant differences in {share_text}"
    if higher_is_better is None and n_significant:
        text += "; neither direction is better"
    if n_undefined:
        text += f"; {n_undefined} cannot be compared, since a system has no value"
    return f"{text}."


def to_plotted_difference(pair: Comparison) -> PlottedDifference:
    """Converts a paired difference to a row of a forest plot."""
    candidate, baseline = format_name(pair.candidate), format_name(pair.baseline)
    return PlottedDifference(
        first=candidate,
        second=baseline,
        value=pair.difference,
        low=pair.low,
        high=pair.high,
        minimum_detectable_effect=pair.minimum_detectable_effect,
        is_significant=is_significant(pair),
        text=f"{candidate} − {baseline}: {describe_finding(pair)}",
    )
