"""Decides the order in which judges are shown their material."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.model.prompts import Prompt


def rng_for(key: str) -> random.Random:
    """Returns a random generator seeded by ``key`` alone, equal in every process."""
    # Encoded here, because `random` raises an error for a str with lone surrogates.
    return random.Random(key.encode("utf-8", "surrogatepass"))  # noqa: S311 - orders, no secrets


def reorder_blocks(prompt: Prompt, key: str, vote: int, *, first: tuple[str, ...] = ()) -> Prompt:
    """Returns a prompt with its blocks in the order for one vote.

    Votes differ in the order of the blocks, so that a judge with a position bias disagrees with
    itself. Three blocks have six orders, one for each of the first six votes.

    Args:
        prompt: the prompt.
        key: determines the orders, together with ``vote``.
        vote: number of the vote, from 0.
        first: names of blocks that stay at the beginning.
    """
    orders = list(permutations(block for block in prompt.blocks if block not in first))
    rng_for(f"{key}|blocks").shuffle(orders)
    return replace(prompt, blocks=(*first, *orders[vote % len(orders)]))
