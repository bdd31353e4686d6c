"""Describes the results of paired tests, for tables, sentences and plots."""

from __future__ import annotations

from collections.abc import Sequence

from eval.blocks.charts import ConfidenceBin, PlottedDifference
from eval.blocks.text_format import format_name, format_number
from eval.metrics.comparison import Comparison
from eval.metrics.metric_value import CalibrationReport
from eval.stats.paired_tests import ALPHA


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


def build_bins(calibration: CalibrationReport) -> tuple[ConfidenceBin, ...]:
    """Converts the equal-width bins, in ascending order of confidence, for the chart."""
    return tuple(
        ConfidenceBin(
            low=bin_.low,
            high=bin_.high,
            n=bin_.n,
            n_right=bin_.n_right,
            confidence=bin_.confidence,
            accuracy=bin_.accuracy,
            accuracy_low=bin_.accuracy_low,
            accuracy_high=bin_.accuracy_high,
        )
        for bin_ in calibration.bins
    )
