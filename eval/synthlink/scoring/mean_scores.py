"""Computes the means of metrics over questions, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from eval.stats.bootstrap import ClusterResamples, Floats, resample_blocks, round_significant
from eval.stats.estimates import Estimate, compute_ratios, estimate_column
from eval.synthlink.metrics import METRICS, MetricName, Mode, QuestionScore

# Reasons why a metric has no value.
_UNJUDGED: Final[dict[MetricName, str]] = {
    "f1": "unjudged, because claims, or what answers say of expected facts, are",
    "ie": "unjudged, because it is for some answers whether they are correct",
    "p_at_5": "unjudged: the predictions do not record which pages were opened",
    "recall_at_5": "unjudged: the predictions do not record which pages were opened",
    "rqs": "unjudged: nothing decides whether any answer states the facts of the steps",
    "fcs": "unjudged: neither graph, facts nor pages decide any claim, and no judge did",
    "aggregate": "unjudged, because parts of it are",
}
_WHOLE: Final[tuple[MetricName, ...]] = ("f1", "ie", "aggregate")
"""Metrics that are computed only from complete verdicts."""
_NOT_SPECIFIED: Final = "the specification does not define this metric"
_NOTHING_CLAIMED: Final = "no answer claims anything"
_NOT_IN_CATALOGUE: Final = "the catalogue lacks the data for this metric"


def collect_metric_values(
    rows: Sequence[QuestionScore], metric: MetricName, in_group: Any = None
) -> Floats:
    """Returns one value per question, nan for none, shape (questions,).

    Unjudged answers have no value. If no answer in the group has one for this reason, nothing was
    measured: then the zeros of questions without an answer are left out too. F1, IE and the
    aggregate have no values if that of any answer is unjudged: a mean over the others could lie
    outside its bounds.

    Args:
        rows: the scores of all questions.
        metric: the metric.
        in_group: whether a question counts, shape (questions,); None for all questions.
    """
    group = np.ones(len(rows), dtype=np.bool_) if in_group is None else np.asarray(in_group)
    values = np.array(
        [np.nan if (value := getattr(row.parts, metric)) is None else value for row in rows],
        dtype=np.float64,
    )
    values = np.where(group, values, np.nan)
    is_answered = np.array([row.status == "answered" for row in rows])
    if count_unjudged(rows, metric, group) and (
        metric in _WHOLE or np.isnan(values[is_answered]).all()
    ):
        return np.full(len(rows), np.nan)
    return values


def count_unjudged(rows: Sequence[QuestionScore], metric: MetricName, in_group: Any = None) -> int:
    """Counts the questions of a group for which a metric is unjudged."""
    group = [True] * len(rows) if in_group is None else in_group
    return sum(
        metric in row.parts.unjudged
        for row, is_in_group in zip(rows, group, strict=True)
        if is_in_group
    )


def compute_bounds(
    rows: Sequence[QuestionScore], metric: MetricName, in_group: Any
) -> tuple[float, float] | None:
    """Computes the mean if everything unjudged were wrong, and if it were right.

    Returns None if nothing that the metric depends on is unjudged.
    """
    pairs = []
    is_open = False
    for row, is_in_group in zip(rows, in_group, strict=True):
        value = getattr(row.parts, metric)
        bounds = row.parts.bounds.get(metric)
        if is_in_group and (bounds is not None or value is not None):
            pairs.append(bounds or (value, value))
            is_open = is_open or bounds is not None
    if not is_open:
        return None
    low, high = (sum(ends) / len(pairs) for ends in zip(*pairs, strict=True))
    return round_significant(low), round_significant(high)


def estimate_means(
    rows: Sequence[QuestionScore],
    in_group: Any,
    mode: Mode,
    resamples: ClusterResamples,
    confidence: float,
) -> dict[MetricName, Estimate]:
    """Estimates the mean of each metric over the questions where it is defined.

    Args:
        rows: the scores of all questions.
        in_group: whether a question is in the group that the means are over, shape (questions,).
        mode: mode of the scores.
        resamples: resamples of all questions.
        confidence: nominal coverage of the intervals.
    """
    # Each mean is a ratio of two sums over questions: of the values, and of how many are defined.
    blocks = []
    for metric in METRICS:
        values = collect_metric_values(rows, metric, in_group)
        is_defined = ~np.isnan(values)
        blocks.append(
            np.column_stack([np.where(is_defined, values, 0.0), is_defined.astype(np.float64)])
        )
    estimates: dict[MetricName, Estimate] = {}
    for metric, data in zip(METRICS, resample_blocks(blocks, resamples), strict=True):
        count = int(data.totals[1])
        estimates[metric] = estimate_column(
            # Column 0 (the sum of the values) divided by column 1 (how many are defined).
            compute_ratios(data, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])),
            0,
            Estimate(
                value=None,
                n=count,
                denominator=float(count),
                higher_is_better=True,
                missing=int(in_group.sum()) - count,
                why="" if count else _explain_undefined(metric, mode, rows, in_group),
            ),
            confidence,
        )
    return estimates


def _explain_undefined(
    metric: MetricName, mode: Mode, rows: Sequence[QuestionScore], in_group: Any
) -> str:
    if count_unjudged(rows, metric, in_group):
        return _UNJUDGED[metric]
    if mode == "literal":
        return _NOT_SPECIFIED
    return _NOTHING_CLAIMED if metric == "fcs" else _NOT_IN_CATALOGUE
