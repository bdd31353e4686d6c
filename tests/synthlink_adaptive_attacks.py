"""Attacks on the SynthLink score by someone who knows the corrected formulas.

They imitate English with keywords and facts. They use the keywords, facts and even answers of the
catalogue, and they meet what each measure requires: verbs, an order, and function words that are
not too many and in likely places.
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
from eval.synthlink.items import Question
from kg.words.normaliser import FUNCTION_WORDS

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
    """Joins the keywords with one function word between each two."""
    pairs = zip(_list_keywords(question), itertools.cycle(_SMALL_WORDS), strict=False)
    return f"The {''.join(word + small_word for word, small_word in pairs)}it."


def _keywords_in_frames(question: Question, catalog: Catalog) -> str:
    """Fills keywords into grammatical sentences with another meaning."""
    words = iter(_list_keywords(question))
    parts: list[str] = []
    for frame in itertools.cycle(_SENTENCE_FRAMES):
        keywords = list(itertools.islice(words, 3))
        if not keywords:
            return " ".join(parts)
        text = frame.format(*keywords, *["it"] * (3 - len(keywords)))
        parts.append(text[0].upper() + text[1:])
    raise AssertionError  # a cycle does not end


def _keywords_with_likely_words(question: Question, catalog: Catalog) -> str:
    """Joins the keywords with the likeliest words of the shipped English table.

    A joining word is not repeated among the next six.
    """
    first_keyword, *other_keywords = _list_keywords(question)
    text, used_words = f"The {first_keyword}", [""]
    for word in other_keywords:
        candidates = [candidate for candidate in _LIKELY_WORDS if candidate not in used_words[-6:]]
        used_words.append(
            max(candidates, key=lambda candidate: english().advantage(f"{text}{candidate}{word}"))
        )
        text += used_words[-1] + word
    return f"{text}."


def _keywords_in_textbook(question: Question, catalog: Catalog) -> str:
    """Takes sentences of a textbook, with keywords in place of content words.

    From this textbook the word counts are made that ``english`` recognises prose by. Each content
    word is replaced with a probability of 0.6.
    """
    generator = random.Random(question.id)
    book_sentences = [text.strip() for part in textbook() for _, text in sentences(part)]
    words, parts = _list_keywords(question), []
    while words:
        parts.append(
            _replace_content_words(
                generator.choice(book_sentences), words, lambda _: generator.random() < 0.6
            )
        )
    return " ".join(parts)


def _keywords_in_other_answer(question: Question, catalog: Catalog) -> str:
    """Replaces the content words of another question's expected answer by keywords."""
    index = catalog.questions.index(question)
    return _replace_content_words(
        catalog.questions[index - 1].answer, _list_keywords(question), lambda _: True
    )


def _replace_content_words(text: str, words: list[str], is_replaced: Callable[[str], bool]) -> str:
    """Replaces content words of ``text`` by ``words``, which are removed from the list."""
    tokens = []
    for token in text.split():
        stripped = token.strip(".,;:()")
        if (
            stripped
            and words
            and stripped.casefold() not in FUNCTION_WORDS
            and is_replaced(stripped)
        ):
            token = token.replace(stripped, words.pop(0))
        tokens.append(token)
    return " ".join(tokens)


def _deny_facts(question: Question, catalog: Catalog) -> str:
    """Negates all facts."""
    denials = []
    for step in question.steps:
        text, n_changes = re.subn(r"\b(was|were|is|are)\b", r"\1 not", step.fact, count=1)
        denials.append(text if n_changes else f"It is not true that {text}")
    return " ".join(denials)


def _join_words(words: Iterable[str], small_words: Iterable[str]) -> str:
    """Joins words, with function words after every second one and spaces after the others."""
    fillers = iter(small_words)
    text = "".join(
        f"{word}{next(fillers) if index % 2 else ' '}" for index, word in enumerate(words)
    )
    return text[0].upper() + text[1:].rstrip()


def _list_content_words(text: str) -> list[str]:
    return [word for word in text.rstrip(".").split() if word.casefold() not in FUNCTION_WORDS]


def _facts_with_small_words(small_words: tuple[str, ...]) -> AnswerWriter:
    """Makes an attack: the content words of the facts in order, with these words between them."""

    def write_answer(question: Question, catalog: Catalog) -> str:
        fillers = itertools.cycle(small_words)
        return " ".join(
            f"{_join_words(_list_content_words(step.fact), fillers)}." for step in question.steps
        )

    return write_answer


def _answer_with_small_words(question: Question, catalog: Catalog) -> str:
    return _join_words(_list_content_words(question.answer), itertools.cycle(_SMALL_WORDS))


def _swap_neighbours(question: Question, catalog: Catalog) -> str:
    words = question.answer.split()
    pairs = itertools.zip_longest(words[1::2], words[::2], fillvalue="")
    return " ".join(word for pair in pairs for word in pair if word)


def _swap_names(question: Question, catalog: Catalog) -> str:
    """Replaces each keyword in the facts by the next one: the English stays good but is false."""
    words = _list_keywords(question)
    next_keywords = dict(zip(words, [*words[1:], words[0]], strict=True))
    keyword_pattern = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
    return " ".join(
        keyword_pattern.sub(lambda match: next_keywords[match[0]], step.fact)
        for step in question.steps
    )


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
