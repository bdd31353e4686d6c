"""The words of claims and evidence, in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from eval.synthlink.claims.lexicon import (
    ENDINGS,
    GERMAN,
    HEDGES,
    LIGHT,
    NEGATIONS,
    NOUNS,
    OPPOSITES,
    PHRASES,
    RELATION_BY_WORD,
)
from kg.base.plain_text import list_words
from kg.words.number_words import NUMBER_WORDS
from kg.words.number_words import PROSE_SCALES as _SCALES

WordKind = Literal["content", "name", "number", "light", "negation", "hedge"]


_TOKEN = re.compile(
    r"\d[\d.,]*\d(?:s|st|nd|rd|th)?|\d+(?:s|st|nd|rd|th)?|n['’]t\b|[^\W\d_]+(?:\d+[^\W_]*)?"
)
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")
_CONTRACTION = re.compile(r"(?<=[^\W\d_])n['’]t\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_TENS: Final = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_GERMAN_NUMBERS: Final = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")
_VALUES: Final = {
    **{word: float(value) for value, word in enumerate(NUMBER_WORDS) if value > 1},
    **{word: 10.0 * value for value, word in enumerate(_TENS, 3)},
    **{word: float(value) for value, word in enumerate(_GERMAN_NUMBERS, 2)},
}
_AUXILIARIES: Final = frozenset(
    list_words(
        "is are was were has have had did does became become took set gave got ran came went "
        "kept held put ist sind war waren wurde wurden hat hatte"
    )
)
_MIN_VERB_LENGTH: Final = 5
_MIN_BASE: Final = 3
"""Minimum number of letters of a verb without its ending."""
_MIN_STEM: Final = 4
"""Minimum number of letters that two forms of one word share."""


class Word(NamedTuple):
    """One word of a text."""

    text: str
    key: str
    """The word without capitals and accents."""
    kind: WordKind
    start: int
    """Offset in the text, in characters."""
    value: float | None = None
    """Value of a number."""


def split_text(text: str, names: Collection[str] = (), *, german: bool | None = None) -> list[Word]:
    """Splits a text into words; a number and its scale ("four million") are one word.

    Args:
        text: the text.
        names: words, in lower case, that are known to be names; other words are names if they have
            a capital within an English sentence, or a digit.
        german: whether the text is German, whose nouns have capitals; None to find out.
    """
    return list(_split_text(text, frozenset(names), german))


@lru_cache(maxsize=2048)  # the same clauses are compared with many others
def _split_text(text: str, names: frozenset[str], german: bool | None) -> tuple[Word, ...]:
    clean = _POSSESSIVE.sub(" s", _CONTRACTION.sub(" not", text.replace("’", "'")))
    german = is_german(text) if german is None else german
    words: list[Word] = []
    is_first = True
    for match in _TOKEN.finditer(clean):
        token = match.group()
        key = _fold(token)
        if key in _SCALES and words and words[-1].value is not None and _is_amount(words[-1]):
            last = words.pop()
            value = (last.value or 0) * _SCALES[key]
            words.append(last._replace(text=f"{last.text} {token}", key=f"{value:g}", value=value))
            continue
        if words and (words[-1].key, key) in PHRASES:
            last = words.pop()
            meaning = PHRASES[last.key, key]
            words.append(last._replace(text=f"{last.text} {token}", key=meaning, kind="content"))
            continue
        words.append(_classify(token, key, match.start(), names, german=german, is_first=is_first))
        rest = clean[match.end() : match.end() + 1]
        is_first = rest in (".", ":", "?", "!", "(", '"', "“")
    return tuple(words)


def _classify(
    written: str, key: str, start: int, names: Collection[str], *, german: bool, is_first: bool
) -> Word:
    if written[0].isdigit():
        number = _parse_number(written)
        return Word(written, key if number is None else f"{number:g}", "number", start, number)
    if key in _VALUES and not written[:1].isupper():
        return Word(written, f"{_VALUES[key]:g}", "number", start, _VALUES[key])
    kind: WordKind = "content"
    if key in NEGATIONS:
        kind = "negation"
    elif key in HEDGES and not (key == "may" and written == "May"):
        kind = "hedge"
    elif key in names and written[:1].isupper():
        kind = "name"
    elif key in LIGHT or len(key) == 1:
        kind = "light"
    elif any(map(str.isdigit, written)) or (
        not german and written[:1].isupper() and (not is_first or written.isupper())
    ):
        kind = "name"
    return Word(written, key, kind, start)


def _is_amount(word: Word) -> bool:
    return word.value is not None and word.value < 1e6


def _parse_number(token: str) -> float | None:
    if _GROUPED.fullmatch(token):
        return float(re.sub(r"[.,]", "", token))
    try:
        return float(token.replace(",", "."))
    except ValueError:
        return None


@lru_cache(maxsize=50_000)
def _fold(token: str) -> str:
    decomposed = unicodedata.normalize("NFKD", token.casefold())
    folded = "".join(char for char in decomposed if not unicodedata.combining(char))
    # Umlauts are kept where they tell German words of the lexicon.
    plain = unicodedata.normalize("NFC", token.casefold())
    return (
        plain
        if plain in RELATION_BY_WORD
        or plain in NEGATIONS
        or plain in HEDGES
        or (plain in LIGHT or plain in _VALUES)
        else folded
    )


def is_german(text: str) -> bool:
    """Returns whether at least a tenth of the words of a text, and two, are German words."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    count = sum(word in GERMAN for word in words)
    return count >= 2 and 10 * count >= len(words)


