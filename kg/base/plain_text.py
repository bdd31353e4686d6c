"""Cleans text from graphs and documents, and joins words to English phrases.

Labels are read from untrusted graphs. Text is cleaned here before it becomes part of a sentence,
so that control characters, bidirectional overrides or very long names cannot do harm.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

MAX_NAME_LENGTH = 200
"""Maximum length of a name in a sentence, in characters; longer ones end in an ellipsis."""

_WHITESPACE = re.compile(r"\s+")
# Bidirectional embeddings, overrides and isolates would reorder the *rest* of the sentence on
# screen. Joiners (U+200C, U+200D) stay: Persian, Hindi and emoji need them.
_BIDI_CHARS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Printable ASCII, Latin, Greek, Cyrillic, Armenian and Hebrew, without the no-break space and the
# soft hyphen. Such text has nothing to remove, so the slow check of every character is skipped.
_SAFE_TEXT = re.compile(r"[ -~\u00a1-\u00ac\u00ae-\u05ff]*")


def list_words(text: str) -> list[str]:
    """Returns the words of a word list written as one string."""
    return text.split()


def clean_text(text: str, max_length: int = MAX_NAME_LENGTH) -> str:
    """Returns ``text`` on one line, without control characters, cut to ``max_length`` characters.

    Whitespace runs become one space; lone surrogates become U+FFFD so that the text can always be
    written as UTF-8. Nothing is interpreted: braces, tags and entities stay as they are.
    """
    # Cut before cleaning too, so that a label of a megabyte costs no more than a short one. Four
    # times the limit, because cleaning shortens text with runs of whitespace.
    is_cut = len(text) > 4 * max_length
    if is_cut:
        text = text[: 4 * max_length]
    text = to_one_line(text)
    if is_cut or len(text) > max_length:
        text = text[: max_length - 1].rstrip() + "…"
    return text


def to_one_line(text: str) -> str:
    """Returns ``text``, of any length, on one line without control and bidirectional characters.

    Nothing in it can move the cursor, colour a terminal or reorder the words around it.
    """
    # Nearly every name and sentence is clean already, and this test needs no regular expression.
    if text.isprintable() and "  " not in text:
        return text.strip()
    if not _SAFE_TEXT.fullmatch(text):
        text = "".join(map(_make_printable, text))
    return _WHITESPACE.sub(" ", text).strip()


def clean_for_terminal(text: str) -> str:
    """Cleans ``text`` as ``to_one_line`` does, but keeps its line breaks and spacing."""
    if _SAFE_TEXT.fullmatch(text):
        return text
    return "".join(char if char in "\n\t" else _make_printable(char) for char in text)


def escape_json_for_terminal(text: str) -> str:
    r"""Returns a JSON document with its unprintable characters written as ``\uXXXX``.

    The content is unchanged: in valid JSON these characters occur only in strings, where the
    escape has the same meaning.
    """
    if _SAFE_TEXT.fullmatch(text):
        return text
    return "".join(
        char if char in "\n " or _make_printable(char) == char else f"\\u{ord(char):04x}"
        for char in text
    )


def _make_printable(char: str) -> str:
    if char.isspace():
        return " "
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    return "" if category == "Cc" or char in _BIDI_CHARS else char


# A word, perhaps with punctuation after it; no name of a file, hash or the like.
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[^\w\s]*")


def capitalise_sentence(text: str) -> str:
    """Capitalises the first letter, unless the first word is like ``iPhone`` or ``road_works.csv``.

    What has capitals, digits or signs in it is a name that its owner writes in this way.
    """
    word = text.split(" ", 1)[0]
    if word and word[0].islower() and word == word.lower() and _PLAIN_WORD.fullmatch(word):
        return text[0].upper() + text[1:]
    return text


def join_list(items: Sequence[str], conjunction: str = "and") -> str:
    """Joins items as in an English sentence: ``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def join_first(items: Sequence[str], n_shown: int) -> str:
    """Joins the first items and says how many more there are: ``a, b and 3 more``."""
    n_more = len(items) - n_shown
    return join_list([*items[:n_shown], f"{n_more} more"] if n_more > 0 else items)


def split_names(text: str | None) -> list[str]:
    """Splits a comma-separated list as given on the command line; empty parts are left out."""
    return [name for part in (text or "").split(",") if (name := part.strip())]


def format_count(count: int, noun: str) -> str:
    """Returns a count with its noun, whose plural ends in ``s``: ``1 row``, ``1,200 rows``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def add_article(noun: str) -> str:
    """Returns ``noun`` with "a" or "an" before it; its sound is guessed from its spelling."""
    word = noun.lower()
    # Vowels spoken as consonants: European, ewe, one, once, unit, use, uranium, utopia.
    sounds_like_consonant = re.match(
        r"(eu|ew|on(?:e|ce)\b|uni([^nm]|$)|us[aei]|ur[aeiu]|ut[eio])", word
    )
    silent_h = re.match(r"hour|honest|honou?r|heir", word)
    vowel = word[:1] in set("aeiouàáâäæèéêëíîïóôöøúûü")
    return f"an {noun}" if silent_h or (vowel and not sounds_like_consonant) else f"a {noun}"
