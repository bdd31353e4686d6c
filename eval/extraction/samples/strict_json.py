"""JSON read to the letter: no key twice, no NaN, no half a character, nothing nested for ever."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from kg.words.plain_text import plain

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""May be half a character: the escapes of UTF-16 surrogates."""


class NotJsonError(ValueError):
    """A text is no JSON; the message says why in one clause."""


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

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
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except NotJsonError:
        raise
    except RecursionError as error:
        raise NotJsonError("nested too deeply") from error
    except UnicodeDecodeError as error:
        raise NotJsonError(f"byte {error.start + 1} is not UTF-8") from error
    except UnicodeEncodeError as error:
        raise NotJsonError("a text holds half a character (a lone surrogate)") from error
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}"
        raise NotJsonError(f"{error.msg} at {place}") from error
    except ValueError as error:  # a whole number of more digits than Python reads
        raise NotJsonError(plain(str(error))) from error
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise NotJsonError(f"the key {plain(twice, 60)!r} stands twice in one object")
    return held


def _no_constant(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is no number in JSON")
