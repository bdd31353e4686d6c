"""Normalises and tokenises text: keywords, headings, queries and passages.

All comparisons use the same normal form, so that "Physical storage media" matches "Overview of
Physical Storage Media", and "B + -Trees" matches "B+-tree".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from kg.base.plain_text import to_one_line

FUNCTION_WORDS = frozenset(
    """a an the this that these those is are was were be been being am do does did has have had
    of in on at to into from by with for as and or nor if but than then it its their his her there
    which who whom whose what where when how can could may might must shall should will would
    """.split()  # noqa: SIM905 - a list of string literals would be hard to read
)
"""Words without content of their own. Negations are deliberately not among them."""

_SOFT_HYPHEN = "\u00ad"
_SPACE = re.compile(r"\s+")
# A hyphen, a dash or a minus sign.
_DASH = "[-\u2010\u2012\u2013\u2212]"
_OCR_FIXES = (
    # "B + -Tree", "B+ -tree", "B + tree": OCR put spaces around the plus and hyphen of a name.
    (re.compile(rf"\b([A-Z]) ?\+ ?{_DASH} ?(?=[^\W\d_])"), r"\1+-"),
    (re.compile(r"\b([A-Z]) \+ (?=[Tt]rees?\b)"), r"\1+ "),
    (re.compile(r"\bC \+ ?\+(?![\w+])|\bC\+ \+(?![\w+])"), "C++"),
)

_WORD = (
    r"\d+(?:[.,]\d+)+"  # a number with its decimals
    r"|{letter}(?:{letter}|{mark})*"
    # "C++", "B+", "B+tree", "C#", "R*-tree"; not the "+" of sums ("a+b", "x+10") or of "18+".
    r"(?:(?<=[^\W\d_])\+\+|(?<=[^\W\d_])\+(?![^\W_])|(?<=\b[A-Za-z])\+(?=[^\W\d_]{{2}})"
    r"|(?<=\b[A-Za-z])\#(?![^\W_])|(?<=\b[A-Za-z])\*(?=-[^\W\d_]))?"
)
_LETTER = r"[^\W_]"
_TOKEN = re.compile(_WORD.format(letter=_LETTER, mark=_LETTER))
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")
_PLURAL_OF_ACRONYM = re.compile(r"(?<=[A-Z]S)s\b")

# Scripts without spaces between words: Thai and Lao, Burmese, Khmer, kana, ideographs.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"
)

_ORDINAL_DIGITS = {
    "one": "1", "first": "1", "two": "2", "second": "2", "three": "3", "third": "3",
    "four": "4", "fourth": "4", "five": "5", "fifth": "5", "six": "6", "sixth": "6",
}  # fmt: skip
_MAX_ACRONYM_LENGTH = 8
"""Maximum number of characters in an acronym."""


def repair_text(text: str) -> str:
    """Puts ``text`` on one clean line.

    The text is normalised to NFKC. Soft hyphens, control and bidirectional characters are removed,
    and so are the spaces that OCR puts into names: "B + -Tree" becomes "B+-Tree". Runs of white
    space become one space. Idempotent.
    """
    text = to_one_line(text.replace(_SOFT_HYPHEN, ""))
    if not text.isascii():
        # NFKC replaces some characters by sequences that contain spaces.
        text = _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip()
    if "+" in text:
        for pattern, replacement in _OCR_FIXES:
            text = pattern.sub(replacement, text)
    return text


def split_cased_words(text: str) -> list[str]:
    """Returns the same words as ``split_words``, with their original capitals."""
    unaccented = _strip_accents(repair_text(text))
    pattern = _TOKEN
    if not unaccented.isascii():
        # Vowel signs of Indic scripts and the like are part of their word, but `re` does not
        # count them as letters; the few that occur in a text are added to the pattern.
        marks = sorted({char for char in unaccented if unicodedata.category(char)[0] == "M"})
        if marks:
            letter_or_mark = f"(?:{_LETTER}|[{''.join(marks)}])"
            pattern = re.compile(_WORD.format(letter=_LETTER, mark=letter_or_mark))
    if "Ss" in unaccented:
        unaccented = _PLURAL_OF_ACRONYM.sub(
            "", unaccented
        )  # "DBMSs": the stemmer keeps a final "ss"
    tokens: list[str] = pattern.findall(unaccented)
    return [_THOUSANDS.sub("", token) if token[0].isdigit() else token for token in tokens]


def split_words(text: str) -> list[str]:
    """Returns all words and numbers in order, without accents and case.

    Thousands separators are removed (``1,233`` becomes ``1233``); decimals are kept, since "4.5"
    and "45" are different answers, and so are digits next to letters ("2NF"). "B+", "C++" and
    "C#" keep their signs. Hyphens separate words: "two-phase" is two words, "B+-tree" is "b+" and
    "tree". All scripts are supported.
    """
    return [word.casefold() for word in split_cased_words(text)]


def _strip_accents(text: str) -> str:
    """Removes accents and vowel points, so that "Gǖnz" and "GUNZ" compare equal after casefold.

    Marks that make a different letter are kept: the voicing marks of kana, the viramas of Indic
    scripts, the vowels and tones of Thai.
    """
    if text.isascii():
        return text
    # Canonical combining classes: 10–36 are Hebrew and Arabic points, 200 and above are accents.
    stripped = "".join(
        char
        for char in unicodedata.normalize("NFKD", text)
        if not (
            10 <= (combining_class := unicodedata.combining(char)) <= 36 or combining_class >= 200
        )
    )
    return unicodedata.normalize("NFC", stripped)


_SECURE_PROTOCOLS = frozenset({"https", "ftps", "ldaps", "imaps", "smtps", "amqps", "mqtts"})


def stem_word(word: str) -> str:
    """Removes plural and third-person endings only (the S stemmer).

    D. Harman, How effective is suffixing?, JASIS 42(1), 1991, table 1. A stronger stemmer would
    make different names equal. Idempotent. "https" is no plural of "http".
    """
    if word in _SECURE_PROTOCOLS:
        return word
    if len(word) > 3 and word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def extract_content_words(text: str) -> list[str]:
    """Returns the stemmed words other than function words, in order, with repetitions.

    Single letters are dropped too; single ideographs (above U+2E80) are whole words. Text in
    scripts without spaces between words gives its pairs of neighbouring characters, as in Lucene's
    CJKAnalyzer.
    """
    return [
        stem_word(word)
        for token in split_words(text)
        for word in _split_unspaced_runs(token)
        if word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit() or ord(word) > 0x2E80)
    ]


def find_unspaced_runs(text: str) -> list[str]:
    """Returns the runs of characters of scripts without spaces between words, such as Chinese."""
    return [] if text.isascii() else _UNSPACED.findall(text)


def _split_unspaced_runs(word: str) -> list[str]:
    """Splits a word into overlapping pairs of such characters, and what is in other scripts."""
    if not find_unspaced_runs(word):
        return [word]
    pieces = []
    for number, piece in enumerate(_UNSPACED.split(word)):
        if number % 2:  # what the pattern captures
            pieces += [piece[start : start + 2] for start in range(max(1, len(piece) - 1))]
        elif piece:
            pieces.append(piece)
    return pieces


def normalise_phrase(phrase: str) -> str:
    """Returns the normal form of a keyword: its stemmed words, separated by one space.

    "B+-Trees", "B + -Tree" and "b+ tree" all give ``b+ tree``. Idempotent. A phrase without words
    gives the empty string.
    """
    return " ".join(map(stem_word, split_words(phrase)))


def list_ngrams(words: Sequence[str], max_words: int = 3) -> list[str]:
    """Returns the n-grams of up to ``max_words`` words, each once.

    The longest come first; those of equal length are in the order of the text.
    """
    return list(
        dict.fromkeys(
            " ".join(words[start : start + length])
            for length in range(min(max_words, len(words)), 0, -1)
            for start in range(len(words) - length + 1)
        )
    )


def is_acronym_of(short: str, long: str) -> bool:
    """Whether ``short`` can be read as the initials of ``long``.

    Each content word of ``long`` gives its initial, in order. Function words may be left out ("read
    and write": RW or RAW). Numbers may become digits ("two-phase locking": 2PL, "third normal
    form": 3NF), and "ex…" may become X. One further letter may come from inside a word, like the B
    of "database management system". The rule is similar to A. Schwartz and M. Hearst, A simple
    algorithm for identifying abbreviation definitions in biomedical text, PSB 2003, but stricter:
    theirs accepts any letters of the words.
    """
    initials, *other_words = split_words(short) or [""]
    words = split_words(long)
    if (
        other_words
        or not 2 <= len(initials) <= _MAX_ACRONYM_LENGTH
        or len(words) < 2
        or initials in words
    ):
        return False
    # Also tries the stem, for plurals such as "DBMSs".
    return any(
        _can_spell_acronym(form, words, 1)
        for form in {initials, stem_word(initials)}
        if len(form) > 1
    )


def _can_spell_acronym(letters: str, words: Sequence[str], inner_letters: int) -> bool:
    """Whether the remaining letters of an acronym match the remaining words.

    Args:
        letters: remaining letters of the acronym.
        words: remaining words.
        inner_letters: number of letters that may still come from inside a word.
    """
    if not words:
        return not letters
    word, remaining_words = words[0], words[1:]
    if word in FUNCTION_WORDS and _can_spell_acronym(letters, remaining_words, inner_letters):
        return True
    allowed_letters = {word[0], _ORDINAL_DIGITS.get(word, word[0])}
    if word.startswith("ex"):
        allowed_letters.add("x")
    if not letters or letters[0] not in allowed_letters:
        return False
    if _can_spell_acronym(letters[1:], remaining_words, inner_letters):
        return True
    next_letter = letters[1:2]
    return bool(inner_letters and next_letter and next_letter in word[1:]) and _can_spell_acronym(
        letters[2:], remaining_words, inner_letters - 1
    )
