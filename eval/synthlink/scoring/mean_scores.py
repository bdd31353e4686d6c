"""Computes the means of metrics over questions, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from eval.stats.bootstrap import ClusterResamples, Floats, resample_blocks
from eval.stats.estimates import Estimate, compute_ratios, estimate_column
from eval.synthlink.metrics import METRICS, MetricName, Mode, QuestionScore

# Reasons why a metric has no value.
_NOT_SPECIFIED: Final = "the specification does not define this metric"
_NOTHING_CLAIMED: Final = "no answer claims anything"
_NOT_IN_CATALOGUE: Final = "the catalogue lacks the data for this metric"


def collect_metric_values(rows: Sequence[QuestionScore], metric: MetricName) -> Floats:
    """Returns one value per question, nan where the metric is undefined, shape (questions,)."""
    values = [getattr(row.parts, metric) for row in rows]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


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
        values = collect_metric_values(rows, metric)
        is_defined = in_group & ~np.isnan(values)
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
                why="" if count else _explain_undefined(metric, mode),
            ),
            confidence,
        )
    return estimates


def _explain_undefined(metric: MetricName, mode: Mode) -> str:
    if mode == "literal":
        return _NOT_SPECIFIED
    return _NOTHING_CLAIMED if metric == "fcs" else _NOT_IN_CATALOGUE
