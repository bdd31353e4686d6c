"""Compares the words of a relation with those of a sentence, whatever their endings."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kg.words.normaliser import FUNCTION_WORDS, stem_word

EMPTY_WORDS: Final = FUNCTION_WORDS | frozenset(
    {"das", "der", "die", "ein", "eine", "hat", "hatte", "im", "ist", "mit", "von", "war"}
    | {"sind", "waren", "wurde", "wurden", "in", "he", "she", "they"}
)
"""Words that do not say how two things are related."""
_MIN_STEM: Final = 3


@lru_cache(maxsize=65_536)
def stem_verb(word: str) -> str:
    """Removes the endings by which a verb and its nouns differ: "founded", "founder", "founds".

    For comparison only: the result need not be a word.
    """
    word = stem_word(word)
    for endings in (("ed", "ing"), ("er", "or", "ion"), ("e",)):
        ending = next((one for one in endings if word.endswith(one)), "")
        if ending and len(word) - len(ending) >= _MIN_STEM:
            word = word[: -len(ending)]
            if ending in ("ed", "ing", "er") and word[-1] == word[-2] and len(word) > _MIN_STEM:
                word = word[:-1]  # "stopped"
    return f"{word[:-1]}i" if word.endswith("y") else word


def list_stems(words: str) -> set[str]:
    """Returns the stems of the content words of a text in small letters."""
    return {stem_verb(word) for word in words.split() if word not in EMPTY_WORDS}
