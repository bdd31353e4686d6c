"""The parts of a run that are measured apart: types, depths, names, required; bins, domains.

The first four divide fields, so that a sample may be in many of them; the last three divide
samples. Every part has the metrics of fields, micro; those of samples have the score, validity and
exact match besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from eval.extraction.measuring.columns import Columns, voided
from eval.extraction.measuring.distributions import box
from eval.extraction.measuring.gathering import FIELD_DIMENSIONS, TALLY, WHOLE, Gathered
from eval.extraction.measuring.measures import OF_FIELDS, OF_SAMPLES
from eval.extraction.measuring.resampling import Part
from eval.extraction.record import Breakdown, Dimension, Group
from eval.extraction.schemas.complexity import Bin
from eval.stats.intervals import Floats
from eval.stats.measured import Measure, values

SAMPLE_DIMENSIONS: tuple[Dimension, ...] = ("complexity", "domain", "language")

_BINS: tuple[str, ...] = get_args(Bin)
_LOST = ("lost_fields", "scored", "error")
_FIELD_COLUMNS = (*TALLY, *_LOST)
_SCORE = "extraction_quality_score"
SAMPLE_COLUMNS = (*_FIELD_COLUMNS, "ok", "match", f"{_SCORE}:sum", f"{_SCORE}:n")
_SAMPLE_MEASURES = (*OF_SAMPLES[:3], *OF_FIELDS["micro"])

Key = tuple[Dimension, str]


def field_parts(gathered: Gathered, columns: Columns, names: int) -> tuple[dict[Key, Part], int]:
    """The parts that divide fields.

    Args:
        gathered: the rows.
        columns: the rows' samples and what they are worth.
        names: how many names of fields to show, the most frequent ones.

    Returns:
        A part for each key, and how many names are left out.
    """
    fields = gathered.fields
    keys = list(gathered.keys)
    found: dict[Key, Part] = {}
    starts = np.argsort(fields[:, 1], kind="stable")
    ends = np.searchsorted(fields[starts, 1], np.arange(len(keys) + 1))
    shown, left_out = _shown(gathered, names)
    for place in shown:
        chosen = fields[starts[ends[place] : ends[place + 1]]]
        dimension, key = keys[place]
        found[_dimension(dimension), key] = _part(chosen, columns)
    return found, left_out


def _shown(gathered: Gathered, names: int) -> tuple[list[int], int]:
    """Places of the keys to show, in order of dimension and key; names by how often they occur."""
    fields = gathered.fields
    keys = list(gathered.keys)
    occur = fields[:, 2 + TALLY.index("expected")] + fields[:, 2 + TALLY.index("spurious")]
    times = np.bincount(fields[:, 1], weights=occur, minlength=len(keys))
    found: list[int] = []
    left_out = 0
    for dimension in FIELD_DIMENSIONS:
        of_it = [place for place, (one, _) in enumerate(keys) if one == dimension]
        if dimension == "name":
            of_it.sort(key=lambda place: (-times[place], keys[place][1]))
            left_out = max(0, len(of_it) - names)
            del of_it[names:]
        else:
            of_it.sort(key=lambda place: keys[place][1])
        found += of_it
    return found, left_out


def _part(fields: NDArray[np.int32], columns: Columns) -> Part:
    """What some rows' fields of one key add up to by sample."""
    row = fields[:, 0]
    scored = columns.scored[row]
    tallies = voided(fields[:, 2:].astype(np.float64), columns.void[row])
    lost = np.where(scored, 0.0, tallies[:, TALLY.index("expected")])
    tallies[~scored] = 0.0
    is_scored = scored.astype(np.float64)
    # Exact in single precision: no reply is so long that it holds 2**24 fields.
    table = np.column_stack([tallies, lost, is_scored, 1 - is_scored]).astype(np.float32)
    places, owner = np.unique(columns.sample[row], return_inverse=True)
    if len(places) == len(row):
        # Mostly each sample was put once: then it is only a matter of order.
        return Part(places, table[np.argsort(owner)])
    summed = np.zeros((len(places), table.shape[1]), dtype=np.float32)
    np.add.at(summed, owner, table)
    return Part(places, summed)


def sample_parts(
    gathered: Gathered, table: Floats, names: Sequence[str], sample: NDArray[np.int64]
) -> dict[Key, Part]:
    """The parts that divide samples.

    Args:
        gathered: the rows.
        table: sums of each sample, shape (samples, columns).
        names: what its columns hold.
        sample: place of each row's sample, shape (rows,).
    """
    chosen = table[:, [names.index(name) for name in SAMPLE_COLUMNS]]
    found: dict[Key, Part] = {}
    for dimension, keys in _groups(gathered).items():
        for key, rows in sorted(keys.items(), key=_in_order):
            places = np.unique(sample[rows])
            found[dimension, key] = Part(places, chosen[places])
    return found


def _groups(gathered: Gathered) -> dict[Dimension, dict[str, NDArray[np.bool_]]]:
    whole = gathered.whole
    of = {name: whole[:, WHOLE.index(name)] for name in ("schema", "domain", "language")}
    bins = np.array([_BINS.index(one.bin) for one in gathered.complexities], dtype=np.int64)
    binned = bins[of["schema"]] if len(bins) else of["schema"]
    return {
        "complexity": {
            name: binned == place for place, name in enumerate(_BINS) if (binned == place).any()
        },
        "domain": {name: of["domain"] == place for name, place in gathered.domains.items()},
        "language": {name: of["language"] == place for name, place in gathered.languages.items()},
    }


def _in_order(item: tuple[str, NDArray[np.bool_]]) -> tuple[int, str]:
    """Bins from simple to complex, all else by name."""
    name = item[0]
    return (_BINS.index(name) if name in _BINS else 0), name


def breakdowns(
    found: Mapping[Key, Part],
    sums: Sequence[Floats],
    scores: Floats,
    *,
    confidence: float,
    repeated: bool,
    left_out: int,
) -> dict[Dimension, Breakdown]:
    """Every dimension's numbers.

    Args:
        found: the parts.
        sums: their resampled sums, in the same order.
        scores: each sample's partial F1, nan where it has none; shape (samples,).
        confidence: coverage that intervals aim at.
        repeated: whether samples were put more than once.
        left_out: names of fields that are not shown.
    """
    every: dict[Dimension, dict[str, Group]] = {
        one: {} for one in (*map(_dimension, FIELD_DIMENSIONS), *SAMPLE_DIMENSIONS)
    }
    for ((dimension, key), part), resampled in zip(found.items(), sums, strict=True):
        data = part.with_sums(resampled)
        by_sample = dimension in SAMPLE_DIMENSIONS
        names = SAMPLE_COLUMNS if by_sample else _FIELD_COLUMNS
        measures: tuple[Measure, ...] = _SAMPLE_MEASURES if by_sample else OF_FIELDS["micro"]
        totals = dict(zip(names, data.totals.tolist(), strict=True))
        places = part.places
        every[dimension][key] = Group(
            samples=len(data.per_cluster),
            expected=round(totals["expected"]),
            predicted=round(totals["predicted"]),
            metrics=values(measures, names, data, confidence=confidence, repeated=repeated),
            box=box(scores if places is None else scores[places]) if by_sample else None,
        )
    return {
        dimension: Breakdown(groups=groups, left_out=left_out if dimension == "name" else 0)
        for dimension, groups in every.items()
    }


def _dimension(name: str) -> Dimension:
    found: Dimension = next(one for one in get_args(Dimension) if one == name)
    return found
