"""Proposes synonym candidates that embeddings miss: other spellings and spacings.

The vectors of "optimisation" and "optimization" may be far apart. ``propose_pairs`` finds them by
an index of letters. ``join_groups`` then joins the groups of such a pair completely, so that every
keyword stays in exactly one group. The verifier decides about the joined groups as about all
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg.text.canonical.rules import join_lemmas
from kg.words.normaliser import normalise_phrase


def join_groups(
    labels: Sequence[str], groups: Sequence[Sequence[int]], max_group_size: int
) -> list[list[int]]:
    """Joins two groups if ``propose_pairs`` pairs a keyword of one with a keyword of the other.

    Args:
        labels: the keywords.
        groups: positions in ``labels``, each in one group.
        max_group_size: joins that would make a larger group are skipped.

    Returns:
        Groups with each position once, in the order of their first members.
    """
    group_of = {position: number for number, group in enumerate(groups) for position in group}
    members = [list(group) for group in groups]
    for first, second in propose_pairs(labels):
        low, high = sorted((group_of[first], group_of[second]))
        if low != high and len(members[low]) + len(members[high]) <= max_group_size:
            for position in members[high]:
                group_of[position] = low
            members[low] += members[high]
            members[high] = []
    return sorted(sorted(group) for group in members if group)


def propose_pairs(labels: Sequence[str]) -> list[tuple[int, int]]:
    """Returns pairs of positions of keywords that may be synonyms by their letters, sorted."""
    return sorted(set(_pair_same_letters(labels)))


def _pair_same_letters(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields pairs that differ only in spaces, hyphens or spelling.

    Each keyword is paired with the first one of its kind.
    """
    first_positions: dict[str, int] = {}
    for position, label in enumerate(labels):
        for key in {normalise_phrase(label).replace(" ", ""), join_lemmas(label)}:
            first_position = first_positions.setdefault(key, position)
            if first_position != position:
                yield first_position, position
