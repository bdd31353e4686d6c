"""Folds how operators, powers and quantities are written inside a text.

"p < 0.05" and "p<0.05" give the same, and so do "10⁻³" and "10^-3", "2 kg" and "2kg". No operator
is dropped, and none is exchanged for another.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

MAX_NOTATION_LENGTH: Final = 1_000
"""Longer texts are not compared by their notation."""

_SIGNS: Final = {"≤": "<=", "⩽": "<=", "≥": ">=", "⩾": ">=", "≠": "!=", "±": "+/-", "≈": "~"}
_SIGN: Final = re.compile("[≤⩽≥⩾≠±≈]")
_PLUS_MINUS: Final = re.compile(r"(?<!\S)\+-(?=\s?\d)")
_SUPERSCRIPTS: Final = re.compile("[⁺⁻]?[⁰¹²³⁴-⁹]+")
_AROUND_OPERATOR: Final = re.compile(r"\s*(\+/-|<=|>=|!=|[<>=~])\s*")
_TIMES: Final = re.compile(r"(?<=\d)\s*[xX×]\s*(?=\d)")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d)\s+(?=[%‰°]|[^\W\d_]{1,5}(?![^\W_]))")
_THOUSANDS: Final = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,]|\.\d{3}\b)")
_AFTER_SIGN: Final = re.compile(r"(?<=[%‰°])[.,;](?=\s|$)")
_MERCURY: Final = re.compile(r"(?<![^\W\d_])mm\s+Hg\b")


@lru_cache(16_384)
def fold_notation(text: str, *, has_comma: bool = False) -> str:
    """Returns a text with its operators, powers and quantities written in one way.

    Args:
        text: the text, its typography folded.
        has_comma: whether the comma is a decimal one, so that "1,000" is one.
    """
    text = _SIGN.sub(lambda match: _SIGNS[match[0]], text)
    text = _PLUS_MINUS.sub("+/-", text)
    text = _SUPERSCRIPTS.sub(_write_power, text)
    text = _AROUND_OPERATOR.sub(r"\1", text)
    text = _BEFORE_UNIT.sub("", _MERCURY.sub("mmHg", _TIMES.sub("x", text)))
    text = _AFTER_SIGN.sub("", text)
    return text if has_comma else _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)


def list_digits(text: str) -> str:
    """Returns the digits of a text, also of superscripts, which no notation changes."""
    return "".join(str(unicodedata.digit(one)) for one in text if one.isdigit())


def _write_power(match: re.Match[str]) -> str:
    return "^" + unicodedata.normalize("NFKC", match[0]).replace("\u2212", "-").removeprefix("+")
