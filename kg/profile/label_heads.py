"""Finds the head noun of a predicate's or class's name, and compiles lists of words to look for."""

from __future__ import annotations

import re

from kg.base.plain_text import list_words

_PREPOSITION = re.compile(
    r"\s(of|in|on|at|for|per|from|to|with|within|during|under|against|as)(?:\s+|$)"
)


def compile_words(words: str) -> re.Pattern[str]:
    """Compiles a word list; ``_`` stands for a space in it and ``*`` for any ending."""
    parts = (re.escape(word).replace("_", " ").replace(r"\*", r"\w*") for word in list_words(words))
    return re.compile(rf"\b(?:{'|'.join(parts)})\b")


def compile_heads(words: str) -> re.Pattern[str]:
    """Compiles words that must end a phrase, perhaps with a number: "line" of "address line2"."""
    return re.compile(rf"{compile_words(words).pattern[:-2]}[0-9]*$")


def split_label(label: str) -> tuple[str, str]:
    """Returns what stands before the first preposition, and what "of" adds to it.

    "Date of birth in Gaul" gives "date" and "birth".
    """
    text = re.sub(r"\s*\([^()]*\)$", "", label.casefold())
    found = _PREPOSITION.search(text)
    if found is None:
        return text, ""
    rest = text[found.end() :] if found[1] == "of" else ""
    return text[: found.start()], _PREPOSITION.split(rest, maxsplit=1)[0]


def get_last_word(phrase: str) -> str:
    """Returns the last word, without a number: "line" of "address line2"."""
    words = phrase.split()
    return words[-1].rstrip("0123456789") if words else ""


def find_head(label: str) -> str:
    """Returns the head noun: the last word before a preposition."""
    return get_last_word(split_label(label)[0])
