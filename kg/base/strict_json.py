"""Parses JSON strictly, for all input: data, schemas, documents, replies of models.

The parser rejects duplicate keys, NaN and infinite numbers, lone surrogates and excessive nesting.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from kg.base.plain_text import clean_text

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of a UTF-16 surrogate: alone, it is half a character and cannot be encoded."""
_MAX_SAFE_DIGITS = 18
"""Any integer of this many characters (sign included) fits into 64 bits."""
_INT64_BOUND = 2**63
"""Integers of this absolute value or more do not fit into 64 bits and become floats."""


class NotJsonError(ValueError):
    """A text is not valid JSON; the message gives the reason in one clause.

    Args:
        what: the reason.
        line: line of a syntax error, from 1; 0 if the content is wrong, not the syntax.
        column: column of a syntax error, from 1.
    """

    def __init__(self, what: str, line: int = 0, column: int = 0) -> None:
        position = f" at line {line}" if line > 1 else f" at column {column}" if line else ""
        # Some of the parser's reasons end with "at", so that the position can follow.
        super().__init__((what.removesuffix(" at") if position else what) + position)
        self.what = what
        self.line = line
        self.column = column


def parse_json(text: str | bytes, constants: set[str] | None = None) -> Any:
    """Parses a text that is exactly one JSON value.

    Integers outside 64 bits become floats, as in most JSON parsers.

    Args:
        text: the JSON; bytes are decoded as UTF-8.
        constants: if given, ``NaN``, ``Infinity`` and ``-Infinity`` are read as None, and added to
            it.

    Raises:
        NotJsonError: the text is not JSON, or it is nested deeper than the interpreter's stack
            allows. Also if an object has a duplicate key (so that its value is ambiguous), a number
            is not finite, or a string contains a lone surrogate.
    """

    def read_constant(name: str) -> None:
        if constants is None:
            raise NotJsonError(f"{name} is not a number in JSON")
        constants.add(name)

    try:
        if isinstance(text, bytes):
            text = text.decode()
        value = json.loads(
            text,
            object_pairs_hook=_build_object,
            parse_constant=read_constant,
            parse_float=_parse_float,
            parse_int=_parse_integer,
        )
        if _SURROGATE_ESCAPE.search(text):
            # Encoding fails on a lone surrogate; pairs of surrogates are joined by the parser.
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise NotJsonError("nested too deeply") from error
    except UnicodeDecodeError as error:
        raise NotJsonError(f"byte {error.start + 1} is not UTF-8") from error
    except UnicodeEncodeError as error:
        raise NotJsonError("a text contains half a character (a lone surrogate)") from error
    except json.JSONDecodeError as error:
        raise NotJsonError(error.msg, error.lineno, error.colno) from error
    return value


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        earlier_keys: set[str] = set()
        duplicate = next(key for key, _ in pairs if key in earlier_keys or earlier_keys.add(key))  # type: ignore[func-returns-value]
        raise NotJsonError(f"the key {clean_text(duplicate, 60)!r} occurs twice in one object")
    return result


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotJsonError("a number is too large")
    return number


def _parse_integer(digits: str) -> int | float:
    if len(digits) <= _MAX_SAFE_DIGITS:
        return int(digits)
    number = _parse_float(digits)
    return int(digits) if abs(number) < _INT64_BOUND else number
