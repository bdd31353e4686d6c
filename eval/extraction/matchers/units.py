"""Reads units of measure, and decides whether two that differ only in case are the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pint import UnitRegistry

from eval.extraction.matchers.currencies import find_currency
from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.spellings import MAX_FOLDED_LENGTH
from kg.base.plain_text import list_words

_UNIT: Final = re.compile(r"[a-zA-Zµμ°Ω]{1,15}[²³23]?(?:/[a-zA-Zµμ°Ω]{1,15}[²³23]?)?")
_NUMBER_WITH_UNIT: Final = re.compile(
    r"(?<![\d.,])(?P<number>[\d.,]*\d)(?P<space>\s*)(?P<unit>[^\W\d_]{1,5}(?:/[^\W\d_]{1,4})?)(?![\w/])"
)
_DECIMAL: Final = re.compile(r"\d+[.,]\d+")
_DATA: Final = re.compile(
    r"(?P<prefix>[kKmMgGtTpPeE]i?)?(?P<unit>[bB])(?P<rate>ps|/[^\W\d_]{1,4})?"
)
"""Bits and bytes, as sizes or rates."""
_UNLIKELY_UNIT: Final = re.compile(r"(?:constant|_of_light|_charge)$|\w(?:year|barn)$")
"""Names of units of ``pint`` that are hardly meant: constants as "k", and those of "ma", "db"."""
_HYPHEN: Final = re.compile(r"(?<=[^\W\d_]) ?- ?(?=[^\W\d_])")
_TORQUE: Final = re.compile(r"([kmM]?N)(c?m)")
_BIT_RATE: Final = re.compile(r"([kMGT]?)bps")
"""The rate of bits, which ``pint`` reads as that of symbols."""
_OFTEN_MEGA: Final = re.compile(
    r"m(?:Hz|Wh?|Pa|Ω|[oO]hms?|VA?|J|N|eV|Sv|Bq|Gy|Ci)(?:/(?:s|h|k|c?m)[²³23]?)?"
)
"""Units of a thousandth of which a million is in use too. Of grams, litres, moles, bars, seconds,
ampere hours or millimetres of mercury it is not: "MG/DL" and "MMHG" are only in capitals."""
_OTHER_MEANINGS: Final = frozenset(["fps"])
"""Symbols of ``pint`` that mean something else in documents: frames, not feet."""
_ELEMENTS: Final = frozenset(
    list_words("Bh Bi Bk Cf Cn Co Cs Cu Hf Hs Nb Nh Ni Np Os Pb Po Pu Sb Sc Sn Yb")
)
"""Symbols of elements of which both letters are elements too: "Co" is cobalt and "CO" a gas. Words
such as "No" and "Si" (yes) are left out."""
_IN_FORMULAS: Final = frozenset(
    list_words(
        "H Li Be B C N O F Na Mg Al Si P S Cl K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Rb "
        "Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Sm Eu Gd Tb Dy Ho Er "
        "Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Th U Np Pu Am"
    )
)
"""Elements that compounds are made of."""
_FORMULA: Final = re.compile(r"(?=[^0-9]*[0-9])(?:[A-Z][a-z]?[0-9]{0,3}){2,12}")
_ELEMENT: Final = re.compile(r"[A-Z][a-z]?")
_HEXADECIMAL: Final = re.compile(r"[0-9A-Fa-f]+")
_WORDS: Final = {
    "year": "y yrs jahr jahre jahren an ans année années año años anno anni ano anos jaar jaren",
    "month": "monat monate monaten mois mes meses mese mesi mês maand maanden",
    "week": "woche wochen semaine semaines semana semanas settimana settimane weken",
    "day": "tag tage tagen jour jours día días giorno giorni dia dias dagen",
    "hour": "stunde stunden std heure heures hora horas ora ore uur uren",
    "minute": "minuten minuto minutos minuti minuut",
    "second": "sekunde sekunden seconde secondes segundo segundos secondi seconden",
    "gram": "gramm gramme grammes gramo gramos grammo grammi grama gramas",
    "kilogram": "kilogramm kilogramme kilogrammes kilogramo kilogramos chilogrammo chilogrammi",
    "liter": "litro litros litri",
    "meter": "mètre mètres metro metros metri",
    "kilometer": "kilomètre kilomètres kilómetro kilómetros chilometro chilometri",
    "inch": '" zoll',
    "degree_Celsius": "degree_celsius degrees_celsius deg_c degrees_c degree_c grad_celsius",
    "degree_Fahrenheit": "degree_fahrenheit degrees_fahrenheit deg_f degrees_f degree_f",
}
_NAMES: Final = {name: unit for unit, names in _WORDS.items() for name in list_words(names)}
"""Names in other languages and spellings, in lower case, "_" for a space → the name that ``pint``
reads. Those that are symbols of ``pint`` are left out: "dag" are decagrams."""
_KINDS: Final = {
    **dict.fromkeys(["sievert", "rem"], "equivalent dose"),
    **dict.fromkeys(["gray", "rads"], "absorbed dose"),
    **dict.fromkeys(["becquerel", "curie", "rutherford", "counts_per_second"], "activity"),
    **dict.fromkeys(["bit", "byte"], "information"),
    **dict.fromkeys(["lumen", "lux"], "luminous flux"),
    **dict.fromkeys(["radian", "degree", "turn", "grade", "arcminute", "arcsecond"], "angle"),
    **dict.fromkeys(["revolutions_per_minute", "revolutions_per_second"], "angle"),
    **dict.fromkeys(["steradian", "square_degree"], "solid angle"),
    **{"volt_ampere": "apparent power", "baud": "symbols", "hertz": "frequency"},
    **dict.fromkeys(["decibel", "neper", "bel"], "level"),
}
"""Kinds of quantities that have the dimension of another: a gray is no sievert."""


@cache
def get_unit_registry() -> UnitRegistry[Any]:
    """Returns the units of measure; loading them takes a good part of a second."""
    from pint import UnitRegistry

    return UnitRegistry()


def parse_unit(text: str) -> Any:
    """Returns a unit of ``pint``, read in lower case if it is unknown as written, or ``None``.

    In lower case, "dB/m" and "KB" would be barns, and "US" microseconds.
    """
    unit = _read_unit(text)
    if unit is None:
        unit = _read_unit(text.lower())
        return None if "barn" in str(unit) or text == "US" else unit
    return unit


@lru_cache(1_000)
def _read_unit(text: str) -> Any:
    """Returns the unit of ``pint`` that is written so, or ``None``."""
    text = _HYPHEN.sub(" ", text)
    known = _NAMES.get(text.replace(" ", "_").lower())
    if known is not None:
        return get_unit_registry().parse_units(known)
    if text in _OTHER_MEANINGS or not _UNIT.fullmatch(text.replace(" ", "").replace("_", "")):
        return None
    torque, rate = _TORQUE.fullmatch(text), _BIT_RATE.fullmatch(text)
    if torque is not None:
        name = f"{torque[1]}*{torque[2]}"
    elif rate is not None:
        name = f"{rate[1]}bit/s"
    else:
        name = text.replace("²", "**2").replace("³", "**3").replace(" ", "_")
    try:
        # The calorie of food, which ``pint`` does not know, is a thousand others.
        unit = get_unit_registry().parse_units("kcal" if name == "Cal" else name)
        unit.dimensionality  # noqa: B018  it fails for "dB/m", which is read as a unit
    except Exception:
        # ``pint`` raises many kinds of errors for texts that are no units.
        return None
    return unit


@lru_cache(1_000)
def find_quantity_kind(text: str) -> tuple[Any, ...] | None:
    """Returns what can be converted into each other; ``None`` if the text is no unit.

    That is the dimension, the kind of quantity where several have that dimension, and for a ratio
    of two things of one dimension also that: "g/kg" is a share by mass, "mL/L" one by volume.
    """
    unit = parse_unit(text)
    if unit is None:
        return None
    registry = get_unit_registry()
    parts = registry.Quantity(1, unit).unit_items()
    names = {next(iter(registry.parse_unit_name(name)), ("", name))[1] for name, _ in parts}
    kinds = {_KINDS[name] for name in names & _KINDS.keys()}
    if {"newton", "meter"} <= names and not text.count("/"):
        kinds.add("torque")
    base: tuple[Any, ...] = ()
    if unit.dimensionless and "/" in text:
        part = parse_unit(text.partition("/")[0])
        base = (text if part is None else part.dimensionality,)
    return (unit.dimensionality, frozenset(kinds), *base)


def differs_in_unit(first: str, second: str, *, strict: bool = False) -> bool:
    """Returns whether two texts that are the same but for case have different units or symbols.

    "5 mW" and "5 MW" are different, and "5 Gb" and "5 GB"; "10 S" and "10 s", "0.1 M NaCl" and
    "0.1 m NaCl"; of two letters, also without a number, "Mg" and "mg", "CO" and "Co". Where one of
    the texts has one case only, its letters say less: "12 A MAIN ROAD" is "12 a main road". If
    ``strict``, each letter after a number is a unit. Long texts are not searched.
    """
    if len(first) > MAX_FOLDED_LENGTH:
        return False
    if len(first) == len(second) == 2 and first.isalpha():
        return _differ_as_symbols(first, second)
    if first != second and _is_formula(first) and _is_formula(second):
        return True
    matches = (_NUMBER_WITH_UNIT.finditer(text) for text in (first, second))
    is_certain = partial(_is_certain_unit, text=first, other=second, is_money=_find_money(first))
    return any(
        one["unit"] != other["unit"]
        and (strict or len(one["unit"]) > 1 or is_certain(one))
        and not is_same_unit(one["unit"], other["unit"])
        for one, other in zip(*matches, strict=False)
    )


def fold_case_but_units(text: str) -> str:
    """Returns a text in lower case, except for units and symbols of which the case counts."""
    if len(text) == 2 and text.isalpha():
        keeps_case = text in _ELEMENTS or not is_same_unit(text, text.lower())
        return text if keeps_case else fold_case(text)
    folded = fold_case(text)
    if len(folded) != len(text) or len(text) > MAX_FOLDED_LENGTH:
        return folded
    is_certain = partial(_is_certain_unit, text=text, other=text, is_money=_find_money(text))
    for match in _NUMBER_WITH_UNIT.finditer(text):
        unit = match["unit"]
        is_unit = len(unit) > 1 or is_certain(match)
        # "mW" and "MW" are units, and "mw" is none.
        is_only_so = _read_unit(unit.lower()) is None and _read_unit(unit) is not None
        if is_unit and (is_only_so or not is_same_unit(unit, unit.lower())):
            folded = folded[: match.start("unit")] + unit + folded[match.end("unit") :]
    return folded


def is_cased_formula(text: str) -> bool:
    """Returns whether a text is a formula that may be another one in another case: "CoCl2"."""
    return _is_formula(text) and any(
        text[at : at + 2].capitalize() in _ELEMENTS for at in range(len(text) - 1)
    )


def _is_formula(text: str) -> bool:
    """Returns whether a text is a formula of two elements or more, with a number.

    "CoCl2" is one, and "COCl2" another; "SN10", which may be "Sn10", and "CF12" may be codes.
    """
    if _FORMULA.fullmatch(text) is None or _HEXADECIMAL.fullmatch(text):
        return False
    elements = set(_ELEMENT.findall(text))
    return len(elements) > 1 and elements <= _IN_FORMULAS


def _find_money(text: str) -> Callable[[], bool]:
    """Returns what tells, if asked, whether a text names a currency; it is looked up once."""
    return cache(lambda: any(map(find_currency, text.split())))


def _is_certain_unit(
    match: re.Match[str], text: str, other: str, is_money: Callable[[], bool]
) -> bool:
    """Returns whether a single letter after a number is a unit, and not part of an address.

    It is so after a decimal number, and after a number and a space where the text starts with them
    and ends there, or other letters show that case is no accident. "5 M EUR" is an amount of money.
    """
    if match["unit"] in "gG" or is_money():
        return False  # "900 G" are grams in capitals
    if _DECIMAL.fullmatch(match["number"]):
        return True
    starts = not text[: match.start()].strip("+-−± ")
    is_whole = match.end() == len(text.rstrip(" ."))
    has_one_case = any(one.isupper() or one.islower() for one in (text, other))
    return bool(match["space"]) and starts and (is_whole or not has_one_case)


def _differ_as_symbols(first: str, second: str) -> bool:
    """Returns whether two symbols of two letters that are the same but for case are different.

    "Mg" and "mg" are two units, "Co" is an element and "CO" two; "DE" is "de", and "GO" is "Go".
    """
    if _is_other_element(first, second) or _is_other_element(second, first):
        return True
    return not is_same_unit(first, second)


def _is_other_element(first: str, second: str) -> bool:
    return first in _ELEMENTS and second == first.upper()


def is_same_unit(first: str, second: str) -> bool:
    """Returns whether two units are written alike, or in another case without another meaning.

    As written, "mW" and "MW" are different units, and so are "s" and "S", "cal" and "Cal". A longer
    one in capitals ("MM", "Min") is read in lower case unless it is the same unit with another
    prefix: what it would be as written, a megamolar or a megainch, is hardly ever meant.
    """
    if first == second or first.lower() != second.lower():
        return first == second
    if " " in first:
        return all(map(is_same_unit, first.split(), second.split()))
    data = _DATA.fullmatch(first), _DATA.fullmatch(second)
    if len(first) > 1 and data[0] and data[1]:
        return _read_data_unit(data[0]) == _read_data_unit(data[1])
    units = _read_unit(first), _read_unit(second)
    if _differs_in_prefix(first, second) or _differs_in_prefix(second, first):
        return False
    if units[0] is None or units[1] is None or units[0] == units[1]:
        return True
    if len(first) > 1 and units[0].dimensionality == units[1].dimensionality:
        return False
    if _TORQUE.fullmatch(first) or _TORQUE.fullmatch(second):
        return False
    is_capitalised = len(first) > 1 and any(
        one in (other.upper(), other[0].upper() + other[1:])
        for one, other in ((first, second), (second, first))
    )
    return is_capitalised or any(map(_UNLIKELY_UNIT.search, map(str, units)))


def _differs_in_prefix(first: str, second: str) -> bool:
    """Returns whether one is "mHz", and the other has a large prefix in capitals: "MHZ".

    "NM" are nautical miles or newton metres, and no nanometres.
    """
    if (first, second) == ("NM", "nm"):
        return True
    return first.startswith("M") and _OFTEN_MEGA.fullmatch(second) is not None


def _read_data_unit(match: re.Match[str]) -> str:
    """Returns "b" for bits and "B" for bytes; in lower case, a size is in bytes, a rate in bits.

    But "kb" are kilobits, since that is how they are written.
    """
    if match["unit"] == "b" and match["prefix"].islower() and match["prefix"] != "k":
        return "b" if match["rate"] else "B"
    return match["unit"]
