"""Words of a text: one normaliser and tokenizer for keywords, headings, queries and passages.

Whatever is compared anywhere is compared in these words, so that "Physical storage media" meets
"Overview of Physical Storage Media", and "B + -Trees" meets "B+-tree".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from kg.words.plain_text import one_line

FUNCTION_WORDS = frozenset(
    """a an the this that these those is are was were be been being am do does did has have had
    of in on at to into from by with for as and or nor if but than then it its their his her there
    which who whom whose what where when how can could may might must shall should will would
    """.split()  # noqa: SIM905 - a wall of quotation marks would hide the words
)
"""Words without content of their own. Negations are deliberately not among them."""

_SOFT_HYPHEN = "\u00ad"
_SPACE = re.compile(r"\s+")
_DASH = "[-\u2010\u2012\u2013\u2212]"
_MENDED = (
    # "B + -Tree", "B+ -tree", "B + tree": the plus and the hyphen of a name, set apart by OCR.
    (re.compile(rf"\b([A-Z]) ?\+ ?{_DASH} ?(?=[^\W\d_])"), r"\1+-"),
    (re.compile(r"\b([A-Z]) \+ (?=[Tt]rees?\b)"), r"\1+ "),
    (re.compile(r"\bC \+ ?\+(?![\w+])|\bC\+ \+(?![\w+])"), "C++"),
)

_WORD = (
    r"\d+(?:[.,]\d+)+"  # a number with its decimals
    r"|{letter}(?:{letter}|{mark})*"
    # "C++", "B+", "B+tree", "C#", "R*-tree"; but "a+b" and "x+10" are sums, "18+" ends in a sign.
    r"(?:(?<=[^\W\d_])\+\+|(?<=[^\W\d_])\+(?![^\W_])|(?<=\b[A-Za-z])\+(?=[^\W\d_]{{2}})"
    r"|(?<=\b[A-Za-z])\#(?![^\W_])|(?<=\b[A-Za-z])\*(?=-[^\W\d_]))?"
)
_LETTER = r"[^\W_]"
_TOKEN = re.compile(_WORD.format(letter=_LETTER, mark=_LETTER))
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")
_PLURAL_OF_ACRONYM = re.compile(r"(?<=[A-Z]S)s\b")

_ORDINAL_DIGITS = {
    "one": "1", "first": "1", "two": "2", "second": "2", "three": "3", "third": "3",
    "four": "4", "fourth": "4", "five": "5", "fifth": "5", "six": "6", "sixth": "6",
}  # fmt: skip
_MOST_SHORT = 8
"""Characters an acronym has at most."""


def mend(text: str) -> str:
    """``text`` on one line as it was meant: NFKC, without soft hyphens, OCR's gaps closed.

    "B + -Tree" becomes "B+-Tree"; control and bidirectional characters go; runs of white space
    become one space. Idempotent.
    """
    text = one_line(text.replace(_SOFT_HYPHEN, ""))
    if not text.isascii():
        # Compatibility forms may hold spaces of their own.
        text = _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip()
    if "+" in text:
        for pattern, instead in _MENDED:
            text = pattern.sub(instead, text)
    return text


def written_words(text: str) -> list[str]:
    """The words of ``words``, with the capitals they are written with."""
    plain = _without_accents(mend(text))
    pattern = _TOKEN
    if not plain.isascii():
        # Vowel signs of Indic scripts and the like are part of their word, but no letters to
        # `re`; the few that a text holds join the pattern.
        marks = sorted({char for char in plain if unicodedata.category(char)[0] == "M"})
        if marks:
            mark = f"(?:{_LETTER}|[{''.join(marks)}])"
            pattern = re.compile(_WORD.format(letter=_LETTER, mark=mark))
    if "Ss" in plain:
        plain = _PLURAL_OF_ACRONYM.sub("", plain)  # "DBMSs": no stemmer takes an s from "ss"
    found: list[str] = pattern.findall(plain)
    return [_THOUSANDS.sub("", token) if token[0].isdigit() else token for token in found]


def words(text: str) -> list[str]:
    """All words and numbers in order, without accents and case; ``1,233`` becomes ``1233``.

    Digits are kept whole with their decimals, since "4.5" and "45" are different answers, and
    with their letters, since 2NF and 3NF are. "B+", "C++" and "C#" keep their signs; hyphens part
    words: "two-phase" is two, "B+-tree" is "b+" and "tree". Words of any script are words.
    """
    return [word.casefold() for word in written_words(text)]


def _without_accents(text: str) -> str:
    """``text`` without accents and vowel points, so that "Gǖnz" and "GUNZ" meet.

    Marks that belong to their letter stay: the voicing of kana, the viramas of India, the vowels
    and tones of Thai.
    """
    if text.isascii():
        return text
    # Canonical combining classes: 10–36 are Hebrew's and Arabic's points, from 200 on accents.
    apart = "".join(
        char
        for char in unicodedata.normalize("NFKD", text)
        if not (10 <= (kind := unicodedata.combining(char)) <= 36 or kind >= 200)
    )
    return unicodedata.normalize("NFC", apart)


def stem(word: str) -> str:
    """The S stemmer: only plural and third-person endings go.

    D. Harman, How effective is suffixing?, JASIS 42(1), 1991, table 1. Its restraint is the
    point: names must not be cut down until different ones meet. Idempotent.
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


