"""Parses numbers as people write them, with currency, percent sign, scale word or unit.

Values are decimal numbers, so that "0.1" equals 0.1 and long numbers stay exact. Separators are
read so that each notation has one reading: a single comma before exactly three digits separates
thousands ("1,234" is 1234), a single point is a decimal point ("1.234" is not 1234). Beside a
currency, a point before exactly three digits has two readings: "1.234 €" is 1234 in German.
"""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Context, Decimal, InvalidOperation
from typing import Final, NamedTuple

from eval.extraction.matchers.currencies import (
    CURRENCY_SYMBOLS,
    OPEN_SYMBOLS,
    THREE_DECIMALS,
    find_currency,
)
from eval.extraction.matchers.spellings import fold_typography
from eval.extraction.matchers.units import (
    find_quantity_kind,
    get_unit_registry,
    is_same_unit,
    parse_unit,
)
from kg.words.number_words import SCALE_LETTERS, SCALE_READINGS

MAX_AMOUNT_LENGTH: Final = 60
"""Maximum length of a text that is parsed as an amount."""

_EXACT: Final = Context(prec=2 * MAX_AMOUNT_LENGTH)
"""Precision that loses no digit; the usual context rounds to 28."""
_PERCENT: Final = frozenset(["%", "percent", "pct", "prozent"])

