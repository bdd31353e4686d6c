"""Decides whether a number and a text, or a boolean and a word, are the same value."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from eval.extraction.matchers.amounts import (
    MAX_AMOUNT_LENGTH,
    Amount,
    find_amount_rule,
    is_written_alike,
    parse_amount,
    to_decimal,
)
from eval.extraction.matchers.match_result import TOLERANCE
from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.quantities import match_near_number
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.settings import Matching

_BOOLEAN_WORDS: Final = {
    **dict.fromkeys(["true", "yes", "y", "1", "ja", "oui", "sí", "si"], True),
    **dict.fromkeys(["false", "no", "n", "0", "nein", "non"], False),
}


def find_number_rule(node: SchemaNode, expected: Any, predicted: Any, matching: Matching) -> str:
    """Returns the rule by which a JSON number and a text are the same value."""
    if "types" not in matching.rules:
        return ""
    amounts = read_amount(expected, matching), read_amount(predicted, matching)
    if isinstance(predicted, str):
        amounts = amounts[0], _read_exponent(predicted) or amounts[1]
    if amounts[0] is None or amounts[1] is None:
        return ""
    if isinstance(expected, float) and is_written_alike(amounts[0], amounts[1]):
        # The gold number decides what the three digits of "$1.234" are.
        rule = find_amount_rule(amounts[0], amounts[1]._replace(is_open=False))
    else:
        rule = find_amount_rule(amounts[0], amounts[1])
    text = expected if isinstance(expected, str) else predicted
    if rule == "numbers" and _PLAIN_NUMBER.fullmatch(text.strip()):
        return "types"
    is_plain = amounts[0][1:] == amounts[1][1:] == _PLAIN[1:]
    if not rule and node.tolerance is not None and is_plain:
        numbers = [float(amount.number) for amount in amounts if amount is not None]
        if match_near_number(numbers[0], numbers[1], matching, node.tolerance)[0]:
            return TOLERANCE
    return rule if rule and rule in matching.rules else ""


_PLAIN: Final = Amount(Decimal(), "", percent=False, unit="")
_PLAIN_NUMBER: Final = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_EXPONENT: Final = re.compile(r"-?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d{1,3}", re.ASCII)
"""A number as programs write it, where a number is expected; else "1E5" may be a code."""


def _read_exponent(text: str) -> Amount | None:
    if len(text) > MAX_AMOUNT_LENGTH or not _EXPONENT.fullmatch(text.strip()):
        return None
    return _PLAIN._replace(number=Decimal(text.strip()))


def read_amount(value: Any, matching: Matching) -> Amount | None:
    """Reads a number, or a text that is one with its currency or unit; ``None`` if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return parse_amount(value, matching.decimal_mark)
    if not isinstance(value, int | float):
        return None
    number = to_decimal(value)
    return None if number is None else _PLAIN._replace(number=number)


def find_boolean_rule(node: SchemaNode, expected: Any, predicted: Any, matching: Matching) -> str:
    """Returns the rule by which a boolean and a word, or 0 or 1 where the schema says boolean."""
    if "booleans" not in matching.rules:
        return ""
    number_counts = node.types == ("boolean",)
    readings: list[bool | None] = []
    for value in (expected, predicted):
        if isinstance(value, bool):
            readings.append(value)
        elif isinstance(value, str):
            word = fold_case(value.strip())
            if word in ("0", "1") and not number_counts:
                return ""
            readings.append(_BOOLEAN_WORDS.get(word))
        elif isinstance(value, int | float) and number_counts and value in (0, 1):
            readings.append(bool(value))
        else:
            return ""
    return "booleans" if readings[0] is not None and readings[0] == readings[1] else ""


def reads_same(first: str, second: str) -> bool:
    """Returns whether two words stand for the same boolean."""
    readings = _BOOLEAN_WORDS.get(fold_case(first)), _BOOLEAN_WORDS.get(fold_case(second))
    return readings[0] is not None and readings[0] == readings[1]
