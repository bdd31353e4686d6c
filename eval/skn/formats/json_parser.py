"""Parses JSON and records the position of each value, so that errors have a line and column.

The standard parser gives the position of a syntax error, but not that of a well-formed value of
the wrong type or of a duplicate key. A repair turn that quotes a problem treats both notations
equally only if the problems of both have a position.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the root to a value."""

MAX_DEPTH = 20
"""No form nests deeper than 5; the limit keeps parsing well below Python's recursion limit."""

_DECODER = json.JSONDecoder()
_LOOSE_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
_SHORT_NUMBER = re.compile(r"-?\.[0-9]{1,400}")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None}
_WORD = re.compile(r"[A-Za-z]+")
_KEY = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_QUOTES = {"'": "'", "“": "”", "‘": "’"}
_OTHER_STRINGS = {
    opened: re.compile(rf"{opened}((?:[^\\{closed}]|\\.)*){closed}", re.DOTALL)
    for opened, closed in _QUOTES.items()
}
_OPENING = frozenset('{["')
_INNER_QUOTE = re.compile(r"\\.|\"", re.DOTALL)


class JsonFaultError(ValueError):
    """A text is not the expected JSON.

    Attributes:
        offset: the position of the problem, in characters from 0.
        what: description of the problem, in one clause.
    """

    def __init__(self, offset: int, what: str) -> None:
        super().__init__(what)
        self.offset = offset
        self.what = what


class LocatedValue(NamedTuple):
    """A parsed value and its positions in the text, in characters from 0.

    Attributes:
        value: the value.
        end: the position after it.
        offsets: path → position of the first character of the value.
    """

    value: Any
    end: int
    offsets: dict[Path, int]


def parse_value(text: str, offset: int = 0, *, tolerant: bool = False) -> LocatedValue:
    """Parses one JSON value.

    Args:
        text: the text that contains it.
        offset: start of the value; white space before it is skipped.
        tolerant: accept unambiguous deviations: a comma before a closing bracket, no comma
            between members, keys without quotes, strings in single or typographic quotes or over
            several lines, ``.9``, ``True`` and ``None``.

    Raises:
        JsonFaultError: there is no value; or a key occurs twice, a number is not finite, a string
            has a lone surrogate, or the value is nested more than ``MAX_DEPTH`` deep.
    """
    reader = _JsonParser(text, tolerant)
    value, end = reader.parse_value(offset, ())
    return LocatedValue(value, end, reader.offsets)


def skip_space(text: str, offset: int) -> int:
    """Returns the position of the first non-space at or after ``offset``, or the text's length."""
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


