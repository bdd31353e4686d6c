"""Reads predictions to be scored: the specification's JSON, treated as untrusted input.

A row that cannot be used is refused and reported with the reason; its question scores 0, and all
other rows are scored. Only a file that is not a list of rows raises an error.
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
from kg.base.plain_text import clean_text

# A file can come from anywhere: these limits bound the memory and time that it takes.
MAX_FILE_BYTES: Final = 64 * 1024 * 1024
MAX_TEXT_LENGTH: Final = 20_000
"""Maximum number of characters of one text: an answer, a document or a source."""
MAX_ITEMS: Final = 500
"""Maximum number of documents, iterations or sources of one row."""
MAX_TOTAL_LENGTH: Final = 200_000
"""Maximum total number of characters of the texts in one list, and of those in all iterations."""
_MAX_ROWS: Final = 100_000
_HINT: Final = "It is a list of objects; see docs/reference/synthlink.md."


class Iteration(msgspec.Struct, frozen=True):
    """One round of search: the answers given after it, the pages found, and those opened."""

    answers: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()
    opened: tuple[str, ...] | None = None
    """Addresses or titles of the pages whose text was read; null if this is not recorded."""


class Prediction(msgspec.Struct, frozen=True):
    """A system's answer to one question; field names are the specification's keys."""

    question_id: str
    predicted_answer: str
    retrieved_docs: tuple[str, ...] = ()
    """Addresses or titles of pages, best first."""
    iterations: tuple[Iteration, ...] = ()
    sources_verified: tuple[str, ...] = ()
    """Texts that the system gives as sources of its answer."""

    def list_opened(self) -> tuple[str, ...] | None:
        """Returns the pages opened in all rounds; None if no round records them."""
        recorded = [one.opened for one in self.iterations if one.opened is not None]
        return tuple(page for pages in recorded for page in pages) if recorded else None


class RefusedRow(msgspec.Struct, frozen=True):
    """A row that is not scored."""

    row: int
    """Its number, from 1."""
    question_id: str
    """The id in the row, shortened for display; empty if it has none."""
    why: str
    """Why it is not scored."""

    def __str__(self) -> str:
        name = f" ({self.question_id})" if self.question_id else ""
        return f"row {self.row}{name}: {self.why}"


class Predictions(msgspec.Struct, frozen=True):
    """The rows of one file."""

    rows: tuple[Prediction, ...]
    """Usable rows, at most one per question, in the order of the file."""
    refused: tuple[RefusedRow, ...] = ()
    """All other rows, in the order of the file."""


class _RowError(ValueError):
    """A row cannot be used; the message gives the reason in one clause."""


class _DuplicateKeys(dict[str, Any]):
    """A JSON object in which a key occurs twice, so that its value is ambiguous."""


def read_predictions(path: str | Path, ids: Collection[str]) -> Predictions:
    """Reads a file of predictions.

    Args:
        path: a file with a JSON list of objects.
        ids: ids of the questions in the catalogue.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is too large, not JSON, or not a list.
    """
    path = require_file(path, "predictions file")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise RecordError(f"larger than {MAX_FILE_BYTES:,} bytes", where=str(path), hint=_HINT)
    try:
        # int() refuses numbers of more than 4,300 digits, but float() accepts them. Numbers are not
        # used, so the loss of precision does not matter.
        rows = json.loads(
            path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_build_object, parse_int=float
        )
    except RecursionError as error:
        raise RecordError("JSON nested too deeply", where=str(path), hint=_HINT) from error
    except UnicodeDecodeError as error:
        raise RecordError(
            f"byte {error.start + 1} is not UTF-8", where=str(path), hint=_HINT
        ) from error
    except ValueError as error:
        raise RecordError(
            f"not JSON: {clean_text(str(error))}", where=str(path), hint=_HINT
        ) from error
    if not isinstance(rows, list):
        raise RecordError("not a JSON list", where=str(path), hint=_HINT)
    if len(rows) > _MAX_ROWS:
        raise RecordError(f"more than {_MAX_ROWS:,} rows", where=str(path), hint=_HINT)
    return check_predictions(rows, ids)


def check_predictions(rows: Iterable[Any], ids: Collection[str]) -> Predictions:
    """Separates the rows that can be scored from those that cannot.

    If an id occurs several times, all its rows are refused: using any one of them would give a
    system several attempts at the question.

    Args:
        rows: rows as decoded from JSON.
        ids: ids of the questions in the catalogue.
    """
    rows = list(rows)
    id_counts = Counter(_get_id(row) for row in rows)
    usable: list[Prediction] = []
    refused: list[RefusedRow] = []
    for row_number, row in enumerate(rows, 1):
        try:
            usable.append(_parse_prediction(row, ids, id_counts))
        except _RowError as error:
            refused.append(RefusedRow(row_number, clean_text(_get_id(row), 60), str(error)))
    return Predictions(tuple(usable), tuple(refused))


def is_blank(answer: str) -> bool:
    """Returns whether an answer has no letter and no digit, which counts as an abstention."""
    return not any(map(str.isalnum, answer))


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Builds a decoded JSON object, and marks it if a key occurs twice."""
    result = dict(pairs)
    return result if len(result) == len(pairs) else _DuplicateKeys(result)


