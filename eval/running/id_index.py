"""Looking ids up without holding them: four bytes an id, and a look into the file on a hit.

A dictionary of a million ids takes over a hundred megabytes, this takes about twelve. It is an
open-addressing hash table (D. Knuth, The Art of Computer Programming 3, 6.4, linear probing) of
item numbers, with 32 bits of each id's hash beside it. Two ids may share those bits; so whoever
owns the ids is asked for the real one before anything is called equal.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

_BITS = 0xFFFFFFFF


class IdIndex:
    """Item numbers by id.

    Args:
        id_of: gives the id of an item that was added, from wherever it is kept.
    """

    def __init__(self, id_of: Callable[[int], str]) -> None:
        self._id_of = id_of
        self._prints = array("I")
        """32 hash bits by item."""
        self._slots = array("I", [0]) * 1024
        """Item number plus one, or 0 where the slot is free; at most half are taken."""

    def add(self, name: str) -> int | None:
        """Adds the id of the next item, counted from 0, unless an earlier one bears it.

        Returns:
            The earlier item, or null when the id is new.
        """
        found, slot = self._seek(name)
        if found is not None:
            return found
        self._prints.append(hash(name) & _BITS)
        self._slots[slot] = len(self._prints)
        if 2 * len(self._prints) > len(self._slots):
            self._grow()
        return None

    def find(self, name: str) -> int | None:
        """The item that bears an id."""
        return self._seek(name)[0]

    def _seek(self, name: str) -> tuple[int | None, int]:
        """The item of that id, if there is one, and else the slot it belongs into."""
        bits = hash(name) & _BITS
        slots, prints = self._slots, self._prints
        mask = len(slots) - 1
        slot = bits & mask
        while taken := slots[slot]:
            if prints[taken - 1] == bits and self._id_of(taken - 1) == name:
                return taken - 1, slot
            slot = (slot + 1) & mask
        return None, slot

    def _grow(self) -> None:
        slots = array("I", [0]) * (2 * len(self._slots))
        mask = len(slots) - 1
        for item, bits in enumerate(self._prints):
            slot = bits & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = item + 1
        self._slots = slots
