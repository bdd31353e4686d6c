"""What two texts are before they are compared, and what a value is called in JSON."""

from __future__ import annotations

import unicodedata
from typing import Any

from eval.extraction.settings import Matching

FIRST_UNSPACED = 0x2E80
"""From here on scripts write words without blanks between them (Chinese, Japanese …)."""

_JSON_TYPES = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    dict: "object",
}


def json_type(value: Any) -> str:
    """The JSON type of a value read from JSON.

    Raises:
        TypeError: it is of no such type.
    """
    try:
        return _JSON_TYPES[type(value)]
    except KeyError:
        raise TypeError(f"not a value of JSON: {type(value).__name__}") from None


def spaced(text: str, matching: Matching) -> str:
    """``text`` in Unicode's composed form, with white space as the settings want it."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split()) if matching.normalize_whitespace else text


def folded(text: str) -> str:
    """``text`` without the difference of capitals and small letters, in composed form."""
    if text.isascii():
        return text.lower()
    # Once after it is enough: folding can take a composed letter apart.
    return unicodedata.normalize("NFC", text.casefold())


def words_apart(before: str, after: str) -> bool:
    """Whether a word can end between two characters; either may be empty, at a text's end."""
    if not before or not after:
        return True
    if ord(before) >= FIRST_UNSPACED or ord(after) >= FIRST_UNSPACED:
        return True
    return not (before.isalnum() and after.isalnum())