_AMOUNT: Final = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<before>(?:[^\W\d_]{{1,7}}\.|[^\W\d_]{{0,7}}[{CURRENCY_SYMBOLS}]?))\s*(?P<inner>[+-]?)\s*"
    r"(?P<number>\d(?:[\d.,']|[ ](?=\d{3}(?!\d)))*\d|\d|\.\d+)"
    r"(?P<after>.*)"
)
_ACCOUNTING: Final = re.compile(
    rf"(?P<before>[^\W\d_]{{0,7}}[.{CURRENCY_SYMBOLS}]?)\s*\((?P<number>[\d.,' ]+)\)"
    rf"\s*(?P<after>[^\W\d_]{{0,7}}[.{CURRENCY_SYMBOLS}]?)"
)
"""A negative amount with the currency outside the brackets."""
_VULGAR: Final = re.compile(" ?([¼-¾⅐-⅞])")
_FRACTION: Final = re.compile(r"(?<![\d/.,])(?:(\d{1,9})[ -])?([1-9]\d?)/([1-9]\d?)(?![\d/.,])")
MAX_FRACTION_DENOMINATOR: Final = 64
"""Greatest denominator of a fraction; others are dates, pages or scores."""
_TOKEN: Final = re.compile(
    rf"[^\W\d_]{{0,5}}[{CURRENCY_SYMBOLS}]|[%-]|[^\s%{CURRENCY_SYMBOLS}-][^\s%{CURRENCY_SYMBOLS}-]*"
)
_NO_CENTS: Final = re.compile(r"(?P<point>[.,])--?(?![\d-])|/-(?!\d)")
"""What stands for no cents in German ("50,-"), Swiss ("50.-") and Indian ("50/-") amounts."""
_FILLERS: Final = frozenset(["de", "d", "di", "of"])
"""Words between a scale and a currency: "3 milliards d'euros"."""
_NUMBERS: Final = (
    # Each pattern has one reading: what to drop, and what the decimal separator is.
    (re.compile(r"(?:0|[1-9]\d*)?(?:\.\d+)?"), "", "."),
    (re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?"), ",", "."),
    (re.compile(r"[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?"), ",", "."),
    (re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+"), ".", ","),
    (re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){2,}"), ".", ","),
    (re.compile(r"[1-9]\d{0,2}(?:[ ']\d{3})+(?:\.\d+)?"), " '", "."),
    (re.compile(r"[1-9]\d{0,2}(?:[ ']\d{3})+,\d+"), " '", ","),
    (re.compile(r"(?:0|[1-9]\d*),\d+"), "", ","),
)  # fmt: skip
_PART: Final = re.compile(r"(\d+(?:\.\d+)?) ?([^\W\d_]{1,12})\.?")
_PARTS: Final = re.compile(
    rf"([^\W\d_]{{1,12}})\.?((?:,? ?(?:and |und |et |y |e |en )?{_PART.pattern}){{1,3}})"
)
"""The unit of a first number, and further numbers with their units."""
_POWER: Final = re.compile(r"(?<=[^\W\d_])\^?([23])(?![^\W_])")
_POWER_NAMES: Final = re.compile(
    r"(?P<name>sq(?:uare|\.)?|q(?=k?m$)|cu(?:bic|\.)?) ?(?P<unit>[^\W\d_]{1,15})\.?", re.I
)
"""Names of areas and volumes: "sq ft", "sqm", "qm", "cu. ft", "cubic metres"."""
_MAX_RELATIVE_ERROR: Final = 1e-9
"""Largest relative difference of two quantities that are equal after conversion."""


class Amount(NamedTuple):
    """A number with what is written beside it."""

    number: Decimal
    currency: str
    """ISO code; empty if none is given."""
    percent: bool
    unit: str
    """As written; empty if none is given."""
    others: tuple[Decimal, ...] = ()
    """What the number may also be: "1.234" is 1234 in German, "billion" is 10¹² in French."""
    is_open: bool = False
    """Whether no reading is preferred: it equals only an amount with the same readings."""
    symbol: str = ""
    """The currency as written, in lower case."""
    has_scale: bool = False
    """Whether a scale such as "million" is written with it."""


def parse_amount(text: str, decimal_mark: str = "") -> Amount | None:
    """Parses a text that is one number, with its sign, currency, percent sign, scale and unit.

    Numbers with a leading zero, such as "007", are identifiers and not parsed.

    Args:
        text: the text.
        decimal_mark: ``point`` or ``comma``, which decides on "1.234" and "1,234".

    Returns:
        The amount; ``None`` if the text has anything else.
    """
    if len(text) > MAX_AMOUNT_LENGTH:
        return None
    text = _expand_fraction(fold_typography(text))
    is_negative = text.startswith("(") and text.endswith(")")
    accounting = _ACCOUNTING.fullmatch(text) if "(" in text else None
    if is_negative:
        text = text[1:-1].strip()
    elif accounting and (find_currency(accounting["before"]) or find_currency(accounting["after"])):
        is_negative = True
        text = f"{accounting['before']} {accounting['number']} {accounting['after']}".strip()
    match = _AMOUNT.fullmatch(text)
    if match is None or (match["sign"] and match["inner"]):
        return None
    after, number_text = match["after"].strip(), match["number"]
    no_cents = _NO_CENTS.match(after)
    if no_cents is not None:
        after = after[no_cents.end() :].strip()
        number_text += f"{no_cents['point']}0" if no_cents["point"] else ""
    elif after.startswith("-") and after != "-":  # a range or an identifier
        return None
    number = parse_decimal(number_text)
    if number is None:
        return None
    is_negative ^= "-" in match["sign"] + match["inner"] + after[:1]
    before = _split_scale(match["before"]) if match["before"] else ()
    if before and not find_currency(before[-1]):
        return None
    words = [
        word
        for token in _TOKEN.findall(after.removeprefix("-").replace("d'", ""))
        for word in _split_scale(token)
    ]
    readings = [number, *_list_other_readings(number_text)]
    if decimal_mark and len(readings) > 1:
        # The preferred reading is that with a decimal point.
        readings = readings[1:] if decimal_mark == "comma" else readings[:1]
    return _build_amount(
        readings,
        [*before, *words],
        is_negative=is_negative,
        has_decimal_comma=_DECIMAL_COMMA.search(number_text) is not None,
        may_be_thousands=len(readings) > 1 and "." in number_text,
    )


def _expand_fraction(text: str) -> str:
    """Writes a fraction such as "1½", "1 1/2" or "1/2" with a decimal point.

    Only proper fractions in lowest terms are read, since "2/4" may be a page or a date.
    """
    if "/" not in text and (text.isascii() or not _VULGAR.search(text)):
        return text
    text = _VULGAR.sub(_write_vulgar, text).strip()
    if len(_FRACTION.findall(text)) != 1:
        return text
    return _FRACTION.sub(_write_fraction, text)


def _write_vulgar(match: re.Match[str]) -> str:
    return " " + unicodedata.normalize("NFKC", match[1]).replace("⁄", "/")


def _write_fraction(match: re.Match[str]) -> str:
    above, below = int(match[2]), int(match[3])
    if above >= below or below > MAX_FRACTION_DENOMINATOR or math.gcd(above, below) > 1:
        return match[0]
    # Many digits, so that it is no number with three decimals, which has two readings.
    return f"{int(match[1] or 0) + _EXACT.divide(Decimal(above), Decimal(below)):.30f}"


def _split_scale(token: str) -> tuple[str, ...]:
    """Splits a scale from the currency written with it: "k€", "Mio€", "TEUR", "万円"."""
    if not find_currency(token):
        for end in range(1, len(token)):
            scale = token[:end].lower()
            if (scale in SCALE_READINGS or scale in SCALE_LETTERS) and find_currency(token[end:]):
                # "T" is a thousand where it is one word with the currency.
                return ("tsd" if scale == "t" else scale, token[end:])
    return (token,)


def _build_amount(
    readings: list[Decimal],
    words: list[str],
    *,
    is_negative: bool,
    has_decimal_comma: bool,
    may_be_thousands: bool,
) -> Amount | None:
    """Builds an amount from the readings of its number and the words and signs beside it."""
    currency, symbol, percent, unit, is_open, has_scale = "", "", False, "", False, False
    is_money = any(map(find_currency, words))
    for place, word in enumerate(words):
        key = word.lower().rstrip(".")
        factors = SCALE_READINGS.get(key) or (SCALE_LETTERS.get(key, ()) if is_money else ())
        if key == "mil" and words[place + 1 : place + 2] in (["millones"], ["milhões"]):
            factors = (1000,)
        if not currency and find_currency(word):
            currency, symbol = find_currency(word), key
        elif factors and not unit:
            # The English reading comes first, but English has no decimal comma.
            is_english = key not in ("mil", "t") and not has_decimal_comma
            is_open |= len(factors) > 1 and not is_english
            has_scale = True
            readings = [
                _EXACT.multiply(number, Decimal(factor))
                for number in readings
                for factor in factors
            ]
        elif key in _PERCENT and not percent:
            percent = True
        elif key in _FILLERS and has_scale and not unit:
            continue
        else:
            unit = f"{unit} {word}".strip()
    unit = _normalise_unit(unit)
    if any(map(str.isdecimal, unit)):
        is_plain = not currency and not percent and len(readings) == 1
        return _add_up_parts(readings[0], unit, is_negative=is_negative) if is_plain else None
    if currency and may_be_thousands and currency not in THREE_DECIMALS:
        # Few amounts of money have three decimals, and in many countries a point is no decimal one.
        is_open = True
    number, *others = [one.copy_negate() if is_negative else one for one in readings]
    return Amount(number, currency, percent, unit, tuple(others), is_open, symbol, has_scale)


def _add_up_parts(number: Decimal, rest: str, *, is_negative: bool) -> Amount | None:
    """Adds up an amount in several units, each smaller than the one before: "1 h 30 min".

    Args:
        number: the first number.
        rest: what follows it: its unit, and further numbers with their units.
        is_negative: whether the whole is negative.
    """
    parts = _PARTS.fullmatch(rest)
    if parts is None or number != number.to_integral_value() or is_negative:
        return None
    units = [parts[1]]
    total = number
    for value, unit in _PART.findall(parts[2]):
        factor = _find_factor(units[-1], unit)
        if factor is None or Decimal(value) >= factor or total != total.to_integral_value():
            return None
        total = total * factor + Decimal(value)
        units.append(unit)
    return Amount(total, "", percent=False, unit=units[-1])


def _find_factor(unit: str, smaller: str) -> int | None:
    """Returns how many of a smaller unit are one unit, if that is a whole number."""
    kinds = find_quantity_kind(unit), find_quantity_kind(smaller)
    if kinds[0] is None or kinds[0] != kinds[1]:
        return None
    factor = float(
        get_unit_registry().Quantity(1, parse_unit(unit)).to(parse_unit(smaller)).magnitude
    )
    whole = round(factor)
    return whole if whole > 1 and abs(factor - whole) < 1e-9 * whole else None


def _normalise_unit(unit: str) -> str:
    """Writes the power of a unit in one way, as "m²" for "m2", "m^2" and "sqm"; drops a point."""
    unit = _POWER.sub(lambda match: "²³"[match[1] == "3"], unit.removesuffix("."))
    named = _POWER_NAMES.fullmatch(unit)
    if named is None:
        return unit
    return named["unit"] + ("³" if named["name"].lower().startswith("c") else "²")


_AMBIGUOUS: Final = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_DECIMAL_COMMA: Final = re.compile(r",\d{1,2}$")


def _list_other_readings(text: str) -> list[Decimal]:
    """Lists the readings of a number by a locale in which point and comma are the other way."""
    if _AMBIGUOUS.fullmatch(text) is None:
        return []
    return [Decimal(text.replace(".", "") if "." in text else text.replace(",", "."))]


def parse_decimal(text: str) -> Decimal | None:
    """Parses an unsigned number with separators of any common locale; ``None`` if it is none."""
    for pattern, dropped, decimal in _NUMBERS:
        if pattern.fullmatch(text):
            for separator in dropped:
                text = text.replace(separator, "")
            try:
                return Decimal(text.replace(decimal, "."))
            except InvalidOperation:
                return None
    return None


def to_decimal(number: float) -> Decimal | None:
    """Converts a JSON number exactly as it is written; ``None`` for NaN and infinity."""
    value = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    return value if value.is_finite() else None


def find_amount_rule(first: Amount, second: Amount) -> str | None:
    """Returns the rule by which two amounts are equal, or an empty string if they are different.

    A currency or percent sign may be missing on one side; a unit may not. "5%" is 5 and .05, but
    "0.5%" is .005 only: .5 would be 50 %. The result is ``None`` if what is written beside a number
    is no unit of measure, so that the texts may still be the same in another way.
    """
    if first.currency and second.currency and first.currency != second.currency:
        return ""
    if first.is_open or second.is_open:
        has_same_readings = (first.number, *first.others) == (second.number, *second.others)
        if not has_same_readings or first.is_open != second.is_open:
            return ""
    if first.unit or second.unit:
        return _find_unit_rule(first, second)
    if first.percent != second.percent:
        share, plain = (first, second) if first.percent else (second, first)
        is_same = plain.number == share.number.scaleb(-2, _EXACT) or (
            plain.number == share.number and abs(share.number) > 1
        )
        return "numbers" if is_same and not plain.currency else ""
    if first.number != second.number:
        return ""
    return "currencies" if first.currency or second.currency else "numbers"


def is_written_alike(number: Amount, other: Amount) -> bool:
    """Returns whether an amount with three digits after a point has the digits of a number."""
    has_three_decimals = all(one.number.as_tuple().exponent == -3 for one in (number, other))
    return has_three_decimals and number.number == other.number and len(other.others) == 1


def are_ambiguous_amounts(first: Amount, second: Amount) -> bool:
    """Returns whether unequal amounts would be the same by another of their readings."""
    if not is_same_unit(first.unit, second.unit):
        return False
    if first.percent != second.percent:
        # Up to 1, a number without the sign may be the share itself.
        is_open = first.number == second.number and 0 < abs(first.number) <= 1
        return is_open and not first.currency and not second.currency
    currencies = [
        {one.currency, *OPEN_SYMBOLS.get(one.symbol.rstrip("."), ())} for one in (first, second)
    ]
    has_currency = first.currency and second.currency
    if has_currency and currencies[0].isdisjoint(currencies[1]):
        return False
    is_same_number = first.number == second.number and not first.is_open | second.is_open
    if is_same_number and (first.currency == second.currency or not has_currency):
        return False  # refused for another reason, as "3.10" for "3.1"
    return not {first.number, *first.others}.isdisjoint((second.number, *second.others))


def _find_unit_rule(first: Amount, second: Amount) -> str | None:
    has_same_sides = (first.currency, first.percent) == (second.currency, second.percent)
    is_same_number = has_same_sides and first.number == second.number
    if is_same_number and is_same_unit(first.unit, second.unit):
        return "numbers"
    if first.unit == second.unit and has_same_sides:
        return ""
    kinds = find_quantity_kind(first.unit), find_quantity_kind(second.unit)
    if kinds[0] is None or kinds[1] is None:
        return None
    if not has_same_sides or kinds[0] != kinds[1]:
        return ""
    # Both ways, since 0 °C is 32 °F but for the noise of computing.
    is_same = _is_same_quantity(first, second) or _is_same_quantity(second, first)
    return "units" if is_same else ""


def _is_same_quantity(first: Amount, second: Amount) -> bool:
    """Returns whether two amounts in units of the same dimension are equal after conversion."""
    quantity = get_unit_registry().Quantity(float(first.number), parse_unit(first.unit))
    try:
        magnitude = quantity.to(parse_unit(second.unit)).magnitude
    except (ArithmeticError, TypeError, ValueError):
        return False  # a temperature is no difference of temperatures
    difference = abs(magnitude - float(second.number))
    return bool(difference <= _MAX_RELATIVE_ERROR * abs(float(second.number)))
