"""Converts a system's rows to summable columns; every metric is a ratio of sums of these.

Columns are computed from the collected rows in a few vectorised steps, once per policy for invalid
replies, and summed by sample, because whole samples are resampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eval.extraction.metrics.quality_score import SCORE_PARTS, ScoreWeights
from eval.extraction.metrics.system_rows import (
    ERROR,
    FLOAT_COLUMNS,
    INTEGER_COLUMNS,
    OUTCOMES,
    TALLY_COLUMNS,
    SystemRows,
)
from eval.extraction.record import Invalid, Mode
from eval.stats.bootstrap import Floats

MODES: tuple[Mode, ...] = ("strict", "partial", "lenient")
CREDIT_WEIGHTS: Mapping[Mode, Mapping[str, float]] = {
    "strict": {"strict": 1.0},
    "partial": {"exact": 1.0, "partial": 0.5},
    "lenient": {"lenient": 1.0},
}
"""Credit of each mode: columns of a tally with their weights."""

FIELD_RATIOS: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]] = {
    **{
        f"field_{kind}_{mode}": (
            {column: (2.0 if kind == "f1" else 1.0) * weight for column, weight in credit.items()},
            dict.fromkeys(sides, 1.0),
        )
        for mode, credit in CREDIT_WEIGHTS.items()
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
"""Every field metric as numerator and denominator over a tally (of a sample, a type or a run)."""

LOWER_IS_BETTER = ("hallucination_rate", "omission_rate")
_CREDIT_COLUMNS = ("strict", "exact", "partial", "lenient", "type_right")


def select_columns(table: NDArray[np.int32], names: Sequence[str], wanted: Sequence[str]) -> Floats:
    """Returns the wanted columns of a table as floats, shape (rows, wanted)."""
    return table[:, [names.index(name) for name in wanted]].astype(np.float64)


def void_rows(tallies: Floats, is_void: NDArray[np.bool_]) -> Floats:
    """Sets the credit of some rows to 0, as ``Tally.remove_credit`` does for a single tally.

    Args:
        tallies: shape (rows, len(TALLY)).
        is_void: which rows to change, shape (rows,).
    """
    voided = tallies.copy()
    for name in _CREDIT_COLUMNS:
        voided[is_void, TALLY_COLUMNS.index(name)] = 0.0
    return voided


def weighted_sum(tallies: Floats, weights: Mapping[str, float]) -> Floats:
    """Returns a weighted sum of the columns of tallies, shape (rows,)."""
    total = np.zeros(len(tallies))
    for name, weight in weights.items():
        total += weight * tallies[:, TALLY_COLUMNS.index(name)]
    return total


class MetricColumns:
    """The columns of one system under one policy for invalid replies.

    Attributes:
        sample: position of each row's sample in the run, shape (rows,).
        scored: which rows' calls did not fail, shape (rows,).
        voided: which rows get no credit under the policy, shape (rows,).
        tallies: counts of fields, shape (rows, len(TALLY_COLUMNS)); 0 in rows that are not scored.
        metrics: metric → one number per row; nan if there is none.

    Args:
        system_rows: the rows.
        positions: position in the run of each of the system's samples.
        invalid: policy for invalid replies.
        weights: weights of the quality score.
    """

    def __init__(
        self,
        system_rows: SystemRows,
        positions: NDArray[np.int64],
        *,
        invalid: Invalid,
        weights: ScoreWeights,
    ) -> None:
        integers = system_rows.integers
        outcome = integers[:, INTEGER_COLUMNS.index("outcome")]
        self.sample = positions[integers[:, INTEGER_COLUMNS.index("sample")]]
        self.scored = outcome != ERROR
        nothing = ("unparsable", "invalid") if invalid == "zero" else ("unparsable",)
        self.voided = np.isin(outcome, [OUTCOMES.index(name) for name in nothing])
        tallies = select_columns(integers, INTEGER_COLUMNS, TALLY_COLUMNS)
        self.failed_fields = np.where(self.scored, 0.0, tallies[:, TALLY_COLUMNS.index("expected")])
        self.tallies = void_rows(tallies, self.voided)
        self.tallies[~self.scored] = 0.0
        self.metrics = self._row_metrics(outcome == OUTCOMES.index("ok"), weights)

    def _row_metrics(self, ok: NDArray[np.bool_], weights: ScoreWeights) -> dict[str, Floats]:
        """Computes every metric of each single row; nan if undefined."""
        row_values: dict[str, Floats] = {}
        for name, (top, bottom) in FIELD_RATIOS.items():
            values = divide_columns(
                weighted_sum(self.tallies, top), weighted_sum(self.tallies, bottom)
            )
            if name not in LOWER_IS_BETTER:
                values[self.voided] = 0.0
            values[~self.scored] = np.nan
            row_values[name] = values
        known = ~np.isnan(row_values["field_f1_partial"])
        parts = (
            ok.astype(np.float64),
            row_values["field_f1_partial"],
            np.nan_to_num(row_values["type_accuracy"]),
            1 - np.nan_to_num(row_values["hallucination_rate"]),
        )
        quality = np.zeros(len(ok))
        for name, share, part in zip(SCORE_PARTS, weights.shares, parts, strict=True):
            worth = np.where(known, np.where(self.voided, 0.0, part), np.nan)
            row_values[f"part:{name}"] = worth
            quality += share * worth
        row_values["extraction_quality_score"] = quality
        return row_values

    def sum_by_sample(self, n_samples: int, columns: Mapping[str, Floats]) -> Floats:
        """Sums columns by sample, shape (samples, columns)."""
        table = np.empty((n_samples, len(columns)))
        for place, column in enumerate(columns.values()):
            table[:, place] = np.bincount(self.sample, weights=column, minlength=n_samples)
        return table

    def sample_means(self, n_samples: int) -> dict[str, Floats]:
        """Returns each metric of each sample as the mean over its repeats; nan if undefined."""
        means: dict[str, Floats] = {}
        for name, values in self.metrics.items():
            known = ~np.isnan(values)
            sums = {"top": np.where(known, values, 0.0), "n": known.astype(np.float64)}
            table = self.sum_by_sample(n_samples, sums)
            means[name] = divide_columns(table[:, 0], table[:, 1])
        return means

    def summable_columns(self) -> dict[str, Floats]:
        """Returns the columns to sum for accuracy metrics: counts, and each metric's row values."""
        columns: dict[str, Floats] = {
            name: self.tallies[:, place] for place, name in enumerate(TALLY_COLUMNS)
        }
        expected = columns["expected"]
        for name, values in self.metrics.items():
            known = ~np.isnan(values)
            columns[f"{name}:sum"] = np.where(known, values, 0.0)
            columns[f"{name}:n"] = known.astype(np.float64)
            if name in FIELD_RATIOS:
                columns[f"{name}:weighted"] = np.where(known, values * expected, 0.0)
                columns[f"{name}:weight"] = known * expected
        columns["scored"] = self.scored.astype(np.float64)
        columns["error"] = 1 - columns["scored"]
        columns["lost_fields"] = self.failed_fields
        return columns


