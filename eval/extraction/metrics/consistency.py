"""Computes how far the repeats of a sample agree.

Two outputs are identical if they have the same content: order of keys, nulls, empty arrays and
empty objects are ignored. A reply that is not JSON counts as a repeat that agrees with no other; a
failed call does not count. A field is a scalar or an array of scalars at its path in the output.

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

from eval.stats.bootstrap import Floats

CONSISTENCY_COLUMNS = (
    "exact_match_consistency",
    "field_level_consistency",
    "value_variance",
    "value_variation",
)

_MAX_LEAVES = 20_000
_NUMBER_TYPES = (int, float)
_MIN_HEX_INTEGER = 2**63
_MAX_NUMBER = 1e150
"""Larger numbers have no standard deviation, because their squares overflow."""


class OutputHashes:
    """Hashes of outputs and of their fields, which suffice to test them for equality."""

    def __init__(self) -> None:
        self._run_sample = array("i")
        self._run_parsed = array("b")
        self._run_output = array("Q")
        self._leaf_run = array("i")
        self._leaf_path = array("Q")
        self._leaf_value = array("Q")
        self._leaf_number = array("d")

    def add_reply(self, sample: int, predicted: Any, *, parsed: bool) -> None:
        """Adds one reply.

        Args:
            sample: position of its sample.
            predicted: the extracted JSON.
            parsed: whether the reply was JSON; if not, ``predicted`` is ignored.
        """
        run = len(self._run_sample)
        leaves: list[tuple[int, int]] = []
        for path, value in _iter_leaves(predicted) if parsed else ():
            key, content = _hash_json(path), _hash_json(value)
            leaves.append((key, content))
            self._leaf_run.append(run)
            self._leaf_path.append(key)
            self._leaf_value.append(content)
            self._leaf_number.append(_to_float(value))
        self._run_sample.append(sample)
        self._run_parsed.append(parsed)
        self._run_output.append(_hash_json(sorted(leaves)))

    def merge_replies(self, other: OutputHashes, samples: Sequence[int]) -> None:
        """Adds all replies of another object.

        Args:
            other: the other object.
            samples: position in this object of each sample of ``other``.
        """
        first = len(self._run_sample)
        self._run_sample.extend(samples[place] for place in other._run_sample)
        self._run_parsed.extend(other._run_parsed)
        self._run_output.extend(other._run_output)
        self._leaf_run.extend(first + run for run in other._leaf_run)
        self._leaf_path.extend(other._leaf_path)
        self._leaf_value.extend(other._leaf_value)
        self._leaf_number.extend(other._leaf_number)

    def compute_per_sample(self, n_samples: int) -> Floats:
        """Computes each sample's ``CONSISTENCY_COLUMNS``, nan if undefined.

        Args:
            n_samples: number of samples.

        Returns:
            Shape (samples, 4).
        """
        of_run = np.array(self._run_sample, dtype=np.int64)
        parsed = np.array(self._run_parsed, dtype=bool)
        runs = np.bincount(of_run, minlength=n_samples).astype(np.float64)
        sums = np.full((n_samples, len(CONSISTENCY_COLUMNS)), np.nan)
        twice = runs > 1
        if not twice.any():
            return sums
        sums[:, 0] = _modal_share(
            of_run[parsed], np.array(self._run_output, dtype=np.uint64)[parsed], runs
        )
        sums[:, 1] = self._field_agreement(of_run, parsed, runs)
        sums[:, 2:] = self._numeric_dispersion(of_run, n_samples)
        sums[~twice] = np.nan
        return sums

    def _field_agreement(
        self, run_sample: NDArray[np.int64], parsed: NDArray[np.bool_], runs: Floats
    ) -> Floats:
        """Mean over its fields of the share of pairs of repeats that agree, shape (samples,)."""
        n_parsed = np.bincount(run_sample[parsed], minlength=len(runs)).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            # Outputs without any field are all equal, provided that they are JSON.
            without_fields = _count_pairs(n_parsed) / _count_pairs(runs)
        if not self._leaf_run:
            return without_fields
        sample = run_sample[np.array(self._leaf_run, dtype=np.int64)]
        keys = np.column_stack(
            [
                sample.astype(np.uint64),
                np.array(self._leaf_path, dtype=np.uint64),
                np.array(self._leaf_value, dtype=np.uint64),
            ]
        )
        distinct, times = np.unique(keys, axis=0, return_counts=True)
        fields, field = np.unique(distinct[:, :2], axis=0, return_inverse=True)
        field = field.ravel()  # numpy 2.0 gave it a second axis
        agreeing = np.bincount(field, weights=_count_pairs(times.astype(np.float64)))
        n_present = np.bincount(field, weights=times)
        owner = fields[:, 0].astype(np.int64)
        # Repeats that both lack the field agree on it, too.
        n_agreeing = agreeing + _count_pairs(n_parsed[owner] - n_present)
        shares = n_agreeing / np.maximum(_count_pairs(runs[owner]), 1)
        count = np.bincount(owner, minlength=len(runs))
        total = np.bincount(owner, weights=shares, minlength=len(runs))
        return np.where(count > 0, total / np.maximum(count, 1), without_fields)

    def _numeric_dispersion(self, run_sample: NDArray[np.int64], n_samples: int) -> Floats:
        """Mean standard deviation and coefficient of variation of a sample's numeric fields.

        Returns:
            Shape (samples, 2), nan if a sample has no such field in two replies.
        """
        sums = np.full((n_samples, 2), np.nan)
        number = np.array(self._leaf_number)
        numeric = np.flatnonzero(np.abs(number) < _MAX_NUMBER)
        # Sorted by value, so that floating-point sums do not depend on the order of the repeats.
        numeric = numeric[np.argsort(number[numeric], kind="stable")]
        if not numeric.size:
            return sums
        sample = run_sample[np.array(self._leaf_run, dtype=np.int64)[numeric]]
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
            count = np.bincount(owner[known], minlength=n_samples)
            total = np.bincount(owner[known], weights=worth[known], minlength=n_samples)
            sums[:, column] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return sums


def _modal_share(sample: NDArray[np.int64], output: NDArray[np.uint64], runs: Floats) -> Floats:
    """Share of each sample's repeats that gave its most frequent output, shape (samples,)."""
    best = np.zeros(len(runs))
    if sample.size:
        keys = np.column_stack([sample.astype(np.uint64), output])
        distinct, times = np.unique(keys, axis=0, return_counts=True)
        np.maximum.at(best, distinct[:, 0].astype(np.int64), times)
    return best / np.maximum(runs, 1)


