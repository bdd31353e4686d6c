"""SKN as typed JSON and back: the same document in the other notation, nothing lost either way."""

from __future__ import annotations

from typing import Any

import msgspec

from eval.skn.grammar.document import Document
from eval.skn.grammar.lexical import MAX_CHARACTERS
from eval.skn.grammar.parsed import Parsed, Problem
from kg.base.errors import NotationError
from kg.base.strict_json import NotJsonError, parse_json

_HINT = "See `epoche schema skn` for the format."


def to_json(document: Document) -> dict[str, Any]:
    """``document`` as plain values for JSON; a section that is not there has no key."""
    value: dict[str, Any] = msgspec.to_builtins(document)
    return value


def from_json(value: object) -> Document:
    """The document that plain values from JSON say.

    Raises:
        NotationError: they are no such document; the message has the path of what is wrong.
    """
    try:
        return _document(value)
    except ValueError as error:
        raise NotationError(f"not an SKN document: {error}", hint=_HINT) from error


def read_json(text: str) -> Parsed:
    """Reads typed JSON and says what is wrong with it; never raises, whatever the text is.

    What ``parse_json`` refuses is refused: JSON readers disagree on a key that occurs twice and on
    NaN. A problem of what JSON keeps no place of is at the start, and has its path in it.
    """
    if len(text) > MAX_CHARACTERS:
        return _unread(1, 1, f"longer than {MAX_CHARACTERS} characters: not read")
    try:
        value = parse_json(text)
    except NotJsonError as error:
        what = "not JSON" if error.line else "not an SKN document"
        return _unread(error.line or 1, error.column or 1, f"{what}: {error.what}")
    try:
        return Parsed(_document(value), (), lossless=True)
    except ValueError as error:
        return _unread(1, 1, f"not an SKN document: {error}")


def _document(value: object) -> Document:
    """As ``from_json``.

    Raises:
        ValueError: not such a document (``msgspec.ValidationError`` is one).
    """
    return msgspec.convert(value, Document)


def _unread(line: int, column: int, what: str) -> Parsed:
    return Parsed(None, (Problem(line, column, what),), lossless=False)
