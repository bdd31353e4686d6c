"""Balance: choosing entities that look alike, so that nothing about a name tells the label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from cards.world import World

TRIES = 12
"""How many random candidates are compared for the most alike one."""


def overlap(world: World, x: int, anchor: int) -> int:
    """Number of words that two names share ("North Platte River", "Platte River": 2)."""
    return len(world.words(x) & world.words(anchor))


def unlikeness(world: World, x: int, other: int) -> float:
    """How different two entities look to someone who only counts: 0 for twins.

    Adds up: different last word of the name (a creek is not a river), different number of words
    and letters, different classes, different number of stated facts.
    """
    name, rival = world.label(x), world.label(other)
    mine, theirs = name.split(), rival.split()
    distance = 2.0 * (mine[-1:] != theirs[-1:]) + abs(len(mine) - len(theirs))
    distance += abs(len(name) - len(rival)) / 8
    distance += 5.0 * (world.types(x) != world.types(other))
    distance += abs(math.log1p(len(world.about(x))) - math.log1p(len(world.about(other))))
    return distance


def most_alike(world: World, candidates: Sequence[int], other: int | None, rng: Random) -> int:
    """The most alike of a few random candidates; the first drawn when there is no ``other``.

    Args:
        world: where names and facts are looked up.
        candidates: term ids, not empty.
        other: whom to resemble.
        rng: the draw; ties go to the earlier one.
    """
    if other is None:
        return candidates[rng.randrange(len(candidates))]
    drawn = [candidates[rng.randrange(len(candidates))] for _ in range(TRIES)]
    return min(drawn, key=lambda x: unlikeness(world, x, other))