def _count_pairs(count: Floats) -> Floats:
    pairs: Floats = count * (count - 1) / 2
    return pairs


def _iter_leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yields the fields of a JSON value with their paths; nulls and empty containers are skipped.

    Uses an explicit stack, since replies may be nested deeper than Python's recursion limit.
    """
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    n_leaves = 0
    while waiting and n_leaves < _MAX_LEAVES:
        path, node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend(((*path, str(key)), inner) for key, inner in node.items())
        elif isinstance(node, list) and any(isinstance(inner, dict | list) for inner in node):
            waiting.extend(((*path, place), inner) for place, inner in enumerate(node))
        elif node is not None and node != []:
            n_leaves += 1
            yield path, node


def _to_float(value: Any) -> float:
    if not isinstance(value, _NUMBER_TYPES) or isinstance(value, bool):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _hash_json(value: Any) -> int:
    """Hashes a JSON value to 64 bits: equal for 1 and 1.0, different for 1, true and "1"."""
    text = json.dumps(_normalise_json(value), sort_keys=True)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _normalise_json(value: Any) -> Any:
    """Converts whole floats to integers, and huge integers to hexadecimal text."""
    if isinstance(value, list | tuple):
        return [_normalise_json(element) for element in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # Python refuses to format integers of thousands of digits as decimals. The NUL prefix prevents
    # a clash with a string of the same digits, since no string in a reply contains NUL.
    return f"\0{value:x}" if isinstance(value, int) and abs(value) >= _MIN_HEX_INTEGER else value
