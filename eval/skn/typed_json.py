"""SKN as typed JSON and back: the same document in the other notation, nothing lost either way."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from eval.skn.document import Document
from eval.skn.lexical import MAX_CHARACTERS
from kg.base.errors import NotationError

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
        return msgspec.convert(value, Document)
    except (msgspec.ValidationError, OverflowError) as error:
        raise NotationError(f"not an SKN document: {error}", hint=_HINT) from error


def from_json_text(text: str) -> Document:
    """The document that a JSON text says.

    A key that occurs twice, NaN and infinities are refused: JSON readers disagree on them.

    Raises:
        NotationError: the text is no JSON (with line and column), or says no such document.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotationError(f"longer than {MAX_CHARACTERS} characters: not read")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise NotationError(
            f"not JSON: {error.msg}",
            where=f"line {error.lineno}, column {error.colno}",
            hint=_HINT,
        ) from error
    except RecursionError as error:
        raise NotationError("not an SKN document: nested too deeply", hint=_HINT) from error
    except ValueError as error:  # a key twice, NaN, a number of thousands of digits
        raise NotationError(f"not an SKN document: {error}", hint=_HINT) from error
    return from_json(value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")