@lru_cache(maxsize=50_000)
def get_relations(word: str) -> frozenset[str]:
    """Returns the relations that a word or its base form can express: "selling" as "sell"."""
    if word in RELATION_BY_WORD:
        return RELATION_BY_WORD[word]
    for ending in ("ing", "ings", "es", "ed", "s", "d"):
        base = word.removesuffix(ending)
        if base == word or len(base) < _MIN_BASE:
            continue
        forms = (base, f"{base}e", base[:-1] if base[-1] == base[-2] else base)
        found = next((form for form in forms if form in RELATION_BY_WORD), None)
        if found is not None:
            return RELATION_BY_WORD[found]
    return frozenset()


@lru_cache(maxsize=200_000)
def is_same_word(first: str, second: str) -> bool:
    """Returns whether two words are forms of one word, or words of one relation."""
    if first == second:
        return True
    if get_relations(first) & get_relations(second):
        return True
    if first[:1].isdigit() or second[:1].isdigit():
        return False
    shared = next(
        (
            index
            for index, pair in enumerate(zip(first, second, strict=False))
            if pair[0] != pair[1]
        ),
        min(len(first), len(second)),
    )
    return any(
        first[length:] in ENDINGS and second[length:] in ENDINGS
        for length in range(shared, _MIN_STEM - 1, -1)
    )


def are_opposite(first: str, second: str) -> bool:
    """Returns whether two words express opposite relations."""
    others = get_relations(second)
    return any(OPPOSITES.get(relation) in others for relation in get_relations(first))


def is_same(first: Word, second: Word) -> bool:
    """Returns whether two words say the same: numbers by value, names by spelling."""
    if first.value is not None and second.value is not None:
        return first.value == second.value
    return is_same_word(first.key, second.key)


def get_content(words: Iterable[Word]) -> list[Word]:
    """Returns the words that say something, without negations."""
    return [word for word in words if word.kind not in ("light", "negation")]


def collect_names(texts: Sequence[str]) -> frozenset[str]:
    """Collects the words that are names in some English texts, in lower case."""
    return frozenset(word.key for text in texts for word in split_text(text) if word.kind == "name")


def is_verb(word: Word) -> bool:
    """Returns whether a word is probably a verb, or the noun of one, by its form."""
    return word.kind in ("content", "light") and (
        word.key in _AUXILIARIES
        or (word.key in RELATION_BY_WORD and word.key not in NOUNS)
        or (len(word.key) >= _MIN_VERB_LENGTH and word.key.endswith(("ed", "te", "ten")))
    )


def is_noun_of_lexicon(word: Word) -> bool:
    """Returns whether a word is in the lexicon, but does not look like a verb."""
    return (
        word.key in RELATION_BY_WORD
        and word.key not in _AUXILIARIES
        and not word.key.endswith(("ed", "te", "ten"))
        and all(relation.endswith("*") for relation in RELATION_BY_WORD[word.key])
    )
