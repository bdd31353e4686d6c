"""Reads units of measure, and decides whether two that differ only in case are the same."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pint import UnitRegistry

_UNIT: Final = re.compile(r"[a-zA-Zµμ°Ω]{1,15}[²³23]?(?:/[a-zA-Zµμ°Ω]{1,15}[²³23]?)?")
_UNIT_AT_END: Final = re.compile(r"[\d.,]\s*([^\W\d_]{2,5}(?:/[^\W\d_]{1,4})?)\W*$")
"""A unit after a number at the end of a text. A single letter is none, as in "Main Road 12 A"; in a
text in capitals, "900 G" are grams."""
_BITS_OR_BYTES: Final = re.compile(r"[kKMGTPE]i?[bB](?:ps|/[^\W\d_]{1,4})?")
_UNLIKELY_UNIT: Final = re.compile(r"(?:constant|_of_light|_charge)$|\w(?:year|barn)$")
"""Names of units of ``pint`` that are hardly meant: constants as "k", and those of "ma", "db"."""


@cache
def get_unit_registry() -> UnitRegistry[Any]:
    """Returns the units of measure; loading them takes a good part of a second."""
    from pint import UnitRegistry

    return UnitRegistry()


def parse_unit(text: str) -> Any:
    """Returns a unit of ``pint``, read in lower case if it is unknown as written, or ``None``."""
    unit = _read_unit(text)
    return _read_unit(text.lower()) if unit is None else unit


@lru_cache(1_000)
def _read_unit(text: str) -> Any:
    """Returns the unit of ``pint`` that is written so, or ``None``."""
    if not _UNIT.fullmatch(text.replace(" ", "").replace("_", "")):
        return None
    name = text.replace("²", "**2").replace("³", "**3").replace(" ", "_")
    try:
        # The calorie of food, which ``pint`` does not know, is a thousand others.
        return get_unit_registry().parse_units("kcal" if name == "Cal" else name)
    except Exception:
        # ``pint`` raises many kinds of errors for texts that are no units.
        return None


def differs_in_unit(first: str, second: str) -> bool:
    """Returns whether two texts that are the same but for case end with different units.

    "5 mW" and "5 MW" are different, and "5 Gb" and "5 GB".
    """
    units = [
        match[1] for match in (_UNIT_AT_END.search(first), _UNIT_AT_END.search(second)) if match
    ]
    return len(units) == 2 and not is_same_unit(*units)


def is_same_unit(first: str, second: str) -> bool:
    """Returns whether two units are written alike, or in another case without another meaning.

    As written, "mW" and "MW" are different units, and so are "s" and "S", "cal" and "Cal". A longer
    one in capitals ("MM", "Min") is read in lower case unless it is the same unit with another
    prefix: what it would be as written, a megamolar or a megainch, is hardly ever meant.
    """
    if first == second or first.lower() != second.lower():
        return first == second
    if first[0] == second[0] and all(map(_BITS_OR_BYTES.fullmatch, (first, second))):
        return ("B" in first) == ("B" in second)
    units = _read_unit(first), _read_unit(second)
    if units[0] is None or units[1] is None or units[0] == units[1]:
        return True
    if len(first) > 1 and units[0].dimensionality == units[1].dimensionality:
        return False
    is_capitalised = len(first) > 1 and any(
        one in (other.upper(), other[0].upper() + other[1:])
        for one, other in ((first, second), (second, first))
    )
    return is_capitalised or any(map(_UNLIKELY_UNIT.search, map(str, units)))
