"""Splits answers and evidence into sentences."""

from __future__ import annotations

from eval.guard.segmenter import Segmenter
from kg.words.normaliser import split_words


def split_sentences(text: str) -> list[tuple[int, str]]:
    """Returns the start and text of each sentence; sentences without a word are left out."""
    segmenter = Segmenter()
    pieces = [*segmenter.feed(text), *segmenter.close()]
    return [(piece.start, piece.text) for piece in pieces if split_words(piece.text)]


def is_question(sentence: str) -> bool:
    """Returns whether a sentence ends with a question mark."""
    return sentence.rstrip("\"'”’»)]*_ \t\n").endswith(("?", "？"))


def normalise_wording(sentence: str) -> str:
    """Returns the words of a sentence in lower case, joined by spaces.

    Two sentences with the same result differ in case, spaces and punctuation only.
    """
    return " ".join(split_words(sentence))
