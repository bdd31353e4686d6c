"""Converts documents to typed JSON and back, without loss in either direction."""

from __future__ import annotations

from typing import Any

import msgspec

from eval.skn.grammar.document import Document
from eval.skn.grammar.lexical import MAX_CHARACTERS
from eval.skn.grammar.parse_result import ParseResult, Problem
from kg.base.errors import NotationError
from kg.base.strict_json import NotJsonError, parse_json

_HINT = "See `epoche schema skn` for the format."


def to_json(document: Document) -> dict[str, Any]:
    """Converts ``document`` to JSON values; an absent section has no key."""
    value: dict[str, Any] = msgspec.to_builtins(document)
    return value


def from_json(value: object) -> Document:
    """Converts JSON values to a document.

    Raises:
        NotationError: they are not a valid document; the message has the path of the problem.
    """
    try:
        return _convert_document(value)
    except ValueError as error:
        raise NotationError(f"not an SKN document: {error}", hint=_HINT) from error


def read_json(text: str) -> ParseResult:
    """Parses typed JSON and reports its problems; never raises an error.

    Duplicate keys and NaN are rejected, because JSON parsers disagree on them. A problem in a
    value that is valid JSON has no line: it is reported at line 1, with the path of the value.
    """
    if len(text) > MAX_CHARACTERS:
        return _build_failed_result(1, 1, f"longer than {MAX_CHARACTERS} characters: not read")
    try:
        value = parse_json(text)
    except NotJsonError as error:
        what = "not JSON" if error.line else "not an SKN document"
        return _build_failed_result(error.line or 1, error.column or 1, f"{what}: {error.what}")
    try:
        return ParseResult(_convert_document(value), (), lossless=True)
    except ValueError as error:
        return _build_failed_result(1, 1, f"not an SKN document: {error}")


def _convert_document(value: object) -> Document:
    """Converts JSON values to a document.

    Raises:
        ValueError: they are not a valid document (``msgspec.ValidationError`` is a ValueError).
    """
    return msgspec.convert(value, Document)


def _build_failed_result(line: int, column: int, what: str) -> ParseResult:
    return ParseResult(None, (Problem(line, column, what),), lossless=False)
