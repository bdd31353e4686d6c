"""JSON read to the letter, wherever it comes from: data, schemas, documents, replies of models.

No key twice, no NaN, no number beyond all bounds, no half a character, nothing nested for ever.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from kg.words.plain_text import plain

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""May be half a character: the escapes of UTF-16 surrogates."""
_DIGITS_OF_ANY_WHOLE = 18
"""So many digits are within 64 bits whatever they are."""
_LARGEST_WHOLE = 2**63


class NotJsonError(ValueError):
    """A text is no JSON; the message says why in one clause.

    Args:
        what: why.
        line: where the form of JSON is broken, from 1; 0 where it is a matter of content.
        column: the same within the line.
    """

    def __init__(self, what: str, line: int = 0, column: int = 0) -> None:
        place = f" at line {line}" if line > 1 else f" at column {column}" if line else ""
        super().__init__(what + place)
        self.what = what
        self.line = line
        self.column = column


def parse_json(text: str | bytes) -> Any:
    """The value of a text that is JSON and nothing else.

    Whole numbers beyond 64 bits become floats, as in most readers of JSON.

    Args:
        text: bytes are read as UTF-8.

    Raises:
        NotJsonError: it is none, an object has a key twice (which of the two is meant nobody can
            tell), a number is not finite, a text holds a lone surrogate, or it is nested deeper
            than the interpreter bears.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode()
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise NotJsonError("nested too deeply") from error
    except UnicodeDecodeError as error:
        raise NotJsonError(f"byte {error.start + 1} is not UTF-8") from error
    except UnicodeEncodeError as error:
        raise NotJsonError("a text holds half a character (a lone surrogate)") from error
    except json.JSONDecodeError as error:
        raise NotJsonError(error.msg, error.lineno, error.colno) from error
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise NotJsonError(f"the key {plain(twice, 60)!r} occurs twice in one object")
    return held


def _no_constant(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is no number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotJsonError("a number is too large")
    return number


def _whole(digits: str) -> int | float:
    if len(digits) <= _DIGITS_OF_ANY_WHOLE:
        return int(digits)
    number = _finite(digits)
    return int(digits) if abs(number) < _LARGEST_WHOLE else number
