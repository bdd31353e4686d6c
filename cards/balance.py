"""Chooses entities with similar names, so that no property of a name predicts the label.

Two things are equal within a triplet: the *frequent words* of the three names ("Creek", "Lake"),
which occur in many names of the pool so that a learner could use them, and the number of words
that each name shares with the anchor's. Lengths, classes and numbers of asserted facts are made as
similar as a few random candidates allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from cards.graph_lookup import GraphLookup

MIN_FREQUENT_SHARE = 0.015
"""Minimum share of names with a word for it to count as frequent: with a few hundred cards, a
learner could use the word."""

MAX_SAMPLED_NAMES = 300
"""Maximum names sampled among the entities with a value, and among those without a value."""


def find_frequent_words(lookup: GraphLookup, terms: Sequence[int]) -> frozenset[str]:
    """Finds the words in at least ``MIN_FREQUENT_SHARE`` of the names, and at least three names."""
    counts = Counter(word for term in terms for word in lookup.get_label_words(term))
    min_count = max(3, MIN_FREQUENT_SHARE * len(terms))
    return frozenset(word for word, n in counts.items() if n >= min_count)


def count_shared_words(lookup: GraphLookup, x: int, anchor: int) -> int:
    """Counts the words that two names share ("North Platte River", "Platte River": 2)."""
    return len(lookup.get_label_words(x) & lookup.get_label_words(anchor))


def compute_dissimilarity(lookup: GraphLookup, p: int, x: int, other: int) -> float:
    """Computes the dissimilarity of two entities by counts alone; 0 if all counts are equal.

    Adds up differences in: number of words and letters of the name, its last letter, whether it is
    ASCII, classes, and how often the entity is an object of the predicate.
    """
    # Heuristic weights: six letters count as much as a word, a difference in classes counts most.
    words, letters, last, ascii_only, types, popular = lookup.get_appearance(x, p)
    words_2, letters_2, last_2, ascii_only_2, types_2, popular_2 = lookup.get_appearance(other, p)
    distance = abs(words - words_2) + abs(letters - letters_2) / 6
    distance += 0.5 * (last != last_2) + 0.5 * (ascii_only != ascii_only_2)
    distance += 5.0 * (types != types_2)
    return distance + abs(popular - popular_2)


def sort_by_similarity(
    lookup: GraphLookup, p: int, candidates: Iterable[int], other: int
) -> list[int]:
    """Sorts candidates by similarity to ``other``, most similar first; ties keep their order.

    Args:
        lookup: the knowledge base.
        p: the card's predicate.
        candidates: term ids.
        other: the term that they are compared with.
    """
    return sorted(candidates, key=lambda x: compute_dissimilarity(lookup, p, x, other))
