"""Computes the quality score of a run: macro (mean over samples) and micro, with its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eval.extraction.metrics.quality_score import SCORE_PARTS, ScoreWeights, interpret_score
from eval.extraction.record import Component, Estimate, Quality
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
) -> Quality:
    """Computes the quality score with its parts.

    Args:
        score: the mean over samples, with its interval.
        data: sums by sample, and resampled sums.
        columns: names of the columns of ``data``.
        totals: sums over all samples by column, including those of the parts.
        weights: weights of the parts.
        confidence: nominal coverage of the interval.
    """
    places = [columns.index(name) for name in QUALITY_COLUMNS]
    total_sums = data.totals[places][None, :]
    parts = compute_micro_parts(total_sums)[0]
    known = totals["extraction_quality_score:n"]
    word, meaning = interpret_score(score.value)
    return Quality(
        score=score,
        micro=_compute_micro_value(data, places, total_sums, weights, confidence),
        components={
            name: Component(
                weight=round_significant(share),
                value=None if np.isnan(part) else round_significant(float(part)),
                macro=round_significant(totals[f"part:{name}:sum"] / known) if known else None,
            )
            for name, share, part in zip(SCORE_PARTS, weights.shares, parts, strict=True)
        },
        interpretation=word,
        meaning=meaning,
    )


def compute_micro_parts(sums: Floats) -> Floats:
    """Computes the parts of the score from sums; ``compute_score_parts`` does so for one sample.

    Args:
        sums: shape (n, len(QUALITY_COLUMNS)).

    Returns:
        Shape (n, 4), nan if no field is expected or extracted.
    """
    of = {name: sums[:, place] for place, name in enumerate(QUALITY_COLUMNS)}
    fields = of["expected"] + of["predicted"]
    return np.column_stack(
        [
            _divide_or_default(of["ok"], of["scored"]),
            _divide_or_default(2 * of["exact"] + of["partial"], fields, default=np.nan),
            _divide_or_default(of["type_right"], of["type_total"]),
            1 - _divide_or_default(of["spurious"], of["predicted"]),
        ]
    )


def _divide_or_default(numerator: Floats, denominator: Floats, *, default: float = 0.0) -> Floats:
    quotients: Floats = np.divide(
        numerator, denominator, out=np.full(len(numerator), default), where=denominator > 0
    )
    return quotients


def _compute_micro_value(
    data: ResampledCounts,
    positions: Sequence[int],
    whole: Floats,
    weights: ScoreWeights,
    confidence: float,
) -> Estimate:
    shares = np.array(weights.shares)

    def micro_scores(sums: Floats) -> Floats:
        # Rounded, because the last bits of a sum always vary and would hide that resamples are
        # constant.
        scores: Floats = np.round(compute_micro_parts(sums) @ shares, 12)
        return scores[:, None]

    own = data.per_cluster[:, positions]
    value = micro_scores(whole)[0]
    taking = (
        own[:, [QUALITY_COLUMNS.index("expected"), QUALITY_COLUMNS.index("predicted")]] > 0
    ).any(axis=1)
    spread = Distribution(
        values=value,
        replicates=micro_scores(data.sums[:, positions]),
        jackknife=micro_scores(whole - own),
        support=np.array([float(taking.sum())]),
    )
    worst, best = (float(micro_scores(extreme)[0, 0]) for extreme in _extreme_sums(whole))
    shown = Estimate(
        value=None,
        n=round(float(whole[0, QUALITY_COLUMNS.index("scored")])),
        worst=None if np.isnan(worst) else round_significant(worst),
        best=None if np.isnan(best) else round_significant(best),
        higher_is_better=True,
        missing=round(float(whole[0, QUALITY_COLUMNS.index("error")])),
    )
    if np.isnan(value[0]):
        shown = Estimate(
            value=None, n=shown.n, higher_is_better=True, missing=shown.missing, why=_NO_FIELDS
        )
    return estimate_column(spread, 0, shown, confidence)


def _extreme_sums(whole: Floats) -> tuple[Floats, Floats]:
    """Returns the sums if all fields of failed calls had been wrong, and if all had been right."""
    bad, good = whole.copy(), whole.copy()
    calls, fields = (whole[0, QUALITY_COLUMNS.index(name)] for name in ("error", "lost_fields"))

    def add_to_columns(sums: Floats, amount: float, *names: str) -> None:
        for name in names:
            sums[0, QUALITY_COLUMNS.index(name)] += amount

    for sums in (bad, good):
        add_to_columns(sums, calls, "scored")
        add_to_columns(sums, fields, "expected", "predicted", "type_total")
    add_to_columns(bad, fields, "spurious")
    add_to_columns(good, calls, "ok")
    add_to_columns(good, fields, "exact", "type_right")
    return bad, good
