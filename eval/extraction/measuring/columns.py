"""A system's rows as columns of numbers that add up: what every metric is a ratio of.

Columns are made of the gathered rows in a few vectorised steps, once for each policy of what an
invalid reply is worth, and summed by sample: whole samples are what is resampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eval.extraction.measuring.gathering import ERROR, MEASURED, OUTCOMES, TALLY, WHOLE, Gathered
from eval.extraction.measuring.quality_score import PARTS, Weights
from eval.extraction.record import Invalid, Mode
from eval.stats.intervals import Floats

MODES: tuple[Mode, ...] = ("strict", "partial", "lenient")
CREDIT: Mapping[Mode, Mapping[str, float]] = {
    "strict": {"strict": 1.0},
    "partial": {"exact": 1.0, "partial": 0.5},
    "lenient": {"lenient": 1.0},
}
"""What a mode gives for fields: columns of a tally with their weights."""

RATIOS: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]] = {
    **{
        f"field_{kind}_{mode}": (
            {column: (2.0 if kind == "f1" else 1.0) * weight for column, weight in credit.items()},
            dict.fromkeys(sides, 1.0),
        )
        for mode, credit in CREDIT.items()
        for kind, sides in (
            ("precision", ("predicted",)),
            ("recall", ("expected",)),
            ("f1", ("expected", "predicted")),
        )
    },
    "type_accuracy": ({"type_right": 1.0}, {"type_total": 1.0}),
    "hallucination_rate": ({"spurious": 1.0}, {"predicted": 1.0}),
    "omission_rate": ({"missed": 1.0}, {"expected": 1.0}),
}
"""Every metric of fields as numerator and denominator over a tally: of a sample, a type, a run."""

LOWER_IS_BETTER = ("hallucination_rate", "omission_rate")
_RIGHT = ("strict", "exact", "partial", "lenient", "type_right")


def cut(table: NDArray[np.int32], names: Sequence[str], wanted: Sequence[str]) -> Floats:
    """Some columns of a table as floats, shape (rows, wanted)."""
    return table[:, [names.index(one) for one in wanted]].astype(np.float64)


def voided(tallies: Floats, void: NDArray[np.bool_]) -> Floats:
    """Tallies with nothing right in the rows named, as ``Tally.voided`` has it of one.

    Args:
        tallies: shape (rows, len(TALLY)).
        void: shape (rows,).
    """
    found = tallies.copy()
    for name in _RIGHT:
        found[void, TALLY.index(name)] = 0.0
    return found


def combined(tallies: Floats, weights: Mapping[str, float]) -> Floats:
    """A weighted sum of the columns of tallies, shape (rows,)."""
    total = np.zeros(len(tallies))
    for name, weight in weights.items():
        total += weight * tallies[:, TALLY.index(name)]
    return total


class Columns:
    """The columns of one system under one policy.

    Attributes:
        sample: place of each row's sample in the run, shape (rows,).
        scored: which rows' calls came back, shape (rows,).
        void: which rows are worth nothing, shape (rows,).
        tallies: counts of fields, shape (rows, len(TALLY)); zero in rows that are not scored.
        rows: name → one number a row; nan where there is none.

    Args:
        gathered: the rows.
        places: place in the run of each of the system's samples.
        invalid: what an invalid reply is worth.
        weights: of the quality score.
    """

    def __init__(
        self,
        gathered: Gathered,
        places: NDArray[np.int64],
        *,
        invalid: Invalid,
        weights: Weights,
    ) -> None:
        whole = gathered.whole
        outcome = whole[:, WHOLE.index("outcome")]
        self.sample = places[whole[:, WHOLE.index("sample")]]
        self.scored = outcome != ERROR
        nothing = ("unparsable", "invalid") if invalid == "zero" else ("unparsable",)
        self.void = np.isin(outcome, [OUTCOMES.index(name) for name in nothing])
        tallies = cut(whole, WHOLE, TALLY)
        self.lost = np.where(self.scored, 0.0, tallies[:, TALLY.index("expected")])
        self.tallies = voided(tallies, self.void)
        self.tallies[~self.scored] = 0.0
        self.rows = self._values(outcome == OUTCOMES.index("ok"), weights)

    def _values(self, ok: NDArray[np.bool_], weights: Weights) -> dict[str, Floats]:
        """Every metric of each single row; nan where it has none."""
        found: dict[str, Floats] = {}
        for name, (top, bottom) in RATIOS.items():
            values = divided(combined(self.tallies, top), combined(self.tallies, bottom))
            if name not in LOWER_IS_BETTER:
                values[self.void] = 0.0
            values[~self.scored] = np.nan
            found[name] = values
        known = ~np.isnan(found["field_f1_partial"])
        parts = (
            ok.astype(np.float64),
            found["field_f1_partial"],
            np.nan_to_num(found["type_accuracy"]),
            1 - np.nan_to_num(found["hallucination_rate"]),
        )
        quality = np.zeros(len(ok))
        for name, share, part in zip(PARTS, weights.shares, parts, strict=True):
            worth = np.where(known, np.where(self.void, 0.0, part), np.nan)
            found[f"part:{name}"] = worth
            quality += share * worth
        found["extraction_quality_score"] = quality
        return found

    def by_sample(self, samples: int, columns: Mapping[str, Floats]) -> Floats:
        """Columns of rows summed by sample, shape (samples, columns)."""
        table = np.empty((samples, len(columns)))
        for place, column in enumerate(columns.values()):
            table[:, place] = np.bincount(self.sample, weights=column, minlength=samples)
        return table

    def means(self, samples: int) -> dict[str, Floats]:
        """Each metric of each sample, the mean of its repeats; nan where it has none."""
        found: dict[str, Floats] = {}
        for name, values in self.rows.items():
            known = ~np.isnan(values)
            sums = {"top": np.where(known, values, 0.0), "n": known.astype(np.float64)}
            table = self.by_sample(samples, sums)
            found[name] = divided(table[:, 0], table[:, 1])
        return found

    def additive(self) -> dict[str, Floats]:
        """What is summed for metrics of accuracy: counts, and each metric's sums over rows."""
        found: dict[str, Floats] = {
            name: self.tallies[:, place] for place, name in enumerate(TALLY)
        }
        expected = found["expected"]
        for name, values in self.rows.items():
            known = ~np.isnan(values)
            found[f"{name}:sum"] = np.where(known, values, 0.0)
            found[f"{name}:n"] = known.astype(np.float64)
            if name in RATIOS:
                found[f"{name}:weighted"] = np.where(known, values * expected, 0.0)
                found[f"{name}:weight"] = known * expected
        found["scored"] = self.scored.astype(np.float64)
        found["error"] = 1 - found["scored"]
        found["lost_fields"] = self.lost
        return found


