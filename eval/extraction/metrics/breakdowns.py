"""Computes metrics separately for groups of fields and groups of samples (breakdowns).

Fields are grouped by type, depth, name and whether they are required, so a sample may occur in
several groups. Samples are grouped by the complexity bin of their schema, domain and language.
Every group has the field metrics (micro); groups of samples also have score, validity and exact
match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from eval.extraction.metrics.columns import MetricColumns, void_rows
from eval.extraction.metrics.distributions import compute_box_plot
from eval.extraction.metrics.metric_definitions import FIELD_METRICS, SAMPLE_METRICS
from eval.extraction.metrics.resampler import RunPart
from eval.extraction.metrics.system_rows import (
    FIELD_DIMENSIONS,
    INTEGER_COLUMNS,
    TALLY_COLUMNS,
    SystemRows,
)
from eval.extraction.record import Breakdown, Dimension, Group
from eval.extraction.schemas.complexity import Bin
from eval.stats.bootstrap import Floats
from eval.stats.ratio_metrics import RatioMetric, compute_estimates

SAMPLE_DIMENSIONS: tuple[Dimension, ...] = ("complexity", "domain", "language")

_BINS: tuple[str, ...] = get_args(Bin)
_CALL_COLUMNS = ("lost_fields", "lost_absences", "scored", "error")
_FIELD_COLUMNS = (*TALLY_COLUMNS, *_CALL_COLUMNS)
_SCORE = "extraction_quality_score"
SAMPLE_COLUMNS = (
    *(*_FIELD_COLUMNS, "ok", "checked", "checked_ok", "match", f"{_SCORE}:sum", f"{_SCORE}:n"),
)
_SAMPLE_METRICS = (*SAMPLE_METRICS[:3], *FIELD_METRICS["micro"])

Key = tuple[Dimension, str]
"""A group: its dimension and the value that its members share."""


def build_field_parts(
    system_rows: SystemRows, columns: MetricColumns, max_names: int
) -> tuple[dict[Key, RunPart], int]:
    """Builds the groups of fields.

    Args:
        system_rows: the rows.
        columns: the columns of these rows.
        max_names: maximum number of field names; the most frequent ones are used.

    Returns:
        A part for each key, and the number of field names that are left out.
    """
    # Sorting by key makes the fields of each key adjacent: ends[k] to ends[k + 1] in this order.
    fields = system_rows.fields
    keys = list(system_rows.keys)
    parts: dict[Key, RunPart] = {}
    order = np.argsort(fields[:, 1], kind="stable")
    ends = np.searchsorted(fields[order, 1], np.arange(len(keys) + 1))
    selected, n_left_out = _select_keys(system_rows, max_names)
    for key_number in selected:
        key_fields = fields[order[ends[key_number] : ends[key_number + 1]]]
        dimension, key = keys[key_number]
        parts[_to_dimension(dimension), key] = _build_part(key_fields, columns)
    return parts, n_left_out


def _select_keys(system_rows: SystemRows, max_names: int) -> tuple[list[int], int]:
    """Selects the numbers of the keys to show; of the field names, only the most frequent ones.

    Returns:
        The numbers, sorted by dimension, then key (names by frequency); and how many field names
        are left out.
    """
    fields = system_rows.fields
    keys = list(system_rows.keys)
    occurrences = (
        fields[:, 2 + TALLY_COLUMNS.index("expected")]
        + fields[:, 2 + TALLY_COLUMNS.index("absent")]
    )
    frequencies = np.bincount(fields[:, 1], weights=occurrences, minlength=len(keys))
    selected: list[int] = []
    n_left_out = 0
    for dimension in FIELD_DIMENSIONS:
        key_numbers = [
            number for number, (key_dimension, _) in enumerate(keys) if key_dimension == dimension
        ]
        if dimension == "name":
            key_numbers.sort(key=lambda number: (-frequencies[number], keys[number][1]))
            n_left_out = max(0, len(key_numbers) - max_names)
            del key_numbers[max_names:]
        else:
            key_numbers.sort(key=lambda number: keys[number][1])
        selected += key_numbers
    return selected, n_left_out


def _build_part(fields: NDArray[np.int32], columns: MetricColumns) -> RunPart:
    """Sums the field counts of one key by sample."""
    row_numbers = fields[:, 0]
    scored = columns.is_scored[row_numbers]
    tallies = void_rows(fields[:, 2:].astype(np.float64), columns.is_voided[row_numbers])
    lost_fields = np.where(scored, 0.0, tallies[:, TALLY_COLUMNS.index("expected")])
    lost_absences = np.where(scored, 0.0, tallies[:, TALLY_COLUMNS.index("absent")])
    tallies[~scored] = 0.0
    is_scored = scored.astype(np.float64)
    # Single precision is exact for these counts: no reply is long enough to have 2**24 fields.
    counts = [tallies, lost_fields, lost_absences, is_scored, 1 - is_scored]
    table = np.column_stack(counts).astype(np.float32)
    positions, position_index = np.unique(columns.sample[row_numbers], return_inverse=True)
    if len(positions) == len(row_numbers):
        # Usual case: each sample has one row, so the rows only need to be reordered.
        return RunPart(positions, table[np.argsort(position_index)])
    sums = np.zeros((len(positions), table.shape[1]), dtype=np.float32)
    np.add.at(sums, position_index, table)
    return RunPart(positions, sums)


def build_sample_parts(
    system_rows: SystemRows, table: Floats, names: Sequence[str], sample: NDArray[np.int64]
) -> dict[Key, RunPart]:
    """Builds the groups of samples.

    Args:
        system_rows: the rows.
        table: sums of each sample, shape (samples, columns).
        names: names of the columns.
        sample: position of each row's sample, shape (rows,).
    """
    sample_sums = table[:, [names.index(name) for name in SAMPLE_COLUMNS]]
    parts: dict[Key, RunPart] = {}
    for dimension, keys in _group_samples(system_rows).items():
        for key, rows in sorted(keys.items(), key=_group_order):
            positions = np.unique(sample[rows])
            parts[dimension, key] = RunPart(positions, sample_sums[positions])
    return parts


def _group_samples(system_rows: SystemRows) -> dict[Dimension, dict[str, NDArray[np.bool_]]]:
    integers = system_rows.integers
    values_by_column = {
        name: integers[:, INTEGER_COLUMNS.index(name)] for name in ("schema", "domain", "language")
    }
    bins = np.array(
        [_BINS.index(complexity.bin) for complexity in system_rows.complexities], dtype=np.int64
    )
    row_bins = bins[values_by_column["schema"]] if len(bins) else values_by_column["schema"]
    return {
        "complexity": {
            name: row_bins == number
            for number, name in enumerate(_BINS)
            if (row_bins == number).any()
        },
        "domain": {
            name: values_by_column["domain"] == number
            for name, number in system_rows.domains.items()
        },
        "language": {
            name: values_by_column["language"] == number
            for name, number in system_rows.languages.items()
        },
    }


def _group_order(item: tuple[str, NDArray[np.bool_]]) -> tuple[int, str]:
    """Returns the sort key of a group: bins from simple to complex, all others by name."""
    name = item[0]
    return (_BINS.index(name) if name in _BINS else 0), name


def build_breakdowns(
    parts: Mapping[Key, RunPart],
    sums: Sequence[Floats],
    scores: Floats,
    *,
    confidence: float,
    repeated: bool,
    left_out: int,
) -> dict[Dimension, Breakdown]:
    """Computes the metrics of every group of every dimension.

    Args:
        parts: one part per group.
        sums: their resampled sums, in the same order.
        scores: each sample's partial F1 for the box plots, nan if undefined; shape (samples,).
        confidence: nominal coverage of intervals.
        repeated: whether samples have several repeats.
        left_out: number of field names that are not shown.
    """
    groups_by_dimension: dict[Dimension, dict[str, Group]] = {
        dimension: {} for dimension in (*map(_to_dimension, FIELD_DIMENSIONS), *SAMPLE_DIMENSIONS)
    }
    for ((dimension, key), part), resampled in zip(parts.items(), sums, strict=True):
        counts = part.with_sums(resampled)
        by_sample = dimension in SAMPLE_DIMENSIONS
        names = SAMPLE_COLUMNS if by_sample else _FIELD_COLUMNS
        metrics: tuple[RatioMetric, ...] = _SAMPLE_METRICS if by_sample else FIELD_METRICS["micro"]
        totals = dict(zip(names, counts.totals.tolist(), strict=True))
        positions = part.positions
        groups_by_dimension[dimension][key] = Group(
            samples=len(counts.per_cluster),
            expected=round(totals["expected"]),
            predicted=round(totals["predicted"]),
            metrics=compute_estimates(
                metrics, names, counts, confidence=confidence, repeated=repeated
            ),
            box=compute_box_plot(scores if positions is None else scores[positions])
            if by_sample
            else None,
        )
    return {
        dimension: Breakdown(groups=groups, left_out=left_out if dimension == "name" else 0)
        for dimension, groups in groups_by_dimension.items()
    }


def _to_dimension(name: str) -> Dimension:
    dimension: Dimension = next(candidate for candidate in get_args(Dimension) if candidate == name)
    return dimension
