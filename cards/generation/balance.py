"""Chooses entities with similar names, so that no property of a name predicts the label.

Two things are equal within a triplet: the *frequent words* of the three names ("Creek", "Lake"),
which occur in many names of the pool so that a learner could use them, and the number of words
that each name shares with the name of the *anchor*, the term that all three cards ask about.
Lengths, classes and numbers of asserted facts are made as similar as a few random candidates allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from cards.generation.graph_lookup import Appearance, GraphLookup
from cards.generation.pools import Pool
from cards.generation.shortage import has_better_name

MIN_FREQUENT_SHARE = 0.015
"""A word is frequent if at least this share of the names contains it: with a few hundred cards, a
learner could use such a word to predict the label."""

MAX_COUNTED_TERMS = 20_000
"""Maximum number of terms of a pool that are counted; of more, few are needed."""

MAX_SAMPLED_NAMES = 300
"""Maximum number of names sampled from the entities that have a value of the card's predicate, and
from those without one."""


def find_frequent_words(lookup: GraphLookup, terms: Sequence[int]) -> frozenset[str]:
    """Finds the words that occur in ``MIN_FREQUENT_SHARE`` of the names and in three or more."""
    counts = Counter(word for term in terms for word in lookup.get_label_words(term))
    min_count = max(3, MIN_FREQUENT_SHARE * len(terms))
    return frozenset(word for word, n in counts.items() if n >= min_count)


def count_shared_words(lookup: GraphLookup, x: int, anchor: int) -> int:
    """Counts the words that two names share ("North Platte River", "Platte River": 2)."""
    return len(lookup.get_label_words(x) & lookup.get_label_words(anchor))


def compute_dissimilarity(lookup: GraphLookup, predicate: int, x: int, other: int) -> float:
    """Computes the dissimilarity of two entities by counts alone; 0 if all counts are equal.

    Adds up differences in: number of words and letters of the name, its last letter, whether it is
    ASCII, classes, and how often the entity is an object of the predicate.
    """
    return _compare_appearances(
        lookup.get_appearance(x, predicate), lookup.get_appearance(other, predicate)
    )


def _compare_appearances(appearance: Appearance, other: Appearance) -> float:
    words, letters, last_letter, is_ascii, types, popularity = appearance
    words_2, letters_2, last_letter_2, is_ascii_2, types_2, popularity_2 = other
    # Heuristic weights: six letters count as much as a word, a difference in classes counts most.
    distance = abs(words - words_2) + abs(letters - letters_2) / 6
    distance += 0.5 * (last_letter != last_letter_2) + 0.5 * (is_ascii != is_ascii_2)
    distance += 5.0 * (types != types_2)
    return distance + abs(popularity - popularity_2)


def sort_by_similarity(
    lookup: GraphLookup, predicate: int, candidates: Iterable[int], other: int
) -> list[int]:
    """Sorts candidates by similarity to ``other``, most similar first; ties keep their order.

    Args:
        lookup: the knowledge base.
        predicate: the card's predicate.
        candidates: term ids.
        other: the term that they are compared with.
    """
    candidates = list(candidates)
    if len(candidates) < 2:
        return candidates
    appearance, get_appearance = lookup.get_appearance(other, predicate), lookup.get_appearance
    return sorted(
        candidates, key=lambda x: _compare_appearances(get_appearance(x, predicate), appearance)
    )


def has_shared_anchor(pool: Pool, x: int) -> bool | None:
    """Returns whether another thing of a pool has an anchor of ``x``, too; None if it has none.

    A thing under another name (``owl:sameAs``) is not another one.
    """
    cache = pool.sharing_cache
    if x not in cache:
        anchors = pool.get_anchors(x)
        names = frozenset(pool.lookup.kb.oracle.closure.find_same_terms(x))
        is_shared = any(y not in names for anchor in anchors for y in pool.get_holders(anchor))
        cache[x] = is_shared if anchors else None
    return cache[x]


def count_shared_triplets(pool: Pool) -> int:
    """Counts the triplets that can be about things with anchors that others have, too, at most.

    Each needs three such things, and one of these another anchor than the other two. All terms of a
    large pool are taken to be such things.
    """
    if len(pool.anchor_rows) > MAX_COUNTED_TERMS:
        return len(pool.anchor_rows)
    shared = [
        x for x in pool.anchor_rows if has_shared_anchor(pool, x) and not has_better_name(pool, x)
    ]
    counts = Counter(anchor for x in shared for anchor in pool.get_anchors(x))
    return min(len(shared) // 3, len(shared) - max(counts.values(), default=0))
