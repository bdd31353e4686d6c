"""Balance: choosing entities that look alike, so that nothing about a name tells the label.

Two things are held equal within a triplet: the *telling words* of the three names ("Creek",
"Lake"), which are the words that many names of the pool contain and a learner could therefore
use, and the number of words each name shares with the anchor's. Lengths, classes and numbers of
stated facts are brought as near as a few random draws allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from cards.world import World

TELLING_SHARE = 0.015
"""A word in at least this share of names could be learnt from a few hundred cards."""

NAME_SAMPLE = 300
"""Names looked at, of those with and of those without a value each."""


def telling_words(world: World, terms: Sequence[int]) -> frozenset[str]:
    """The words that at least ``TELLING_SHARE`` of names contain, and at least three names."""
    seen = Counter(word for term in terms for word in world.words(term))
    least = max(3, TELLING_SHARE * len(terms))
    return frozenset(word for word, n in seen.items() if n >= least)


def overlap(world: World, x: int, anchor: int) -> int:
    """Number of words that two names share ("North Platte River", "Platte River": 2)."""
    return len(world.words(x) & world.words(anchor))


def unlikeness(world: World, p: int, x: int, other: int) -> float:
    """How different two entities look to someone who only counts: 0 for twins.

    Adds up differences in: number of words and letters of the name, its last letter and alphabet,
    classes, and how often they are an object of the asked predicate.
    """
    words, letters, last, ascii_only, types, popular = world.look(x, p)
    words_2, letters_2, last_2, ascii_only_2, types_2, popular_2 = world.look(other, p)
    distance = abs(words - words_2) + abs(letters - letters_2) / 6
    distance += 0.5 * (last != last_2) + 0.5 * (ascii_only != ascii_only_2)
    distance += 5.0 * (types != types_2)
    return distance + abs(popular - popular_2)


def by_likeness(world: World, p: int, candidates: Iterable[int], other: int) -> list[int]:
    """Candidates, the most alike first; ties in their own order.

    Args:
        world: where names and facts are looked up.
        p: the asked predicate.
        candidates: term ids.
        other: whom to resemble.
    """
    return sorted(candidates, key=lambda x: unlikeness(world, p, x, other))
