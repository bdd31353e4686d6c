"""Matches e-mail addresses, URLs, UUIDs and telephone numbers after normalising their spelling."""

from __future__ import annotations

import re

from eval.extraction.matchers.match_result import EQUAL, UNEQUAL, MatchResult
from eval.extraction.matchers.normalisation import fold_case, normalise_spacing
from eval.extraction.settings import Matching

_PHONE_WORDS = re.compile(
    r"\b(?:cell|direct|fax|free|home|landline|main|mob|mobil|mobile|office|phone|tel|toll|work)\b",
    re.IGNORECASE,
)
"""Words beside a telephone number that say what kind of number it is."""
_KEY_WORDS = re.compile(r"[a-z]{2,}")
_KEYS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "22233344455566677778889999")
"""Letter → the digit of its key (ITU-T E.161)."""
# Matches scheme, host (with port) and the rest of a URL.
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}://", re.IGNORECASE)
_DEFAULT_PORTS = {"http": ":80", "https": ":443", "ftp": ":21"}
_EXTENSION = re.compile(r"(?:ext\.?|extension|x|#)\s*\d+\s*$", re.IGNORECASE)
# The parts of the host have no points, so that there is one way to match a text.
_EMAIL = re.compile(r"(?:mailto:)?<?[^@\s<>]+@(?:[^@\s<>.]+\.)+[^@\s<>.]+>?", re.IGNORECASE)
MAX_EMAIL_LENGTH = 320
"""Maximum length of an e-mail address (RFC 3696)."""
_WEB_ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
MAX_CODE_LENGTH = 128
_FILE_PATH = re.compile(
    r"~?(?=/[^\s/]+/[^\s/])(?:/(?:bin|data|dev|etc|home|lib|media|mnt|opt|proc|root|srv|sys|tmp|usr"
    r"|var|Applications|Library|System|Users|Volumes)(?:/[^\s/]+)+|(?<=~)(?:/[^\s/]+)+"
    r"|(?:/[^\s/]+)+\.[A-Za-z0-9]{1,5}|(?:/[^\s/]+){3,})/?"
)
"""A path of files: below a known folder, to a file with an ending, or of three parts."""
_MIXED_CODE = re.compile(r"[A-Za-z0-9+/=_-]{8,}")
_COIN_ADDRESS = re.compile(r"(?=.*[A-Z])(?=.*[a-z])[13][1-9A-HJ-NP-Za-km-z]{25,34}")
"""An address of Bitcoin, without the characters that look like others."""
_HEXADECIMAL = re.compile(r"(?:0[xX])?[0-9A-Fa-f-]+")
_CODE_WORD = re.compile(r"[A-Za-z][a-z]{2}|[A-Z]{3}")
"""Part of a code that is a word or its abbreviation: "Pro" in "16Pro2", "RTX" in "4090RTX16"."""
_NUMBER = re.compile(r"[0-9]+")
_CASE_CHANGE = re.compile(r"[a-z](?=[0-9]*[A-Z])|[A-Z](?=[0-9]*[a-z])")
MIN_CASE_CHANGES = 4
"""Minimum number of changes between small letters and capitals in a code whose case counts."""
MIN_PHONE_DIGITS = 7
"""A number without country code matches one with a country code only if it has this many digits."""


def normalise_email(text: str) -> str:
    """Normalises an e-mail address: case-folded, without ``mailto:`` and angle brackets."""
    return fold_case(text.strip().strip("<>")).removeprefix("mailto:")


def normalise_url(text: str) -> str:
    """Normalises a URL: scheme and host in lower case, no default port, no trailing slash."""
    match = _URL.fullmatch(text.strip())
    if match is None:
        return text.strip().rstrip("/")
    scheme, host = match[1].lower(), fold_case(match[2])
    # For a scheme without a default port, "\0" is removed, which no URL contains.
    host = host.removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
    return f"{scheme}://{host}{match[3]}".rstrip("/")


def is_email(text: str) -> bool:
    """Returns whether a text is written as an e-mail address."""
    return "@" in text and len(text) <= MAX_EMAIL_LENGTH and _EMAIL.fullmatch(text) is not None


def is_url(text: str) -> bool:
    """Returns whether a text is written as a web address."""
    return _WEB_ADDRESS.fullmatch(text) is not None


def differs_in_path(first: str, second: str) -> bool:
    """Returns whether two texts are web addresses that differ in what follows the host."""
    rests = _read_path(first), _read_path(second)
    return None not in rests and rests[0] != rests[1]


