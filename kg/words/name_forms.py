"""Compares names: without case, diacritics, punctuation and articles."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

ARTICLES = {
    "en": ("the", "a", "an"),
    "de": ("der", "die", "das"),
    "fr": ("le", "la", "les", "l"),
    "es": ("el", "la", "los", "las"),
    "it": ("il", "lo", "la", "i", "gli", "le", "l"),
    "nl": ("de", "het", "een"),
    "pt": ("o", "a", "os", "as"),
}
"""Articles by language: leading words that are ignored when names are compared."""

# Letters that Unicode does not decompose into a base letter and a mark.
_LETTER_TABLE = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h",
})  # fmt: skip
_LATIN_MARKS = re.compile("[\u0300-\u036f]")
_NORMAL_FORM = re.compile(r"[a-z0-9 ]*")


def fold_text(text: str) -> str:
    """Removes case and Latin diacritics: ``Rhône`` → ``rhone``."""
    text = text.casefold()
    if text.isascii():
        return text
    # Folded again, because NFKD turns compatibility letters ("𝚨") into capitals.
    text = unicodedata.normalize("NFKD", text).casefold()
    # Only Latin accents are removed: in Indic scripts a mark is a vowel and changes the word.
    return unicodedata.normalize("NFC", _LATIN_MARKS.sub("", text)).translate(_LETTER_TABLE)


def normalise_name(name: str, articles: Iterable[str] = ARTICLES["en"]) -> str:
    """Removes case, diacritics, punctuation and a leading article from a name, for comparison.

    A name of only punctuation is returned in lower case, so that different names stay different.
    """
    text = fold_text(name)
    if not _NORMAL_FORM.fullmatch(text):
        text = "".join(
            c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in text
        )
    words = text.split()
    if len(words) > 1 and words[0] in articles:
        words = words[1:]
    return " ".join(words) or " ".join(name.casefold().split())
