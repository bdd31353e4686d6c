"""One pipeline's numbers: every metric with its interval and its worst-case bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec.structs import replace

from eval.metrics.confidence import calibration_report
from eval.metrics.record import CalibrationReport, ConfidenceCounts, MetricValue
from eval.skn.scoring.measures import BY_CATEGORY, COLUMNS, MEASURES, NO_REPLY, VALIDITY
from eval.skn.scoring.observing import Observed
from eval.skn.scoring.record import Outcomes, PipelineReport
from eval.skn.scoring.resampling import Samples
from eval.stats.confidences import ConfidentReplies
from eval.stats.intervals import (
    Distribution,
    Resampled,
    resampled_sums,
    tidy,
)
from eval.stats.measured import Measure, values
from eval.stats.quantiles import quantiles
from eval.stats.shown import Value, edge, interval_of, ratios, with_interval

_NO_BOUNDS = "ece_equal_mass"
CALIBRATION = ("ece", "ece_equal_mass", "brier")
QUANTILES = ("latency_p50_s", "latency_p95_s")


def pipeline_report(samples: Samples, pipeline: str) -> PipelineReport:
    """All of one pipeline's numbers."""
    rows = samples.rows[pipeline]
    replies = confident(samples, pipeline)
    calibration = None if replies is None else _calibration(samples, replies)
    return PipelineReport(
        outcomes=_outcomes(rows),
        metrics={
            **_ratios(samples, list(MEASURES.values()), pipeline),
            **_calibrated(samples, pipeline, calibration),
            **_latencies(samples, pipeline),
        },
        per_category={
            category: _ratios(samples, BY_CATEGORY, pipeline, category)
            for category in samples.categories
        },
        validity=_ratios(samples, list(VALIDITY.values()), pipeline),
        retention=_retention(samples, rows),
        confidences=_confidences(rows),
        calibration=calibration,
    )


def confident(samples: Samples, pipeline: str) -> ConfidentReplies | None:
    """The judged answers to answerable samples that state a confidence; null where none does."""
    found = [
        row for row in samples.rows[pipeline] if _is_judged(row) and row.confidence is not None
    ]
    if not found:
        return None
    return ConfidentReplies(
        confidences=np.array([row.confidence for row in found], dtype=np.float64),
        right=np.array([row.correct for row in found], dtype=np.float64),
        clusters=np.array([samples.place[row.sample] for row in found], dtype=np.int64),
    )


def latencies(samples: Samples, pipeline: str) -> Distribution | None:
    """The quantiles of latency; null where no row has one."""
    found = [row for row in samples.rows[pipeline] if row.latency_s is not None]
    if not found:
        return None
    return quantiles(
        np.array([row.latency_s for row in found], dtype=np.float64),
        np.array([samples.place[row.sample] for row in found], dtype=np.int64),
        samples.draws,
    )


def _is_judged(row: Observed) -> bool:
    return row.outcome == "ANSWERED" and row.answerable and row.correct is not None


def _ratios(
    samples: Samples, measures: Sequence[Measure], pipeline: str, category: str = ""
) -> dict[str, Value]:
    return values(
        measures,
        COLUMNS,
        samples.resampled(pipeline, category),
        confidence=samples.plan.confidence,
        repeated=samples.repeats > 1,
    )


def _calibration(samples: Samples, replies: ConfidentReplies) -> CalibrationReport:
    return calibration_report(
        replies,
        replies.clusters,
        replies.distribution(samples.draws),
        confidence=samples.plan.confidence,
        seed=samples.plan.seed,
    )


def _calibrated(
    samples: Samples, pipeline: str, calibration: CalibrationReport | None
) -> dict[str, Value]:
    totals = samples.totals(pipeline)
    missing = round(totals["unsettled"] + totals["failed_answerable"])
    if calibration is None:
        why = "no judged answer states a confidence"
        bounded = missing > 0
        return {
            name: Value(
                value=None,
                worst=1.0 if bounded and name != _NO_BOUNDS else None,
                best=0.0 if bounded and name != _NO_BOUNDS else None,
                higher_is_better=False,
                missing=missing,
                why=why,
            )
            for name in CALIBRATION
        }
    found: tuple[MetricValue, ...] = (
        *(calibration.ece, calibration.ece_equal_mass, calibration.brier),
    )
    return {
        name: _bounded(name, one, calibration.n, missing)
        for name, one in zip(CALIBRATION, found, strict=True)
    }


