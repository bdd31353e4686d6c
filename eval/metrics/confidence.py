"""What a system's stated confidences are worth: calibration and selective prediction.

A reply is right when it counts in the numerator of ``accuracy`` under the policy: YES on E, NO on
C, UNKNOWN on U. That policy ``licensed`` lets UNKNOWN on C pass as a rejection plays no part here,
because a confidence says how likely the very answer is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.metrics.abstention import metric
from eval.metrics.outcomes import UNREADABLE, Floats
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
from eval.stats.calibration import (
    BINS,
    brier_partition,
    expected_by_chance,
)
from eval.stats.confidences import STATISTICS, ConfidentReplies
from eval.stats.intervals import Distribution, tidy
from eval.stats.selective import reference_areas, risk_coverage
from eval.stats.shown import IntervalMethod
from kg.base.proportions import wilson

_POINTS = 200
_NAMES = {
    "ece": ("ECE", f"bins:{BINS}-equal-width"),
    "ece_equal_mass": ("ECE", f"bins:{BINS}-equal-mass"),
    "brier": ("Brier", ""),
    "aurc": ("AURC", ""),
    "augrc": ("AUGRC", ""),
}


@dataclass(frozen=True)
class ConfidenceReport:
    """The three parts of a system's report that are about its confidences."""

    counts: ConfidenceCounts
    calibration: CalibrationReport | None = None
    selective: SelectiveReport | None = None


@dataclass
class Confidences:
    """Makes the reports, each once, though two policies may ask for it.

    Attributes:
        samples: the systems on shared draws.
    """

    samples: Samples
    _made: dict[tuple[str, bytes], ConfidenceReport] = field(default_factory=dict)

    def report(self, policy: PolicyName, system: str, base: Signature) -> ConfidenceReport:
        """The report of one system under one policy, signed with it."""
        key = system, self.samples.labels(policy).tobytes()
        if key not in self._made:
            self._made[key] = self._make(policy, system)
        made = self._made[key]
        if made.calibration is None or made.selective is None:
            return made
        calibration, selective = made.calibration, made.selective
        replies = f"replies:{calibration.n}"

        def signed(value: MetricValue, statistic: str) -> MetricValue:
            name, detail = _NAMES[statistic]
            details = (*base.details, *((detail,) if detail else ()), replies)
            signature = msgspec.structs.replace(base, metric=name, details=details)
            return msgspec.structs.replace(value, signature=str(signature))

        return ConfidenceReport(
            made.counts,
            msgspec.structs.replace(
                calibration,
                ece=signed(calibration.ece, "ece"),
                ece_equal_mass=signed(calibration.ece_equal_mass, "ece_equal_mass"),
                brier=signed(calibration.brier, "brier"),
            ),
            msgspec.structs.replace(
                selective,
                aurc=signed(selective.aurc, "aurc"),
                augrc=signed(selective.augrc, "augrc"),
            ),
        )

    def _make(self, policy: PolicyName, system: str) -> ConfidenceReport:
        samples = self.samples
        preds = samples.preds(system)
        stated = samples.confidences(system)
        readable = preds < len(PREDS) - len(UNREADABLE)
        given = readable & ~np.isnan(stated) if stated is not None else np.zeros_like(readable)
        counts = _counts(readable, given)
        if stated is None or not given.any():
            return ConfidenceReport(counts)
        accuracy = metric("accuracy", policy).numerator.reshape(-1, len(PREDS))
        labels, cards = samples.labels(policy), np.arange(samples.n_cards)
        if preds.ndim == 2:
            labels, cards = labels[:, None], np.broadcast_to(cards[:, None], preds.shape)
        chosen = cards[given]
        replies = ConfidentReplies(
            confidences=stated[given],
            right=accuracy[labels, preds][given],
            clusters=samples.clusters[chosen],
        )
        found = replies.distribution(samples.draws)
        return ConfidenceReport(
            counts,
            calibration_report(
                replies,
                chosen,
                found,
                confidence=samples.plan.confidence,
                seed=samples.plan.seed,
            ),
            _selective(replies, found, samples.plan.confidence),
        )


