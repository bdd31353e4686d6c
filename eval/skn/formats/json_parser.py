"""Parses JSON and records the position of each value, so that errors have a line and column.

The standard parser gives the position of a syntax error, but not that of a duplicate key or of a
well-formed value of the wrong type. Repair turns quote problems with their position. They treat
SKN and JSON equally only if every problem of both has one.
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
_LOOSE_DECODER = json.JSONDecoder(strict=False)  # accepts line breaks inside strings
_SPACE = re.compile(r"[ \t\n\r]*")
# At most 400 digits, because Python refuses to convert an integer of thousands of digits. That is
# enough for every double: the smallest one needs 342.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
_NUMBER_WITHOUT_ZERO = re.compile(r"-?\.[0-9]{1,400}")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}
_PYTHON_CONSTANTS: dict[str, Any] = {"True": True, "False": False, "None": None}
_WORD = re.compile(r"[A-Za-z]+")
_UNQUOTED_KEY = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_QUOTES = {"'": "'", "“": "”", "‘": "’"}
"""Opening → closing quotes that JSON does not allow."""
_NONSTANDARD_STRINGS = {
    opening: re.compile(rf"{opening}((?:[^\\{closing}]|\\.)*){closing}", re.DOTALL)
    for opening, closing in _QUOTES.items()
}
"""Opening quote → pattern of a string in such quotes."""
_VALUE_OPENERS = frozenset('{["')
_INNER_QUOTE = re.compile(r"\\.|\"", re.DOTALL)
"""An escape or an unescaped double quote, in a string in other quotes."""


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
        JsonFaultError: there is no valid value, a key occurs twice, a number is not finite, a
            string has a lone surrogate, or the value is nested more than ``MAX_DEPTH`` deep.
    """
    parser = _JsonParser(text, tolerant)
    value, end = parser.parse_value(offset, ())
    return LocatedValue(value, end, parser.offsets)


def skip_space(text: str, offset: int) -> int:
    """Returns the position of the first non-space at or after ``offset``, or the text's length."""
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


class _JsonParser:
    """Parses one text, and records the position of each value in ``offsets``."""

    def __init__(self, text: str, tolerant: bool) -> None:
        self.offsets: dict[Path, int] = {}
        self._text = text
        self._tolerant = tolerant
        self._decoder = _LOOSE_DECODER if tolerant else _DECODER
        self._constants = {**_CONSTANTS, **_PYTHON_CONSTANTS} if tolerant else _CONSTANTS

    def parse_value(self, offset: int, path: Path) -> tuple[Any, int]:
        """Parses the value at ``offset``; returns it and the position after it."""
        offset = skip_space(self._text, offset)
        self.offsets[path] = offset
        if len(path) > MAX_DEPTH:
            raise JsonFaultError(offset, "nested too deeply")
        char = self._text[offset : offset + 1]
        if char == "{":
            return self._parse_object(offset, path)
        if char == "[":
            return self._parse_array(offset, path)
        if self._opens_string(char):
            return self._parse_string(offset)
        if number := _NUMBER.match(self._text, offset):
            return _convert_number(number), number.end()
        if self._tolerant and (short_number := _NUMBER_WITHOUT_ZERO.match(self._text, offset)):
            return float(short_number[0]), short_number.end()
        word = _WORD.match(self._text, offset)
        if word and word[0] in self._constants:
            return self._constants[word[0]], word.end()
        raise JsonFaultError(offset, "the text ends in the middle" if not char else "no JSON value")

    def _parse_object(self, offset: int, path: Path) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        offset, has_comma = self._skip_space(offset + 1), False
        while self._text[offset : offset + 1] != "}":
            key, end = self._parse_key(offset)
            if key in members:
                raise JsonFaultError(offset, f"the key {key[:40]!r} occurs twice")
            end = self._skip_space(end)
            if self._text[end : end + 1] != ":":
                raise JsonFaultError(end, self._describe_missing(end, "a colon is missing"))
            members[key], end = self.parse_value(end + 1, (*path, key))
            offset, has_comma = self._skip_separator(end, "}")
        self._check_trailing_comma(offset, has_comma)
        return members, offset + 1

    def _parse_array(self, offset: int, path: Path) -> tuple[list[Any], int]:
        elements: list[Any] = []
        offset, has_comma = self._skip_space(offset + 1), False
        while self._text[offset : offset + 1] != "]":
            value, end = self.parse_value(offset, (*path, len(elements)))
            elements.append(value)
            offset, has_comma = self._skip_separator(end, "]")
        self._check_trailing_comma(offset, has_comma)
        return elements, offset + 1

    def _skip_separator(self, offset: int, bracket: str) -> tuple[int, bool]:
        """Skips a comma; returns the position after it, and whether there was one."""
        value_end, offset = offset, self._skip_space(offset)
        if self._text[offset : offset + 1] == ",":
            return self._skip_space(offset + 1), True
        char = self._text[offset : offset + 1]
        starts_value = char in _VALUE_OPENERS or char in _QUOTES
        # In "the "" operator" two adjacent quotes may be unescaped quotes inside one string, or
        # the end and start of two strings without a comma. Ambiguous, hence an error.
        is_ambiguous = value_end == offset and self._text[value_end - 1 : value_end] == char == '"'
        if char != bracket and not (self._tolerant and starts_value and not is_ambiguous):
            raise JsonFaultError(
                offset, self._describe_missing(offset, f"a comma or {bracket} is missing")
            )
        return offset, False

    def _check_trailing_comma(self, offset: int, has_comma: bool) -> None:
        if has_comma and not self._tolerant:
            raise JsonFaultError(offset, "a comma stands before the closing bracket")

    def _parse_key(self, offset: int) -> tuple[str, int]:
        if self._opens_string(self._text[offset : offset + 1]):
            return self._parse_string(offset)
        if self._tolerant and (unquoted_key := _UNQUOTED_KEY.match(self._text, offset)):
            return unquoted_key[0], unquoted_key.end()
        raise JsonFaultError(
            offset, self._describe_missing(offset, "a key in double quotes is missing")
        )

    def _opens_string(self, char: str) -> bool:
        return char == '"' or (self._tolerant and char in _QUOTES)

    def _parse_string(self, offset: int) -> tuple[str, int]:
        source, start = self._text, offset
        nonstandard = _NONSTANDARD_STRINGS.get(source[offset])
        end = None
        if nonstandard is not None:
            found = nonstandard.match(source, offset)
            if found is None:
                raise JsonFaultError(offset, "a string that does not end")
            source, start, end = _requote_string(found[1]), 0, found.end()
        try:
            text, text_end = self._decoder.raw_decode(source, start)
        except json.JSONDecodeError as error:
            error_offset = error.pos if nonstandard is None else offset
            raise JsonFaultError(error_offset, f"not a JSON string: {error.msg}") from error
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise JsonFaultError(offset, "a string holds half a character (a lone surrogate)")
        return text, text_end if end is None else end

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
