"""Measures how much of a question the evidence covers, to detect evidence about something else.

Words are compared by their keys: their stems or, for acronyms, the acronym itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from eval.questions.mentions import is_capitalised, tokenise_text
from eval.synthlink.agents.walker.node_names import Keys, extract_keys

NAME_WEIGHT: Final = 3.0
"""Weight of a name or number in a question; other content words have weight 1."""
MIN_COVERAGE: Final = 0.5
"""Minimum coverage, by weight, for the evidence to count as being about the question."""
_INTERROGATIVES: Final = frozenset(extract_keys("how why what which whose who when where"))
"""Keys of the words that mark a question; evidence need not contain them."""


def weigh_question_words(question: str) -> dict[str, float]:
    """Weighs the content words of a question that evidence should contain.

    Args:
        question: the question.

    Returns:
        Key of each word (see the module) → its weight.
    """
    weights: dict[str, float] = {}
    for index, token in enumerate(tokenise_text(question)):
        # The first word of a question is always capitalised, so that does not make it a name.
        is_name = token.number or (index > 0 and is_capitalised((token,)))
        for key in extract_keys(token.text) - _INTERROGATIVES:
            weights[key] = max(weights.get(key, 0.0), NAME_WEIGHT if is_name else 1.0)
    return weights


def find_named_subjects(word_weights: dict[str, float], titles: Iterable[str]) -> dict[str, Keys]:
    """Finds the page titles that a question contains in full and that include a name or number.

    A question that contains all words of a page's title is about the subject of that page.

    Args:
        word_weights: result of ``weigh_question_words``.
        titles: titles of the pages found by searching for the question.

    Returns:
        Title → keys of the names and numbers in it.
    """
    subjects: dict[str, Keys] = {}
    for title in titles:
        keys = extract_keys(title)
        names = frozenset(key for key in keys if word_weights.get(key) == NAME_WEIGHT)
        if names and keys <= word_weights.keys():
            subjects[title] = names
    return subjects


def question_coverage(word_weights: dict[str, float], evidence: Keys) -> float:
    """Computes the share of a question's words, by weight, that occur in the evidence.

    Returns:
        The share, in [0, 1]; 1 for a question without content words.
    """
    total = math.fsum(word_weights.values())
    covered = math.fsum(weight for key, weight in word_weights.items() if key in evidence)
    return covered / total if total else 1.0