def _counts(readable: NDArray[np.bool_], given: NDArray[np.bool_]) -> ConfidenceCounts:
    n_readable, n_given = int(readable.sum()), int(given.sum())
    unreadable = readable.size - n_readable
    reasons = []
    if not n_given:
        reasons.append("no reply carries a confidence")
    elif n_given < n_readable:
        reasons.append(
            f"{n_readable - n_given} of {n_readable} readable replies carry no confidence and are "
            "left out"
        )
    if n_given and unreadable:
        reasons.append(f"{unreadable} INVALID or ERROR replies can have none")
    return ConfidenceCounts(
        given=n_given,
        missing=n_readable - n_given,
        unreadable=unreadable,
        reason="; ".join(reasons),
    )


def calibration_report(
    replies: ConfidentReplies,
    cards: NDArray[np.int64],
    found: Distribution,
    *,
    confidence: float,
    seed: int,
) -> CalibrationReport:
    """What stated confidences are worth.

    Args:
        replies: those that state one.
        cards: which card each is about, shape (n,): replies to one card go together.
        found: the replies' distribution over shared draws.
        confidence: coverage that intervals aim at.
        seed: of the simulation of calibrated systems.
    """
    sure, right = replies.confidences, replies.right
    binnings = {"ece": replies.equal_width, "ece_equal_mass": replies.equal_mass}
    # With repeats, replies to one card go together, so chance has only one of them to play with.
    _, once = np.unique(cards, return_index=True)
    values: dict[str, MetricValue] = {}
    expected: dict[str, ExpectedError] = {}
    for name, bins in binnings.items():
        observed = float(found.values[STATISTICS.index(name)])
        chance = expected_by_chance(
            sure[once],
            bins[once],
            observed,
            confidence=confidence,
            seed=seed,
        )
        expected[name] = ExpectedError(
            mean=tidy(chance.mean), high=tidy(chance.high), p=tidy(chance.p)
        )
        values[name] = _error_value(found, name, chance.p, confidence)
    parts = brier_partition(sure, right, binnings["ece"])
    return CalibrationReport(
        n=len(sure),
        accuracy=tidy(float(right.mean())),
        confidence=tidy(float(sure.mean())),
        ece=values["ece"],
        ece_equal_mass=values["ece_equal_mass"],
        brier=_bootstrap_value(found, "brier", confidence),
        ece_expected=expected["ece"],
        ece_equal_mass_expected=expected["ece_equal_mass"],
        brier_parts=BrierParts(
            reliability=tidy(parts.reliability),
            resolution=tidy(parts.resolution),
            uncertainty=tidy(parts.uncertainty),
            within=tidy(parts.within),
        ),
        bins=tuple(
            _bin(replies, cards, binnings["ece"] == number, confidence, _edges(number))
            for number in np.unique(binnings["ece"]).tolist()
        ),
        bins_equal_mass=tuple(
            _bin(replies, cards, binnings["ece_equal_mass"] == number, confidence)
            for number in np.unique(binnings["ece_equal_mass"]).tolist()
        ),
    )


def _bin(
    replies: ConfidentReplies,
    cards: NDArray[np.int64],
    inside: NDArray[np.bool_],
    confidence: float,
    edges: tuple[float, float] | None = None,
) -> ReliabilityBin:
    sure, right = replies.confidences[inside], replies.right[inside]
    accuracy, trials = float(right.mean()), len(set(cards[inside].tolist()))
    low, high = wilson(accuracy * trials, trials, confidence)
    start, end = edges or (float(sure.min()), float(sure.max()))
    return ReliabilityBin(
        low=start,
        high=end,
        n=sure.size,
        n_right=int(right.sum()),
        confidence=tidy(float(sure.mean())),
        accuracy=tidy(accuracy),
        accuracy_low=tidy(low),
        accuracy_high=tidy(high),
    )


