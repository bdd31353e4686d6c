"""How far the repeats of one sample agree, where each is put to a system more than once.

Two outputs are identical if they state the same: order of keys, nulls, empty arrays and objects
make no difference. A reply that is no JSON is a run like any other, and agrees with none; a call
that failed is no run. A field is a scalar or an array of scalars, at its place in the output.

Source: the benchmark's specification, 4.4.7.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.stats.intervals import Floats

COLUMNS = (
    "exact_match_consistency",
    "field_level_consistency",
    "value_variance",
    "value_variation",
)

_LEAVES_AT_MOST = 20_000
_NUMBERS = (int, float)
_LARGE = 2**63
_MEASURABLE = 1e150
"""Numbers beyond this have no deviation: their squares are infinite."""


class Prints:
    """Hashes of outputs and of their fields, enough to tell whether they are equal."""

    def __init__(self) -> None:
        self._run_sample = array("i")
        self._run_parsed = array("b")
        self._run_output = array("Q")
        self._leaf_run = array("i")
        self._leaf_path = array("Q")
        self._leaf_value = array("Q")
        self._leaf_number = array("d")

    def add(self, sample: int, predicted: Any, *, parsed: bool) -> None:
        """Takes one run in.

        Args:
            sample: place of its sample.
            predicted: what came, as JSON.
            parsed: whether the reply was JSON; if not, ``predicted`` is not looked at.
        """
        run = len(self._run_sample)
        whole: list[tuple[int, int]] = []
        for path, value in _leaves(predicted) if parsed else ():
            key, said = _hash(path), _hash(value)
            whole.append((key, said))
            self._leaf_run.append(run)
            self._leaf_path.append(key)
            self._leaf_value.append(said)
            self._leaf_number.append(_number(value))
        self._run_sample.append(sample)
        self._run_parsed.append(parsed)
        self._run_output.append(_hash(sorted(whole)))

    def merge(self, other: Prints, samples: Sequence[int]) -> None:
        """Takes in all runs of another.

        Args:
            other: from where.
            samples: place here of each of its samples.
        """
        first = len(self._run_sample)
        self._run_sample.extend(samples[place] for place in other._run_sample)
        self._run_parsed.extend(other._run_parsed)
        self._run_output.extend(other._run_output)
        self._leaf_run.extend(first + run for run in other._leaf_run)
        self._leaf_path.extend(other._leaf_path)
        self._leaf_value.extend(other._leaf_value)
        self._leaf_number.extend(other._leaf_number)

    def per_sample(self, samples: int) -> Floats:
        """Each sample's ``COLUMNS``, nan where there is none.

        Args:
            samples: how many there are.

        Returns:
            Shape (samples, 4).
        """
        of_run = np.array(self._run_sample, dtype=np.int64)
        parsed = np.array(self._run_parsed, dtype=bool)
        runs = np.bincount(of_run, minlength=samples).astype(np.float64)
        found = np.full((samples, len(COLUMNS)), np.nan)
        twice = runs > 1
        if not twice.any():
            return found
        found[:, 0] = _modal(
            of_run[parsed], np.array(self._run_output, dtype=np.uint64)[parsed], runs
        )
        found[:, 1] = self._agreement(of_run, parsed, runs)
        found[:, 2:] = self._spread(of_run, samples)
        found[~twice] = np.nan
        return found

    def _agreement(
        self, of_run: NDArray[np.int64], parsed: NDArray[np.bool_], runs: Floats
    ) -> Floats:
        """Mean over its fields of the share of pairs of runs that agree, shape (samples,)."""
        able = np.bincount(of_run[parsed], minlength=len(runs)).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            # Without any field, the runs that are JSON all state the same: nothing.
            nothing = _pairs(able) / _pairs(runs)
        if not self._leaf_run:
            return nothing
        sample = of_run[np.array(self._leaf_run, dtype=np.int64)]
        keys = np.column_stack(
            [
                sample.astype(np.uint64),
                np.array(self._leaf_path, dtype=np.uint64),
                np.array(self._leaf_value, dtype=np.uint64),
            ]
        )
        said, times = np.unique(keys, axis=0, return_counts=True)
        fields, field = np.unique(said[:, :2], axis=0, return_inverse=True)
        field = field.ravel()  # numpy 2.0 gave it a second axis
        agreeing = np.bincount(field, weights=_pairs(times.astype(np.float64)))
        stated = np.bincount(field, weights=times)
        owner = fields[:, 0].astype(np.int64)
        shares = (agreeing + _pairs(able[owner] - stated)) / np.maximum(_pairs(runs[owner]), 1)
        count = np.bincount(owner, minlength=len(runs))
        total = np.bincount(owner, weights=shares, minlength=len(runs))
        return np.where(count > 0, total / np.maximum(count, 1), nothing)

    def _spread(self, of_run: NDArray[np.int64], samples: int) -> Floats:
        """Mean deviation of a sample's numeric fields, and over their size; shape (samples, 2)."""
        found = np.full((samples, 2), np.nan)
        number = np.array(self._leaf_number)
        numeric = np.flatnonzero(np.abs(number) < _MEASURABLE)
        # In order of size, so that a sum does not depend on the order of the runs.
        numeric = numeric[np.argsort(number[numeric], kind="stable")]
        if not numeric.size:
            return found
        sample = of_run[np.array(self._leaf_run, dtype=np.int64)[numeric]]
        path = np.array(self._leaf_path, dtype=np.uint64)[numeric]
        keys = np.column_stack([sample.astype(np.uint64), path])
        fields, field, times = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        field = field.ravel()  # numpy 2.0 gave it a second axis
        values = number[numeric]
        mean = np.bincount(field, weights=values) / times
        deviation = np.sqrt(np.bincount(field, weights=(values - mean[field]) ** 2) / times)
        owner = fields[:, 0].astype(np.int64)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = deviation / np.abs(mean)
        for column, (worth, known) in enumerate(
            ((deviation, times > 1), (relative, (times > 1) & (mean != 0)))
        ):
            count = np.bincount(owner[known], minlength=samples)
            total = np.bincount(owner[known], weights=worth[known], minlength=samples)
            found[:, column] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return found


