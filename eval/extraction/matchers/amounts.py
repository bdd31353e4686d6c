"""Parses numbers as people write them, with currency, percent sign, scale word or unit.

Values are decimal numbers, so that "0.1" equals 0.1 and long numbers stay exact. Separators are
read so that each notation has one reading: a single comma before exactly three digits separates
thousands ("1,234" is 1234), a single point is a decimal point ("1.234" is not 1234).
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eval.extraction.matchers.spellings import fold_typography

if TYPE_CHECKING:
    from pint import UnitRegistry

MAX_AMOUNT_LENGTH: Final = 60
"""Maximum length of a text that is parsed as an amount."""

CURRENCIES: Final = {
    **dict.fromkeys(["$", "us$", "usd", "dollar", "dollars"], "USD"),
    **dict.fromkeys(["€", "eur", "euro", "euros"], "EUR"),
    **dict.fromkeys(["£", "gbp"], "GBP"),
    **dict.fromkeys(["¥", "jpy", "yen", "円"], "JPY"),
    **dict.fromkeys(["₹", "inr", "rs", "rs.", "rupees"], "INR"),
    **dict.fromkeys(["chf", "fr.", "sfr"], "CHF"),
    **dict.fromkeys(["a$", "au$", "aud"], "AUD"),
    **dict.fromkeys(["c$", "ca$", "cad"], "CAD"),
    **dict.fromkeys(["nz$", "nzd"], "NZD"),
    **dict.fromkeys(["hk$", "hkd"], "HKD"),
    **dict.fromkeys(["s$", "sgd"], "SGD"),
    **dict.fromkeys(["r$", "brl"], "BRL"),
    **dict.fromkeys(["₩", "krw"], "KRW"),
    **dict.fromkeys(["₽", "rub"], "RUB"),
    **dict.fromkeys(["₺", "try"], "TRY"),
    **dict.fromkeys(["₪", "ils"], "ILS"),
    **dict.fromkeys(["zł", "pln"], "PLN"),
    **{code: code.upper() for code in ["cny", "sek", "nok", "dkk", "mxn", "zar", "czk", "huf"]},
}
"""Currency code by symbol, code or name, in lower case. "$" is the US dollar and "¥" the yen; other
ambiguous symbols, such as "kr", are units that equal only themselves."""

_SCALES: Final = {
    **dict.fromkeys(["thousand", "tsd"], 10**3),
    **dict.fromkeys(["million", "millions", "mio", "mn"], 10**6),
    **dict.fromkeys(["billion", "billions", "bn", "mrd"], 10**9),
    **dict.fromkeys(["trillion", "trillions"], 10**12),
}
_MONEY_SCALES: Final = {"k": 10**3, "m": 10**6, "b": 10**9}
"""Letters that are scales beside a currency only; "5 m" are metres."""
_EXACT: Final = Context(prec=2 * MAX_AMOUNT_LENGTH)
"""Precision that loses no digit; the usual context rounds to 28."""
_PERCENT: Final = frozenset(["%", "percent", "pct", "prozent"])

_AMOUNT: Final = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<before>[^\W\d_]{0,4}[.$€£¥₹₩₽₺₪]?)\s*(?P<inner>[+-]?)\s*"
    r"(?P<number>\d(?:[\d.,']|[ ](?=\d{3}(?!\d)))*\d|\d|\.\d+)"
    r"(?P<after>.*)"
)
_TOKEN: Final = re.compile(r"[%$€£¥₹₩₽₺₪-]|[^\s%$€£¥₹₩₽₺₪-][^\s%€£¥₹₩₽₺₪-]*")
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
_UNIT: Final = re.compile(r"[a-zA-Zµμ°Ω]{1,15}[²³23]?(?:/[a-zA-Zµμ°Ω]{1,15}[²³23]?)?")
_MAX_RELATIVE_ERROR: Final = 1e-9
"""Largest relative difference of two quantities that are equal after conversion."""
_PREFIX_UNITS: Final = re.compile(r"[\d.,]\s*(?P<unit>[^\W\d_]{2,5}(?:/[^\W\d_]{1,4})?)\W*$")
_BITS_OR_BYTES: Final = re.compile(r"[kKMGTPE]i?[bB](?:ps|/[^\W\d_]{1,4})?")


class Amount(NamedTuple):
    """A number with what is written beside it."""

    number: Decimal
    currency: str
    """ISO code; empty if none is given."""
    percent: bool
    unit: str
    """As written; empty if none is given."""


def parse_amount(text: str) -> Amount | None:
    """Parses a text that is one number, with its sign, currency, percent sign, scale and unit.

    Numbers with a leading zero, such as "007", are identifiers and not parsed. Returns ``None`` if
    the text has anything else.
    """
    if len(text) > MAX_AMOUNT_LENGTH:
        return None
    text = fold_typography(text)
    is_negative = text.startswith("(") and text.endswith(")")
    match = _AMOUNT.fullmatch(text[1:-1].strip() if is_negative else text)
    if match is None:
        return None
    number = parse_decimal(match["number"])
    if number is None:
        return None
    currency, percent, unit = "", False, ""
    if match["before"]:
        currency = CURRENCIES.get(match["before"].lower(), "")
        if not currency:
            return None
    after = match["after"].strip()
    if after.startswith("-") and after != "-":  # a range or an identifier
        return None
    is_negative ^= "-" in match["sign"] + match["inner"] + after[:1]
    for token in _TOKEN.findall(after.removeprefix("-")):
        key = token.lower()
        if key in CURRENCIES and not currency:
            currency = CURRENCIES[key]
        elif key in _SCALES and not unit:
            number = _EXACT.multiply(number, Decimal(_SCALES[key]))
        elif key in _MONEY_SCALES and currency and not unit:
            number = _EXACT.multiply(number, Decimal(_MONEY_SCALES[key]))
        elif key in _PERCENT and not percent:
            percent = True
        elif unit:
            unit += f" {token}"
        else:
            unit = token
    if any(map(str.isdecimal, unit.rstrip("23"))):
        return None
    return Amount(number.copy_negate() if is_negative else number, currency, percent, unit)


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

    A currency or percent sign may be missing on one side; a unit may not. "5%" is 5 and .05. The
    result is ``None`` if what is written beside a number is no unit of measure, so that the texts
    may still be the same in another way.
    """
    if first.currency and second.currency and first.currency != second.currency:
        return ""
    if first.unit or second.unit:
        return _find_unit_rule(first, second)
    if first.percent != second.percent:
        share, plain = (first, second) if first.percent else (second, first)
        is_same = not plain.currency and plain.number in (
            share.number,
            share.number.scaleb(-2, _EXACT),
        )
        return "numbers" if is_same else ""
    if first.number != second.number:
        return ""
    return "currencies" if first.currency or second.currency else "numbers"


