"""Normalises texts before they are compared, and names the JSON type of a value."""

from __future__ import annotations

import unicodedata
from typing import Any

from eval.extraction.settings import Matching

MIN_UNSPACED_CODE_POINT = 0x2E80
"""First code point of the scripts that write words without spaces, such as Chinese and Japanese."""

_JSON_TYPES = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    dict: "object",
}


def get_json_type(value: Any) -> str:
    """Returns the JSON type of a parsed JSON value.

    Raises:
        TypeError: the value does not have a JSON type.
    """
    try:
        return _JSON_TYPES[type(value)]
    except KeyError:
        raise TypeError(f"not a JSON value: {type(value).__name__}") from None


def normalise_spacing(text: str, matching: Matching) -> str:
    """Returns ``text`` in Unicode form NFC, with white space collapsed if the settings say so."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split()) if matching.normalize_whitespace else text


def fold_case(text: str) -> str:
    """Returns ``text`` case-folded, in Unicode form NFC."""
    if text.isascii():
        return text.lower()
    # Normalise after folding, because case folding may decompose letters.
    return unicodedata.normalize("NFC", text.casefold())


def simplify_name(name: str) -> str:
    """Returns the name of a field in lower case, with nothing but its letters and digits."""
    return "".join(filter(str.isalnum, name.lower()))


def is_word_boundary(before: str, after: str) -> bool:
    """Returns whether there can be a word boundary between two characters.

    At the start or end of a text, one of them is an empty string.
    """
    if not before or not after:
        return True
    if ord(before) >= MIN_UNSPACED_CODE_POINT or ord(after) >= MIN_UNSPACED_CODE_POINT:
        return True
    return not (before.isalnum() and after.isalnum())
