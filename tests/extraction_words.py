"""Finds dates and numbers in the four languages of the extraction samples."""

from __future__ import annotations

import re

SIGN_PATTERN = r"((?<![\w.,)])[-−] ?)?"  # a minus sign, not the hyphen of "12-15" or "A-3"
ENGLISH_NUMBER = re.compile(SIGN_PATTERN + r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")
NUMBER = re.compile(
    SIGN_PATTERN + r"(\d{1,3}(?:[., '’\u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?)"
)
DATE_OR_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]+)?|\d{1,2}:\d\d(?::\d\d)?")
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre"
    " diciembre",
}
WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
}
# Words that state a number, some of them only in the samples, such as "free" for a price of 0.
NUMBER_WORDS = {
    "en": {
        0: "none|no|not|free|nothing|empty|full|all|never",
        1: "one|a|an|once|first|attempted",
        2: "two|twice|second|both",
        3: "three|third",
        4: "four|fourth",
        5: "five",
        6: "six",
        7: "seven",
        8: "eight",
        9: "nine",
        10: "ten",
        11: "eleven",
        12: "twelve",
        19: "nineteen",
    },
    "de": {
        0: "kein|keine|keinen|keiner|nicht|nichts|kostenlos|alle|ohne",
        1: "ein|eine|einen|einem|einer|eines|einmal|erste|ersten",
        2: "zwei|zweimal|zweiten|zweite|beide|beiden",
        3: "drei|dreimal|dritte|dritten",
        4: "vier|viermal",
        5: "fünf|fünfmal",
        6: "sechs|sechsmal",
        7: "sieben",
        8: "acht",
        9: "neun|neunmal",
        10: "zehn",
        11: "elf",
        12: "zwölf",
    },
    "fr": {
        0: "aucun|aucune|pas|rien|gratuit|gratuite|sans",
        1: "un|une|première|premier",
        2: "deux|deuxième|seconde",
        3: "trois|troisième",
        4: "quatre|quatrième",
        5: "cinq",
        6: "six",
        7: "sept",
        8: "huit",
        9: "neuf",
        10: "dix",
        12: "douze",
    },
    "es": {
        0: "ningún|ninguna|ninguno|no|nada|gratuito|gratuita|sin",
        1: "un|una|uno|primero|primera",
        2: "dos|segundo|segunda",
        3: "tres|tercero|tercera",
        4: "cuatro",
        5: "cinco",
        6: "seis",
        7: "siete",
        8: "ocho",
        9: "nueve",
        10: "diez",
        12: "doce",
        14: "catorce",
        16: "dieciséis",
    },
}


def find_numbers(text: str, language: str) -> set[float]:
    """Returns the numbers that are written in digits, without times of day and ISO dates.

    English separates thousands by commas. In the other languages a comma or a dot may separate
    thousands or decimals, so both readings are returned.
    """
    text = DATE_OR_TIME.sub(" | ", text)
    numbers: set[float] = set()
    for match in (ENGLISH_NUMBER if language == "en" else NUMBER).finditer(text):
        digits = re.sub("[ '’\u00a0\u202f]", "", match.group(2))
        readings = [digits.replace(",", "")]
        if language != "en":
            readings.append(digits.replace(".", "").replace(",", "."))
        sign = -1 if match.group(1) else 1
        numbers |= {sign * float(reading) for reading in readings if reading.count(".") <= 1}
    return numbers


def contains_date(value: str, text: str, language: str) -> bool:
    """Returns whether a text states the day and month of an ISO date, and its year anywhere."""
    year, month, day = map(int, value.split("-"))
    month_name = MONTHS[language].split()[month - 1]
    patterns = [rf"\b0?{day}[/.]0?{month}[/.]{year}"]
    if language == "en":
        month_name = rf"(?:{month_name}|{month_name[:3]}\b\.?)"
        ordinal_day = rf"\b0?{day}(?:st|nd|rd|th)?"
        patterns += [
            rf"{ordinal_day}(?: of)? {month_name}",
            rf"{ordinal_day} (?:to|and) \d+ {month_name}",
            rf"{month_name} {ordinal_day}\b",
        ]
    elif language == "de":
        patterns += [
            rf"\b{day}\.(?: (?:bis|und) \d+\.)? {month_name}\b",
            rf"\b0?{day}\.0?{month}\.(?!\d)",
        ]
    elif language == "fr":
        patterns += [rf"\b{day}(?:er)?(?: (?:au|et) \d+)? {month_name}\b"]
    else:
        patterns += [rf"\b{day}(?: (?:al|y) \d+)? de {month_name}\b"]
    return str(year) in text and any(re.search(pattern, text) for pattern in patterns)


def contains_number(value: float, text: str, language: str) -> bool:
    """Returns whether a text states a number.

    The number may stand in digits, in words, in millions, as rating stars or without its minus
    sign.
    """
    words = NUMBER_WORDS[language].get(int(value)) if value == int(value) else None
    numbers_in_digits = find_numbers(text, language)
    return bool(
        (words and re.search(rf"\b(?:{words})\b", text, re.IGNORECASE))
        or (
            value >= 1e5
            and value / 1e6 in numbers_in_digits
            and re.search(r"[Mm]ill?i?on|\dm\b", text)
        )
        or (value < 0 and -value in numbers_in_digits)
        or (value in numbers_in_digits)
        or (0 < value <= 5 and "★" * int(value) + "☆" in text)
    )
