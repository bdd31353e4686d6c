"""Measures the calibration of a system's confidences, and what they are worth for each field.

For the calibration, a reply is right if it is an exact match.

The metrics are defined in ``eval/stats/calibration.py``; the specification requires them in 4.4.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.extraction.metrics.system_rows import (
    ERROR,
    FLOAT_COLUMNS,
    INTEGER_COLUMNS,
    FieldDecisions,
    SystemRows,
)
from eval.extraction.record import Estimate
from eval.metrics.calibration import build_bootstrap_value, build_calibration_report
from eval.metrics.metric_value import CalibrationReport, ConfidenceCounts, FieldRisk
from eval.stats.bootstrap import ClusterResamples, round_significant
from eval.stats.confidences import ConfidentReplies
from eval.stats.selective_prediction import compute_reference_areas

_NO_CONFIDENCE = "no reply has a confidence"


@dataclass(frozen=True)
class ConfidenceSummary:
    """Calibration of a system's confidences.

    Attributes:
        counts: number of replies with and without a confidence.
        report: the calibration report; ``None`` if no reply has a confidence.
        error: the expected calibration error, with bounds over the rows without a confidence.
    """

    counts: ConfidenceCounts
    report: CalibrationReport | None
    error: Estimate


def summarise_confidences(
    system_rows: SystemRows,
    sample: NDArray[np.int64],
    resamples: ClusterResamples,
    confidence: float,
) -> ConfidenceSummary:
    """Measures the confidences of one system.

    Args:
        system_rows: rows of the system.
        sample: position of each row's sample, shape (rows,).
        resamples: bootstrap resamples over the samples.
        confidence: nominal coverage of intervals.
    """
    integers = system_rows.integers
    confidences = system_rows.floats[:, FLOAT_COLUMNS.index("confidence")]
    has_reply = integers[:, INTEGER_COLUMNS.index("outcome")] != ERROR
    has_confidence = has_reply & ~np.isnan(confidences)
    n_missing, n_failed = int((has_reply & ~has_confidence).sum()), int((~has_reply).sum())
    reasons = []
    if not has_confidence.any():
        reasons.append(_NO_CONFIDENCE)
    elif n_missing:
        reasons.append(f"{n_missing} of {int(has_reply.sum())} replies have none")
    counts = ConfidenceCounts(
        given=int(has_confidence.sum()),
        missing=n_missing,
        unreadable=n_failed,
        reason="; ".join(reasons),
    )
    if not has_confidence.any():
        return ConfidenceSummary(
            counts, None, Estimate(value=None, higher_is_better=False, why=_NO_CONFIDENCE)
        )
    replies = ConfidentReplies(
        confidences=confidences[has_confidence],
        right=integers[has_confidence, INTEGER_COLUMNS.index("match")].astype(np.float64),
        clusters=sample[has_confidence],
    )
    report = build_calibration_report(
        replies,
        replies.clusters,
        replies.compute_distribution(resamples),
        confidence=confidence,
        seed=resamples.seed,
    )
    return ConfidenceSummary(counts, report, _build_error_estimate(report, n_missing + n_failed))


def _build_error_estimate(report: CalibrationReport, n_missing: int) -> Estimate:
    """Returns the calibration error with bounds for the rows without a confidence or reply.

    The error is a mean of gaps between confidence and accuracy. Each missing row could change the
    sum of these gaps by at most 1.
    """
    n, value = report.n, report.ece.value or 0.0
    total = n + n_missing
    return Estimate(
        value=report.ece.value,
        low=report.ece.low,
        high=report.ece.high,
        method=report.ece.method,
        n=n,
        worst=round_significant((value * n + n_missing) / total),
        best=round_significant(max(0.0, value * n - n_missing) / total),
        higher_is_better=False,
        missing=n_missing,
    )


_N_CURVE_POINTS = 20


def measure_field_risks(
    system_rows: SystemRows,
    positions: NDArray[np.int64],
    resamples: ClusterResamples,
    confidence: float,
    max_fields: int,
) -> dict[str, FieldRisk]:
    """Measures risk against coverage for each field whose decisions have confidences.

    A decision is right if it is the right value, or no value where none is expected.

    Args:
        system_rows: rows of the system.
        positions: position in the run of each of the system's samples.
        resamples: bootstrap resamples over the samples.
        confidence: nominal coverage of intervals.
        max_fields: maximum number of fields, those with the most decisions.
    """
    found = sorted(system_rows.confidences.items(), key=lambda pair: (-len(pair[1].right), pair[0]))
    return {
        path: _measure_field_risk(decisions, positions, resamples, confidence)
        for path, decisions in found[:max_fields]
    }


def _measure_field_risk(
    decisions: FieldDecisions,
    positions: NDArray[np.int64],
    resamples: ClusterResamples,
    confidence: float,
) -> FieldRisk:
    confidences = np.array(decisions.confidences)
    right = np.array(decisions.right, dtype=np.float64)
    clusters = positions[np.array(decisions.samples)]
    # Sorted, so that sums do not depend on the order of the rows.
    order = np.lexsort((clusters, right, confidences))
    replies = ConfidentReplies(confidences[order], right[order], clusters[order])
    n, n_wrong = replies.n, round(replies.n - float(right.sum()))
    areas = compute_reference_areas(n, n_wrong)
    curve = replies.curve
    points = curve.select_points(_N_CURVE_POINTS)
    return FieldRisk(
        n=n,
        wrong=n_wrong,
        aurc=build_bootstrap_value(replies.compute_distribution(resamples), "aurc", confidence, n),
        aurc_best=round_significant(areas.aurc_best),
        aurc_random=round_significant(areas.aurc_random),
        curve=tuple(
            (round_significant(float(curve.coverage[at])), round_significant(float(curve.risk[at])))
            for at in points
        ),
    )