def _get_id(row: Any) -> str:
    question_id = row.get("question_id") if isinstance(row, dict) else None
    return question_id.strip() if isinstance(question_id, str) else ""


def _parse_prediction(row: Any, ids: Collection[str], id_counts: Mapping[str, int]) -> Prediction:
    if not isinstance(row, dict):
        raise _RowError("not an object")
    if isinstance(row, _DuplicateKeys):
        raise _RowError("a key is given twice")
    question_id = _get_id(row)
    if not question_id:
        raise _RowError("question_id is missing or not a string")
    if question_id not in ids:
        suggestion = f"; did you mean {question_id.upper()}?" if question_id.upper() in ids else ""
        raise _RowError(f"the catalogue has no such question{suggestion}")
    if id_counts[question_id] > 1:
        raise _RowError(
            f"the question is answered {id_counts[question_id]} times; no answer counts"
        )
    iterations = tuple(
        _parse_iteration(value, number)
        for number, value in enumerate(_get_list(row, "iterations"), 1)
    )
    texts = (text for iteration in iterations for text in _list_texts(iteration))
    if sum(map(len, texts)) > MAX_TOTAL_LENGTH:
        raise _RowError(f"iterations has more than {MAX_TOTAL_LENGTH:,} characters in all")
    return Prediction(
        question_id=question_id,
        predicted_answer=_get_text(row, "predicted_answer"),
        retrieved_docs=_get_texts(row, "retrieved_docs"),
        iterations=iterations,
        sources_verified=_get_texts(row, "sources_verified"),
    )


def _parse_iteration(value: Any, number: int) -> Iteration:
    if not isinstance(value, dict) or isinstance(value, _DuplicateKeys):
        raise _RowError(f"iteration {number} is not an object, or gives a key twice")
    opened = None if value.get("opened") is None else _get_texts(value, "opened")
    return Iteration(_get_texts(value, "answers"), _get_texts(value, "docs"), opened)


def _list_texts(iteration: Iteration) -> tuple[str, ...]:
    return (*iteration.answers, *iteration.docs, *(iteration.opened or ()))


def _get_text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise _RowError(f"{key} is {'missing' if value is None else 'not a string'}")
    return _check_text(value, key)


def _get_texts(row: dict[str, Any], key: str) -> tuple[str, ...]:
    items = _get_list(row, key)
    if not all(isinstance(item, str) for item in items):
        raise _RowError(f"{key} has an item that is not a string")
    if sum(map(len, items)) > MAX_TOTAL_LENGTH:
        raise _RowError(f"{key} has more than {MAX_TOTAL_LENGTH:,} characters in all")
    return tuple(_check_text(item, key) for item in items)


def _get_list(row: dict[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _RowError(f"{key} is not a list")
    if len(value) > MAX_ITEMS:
        raise _RowError(f"{key} has {len(value):,} items, more than {MAX_ITEMS}")
    return value


def _check_text(text: str, key: str) -> str:
    if len(text) > MAX_TEXT_LENGTH:
        raise _RowError(f"{key} has a text of more than {MAX_TEXT_LENGTH:,} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _RowError(f"{key} has a lone surrogate, which is not a valid character") from None
    return text