def outcome_columns(
    system_rows: SystemRows, prices: tuple[float, float] | None
) -> dict[str, Floats]:
    """Returns the columns to sum for validity, exact match, reliability, tokens and cost.

    Args:
        system_rows: the rows.
        prices: dollars per thousand input and output tokens, for rows without a stated cost.
    """
    integers, measured = system_rows.integers, system_rows.floats.copy()
    if prices is not None:
        tokens = measured[
            :, [FLOAT_COLUMNS.index("input_tokens"), FLOAT_COLUMNS.index("output_tokens")]
        ]
        cost = measured[:, FLOAT_COLUMNS.index("cost_usd")]
        cost[:] = np.where(np.isnan(cost), tokens @ np.array(prices) / 1000, cost)
    outcome = integers[:, INTEGER_COLUMNS.index("outcome")]
    is_one = {name: (outcome == place).astype(np.float64) for place, name in enumerate(OUTCOMES)}
    scored = 1 - is_one["error"]
    retried = (integers[:, INTEGER_COLUMNS.index("retries")] > 0).astype(np.float64)
    right = scored * select_columns(integers, INTEGER_COLUMNS, ["match"])[:, 0]
    columns = {
        "rows": np.ones(len(outcome)),
        **is_one,
        "scored": scored,
        "match": right,
        "timed_out": select_columns(integers, INTEGER_COLUMNS, ["timed_out"])[:, 0],
        "retried": retried,
        "reliable": scored * (1 - retried / 2),
        **{
            name: scored
            * select_columns(
                integers, INTEGER_COLUMNS, [f"hallucination_{kind}" for kind in types]
            ).sum(axis=1)
            for name, types in _SEVERITY_TYPES.items()
        },
    }
    predicted = scored * select_columns(integers, INTEGER_COLUMNS, ["predicted"])[:, 0]
    for name in FLOAT_COLUMNS:
        values = measured[:, FLOAT_COLUMNS.index(name)]
        known = ~np.isnan(values)
        if name == "latency_s":
            # The latency of a failed call only measures the time until it was aborted.
            known &= scored > 0
        columns[name] = np.where(known, values, 0.0)
        columns[f"{name}:n"] = known.astype(np.float64)
    counted = columns["output_tokens:n"] * scored
    columns["fields_counted"] = predicted * counted
    columns["output_counted"] = columns["output_tokens"] * counted
    return columns


_SEVERITY_TYPES = {"critical": (1, 2), "moderate": (3,), "minor": (4,)}
"""Severity → types of hallucination, as the specification groups them (4.4.2)."""


def divide_columns(numerator: Floats, denominator: Floats) -> Floats:
    """Divides element by element; nan where the denominator is 0."""
    quotients: Floats = np.divide(
        numerator, denominator, out=np.full(len(numerator), np.nan), where=denominator > 0
    )
    return quotients
