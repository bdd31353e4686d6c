"""The order of inference: which triple was inferred when, by which rule.

Five small integers a triple (subject, predicate, object, rule, witness) are enough to rebuild its
premises on demand: 20 bytes where a stored proof would take a kilobyte. Premises always stand
before their conclusions, so any derivation read off the log is well-founded.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from kg.index import Triple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ENTRY_WIDTH = 5
"""Integers per inferred triple."""

SMALL = 500_000
"""Up to this many entries a dictionary for each predicate finds a triple's place (in a tenth of a
second, less than numpy takes to import); above, sorted arrays do, in an eighth of the memory."""


class InferenceLog:
    """An append-only list of inferred triples, searchable by triple.

    Args:
        small: up to so many entries dictionaries find a place, above that sorted arrays.
    """

    __slots__ = ("_arrays", "_places", "_small", "append", "entries")

    def __init__(self, small: int = SMALL) -> None:
        self._small = small
        self.entries = array("i")
        self.append = self.entries.extend
        """``append((s, p, o, rule, witness))``."""
        self._places: dict[int, dict[int, int]] = {}
        self._arrays: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}

    def __len__(self) -> int:
        return len(self.entries) // ENTRY_WIDTH

    def extend(
        self, p: int, links: Sequence[tuple[int, int]], rule: int, witnesses: Sequence[int] = ()
    ) -> None:
        """Logs many (subject, object) of one predicate, column by column.

        Args:
            p: the predicate.
            links: what was inferred, in order.
            rule: the rule that did.
            witnesses: one for each; none for 0.
        """
        block = array("i", bytes(self.entries.itemsize * ENTRY_WIDTH * len(links)))
        block[::ENTRY_WIDTH] = array("i", list(map(itemgetter(0), links)))
        block[1::ENTRY_WIDTH] = array("i", [p]) * len(links)
        block[2::ENTRY_WIDTH] = array("i", list(map(itemgetter(1), links)))
        block[3::ENTRY_WIDTH] = array("i", [rule]) * len(links)
        if witnesses:
            block[4::ENTRY_WIDTH] = array("i", witnesses)
        self.entries += block

    def predicates(self) -> frozenset[int]:
        """The predicates of all triples."""
        return frozenset(self.entries[1::ENTRY_WIDTH])

    def triples(self, end: int) -> Iterator[Triple]:
        """The first ``end`` triples in order."""
        entries = self.entries
        for at in range(0, end * ENTRY_WIDTH, ENTRY_WIDTH):
            yield entries[at], entries[at + 1], entries[at + 2]

    def at(self, place: int) -> tuple[int, int, int, int, int]:
        """The entry at a place."""
        s, p, o, rule, witness = self.entries[place * ENTRY_WIDTH : (place + 1) * ENTRY_WIDTH]
        return s, p, o, rule, witness

    def place(self, triple: Triple) -> int | None:
        """Where a triple was inferred, or None where it was not.

        The search structure is made on first use; ask only once the run is over.
        """
        if len(self) > self._small:
            return self._place_among_many(triple)
        s, p, o = triple
        known = self._places.get(p)
        if known is None:
            entries = self.entries
            starts = entries[::ENTRY_WIDTH]
            ends = entries[2::ENTRY_WIDTH]
            here = list(map(p.__eq__, entries[1::ENTRY_WIDTH]))
            places = zip(
                itertools.compress(starts, here),
                itertools.compress(ends, here),
                itertools.compress(itertools.count(), here),
                strict=True,
            )
            known = self._places[p] = {(s << 32) | o: place for s, o, place in places}
        return known.get((s << 32) | o)

    def _place_among_many(self, triple: Triple) -> int | None:
        import numpy as np

        s, p, o = triple
        if p not in self._arrays:
            table = np.array(self.entries, dtype=np.int64).reshape(-1, ENTRY_WIDTH)
            places = np.flatnonzero(table[:, 1] == p)
            keys = (table[places, 0] << 32) | table[places, 2]
            order = np.argsort(keys, kind="stable")
            self._arrays[p] = keys[order], places[order]
        keys, places = self._arrays[p]
        key = (s << 32) | o
        at = int(np.searchsorted(keys, key))
        if at == len(keys) or keys[at] != key:
            return None
        return int(places[at])