def _edges(number: int) -> tuple[float, float]:
    """Where an equal-width bin starts and ends."""
    return number / BINS, (number + 1) / BINS


def _selective(
    replies: ConfidentReplies, found: Distribution, confidence: float
) -> SelectiveReport:
    curve = risk_coverage(replies.confidences, replies.right)
    n = len(replies.right)
    reference = reference_areas(n, int(curve.wrong[-1]))
    # Every 1/200 of coverage, the first threshold that accepts so much.
    grid = np.searchsorted(curve.coverage, np.arange(1, _POINTS + 1) / _POINTS - 1e-12)
    shown = np.unique(np.minimum(grid, len(curve.coverage) - 1))
    columns = (curve.thresholds, curve.coverage, curve.risk, curve.generalised_risk)
    return SelectiveReport(
        n=n,
        aurc=_bootstrap_value(found, "aurc", confidence),
        augrc=_bootstrap_value(found, "augrc", confidence),
        aurc_best=tidy(reference.aurc_best),
        aurc_random=tidy(reference.aurc_random),
        augrc_best=tidy(reference.augrc_best),
        augrc_random=tidy(reference.augrc_random),
        points=tuple(
            RiskCoveragePoint(
                threshold=threshold,
                coverage=tidy(coverage),
                risk=tidy(risk),
                generalised_risk=tidy(generalised),
            )
            for threshold, coverage, risk, generalised in zip(
                *(column[shown].tolist() for column in columns), strict=True
            )
        ),
    )


def _bootstrap_value(found: Distribution, name: str, confidence: float) -> MetricValue:
    """BCa, or percentile where BCa is undefined; none where no resample differs from another."""
    column = STATISTICS.index(name)
    both = found.intervals(confidence)
    intervals: dict[str, tuple[float, float]] = {}
    if not both.degenerate[column]:
        if not np.isnan(both.bca[:, column]).any():
            intervals["bootstrap-bca"] = _pair(both.bca[:, column])
        intervals["bootstrap-percentile"] = _pair(both.percentile[:, column])
    return _value(float(found.values[column]), intervals)


def _error_value(found: Distribution, name: str, p: float, confidence: float) -> MetricValue:
    """A calibration error with the interval ``bootstrap-union``.

    The error is biased upwards, and its resamples once more, so the percentile interval misses
    small true errors and the basic one (its mirror image about the value) large ones. Shown is
    the union of both, down to 0 unless fewer calibrated systems than belong in a tail show such
    an error. ``docs/metrics.md`` has the coverage of all three.
    """
    column = STATISTICS.index(name)
    value, tail = float(found.values[column]), 0.5 - confidence / 2
    if found.degenerate[column]:
        return _value(value, {})
    low, high = found.quantiles([tail, 1 - tail])[:, column].tolist()
    basic = max(0.0, 2 * value - high), min(1.0, 2 * value - low)
    union = 0.0 if p >= tail else min(low, basic[0]), min(1.0, max(high, basic[1]))
    return _value(
        value,
        {
            "bootstrap-union": _pair(union),
            "bootstrap-percentile": _pair((low, high)),
            "bootstrap-basic": _pair(basic),
        },
    )


def _value(value: float, intervals: dict[str, tuple[float, float]]) -> MetricValue:
    """A number with its intervals, of which the first is shown."""
    order: tuple[IntervalMethod, ...] = (
        *("bootstrap-union", "bootstrap-bca", "bootstrap-percentile", "none"),
    )
    method = next(name for name in order if name in intervals or name == "none")
    low, high = intervals.get(method, (None, None))
    return MetricValue(
        value=tidy(value),
        low=low,
        high=high,
        method=method,
        higher_is_better=False,
        intervals=intervals,
    )


def _pair(interval: Floats | tuple[float, float]) -> tuple[float, float]:
    return tidy(float(interval[0])), tidy(float(interval[1]))
