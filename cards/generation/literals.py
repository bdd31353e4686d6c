"""Parses numbers in term text, and finds the properties whose values the shapes compare."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from kg.shapes import Shapes
from kg.terms import RDF_LANG_STRING, XSD, LiteralParts, parse_literal
from kg.words.readable_names import is_missing_value

MAX_NEAR_DIFFERENCE = 0.1
"""Two numbers are nearly equal if they differ by at most this share of the larger one."""
MIN_MEASURE = 20
"""Whole numbers below it are counts or ranks, which are never nearly equal."""
YEARS = range(1000, 2200)
"""Whole numbers that may be years, which are never nearly equal either."""

_DATE = re.compile(r"-?\d{4,}-\d\d-\d\d.*|-?\d{4,}-\d\d")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_DATE_PARTS = re.compile(r"(-?\d{4,})(?:-(\d\d)(?:-(\d\d)(T.*)?)?)?(?:Z|[+-]\d\d:\d\d)?")
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
        value = float(term[1:].rpartition('"')[0])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


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

    >>> read_alike('"1990"^^<http://www.w3.org/2001/XMLSchema#gYear>', '"1990"')
    True
    """
    if not (term.startswith('"') and other.startswith('"')):
        return False
    number = parse_number(term)
    if number is not None and number == parse_number(other):
        return True
    texts = [_normalise(parse_literal(t)) for t in (term, other)]
    return texts[0] == texts[1]


def _normalise(literal: LiteralParts) -> str:
    text = " ".join(literal.lexical.split()).casefold()
    return _TRUTH_VALUES.get(text, text) if literal.datatype == XSD + "boolean" else text


def are_nearly_equal(term: str, other: str) -> bool:
    """Returns whether one value may be said of what has the other, without being plainly false.

    Two recordings of a song have lengths of 246 and 249 seconds, and a file of 1982 to 1984 is one
    of 1983, too. So measures that differ by a tenth or less are nearly equal, and so are texts with
    years whose ranges overlap. Counts, dates and years are exact, but a year and a date within it
    are nearly equal. Texts in two languages, and values with two units, may say the same, and
    "unknown" says nothing.

    >>> are_nearly_equal('"246"', '"249"'), are_nearly_equal('"1982-1984"', '"1983 (copy)"')
    (True, True)
    """
    if read_alike(term, other):
        return True
    literals = [parse_literal(t) for t in (term, other) if t.startswith('"')]
    if any(is_missing_value(literal.lexical) for literal in literals):
        return True
    if len(literals) == 2 and (_differ_in_language_or_unit(*literals) or _share_date(*literals)):
        return True
    number, other_number = parse_number(term), parse_number(other)
    if number is not None and other_number is not None:
        largest = max(abs(number), abs(other_number))
        is_exact = number.is_integer() and other_number.is_integer()
        if is_exact and (largest < MIN_MEASURE or {number, other_number}.issubset(YEARS)):
            return False
        return abs(number - other_number) <= MAX_NEAR_DIFFERENCE * largest
    texts = [literal.lexical for literal in literals]
    if len(texts) < 2 or any(map(_DATE.fullmatch, texts)):
        return False
    years, other_years = (sorted(map(int, _YEAR.findall(text))) for text in texts)
    if not years or not other_years:
        return False
    return years[0] <= other_years[-1] and other_years[0] <= years[-1]


def _differ_in_language_or_unit(literal: LiteralParts, other: LiteralParts) -> bool:
    """Returns whether two literals are in different languages, or have units as datatypes."""
    languages = {part.language.partition("-")[0] for part in (literal, other)}
    if len(languages) == 2:
        return True
    datatypes = {literal.datatype, other.datatype}
    return len(datatypes) == 2 and not all(
        name == RDF_LANG_STRING or name.startswith(XSD) for name in datatypes
    )


def _share_date(literal: LiteralParts, other: LiteralParts) -> bool:
    """Returns whether one literal is a date, and the other is less exact and says nothing else."""
    found = [_DATE_PARTS.fullmatch(part.lexical.strip()) for part in (literal, other)]
    if found[0] is None or found[1] is None:
        return False
    parts = [[part for part in match.groups() if part is not None] for match in found if match]
    n_shared = min(map(len, parts))
    return len(parts[0]) != len(parts[1]) and parts[0][:n_shared] == parts[1][:n_shared]
