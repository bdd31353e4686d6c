"""Chooses material of other items for anchors, the tasks whose right verdict is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from eval.judges.rng import rng_for


def iter_ring(names: Iterable[str], key: str) -> Iterator[tuple[str, Iterator[str]]]:
    """Arranges items in a ring, so that each can use something of the next one that suits it.

    That way, what is taken from an item serves about one other item, and never itself.

    Args:
        names: ids of the items.
        key: determines the random order of the ring.

    Yields:
        Each item in the order of the ring, with the other items in the order in which they follow.
    """
    ring = sorted(names)
    rng_for(f"{key}|anchors").shuffle(ring)
    for index, name in enumerate(ring):
        positions = chain(range(index + 1, len(ring)), range(index))
        yield name, map(ring.__getitem__, positions)
