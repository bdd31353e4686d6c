"""Attacks on the SynthLink score that know the corrected formulas.

They imitate English with keywords and facts. They are given the keywords, facts and even answers
of the catalogue, and they know what each measure requires: function words, but not too many and in
likely places; verbs; an order.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable

from synthlink_attacks import AnswerWriter

from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.english.build_counts import prose as textbook
from eval.synthlink.corrected.english.likelihood import english
from eval.synthlink.corrected.wording import sentences
from eval.synthlink.question import Question
from kg.text.normaliser import FUNCTION_WORDS

_SMALL_WORDS = (
    " of ",
    " in ",
    " with ",
    " by ",
    " and ",
    " to ",
    " from ",
    " for ",
    " as ",
    " at ",
)
_SENTENCE_FRAMES = ("{} was made by the {} in the {}.", "{} led to {} and {}.",
          "In {} the {} became a part of {}.", "It was {} that brought {} to the {}.",
          "Because of {} the {} could change {}.", "{} then gave rise to {} after {}.")  # fmt: skip
_LIKELY_WORDS = (" of the ", " in the ", " and the ", " that the ", " was made by the ",
           " which led to ", " and ", " of ", " in ", " by the ", " to the ", " from the ",
           " led to the ", " was used for ", " and later ", " became the first ",
           " changed the ", " was the ", " with the ", " brought the ", " for the ",
           " so that the ", " and then ", " after the ", " until the ", ", which made the ",
           ", and the ", " gave the ", " helped the ")  # fmt: skip
_VARIED_WORDS = (" of the ", " was in ", " by a ", " from which ", " and its ", " that had ",
           " to be with ", " as it is at ")  # fmt: skip


def _list_keywords(question: Question) -> list[str]:
    return [word for step in question.steps for word in step.keywords]


def _keywords_with_small_words(question: Question, catalog: Catalog) -> str:
    """A function word between each two keywords."""
    pairs = zip(_list_keywords(question), itertools.cycle(_SMALL_WORDS), strict=False)
    return f"The {''.join(word + small for word, small in pairs)}it."


def _keywords_in_frames(question: Question, catalog: Catalog) -> str:
    """Keywords in grammatical sentences with another meaning."""
    words = iter(_list_keywords(question))
    made: list[str] = []
    for frame in itertools.cycle(_SENTENCE_FRAMES):
        part = list(itertools.islice(words, 3))
        if not part:
            return " ".join(made)
        text = frame.format(*part, *["it"] * (3 - len(part)))
        made.append(text[0].upper() + text[1:])
    raise AssertionError  # a cycle does not end


def _keywords_with_likely_words(question: Question, catalog: Catalog) -> str:
    """Between keywords the likeliest words of the shipped English table, seldom repeated."""
    first, *others = _list_keywords(question)
    text, used = f"The {first}", [""]
    for word in others:
        fresh = [small for small in _LIKELY_WORDS if small not in used[-6:]]
        used.append(max(fresh, key=lambda small: english().advantage(f"{text}{small}{word}")))
        text += used[-1] + word
    return f"{text}."


def _keywords_in_textbook(question: Question, catalog: Catalog) -> str:
    """Sentences of the table's source text, with three of five words replaced by keywords."""
    chance = random.Random(question.id)
    book = [text.strip() for part in textbook() for _, text in sentences(part)]
    words, made = _list_keywords(question), []
    while words:
        made.append(
            _replace_content_words(chance.choice(book), words, lambda _: chance.random() < 0.6)
        )
    return " ".join(made)


def _keywords_in_other_answer(question: Question, catalog: Catalog) -> str:
    """The expected answer of another question, its content words replaced by keywords."""
    at = catalog.questions.index(question)
    return _replace_content_words(
        catalog.questions[at - 1].answer, _list_keywords(question), lambda _: True
    )


def _replace_content_words(text: str, words: list[str], chosen: Callable[[str], bool]) -> str:
    """``text`` with content words replaced by ``words``, which are used up."""
    made = []
    for token in text.split():
        bare = token.strip(".,;:()")
        if bare and words and bare.casefold() not in FUNCTION_WORDS and chosen(bare):
            token = token.replace(bare, words.pop(0))
        made.append(token)
    return " ".join(made)


def _deny_facts(question: Question, catalog: Catalog) -> str:
    """All facts, negated."""
    made = []
    for step in question.steps:
        text, changed = re.subn(r"\b(was|were|is|are)\b", r"\1 not", step.fact, count=1)
        made.append(text if changed else f"It is not true that {text}")
    return " ".join(made)


def _join_words(words: Iterable[str], small: Iterable[str]) -> str:
    """Words with one or a few function words after each second one."""
    between = iter(small)
    text = "".join(f"{word}{next(between) if at % 2 else ' '}" for at, word in enumerate(words))
    return text[0].upper() + text[1:].rstrip()


def _list_content_words(text: str) -> list[str]:
    return [word for word in text.rstrip(".").split() if word.casefold() not in FUNCTION_WORDS]


def _facts_with_small_words(small: tuple[str, ...]) -> AnswerWriter:
    """All content words of the facts in order, with other function words between them."""

    def write_answer(question: Question, catalog: Catalog) -> str:
        between = itertools.cycle(small)
        return " ".join(
            f"{_join_words(_list_content_words(step.fact), between)}." for step in question.steps
        )

    return write_answer


def _answer_with_small_words(question: Question, catalog: Catalog) -> str:
    return _join_words(_list_content_words(question.answer), itertools.cycle(_SMALL_WORDS))


def _swap_neighbours(question: Question, catalog: Catalog) -> str:
    words = question.answer.split()
    pairs = itertools.zip_longest(words[1::2], words[::2], fillvalue="")
    return " ".join(word for pair in pairs for word in pair if word)


def _swap_names(question: Question, catalog: Catalog) -> str:
    """The facts, each keyword replaced by the next: good English, and false."""
    words = _list_keywords(question)
    instead = dict(zip(words, [*words[1:], words[0]], strict=True))
    known = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
    return " ".join(known.sub(lambda found: instead[found[0]], s.fact) for s in question.steps)


ADAPTIVE_ATTACKS: dict[str, AnswerWriter] = {
    "keywords, one small word each": _keywords_with_small_words,
    "keywords in sentences with other verbs": _keywords_in_frames,
    "keywords, the likeliest words between": _keywords_with_likely_words,
    "keywords in another answer": _keywords_in_other_answer,
    "facts denied": _deny_facts,
    "facts, small words varied": _facts_with_small_words(_VARIED_WORDS),
    "answer, neighbours exchanged": _swap_neighbours,
}
"""Attacks that score clearly below the honest answers to the six questions."""

REWARDED_ATTACKS: dict[str, AnswerWriter] = {
    "keywords in a textbook's sentences": _keywords_in_textbook,
    "facts, names exchanged": _swap_names,
    "facts, one small word each": _facts_with_small_words(_SMALL_WORDS),
    "answer, one small word each": _answer_with_small_words,
}
"""Attacks that score well: keywords in good but unrelated English, or the reworded facts."""