def is_cased_code(text: str) -> bool:
    """Returns whether the case of a text counts: a path of files, or a code of mixed letters.

    Such a code has capitals and small letters between several numbers, and no words:
    "dQw4w9WgXcQ", but not "MacBookPro16M3Max". That of hexadecimal numbers does not count.
    """
    if len(text) > MAX_CODE_LENGTH:
        return False
    if _FILE_PATH.fullmatch(text) or _COIN_ADDRESS.fullmatch(text):
        return True
    if _MIXED_CODE.fullmatch(text) is None or _HEXADECIMAL.fullmatch(text):
        return False
    is_mixed = len(_NUMBER.findall(text)) > 1 and _CODE_WORD.search(text) is None
    return is_mixed and len(_CASE_CHANGE.findall(text)) >= MIN_CASE_CHANGES


def _read_path(text: str) -> str | None:
    text = text.strip()
    if not is_url(text):
        return None
    match = _URL.fullmatch(text if has_scheme(text) else f"https://{text}")
    return None if match is None else match[3].rstrip("/")


def has_scheme(text: str) -> bool:
    """Returns whether a text begins with the scheme of a URL."""
    return _SCHEME.match(text) is not None


def normalise_uuid(text: str) -> str:
    """Returns the hexadecimal digits of a UUID in lower case."""
    return fold_case(text.strip()).removeprefix("urn:uuid:").strip("{}").replace("-", "")


def normalise_phone(text: str) -> str:
    """Returns the digits of a telephone number, after ``+`` if it has a country code.

    ``+`` and ``00`` mark a country code. An extension is appended after an ``x``. Words after the
    first digit stand for the digits of their keys (1-800-FLOWERS), except for words such as
    "mobile"; what is before that digit does not count.
    """
    text = text.strip().removeprefix("tel:")
    match = _EXTENSION.search(text[-20:])
    extension = ""
    if match is not None:
        extension = "x" + "".join(filter(str.isdecimal, match[0]))
        text = text[: len(text) - len(match[0])]
    text = text.replace("(0)", "")
    start = next((place for place, char in enumerate(text) if char.isdecimal()), len(text))
    rest = text[start:]
    if any(map(str.isalpha, rest)):
        rest = _PHONE_WORDS.sub("", rest).casefold()
        rest = _KEY_WORDS.sub(lambda match: match[0].translate(_KEYS), rest)
    digits = "".join(filter(str.isalnum, rest))
    if rest and text[:start].rstrip(" (").endswith("+"):
        return f"+{digits}{extension}"
    if digits.startswith("00"):
        return f"+{digits[2:]}{extension}"
    return digits + extension


def match_email(expected: str, predicted: str, _: Matching, __: float | None = None) -> MatchResult:
    """Matches e-mail addresses: score 1 if equal after normalisation, else 0."""
    return EQUAL if normalise_email(expected) == normalise_email(predicted) else UNEQUAL


def match_url(expected: str, predicted: str, _: Matching, __: float | None = None) -> MatchResult:
    """Matches URLs: score 1 if equal after normalisation, else 0."""
    return EQUAL if normalise_url(expected) == normalise_url(predicted) else UNEQUAL


def match_uuid(expected: str, predicted: str, _: Matching, __: float | None = None) -> MatchResult:
    """Matches UUIDs: score 1 if equal after normalisation, else 0."""
    return EQUAL if normalise_uuid(expected) == normalise_uuid(predicted) else UNEQUAL


def match_phone(
    expected: str, predicted: str, matching: Matching, _: float | None = None
) -> MatchResult:
    """Matches telephone numbers by digits; 0.75 if only the country code is missing on one side."""
    first, second = normalise_phone(expected), normalise_phone(predicted)
    if not first or not second:
        return (
            EQUAL
            if normalise_spacing(expected, matching) == normalise_spacing(predicted, matching)
            else UNEQUAL
        )
    if first == second:
        return EQUAL
    # "+" sorts last: ``full`` is the number with a country code, if there is one.
    local, full = sorted((first, second), key=lambda number: number.startswith("+"))
    if full.startswith("+") and not local.startswith("+"):
        local = local.lstrip("0")
        if len(local) >= MIN_PHONE_DIGITS and full.endswith(local):
            return False, 0.75, None, ""
    return UNEQUAL
