"""Converts samples to the rows of a file, and hashes a set of samples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from eval.extraction.samples.sample import Sample


def sample_to_row(sample: Sample) -> dict[str, object]:
    """Converts a sample to a row with the keys that ``sample_from_row`` reads."""
    row = msgspec.structs.asdict(sample)
    row["expected_output"] = row.pop("expected")
    return row


def hash_samples(samples: Iterable[Sample]) -> str:
    """Returns the SHA-256 of all samples in their order, in hexadecimal."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(msgspec.json.encode(sample))
        digest.update(b"\n")
    return digest.hexdigest()
