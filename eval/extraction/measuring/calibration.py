"""What the confidences that a system states are worth, an exact match being right.

Source of the measures: ``eval/stats/calibration.py``; of asking: the specification, 4.4.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.extraction.measuring.gathering import ERROR, MEASURED, WHOLE, Gathered
from eval.extraction.record import Value
from eval.metrics.confidence import calibration_report
from eval.metrics.record import CalibrationReport, ConfidenceCounts
from eval.stats.confidences import ConfidentReplies
from eval.stats.intervals import Draws, tidy

_NONE = "no reply states a confidence"


@dataclass(frozen=True)
class Confidences:
    """What is known of a system's confidences.

    Attributes:
        counts: on how many replies one is stated.
        report: what they are worth; null where none is stated.
        error: the expected calibration error, with bounds over the rows that lack one.
    """

    counts: ConfidenceCounts
    report: CalibrationReport | None
    error: Value


def confidences(
    gathered: Gathered, sample: NDArray[np.int64], draws: Draws, confidence: float
) -> Confidences:
    """The confidences of one system.

    Args:
        gathered: its rows.
        sample: place of each row's sample, shape (rows,).
        draws: over the samples.
        confidence: coverage that intervals aim at.
    """
    whole = gathered.whole
    stated = gathered.measured[:, MEASURED.index("confidence")]
    came = whole[:, WHOLE.index("outcome")] != ERROR
    given = came & ~np.isnan(stated)
    missing, failed = int((came & ~given).sum()), int((~came).sum())
    reasons = []
    if not given.any():
        reasons.append(_NONE)
    elif missing:
        reasons.append(f"{missing} of {int(came.sum())} replies state none")
    counts = ConfidenceCounts(
        given=int(given.sum()), missing=missing, unreadable=failed, reason="; ".join(reasons)
    )
    if not given.any():
        return Confidences(counts, None, Value(value=None, higher_is_better=False, why=_NONE))
    replies = ConfidentReplies(
        confidences=stated[given],
        right=whole[given, WHOLE.index("match")].astype(np.float64),
        clusters=sample[given],
    )
    report = calibration_report(
        replies,
        replies.clusters,
        replies.distribution(draws),
        confidence=confidence,
        seed=draws.seed,
    )
    return Confidences(counts, report, _error(report, missing + failed))


def _error(report: CalibrationReport, missing: int) -> Value:
    """The error with bounds over rows of unknown confidence and correctness.

    Each such row adds a gap of at most 1 to the sum that is divided by n, or takes one away.
    """
    n, value = report.n, report.ece.value or 0.0
    whole = n + missing
    return Value(
        value=report.ece.value,
        low=report.ece.low,
        high=report.ece.high,
        method=report.ece.method,
        n=n,
        worst=tidy((value * n + missing) / whole),
        best=tidy(max(0.0, value * n - missing) / whole),
        higher_is_better=False,
        missing=missing,
    )
