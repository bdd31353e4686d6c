"""Text from graphs is hostile: made plain here, once, before it enters any sentence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

NAME_LIMIT = 200
"""Characters a name may have in a sentence; longer ones end in an ellipsis."""

_SPACE = re.compile(r"\s+")
# Bidirectional embeddings, overrides and isolates would reorder the *rest* of the sentence on
# screen. Joiners (U+200C, U+200D) stay: Persian, Hindi and emoji need them.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ORDINARY = re.compile(r"[ -~\u00a1-\u00ac\u00ae-\u05ff]*")


def words_of(text: str) -> list[str]:
    """The words of a word list written as one string."""
    return text.split()


def plain(text: str, limit: int = NAME_LIMIT) -> str:
    """``text`` on one line, without control characters, at most ``limit`` characters long.

    Whitespace runs become one space; lone surrogates become U+FFFD so that the text can always be
    written as UTF-8. Nothing is interpreted: braces, tags and entities stay what they are.
    """
    # Cut before cleaning too, so that a megabyte of label costs no more than a short one.
    cut = len(text) > 4 * limit
    if cut:
        text = text[: 4 * limit]
    text = one_line(text)
    if cut or len(text) > limit:
        text = text[: limit - 1].rstrip() + "…"
    return text


def one_line(text: str) -> str:
    """``text`` of any length on one line, without control and bidirectional characters.

    Nothing in it can move the cursor, colour a terminal or reorder the words around it.
    """
    # Nearly every name and sentence is fit as it stands, which costs no pattern to tell.
    if text.isprintable() and "  " not in text:
        return text.strip()
    if not _ORDINARY.fullmatch(text):
        text = "".join(map(_printable, text))
    return _SPACE.sub(" ", text).strip()


def for_terminal(text: str) -> str:
    """``text`` fit to print: as ``one_line`` makes it, but its line breaks and spacing stay."""
    if _ORDINARY.fullmatch(text):
        return text
    return "".join(char if char in "\n\t" else _printable(char) for char in text)


def json_for_terminal(text: str) -> str:
    r"""The same JSON document with unprintable characters written as ``\uXXXX``.

    They can only stand inside its strings, where that form means the same character.
    """
    if _ORDINARY.fullmatch(text):
        return text
    return "".join(
        char if char in "\n " or _printable(char) == char else f"\\u{ord(char):04x}"
        for char in text
    )


def _printable(char: str) -> str:
    if char.isspace():
        return " "
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    return "" if category == "Cc" or char in _BIDI else char


def sentence(text: str) -> str:
    """``text`` with a capital at its start, unless its first word is written in mixed case."""
    word = text.split(" ", 1)[0]
    if word and word[0].islower() and word == word.lower():
        return text[0].upper() + text[1:]
    return text


def listing(items: Sequence[str], word: str = "and") -> str:
    """Items joined as English does: ``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def article(noun: str) -> str:
    """``noun`` with "a" or "an" before it, by its sound as far as spelling shows it."""
    word = noun.lower()
    sounds_like_consonant = re.match(
        r"(eu|ew|on(?:e|ce)\b|uni([^nm]|$)|us[aei]|ur[aeiu]|ut[eio])", word
    )
    silent_h = re.match(r"hour|honest|honou?r|heir", word)
    vowel = word[:1] in set("aeiouàáâäæèéêëíîïóôöøúûü")
    return f"an {noun}" if silent_h or (vowel and not sounds_like_consonant) else f"a {noun}"
