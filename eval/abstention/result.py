"""The result record: what one system answered to one card."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from cards.card import Difficulty
from eval.model.usage import Usage
from kg.base.files import iter_records
from kg.claims import Gold, Label

Pred = Literal["YES", "NO", "UNKNOWN", "INVALID", "ERROR"]
"""``INVALID``: the reply cannot be read. ``ERROR``: the call failed. Neither is an abstention."""

PREDS: tuple[Pred, ...] = ("YES", "NO", "UNKNOWN", "INVALID", "ERROR")

RAW_CLOSED_BOOK = "raw_closed_book"
"""Name of the system that asks a model the question without the card, before ``:`` and the model.
"""

PENALTY_MARK = "@t"
"""What stands in a system's name before the penalty of which its model is told."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer that a system returns for one card."""

    pred: Pred
    confidence: float | None = None
    """Probability in [0, 1] that ``pred`` is right, or null when the system gives none."""
    raw: str = ""
    """The reply before parsing; for a system without reply text, its reason in words."""
    usage: Usage | None = None
    error: str | None = None
    note: str = ""
    """A short remark on this answer, written to the row's ``note``."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a result file: a system's ``Answer`` and the card's gold answer and metadata.

    ``cards`` is the first 12 hex digits of the card set's hash. It distinguishes rows of different
    card sets even in concatenated files. ``pass`` (``pred == gold``) is ``passed`` in Python, where
    ``pass`` is a keyword.
    """

    id: str
    system: str
    gold: Gold
    label: Label
    pred: Pred
    passed: bool = msgspec.field(name="pass")
    confidence: float | None = None
    raw: str = ""
    latency_s: float | None = None
    """Seconds of the call, without back-off; null for systems that make no remote call."""
    usage: Usage | None = None
    error: str | None = None
    kind: str = ""
    cluster: str = ""
    difficulty: Difficulty | None = None
    cards: str = ""
    mined_rules: bool = False
    """Whether the card is contradictory only by rules found in the data; written only if true."""
    triplet: str = ""
    """The name of the E, C and U cards that share their facts; written only if there is one."""
    full_label: str = ""
    """The label of a U card before facts were set aside; written only if it is known."""
    repeat: int = 0
    """Number of the repeat of the question, from 0; written only if it is not 0."""
    extra: dict[str, Any] = {}


_FIELDS = frozenset(Result.__struct_encode_fields__) - {"extra"}


def result_from_json(row: dict[str, Any]) -> Result:
    """Reads one result, keeping unknown keys.

    Raises:
        msgspec.ValidationError: a field is missing or has the wrong type.
    """
    fields = {key: value for key, value in row.items() if key in _FIELDS}
    return msgspec.convert(
        {**fields, "extra": {k: row[k] for k in row if k not in _FIELDS}}, Result
    )


def result_to_json(result: Result) -> dict[str, Any]:
    """Converts one result to a JSON object, unknown keys last."""
    row: dict[str, Any] = msgspec.to_builtins(result)
    extra = row.pop("extra")
    if not result.repeat:
        del row["repeat"]
    if not result.mined_rules:
        del row["mined_rules"]
    for name in ("triplet", "full_label"):
        if not row[name]:
            del row[name]
    return {**row, **extra}


def read_results(path: Path | str) -> Iterable[Result]:
    """Yields the results of a finished file.

    Raises:
        MissingFileError: the file does not exist.
        RecordError: a line is not a valid result.
    """
    return iter_records(path, "result", result_from_json)
