"""Folds spellings that differ only in typography, punctuation or separators.

Each function returns a text that is equal for equal spellings. Nothing that can carry a meaning is
dropped: signs, decimal points, ranges, symbols such as ``+`` and ``#``, and superscripts stay.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import partial
from typing import Final

from eval.extraction.matchers.normalisation import MIN_UNSPACED_CODE_POINT

MAX_FOLDED_LENGTH: Final = 10_000
"""Longer texts are only compared literally."""

_TYPOGRAPHY: Final = {
    **dict.fromkeys("‘’‚‛′ʼ`´׳", "'"),
    **dict.fromkeys("“”„‟″«»״", '"'),
    **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
    "⁄": "/",
}
# Compatibility characters of other kinds change the meaning: 10² is not 102, ½ is not 1/2 alone.
_FOLDED_KINDS: Final = (
    "<wide>", "<narrow>", "<noBreak>", "<compat>", "<small>", "<font>", "<square>", "<vertical>",
)  # fmt: skip

_SUBSCRIPTS: Final = re.compile(r"(?<![\d₀-₉])[₀-₉]+")
_LETTER: Final = r"[^\W\d_]"
_ACRONYM: Final = re.compile(rf"(?<![\w.])(?:{_LETTER}\.)+{_LETTER}?(?![\w])")
_INITIALS: Final = re.compile(rf"(?<![\w.])((?:{_LETTER}\.)+)(?={_LETTER}{{2}})")
_SPACED_INITIALS: Final = re.compile(rf"(?<!\w)({_LETTER}\.)\s+(?={_LETTER}\.)")
_BRACKETS: Final = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_AMOUNT_IN_BRACKETS: Final = re.compile(r"[^\w]*\d[\d.,' ]*[^\w]*")
_QUOTED: Final = re.compile(r'"[^"]+"')
_QUOTES: Final = re.compile(r"""(?<![\w'"])["']+|(?<!\d)["']+(?!\w)""")
_IN_WORD: Final = re.compile(rf"(?<={_LETTER})[\"'](?={_LETTER})")
_AFTER_WORD: Final = re.compile(rf"(?<={_LETTER})[\"'](?=\d)")
_SPACED_MARK: Final = re.compile(r"\s+([.,;:]+)(?=\s|$)")
_WORD_END: Final = re.compile(r"(?<=\w)[.,;:]+(?=\s|$)|(?<=[)\]\"'])[.,;:]+(?=\s|$)")
# A mark with a letter on one side at least is no decimal or thousands separator.
_BESIDE_LETTER: Final = re.compile(
    rf"(?<={_LETTER})(?:[.,;:]+\s*(?=[^\W_])|\s+[,;:]+(?=\d{{3}}|\s*{_LETTER})\s*)"
    rf"|(?<=\d)(?:[.,;:]+|\s+[,;:]+\s*)(?={_LETTER})"
)
_BETWEEN_LETTERS: Final = re.compile(rf"(?<={_LETTER})(?:-|\s+-+\s+)(?={_LETTER})")
_UNSPACED: Final = f"[{chr(MIN_UNSPACED_CODE_POINT)}-{chr(sys.maxunicode)}]"
_UNSPACED_SPACE: Final = re.compile(rf"(?<={_UNSPACED})\s+(?=[^\W_])|(?<=[^\W_])\s+(?={_UNSPACED})")
_BREAK: Final = re.compile(rf"({_LETTER}{{2}})-\s+({_LETTER})")
_IN_RANGE: Final = re.compile(r"(?<=\d)\s+-\s+(?=\d)")
_AT_SLASH: Final = re.compile(r"\s*/\s*")
_MAIL: Final = re.compile(r"\w@\w")
_AND: Final = re.compile(r"(?<=\s)&(?=\s)")

_CODE: Final = re.compile(r"[^\W_]+(?:[ \-./_][^\W_]+)*")
_CODE_SEPARATOR: Final = re.compile(r"[ \-./_]")
_POINT: Final = re.compile(r"(?<=\d)[./](?=\d)")
# A number with a decimal point, or two numbers of which at least one has it; maybe with a currency
# before it and a unit after it.
_DECIMAL: Final = re.compile(
    rf"(?:{_LETTER}{{1,4}} ?)?(?:\d+\.\d+(?:[-/ ]\d+(?:\.\d+)?)?|\d+[-/ ]\d+\.\d+)"
    rf"(?: ?{_LETTER}{{1,15}})?"
)
# A version, the number of a section or an IP address: the number of digits in each part counts.
_DOTTED: Final = re.compile(r"\d{1,3}(?:\.\d{1,3})+")
_NUMBER: Final = r"(?:[1-9]\d{0,2}(?: \d{3})+|[1-9]\d{0,5})"
_RANGE: Final = re.compile(
    rf"({_NUMBER})-({_NUMBER})(?P<unit> ?{_LETTER}{{1,15}}(?:/{_LETTER}{{1,15}})?)?"
)
_YEARS: Final = re.compile(r"(?:fy ?)?(?:1[89]|20)\d\d([-/])(?:(?:1[89]|20)?\d\d)", re.I)
"""Two years, or a year of accounts: "2023-24", "2023/2024"."""
_GROUPED: Final = r"[1-9]\d{0,2}(?: \d{3})+"
_NUMBERS_APART: Final = re.compile(rf"(?!{_GROUPED}$){_GROUPED}(?: {_GROUPED})+")
_CODES_APART: Final = re.compile(r"([^\W\d_]{1,3})\d+-\1\d+")
"""From one code to another: "A100-A200"."""
_SMALL_NUMBERS: Final = re.compile(rf"\d{{1,3}}[-/]\d{{1,3}}(?: ?{_LETTER}{{1,15}})?")
"""Blood pressures, ratios and scores: "120-80", "101-99"."""
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH: Final = r"(?:0?[1-9]|1[0-2])"
_SHORT_DATE: Final = re.compile(
    rf"(?:(?:{_DAY}[-/]{_MONTH}|{_MONTH}[-/]{_DAY})[-/]\d\d?|\d\d?[-/]{_MONTH}[-/]{_DAY})"
    rf"(?: ?{_LETTER}{{1,15}})?"
)
"""Three small numbers that could be a date: "12-14-16"; others, as "12-34-56", are codes."""
_SEVERAL: Final = (_YEARS, _SMALL_NUMBERS, _SHORT_DATE, _NUMBERS_APART, _CODES_APART)
_SHORT_CODE: Final = re.compile(r"[^\W\d_]{2,4}[ -]?\d{2,}")
"""A short code of letters and digits: "IP 67", "AB-12"."""
_TIME_ZONE: Final = re.compile(r"(?:gmt|utc)[ -]?\d{1,4}", re.I)
"""An offset, in which the hyphen is a sign."""
MIN_CODE_LENGTH: Final = 5
"""Minimum number of letters and digits of an identifier whose separators do not count."""
MIN_CODE_DIGITS: Final = 3
MIN_PHONE_DIGITS: Final = 7
"""Minimum number of digits of a text that is read as a telephone number in a field of any text."""

_AREA: Final = re.compile(r"tel:\s*[\d+(]|\+|\(\+?\d{2,5}\)[\s./-]*[\d(]", re.I)
_PHONE: Final = re.compile(r"(?:tel:)?\s*[+(]?[\d\s()./-]{7,30}(?:(?:ext\.?|x)\s*\d{1,6})?", re.I)


def fold_typography(text: str) -> str:
    """Folds quotes, dashes, spaces, full-width letters, ligatures, digits; drops invisible ones.

    White space is collapsed.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        # By a table of its characters, which is many times faster for a long text.
        text = text.translate({ord(one): _fold_character(one) for one in set(text)})
        # Of a formula such as CO₂; in 10₂, the base of a number, they carry a meaning.
        text = _SUBSCRIPTS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    elif "`" in text:
        text = text.replace("`", "'")
    return " ".join(text.split())


def _fold_character(character: str) -> str:
    if character.isascii():
        return "'" if character == "`" else character
    folded = _TYPOGRAPHY.get(character)
    if folded is not None:
        return folded
    category = unicodedata.category(character)
    if category == "Cf":
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Zs":
        return " "
    if unicodedata.decomposition(character).startswith(_FOLDED_KINDS):
        return unicodedata.normalize("NFKC", character)
    return character


def drop_accents(text: str) -> str:
    """Returns a text without the marks on its letters: "Müller" gives "Muller"."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(one for one in decomposed if not unicodedata.combining(one))


def fold_punctuation(text: str) -> str:
    """Folds the punctuation of a text whose typography is folded; also brackets, ``&``, hyphens.

    "P.O. Box 5, Bern" and "PO Box 5 Bern" give the same. Addresses of mail and web are unchanged.
    """
    if "://" in text or "www." in text or ("@" in text and _MAIL.search(text)):
        return text
    if _QUOTED.fullmatch(text):
        text = text[1:-1]
    text = _BRACKETS.sub(_open_brackets, text)
    text = _INITIALS.sub(r"\1 ", _SPACED_INITIALS.sub(r"\1", text))
    text = _ACRONYM.sub(lambda match: match[0].replace(".", ""), text)
    text = _QUOTES.sub(" ", _AFTER_WORD.sub(" ", _IN_WORD.sub("", text)))
    text = _UNSPACED_SPACE.sub("", _SPACED_MARK.sub(r"\1", text))
    text = _WORD_END.sub("", text)
    text = _BETWEEN_LETTERS.sub(" ", _BESIDE_LETTER.sub(" ", text))
    text = _IN_RANGE.sub("-", text)
    text = _AT_SLASH.sub("/", _AND.sub("and", text))
    return " ".join(text.split())


def differ_in_punctuation(first: str, second: str) -> bool:
    """Returns whether two texts differ in more than case and what ``fold_punctuation`` folds.

    A hyphen before a space, as at the end of a line, may or may not be part of the word.
    """
    return _list_foldings(first).isdisjoint(_list_foldings(second))


def _list_foldings(text: str) -> set[str]:
    texts = [text]
    if _BREAK.search(text):
        texts += [_BREAK.sub(partial(_join_break, mark), text) for mark in ("-", "")]
    return {fold_punctuation(one).casefold() for one in texts}


def _join_break(mark: str, match: re.Match[str]) -> str:
    """Joins the parts of a word in lower case; "BBB- rated" and "A- level" have another meaning."""
    is_word = match[1].islower() and match[2].islower()
    return f"{match[1]}{mark}{match[2]}" if is_word else match[0]


def _open_brackets(match: re.Match[str]) -> str:
    """Returns what is in brackets; an amount in brackets is negative, so it keeps them."""
    inner = match[1]
    return match[0] if _AMOUNT_IN_BRACKETS.fullmatch(inner) else f" {inner} "


def has_same_code(first: str, second: str) -> bool:
    """Returns whether two identifiers differ only in their separators.

    Both are folded texts. Separators may be of another kind at the same places, or missing on one
    side: altogether, or between letters and a number after them; "12-345" and "123-45" are
    different. A decimal point, the bar of a fraction, the hyphen of a range and the points of a
    version or an IP address are no separators.
    """
    if not _CODE.fullmatch(first) or not _CODE.fullmatch(second):
        return False
    if any(one.fullmatch(text) for one in (_DECIMAL, _TIME_ZONE) for text in (first, second)):
        return False
    code = _CODE_SEPARATOR.sub("", first)
    if code != _CODE_SEPARATOR.sub("", second):
        return False
    if len(code) < MIN_CODE_LENGTH or sum(map(str.isdecimal, code)) < MIN_CODE_DIGITS:
        return all(map(_SHORT_CODE.fullmatch, (first, second)))
    separators = _find_separators(first), _find_separators(second)
    fewer, more = sorted(separators, key=len)
    if not fewer.keys() <= more.keys():
        return False
    if fewer != more:
        if _YEARS.fullmatch(first) and _YEARS.fullmatch(second):
            return True
        # Three numbers or more, with separators on both sides, are no range or ratio.
        n_between = sum(code[at - 1].isdecimal() and code[at].isdecimal() for at in fewer)
        if n_between < 2 and any(map(_has_numbers, (first, second))):
            return False
    if not fewer:
        return not _is_dotted(first if more is separators[0] else second)
    missing = more.keys() - fewer.keys()
    return all(code[at - 1].isalpha() and code[at].isdecimal() for at in missing)


def _find_separators(text: str) -> dict[int, str]:
    """Returns the separators of a code by the number of letters and digits before them."""
    return {match.start() - n: match[0] for n, match in enumerate(_CODE_SEPARATOR.finditer(text))}


def _is_dotted(text: str) -> bool:
    """Returns whether the points of a text are those of a number, a version or an IP address."""
    return _DOTTED.fullmatch(text) is not None or len(_POINT.findall(text)) == 1


def _has_numbers(text: str) -> bool:
    """Returns whether the separators of a text are between numbers, as in a range or a ratio."""
    if any(one.fullmatch(text) for one in _SEVERAL):
        return True
    limits = _RANGE.fullmatch(text)
    if limits is None:
        return False
    ends = [int(end.replace(" ", "")) for end in limits.group(1, 2)]
    return ends[0] < ends[1] or " " in limits[1] + limits[2]


def is_phone_like(text: str) -> bool:
    """Returns whether a text is written as a telephone number with a country or area code."""
    return (
        _AREA.match(text) is not None
        and _PHONE.fullmatch(text) is not None
        and sum(map(str.isdecimal, text)) >= MIN_PHONE_DIGITS
    )


def could_be_phone(text: str) -> bool:
    """Returns whether a text could be a telephone number."""
    return _PHONE.fullmatch(text) is not None
