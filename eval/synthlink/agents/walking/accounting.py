"""Whether what was found is about what was asked, or about something else that looks like it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from eval.questions.linking import is_capitalised, tokens_of
from eval.synthlink.agents.walking.naming import Keys, keys_of

NAME: Final = 3.0
"""What a name or number of a question counts, when another word of content counts 1."""
LEAST: Final = 0.5
"""Share of a question's words from which the evidence is about it."""
_ASIDE: Final = frozenset(keys_of("how why what which whose who when where"))


def demands(question: str) -> dict[str, float]:
    """The words of a question that evidence must account for, and what each counts.

    Args:
        question: the question; its first word has a capital whatever it is.
    """
    found: dict[str, float] = {}
    for at, token in enumerate(tokens_of(question)):
        name = token.number or (at > 0 and is_capitalised((token,)))
        for key in keys_of(token.text) - _ASIDE:
            found[key] = max(found.get(key, 0.0), NAME if name else 1.0)
    return found


def named_subjects(demanded: dict[str, float], titles: Iterable[str]) -> dict[str, Keys]:
    """Titles of pages that a question names in full, and the names and numbers in them.

    A question that has all words of a page's title is about what the page is about.

    Args:
        demanded: as ``demands`` gives it.
        titles: of pages that the question itself found.
    """
    found: dict[str, Keys] = {}
    for title in titles:
        keys = keys_of(title)
        names = frozenset(key for key in keys if demanded.get(key) == NAME)
        if names and keys <= demanded.keys():
            found[title] = names
    return found


def accounted(demanded: dict[str, float], evidence: Keys) -> float:
    """Share of what a question demands that stands in the evidence; 1 where it demands nothing."""
    total = math.fsum(demanded.values())
    held = math.fsum(weight for key, weight in demanded.items() if key in evidence)
    return held / total if total else 1.0
