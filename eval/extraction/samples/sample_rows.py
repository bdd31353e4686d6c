"""Converts samples to the rows of a run's sample file and back, and hashes a set of samples."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from eval.extraction.samples.sample import MARKS, RowError, Sample, sample_from_row
from kg.base.errors import RecordError
from kg.base.files import iter_json_lines


def sample_to_row(sample: Sample) -> dict[str, object]:
    """Converts a sample to a row with the keys that ``sample_from_row`` reads."""
    row = msgspec.structs.asdict(sample)
    row["expected_output"] = row.pop("expected")
    return row


def read_samples(path: Path, ids: Collection[str] | None = None) -> Iterator[Sample]:
    """Yields samples from a run's sample file, in the order of the file.

    Args:
        path: the file.
        ids: ids of the samples; None for all.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged; the message names
            file and line.
    """
    for number, row in iter_json_lines(path, "sample file"):
        if ids is not None and str(row.get("id")) not in ids:
            continue
        try:
            # A run has samples with a mark only if it was made to keep them.
            meta = row.get("meta")
            keep = isinstance(meta, dict) and MARKS in meta
            yield sample_from_row(row, str(number), formats=False, keep=keep)
        except RowError as error:
            raise RecordError(
                f"not a sample: {error}",
                where=f"{path}:{number}",
                hint="`epoche extract run` writes this file; give the same command again.",
            ) from error


def hash_samples(samples: Iterable[Sample]) -> str:
    """Returns the SHA-256 of all samples in their order, in hexadecimal."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(msgspec.json.encode(sample))
        digest.update(b"\n")
    return digest.hexdigest()
