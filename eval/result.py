"""The result: what one system answered to one card."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from cards.card import Difficulty
from kg.base.files import iter_records
from kg.claims import Gold, Label

Pred = Literal["YES", "NO", "UNKNOWN", "INVALID", "ERROR"]
"""``INVALID``: a reply that cannot be read. ``ERROR``: a call that failed. Never abstentions."""

PREDS: tuple[Pred, ...] = ("YES", "NO", "UNKNOWN", "INVALID", "ERROR")


class Usage(msgspec.Struct, frozen=True):
    """What the server says a call cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None


def rounded(usage: Usage | None) -> Usage | None:
    """Without the last digits of a sum of costs, which depend on the order of its parts."""
    if usage is None or usage.cost_usd is None:
        return usage
    return msgspec.structs.replace(usage, cost_usd=round(usage.cost_usd, 12))


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a system returns for one card."""

    pred: Pred
    confidence: float | None = None
    """Probability in [0, 1] that ``pred`` is right, or null when the system gives none."""
    raw: str = ""
    """The reply before parsing, or the reason in words for a system that has no reply text."""
    usage: Usage | None = None
    error: str | None = None
    note: str = ""
    """What is worth knowing of this answer besides, in a few words: the row's ``note``."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a result file: an ``Answer`` beside what the evaluator knows of the card.

    ``cards`` is the first 12 hex digits of the card set's hash, so that files of different card
    sets stay apart even after ``cat``. ``pass`` (``pred == gold``) is ``passed`` in Python.
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
    """Seconds of the call without back-off; null for systems that make no remote call."""
    usage: Usage | None = None
    error: str | None = None
    kind: str = ""
    cluster: str = ""
    difficulty: Difficulty | None = None
    cards: str = ""
    repeat: int = 0
    """Which repeat of the question this is, from 0; written only where it is not 0."""
    extra: dict[str, Any] = {}


_FIELDS = frozenset(Result.__struct_encode_fields__) - {"extra"}


def result_from_json(row: dict[str, Any]) -> Result:
    """Reads one result, keeping unknown keys.

    Raises:
        msgspec.ValidationError: a field is missing or has the wrong type.
    """
    known = {key: value for key, value in row.items() if key in _FIELDS}
    return msgspec.convert({**known, "extra": {k: row[k] for k in row if k not in _FIELDS}}, Result)


def result_to_json(result: Result) -> dict[str, Any]:
    """One result as a JSON object, unknown keys last."""
    row: dict[str, Any] = msgspec.to_builtins(result)
    extra = row.pop("extra")
    if not result.repeat:
        del row["repeat"]
    return {**row, **extra}


def read_results(path: Path | str) -> Iterable[Result]:
    """Yields the results of a finished file.

    Raises:
        MissingFileError, RecordError: as named there, with file and line.
    """
    return iter_records(path, "result", result_from_json)
