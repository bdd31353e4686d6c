"""Evaluates a system's stated confidences: calibration and selective prediction.

A reply is right when it counts in the numerator of ``accuracy`` under the policy: YES on E, NO on
C, UNKNOWN on U. Policy ``licensed`` also accepts UNKNOWN on C as a rejection, but not here: a
confidence states the probability that exactly this answer is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.metrics.abstention import get_metric
from eval.metrics.outcomes import UNUSABLE, Floats
from eval.metrics.record import (
    BrierParts,
    CalibrationReport,
    ConfidenceCounts,
    ExpectedError,
    MetricValue,
    PolicyName,
    ReliabilityBin,
    RiskCoveragePoint,
    SelectiveReport,
)
from eval.metrics.samples import Samples
from eval.metrics.signature import Signature
from eval.result import PREDS
from eval.stats.bootstrap import Distribution, round_significant
from eval.stats.calibration import (
    N_BINS,
    brier_partition,
    simulate_chance_error,
)
from eval.stats.confidences import STATISTICS, ConfidentReplies
from eval.stats.estimates import IntervalMethod
from eval.stats.selective_prediction import compute_reference_areas, compute_risk_coverage
from kg.base.proportions import wilson_interval

_MAX_POINTS = 200
"""Maximum number of points of a risk–coverage curve that are stored."""
_SIGNATURE_NAMES = {
    "ece": ("ECE", f"bins:{N_BINS}-equal-width"),
    "ece_equal_mass": ("ECE", f"bins:{N_BINS}-equal-mass"),
    "brier": ("Brier", ""),
    "aurc": ("AURC", ""),
    "augrc": ("AUGRC", ""),
}


@dataclass(frozen=True)
class ConfidenceReport:
    """The three parts of a system's report that concern its confidences."""

    counts: ConfidenceCounts
    calibration: CalibrationReport | None = None
    selective: SelectiveReport | None = None


@dataclass
class ConfidenceReporter:
    """Builds confidence reports and caches them, since two policies often share one.

    Attributes:
        samples: the systems on shared resamples.
    """

    samples: Samples
    _reports: dict[tuple[str, bytes], ConfidenceReport] = field(default_factory=dict)

    def build_report(self, policy: PolicyName, system: str, base: Signature) -> ConfidenceReport:
        """Returns the report of one system under one policy, with the policy's signatures."""
        key = system, self.samples.get_labels(policy).tobytes()
        if key not in self._reports:
            self._reports[key] = self._compute_report(policy, system)
        report = self._reports[key]
        if report.calibration is None or report.selective is None:
            return report
        calibration, selective = report.calibration, report.selective
        replies = f"replies:{calibration.n}"

        def sign_value(value: MetricValue, statistic: str) -> MetricValue:
            name, detail = _SIGNATURE_NAMES[statistic]
            details = (*base.details, *((detail,) if detail else ()), replies)
            signature = msgspec.structs.replace(base, metric=name, details=details)
            return msgspec.structs.replace(value, signature=str(signature))

        return ConfidenceReport(
            report.counts,
            msgspec.structs.replace(
                calibration,
                ece=sign_value(calibration.ece, "ece"),
                ece_equal_mass=sign_value(calibration.ece_equal_mass, "ece_equal_mass"),
                brier=sign_value(calibration.brier, "brier"),
            ),
            msgspec.structs.replace(
                selective,
                aurc=sign_value(selective.aurc, "aurc"),
                augrc=sign_value(selective.augrc, "augrc"),
            ),
        )

    def _compute_report(self, policy: PolicyName, system: str) -> ConfidenceReport:
        samples = self.samples
        preds = samples.get_preds(system)
        confidences = samples.get_confidences(system)
        is_readable = preds < len(PREDS) - len(UNUSABLE)
        has_confidence = (
            is_readable & ~np.isnan(confidences)
            if confidences is not None
            else np.zeros_like(is_readable)
        )
        counts = _count_replies(is_readable, has_confidence)
        if confidences is None or not has_confidence.any():
            return ConfidenceReport(counts)
        accuracy_weights = get_metric("accuracy", policy).numerator.reshape(-1, len(PREDS))
        labels, cards = samples.get_labels(policy), np.arange(samples.n_cards)
        if preds.ndim == 2:
            labels, cards = labels[:, None], np.broadcast_to(cards[:, None], preds.shape)
        card_of_reply = cards[has_confidence]
        replies = ConfidentReplies(
            confidences=confidences[has_confidence],
            right=accuracy_weights[labels, preds][has_confidence],
            clusters=samples.clusters[card_of_reply],
        )
        distribution = replies.compute_distribution(samples.resamples)
        return ConfidenceReport(
            counts,
            build_calibration_report(
                replies,
                card_of_reply,
                distribution,
                confidence=samples.plan.confidence,
                seed=samples.plan.seed,
            ),
            _build_selective_report(replies, distribution, samples.plan.confidence),
        )


def _count_replies(
    is_readable: NDArray[np.bool_], has_confidence: NDArray[np.bool_]
) -> ConfidenceCounts:
    n_readable, n_with_confidence = int(is_readable.sum()), int(has_confidence.sum())
    n_unreadable = is_readable.size - n_readable
    reasons = []
    if not n_with_confidence:
        reasons.append("no reply carries a confidence")
    elif n_with_confidence < n_readable:
        reasons.append(
            f"{n_readable - n_with_confidence} of {n_readable} readable replies carry no "
            "confidence and are left out"
        )
    if n_with_confidence and n_unreadable:
        reasons.append(f"{n_unreadable} INVALID or ERROR replies can have none")
    return ConfidenceCounts(
        given=n_with_confidence,
        missing=n_readable - n_with_confidence,
        unreadable=n_unreadable,
        reason="; ".join(reasons),
    )


