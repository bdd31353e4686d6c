"""Whether an answer is prose, or keywords with something put between them."""

from __future__ import annotations

from typing import Final, NamedTuple

from eval.synthlink.corrected.english.likelihood import english
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import asked_words, bare_words, sentences
from eval.synthlink.question import Question
from kg.text.normaliser import FUNCTION_WORDS, content_words, words

LEAST_FOR_PROSE: Final = 8
"""So many content words call for some function words between them; fewer tell nothing."""
_DENSE_SPAN: Final = 0.1
"""From ``Thresholds.dense`` on, what is counted falls to nothing within this."""
_ENGLISH_SPAN: Final = 0.2
"""The same of ``Thresholds.english``, downwards."""


class Signs(NamedTuple):
    """What tells prose from keywords."""

    small: float
    """Share of function words among the different words of each sentence: about .3 in prose and
    nearly 0 in a list. Different words are counted, so that "and the" between keywords makes no
    prose of them."""
    dense: float
    """Share of function words among all words: below .5 in prose, and above where each keyword has
    two or three to itself."""
    english: float
    """How much likelier it is as prose than as glued keywords; see ``English.advantage``."""


def signs(text: str) -> Signs:
    """The signs of a text; all 0 for one without words."""
    by_sentence = [set(words(sentence)) for _, sentence in sentences(text)]
    total = sum(map(len, by_sentence))
    small = sum(len(found & FUNCTION_WORDS) for found in by_sentence)
    running = words(text)
    return Signs(
        small / total if total else 0.0,
        sum(word in FUNCTION_WORDS for word in running) / len(running) if running else 0.0,
        english().advantage(text),
    )


def prose(answer: str, reference: str, question: Question, bar: Thresholds) -> float:
    """How far an answer is prose, within 0 and 1: the least of what four signs make of it.

    * Of small words it has enough: 1 from ``bar.prose`` on, 0 from half of that down.
    * It has not too many: 1 up to ``bar.dense``, 0 from a tenth more on.
    * It is no likelier as glued keywords than as prose: 1 from ``bar.english`` on, 0 from .2 less.
    * Of its words beyond the question, some are no keywords of the steps: 1 from ``bar.own`` on, 0
      from half of that down.

    What the reference itself has of each is always enough, and an answer too short to tell is
    prose.
    """
    if len(content_words(answer)) < LEAST_FOR_PROSE:
        return 1.0
    has, asked = signs(answer), signs(reference)
    small, own = min(bar.prose, asked.small), min(bar.own, own_words(reference, question))
    dense, likely = max(bar.dense, asked.dense), min(bar.english, asked.english)
    return min(
        _from_half(has.small, small),
        _clipped((dense + _DENSE_SPAN - has.dense) / _DENSE_SPAN),
        _clipped((has.english - likely + _ENGLISH_SPAN) / _ENGLISH_SPAN),
        _from_half(own_words(answer, question), own),
    )


def is_prose(sentence: str, whole: Signs, bar: Thresholds) -> bool:
    """Whether a sentence is one, and no list of keywords with a full stop.

    Args:
        sentence: one of the answer's.
        whole: signs of the answer, by which a sentence of few words is judged.
        bar: what they are to be; ``sentence`` of small words is enough.
    """
    enough = len(content_words(sentence)) >= LEAST_FOR_PROSE
    has = signs(sentence) if enough else whole
    return (
        has.small >= bar.sentence
        and has.dense < bar.dense + _DENSE_SPAN
        and has.english > bar.english - _ENGLISH_SPAN
    )


def own_words(text: str, question: Question) -> float:
    """Share of words that are no keywords among a text's content words beyond the question.

    It is .2 and more where something is said of the keywords. 0 for no such words.
    """
    bare, asked = bare_words(question), asked_words(question.question)
    said = [word for word in content_words(text) if word not in asked]
    return sum(word not in bare for word in said) / len(said) if said else 0.0


def _from_half(value: float, whole: float) -> float:
    """1 from ``whole`` on, 0 from half of it down; 1 where nothing is asked for."""
    return _clipped(2 * value / whole - 1) if whole > 0 else 1.0


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
