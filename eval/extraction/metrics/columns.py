"""Converts a system's rows to columns of numbers; every metric is a ratio of sums of columns.

Columns are computed from the collected rows in a few vectorised steps, once per policy for invalid
replies. They are summed by sample, because the bootstrap resamples whole samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eval.extraction.metrics.measurement_plan import Failed
from eval.extraction.metrics.quality_score import (
    FIELD_RATIOS,
    LOWER_IS_BETTER,
    OUTCOME_METRICS,
    SCORE_PARTS,
    ScoreWeights,
)
from eval.extraction.metrics.system_rows import (
    ERROR,
    FLOAT_COLUMNS,
    INTEGER_COLUMNS,
    OUTCOMES,
    TALLY_COLUMNS,
    VALID_OUTCOMES,
    SystemRows,
)
from eval.extraction.record import Invalid, Mode
from eval.stats.bootstrap import Floats

MODES: tuple[Mode, ...] = ("strict", "partial", "lenient")
_CREDIT_COLUMNS = ("strict", "exact", "partial", "lenient", "type_right", "literal")


def select_columns(
    table: NDArray[np.int32], names: Sequence[str], selected: Sequence[str]
) -> Floats:
    """Returns the wanted columns of a table as floats, shape (rows, wanted)."""
    return table[:, [names.index(name) for name in selected]].astype(np.float64)


def void_rows(tallies: Floats, is_void: NDArray[np.bool_]) -> Floats:
    """Sets the credit of some rows to 0, as ``Tally.remove_credit`` does for a single tally.

    Args:
        tallies: counts of fields, shape (rows, len(TALLY_COLUMNS)).
        is_void: which rows to change, shape (rows,).
    """
    voided = tallies.copy()
    for name in _CREDIT_COLUMNS:
        voided[is_void, TALLY_COLUMNS.index(name)] = 0.0
    return voided


def compute_weighted_sum(tallies: Floats, weights: Mapping[str, float]) -> Floats:
    """Returns a weighted sum of the columns of tallies, shape (rows,)."""
    total = np.zeros(len(tallies))
    for name, weight in weights.items():
        total += weight * tallies[:, TALLY_COLUMNS.index(name)]
    return total


class MetricColumns:
    """The columns of one system under one policy for invalid replies.

    Attributes:
        sample: position of each row's sample in the run, shape (rows,).
        is_scored: mask of the rows that count in accuracy: those whose call did not fail, or all.
        is_voided: mask of the rows that get no credit under the policy, shape (rows,).
        failed_fields: number of expected fields of failed calls, 0 in other rows; shape (rows,).
        failed_absences: the same of fields that are expected to be left out.
        tallies: counts of fields, shape (rows, len(TALLY_COLUMNS)); 0 in rows that are not scored.
        metrics: metric → one number per row; nan if undefined.

    Args:
        system_rows: the rows.
        positions: position in the run of each sample of the system.
        invalid: policy for invalid replies.
        failed: policy for failed calls.
        weights: weights of the quality score.
    """

    def __init__(
        self,
        system_rows: SystemRows,
        positions: NDArray[np.int64],
        *,
        invalid: Invalid,
        failed: Failed,
        weights: ScoreWeights,
    ) -> None:
        integers = system_rows.integers
        outcome = integers[:, INTEGER_COLUMNS.index("outcome")]
        self.sample = positions[integers[:, INTEGER_COLUMNS.index("sample")]]
        self.is_scored = (outcome != ERROR) | (failed == "zero")
        # A failed call that counts misses all fields, as a reply that cannot be read does.
        void_outcomes = ("unparsable", "error", *(("invalid",) if invalid == "zero" else ()))
        self.is_voided = np.isin(outcome, [OUTCOMES.index(name) for name in void_outcomes])
        tallies = select_columns(integers, INTEGER_COLUMNS, TALLY_COLUMNS)
        self.failed_fields = np.where(
            self.is_scored, 0.0, tallies[:, TALLY_COLUMNS.index("expected")]
        )
        self.failed_absences = np.where(
            self.is_scored, 0.0, tallies[:, TALLY_COLUMNS.index("absent")]
        )
        self.tallies = void_rows(tallies, self.is_voided)
        self.tallies[~self.is_scored] = 0.0
        is_valid = np.isin(outcome, [OUTCOMES.index(name) for name in VALID_OUTCOMES])
        self.metrics = self._compute_row_metrics(is_valid, weights)

    def _compute_row_metrics(
        self, is_valid: NDArray[np.bool_], weights: ScoreWeights
    ) -> dict[str, Floats]:
        """Computes every metric of each single row; nan if undefined."""
        row_values: dict[str, Floats] = {}
        for name, (numerator, denominator) in FIELD_RATIOS.items():
            values = divide_columns(
                compute_weighted_sum(self.tallies, numerator),
                compute_weighted_sum(self.tallies, denominator),
            )
            if name not in LOWER_IS_BETTER and name not in OUTCOME_METRICS:
                values[self.is_voided] = 0.0
            values[~self.is_scored] = np.nan
            row_values[name] = values
        is_defined = ~np.isnan(row_values["field_f1_partial"])
        parts = (
            is_valid.astype(np.float64),
            row_values["field_f1_partial"],
            np.nan_to_num(row_values["type_accuracy"]),
            1 - np.nan_to_num(row_values["hallucination_rate"]),
        )
        quality = np.zeros(len(is_valid))
        for name, share, part in zip(SCORE_PARTS, weights.shares, parts, strict=True):
            part_values = np.where(is_defined, np.where(self.is_voided, 0.0, part), np.nan)
            row_values[f"part:{name}"] = part_values
            quality += share * part_values
        row_values["extraction_quality_score"] = quality
        return row_values

    def sum_by_sample(self, n_samples: int, columns: Mapping[str, Floats]) -> Floats:
        """Sums columns by sample, shape (samples, columns)."""
        table = np.empty((n_samples, len(columns)))
        for number, column in enumerate(columns.values()):
            table[:, number] = np.bincount(self.sample, weights=column, minlength=n_samples)
        return table

    def compute_sample_means(self, n_samples: int) -> dict[str, Floats]:
        """Returns each metric of each sample as the mean over its repeats; nan if undefined."""
        means: dict[str, Floats] = {}
        for name, values in self.metrics.items():
            is_defined = ~np.isnan(values)
            sums = {"sum": np.where(is_defined, values, 0.0), "n": is_defined.astype(np.float64)}
            table = self.sum_by_sample(n_samples, sums)
            means[name] = divide_columns(table[:, 0], table[:, 1])
        return means

    def summable_columns(self) -> dict[str, Floats]:
        """Returns the columns to sum for accuracy metrics.

        These are the counts of fields and, for each metric: ``:sum`` and ``:n`` for its mean over
        rows, and ``:weighted`` and ``:weight`` for its mean weighted by expected fields.
        """
        columns: dict[str, Floats] = {
            name: self.tallies[:, number] for number, name in enumerate(TALLY_COLUMNS)
        }
        expected = columns["expected"]
        for name, values in self.metrics.items():
            is_defined = ~np.isnan(values)
            columns[f"{name}:sum"] = np.where(is_defined, values, 0.0)
            columns[f"{name}:n"] = is_defined.astype(np.float64)
            if name in FIELD_RATIOS:
                columns[f"{name}:weighted"] = np.where(is_defined, values * expected, 0.0)
                columns[f"{name}:weight"] = is_defined * expected
        columns["scored"] = self.is_scored.astype(np.float64)
        columns["error"] = 1 - columns["scored"]
        columns["lost_fields"] = self.failed_fields
        columns["lost_absences"] = self.failed_absences
        return columns


def compute_outcome_columns(
    system_rows: SystemRows, prices: tuple[float, float] | None, failed: Failed
) -> dict[str, Floats]:
    """Returns the columns to sum for validity, exact match, reliability, tokens and cost.

    Args:
        system_rows: the rows.
        prices: dollars per thousand input and output tokens, for rows without a stated cost.
        failed: policy for failed calls.
    """
    integers, floats = system_rows.integers, system_rows.floats.copy()
    if prices is not None:
        tokens = floats[
            :, [FLOAT_COLUMNS.index("input_tokens"), FLOAT_COLUMNS.index("output_tokens")]
        ]
        cost = floats[:, FLOAT_COLUMNS.index("cost_usd")]
        cost[:] = np.where(np.isnan(cost), tokens @ np.array(prices) / 1000, cost)
    outcome = integers[:, INTEGER_COLUMNS.index("outcome")]
    outcome_flags = {
        name: (outcome == code).astype(np.float64) for code, name in enumerate(OUTCOMES)
    }
    returned = 1 - outcome_flags["error"]
    scored = np.ones(len(outcome)) if failed == "zero" else returned
    was_retried = (integers[:, INTEGER_COLUMNS.index("retries")] > 0).astype(np.float64)
    checked = scored * (1 - select_columns(integers, INTEGER_COLUMNS, ["unchecked"])[:, 0])
    is_ok = sum((outcome_flags[name] for name in VALID_OUTCOMES), np.zeros(len(outcome)))
    flags = ("match", "match_literal")
    valid_literal = select_columns(integers, INTEGER_COLUMNS, ["valid_literal"])[:, 0]
    columns = {
        "rows": np.ones(len(outcome)),
        "checked": checked,
        "checked_ok": checked * is_ok,
        "valid_literal": checked * valid_literal,
        **outcome_flags,
        "ok": is_ok,
        "has_nulls": scored * (select_columns(integers, INTEGER_COLUMNS, ["nulls"])[:, 0] > 0),
        "scored": scored,
        "returned": returned,
        **{
            name: scored * select_columns(integers, INTEGER_COLUMNS, [name])[:, 0] for name in flags
        },
        "timed_out": select_columns(integers, INTEGER_COLUMNS, ["timed_out"])[:, 0],
        "retried": was_retried,
        "reliable": returned * (1 - was_retried / 2),
        **{
            name: scored
            * select_columns(
                integers, INTEGER_COLUMNS, [f"hallucination_{kind}" for kind in types]
            ).sum(axis=1)
            for name, types in _SEVERITY_TYPES.items()
        },
    }
    predicted = scored * select_columns(integers, INTEGER_COLUMNS, ["predicted"])[:, 0]
    text_characters = select_columns(integers, INTEGER_COLUMNS, ["text_characters"])[:, 0]
    columns["predicted_with_text"] = predicted * (text_characters > 0)
    for name in _EVIDENCE_COLUMNS:
        columns[name] = scored * select_columns(integers, INTEGER_COLUMNS, [name])[:, 0]
    for name in FLOAT_COLUMNS:
        values = floats[:, FLOAT_COLUMNS.index(name)]
        is_known = ~np.isnan(values)
        if name == "latency_s":
            # The latency of a failed call only measures the time until it was aborted.
            is_known &= returned > 0
        columns[name] = np.where(is_known, values, 0.0)
        columns[f"{name}:n"] = is_known.astype(np.float64)
    has_token_count = columns["output_tokens:n"] * returned
    columns["fields_counted"] = predicted * has_token_count
    columns["output_counted"] = columns["output_tokens"] * has_token_count
    return columns


_EVIDENCE_COLUMNS = (
    *("searched", "not_found", "quotes", "quotes_found", "gold_quotes", "quotes_covered"),
)
_SEVERITY_TYPES = {"critical": (1,), "moderate": (3,), "minor": (4,), "unsupported": (1, 2)}
"""Severity → types of hallucination, as the specification groups them (4.4.2), but for type 2: a
wrong value that is not in the text literally is not thereby invented. It is only *unsupported*."""


def divide_columns(numerator: Floats, denominator: Floats) -> Floats:
    """Divides element by element; nan where the denominator is 0."""
    quotients: Floats = np.divide(
        numerator, denominator, out=np.full(len(numerator), np.nan), where=denominator > 0
    )
    return quotients
