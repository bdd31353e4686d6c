"""The smallest parts of the notation: strings, numbers, and which text may stand without quotes."""

from __future__ import annotations

import json
import re
from decimal import Decimal

MAX_CHARACTERS = 4_000_000
"""A longer text is neither read nor written: an extraction has some thousand characters."""

STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
"""A quotation up to its closing quote; ``unquoted`` tells whether its escapes are known."""
UNIT = re.compile(r"0(?:\.[0-9]{1,400})?|1(?:\.0{1,400})?")
"""0 to 1 in plain decimals; the smallest double takes 342 characters."""
FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Never written as itself: control characters, line and paragraph separators, lone surrogates."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can escape and UTF-8 cannot write."""
_ESCAPED = re.compile(
    "[\x7f-\xa0\u061c\u1680\u180e\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000]"
)
r"""Written as ``\uXXXX`` beside what JSON escapes: nobody could see it, or it reorders the line."""
_UNSEEN = re.compile(f"[\x00-\x1f{_ESCAPED.pattern[1:]}")


def quoted(text: str) -> str:
    """``text`` as a string of the notation, which is a JSON string without line separators."""
    return _ESCAPED.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)
    )


def unquoted(string: str) -> str | None:
    """What a quotation says; ``None`` if it holds an escape that says no character."""
    try:
        text: str = json.loads(string, strict=False)
    except ValueError:
        return None
    return None if SURROGATE.search(text) else text


def unit(value: float) -> str:
    """``value`` in as few plain decimals as read back as the very same number."""
    return format(Decimal(repr(value)), "f")


def domain(text: str) -> str:
    """The kind of source, quoted only if it must be."""
    return text if _is_plain(text) and "|" not in text else quoted(text)


def gap(text: str) -> str:
    """A gap, quoted only if it must be."""
    return text if _is_plain(text) else quoted(text)


def term(text: str) -> str:
    """A cause or an effect, quoted only if it must be, or if a reader could take it for two."""
    bare = _is_plain(text) and not any(sign in text for sign in ("->", "→", "[", "]", "|"))
    return text if bare else quoted(text)


def _is_plain(text: str) -> bool:
    return text[0] != '"' and text == text.strip() and not _UNSEEN.search(text)
