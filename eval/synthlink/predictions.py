"""Predictions to be scored: the specification's JSON, read as what someone else has written.

A row that cannot be used is refused by name and ends nothing: its question counts as missing, and
all others are scored. Only a file that is no list of rows at all ends the reading.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from kg.base.errors import RecordError
from kg.base.files import require_file
from kg.words.plain_text import plain

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_TEXT: Final = 20_000
"""Characters an answer, or the text of one source, may have."""
MOST_ITEMS: Final = 500
"""Documents, iterations or sources of one row."""
MOST_TOGETHER: Final = 200_000
"""Characters that all texts of one list may have together; of all iterations too."""
_MOST_ROWS: Final = 100_000
_HINT: Final = "It is a list of objects; see docs/synthlink.md."


class Iteration(msgspec.Struct, frozen=True):
    """One round of search."""

    answers: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()


class Prediction(msgspec.Struct, frozen=True):
    """What a system says to one question; field names are the specification's keys."""

    question_id: str
    predicted_answer: str
    retrieved_docs: tuple[str, ...] = ()
    """Addresses or titles of pages, best first."""
    iterations: tuple[Iteration, ...] = ()
    sources_verified: tuple[str, ...] = ()
    """Texts that the system says its answer rests on."""


class Refused(msgspec.Struct, frozen=True):
    """A row that is not scored."""

    row: int
    """Its number, from 1."""
    question_id: str
    """What it gives as its id, as far as that can be shown; empty where it gives none."""
    why: str

    def __str__(self) -> str:
        name = f" ({self.question_id})" if self.question_id else ""
        return f"row {self.row}{name}: {self.why}"


class Predictions(msgspec.Struct, frozen=True):
    """The rows of one file."""

    rows: tuple[Prediction, ...]
    """Of known questions, one each, in the order of the file."""
    refused: tuple[Refused, ...] = ()
    """All others, in the order of the file."""


class _RowError(ValueError):
    """Why a row cannot be used, in one clause."""


class _Twice(dict[str, Any]):
    """An object that gives a key twice, so that nobody can tell which one is meant."""


def read_predictions(path: str | Path, ids: Collection[str]) -> Predictions:
    """Reads a file of predictions.

    Args:
        path: a JSON list of objects.
        ids: of the questions there are.

    Raises:
        MissingFileError: there is no such file.
        RecordError: it is too large, no JSON, or no list.
    """
    path = require_file(path, "predictions file")
    if path.stat().st_size > MOST_BYTES:
        raise RecordError(f"larger than {MOST_BYTES:,} bytes", where=str(path), hint=_HINT)
    try:
        # No number is looked at, and one of 5,000 digits shall not end the reading.
        value = json.loads(
            path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_object, parse_int=float
        )
    except RecursionError as error:
        raise RecordError("JSON nested too deeply", where=str(path), hint=_HINT) from error
    except UnicodeDecodeError as error:
        raise RecordError(
            f"byte {error.start + 1} is not UTF-8", where=str(path), hint=_HINT
        ) from error
    except ValueError as error:
        raise RecordError(f"not JSON: {plain(str(error))}", where=str(path), hint=_HINT) from error
    if not isinstance(value, list):
        raise RecordError("not a JSON list", where=str(path), hint=_HINT)
    if len(value) > _MOST_ROWS:
        raise RecordError(f"more than {_MOST_ROWS:,} rows", where=str(path), hint=_HINT)
    return check_predictions(value, ids)


def check_predictions(rows: Iterable[Any], ids: Collection[str]) -> Predictions:
    """Takes the rows that can be scored and refuses the others.

    An id that stands twice is refused in every row: were the first (or the last, or the better)
    taken, a system would have two tries.

    Args:
        rows: as JSON gives them.
        ids: of the questions there are.
    """
    rows = list(rows)
    times = Counter(_id(row) for row in rows)
    taken: list[Prediction] = []
    refused: list[Refused] = []
    for number, row in enumerate(rows, 1):
        try:
            taken.append(_prediction(row, ids, times))
        except _RowError as error:
            refused.append(Refused(number, plain(_id(row), 60), str(error)))
    return Predictions(tuple(taken), tuple(refused))


def is_blank(answer: str) -> bool:
    """Whether an answer says nothing, which is to abstain: no letter and no digit is in it."""
    return not any(map(str.isalnum, answer))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    return held if len(held) == len(pairs) else _Twice(held)


def _id(row: Any) -> str:
    name = row.get("question_id") if isinstance(row, dict) else None
    return name.strip() if isinstance(name, str) else ""


def _prediction(row: Any, ids: Collection[str], times: Mapping[str, int]) -> Prediction:
    if not isinstance(row, dict):
        raise _RowError("not an object")
    if isinstance(row, _Twice):
        raise _RowError("a key stands twice in it")
    name = _id(row)
    if not name:
        raise _RowError("question_id is missing or no text")
    if name not in ids:
        meant = f"; it has {name.upper()}" if name.upper() in ids else ""
        raise _RowError(f"the catalogue has no such question{meant}")
    if times[name] > 1:
        raise _RowError(f"the question is answered {times[name]} times; no answer counts")
    rounds = tuple(
        _iteration(one, number) for number, one in enumerate(_list(row, "iterations"), 1)
    )
    if sum(len(text) for one in rounds for text in (*one.answers, *one.docs)) > MOST_TOGETHER:
        raise _RowError(f"iterations has more than {MOST_TOGETHER:,} characters in all")
    return Prediction(
        question_id=name,
        predicted_answer=_text(row, "predicted_answer"),
        retrieved_docs=_texts(row, "retrieved_docs"),
        iterations=rounds,
        sources_verified=_texts(row, "sources_verified"),
    )


def _iteration(value: Any, number: int) -> Iteration:
    if not isinstance(value, dict) or isinstance(value, _Twice):
        raise _RowError(f"iteration {number} is no object, or gives a key twice")
    return Iteration(_texts(value, "answers"), _texts(value, "docs"))


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise _RowError(f"{key} is {'missing' if value is None else 'no text'}")
    return _checked(value, key)


def _texts(row: dict[str, Any], key: str) -> tuple[str, ...]:
    found = _list(row, key)
    if not all(isinstance(item, str) for item in found):
        raise _RowError(f"{key} holds something that is no text")
    if sum(map(len, found)) > MOST_TOGETHER:
        raise _RowError(f"{key} has more than {MOST_TOGETHER:,} characters in all")
    return tuple(_checked(item, key) for item in found)


def _list(row: dict[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _RowError(f"{key} is no list")
    if len(value) > MOST_ITEMS:
        raise _RowError(f"{key} has {len(value):,} items, more than {MOST_ITEMS}")
    return value


def _checked(text: str, key: str) -> str:
    if len(text) > MOST_TEXT:
        raise _RowError(f"{key} has a text of more than {MOST_TEXT:,} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _RowError(f"{key} holds half a character (a lone surrogate)") from None
    return text
