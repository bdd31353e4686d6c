"""Decides by which named rule two different spellings are the same value.

Rules accept what an expert accepts as the same value: "1200" for "$1,200.00", "January 5, 2024" for
2024-01-05, a curly apostrophe. They never accept another value, however similar it looks. Each can
be switched off (``Matching.rules``); what no rule accepts has the score of the strict reading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from eval.extraction.matchers.amounts import (
    Amount,
    are_ambiguous_amounts,
    find_amount_rule,
    parse_amount,
)
from eval.extraction.matchers.currencies import find_currency
from eval.extraction.matchers.dates import (
    MAX_DATE_LENGTH,
    Moment,
    differ_in_weekday,
    has_same_date,
    is_ambiguous_date,
    parse_readings,
)
from eval.extraction.matchers.identifiers import (
    has_scheme,
    is_email,
    is_url,
    normalise_email,
    normalise_phone,
    normalise_url,
)
from eval.extraction.matchers.json_types import (
    find_boolean_rule,
    find_number_rule,
    read_amount,
    reads_same,
)
from eval.extraction.matchers.names import is_inverted
from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.notation import MAX_NOTATION_LENGTH, fold_notation, list_digits
from eval.extraction.matchers.quantities import read_duration
from eval.extraction.matchers.ranges import is_range_and_list, is_same_range
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.matchers.spellings import (
    MAX_FOLDED_LENGTH,
    could_be_phone,
    differ_in_punctuation,
    drop_accents,
    fold_punctuation,
    fold_typography,
    has_same_code,
    is_phone_like,
)
from eval.extraction.matchers.strings import differs_by_case
from eval.extraction.matchers.units import differs_in_unit
from eval.extraction.settings import Matching, Rule
from kg.base.errors import SettingError

MAX_CURRENCY_LENGTH: Final = 10

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

Judge = Callable[[str, str, str], bool]
"""Takes the expected text, the predicted text and the path of the field."""


def find_rule(node: SchemaNode, expected: Any, predicted: Any, matching: Matching) -> str:
    """Returns the rule by which two unequal scalars are the same value, or an empty string."""
    if node.is_literal or (not matching.rules and not matching.judge):
        return ""
    if node.are_two_choices(expected, predicted):
        return ""
    if isinstance(expected, str) and isinstance(predicted, str):
        return _find_text_rule(node, expected, predicted, matching)
    if isinstance(expected, bool) or isinstance(predicted, bool):
        return find_boolean_rule(node, expected, predicted, matching)
    if isinstance(expected, str) or isinstance(predicted, str):
        return find_number_rule(node, expected, predicted, matching)
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


def fold_value(value: Any, matching: Matching) -> Any:
    """Returns a value that is mostly equal for two spellings of the same one, for a rough search.

    Dates and amounts become what they stand for, other texts lose case and punctuation. Currencies
    and units are dropped, so that equal results are only candidates.
    """
    if isinstance(value, dict):
        parts = {key: fold_value(part, matching) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not None}
    if isinstance(value, list):
        return [fold_value(part, matching) for part in value]
    if is_absent(value, matching) or isinstance(value, bool):
        return None if is_absent(value, matching) else str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str) or len(value) > MAX_CACHED_LENGTH:
        return value
    spelling = _read_short_spelling(value, *_get_options(matching))
    if spelling.readings:
        return str(spelling.readings)
    if spelling.amount is not None and not spelling.amount.unit:
        return f"{float(spelling.amount.number):.15g}"
    return fold_punctuation(spelling.folded) if "punctuation" in matching.rules else spelling.folded


def is_ambiguous_pair(expected: Any, predicted: Any, matching: Matching) -> bool:
    """Returns whether unequal values could be the same date or amount in another reading.

    That is another order of day and month, or what "1.234", "billion", "mil" or "kr" mean in
    another language.
    """
    if "numbers" in matching.rules and isinstance(expected, str) | isinstance(predicted, str):
        amounts = read_amount(expected, matching), read_amount(predicted, matching)
        if amounts[0] is not None and amounts[1] is not None:
            return are_ambiguous_amounts(amounts[0], amounts[1])
    if not isinstance(expected, str) or not isinstance(predicted, str):
        return False
    if "dates" not in matching.rules or max(len(expected), len(predicted)) > MAX_DATE_LENGTH:
        return False
    readings = [parse_readings(fold_typography(text)) for text in (expected, predicted)]
    return not matching.date_order and is_ambiguous_date(readings[0], readings[1])


class _Spelling(NamedTuple):
    """How one text is spelled, and what it may stand for."""

    text: str
    """With its typography folded, if that rule is on."""
    folded: str
    """Also its case, unless it counts."""
    letters: str
    """Only its letters and digits; texts that differ in these differ in more than punctuation."""
    has_digits: bool
    readings: tuple[Moment, ...]
    """As a date or time; empty if it is none."""
    amount: Amount | None
    currency: str
    """The code that the whole text stands for, or an empty string."""
    is_address: bool
    """Whether it is written as an address of mail or web."""


def _get_options(matching: Matching) -> tuple[tuple[Rule, ...], str, str, bool]:
    """Returns the settings that decide how a text is read."""
    return matching.rules, matching.date_order, matching.decimal_mark, matching.case_sensitive


def _read_spelling(
    text: str, rules: tuple[Rule, ...], date_order: str, decimal_mark: str, case_sensitive: bool
) -> _Spelling:
    text = fold_typography(text) if "typography" in rules else text.strip()
    folded = text if case_sensitive else fold_case(text)
    has_digits = any(map(str.isnumeric, text))  # also "½"
    is_date = has_digits and "dates" in rules
    return _Spelling(
        text=text,
        folded=folded,
        letters=_NO_LETTERS.sub("", folded.replace("&", "and")),
        has_digits=has_digits,
        readings=parse_readings(text, date_order) if is_date else (),
        amount=parse_amount(text, decimal_mark)
        if has_digits and not _OPEN_RANGE.fullmatch(text)
        else None,
        currency=find_currency(text) if len(text) <= MAX_CURRENCY_LENGTH else "",
        is_address=is_email(folded) or is_url(folded),
    )


_OPEN_RANGE: Final = re.compile(r"(?:(?:1[5-9]|20)\d\d|[1-9]\d) ?-")
"""A range without an end, as of years ("1950-") or ages ("18-"); "1200-" is a negative amount."""
_NO_LETTERS: Final = re.compile(r"[\W_]+")
_read_short_spelling: Final = lru_cache(16_384)(_read_spelling)
MAX_CACHED_LENGTH: Final = 200
"""Maximum length of the texts whose spelling is kept."""


def _find_text_rule(node: SchemaNode, expected: str, predicted: str, matching: Matching) -> str:
    rules = matching.rules
    length = max(len(expected), len(predicted))
    if length > MAX_FOLDED_LENGTH:
        return ""
    read = _read_short_spelling if length <= MAX_CACHED_LENGTH else _read_spelling
    options = _get_options(matching)
    first, second = read(expected, *options), read(predicted, *options)
    if first.folded == second.folded and differs_by_case(first.text, second.text):
        return ""
    if first.has_digits and second.has_digits:
        # Before case is folded, because "mW" and "MW" are different units.
        rule = _find_structured_rule(node, first, second, matching)
        if rule is not None:
            return rule
        if "ranges" in rules and is_same_range(first.text, second.text, matching):
            return "ranges"
    if first.folded == second.folded:
        return "typography" if "typography" in rules else ""
    if first.currency and first.currency == second.currency and "currencies" in rules:
        return "currencies"
    if "punctuation" in rules and _is_same_choice(node, expected, predicted):
        return "punctuation"
    if "names" in rules and is_inverted(first.text, second.text):
        return "names"
    if not is_range_and_list(first.text, second.text):
        rule = _find_spelling_rule(first, second, matching)
        if rule:
            return rule
    if first.is_address or second.is_address:
        is_same = _is_same_address(first.text, second.text)
        if is_same and "identifiers" in rules:
            return "identifiers"
    if "booleans" in rules and node.types == ("boolean",) and reads_same(expected, predicted):
        return "booleans"
    if matching.judge and load_judge(matching.judge)(expected, predicted, node.path):
        return "judge"
    return ""


def _find_spelling_rule(first: _Spelling, second: _Spelling, matching: Matching) -> str:
    """Returns the rule by which two texts differ only in marks, notation or accents."""
    rules = matching.rules
    # The letters are tested first because folding punctuation takes many steps.
    if (
        "punctuation" in rules
        and first.letters == second.letters
        and not differ_in_punctuation(first.text, second.text)
    ):
        return "punctuation"
    if "notation" in rules and _has_same_notation(first, second, matching):
        return "notation"
    if "accents" in rules:
        bare = [drop_accents(fold_punctuation(one.folded)) for one in (first, second)]
        if bare[0] == bare[1]:
            return "accents"
    return ""


def _find_structured_rule(
    node: SchemaNode, first: _Spelling, second: _Spelling, matching: Matching
) -> str | None:
    """Returns the rule by which two texts with digits are the same date, amount or identifier.

    Empty if they are different dates or amounts, so that no other rule may accept them; ``None`` if
    these rules cannot tell.
    """
    rules = matching.rules
    if first.readings and second.readings:
        is_same_date = has_same_date(first.readings, second.readings)
        if is_same_date is not None:
            texts, readings = (first.text, second.text), (first.readings, second.readings)
            is_same_date &= not differ_in_weekday(texts, readings)
            return "dates" if is_same_date else ""
    if "duration" in node.formats:  # elsewhere, "P010D" may be a code
        durations = read_duration(first.text), read_duration(second.text)
        if None not in durations:
            return "units" if durations[0] == durations[1] and "units" in rules else ""
    if first.amount is not None and second.amount is not None:
        if _differs_in_zeros(first.text, second.text):
            return ""
        amount_rule = find_amount_rule(first.amount, second.amount)
        if not amount_rule and amount_rule is not None:
            return ""
        if amount_rule in rules:
            return amount_rule
    if max(len(first.text), len(second.text)) > MAX_CODE_LENGTH:
        return None
    texts = first.folded, second.folded
    if "phones" in rules and (is_phone_like(texts[0]) or is_phone_like(texts[1])):
        numbers = [normalise_phone(text).lstrip("+") for text in texts if could_be_phone(text)]
        if len(numbers) == 2 and numbers[0] == numbers[1]:
            return "phones"
    if "identifiers" not in rules or not has_same_code(*texts):
        return None
    return None if differs_in_unit(first.text, second.text) else "identifiers"


def _is_same_choice(node: SchemaNode, first: str, second: str) -> bool:
    """Returns whether one of two texts is a choice, and the other is it with other separators.

    That is "in progress" for "IN_PROGRESS", if no other choice could be meant.
    """
    if node.allowed is None or node.has_choice(first) == node.has_choice(second):
        return False
    folded = _fold_choice(first)
    if folded != _fold_choice(second):
        return False
    choices = [json.loads(choice) for choice in node.allowed]
    return sum(isinstance(one, str) and _fold_choice(one) == folded for one in choices) == 1


def _fold_choice(text: str) -> str:
    return fold_case(_BETWEEN_WORDS.sub(" ", text.strip()))


_BETWEEN_WORDS: Final = re.compile(r"(?<=[^\W_])(?:[\s_-]+(?=[^\W\d_])|[\s_]+(?=\d))")
"""What separates two words; a hyphen before a digit may be a sign: "Level -1", "GMT-5"."""


def _has_same_notation(first: _Spelling, second: _Spelling, matching: Matching) -> bool:
    """Returns whether two texts differ only in how operators and quantities are written."""
    if not first.has_digits or not second.has_digits:
        return False
    if max(len(first.text), len(second.text)) > MAX_NOTATION_LENGTH:
        return False
    if list_digits(first.text) != list_digits(second.text):
        return False
    has_comma = matching.decimal_mark == "comma"
    texts = [fold_notation(one.text, has_comma=has_comma) for one in (first, second)]
    is_same = fold_case(texts[0]) == fold_case(texts[1]) or (
        "punctuation" in matching.rules and not differ_in_punctuation(*texts)
    )
    return is_same and not differs_in_unit(*texts, strict=True)


def _differs_in_zeros(first: str, second: str) -> bool:
    """Returns whether two texts differ in the zeros at the end: in a version, 3.10 is not 3.1.

    With a currency, a unit or a sign, the texts are amounts for sure.
    """
    return (
        first != second
        and _DOTTED_PAIR.fullmatch(first) is not None
        and _DOTTED_PAIR.fullmatch(second) is not None
        and first.rstrip("0") == second.rstrip("0")
    )


_DOTTED_PAIR: Final = re.compile(r"\d+\.\d+")


def _is_same_address(first: str, second: str) -> bool:
    """Returns whether two texts are the same address of mail or web."""
    if is_email(first) and is_email(second):
        return normalise_email(first) == normalise_email(second)
    if is_url(first) or is_url(second):
        # The scheme may be missing on one side, but not be another one.
        scheme = next((text.partition(":")[0] for text in (first, second) if has_scheme(text)), "")
        if scheme.lower() in ("", "http", "https"):
            urls = [
                normalise_url(text if has_scheme(text) else f"{scheme or 'https'}://{text}")
                for text in (first, second)
            ]
            return urls[0] == urls[1]
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
