"""The quality score of a run: the mean of its samples' scores, and that of its micro parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eval.extraction.measuring.quality_score import PARTS, Weights, interpretation
from eval.extraction.record import Component, Quality, Value
from eval.stats.intervals import Distribution, Floats, Resampled, tidy
from eval.stats.shown import spread_value

COLUMNS = (
    *("ok", "scored", "exact", "partial", "expected", "predicted"),
    *("type_right", "type_total", "spurious", "error", "lost_fields"),
)
"""What the micro parts are made of."""

_NOTHING = "no field is expected and none was extracted"


def quality(
    score: Value,
    data: Resampled,
    columns: Sequence[str],
    totals: Mapping[str, float],
    weights: Weights,
    confidence: float,
) -> Quality:
    """The score with its parts.

    Args:
        score: the mean over samples, with its interval.
        data: sums by sample, and resampled.
        columns: what the columns of ``data`` hold.
        totals: the sums of everything, with those of the samples' own parts.
        weights: of the parts.
        confidence: coverage that the interval aims at.
    """
    places = [columns.index(name) for name in COLUMNS]
    whole = data.totals[places][None, :]
    parts = micro_parts(whole)[0]
    known = totals["extraction_quality_score:n"]
    word, meaning = interpretation(score.value)
    return Quality(
        score=score,
        micro=_micro(data, places, whole, weights, confidence),
        components={
            name: Component(
                weight=tidy(share),
                value=None if np.isnan(part) else tidy(float(part)),
                macro=tidy(totals[f"part:{name}:sum"] / known) if known else None,
            )
            for name, share, part in zip(PARTS, weights.shares, parts, strict=True)
        },
        interpretation=word,
        meaning=meaning,
    )


def micro_parts(sums: Floats) -> Floats:
    """The parts of the score from sums, as ``score_parts`` has them of one sample.

    Args:
        sums: shape (n, len(COLUMNS)).

    Returns:
        Shape (n, 4), nan where no field is on either side.
    """
    of = {name: sums[:, place] for place, name in enumerate(COLUMNS)}
    fields = of["expected"] + of["predicted"]
    return np.column_stack(
        [
            _share(of["ok"], of["scored"]),
            _share(2 * of["exact"] + of["partial"], fields, nothing=np.nan),
            _share(of["type_right"], of["type_total"]),
            1 - _share(of["spurious"], of["predicted"]),
        ]
    )


def _share(top: Floats, bottom: Floats, *, nothing: float = 0.0) -> Floats:
    found: Floats = np.divide(top, bottom, out=np.full(len(top), nothing), where=bottom > 0)
    return found


def _micro(
    data: Resampled, places: Sequence[int], whole: Floats, weights: Weights, confidence: float
) -> Value:
    shares = np.array(weights.shares)

    def of(sums: Floats) -> Floats:
        # Rounded, so that what does not vary is seen not to: the last bits of a sum always do.
        found: Floats = np.round(micro_parts(sums) @ shares, 12)
        return found[:, None]

    own = data.per_cluster[:, places]
    value = of(whole)[0]
    taking = (own[:, [COLUMNS.index("expected"), COLUMNS.index("predicted")]] > 0).any(axis=1)
    spread = Distribution(
        values=value,
        replicates=of(data.sums[:, places]),
        jackknife=of(whole - own),
        support=np.array([float(taking.sum())]),
    )
    worst, best = (float(of(one)[0, 0]) for one in _extremes(whole))
    shown = Value(
        value=None,
        n=round(float(whole[0, COLUMNS.index("scored")])),
        worst=None if np.isnan(worst) else tidy(worst),
        best=None if np.isnan(best) else tidy(best),
        higher_is_better=True,
        missing=round(float(whole[0, COLUMNS.index("error")])),
    )
    if np.isnan(value[0]):
        shown = Value(
            value=None, n=shown.n, higher_is_better=True, missing=shown.missing, why=_NOTHING
        )
    return spread_value(spread, 0, shown, confidence)


def _extremes(whole: Floats) -> tuple[Floats, Floats]:
    """The sums if every failed call had brought only wrong fields, and if all were right."""
    bad, good = whole.copy(), whole.copy()
    calls, fields = (whole[0, COLUMNS.index(name)] for name in ("error", "lost_fields"))

    def add(sums: Floats, amount: float, *names: str) -> None:
        for name in names:
            sums[0, COLUMNS.index(name)] += amount

    for sums in (bad, good):
        add(sums, calls, "scored")
        add(sums, fields, "expected", "predicted", "type_total")
    add(bad, fields, "spurious")
    add(good, calls, "ok")
    add(good, fields, "exact", "type_right")
    return bad, good
