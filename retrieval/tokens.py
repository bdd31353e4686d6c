"""Words of a text as retrieval sees them: one tokenizer for passages and queries alike."""

from __future__ import annotations

import re
import unicodedata

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")

FUNCTION_WORDS = frozenset(
    """a an the this that these those is are was were be been being am do does did has have had
    of in on at to into from by with for as and or nor but if than then it its their his her there
    which who whom whose what where when how can could may might must shall should will would
    """.split()  # noqa: SIM905 - a wall of quotation marks would hide the words
)
"""Words without content of their own. Negations are deliberately not among them."""


def words(text: str) -> list[str]:
    """All words and numbers in order, without accents and case; ``1,233`` becomes ``1233``.

    Digits are kept whole with their decimals, since "4.5" and "45" are different answers.
    """
    # NFKD before casefold, and accents dropped, so that "Gǖnz" and "GUNZ" meet.
    plain = "".join(
        char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)
    )
    found: list[str] = _TOKEN.findall(plain.casefold())
    return [
        re.sub(r",(?=\d{3}(?:\D|$))", "", token) if token[0].isdigit() else token for token in found
    ]


def stem(word: str) -> str:
    """The S stemmer: only plural and third-person endings go.

    D. Harman, How effective is suffixing?, JASIS 42(1), 1991, table 1. Its restraint is the
    point: names must not be cut down until different ones meet.
    """
    if len(word) > 3 and word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def content_words(text: str) -> list[str]:
    """Stemmed words that carry content, in order, repetitions included."""
    return [
        stem(word)
        for word in words(text)
        if word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit() or ord(word) > 0x2E80)
    ]
