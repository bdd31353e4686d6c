"""Attacks that know how the corrected scores work: keywords and facts in something like English.

They are given the catalogue's keywords, its facts, even its answers, and what each measure asks
for: small words, but not too many, in likely places; verbs; an order.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable

from synthlink_attacks import Answer

from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.english.build_counts import prose as textbook
from eval.synthlink.corrected.english.likelihood import english
from eval.synthlink.corrected.wording import sentences
from eval.synthlink.question import Question
from kg.text.normaliser import FUNCTION_WORDS

_SMALL = (" of ", " in ", " with ", " by ", " and ", " to ", " from ", " for ", " as ", " at ")
_VERBS = ("{} was made by the {} in the {}.", "{} led to {} and {}.",
          "In {} the {} became a part of {}.", "It was {} that brought {} to the {}.",
          "Because of {} the {} could change {}.", "{} then gave rise to {} after {}.")  # fmt: skip
_LIKELY = (" of the ", " in the ", " and the ", " that the ", " was made by the ", " which led to ",
           " and ", " of ", " in ", " by the ", " to the ", " from the ", " led to the ",
           " was used for ", " and later ", " became the first ", " changed the ", " was the ",
           " with the ", " brought the ", " for the ", " so that the ", " and then ",
           " after the ", " until the ", ", which made the ", ", and the ", " gave the ",
           " helped the ")  # fmt: skip
_VARIED = (" of the ", " was in ", " by a ", " from which ", " and its ", " that had ",
           " to be with ", " as it is at ")  # fmt: skip


def _keywords(question: Question) -> list[str]:
    return [word for step in question.steps for word in step.keywords]


def _one_small_word(question: Question, catalog: Catalog) -> str:
    """A small word between each two keywords."""
    pairs = zip(_keywords(question), itertools.cycle(_SMALL), strict=False)
    return f"The {''.join(word + small for word, small in pairs)}it."


def _with_other_verbs(question: Question, catalog: Catalog) -> str:
    """Keywords in grammatical sentences that say something else of them."""
    words = iter(_keywords(question))
    made: list[str] = []
    for frame in itertools.cycle(_VERBS):
        part = list(itertools.islice(words, 3))
        if not part:
            return " ".join(made)
        text = frame.format(*part, *["it"] * (3 - len(part)))
        made.append(text[0].upper() + text[1:])
    raise AssertionError  # a cycle does not end


def _likeliest(question: Question, catalog: Catalog) -> str:
    """Between keywords what the shipped table of English likes best, seldom the same."""
    first, *others = _keywords(question)
    text, used = f"The {first}", [""]
    for word in others:
        fresh = [small for small in _LIKELY if small not in used[-6:]]
        used.append(max(fresh, key=lambda small: english().advantage(f"{text}{small}{word}")))
        text += used[-1] + word
    return f"{text}."


def _in_textbook(question: Question, catalog: Catalog) -> str:
    """Sentences of the textbook the table was made from, three of five words keywords."""
    chance = random.Random(question.id)
    book = [text.strip() for part in textbook() for _, text in sentences(part)]
    words, made = _keywords(question), []
    while words:
        made.append(_replaced(chance.choice(book), words, lambda _: chance.random() < 0.6))
    return " ".join(made)


def _in_another_answer(question: Question, catalog: Catalog) -> str:
    """The expected answer of another question, its content words keywords."""
    at = catalog.questions.index(question)
    return _replaced(catalog.questions[at - 1].answer, _keywords(question), lambda _: True)


def _replaced(text: str, words: list[str], chosen: Callable[[str], bool]) -> str:
    """``text`` with content words replaced by ``words``, which are used up."""
    made = []
    for token in text.split():
        bare = token.strip(".,;:()")
        if bare and words and bare.casefold() not in FUNCTION_WORDS and chosen(bare):
            token = token.replace(bare, words.pop(0))
        made.append(token)
    return " ".join(made)


def _denied(question: Question, catalog: Catalog) -> str:
    """All facts, denied."""
    made = []
    for step in question.steps:
        text, changed = re.subn(r"\b(was|were|is|are)\b", r"\1 not", step.fact, count=1)
        made.append(text if changed else f"It is not true that {text}")
    return " ".join(made)


def _glued(words: Iterable[str], small: Iterable[str]) -> str:
    """Words with a small one, or two or three, behind each second."""
    between = iter(small)
    text = "".join(f"{word}{next(between) if at % 2 else ' '}" for at, word in enumerate(words))
    return text[0].upper() + text[1:].rstrip()


def _content(text: str) -> list[str]:
    return [word for word in text.rstrip(".").split() if word.casefold() not in FUNCTION_WORDS]


def _facts_glued(small: tuple[str, ...]) -> Answer:
    """All content words of the facts in order, other small words between them."""

    def made(question: Question, catalog: Catalog) -> str:
        between = itertools.cycle(small)
        return " ".join(f"{_glued(_content(step.fact), between)}." for step in question.steps)

    return made


def _answer_glued(question: Question, catalog: Catalog) -> str:
    return _glued(_content(question.answer), itertools.cycle(_SMALL))


def _neighbours_exchanged(question: Question, catalog: Catalog) -> str:
    words = question.answer.split()
    pairs = itertools.zip_longest(words[1::2], words[::2], fillvalue="")
    return " ".join(word for pair in pairs for word in pair if word)


def _names_exchanged(question: Question, catalog: Catalog) -> str:
    """The facts, each keyword in the place of the one before it: good English, and false."""
    words = _keywords(question)
    instead = dict(zip(words, [*words[1:], words[0]], strict=True))
    known = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
    return " ".join(known.sub(lambda found: instead[found[0]], s.fact) for s in question.steps)


ADAPTIVE: dict[str, Answer] = {
    "keywords, one small word each": _one_small_word,
    "keywords in sentences with other verbs": _with_other_verbs,
    "keywords, the likeliest words between": _likeliest,
    "keywords in another answer": _in_another_answer,
    "facts denied": _denied,
    "facts, small words varied": _facts_glued(_VARIED),
    "answer, neighbours exchanged": _neighbours_exchanged,
}
"""What does not pay."""

PAYING: dict[str, Answer] = {
    "keywords in a textbook's sentences": _in_textbook,
    "facts, names exchanged": _names_exchanged,
    "facts, one small word each": _facts_glued(_SMALL),
    "answer, one small word each": _answer_glued,
}
"""What does: the names in good English that says something else, or the facts or the answer."""
