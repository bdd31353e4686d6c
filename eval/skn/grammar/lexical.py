"""Defines the tokens of the notation: strings, numbers, and text that needs no quotes."""

from __future__ import annotations

import json
import re
from decimal import Decimal

MAX_CHARACTERS = 4_000_000
"""Maximum length of a text to parse or write; extractions have a few thousand characters."""

STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
"""A quotation up to its closing quote; ``unquote_string`` checks its escapes. The possessive
quantifiers (``*+``) keep matching linear."""
UNIT = re.compile(r"0(?:\.[0-9]{1,400})?|1(?:\.0{1,400})?")
"""0 to 1 in plain decimals. 400 digits are enough for every double: the smallest needs 342."""
FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that must be escaped: control characters, line and paragraph separators, lone
surrogates."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""Lone surrogates (half a character), which JSON can escape but UTF-8 cannot encode."""
_ESCAPED = re.compile(
    "[\x7f-\xa0\u061c\u1680\u180e\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000]"
)
r"""Characters written as ``\uXXXX`` in addition to those that JSON escapes: invisible characters,
and those that change the direction of text."""
# The characters of _ESCAPED (its pattern without the opening bracket) and those that JSON escapes.
_INVISIBLE = re.compile(f"[\x00-\x1f{_ESCAPED.pattern[1:]}")


def quote_string(text: str) -> str:
    """Writes ``text`` as a string of the notation: a JSON string without line separators."""
    return _ESCAPED.sub(
        lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False)
    )


def unquote_string(string: str) -> str | None:
    """Returns the text of a quotation; None if it has an invalid escape."""
    try:
        text: str = json.loads(string, strict=False)
    except ValueError:
        return None
    return None if SURROGATE.search(text) else text


def format_unit(value: float) -> str:
    """Writes ``value`` with the fewest plain decimals that parse to exactly the same number."""
    return format(Decimal(repr(value)), "f")


def format_domain(text: str) -> str:
    """Writes the domain of a source, quoted only if necessary."""
    return text if _can_be_unquoted(text) and "|" not in text else quote_string(text)


def format_gap(text: str) -> str:
    """Writes a gap, quoted only if necessary."""
    return text if _can_be_unquoted(text) else quote_string(text)


def format_term(text: str) -> str:
    """Writes a cause or an effect, quoted if necessary or if it contains signs of the notation."""
    is_unambiguous = _can_be_unquoted(text) and not any(
        sign in text for sign in ("->", "→", "[", "]", "|")
    )
    return text if is_unambiguous else quote_string(text)


def _can_be_unquoted(text: str) -> bool:
    return text[0] != '"' and text == text.strip() and not _INVISIBLE.search(text)