def _modal(sample: NDArray[np.int64], output: NDArray[np.uint64], runs: Floats) -> Floats:
    """Share of each sample's runs that gave its most frequent output, shape (samples,)."""
    best = np.zeros(len(runs))
    if sample.size:
        keys = np.column_stack([sample.astype(np.uint64), output])
        said, times = np.unique(keys, axis=0, return_counts=True)
        np.maximum.at(best, said[:, 0].astype(np.int64), times)
    return best / np.maximum(runs, 1)


def _pairs(count: Floats) -> Floats:
    pairs: Floats = count * (count - 1) / 2
    return pairs


def _leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Fields of a JSON value with their places; what states nothing is left out."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    found = 0
    while waiting and found < _LEAVES_AT_MOST:
        path, one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(((*path, str(key)), inner) for key, inner in one.items())
        elif isinstance(one, list) and any(isinstance(inner, dict | list) for inner in one):
            waiting.extend(((*path, place), inner) for place, inner in enumerate(one))
        elif one is not None and one != []:
            found += 1
            yield path, one


def _number(value: Any) -> float:
    if not isinstance(value, _NUMBERS) or isinstance(value, bool):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _hash(value: Any) -> int:
    """64 bits of a JSON value: alike for 1 and 1.0, unlike for 1, true and "1"."""
    text = json.dumps(_plain(value), sort_keys=True)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _plain(value: Any) -> Any:
    """The value with whole floats as integers, and with integers that can be written."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # Python refuses to write integers of thousands of digits in decimals; no text holds a NUL.
    return f"\0{value:x}" if isinstance(value, int) and abs(value) >= _LARGE else value
