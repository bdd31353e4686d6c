"""The words of claims and evidence, in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from eval.synthlink.claims.lexicon import (
    DEMONYMS,
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
from eval.synthlink.claims.number_readings import (
    DIGIT_PATTERN,
    NUMBER_WORD_PATTERN,
    NumberReading,
    find_bound,
    is_other_number,
    is_same_number,
    read_digits,
    read_words,
)
from eval.synthlink.claims.verb_forms import IRREGULAR_VERBS
from kg.base.plain_text import list_words
from kg.words.number_words import NUMBER_WORDS
from kg.words.number_words import PROSE_SCALES as _SCALES

WordKind = Literal["content", "name", "number", "light", "negation", "hedge"]


_TOKEN = re.compile(
    rf"(?P<words>{NUMBER_WORD_PATTERN})|(?P<digits>{DIGIT_PATTERN})|n['’]t\b|"
    r"[^\W\d_]+(?:\d+[^\W_]*)?"
)
_CONTRACTION = re.compile(r"(?<=[^\W\d_])n['’]t\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<!\d)['’]s\b", re.IGNORECASE)
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
_PLAIN_LETTERS: Final = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"}
)
"""Letters that no accent makes, as they are often written."""
_ADJECTIVES: Final = frozenset(("n", "an", "ian", "ese", "ish"))
"""Endings that make an adjective of a name."""
_MIN_STEM: Final = 4
"""Minimum number of letters that two forms of one word share."""
_IRREGULAR_ROWS: Final = [frozenset(row) for row in IRREGULAR_VERBS]
_SAME_EVENTS: Final = [
    frozenset(list_words(row))
    for row in (
        "begin begins began begun start starts started begann begannen begonnen",
        "open opens opened opening eröffnet eröffnete",
        "publish publishes published publication veröffentlicht veröffentlichte veröffentlichten",
        "sign signs signed unterzeichnet unterzeichnete unterzeichneten",
        "invent invented invents invention devise devised erfand erfanden erfunden",
        "find finds found discover discovers discovered discovery entdeckt entdeckte entdeckten",
        "founded founding gegründet gründete gründeten",
        "build builds built building baute bauten gebaut",
        "win wins won gewann gewannen gewonnen",
        "happen happens happened occur occurs occurred",
    )
]
"""Verbs that name one event: what was begun in a year may have been opened in another."""


class Word(NamedTuple):
    """One word of a text."""

    text: str
    key: str
    """The word without capitals and accents."""
    kind: WordKind
    start: int
    """Offset in the text, in characters."""
    number: NumberReading = NumberReading(None)
    """What a number says."""
    bound: str = ""
    """What the words before a number say of it, as ``find_bound`` returns it."""

    @property
    def value(self) -> float | None:
        """Value of a number; None if it has none, as a decade."""
        return self.number.value


def split_text(text: str, names: Collection[str] = (), *, german: bool | None = None) -> list[Word]:
    """Splits a text into words; a number and its scale ("four million") are one word.

    Args:
        text: the text.
        names: words, in lower case, that are known to be names; other words are names if they have
            a capital within an English sentence, or a digit.
        german: whether the text is German, whose nouns have capitals; None to find out.
    """
    return list(_split_text(text, frozenset(names), german))


@lru_cache(maxsize=8192)  # the same clauses are compared with many others
def _split_text(text: str, names: frozenset[str], german: bool | None) -> tuple[Word, ...]:
    clean = _POSSESSIVE.sub(" s", _CONTRACTION.sub(" not", text.replace("’", "'")))
    german = is_german(text) if german is None else german
    words: list[Word] = []
    is_first = True
    for match in _TOKEN.finditer(clean):
        token = match.group()
        key = _fold(token)
        before = [word.key for word in words]
        if match["words"] or match["digits"]:
            previous = before[-1] if before else ""
            read = read_words(token) if match["words"] else read_digits(token, previous)
            bound = find_bound(before)
            if read.is_year and previous in ("year", "jahr"):
                words[-1] = words[-1]._replace(kind="light")  # "the year 1816" is 1816
            words.append(Word(token, read.key or key, "number", match.start(), read, bound))
            is_first = False
            continue
        if key in _SCALES and words and words[-1].value is not None and _is_amount(words[-1]):
            last = words.pop()
            read = NumberReading((last.value or 0) * _SCALES[key])
            text_of_both = clean[last.start : match.end()]
            words.append(last._replace(text=text_of_both, key=read.key, number=read))
            continue
        if words and (words[-1].key, key) in PHRASES:
            last = words.pop()
            meaning = PHRASES[last.key, key]
            words.append(last._replace(text=f"{last.text} {token}", key=meaning, kind="content"))
            continue
        word = _classify(token, key, match.start(), names, german=german, is_first=is_first)
        words.append(word._replace(bound=find_bound(before)) if word.kind == "number" else word)
        rest = clean[match.end() : match.end() + 1]
        is_first = rest in (".", ":", "?", "!", "(", '"', "“")
    return tuple(words)


def _classify(
    written: str, key: str, start: int, names: Collection[str], *, german: bool, is_first: bool
) -> Word:
    if key in _VALUES and not written[:1].isupper():
        read = NumberReading(_VALUES[key])
        return Word(written, read.key, "number", start, read)
    kind: WordKind = "content"
    if written == "Without" and not is_first:
        kind = "name"  # of the Year Without a Summer
    elif key in NEGATIONS:
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


@lru_cache(maxsize=50_000)
def _fold(token: str) -> str:
    decomposed = unicodedata.normalize("NFKD", token.casefold().translate(_PLAIN_LETTERS))
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
    return _have_one_stem(first, second)


def _have_one_stem(first: str, second: str) -> bool:
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


@lru_cache(maxsize=50_000)
def is_same_event(first: str, second: str) -> bool:
    """Returns whether two verbs name the same event, so that it has only one year.

    "Begun" and "opened" do not, though each can be said for the other.
    """
    if first == second:
        return True
    rows = [row for row in (*_SAME_EVENTS, *_IRREGULAR_ROWS) if first in row or second in row]
    if rows:
        return any(first in row and second in row for row in rows)
    return _have_one_stem(first, second)


def are_opposite(first: str, second: str) -> bool:
    """Returns whether two words express opposite relations."""
    others = get_relations(second)
    return any(OPPOSITES.get(relation) in others for relation in get_relations(first))


def is_same(first: Word, second: Word) -> bool:
    """Returns whether a word of a claim and one of the evidence say the same.

    Numbers are compared by value, names by spelling, and other words by form and meaning.
    """
    if first.kind == "number" and second.kind == "number":
        return is_same_number(first.number, first.bound, second.number, second.bound)
    if first.kind == "number" or second.kind == "number":
        return first.key == second.key
    if _is_proper(first) and _is_proper(second) and "name" in (first.kind, second.kind):
        return _is_same_name(first.key, second.key)
    return is_same_word(first.key, second.key)


def is_other(first: Word, second: Word) -> bool:
    """Returns whether two numbers cannot both be right of the same thing."""
    return first.kind == second.kind == "number" and is_other_number(
        first.number, first.bound, second.number, second.bound
    )


def _is_proper(word: Word) -> bool:
    """Returns whether a word is a name, or may be one: "Parker" at the start of a sentence."""
    return word.kind == "name" or (word.text[:1].isupper() and word.key not in RELATION_BY_WORD)


def _is_same_name(first: str, second: str) -> bool:
    """Returns whether two names are equal, or one is an adjective of the other.

    "Haiti" and "Haitian" are, but not "Parker" and "Parks", nor "Treaty" and "Convention".
    """
    short, long = sorted((first, second), key=len)
    if DEMONYMS.get(first, first) == DEMONYMS.get(second, second):
        return True
    return short == long or (
        len(short) >= _MIN_STEM and long.startswith(short) and long[len(short) :] in _ADJECTIVES
    )


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
