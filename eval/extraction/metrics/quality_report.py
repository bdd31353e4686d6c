"""Computes the quality score of a run: macro (mean over samples) and micro, with its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eval.extraction.metrics.quality_score import SCORE_PARTS, ScoreWeights, interpret_interval
from eval.extraction.record import Component, Estimate, Headline, Quality
from eval.stats.bootstrap import Distribution, Floats, ResampledCounts, round_significant
from eval.stats.estimates import estimate_column

QUALITY_COLUMNS = (
    *("ok", "scored", "exact", "partial", "expected", "predicted"),
    *("type_right", "type_total", "spurious", "error", "lost_fields"),
)
"""Columns that the micro averages of the parts are computed from."""

_NO_FIELDS = "no field is expected and none was extracted"


def compute_quality(
    score: Estimate,
    data: ResampledCounts,
    columns: Sequence[str],
    totals: Mapping[str, float],
    weights: ScoreWeights,
    confidence: float,
    headline: tuple[Headline, Estimate],
) -> Quality:
    """Computes the quality score with its parts, and the word for the headline.

    Args:
        score: the mean over samples, with its interval.
        data: sums by sample, and resampled sums.
        columns: names of the columns of ``data``.
        totals: sums over all samples by column, including those of the parts.
        weights: weights of the parts.
        confidence: nominal coverage of the interval.
        headline: name and value of the metric that the word is for.
    """
    column_indexes = [columns.index(name) for name in QUALITY_COLUMNS]
    total_sums = data.totals[column_indexes][None, :]
    parts = compute_micro_parts(total_sums)[0]
    n_with_score = totals["extraction_quality_score:n"]
    rating, meaning = interpret_interval(headline[1])
    return Quality(
        score=score,
        micro=_compute_micro_value(data, column_indexes, total_sums, weights, confidence),
        components={
            name: Component(
                weight=round_significant(weight),
                value=None if np.isnan(part) else round_significant(float(part)),
                macro=round_significant(totals[f"part:{name}:sum"] / n_with_score)
                if n_with_score
                else None,
            )
            for name, weight, part in zip(SCORE_PARTS, weights.shares, parts, strict=True)
        },
        rated=headline[0],
        interpretation=rating,
        meaning=meaning,
    )


def compute_micro_parts(sums: Floats) -> Floats:
    """Computes the parts of the score from sums; ``compute_score_parts`` does so for one sample.

    Args:
        sums: one row per set of sums, shape (n, len(QUALITY_COLUMNS)).

    Returns:
        The parts in the order of ``SCORE_PARTS``, shape (n, 4). The F1 is nan where no field is
        expected and none is extracted.
    """
    column_sums = {name: sums[:, index] for index, name in enumerate(QUALITY_COLUMNS)}
    field_total = column_sums["expected"] + column_sums["predicted"]
    return np.column_stack(
        [
            _divide_or_default(column_sums["ok"], column_sums["scored"]),
            _divide_or_default(
                2 * column_sums["exact"] + column_sums["partial"], field_total, default=np.nan
            ),
            _divide_or_default(column_sums["type_right"], column_sums["type_total"]),
            1 - _divide_or_default(column_sums["spurious"], column_sums["predicted"]),
        ]
    )


def _divide_or_default(numerator: Floats, denominator: Floats, *, default: float = 0.0) -> Floats:
    quotients: Floats = np.divide(
        numerator, denominator, out=np.full(len(numerator), default), where=denominator > 0
    )
    return quotients


def _compute_micro_value(
    data: ResampledCounts,
    column_indexes: Sequence[int],
    total_sums: Floats,
    weights: ScoreWeights,
    confidence: float,
) -> Estimate:
    shares = np.array(weights.shares)

    def compute_micro_scores(sums: Floats) -> Floats:
        # Rounded, because rounding errors would make constant resamples look different.
        scores: Floats = np.round(compute_micro_parts(sums) @ shares, 12)
        return scores[:, None]

    sample_sums = data.per_cluster[:, column_indexes]
    value = compute_micro_scores(total_sums)[0]
    has_fields = (
        sample_sums[:, [QUALITY_COLUMNS.index("expected"), QUALITY_COLUMNS.index("predicted")]] > 0
    ).any(axis=1)
    distribution = Distribution(
        values=value,
        replicates=compute_micro_scores(data.sums[:, column_indexes]),
        jackknife=compute_micro_scores(total_sums - sample_sums),
        support=np.array([float(has_fields.sum())]),
    )
    worst, best = (
        float(compute_micro_scores(extreme)[0, 0]) for extreme in _extreme_sums(total_sums)
    )
    template = Estimate(
        value=None,
        n=round(float(total_sums[0, QUALITY_COLUMNS.index("scored")])),
        worst=None if np.isnan(worst) else round_significant(worst),
        best=None if np.isnan(best) else round_significant(best),
        higher_is_better=True,
        missing=round(float(total_sums[0, QUALITY_COLUMNS.index("error")])),
    )
    if np.isnan(value[0]):
        template = Estimate(
            value=None,
            n=template.n,
            higher_is_better=True,
            missing=template.missing,
            why=_NO_FIELDS,
        )
    return estimate_column(distribution, 0, template, confidence)


def _extreme_sums(total_sums: Floats) -> tuple[Floats, Floats]:
    """Returns the sums that would result if all fields of failed calls were wrong, or all right."""
    worst_sums, best_sums = total_sums.copy(), total_sums.copy()
    n_failed_calls, n_lost_fields = (
        total_sums[0, QUALITY_COLUMNS.index(name)] for name in ("error", "lost_fields")
    )

    def add_to_columns(sums: Floats, amount: float, *names: str) -> None:
        for name in names:
            sums[0, QUALITY_COLUMNS.index(name)] += amount

    for sums in (worst_sums, best_sums):
        add_to_columns(sums, n_failed_calls, "scored")
        add_to_columns(sums, n_lost_fields, "expected", "predicted", "type_total")
    add_to_columns(worst_sums, n_lost_fields, "spurious")
    add_to_columns(best_sums, n_failed_calls, "ok")
    add_to_columns(best_sums, n_lost_fields, "exact", "type_right")
    return worst_sums, best_sums
