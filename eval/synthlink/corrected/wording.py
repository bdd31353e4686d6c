"""Extracts the content words of a text that are not in the question, and compares their order."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from eval.guard.segmenter import Segmenter
from eval.synthlink.items import Question
from kg.words.normaliser import (
    extract_content_words,
    normalise_phrase,
    split_cased_words,
    split_words,
)

LEAST_IN_ORDER: Final = 6
"""Minimum number of common words whose order is compared; fewer count as in order."""

_NEGATIONS: Final = frozenset(
    ["not", "no", "never", "neither", "none", "without", "cannot", "nor", "nobody", "nothing"]
)
_PARTS_OF_NEGATION: Final = frozenset(
    ["isn", "aren", "wasn", "weren", "don", "doesn", "didn", "hasn", "haven", "hadn", "couldn",
     "wouldn", "shouldn", "won"]
)  # fmt: skip
"""The part before the apostrophe of negations such as "didn't"."""
_NUMBER: Final = re.compile(r"\d[\d.]*")


class ContentWords(NamedTuple):
    """The content words, numbers and negation of a stretch of text."""

    words: tuple[str, ...]
    """Content words that are not in the question, in order, with repetitions."""
    numbers: frozenset[str]
    negated: bool


def asked_words(question: str) -> frozenset[str]:
    """Returns the content words of a question; repeating them does not answer it."""
    return frozenset(extract_content_words(question))


def bare_words(question: Question) -> frozenset[str]:
    """Returns words that state nothing on their own: the question's, and its steps' keywords."""
    keywords = (keyword for step in question.steps for keyword in step.keywords)
    return asked_words(question.question).union(*map(extract_content_words, keywords))


def references(question: Question) -> tuple[str, ...]:
    """Returns the references: the expected answer, its aliases, and all facts joined in order.

    The joined facts are a reference for answers that give their reasons: compared with the short
    expected answer only, they would lose precision because of their length.
    """
    facts = " ".join(step.fact for step in question.steps if step.fact)
    return tuple(dict.fromkeys([question.answer, *question.aliases, *([facts] if facts else [])]))


# Cached because every answer is compared with every reference.
@lru_cache(maxsize=512)
def build_content_words(text: str, asked: frozenset[str] = frozenset()) -> ContentWords:
    """Extracts the content words of ``text`` that are not among the words ``asked``."""
    all_words = split_words(text)
    content_words = tuple(word for word in extract_content_words(text) if word not in asked)
    negated = any(
        word in _NEGATIONS or (word in _PARTS_OF_NEGATION and following == "t")
        for word, following in zip(all_words, [*all_words, ""][1:], strict=True)
    )
    numbers = frozenset(word for word in content_words if _NUMBER.fullmatch(word))
    return ContentWords(content_words, numbers, negated)


def to_the_letter(question: Question) -> frozenset[str]:
    """Returns the sentences of facts and references in normal form.

    A claim that repeats one of them verbatim is not tested for being prose.
    """
    texts = [step.fact for step in question.steps] + list(references(question))
    return frozenset(
        normalise_phrase(sentence) for text in texts for _, sentence in sentences(text)
    )


def joined(parts: Sequence[ContentWords]) -> ContentWords:
    """Joins the content words of several parts of a text."""
    return ContentWords(
        tuple(itertools.chain.from_iterable(part.words for part in parts)),
        frozenset().union(*(part.numbers for part in parts)),
        any(part.negated for part in parts),
    )


def names(text: str) -> frozenset[str]:
    """Returns the numbers of a text, and its capitalised words except the first, in normal form."""
    capitalised = (
        word
        for position, word in enumerate(split_cased_words(text))
        if position and word[0].isupper()
    )
    name_words = frozenset(
        word for capitalised_word in capitalised for word in extract_content_words(capitalised_word)
    )
    return name_words | build_content_words(text).numbers


def sentences(text: str) -> list[tuple[int, str]]:
    """Returns the start and text of each sentence; sentences without a word are left out."""
    cutter = Segmenter()
    pieces = [*cutter.feed(text), *cutter.close()]
    return [(piece.start, piece.text) for piece in pieces if split_words(piece.text)]


def asks(sentence: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return sentence.rstrip("\"'”’»)]*_ \t\n").endswith(("?", "？"))


def common(first: Iterable[str], second: Iterable[str]) -> int:
    """Counts the words that two texts have in common, with repetitions."""
    return (Counter(first) & Counter(second)).total()


def order(said: Sequence[str], reference: Sequence[str], doubt: int = 0) -> float:
    """Computes how far the common words are in the reference's order: 0 random, 1 the same order.

    This is the share of neighbouring common words that are also in ascending order in the
    reference, corrected for chance like Cohen's kappa: in random order half of the pairs ascend,
    which gives 0. A sentence whose halves are swapped has only one descending pair, so its value
    stays high.

    Args:
        said: words of the answer, with repetitions.
        reference: words of the reference, with repetitions.
        doubt: number of ascending pairs added, since few pairs are weak evidence.

    Returns:
        In [0, 1]; 1 for fewer than ``LEAST_IN_ORDER`` common words.
    """
    places: dict[str, list[int]] = {}
    for place, word in enumerate(reference):
        places.setdefault(word, []).append(place)
    path: list[int] = []
    for word in said:
        open_places = places.get(word)
        if open_places:
            last = path[-1] if path else -1
            forward = [place for place in open_places if place > last]
            position = forward[0] if forward else open_places[0]
            open_places.remove(position)
            path.append(position)
    if len(path) < LEAST_IN_ORDER:
        return 1.0
    ahead = doubt + sum(later > earlier for earlier, later in itertools.pairwise(path))
    pairs = doubt + len(path) - 1
    # Divides last, to keep integers exact: 2 * 3 / 5 - 1 would be less than .2.
    return max(0, 2 * ahead - pairs) / pairs
