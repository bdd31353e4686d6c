"""Splits answers and evidence into sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eval.guard.segmenter import Segmenter
from kg.words.normaliser import split_words

if TYPE_CHECKING:
    from eval.synthlink.items import Question

_GERMAN_QUOTATION: Final = re.compile("„([^„“”]*)“")


def split_sentences(text: str) -> list[tuple[int, str]]:
    """Returns the start and text of each sentence; sentences without a word are left out."""
    segmenter = Segmenter()
    pieces = [*segmenter.feed(text), *segmenter.close()]
    return [(piece.start, piece.text) for piece in pieces if split_words(piece.text)]


def split_statements(text: str) -> list[str]:
    """Returns the sentences of a text in which quotations may have German marks.

    The closing mark of „…“ opens a quotation in English, which the literal scores, whose sentences
    are those of ``split_sentences``, take it for.
    """
    clear = _GERMAN_QUOTATION.sub(r"“\1”", text)
    return [
        text[start : start + len(sentence)].strip() for start, sentence in split_sentences(clear)
    ]


def is_question(sentence: str) -> bool:
    """Returns whether a sentence ends with a question mark."""
    return sentence.rstrip("\"'”’»)]*_ \t\n").endswith(("?", "？"))


def normalise_wording(sentence: str) -> str:
    """Returns the words of a sentence in lower case, joined by spaces.

    Two sentences with the same result differ in case, spaces and punctuation only.
    """
    return " ".join(split_words(sentence))


def list_expected_facts(question: Question) -> dict[int, str]:
    """Returns the facts that an answer should state.

    Returns:
        Number of the step → its fact; if no step states a fact, number of the sentence → sentence
        of the expected answer, from 1.
    """
    facts = {number: step.fact for number, step in enumerate(question.steps, 1) if step.fact}
    sentences = [sentence.strip() for _, sentence in split_sentences(question.answer)]
    return facts or dict(enumerate(sentences, 1))
