"""Reads and writes the samples: questions with their right answers, or marked as having none.

The keys are those of the published benchmark (``id``, ``category``, ``question``, ``ground_truth``,
``answerable``), with optional keys for the sources of the right answer and for notes. A file is a
JSON array of such objects, or has one object per line; it may be gzipped. The published file has
whole numbers as ids; they become texts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from eval.harness.predictions.rows import iter_rows, list_names
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.plain_text import clean_text

UNKNOWN_CATEGORY = "unknown"
"""Category of a sample that names none."""

NO_ANSWER: Final = "INSUFFICIENT_INFO"
"""What stands for the right answer to a question that has none, if the sample gives nothing."""

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


_TEXTS: Final = ("id", "question", "category", "ground_truth")
_DESCRIPTIONS: Final[dict[str, Any]] = {
    "sources": tuple[Reference, ...],
    "technologies": tuple[str, ...],
    "notes": str,
}
"""Keys from which nothing is computed; a value of another type is kept like an unknown key."""


def sample_from_json(row: Mapping[str, Any]) -> Sample:
    """Reads one sample, keeping unknown keys; null stands for a missing key.

    Raises:
        msgspec.ValidationError: a field has the wrong type.
        ValueError: a field is missing, empty or too long.
    """
    known = {key: row[key] for key in (*_TEXTS, "answerable") if row.get(key) is not None}
    known.setdefault("category", UNKNOWN_CATEGORY)
    if "id" in known:
        known["id"] = read_id(known["id"])
    if not isinstance(known.setdefault("answerable", True), bool):
        raise msgspec.ValidationError(
            f"its answerable is {_show(known['answerable'])}, not true or false"
        )
    if not known["answerable"] and known.get("ground_truth", "") == "":
        known["ground_truth"] = NO_ANSWER
    for name in _TEXTS:
        if name not in known:
            raise ValueError(f"it has no {name}")
        text = known[name]
        if not isinstance(text, str):
            raise msgspec.ValidationError(f"its {name} is {_show(text)}, not a text")
        if not text.strip():
            raise ValueError(f"its {name} is empty")
        if len(text) > _MAX_TEXT_CHARS:
            raise ValueError(f"its {name} is longer than {_MAX_TEXT_CHARS:,} characters")
    for name, kind in _DESCRIPTIONS.items():
        with contextlib.suppress(msgspec.ValidationError, KeyError):
            known[name] = msgspec.convert(row[name], kind)
    extra = {key: row[key] for key in row if key not in (*known, *_TEXTS, "answerable")}
    return Sample(**known, extra=extra)


def read_id(value: object) -> str:
    """Returns an id as a text; whole numbers, which the published files have, are written out.

    Raises:
        msgspec.ValidationError: it is neither a text nor a whole number.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise msgspec.ValidationError(
            f"its id is {_show(value)}, neither a text nor a whole number"
        )
    return value


def _show(value: object) -> str:
    return clean_text(msgspec.json.encode(value).decode(), 60)


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
    samples: list[Sample] = []
    places: dict[str, str] = {}
    for where, row in iter_rows(Path(path), "sample", "sample"):
        try:
            sample = sample_from_json(row)
        except (msgspec.ValidationError, ValueError) as error:
            hint = f"{_HINT} This one has {list_names(row)}."
            raise RecordError(f"not a valid sample: {error}", where=where, hint=hint) from error
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


_HINT = "Each needs id, question and ground_truth; docs/reference/skn.md names the other keys."
