"""Finds what no evidence on a question has: another year, or a name that resembles none.

What is nowhere is neither supported nor contradicted, but not found. This is certain only of text
that is surely English, since names are translated, and of names without a similar spelling.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rapidfuzz.distance import Levenshtein

from eval.synthlink.claims.lexicon import ENGLISH, FOREIGN, LIGHT, UNTELLING_NAMES
from eval.synthlink.claims.words import Word, is_same, is_same_event, is_verb, split_text

_MIN_NAME_LENGTH: Final = 3
_MAX_ACRONYM_LENGTH: Final = 5
_MIN_SHARED_START: Final = 4
"""Names with as many equal letters at their start may be forms of one: "China", "Chinese"."""
_LETTERS_PER_EDIT: Final = 3
"""Names that differ in one letter of three or fewer may be spellings of one."""
_MIN_ENGLISH_SHARE: Final = 0.4
_YEARS_AROUND: Final = 5
_AT_MOST: Final = frozenset(("by", "before", "until", "below"))
_AT_LEAST: Final = frozenset(("from", "after", "above"))
_OF_ANYTHING: Final = frozenset(("happened", "happen", "occurred", "came"))
"""Verbs that may be said of every event."""
_TELLING: Final = frozenset(("content", "name"))
_TOKEN: Final = re.compile(r"[^\W\d_]+")


class KnownWords:
    """The words of the evidence on a question.

    Args:
        texts: words of each sentence.
    """

    def __init__(self, texts: Sequence[Sequence[Word]]) -> None:
        words = [word for text in texts for word in text]
        self._keys = {word.key for word in words if word.key not in LIGHT}
        self.words: Final = frozenset(self._keys)
        """All words that are not small ones, in lower case."""
        self._starts = {key[:_MIN_SHARED_START] for key in self._keys}
        self._names = {word.key for word in words if word.kind == "name"}
        self._years = [word for word in words if word.number.is_year or word.number.decade]
        self._dated = [text for text in texts if any(word.number.is_year for word in text)]
        self._spans = [span for text in texts for span in _iter_spans(text)]

    def is_english(self, text: str) -> bool:
        """Returns whether a text is surely English.

        It has a small English word and none of another language, and two fifths of its words
        without a capital are small English words or begin as words of the evidence, which is
        English.
        """
        tokens = _TOKEN.findall(text)
        # "The" begins a sentence, or the title of a book, which keeps its name in translations.
        small = [token.casefold() for token in tokens[:1] if token.casefold() in ENGLISH]
        small += [
            token
            for index, token in enumerate(tokens)
            if token.islower() and not (index == 0 and small) and not _is_particle(tokens, index)
        ]
        n_small = sum(word in ENGLISH for word in small)
        n_shared = sum(
            word not in ENGLISH
            and len(word) >= _MIN_SHARED_START
            and word[:_MIN_SHARED_START] in self._starts
            for word in small
        )
        return (
            n_small > 0
            and n_small + n_shared >= _MIN_ENGLISH_SHARE * len(small)
            and not any(word in FOREIGN for word in small)
        )

    def has_new_word(self, text: str, sentence: str, names: Collection[str] = ()) -> bool:
        """Returns whether a claim has a year, or a name in English, that no evidence can mean.

        Args:
            text: the claim.
            sentence: its sentence, which shows the language.
            names: words that are names in the evidence.
        """
        words = split_text(text, names)
        if any(self._is_new_year(word) for word in words) and self._dates_event(words):
            return True
        return self.is_english(sentence) and any(
            self._is_new_name(words, index) for index in range(len(words))
        )

    def _is_new_year(self, word: Word) -> bool:
        """Returns whether a word is a year that the evidence does not have and leaves no room for.

        "By 1981" and "in the 1980s" leave room for 1980.
        """
        year = word.number.value
        if year is None or not word.number.is_year or word.bound:
            return False
        return not any(low <= year <= high for low, high in self._spans) and not any(
            _may_mean(known, year) for known in self._years
        )

    def _dates_event(self, claim: Sequence[Word]) -> bool:
        """Returns whether a sentence with a year has a verb of a claim and a word beside it.

        Where none has, as for "the canal was begun in 1817" beside "opened in 1825", the evidence
        does not say when it was. A claim without a verb or of other
        things is judged by its year alone.
        """
        verbs = [word for word in claim if word.kind == "content" and is_verb(word)]
        verbs = [word for word in verbs if word.key not in _OF_ANYTHING]
        others = [word for word in claim if word.kind in _TELLING and word not in verbs]
        about = [
            text for text in self._dated if any(is_same(one, w) for one in others for w in text)
        ]
        return (not verbs or not about) or any(
            is_same_event(verb.key, word.key) for text in about for word in text for verb in verbs
        )

    def _is_new_name(self, words: Sequence[Word], index: int) -> bool:
        """Returns whether a word is a name that no evidence has in a similar spelling.

        Acronyms may stand for something known, and a name beside a known one may be its given name.
        """
        word = words[index]
        if (
            word.kind != "name"
            or len(word.key) < _MIN_NAME_LENGTH
            or word.key in UNTELLING_NAMES
            or any(map(str.isdigit, word.key))
            or (word.text.isupper() and len(word.text) <= _MAX_ACRONYM_LENGTH)
            or self._resembles_known(word.key)
        ):
            return False
        return not any(
            other.kind == "name"
            and other.key not in UNTELLING_NAMES
            and self._resembles_known(other.key)
            for other in (*words[max(0, index - 1) : index], *words[index + 1 : index + 2])
        )

    def _resembles_known(self, key: str) -> bool:
        if key in self._keys or key[:_MIN_SHARED_START] in self._starts:
            return True
        return any(
            Levenshtein.distance(key, name) <= min(len(key), len(name)) // _LETTERS_PER_EDIT
            for name in self._names
        )


def _iter_spans(words: Sequence[Word]) -> Iterator[tuple[float, float]]:
    """Yields the periods that begin and end with a year: "of 1886 to 1888"."""
    for place, first in enumerate(words):
        second = next((word for word in words[place + 1 :] if word.kind != "light"), None)
        years = first.number.value, None if second is None else second.number.value
        is_span = second is not None and first.number.is_year and second.number.is_year
        if is_span and years[0] is not None and years[1] is not None:
            yield min(years[0], years[1]), max(years[0], years[1])


def _may_mean(known: Word, year: float) -> bool:
    decade, value = known.number.decade, known.number.value
    if decade is not None or value is None:
        return decade is not None and decade <= year < decade + 10
    if known.bound == "about":
        return abs(year - value) <= _YEARS_AROUND
    return (
        year == value
        or (known.bound in _AT_MOST and year <= value)
        or (known.bound in _AT_LEAST and year >= value)
    )


def _is_particle(tokens: Sequence[str], index: int) -> bool:
    """Returns whether a foreign word is a part of a name, as "von" in "Max von Laue"."""
    if tokens[index] not in FOREIGN:
        return False
    beside = [*tokens[max(0, index - 1) : index], *tokens[index + 1 : index + 2]]
    return len(beside) == 2 and all(token[:1].isupper() for token in beside)
