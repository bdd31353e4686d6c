"""Computes to what extent the repeats of a sample agree.

Two outputs are identical if they have the same content: order of keys, nulls, empty arrays and
empty objects are ignored. A reply that is not JSON counts as a repeat that agrees with no other; a
failed call is not counted. A field is a scalar or an array of scalars, identified by its path.

Source: the benchmark's specification, 4.4.7.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
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

_MAX_FIELDS = 20_000
"""Maximum number of fields of an output that are compared."""
_NUMBER_TYPES = (int, float)
_MIN_HEX_INTEGER = 2**63
"""Integers from this size on are hashed as hexadecimal text."""
_MAX_NUMBER = 1e150
"""Larger numbers have no standard deviation, because their squares overflow."""


class OutputHashes:
    """Hashes of outputs and of their fields, which suffice to test them for equality.

    The ``_reply_…`` arrays have one entry per reply, the ``_field_…`` arrays one per field of a
    reply; ``_field_replies`` has the number of the field's reply.
    """

    def __init__(self) -> None:
        self._reply_samples = array("i")
        self._reply_is_json = array("b")
        self._reply_hashes = array("Q")
        self._field_replies = array("i")
        self._field_paths = array("Q")
        self._field_values = array("Q")
        self._field_numbers = array("d")

    def add_reply(self, sample: int, predicted: Any, *, parsed: bool) -> None:
        """Adds one reply.

        Args:
            sample: position of its sample.
            predicted: the extracted JSON.
            parsed: whether the reply was JSON; if not, ``predicted`` is ignored.
        """
        reply = len(self._reply_samples)
        fields: list[tuple[int, int]] = []
        for path, value in _iter_fields(predicted) if parsed else ():
            path_hash, value_hash = _hash_json(path), _hash_json(value)
            fields.append((path_hash, value_hash))
            self._field_replies.append(reply)
            self._field_paths.append(path_hash)
            self._field_values.append(value_hash)
            self._field_numbers.append(_to_float(value))
        self._reply_samples.append(sample)
        self._reply_is_json.append(parsed)
        self._reply_hashes.append(_hash_json(sorted(fields)))

    def compute_per_sample(self, n_samples: int) -> Floats:
        """Computes each sample's ``CONSISTENCY_COLUMNS``, nan if undefined.

        Args:
            n_samples: number of samples.

        Returns:
            Shape (samples, 4).
        """
        reply_samples = np.array(self._reply_samples, dtype=np.int64)
        parsed = np.array(self._reply_is_json, dtype=bool)
        n_replies = np.bincount(reply_samples, minlength=n_samples).astype(np.float64)
        metrics = np.full((n_samples, len(CONSISTENCY_COLUMNS)), np.nan)
        has_repeats = n_replies > 1
        if not has_repeats.any():
            return metrics
        metrics[:, 0] = _compute_modal_share(
            reply_samples[parsed], np.array(self._reply_hashes, dtype=np.uint64)[parsed], n_replies
        )
        metrics[:, 1] = self._compute_field_agreement(reply_samples, parsed, n_replies)
        metrics[:, 2:] = self._compute_dispersion(reply_samples, n_samples)
        metrics[~has_repeats] = np.nan
        return metrics

    def _compute_field_agreement(
        self, reply_samples: NDArray[np.int64], parsed: NDArray[np.bool_], n_replies: Floats
    ) -> Floats:
        """Computes the share of pairs of repeats that agree, as the mean over a sample's fields.

        Returns:
            Shape (samples,).
        """
        n_parsed = np.bincount(reply_samples[parsed], minlength=len(n_replies)).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            # For samples without any field: outputs are equal if both are JSON.
            without_fields = _count_pairs(n_parsed) / _count_pairs(n_replies)
        if not self._field_replies:
            return without_fields
        field_samples = reply_samples[np.array(self._field_replies, dtype=np.int64)]
        keys = np.column_stack(
            [
                field_samples.astype(np.uint64),
                np.array(self._field_paths, dtype=np.uint64),
                np.array(self._field_values, dtype=np.uint64),
            ]
        )
        unique_keys, counts = np.unique(keys, axis=0, return_counts=True)
        fields, field_number = np.unique(unique_keys[:, :2], axis=0, return_inverse=True)
        field_number = field_number.ravel()  # numpy 2.0 gave it a second axis
        n_equal_pairs = np.bincount(field_number, weights=_count_pairs(counts.astype(np.float64)))
        n_present = np.bincount(field_number, weights=counts)
        sample = fields[:, 0].astype(np.int64)
        # Two repeats without the field agree on it, too.
        n_agreeing_pairs = n_equal_pairs + _count_pairs(n_parsed[sample] - n_present)
        shares = n_agreeing_pairs / np.maximum(_count_pairs(n_replies[sample]), 1)
        count = np.bincount(sample, minlength=len(n_replies))
        total = np.bincount(sample, weights=shares, minlength=len(n_replies))
        return np.where(count > 0, total / np.maximum(count, 1), without_fields)

    def _compute_dispersion(self, reply_samples: NDArray[np.int64], n_samples: int) -> Floats:
        """Computes standard deviation and coefficient of variation of the numeric fields.

        Returns:
            The means over a sample's fields, shape (samples, 2); nan if no numeric field of the
            sample occurs in two replies.
        """
        means_by_sample = np.full((n_samples, 2), np.nan)
        all_numbers = np.array(self._field_numbers)
        order = np.flatnonzero(np.abs(all_numbers) < _MAX_NUMBER)
        # Sorted by value, so that floating-point sums do not depend on the order of the repeats.
        order = order[np.argsort(all_numbers[order], kind="stable")]
        if not order.size:
            return means_by_sample
        field_samples = reply_samples[np.array(self._field_replies, dtype=np.int64)[order]]
        path = np.array(self._field_paths, dtype=np.uint64)[order]
        keys = np.column_stack([field_samples.astype(np.uint64), path])
        fields, field_number, counts = np.unique(
            keys, axis=0, return_inverse=True, return_counts=True
        )
        field_number = field_number.ravel()  # numpy 2.0 gave it a second axis
        values = all_numbers[order]
        mean = np.bincount(field_number, weights=values) / counts
        deviation = np.sqrt(
            np.bincount(field_number, weights=(values - mean[field_number]) ** 2) / counts
        )
        sample = fields[:, 0].astype(np.int64)
        with np.errstate(invalid="ignore", divide="ignore"):
            variation = deviation / np.abs(mean)
        for column, (dispersion, is_defined) in enumerate(
            ((deviation, counts > 1), (variation, (counts > 1) & (mean != 0)))
        ):
            n_fields = np.bincount(sample[is_defined], minlength=n_samples)
            total = np.bincount(
                sample[is_defined], weights=dispersion[is_defined], minlength=n_samples
            )
            means_by_sample[:, column] = np.where(
                n_fields > 0, total / np.maximum(n_fields, 1), np.nan
            )
        return means_by_sample


def _compute_modal_share(
    sample: NDArray[np.int64], output: NDArray[np.uint64], n_replies: Floats
) -> Floats:
    """Computes the share of a sample's repeats with its most frequent output, shape (samples,)."""
    max_counts = np.zeros(len(n_replies))
    if sample.size:
        keys = np.column_stack([sample.astype(np.uint64), output])
        unique_keys, counts = np.unique(keys, axis=0, return_counts=True)
        np.maximum.at(max_counts, unique_keys[:, 0].astype(np.int64), counts)
    return max_counts / np.maximum(n_replies, 1)


def _count_pairs(count: Floats) -> Floats:
    pairs: Floats = count * (count - 1) / 2
    return pairs


def _iter_fields(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yields the fields of a JSON value with their paths; nulls and empty containers are skipped.

    Uses an explicit stack, since replies may be nested deeper than Python's recursion limit.
    """
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    n_fields = 0
    while pending and n_fields < _MAX_FIELDS:
        path, node = pending.pop()
        if isinstance(node, dict):
            pending.extend(((*path, str(key)), child) for key, child in node.items())
        elif isinstance(node, list) and any(isinstance(child, dict | list) for child in node):
            pending.extend(((*path, index), child) for index, child in enumerate(node))
        elif node is not None and node != []:
            n_fields += 1
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
    # Hexadecimal, because Python refuses to format integers of thousands of digits as decimals. The
    # prefix NUL distinguishes the number from a string with the same digits.
    return f"\0{value:x}" if isinstance(value, int) and abs(value) >= _MIN_HEX_INTEGER else value
