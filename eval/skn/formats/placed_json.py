"""JSON whose every value has a place, so that a fault of it has a line and column as SKN's have.

The standard reader says where a text stops being JSON, but not where a value stands that is JSON
and not what was asked for, nor where a key comes twice. One further turn that quotes a problem is
fair between two notations only if both are told the place.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the root to a value."""

MAX_DEPTH = 20
"""No form nests deeper than five; a deeper text is refused before it is read on."""

_DECODER = json.JSONDecoder()
_LOOSE_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
_SHORT_NUMBER = re.compile(r"-?\.[0-9]{1,400}")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_OTHER_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None}
_WORD = re.compile(r"[A-Za-z]+")
_KEY = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_QUOTES = {"'": "'", "“": "”", "‘": "’"}
_ODD_STRINGS = {
    opened: re.compile(rf"{opened}((?:[^\\{closed}]|\\.)*){closed}", re.DOTALL)
    for opened, closed in _QUOTES.items()
}
_OPENING = frozenset('{["')
_INNER_QUOTE = re.compile(r"\\.|\"", re.DOTALL)


class JsonFaultError(ValueError):
    """A text is not the JSON that is wanted.

    Attributes:
        at: the character it is wrong at, from 0.
        what: what is wrong, in one clause.
    """

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at = at
        self.what = what


class Placed(NamedTuple):
    """A value, where it ends, and where each part of it begins.

    Attributes:
        value: what the text says.
        end: the first character after it, from 0.
        places: the first character of each value in it, by its path.
    """

    value: Any
    end: int
    places: dict[Path, int]


def read_value(text: str, at: int = 0, *, tolerant: bool = False) -> Placed:
    """Reads one JSON value.

    Args:
        text: what it stands in.
        at: where it begins, space before it left aside.
        tolerant: let pass what leaves no doubt: a comma before a closing bracket or none between
            members, keys without quotes, strings in single or typographic quotes or over several
            lines, ``.9``, ``True`` and ``None``.

    Raises:
        JsonFaultError: there is none; or a key occurs twice, a number is not finite, a text holds
            half a character, or the value is nested more than ``MAX_DEPTH`` deep.
    """
    reader = _Reader(text, tolerant)
    value, end = reader.value(at, ())
    return Placed(value, end, reader.places)


def after_space(text: str, at: int) -> int:
    """The first character at or after ``at`` that is no space, or the text's length."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Reader:
    def __init__(self, text: str, tolerant: bool) -> None:
        self.places: dict[Path, int] = {}
        self._text = text
        self._tolerant = tolerant
        self._decoder = _LOOSE_DECODER if tolerant else _DECODER
        self._words = {**_WORDS, **_OTHER_WORDS} if tolerant else _WORDS

    def value(self, at: int, path: Path) -> tuple[Any, int]:
        """The value at ``at`` and the first character after it."""
        at = after_space(self._text, at)
        self.places[path] = at
        if len(path) > MAX_DEPTH:
            raise JsonFaultError(at, "nested too deeply")
        sign = self._text[at : at + 1]
        if sign == "{":
            return self._object(at, path)
        if sign == "[":
            return self._array(at, path)
        if self._opens_string(sign):
            return self._string(at)
        if number := _NUMBER.match(self._text, at):
            return _number(number), number.end()
        if self._tolerant and (short := _SHORT_NUMBER.match(self._text, at)):
            return float(short[0]), short.end()
        word = _WORD.match(self._text, at)
        if word and word[0] in self._words:
            return self._words[word[0]], word.end()
        raise JsonFaultError(at, "the text ends in the middle" if not sign else "no JSON value")

    def _object(self, at: int, path: Path) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at, comma = self._next(at + 1), False
        while self._text[at : at + 1] != "}":
            key, end = self._key(at)
            if key in found:
                raise JsonFaultError(at, f"the key {key[:40]!r} occurs twice")
            end = self._next(end)
            if self._text[end : end + 1] != ":":
                raise JsonFaultError(end, self._or_end(end, "a colon is missing"))
            found[key], end = self.value(end + 1, (*path, key))
            at, comma = self._separated(end, "}")
        self._check_last(at, comma)
        return found, at + 1

    def _array(self, at: int, path: Path) -> tuple[list[Any], int]:
        found: list[Any] = []
        at, comma = self._next(at + 1), False
        while self._text[at : at + 1] != "]":
            value, end = self.value(at, (*path, len(found)))
            found.append(value)
            at, comma = self._separated(end, "]")
        self._check_last(at, comma)
        return found, at + 1

    def _separated(self, at: int, bracket: str) -> tuple[int, bool]:
        """The start of the next member or the closing bracket, and whether a comma came before."""
        end, at = at, self._next(at)
        if self._text[at : at + 1] == ",":
            return self._next(at + 1), True
        sign = self._text[at : at + 1]
        opens = sign in _OPENING or sign in _QUOTES
        # "the "" operator": one text with quotes in it as likely as two without a comma.
        in_doubt = end == at and self._text[end - 1 : end] == sign == '"'
        if sign != bracket and not (self._tolerant and opens and not in_doubt):
            raise JsonFaultError(at, self._or_end(at, f"a comma or {bracket} is missing"))
        return at, False

    def _check_last(self, at: int, comma: bool) -> None:
        if comma and not self._tolerant:
            raise JsonFaultError(at, "a comma stands before the closing bracket")

    def _key(self, at: int) -> tuple[str, int]:
        if self._opens_string(self._text[at : at + 1]):
            return self._string(at)
        if self._tolerant and (bare := _KEY.match(self._text, at)):
            return bare[0], bare.end()
        raise JsonFaultError(at, self._or_end(at, "a key in double quotes is missing"))

    def _opens_string(self, sign: str) -> bool:
        return sign == '"' or (self._tolerant and sign in _QUOTES)

    def _string(self, at: int) -> tuple[str, int]:
        source, start = self._text, at
        odd = _ODD_STRINGS.get(source[at])
        end = None
        if odd is not None:
            found = odd.match(source, at)
            if found is None:
                raise JsonFaultError(at, "a string that does not end")
            source, start, end = _in_double_quotes(found[1]), 0, found.end()
        try:
            text, after = self._decoder.raw_decode(source, start)
        except json.JSONDecodeError as error:
            where = error.pos if odd is None else at
            raise JsonFaultError(where, f"not a JSON string: {error.msg}") from error
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise JsonFaultError(at, "a string holds half a character (a lone surrogate)")
        return text, after if end is None else end

    def _next(self, at: int) -> int:
        return after_space(self._text, at)

    def _or_end(self, at: int, what: str) -> str:
        return what if at < len(self._text) else "the text ends in the middle"


def _in_double_quotes(inner: str) -> str:
    """What stood in other quotes as a JSON string; a quote inside gets or loses its backslash."""

    def mend(found: re.Match[str]) -> str:
        return {'"': '\\"', "\\'": "'"}.get(found[0], found[0])

    return f'"{_INNER_QUOTE.sub(mend, inner)}"'


def _number(found: re.Match[str]) -> int | float:
    if found[1] is None and found[2] is None:
        return int(found[0])
    value = float(found[0])
    if not math.isfinite(value):
        raise JsonFaultError(found.start(), "a number is too large")
    return value