def outcome_columns(gathered: Gathered, prices: tuple[float, float] | None) -> dict[str, Floats]:
    """What is summed for validity, exact match, reliability, tokens and cost, by row.

    Args:
        gathered: the rows.
        prices: of a thousand input and output tokens, for rows whose cost nobody states.
    """
    whole, measured = gathered.whole, gathered.measured.copy()
    if prices is not None:
        tokens = measured[:, [MEASURED.index("input_tokens"), MEASURED.index("output_tokens")]]
        cost = measured[:, MEASURED.index("cost_usd")]
        cost[:] = np.where(np.isnan(cost), tokens @ np.array(prices) / 1000, cost)
    outcome = whole[:, WHOLE.index("outcome")]
    is_one = {name: (outcome == place).astype(np.float64) for place, name in enumerate(OUTCOMES)}
    scored = 1 - is_one["error"]
    retried = (whole[:, WHOLE.index("retries")] > 0).astype(np.float64)
    right = scored * cut(whole, WHOLE, ["match"])[:, 0]
    found = {
        "rows": np.ones(len(outcome)),
        **is_one,
        "scored": scored,
        "match": right,
        "timed_out": cut(whole, WHOLE, ["timed_out"])[:, 0],
        "retried": retried,
        "reliable": scored * (1 - retried / 2),
        **{
            name: scored * cut(whole, WHOLE, [f"hallucination_{one}" for one in types]).sum(axis=1)
            for name, types in _SEVERITY.items()
        },
    }
    predicted = scored * cut(whole, WHOLE, ["predicted"])[:, 0]
    for name in MEASURED:
        values = measured[:, MEASURED.index(name)]
        known = ~np.isnan(values)
        if name == "latency_s":
            # That of a call that failed says when one stopped waiting.
            known &= scored > 0
        found[name] = np.where(known, values, 0.0)
        found[f"{name}:n"] = known.astype(np.float64)
    counted = found["output_tokens:n"] * scored
    found["fields_counted"] = predicted * counted
    found["output_counted"] = found["output_tokens"] * counted
    return found


_SEVERITY = {"critical": (1, 2), "moderate": (3,), "minor": (4,)}
"""Severity → types of hallucination, as the specification groups them (4.4.2)."""


def divided(top: Floats, bottom: Floats) -> Floats:
    """``top / bottom``, nan where the denominator is 0."""
    found: Floats = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
    return found
