"""Addresses and numbers that name something: one spelling each, then equal or not."""

from __future__ import annotations

import re

from eval.extraction.matchers.compared import EQUAL, UNEQUAL, Compared
from eval.extraction.matchers.normalising import folded, spaced
from eval.extraction.settings import Matching

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_DEFAULT_PORTS = {"http": ":80", "https": ":443", "ftp": ":21"}
_EXTENSION = re.compile(r"(?:ext\.?|extension|x|#)\s*\d+\s*$", re.IGNORECASE)
LEAST_DIGITS = 7
"""Digits that a telephone number must have for one without a country code to be recognised."""


def email(text: str) -> str:
    """An address without ``mailto:`` and angle brackets, folded."""
    return folded(text.strip().strip("<>")).removeprefix("mailto:")


def url(text: str) -> str:
    """An address with scheme and host folded, no default port, no slash at the end."""
    found = _URL.fullmatch(text.strip())
    if found is None:
        return text.strip().rstrip("/")
    scheme, host = found[1].lower(), folded(found[2])
    host = host.removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
    return f"{scheme}://{host}{found[3]}".rstrip("/")


def uuid(text: str) -> str:
    """The hexadecimal digits of a UUID, folded."""
    return folded(text.strip()).removeprefix("urn:uuid:").strip("{}").replace("-", "")


def phone(text: str) -> str:
    """The digits of a telephone number; ``+`` or ``00`` before a country code become ``+``.

    An extension stays part of the number, behind an ``x``.
    """
    text = text.strip().removeprefix("tel:")
    found = _EXTENSION.search(text[-20:])
    extension = ""
    if found is not None:
        extension = "x" + "".join(filter(str.isdecimal, found[0]))
        text = text[: len(text) - len(found[0])]
    digits = "".join(filter(str.isdecimal, text.replace("(0)", "")))
    if text.lstrip(" (").startswith("+"):
        return f"+{digits}{extension}"
    if digits.startswith("00"):
        return f"+{digits[2:]}{extension}"
    return digits + extension


def same_email(expected: str, came: str, _: Matching, __: float | None = None) -> Compared:
    """Equal in one spelling, or nothing; so the next two."""
    return EQUAL if email(expected) == email(came) else UNEQUAL


def same_url(expected: str, came: str, _: Matching, __: float | None = None) -> Compared:
    """Equal in one spelling, or nothing."""
    return EQUAL if url(expected) == url(came) else UNEQUAL


def same_uuid(expected: str, came: str, _: Matching, __: float | None = None) -> Compared:
    """Equal in one spelling, or nothing."""
    return EQUAL if uuid(expected) == uuid(came) else UNEQUAL


def same_phone(expected: str, came: str, matching: Matching, _: float | None = None) -> Compared:
    """Equal by digits; where one lacks the country code, 0.75 if the rest agrees."""
    first, second = phone(expected), phone(came)
    if not first or not second:
        return EQUAL if spaced(expected, matching) == spaced(came, matching) else UNEQUAL
    if first == second:
        return EQUAL
    local, full = sorted((first, second), key=lambda number: number.startswith("+"))
    if full.startswith("+") and not local.startswith("+"):
        local = local.lstrip("0")
        if len(local) >= LEAST_DIGITS and full.endswith(local):
            return False, 0.75, None
    return UNEQUAL
