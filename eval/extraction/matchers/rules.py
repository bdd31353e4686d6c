"""Decides by which named rule two different spellings are the same value.

Rules accept what an expert accepts as the same value: "1200" for "$1,200.00", "January 5, 2024" for
2024-01-05, a curly apostrophe. They never accept another value, however similar it looks. Each can
be switched off (``Matching.rules``); what no rule accepts has the score of the strict reading.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

from eval.extraction.matchers.amounts import (
    MAX_AMOUNT_LENGTH,
    Amount,
    find_amount_rule,
    parse_amount,
    to_decimal,
)
from eval.extraction.matchers.dates import MAX_DATE_LENGTH, has_same_date, is_ambiguous_date
from eval.extraction.matchers.identifiers import (
    is_email,
    is_url,
    normalise_email,
    normalise_phone,
    normalise_url,
)
from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.matchers.spelling import (
    MAX_FOLDED_LENGTH,
    could_be_phone,
    fold_punctuation,
    fold_typography,
    has_same_code,
    is_phone_like,
)
from eval.extraction.settings import Matching
from kg.base.errors import SettingError

MAX_CODE_LENGTH: Final = 64
"""Maximum length of a text that is compared as an identifier or telephone number."""

TEXT_PLACEHOLDERS: Final = frozenset(
    [
        *("", "-", "--", "—", "?", "n/a", "na", "n.a.", "none", "null", "nil", "nan", "unknown"),
        *("tbd", "not available", "not applicable", "not specified", "not mentioned"),
        *("not provided", "not stated", "not given", "undefined", "unspecified", "missing"),
        *("unbekannt", "keine angabe", "inconnu", "non précisé", "desconocido", "no disponible"),
    ]
)
"""Texts that mean "no value", where null would be correct."""

_BOOLEAN_WORDS: Final = {
    **dict.fromkeys(["true", "yes", "y", "1", "ja", "oui", "sí", "si"], True),
    **dict.fromkeys(["false", "no", "n", "0", "nein", "non"], False),
}

Judge = Callable[[str, str, str], bool]
"""Takes the expected text, the predicted text and the path of the field."""


def find_rule(node: SchemaNode, expected: Any, predicted: Any, matching: Matching) -> str:
    """Returns the rule by which two unequal scalars are the same value, or an empty string."""
    if not matching.rules and not matching.judge:
        return ""
    if isinstance(expected, str) and isinstance(predicted, str):
        return _find_text_rule(node, expected, predicted, matching)
    if isinstance(expected, bool) or isinstance(predicted, bool):
        return _find_boolean_rule(node, expected, predicted, matching)
    if isinstance(expected, str) or isinstance(predicted, str):
        return _find_number_rule(expected, predicted, matching)
    return ""


def is_absent(value: Any, matching: Matching) -> bool:
    """Returns whether a value counts as no value: null, or a text that a rule reads as none."""
    if not isinstance(value, str):
        return value is None
    rules = matching.rules
    if "empty_text" in rules and (not value or value.isspace()):
        return True
    return "placeholders" in rules and is_placeholder(value)


def is_placeholder(value: Any) -> bool:
    """Returns whether a value is a placeholder for "no value", such as "n/a"."""
    # All placeholders are shorter than 40 characters; the test avoids folding long texts.
    return (
        isinstance(value, str) and len(value) < 40 and fold_case(value.strip()) in TEXT_PLACEHOLDERS
    )


def is_ambiguous_pair(expected: Any, predicted: Any, matching: Matching) -> bool:
    """Returns whether unequal texts could be the same date in another order of day and month."""
    return (
        isinstance(expected, str)
        and isinstance(predicted, str)
        and "dates" in matching.rules
        and max(len(expected), len(predicted)) <= MAX_DATE_LENGTH
        and is_ambiguous_date(fold_typography(expected), fold_typography(predicted))
    )


def _find_text_rule(node: SchemaNode, expected: str, predicted: str, matching: Matching) -> str:
    rules = matching.rules
    length = max(len(expected), len(predicted))
    if length > MAX_FOLDED_LENGTH:
        return ""
    if node.allowed is not None and node.has_choice(predicted) and node.has_choice(expected):
        # Both are choices of the schema, which tells them apart.
        return ""
    if "typography" in rules:
        first, second = fold_typography(expected), fold_typography(predicted)
    else:
        first, second = expected.strip(), predicted.strip()
    if any(map(str.isdecimal, first)) and any(map(str.isdecimal, second)):
        # Before case is folded, because "mW" and "MW" are different units.
        rule = _find_structured_rule(first, second, matching, length)
        if rule is not None:
            return rule
    if not matching.case_sensitive:
        first, second = fold_case(first), fold_case(second)
    if first == second:
        return "typography" if "typography" in rules else ""
    if "currencies" in rules and length <= MAX_AMOUNT_LENGTH and _is_same_currency(first, second):
        return "currencies"
    if "punctuation" in rules and fold_punctuation(first) == fold_punctuation(second):
        return "punctuation"
    if "identifiers" in rules and _is_same_address(first, second):
        return "identifiers"
    if "booleans" in rules and node.types == ("boolean",) and _reads_same(first, second):
        return "booleans"
    if matching.judge and load_judge(matching.judge)(expected, predicted, node.path):
        return "judge"
    return ""


def _find_structured_rule(first: str, second: str, matching: Matching, length: int) -> str | None:
    """Returns the rule by which two texts with digits are the same date, amount or identifier.

    Empty if they are different dates or amounts, so that no other rule may accept them; ``None`` if
    these rules cannot tell.
    """
    rules = matching.rules
    if "dates" in rules and length <= MAX_DATE_LENGTH:
        is_same = has_same_date(first, second, matching.date_order)
        if is_same is not None:
            return "dates" if is_same else ""
    if length <= MAX_AMOUNT_LENGTH:
        amounts = parse_amount(first), parse_amount(second)
        if amounts[0] is not None and amounts[1] is not None:
            amount_rule = find_amount_rule(amounts[0], amounts[1])
            if not amount_rule and amount_rule is not None:
                return ""
            if amount_rule in rules:
                return amount_rule
    if length > MAX_CODE_LENGTH:
        return None
    if not matching.case_sensitive:
        first, second = fold_case(first), fold_case(second)
    if "phones" in rules and (is_phone_like(first) or is_phone_like(second)):
        is_phone = could_be_phone(first) and could_be_phone(second)
        if is_phone and normalise_phone(first).lstrip("+") == normalise_phone(second).lstrip("+"):
            return "phones"
    return "identifiers" if "identifiers" in rules and has_same_code(first, second) else None


def _find_number_rule(expected: Any, predicted: Any, matching: Matching) -> str:
    """Returns the rule by which a JSON number and a text are the same value."""
    if "types" not in matching.rules:
        return ""
    amounts = _read_amount(expected), _read_amount(predicted)
    if amounts[0] is None or amounts[1] is None:
        return ""
    rule = find_amount_rule(amounts[0], amounts[1])
    if not rule or rule not in matching.rules:
        return ""
    text = expected if isinstance(expected, str) else predicted
    is_plain = text.strip().lstrip("-").replace(".", "", 1).isdecimal()
    return "types" if is_plain else rule


def _read_amount(value: Any) -> Amount | None:
    if isinstance(value, str):
        return parse_amount(value)
    if not isinstance(value, int | float):
        return None
    number = to_decimal(value)
    return None if number is None else Amount(number, "", percent=False, unit="")


def _find_boolean_rule(node: SchemaNode, expected: Any, predicted: Any, matching: Matching) -> str:
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


def _reads_same(first: str, second: str) -> bool:
    readings = _BOOLEAN_WORDS.get(fold_case(first)), _BOOLEAN_WORDS.get(fold_case(second))
    return readings[0] is not None and readings[0] == readings[1]


def _is_same_currency(first: str, second: str) -> bool:
    from eval.extraction.matchers.amounts import CURRENCIES

    code = CURRENCIES.get(first.lower())
    return code is not None and code == CURRENCIES.get(second.lower())


def _is_same_address(first: str, second: str) -> bool:
    """Returns whether two texts are the same address of mail or web."""
    if is_email(first) and is_email(second):
        return normalise_email(first) == normalise_email(second)
    if is_url(first) or is_url(second):
        urls = normalise_url(first), normalise_url(second)
        if urls[0] == urls[1]:
            return True
        # The scheme may be missing on one side, but not be another one.
        bare = [url.removeprefix("https://").removeprefix("http://") for url in urls]
        return bare[0] == bare[1] and (urls[0] == bare[0]) != (urls[1] == bare[1])
    return False


@cache
def load_judge(name: str) -> Judge:
    """Imports a function of the user's own, given as ``module:function``.

    Raises:
        SettingError: there is no such function.
    """
    module, _, function = name.partition(":")
    try:
        judge: Judge = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise SettingError(
            f"{name!r} cannot be imported: {error}",
            where="metrics.field_matching.judge",
            hint="Give module:function, where the module can be imported from here.",
        ) from error
    if not callable(judge):
        raise SettingError(f"{name!r} is not a function", where="metrics.field_matching.judge")
    return judge