def build_calibration_report(
    replies: ConfidentReplies,
    cards: NDArray[np.int64],
    distribution: Distribution,
    *,
    confidence: float,
    seed: int,
) -> CalibrationReport:
    """Builds the calibration report of the replies that state a confidence.

    Args:
        replies: the replies that state a confidence.
        cards: the card of each reply, shape (n,); replies to one card are not independent.
        distribution: bootstrap distribution of the replies' statistics over the shared resamples.
        confidence: nominal coverage of the intervals.
        seed: seed of the simulation of calibrated systems.
    """
    confidences, right = replies.confidences, replies.right
    binnings = {"ece": replies.equal_width, "ece_equal_mass": replies.equal_mass}
    # With repeats, replies to one card are dependent, so only one reply per card is simulated.
    _, first_reply_index = np.unique(cards, return_index=True)
    values: dict[str, MetricValue] = {}
    expected: dict[str, ExpectedError] = {}
    for name, bins in binnings.items():
        observed = float(distribution.values[STATISTICS.index(name)])
        chance_error = simulate_chance_error(
            confidences[first_reply_index],
            bins[first_reply_index],
            observed,
            level=confidence,
            seed=seed,
        )
        expected[name] = ExpectedError(
            mean=round_significant(chance_error.mean),
            high=round_significant(chance_error.high),
            p=round_significant(chance_error.p_value),
        )
        values[name] = _build_error_value(
            distribution, name, chance_error.p_value, confidence, len(confidences)
        )
    parts = brier_partition(confidences, right, binnings["ece"])
    return CalibrationReport(
        n=len(confidences),
        accuracy=round_significant(float(right.mean())),
        confidence=round_significant(float(confidences.mean())),
        ece=values["ece"],
        ece_equal_mass=values["ece_equal_mass"],
        brier=_build_bootstrap_value(distribution, "brier", confidence, len(confidences)),
        ece_expected=expected["ece"],
        ece_equal_mass_expected=expected["ece_equal_mass"],
        brier_parts=BrierParts(
            reliability=round_significant(parts.reliability),
            resolution=round_significant(parts.resolution),
            uncertainty=round_significant(parts.uncertainty),
            within=round_significant(parts.within),
        ),
        bins=tuple(
            _build_bin(replies, cards, binnings["ece"] == number, confidence, _bin_edges(number))
            for number in np.unique(binnings["ece"]).tolist()
        ),
        bins_equal_mass=tuple(
            _build_bin(replies, cards, binnings["ece_equal_mass"] == number, confidence)
            for number in np.unique(binnings["ece_equal_mass"]).tolist()
        ),
    )


def _build_bin(
    replies: ConfidentReplies,
    cards: NDArray[np.int64],
    is_in_bin: NDArray[np.bool_],
    confidence: float,
    edges: tuple[float, float] | None = None,
) -> ReliabilityBin:
    confidences, right = replies.confidences[is_in_bin], replies.right[is_in_bin]
    accuracy, n_bin_cards = float(right.mean()), len(set(cards[is_in_bin].tolist()))
    low, high = wilson_interval(accuracy * n_bin_cards, n_bin_cards, confidence)
    lower_edge, upper_edge = edges or (float(confidences.min()), float(confidences.max()))
    return ReliabilityBin(
        low=lower_edge,
        high=upper_edge,
        n=confidences.size,
        n_right=int(right.sum()),
        confidence=round_significant(float(confidences.mean())),
        accuracy=round_significant(accuracy),
        accuracy_low=round_significant(low),
        accuracy_high=round_significant(high),
    )


def _bin_edges(number: int) -> tuple[float, float]:
    """Returns the lower and upper edge of an equal-width bin."""
    return number / N_BINS, (number + 1) / N_BINS


def _build_selective_report(
    replies: ConfidentReplies, distribution: Distribution, confidence: float
) -> SelectiveReport:
    curve = compute_risk_coverage(replies.confidences, replies.right)
    n = len(replies.right)
    reference = compute_reference_areas(n, int(curve.wrong[-1]))
    # For every 1/200 of coverage, take the first threshold that reaches it; 1e-12 absorbs rounding.
    threshold_indexes = np.searchsorted(
        curve.coverage, np.arange(1, _MAX_POINTS + 1) / _MAX_POINTS - 1e-12
    )
    point_indexes = np.unique(np.minimum(threshold_indexes, len(curve.coverage) - 1))
    columns = (curve.thresholds, curve.coverage, curve.risk, curve.generalised_risk)
    return SelectiveReport(
        n=n,
        aurc=_build_bootstrap_value(distribution, "aurc", confidence, n),
        augrc=_build_bootstrap_value(distribution, "augrc", confidence, n),
        aurc_best=round_significant(reference.aurc_best),
        aurc_random=round_significant(reference.aurc_random),
        augrc_best=round_significant(reference.augrc_best),
        augrc_random=round_significant(reference.augrc_random),
        points=tuple(
            RiskCoveragePoint(
                threshold=threshold,
                coverage=round_significant(coverage),
                risk=round_significant(risk),
                generalised_risk=round_significant(generalised_risk),
            )
            for threshold, coverage, risk, generalised_risk in zip(
                *(column[point_indexes].tolist() for column in columns), strict=True
            )
        ),
    )


def _build_bootstrap_value(
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