class _JsonParser:
    def __init__(self, text: str, tolerant: bool) -> None:
        self.offsets: dict[Path, int] = {}
        self._text = text
        self._tolerant = tolerant
        self._decoder = _LOOSE_DECODER if tolerant else _DECODER
        self._words = {**_WORDS, **_PYTHON_WORDS} if tolerant else _WORDS

    def parse_value(self, offset: int, path: Path) -> tuple[Any, int]:
        """Parses the value at ``offset``; returns it and the position after it."""
        offset = skip_space(self._text, offset)
        self.offsets[path] = offset
        if len(path) > MAX_DEPTH:
            raise JsonFaultError(offset, "nested too deeply")
        sign = self._text[offset : offset + 1]
        if sign == "{":
            return self._parse_object(offset, path)
        if sign == "[":
            return self._parse_array(offset, path)
        if self._opens_string(sign):
            return self._parse_string(offset)
        if number := _NUMBER.match(self._text, offset):
            return _convert_number(number), number.end()
        if self._tolerant and (short := _SHORT_NUMBER.match(self._text, offset)):
            return float(short[0]), short.end()
        word = _WORD.match(self._text, offset)
        if word and word[0] in self._words:
            return self._words[word[0]], word.end()
        raise JsonFaultError(offset, "the text ends in the middle" if not sign else "no JSON value")

    def _parse_object(self, offset: int, path: Path) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        offset, comma = self._skip_space(offset + 1), False
        while self._text[offset : offset + 1] != "}":
            key, end = self._parse_key(offset)
            if key in members:
                raise JsonFaultError(offset, f"the key {key[:40]!r} occurs twice")
            end = self._skip_space(end)
            if self._text[end : end + 1] != ":":
                raise JsonFaultError(end, self._describe_missing(end, "a colon is missing"))
            members[key], end = self.parse_value(end + 1, (*path, key))
            offset, comma = self._skip_separator(end, "}")
        self._check_trailing_comma(offset, comma)
        return members, offset + 1

    def _parse_array(self, offset: int, path: Path) -> tuple[list[Any], int]:
        elements: list[Any] = []
        offset, comma = self._skip_space(offset + 1), False
        while self._text[offset : offset + 1] != "]":
            value, end = self.parse_value(offset, (*path, len(elements)))
            elements.append(value)
            offset, comma = self._skip_separator(end, "]")
        self._check_trailing_comma(offset, comma)
        return elements, offset + 1

    def _skip_separator(self, offset: int, bracket: str) -> tuple[int, bool]:
        """Skips a comma; returns the position after it, and whether there was one."""
        end, offset = offset, self._skip_space(offset)
        if self._text[offset : offset + 1] == ",":
            return self._skip_space(offset + 1), True
        sign = self._text[offset : offset + 1]
        opens = sign in _OPENING or sign in _QUOTES
        # In "the "" operator" two adjacent quotes may be unescaped quotes inside one string, or
        # the end and start of two strings without a comma. Ambiguous, hence an error.
        in_doubt = end == offset and self._text[end - 1 : end] == sign == '"'
        if sign != bracket and not (self._tolerant and opens and not in_doubt):
            raise JsonFaultError(
                offset, self._describe_missing(offset, f"a comma or {bracket} is missing")
            )
        return offset, False

    def _check_trailing_comma(self, offset: int, comma: bool) -> None:
        if comma and not self._tolerant:
            raise JsonFaultError(offset, "a comma stands before the closing bracket")

    def _parse_key(self, offset: int) -> tuple[str, int]:
        if self._opens_string(self._text[offset : offset + 1]):
            return self._parse_string(offset)
        if self._tolerant and (bare := _KEY.match(self._text, offset)):
            return bare[0], bare.end()
        raise JsonFaultError(
            offset, self._describe_missing(offset, "a key in double quotes is missing")
        )

    def _opens_string(self, sign: str) -> bool:
        return sign == '"' or (self._tolerant and sign in _QUOTES)

    def _parse_string(self, offset: int) -> tuple[str, int]:
        source, start = self._text, offset
        odd = _OTHER_STRINGS.get(source[offset])
        end = None
        if odd is not None:
            found = odd.match(source, offset)
            if found is None:
                raise JsonFaultError(offset, "a string that does not end")
            source, start, end = _requote_string(found[1]), 0, found.end()
        try:
            text, after = self._decoder.raw_decode(source, start)
        except json.JSONDecodeError as error:
            where = error.pos if odd is None else offset
            raise JsonFaultError(where, f"not a JSON string: {error.msg}") from error
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise JsonFaultError(offset, "a string holds half a character (a lone surrogate)")
        return text, after if end is None else end

    def _skip_space(self, offset: int) -> int:
        return skip_space(self._text, offset)

    def _describe_missing(self, offset: int, what: str) -> str:
        return what if offset < len(self._text) else "the text ends in the middle"


def _requote_string(inner: str) -> str:
    """Rewrites the content of a string in other quotes as a JSON string in double quotes."""

    def fix_quote(found: re.Match[str]) -> str:
        # A bare double quote now needs a backslash; an escaped single quote loses its backslash.
        return {'"': '\\"', "\\'": "'"}.get(found[0], found[0])

    return f'"{_INNER_QUOTE.sub(fix_quote, inner)}"'


def _convert_number(found: re.Match[str]) -> int | float:
    if found[1] is None and found[2] is None:
        return int(found[0])
    value = float(found[0])
    if not math.isfinite(value):
        raise JsonFaultError(found.start(), "a number is too large")
    return value
