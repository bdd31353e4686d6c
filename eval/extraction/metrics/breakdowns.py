"""Computes metrics by field type, depth, name and requiredness, and by bin, domain and language.

The first four dimensions group fields, so a sample may occur in several groups; the last three
group samples. Every group has the field metrics (micro); groups of samples also have score,
validity and exact match.
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
_CALL_COLUMNS = ("lost_fields", "scored", "error")
_FIELD_COLUMNS = (*TALLY_COLUMNS, *_CALL_COLUMNS)
_SCORE = "extraction_quality_score"
SAMPLE_COLUMNS = (*_FIELD_COLUMNS, "ok", "match", f"{_SCORE}:sum", f"{_SCORE}:n")
_SAMPLE_METRICS = (*SAMPLE_METRICS[:3], *FIELD_METRICS["micro"])

Key = tuple[Dimension, str]


def build_field_parts(
    system_rows: SystemRows, columns: MetricColumns, max_names: int
) -> tuple[dict[Key, RunPart], int]:
    """Builds the groups of fields.

    Args:
        system_rows: the rows.
        columns: the columns of these rows.
        max_names: number of field names to keep, the most frequent ones.

    Returns:
        A part for each key, and the number of field names that are left out.
    """
    fields = system_rows.fields
    keys = list(system_rows.keys)
    parts: dict[Key, RunPart] = {}
    starts = np.argsort(fields[:, 1], kind="stable")
    ends = np.searchsorted(fields[starts, 1], np.arange(len(keys) + 1))
    shown, left_out = _select_keys(system_rows, max_names)
    for place in shown:
        chosen = fields[starts[ends[place] : ends[place + 1]]]
        dimension, key = keys[place]
        parts[_to_dimension(dimension), key] = _build_part(chosen, columns)
    return parts, left_out


def _select_keys(system_rows: SystemRows, max_names: int) -> tuple[list[int], int]:
    """Selects the positions of the keys to show, by dimension and key; names by frequency."""
    fields = system_rows.fields
    keys = list(system_rows.keys)
    occur = (
        fields[:, 2 + TALLY_COLUMNS.index("expected")]
        + fields[:, 2 + TALLY_COLUMNS.index("spurious")]
    )
    times = np.bincount(fields[:, 1], weights=occur, minlength=len(keys))
    selected: list[int] = []
    left_out = 0
    for dimension in FIELD_DIMENSIONS:
        positions = [
            place for place, (key_dimension, _) in enumerate(keys) if key_dimension == dimension
        ]
        if dimension == "name":
            positions.sort(key=lambda place: (-times[place], keys[place][1]))
            left_out = max(0, len(positions) - max_names)
            del positions[max_names:]
        else:
            positions.sort(key=lambda place: keys[place][1])
        selected += positions
    return selected, left_out


def _build_part(fields: NDArray[np.int32], columns: MetricColumns) -> RunPart:
    """Sums the field counts of one key by sample."""
    row = fields[:, 0]
    scored = columns.scored[row]
    tallies = void_rows(fields[:, 2:].astype(np.float64), columns.voided[row])
    lost = np.where(scored, 0.0, tallies[:, TALLY_COLUMNS.index("expected")])
    tallies[~scored] = 0.0
    is_scored = scored.astype(np.float64)
    # Exact in single precision: no reply is long enough to have 2**24 fields.
    table = np.column_stack([tallies, lost, is_scored, 1 - is_scored]).astype(np.float32)
    places, owner = np.unique(columns.sample[row], return_inverse=True)
    if len(places) == len(row):
        # Usual case: one row per sample, so nothing to sum, only to reorder.
        return RunPart(places, table[np.argsort(owner)])
    summed = np.zeros((len(places), table.shape[1]), dtype=np.float32)
    np.add.at(summed, owner, table)
    return RunPart(places, summed)


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
    chosen = table[:, [names.index(name) for name in SAMPLE_COLUMNS]]
    parts: dict[Key, RunPart] = {}
    for dimension, keys in _group_samples(system_rows).items():
        for key, rows in sorted(keys.items(), key=_group_order):
            places = np.unique(sample[rows])
            parts[dimension, key] = RunPart(places, chosen[places])
    return parts


def _group_samples(system_rows: SystemRows) -> dict[Dimension, dict[str, NDArray[np.bool_]]]:
    integers = system_rows.integers
    of = {
        name: integers[:, INTEGER_COLUMNS.index(name)] for name in ("schema", "domain", "language")
    }
    bins = np.array(
        [_BINS.index(complexity.bin) for complexity in system_rows.complexities], dtype=np.int64
    )
    binned = bins[of["schema"]] if len(bins) else of["schema"]
    return {
        "complexity": {
            name: binned == place for place, name in enumerate(_BINS) if (binned == place).any()
        },
        "domain": {name: of["domain"] == place for name, place in system_rows.domains.items()},
        "language": {
            name: of["language"] == place for name, place in system_rows.languages.items()
        },
    }


def _group_order(item: tuple[str, NDArray[np.bool_]]) -> tuple[int, str]:
    """Sort key of groups: bins from simple to complex, all others by name."""
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
        scores: each sample's partial F1, nan if undefined; shape (samples,).
        confidence: nominal coverage of intervals.
        repeated: whether samples have several repeats.
        left_out: number of field names that are not shown.
    """
    every: dict[Dimension, dict[str, Group]] = {
        dimension: {} for dimension in (*map(_to_dimension, FIELD_DIMENSIONS), *SAMPLE_DIMENSIONS)
    }
    for ((dimension, key), part), resampled in zip(parts.items(), sums, strict=True):
        data = part.with_sums(resampled)
        by_sample = dimension in SAMPLE_DIMENSIONS
        names = SAMPLE_COLUMNS if by_sample else _FIELD_COLUMNS
        measures: tuple[RatioMetric, ...] = _SAMPLE_METRICS if by_sample else FIELD_METRICS["micro"]
        totals = dict(zip(names, data.totals.tolist(), strict=True))
        places = part.positions
        every[dimension][key] = Group(
            samples=len(data.per_cluster),
            expected=round(totals["expected"]),
            predicted=round(totals["predicted"]),
            metrics=compute_estimates(
                measures, names, data, confidence=confidence, repeated=repeated
            ),
            box=compute_box_plot(scores if places is None else scores[places])
            if by_sample
            else None,
        )
    return {
        dimension: Breakdown(groups=groups, left_out=left_out if dimension == "name" else 0)
        for dimension, groups in every.items()
    }


def _to_dimension(name: str) -> Dimension:
    found: Dimension = next(candidate for candidate in get_args(Dimension) if candidate == name)
    return found