def normalise(phrase: str) -> str:
    """The form in which two keywords are the same: their stemmed words, one space between.

    "B+-Trees", "B + -Tree" and "b+ tree" are ``b+ tree``. Idempotent. A phrase without a word is
    the empty string.
    """
    return " ".join(map(stem, words(phrase)))


def ngrams(words: Sequence[str], longest: int = 3) -> list[str]:
    """Runs of up to ``longest`` words, each once: the longest first, then by place."""
    return list(
        dict.fromkeys(
            " ".join(words[start : start + length])
            for length in range(min(longest, len(words)), 0, -1)
            for start in range(len(words) - length + 1)
        )
    )


def is_acronym_of(short: str, long: str) -> bool:
    """Whether ``short`` can be read as the initials of ``long``.

    Each content word of ``long`` gives its initial, in order; grammar words may be left out ("read
    and write" as RW or RAW); numbers read as digits ("two-phase locking" as 2PL, "third normal
    form" as 3NF), and "ex…" as X. One further letter may come from inside a word, as the B of
    "database management system". In the manner of A. Schwartz and M. Hearst, A simple algorithm
    for identifying abbreviation definitions in biomedical text, PSB 2003, but stricter: theirs
    takes any letters.
    """
    (initials, *others), parts = words(short) or [""], words(long)
    if others or not 2 <= len(initials) <= _MOST_SHORT or len(parts) < 2 or initials in parts:
        return False
    # DBMSs is a plural too.
    return any(_spells(form, parts, 1) for form in {initials, stem(initials)} if len(form) > 1)


def _spells(letters: str, parts: Sequence[str], inner: int) -> bool:
    """Whether the rest of an acronym is spelled by the rest of the words.

    Args:
        letters: of the acronym, still to be explained.
        parts: words still to be used.
        inner: letters that may still come from inside a word.
    """
    if not parts:
        return not letters
    first, rest = parts[0], parts[1:]
    if first in FUNCTION_WORDS and _spells(letters, rest, inner):
        return True
    starts = {first[0], _ORDINAL_DIGITS.get(first, first[0])}
    if first.startswith("ex"):
        starts.add("x")
    if not letters or letters[0] not in starts:
        return False
    if _spells(letters[1:], rest, inner):
        return True
    more = letters[1:2]
    return bool(inner and more and more in first[1:]) and _spells(letters[2:], rest, inner - 1)
