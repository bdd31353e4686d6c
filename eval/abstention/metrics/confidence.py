"""Evaluates a system's stated confidences: calibration and selective prediction.

A reply is right when it counts in the numerator of ``accuracy`` under the policy: YES on E, NO on
C, UNKNOWN on U. Policy ``licensed`` also accepts UNKNOWN on C as a rejection, but not here: a
confidence states the probability that exactly this answer is right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.abstention.metrics.cluster_samples import Samples
from eval.abstention.metrics.definitions import get_metric
from eval.abstention.metrics.outcomes import UNUSABLE
from eval.abstention.metrics.record import RiskCoveragePoint, SelectiveReport
from eval.abstention.result import PREDS
from eval.metrics.calibration import build_bootstrap_value, build_calibration_report
from eval.metrics.measurement import PolicyName
from eval.metrics.metric_value import (
    CalibrationReport,
    ConfidenceCounts,
    MetricValue,
)
from eval.metrics.signature import Signature
from eval.stats.binned_confidences import MAX_EXACT_REPLIES, N_FINE_BINS, BinnedReplies
from eval.stats.bootstrap import Distribution, round_significant
from eval.stats.calibration import (
    N_BINS,
)
from eval.stats.confidences import ConfidentReplies
from eval.stats.selective_prediction import compute_reference_areas

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
    """The parts of a system's report that concern its confidences."""

    counts: ConfidenceCounts
    calibration: CalibrationReport | None = None
    selective: SelectiveReport | None = None
    max_errors: Mapping[str, float] = field(default_factory=dict)
    """By how much each statistic can differ from its exact value, if confidences were binned."""


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
            if report.max_errors:
                details = (*details, f"max-error:{_round_up(report.max_errors[statistic])}")
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

    def describe_bins(self) -> Iterator[str]:
        """Says of each system whose confidences were binned how exact its values are."""
        described = set()
        for (system, _), report in self._reports.items():
            if report.max_errors and report.calibration and system not in described:
                described.add(system)
                errors = {name: _round_up(error) for name, error in report.max_errors.items()}
                yield (
                    f"Confidences of {system}: {report.calibration.n:,} replies are more than "
                    f"{MAX_EXACT_REPLIES:,}, so they are counted in {N_FINE_BINS:,} bins (error of "
                    f"AURC at most {errors['aurc']}, of AUGRC {errors['augrc']}, of ECE over bins "
                    f"of equal mass {errors['ece_equal_mass']}; ECE and Brier score are exact)."
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
        labels = samples.get_labels(policy)
        cards = np.arange(samples.n_cards, dtype=np.int32)
        if preds.ndim == 2:
            labels, cards = labels[:, None], np.broadcast_to(cards[:, None], preds.shape)
        card_of_reply = cards[has_confidence]
        columns = (
            confidences[has_confidence],
            accuracy_weights[labels, preds][has_confidence],
            samples.clusters[card_of_reply],
        )
        replies: ConfidentReplies | BinnedReplies = (
            BinnedReplies(*columns, card_of_reply, samples.n_clusters)
            if counts.given > MAX_EXACT_REPLIES
            else ConfidentReplies(*columns)
        )
        reply_cards = card_of_reply
        if isinstance(replies, BinnedReplies):
            reply_cards = np.empty(0, dtype=np.int32)  # they were counted
        # Each of these takes a byte or more per reply.
        del columns, labels, cards, card_of_reply, is_readable, has_confidence
        distribution = replies.compute_distribution(samples.resamples)
        return ConfidenceReport(
            counts,
            build_calibration_report(
                replies,
                reply_cards,
                distribution,
                confidence=samples.plan.confidence,
                seed=samples.plan.seed,
            ),
            _build_selective_report(replies, distribution, samples.plan.confidence),
            replies.max_errors if isinstance(replies, BinnedReplies) else {},
        )


def _round_up(error: float) -> str:
    """Returns an error bound with two digits, rounded up."""
    if not error:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(error)) - 1)
    return f"{math.ceil(error / unit) * unit:.1e}"


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


def _build_selective_report(
    replies: ConfidentReplies | BinnedReplies, distribution: Distribution, confidence: float
) -> SelectiveReport:
    curve, n = replies.curve, replies.n
    reference = compute_reference_areas(n, int(curve.wrong[-1]))
    point_indexes = curve.select_points(_MAX_POINTS)
    columns = (curve.thresholds, curve.coverage, curve.risk, curve.generalised_risk)
    return SelectiveReport(
        n=n,
        aurc=build_bootstrap_value(distribution, "aurc", confidence, n),
        augrc=build_bootstrap_value(distribution, "augrc", confidence, n),
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
