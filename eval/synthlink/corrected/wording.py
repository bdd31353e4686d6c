"""Compares wordings: words beyond the question's own, in an order that was not thrown together."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from eval.guard.cutting import Cutter
from eval.synthlink.question import Question
from kg.text.normaliser import content_words, normalise, words, written_words

LEAST_IN_ORDER: Final = 6
"""So many words in common say something of their order; fewer are taken to be in order."""

_NEGATIONS: Final = frozenset(
    ["not", "no", "never", "neither", "none", "without", "cannot", "nor", "nobody", "nothing"]
)
_PARTS_OF_NEGATION: Final = frozenset(
    ["isn", "aren", "wasn", "weren", "don", "doesn", "didn", "hasn", "haven", "hadn", "couldn",
     "wouldn", "shouldn", "won"]
)  # fmt: skip
"""What is left of "didn't" and its like before the apostrophe."""
_NUMBER: Final = re.compile(r"\d[\d.]*")


class Saying(NamedTuple):
    """What a stretch of text says, as far as words show it."""

    words: tuple[str, ...]
    """Content words beyond the question's own, in order, repetitions included."""
    numbers: frozenset[str]
    negated: bool


def asked_words(question: str) -> frozenset[str]:
    """The content words of a question: saying them again answers nothing."""
    return frozenset(content_words(question))


def bare_words(question: Question) -> frozenset[str]:
    """Words that state nothing by themselves: the question's, and the keywords of its steps."""
    keywords = (keyword for step in question.steps for keyword in step.keywords)
    return asked_words(question.question).union(*map(content_words, keywords))


def references(question: Question) -> tuple[str, ...]:
    """Texts that an answer may agree with: the expected answer, its aliases, all facts in order.

    The last is for answers that give their reasons, which would be punished for their length.
    """
    facts = " ".join(step.fact for step in question.steps if step.fact)
    return tuple(dict.fromkeys([question.answer, *question.aliases, *([facts] if facts else [])]))


@lru_cache(maxsize=512)  # an answer is held against each reference, and references against all
def saying(text: str, asked: frozenset[str] = frozenset()) -> Saying:
    """What ``text`` says beyond the words that were asked."""
    all_words = words(text)
    held = tuple(word for word in content_words(text) if word not in asked)
    negated = any(
        word in _NEGATIONS or (word in _PARTS_OF_NEGATION and following == "t")
        for word, following in zip(all_words, [*all_words, ""][1:], strict=True)
    )
    numbers = frozenset(word for word in held if _NUMBER.fullmatch(word))
    return Saying(held, numbers, negated)


def to_the_letter(question: Question) -> frozenset[str]:
    """Sentences of facts and expected answers, in normal form: said again they need no grammar."""
    texts = [step.fact for step in question.steps] + list(references(question))
    return frozenset(normalise(one) for text in texts for _, one in sentences(text))


def joined(parts: Sequence[Saying]) -> Saying:
    """What parts of a text say together."""
    return Saying(
        tuple(itertools.chain.from_iterable(part.words for part in parts)),
        frozenset().union(*(part.numbers for part in parts)),
        any(part.negated for part in parts),
    )


def names(text: str) -> frozenset[str]:
    """Numbers of a text, and words with a capital that do not begin it, in normal form."""
    found = (word for at, word in enumerate(written_words(text)) if at and word[0].isupper())
    named = frozenset(word for one in found for word in content_words(one))
    return named | saying(text).numbers


def sentences(text: str) -> list[tuple[int, str]]:
    """The sentences of a text and where each begins; those without a word are left out."""
    cutter = Cutter()
    pieces = [*cutter.feed(text), *cutter.close()]
    return [(piece.start, piece.text) for piece in pieces if words(piece.text)]


def asks(sentence: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return sentence.rstrip("\"'”’»)]*_ \t\n").endswith(("?", "？"))


def common(first: Iterable[str], second: Iterable[str]) -> int:
    """Words in common, each as often as both have it."""
    return (Counter(first) & Counter(second)).total()


def order(said: Sequence[str], reference: Sequence[str], doubt: int = 0) -> float:
    """How far the words in common stand in the reference's order, 0 as thrown together, 1 kept.

    Of each two neighbours among the words in common it is asked whether they go forward in the
    reference. In words thrown together half of them do, which is worth 0: the share of steps
    forward, corrected for chance as Cohen's kappa is. A sentence whose halves have changed places
    goes back once only, and loses little.

    Args:
        said: words, with repetitions.
        reference: words, with repetitions.
        doubt: so many neighbours are taken to go forward besides, for few prove little.

    Returns:
        Within 0 and 1; 1 for fewer than ``LEAST_IN_ORDER`` words in common.
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
            taken = forward[0] if forward else open_places[0]
            open_places.remove(taken)
            path.append(taken)
    if len(path) < LEAST_IN_ORDER:
        return 1.0
    ahead = doubt + sum(later > earlier for earlier, later in itertools.pairwise(path))
    pairs = doubt + len(path) - 1
    # Whole numbers as long as can be: 2 * 3 / 5 - 1 is less than .2.
    return max(0, 2 * ahead - pairs) / pairs
