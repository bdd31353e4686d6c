"""Reads and writes the samples: questions with their right answers, or marked as having none.

The keys are those of the published benchmark (``id``, ``category``, ``question``, ``ground_truth``,
``answerable``), with optional keys for the sources of the right answer and for notes. A file is a
JSON array of such objects, or has one object per line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import iter_json_lines, require_file

UNKNOWN_CATEGORY = "unknown"
"""Category of a sample that names none."""

_MAX_FILE_BYTES = 64 * 2**20
"""All samples are held in memory, and each needs several calls of a model."""
_MAX_TEXT_CHARS = 10_000
"""Maximum length of a question or a right answer; both are part of prompts, uncut."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """Where the right answer can be looked up."""

    title: str
    url: str


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One question."""

    id: str
    question: str
    ground_truth: str
    """The right answer; for a question without an answer, the word that stands for "none"."""
    category: str = UNKNOWN_CATEGORY
    answerable: bool = True
    sources: tuple[Reference, ...] = ()
    technologies: tuple[str, ...] = ()
    notes: str = ""
    extra: dict[str, Any] = {}
    """Unknown keys, kept as they are."""


_FIELDS = frozenset(Sample.__struct_fields__) - {"extra"}


def sample_from_json(row: dict[str, Any]) -> Sample:
    """Reads one sample, keeping unknown keys.

    Raises:
        msgspec.ValidationError: a field is missing or has the wrong type.
        ValueError: a required text is empty, or one is too long.
    """
    known = {key: value for key, value in row.items() if key in _FIELDS}
    others = {key: row[key] for key in row if key not in _FIELDS}
    sample = msgspec.convert({**known, "extra": others}, Sample)
    for name in ("id", "question", "category", "ground_truth"):
        text: str = getattr(sample, name)
        if not text.strip():
            raise ValueError(f"its {name} is empty")
        if len(text) > _MAX_TEXT_CHARS:
            raise ValueError(f"its {name} is longer than {_MAX_TEXT_CHARS:,} characters")
    return sample


def sample_to_json(sample: Sample) -> dict[str, Any]:
    """Returns the JSON object from which ``sample_from_json`` reads the same sample."""
    row: dict[str, Any] = msgspec.to_builtins(sample)
    extra = row.pop("extra")
    return {**row, **extra}


def read_samples(path: Path | str) -> list[Sample]:
    """Reads the samples of a file.

    Args:
        path: a JSON array of objects, or one object per line.

    Returns:
        At least one sample, in the order of the file.

    Raises:
        MissingFileError: no such file.
        RecordError: the file has no sample, or something that is not a sample.
        DuplicateIdError: two samples have the same id.
    """
    path = require_file(path, "sample file")
    samples: list[Sample] = []
    places: dict[str, str] = {}
    for where, row in _iter_objects(path):
        try:
            sample = sample_from_json(row)
        except (msgspec.ValidationError, ValueError) as error:
            raise RecordError(f"not a valid sample: {error}", where=where, hint=_HINT) from error
        if sample.id in places:
            raise DuplicateIdError(
                f"sample id {sample.id!r} occurs twice",
                where=where,
                hint=f"The first is at {places[sample.id]}; give each its own.",
            )
        places[sample.id] = where
        samples.append(sample)
    if not samples:
        raise RecordError("no samples", where=str(path), hint=_HINT)
    return samples


_HINT = (
    "Each needs id, question and ground_truth; docs/reference/skn-notation.md names the other keys."
)


def _iter_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the objects of a file, each with its place in words."""
    with path.open("rb") as handle:
        start = handle.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        yield from _iter_array(path)
    else:
        for number, row in iter_json_lines(path, "sample file"):
            yield f"{path}:{number}", row


def _iter_array(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise RecordError(
            f"it is larger than {_MAX_FILE_BYTES} bytes",
            where=str(path),
            hint="No set of samples is; check that it is the file you meant.",
        )
    try:
        rows = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except RecursionError as error:
        raise RecordError("JSON nested too deeply", where=str(path), hint=_HINT) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"not JSON: {error}", where=str(path), hint=_HINT) from error
    for number, row in enumerate(rows, start=1):
        where = f"{path}: sample {number}"
        if not isinstance(row, dict):
            raise RecordError("not a JSON object", where=where, hint=_HINT)
        yield where, row