def _find_unit_rule(first: Amount, second: Amount) -> str | None:
    has_same_sides = (first.currency, first.percent) == (second.currency, second.percent)
    if first.unit == second.unit and has_same_sides:
        return "numbers" if first.number == second.number else ""
    units = parse_unit(first.unit), parse_unit(second.unit)
    if units[0] is None or units[1] is None:
        is_same_word = first.unit.lower() == second.unit.lower() and has_same_sides
        return "numbers" if is_same_word and first.number == second.number else None
    if not has_same_sides or units[0].dimensionality != units[1].dimensionality:
        return ""
    return "units" if _is_same_quantity(first, second) else ""


def _is_same_quantity(first: Amount, second: Amount) -> bool:
    """Returns whether two amounts in units of the same dimension are equal after conversion."""
    quantity = get_unit_registry().Quantity(float(first.number), parse_unit(first.unit))
    try:
        magnitude = quantity.to(parse_unit(second.unit)).magnitude
    except (ArithmeticError, ValueError):
        return False
    difference = abs(magnitude - float(second.number))
    return bool(difference <= _MAX_RELATIVE_ERROR * abs(float(second.number)))


@cache
def get_unit_registry() -> UnitRegistry[Any]:
    """Returns the units of measure; loading them takes a good part of a second."""
    from pint import UnitRegistry

    return UnitRegistry()


@lru_cache(1_000)
def parse_unit(text: str) -> Any:
    """Returns a unit of ``pint``, read in lower case if it is unknown as written, or ``None``."""
    if not _UNIT.fullmatch(text.replace(" ", "").replace("_", "")):
        return None
    name = text.replace("²", "**2").replace("³", "**3").replace(" ", "_")
    for candidate in (name, name.lower()):
        try:
            return get_unit_registry().parse_units(candidate)
        except Exception:  # noqa: S112
            # ``pint`` raises many kinds of errors for texts that are no units.
            continue
    return None


def differs_in_prefix(first: str, second: str) -> bool:
    """Returns whether two units differ in milli and mega, pico and peta, or bit and byte.

    "5 mW" and "5 MW" are different, although their letters are the same but for case; so are "5 Gb"
    and "5 GB".
    """
    matches = _PREFIX_UNITS.search(first), _PREFIX_UNITS.search(second)
    if matches[0] is None or matches[1] is None:
        return False
    units = matches[0]["unit"], matches[1]["unit"]
    if units[0][0] == units[1][0] and all(map(_BITS_OR_BYTES.fullmatch, units)):
        return ("B" in units[0]) != ("B" in units[1])
    return (
        units[0] != units[1]
        and units[0][1:] == units[1][1:]
        and units[0][0] in "mMpP"
        and units[0][0].lower() == units[1][0].lower()
    )
