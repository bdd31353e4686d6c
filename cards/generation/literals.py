"""Compares literals as a reader does, and finds the properties whose values the shapes compare."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from kg.quantities import MOMENT, ZONED_MOMENT, Quantity, parse_quantity
from kg.shapes import Shapes
from kg.terms import RDF_LANG_STRING, XSD, LiteralParts, get_lexical, parse_literal
from kg.words.readable_names import is_missing_value

MAX_NEAR_DIFFERENCE = 0.1
"""Two numbers are nearly equal if they differ by at most this share of the larger one."""
MIN_MEASURE = 20
"""Whole numbers below it are counts or ranks, which are never nearly equal."""
YEARS = range(1000, 2200)
"""Whole numbers that may be years, which are never nearly equal either."""
MAX_ZONE = 14 * 3600
"""Seconds by which a time may differ between two time zones, or one and none."""

_DATE = re.compile(r"-?\d{4,}-\d\d-\d\d.*|-?\d{4,}-(?:0\d|1[0-2])")
_YEAR = re.compile(r"(?<![\d.,])\d{4}(?!\d)")
_DATE_PARTS = re.compile(r"(-?\d{4,})(?:-(\d\d)(?:-(\d\d)(T.*)?)?)?(?:Z|[+-]\d\d:\d\d)?")
_LIST_MARK = re.compile(r"[;&|\n]|(?<!\d),|,(?!\d)|\b(?:and|und|et)\b")
_WORDS = re.compile(r"\w+")
_NUMBER_FIRST = re.compile(r"[\W_]*\d")
_TRUTH_VALUES = {"1": "true", "0": "false"}


def parse_number(term: str) -> float | None:
    """Returns the value of a literal that is a finite number of any datatype, else None.

    Unlike ``kg.literals.parse_number`` this accepts years and plain strings of digits, because
    numbers are only compared with each other here.

    >>> parse_number('"12.5"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    12.5
    """
    if not term.startswith('"'):
        return None
    try:
        value = float(term[1 : term.rindex('"')])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse_number_or_year(term: str) -> float | None:
    """Returns the value of a literal that is a number, or the year of one that is a date."""
    value = parse_number(term)
    if value is None and term.startswith('"'):
        date = _DATE_PARTS.fullmatch(get_lexical(term).strip())
        value = float(date[1]) if date else None
    return value


def find_compared_predicates(pred: str, shapes: Shapes) -> Iterator[tuple[str, bool]]:
    """Finds the properties whose values the shapes compare with those of ``pred``.

    Yields:
        Each property, with True if its values must be above those of ``pred``, False if below.
    """
    for constraint in shapes.list_constraints():
        parameters = constraint.parameters
        compared_predicate = parameters.get("lessThan") or parameters.get("lessThanOrEquals")
        if compared_predicate and constraint.path == pred:
            yield str(compared_predicate), True
        elif compared_predicate and str(compared_predicate) == pred:
            yield constraint.path, False


def read_alike(term: str, other: str) -> bool:
    """Returns whether a reader takes two literals for the same, whatever their datatypes.

    Also if they are the same quantity in two notations, or differ in punctuation and spaces only.

    >>> read_alike('"1990"^^<http://www.w3.org/2001/XMLSchema#gYear>', '"1990"')
    True
    >>> read_alike('"PT60M"', '"PT1H"'), read_alike('"(030)"', '"030"')
    (True, True)
    """
    if not (term.startswith('"') and other.startswith('"')):
        return False
    literals = [parse_literal(t) for t in (term, other)]
    texts = [_normalise(literal.lexical) for literal in literals]
    if any(literal.datatype == XSD + "boolean" for literal in literals):
        texts = [_TRUTH_VALUES.get(text, text) for text in texts]
    quantity, other_quantity = (parse_quantity(literal.lexical) for literal in literals)
    if texts[0] == texts[1] or (quantity is not None and quantity == other_quantity):
        return True
    if quantity and other_quantity and quantity.unit == other_quantity.unit:
        return False
    bare_texts = ["".join(filter(str.isalnum, text)) for text in texts]
    return bare_texts[0] == bare_texts[1] and any(map(str.isdigit, bare_texts[0]))


def _normalise(lexical: str) -> str:
    text = " ".join(lexical.split())
    date = _DATE_PARTS.fullmatch(text)
    if date and date[3] and not date[4]:
        text = "-".join(filter(None, date.groups()))  # Without a time zone.
    return text.casefold()


def are_nearly_equal(term: str, other: str) -> bool:
    """Returns whether one value may be said of what has the other, without being plainly false.

    Two recordings of a song have lengths of 246 and 249 seconds, and a file of 1982 to 1984 is one
    of 1983, too. So measures that differ by a tenth or less are nearly equal, and so are ranges,
    and texts with years, that overlap. Counts, dates and years are exact, but a year and a date
    within it are nearly equal. Texts in two languages, and values with two units, may say the same,
    and "unknown" says nothing. Nor is it decided what other texts that begin with numbers say of
    each other: "10 × 15 cm" and "15 cm". A text that lists several, such as "Ann Lee, Bo Ray", has
    each of them.

    >>> are_nearly_equal('"246"', '"249"'), are_nearly_equal('"1982-1984"', '"1983 (copy)"')
    (True, True)
    >>> are_nearly_equal('"500 g"', '".5 kg"'), are_nearly_equal('"B-1234"', '"B-1235"')
    (True, False)
    """
    if read_alike(term, other):
        return True
    literals = [parse_literal(t) for t in (term, other) if t.startswith('"')]
    texts = [literal.lexical.strip() for literal in literals]
    if any(map(is_missing_value, texts)):
        return True
    if len(literals) < 2:
        return False
    if _differ_in_language_or_unit(*literals) or _share_date(*texts):
        return True
    quantities = [parse_quantity(text) for text in texts]
    first, second = quantities
    if first and second and {first.unit, second.unit} == {MOMENT, ZONED_MOMENT}:
        return abs(first.low - second.low) <= MAX_ZONE
    if all(map(_DATE.fullmatch, texts)):
        return False
    if first and second and first.unit == second.unit:
        return _nearly_overlap(first, second)
    years, other_years = map(_find_years, texts, quantities)
    if years and other_years:
        return years[0] <= other_years[-1] and other_years[0] <= years[-1]
    return bool(first and second) or _are_undecided(*texts) or _is_listed_in_other(*texts)


def _is_listed_in_other(text: str, other: str) -> bool:
    """Returns whether one of two texts is an item of the other, which seems to list several."""
    listed, single = sorted((text, other), key=len, reverse=True)
    words = " ".join(_WORDS.findall(single.casefold()))
    return (
        bool(words and _LIST_MARK.search(listed))
        and f" {words} " in f" {' '.join(_WORDS.findall(listed.casefold()))} "
    )


def are_whole_numbers(term: str, other: str) -> bool:
    """Returns whether two literals are whole numbers, without units."""
    numbers = [parse_number(t) for t in (term, other)]
    return all(number is not None and number.is_integer() for number in numbers)


def _nearly_overlap(first: Quantity, second: Quantity) -> bool:
    gap = max(first.low - second.high, second.low - first.high)
    if gap <= 0 or first.is_exact:
        return gap <= 0
    bounds = {b for b in (*first[1:], *second[1:]) if math.isfinite(b)}
    largest = max(map(abs, bounds))
    is_year = not first.unit and bounds.issubset(YEARS)
    if all(map(float.is_integer, bounds)) and (largest < MIN_MEASURE or is_year):
        return False
    return gap <= MAX_NEAR_DIFFERENCE * largest


def _find_years(text: str, quantity: Quantity | None) -> Sequence[int]:
    """Finds the years in a text, sorted; none in measures: 1760 yd are no year."""
    is_measure = quantity is not None and quantity.has_measuring_unit
    return [] if is_measure else sorted(map(int, _YEAR.findall(text)))


def _are_undecided(text: str, other: str) -> bool:
    """Returns whether two texts with numbers may say the same in two notations.

    So may those that begin with numbers, unless they have digits at the same places and no words.
    """
    begins = [_NUMBER_FIRST.match(t) is not None for t in (text, other)]
    if all(begins):
        form, other_form = (re.sub(r"\d", "0", t) for t in (text, other))
        return form != other_form or any(map(str.isalpha, form))
    numbers, other_numbers = ([n.lstrip("0") for n in re.findall(r"\d+", t)] for t in (text, other))
    return any(begins) and numbers == other_numbers


def _differ_in_language_or_unit(literal: LiteralParts, other: LiteralParts) -> bool:
    """Returns whether two literals are in different languages, or have units as datatypes."""
    languages = {part.language.partition("-")[0] for part in (literal, other)}
    if len(languages) == 2:
        return True
    datatypes = {literal.datatype, other.datatype}
    return len(datatypes) == 2 and not all(
        name == RDF_LANG_STRING or name.startswith(XSD) for name in datatypes
    )


def _share_date(text: str, other: str) -> bool:
    """Returns whether one text is a date, and the other is less exact and says nothing else."""
    return any(
        len(parts) != len(other_parts)
        and all(a == b for a, b in zip(parts, other_parts, strict=False))
        for parts in _list_date_parts(text)
        for other_parts in _list_date_parts(other)
    )


def _list_date_parts(text: str) -> list[list[str]]:
    """Lists the parts of a date: year, month, day and time; with a time zone, also those in UTC."""
    texts = [text]
    quantity = parse_quantity(text)
    if quantity and quantity.unit == ZONED_MOMENT:
        texts.append(datetime.fromtimestamp(quantity.low, UTC).isoformat())
    matches = filter(None, map(_DATE_PARTS.fullmatch, texts))
    return [[part for part in match.groups() if part is not None] for match in matches]
