"""Samples as the rows of a file, and the hash by which a set of them is known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from eval.extraction.samples.sample import Sample


def as_row(sample: Sample) -> dict[str, object]:
    """A sample under the keys that are read."""
    row = msgspec.structs.asdict(sample)
    row["expected_output"] = row.pop("expected")
    return row


def digest_of(samples: Iterable[Sample]) -> str:
    """SHA-256 of all samples in their order, as hexadecimal digits."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(msgspec.json.encode(sample))
        digest.update(b"\n")
    return digest.hexdigest()
