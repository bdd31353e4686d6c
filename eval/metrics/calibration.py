"""Calibration of stated confidences, the same for all benchmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.metrics.metric_value import (
    BrierParts,
    CalibrationReport,
    ExpectedError,
    MetricValue,
    ReliabilityBin,
)
from eval.stats.binned_confidences import BinnedReplies
from eval.stats.bootstrap import Distribution, Floats, round_significant
from eval.stats.calibration import N_BINS
from eval.stats.confidences import STATISTICS, BinContents, ConfidentReplies
from eval.stats.estimates import IntervalMethod
from kg.base.proportions import wilson_interval


def build_calibration_report(
    replies: ConfidentReplies | BinnedReplies,
    cards: NDArray[np.integer[Any]],
    distribution: Distribution,
    *,
    confidence: float,
    seed: int,
) -> CalibrationReport:
    """Builds the calibration report of the replies that state a confidence.

    Args:
        replies: the replies that state a confidence.
        cards: the card of each reply, shape (n,); replies to one card are not independent. Of
            binned replies these were counted, so that it may be empty.
        distribution: bootstrap distribution of the replies' statistics over the shared resamples.
        confidence: nominal coverage of the intervals.
        seed: seed of the simulation of calibrated systems.
    """
    n = replies.n
    values: dict[str, MetricValue] = {}
    expected: dict[str, ExpectedError] = {}
    for name in ("ece", "ece_equal_mass"):
        observed = float(distribution.values[STATISTICS.index(name)])
        # With repeats, replies to one card are dependent, so only one reply per card is simulated.
        chance_error = replies.simulate_chance_error(name, cards, observed, confidence, seed)
        expected[name] = ExpectedError(
            mean=round_significant(chance_error.mean),
            high=round_significant(chance_error.high),
            p=round_significant(chance_error.p_value),
        )
        values[name] = _build_error_value(distribution, name, chance_error.p_value, confidence, n)
    parts = replies.partition_brier()
    return CalibrationReport(
        n=n,
        accuracy=round_significant(replies.accuracy),
        confidence=round_significant(replies.mean_confidence),
        ece=values["ece"],
        ece_equal_mass=values["ece_equal_mass"],
        brier=build_bootstrap_value(distribution, "brier", confidence, n),
        ece_expected=expected["ece"],
        ece_equal_mass_expected=expected["ece_equal_mass"],
        brier_parts=BrierParts(
            reliability=round_significant(parts.reliability),
            resolution=round_significant(parts.resolution),
            uncertainty=round_significant(parts.uncertainty),
            within=round_significant(parts.within),
        ),
        bins=tuple(
            _build_bin(contents, confidence, _bin_edges(contents.number))
            for contents in replies.list_bins("ece", cards)
        ),
        bins_equal_mass=tuple(
            _build_bin(contents, confidence, (contents.lowest, contents.highest))
            for contents in replies.list_bins("ece_equal_mass", cards)
        ),
    )


def _build_bin(
    contents: BinContents, confidence: float, edges: tuple[float, float]
) -> ReliabilityBin:
    low, high = wilson_interval(contents.accuracy * contents.n_cards, contents.n_cards, confidence)
    return ReliabilityBin(
        low=edges[0],
        high=edges[1],
        n=contents.n,
        n_right=contents.n_right,
        confidence=round_significant(contents.confidence),
        accuracy=round_significant(contents.accuracy),
        accuracy_low=round_significant(low),
        accuracy_high=round_significant(high),
    )


def _bin_edges(number: int) -> tuple[float, float]:
    """Returns the lower and upper edge of an equal-width bin."""
    return number / N_BINS, (number + 1) / N_BINS


def build_bootstrap_value(
    distribution: Distribution, name: str, confidence: float, n: int
) -> MetricValue:
    """Returns a statistic of ``n`` replies with its BCa interval.

    It has the percentile interval if BCa is undefined.

    It has no interval where all resamples are equal.
    """
    column = STATISTICS.index(name)
    computed = distribution.compute_intervals(confidence)
    intervals: dict[str, tuple[float, float]] = {}
    if not computed.degenerate[column]:
        if not np.isnan(computed.bca[:, column]).any():
            intervals["bootstrap-bca"] = _round_pair(computed.bca[:, column])
        intervals["bootstrap-percentile"] = _round_pair(computed.percentile[:, column])
    return _build_value(float(distribution.values[column]), intervals, n)


def _build_error_value(
    distribution: Distribution, name: str, p_value: float, confidence: float, n: int
) -> MetricValue:
    """Returns a calibration error of ``n`` replies with the interval ``bootstrap-union``.

    The error is biased upwards, and its resamples are biased upwards again. Hence the percentile
    interval misses small true errors, and the basic interval (its mirror image about the value)
    misses large ones. The interval shown is the union of both. It is extended down to 0 unless
    the share of calibrated systems with such an error (``p_value``) is smaller than one tail of
    the interval. ``docs/reference/metrics.md`` reports the coverage of all three.
    """
    column = STATISTICS.index(name)
    value, tail_share = float(distribution.values[column]), 0.5 - confidence / 2
    if distribution.degenerate[column]:
        return _build_value(value, {}, n)
    low, high = distribution.compute_quantiles([tail_share, 1 - tail_share])[:, column].tolist()
    basic = max(0.0, 2 * value - high), min(1.0, 2 * value - low)
    union = 0.0 if p_value >= tail_share else min(low, basic[0]), min(1.0, max(high, basic[1]))
    return _build_value(
        value,
        {
            "bootstrap-union": _round_pair(union),
            "bootstrap-percentile": _round_pair((low, high)),
            "bootstrap-basic": _round_pair(basic),
        },
        n,
    )


def _build_value(value: float, intervals: dict[str, tuple[float, float]], n: int) -> MetricValue:
    """Returns a value with its intervals; ``low`` and ``high`` come from the preferred method."""
    preferred_methods: tuple[IntervalMethod, ...] = (
        *("bootstrap-union", "bootstrap-bca", "bootstrap-percentile", "none"),
    )
    method = next(name for name in preferred_methods if name in intervals or name == "none")
    low, high = intervals.get(method, (None, None))
    return MetricValue(
        value=round_significant(value),
        low=low,
        high=high,
        method=method,
        n=n,
        higher_is_better=False,
        intervals=intervals,
    )


def _round_pair(interval: Floats | tuple[float, float]) -> tuple[float, float]:
    return round_significant(float(interval[0])), round_significant(float(interval[1]))