def _bounded(name: str, found: MetricValue, n: int, missing: int) -> Value:
    """A calibration number with bounds over rows of unknown confidence and correctness.

    Each such row adds a gap of at most 1 to the sum that a calibration error divides by n, or
    takes one away (triangle inequality; the bounds hold, but need not be attained). The Brier
    score is a mean, to which it adds between 0 and 1. Bins of equal mass are made of the replies
    themselves and would be others with more of them, so that error has no bounds.
    """
    value = found.value or 0.0
    whole = n + missing
    least = value * n if name == "brier" else max(0.0, value * n - missing)
    bounded = name != _NO_BOUNDS
    return Value(
        value=found.value,
        low=found.low,
        high=found.high,
        method=found.method,
        n=n,
        worst=tidy((value * n + missing) / whole) if bounded else None,
        best=tidy(least / whole) if bounded else None,
        higher_is_better=False,
        missing=missing,
    )


def _latencies(samples: Samples, pipeline: str) -> dict[str, Value]:
    rows = samples.rows[pipeline]
    known = sum(row.latency_s is not None for row in rows)
    spread = latencies(samples, pipeline)
    shown = Value(value=None, n=known, higher_is_better=False, missing=len(rows) - known)
    if spread is None:
        return {name: replace(shown, why=NO_REPLY) for name in QUANTILES}
    intervals = spread.intervals(samples.plan.confidence)
    return {
        name: with_interval(shown, float(spread.values[column]), interval_of(intervals, column))
        for column, name in enumerate(QUANTILES)
    }


def _outcomes(rows: Sequence[Observed]) -> Outcomes:
    ended = Counter(row.outcome for row in rows)
    read = [row for row in rows if not row.failed]
    cells = Counter((row.outcome == "ABSTAINED", row.answerable) for row in read)
    failures: Counter[str] = Counter()
    for row in rows:
        failures.update(row.failures)
    return Outcomes(
        rows=len(rows),
        answered=ended["ANSWERED"],
        abstained=ended["ABSTAINED"],
        invalid=ended["INVALID"],
        error=ended["ERROR"],
        unjudged=sum(row.unjudged for row in rows),
        stages=_counted(row.stage for row in rows if row.failed),
        judge_failures=dict(sorted(failures.items())),
        abstention_read=_counted(row.read_by for row in read),
        true_positives=cells[True, False],
        false_positives=cells[True, True],
        false_negatives=cells[False, False],
        true_negatives=cells[False, True],
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _confidences(rows: Sequence[Observed]) -> ConfidenceCounts:
    judged = [row for row in rows if _is_judged(row)]
    given = sum(row.confidence is not None for row in judged)
    failed = sum(row.failed and row.answerable for row in rows)
    reasons = []
    if not given:
        reasons.append("no judged answer states a confidence")
    elif given < len(judged):
        reasons.append(f"{len(judged) - given} of {len(judged)} judged answers state none")
    return ConfidenceCounts(
        given=given, missing=len(judged) - given, unreadable=failed, reason="; ".join(reasons)
    )


def _retention(samples: Samples, rows: Sequence[Observed]) -> dict[str, Value]:
    """What is kept of all things of a sort, over all texts together."""
    kinds = sorted({kind for row in rows for kind in row.kept})
    if not kinds:
        return {}
    width = len(kinds)
    table = np.zeros((len(samples.names), 2 * width))
    known = Counter(kind for row in rows for kind, (_, total) in row.kept.items() if total)
    for row in rows:
        for column, kind in enumerate(kinds):
            kept, total = row.kept.get(kind, (0.0, 0.0))
            table[samples.place[row.sample], [column, width + column]] += (kept, total)
    spread = ratios(
        Resampled(table, resampled_sums(table, samples.draws)),
        np.eye(width, 2 * width),
        np.eye(width, 2 * width, k=width),
    )
    intervals = spread.intervals(samples.plan.confidence)
    tops, bottoms = np.split(table.sum(axis=0), 2)
    found: dict[str, Value] = {}
    for column, kind in enumerate(kinds):
        shown = Value(
            value=None,
            n=known[kind],
            numerator=tidy(float(tops[column])),
            denominator=tidy(float(bottoms[column])),
            higher_is_better=True,
        )
        if not bottoms[column]:
            found[kind] = replace(shown, why="no text holds any")
            continue
        value = float(spread.values[column])
        found[kind] = with_interval(
            shown,
            value,
            interval_of(intervals, column)
            or edge(value, float(intervals.support[column]), samples.plan.confidence),
        )
    return found
