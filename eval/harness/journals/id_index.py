"""Finds items by id in little memory, by storing 32 hash bits of each id instead of the id.

A dictionary of a million ids needs over a hundred megabytes, this index about twelve. It is an
open-addressing hash table (D. Knuth, The Art of Computer Programming 3, 6.4, linear probing) of
item numbers, with 32 bits of each id's hash. Different ids may share those bits, so on a match
the stored item's id is read with ``get_id`` and compared.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

_HASH_MASK = 0xFFFFFFFF


class IdIndex:
    """Maps ids to item numbers.

    Args:
        get_id: returns the id of an item that was added.
    """

    def __init__(self, get_id: Callable[[int], str]) -> None:
        self._get_id = get_id
        self._fingerprints = array("I")
        """32 hash bits by item."""
        self._slots = array("I", [0]) * 1024
        """Item number plus one, or 0 for a free slot; at most half of the slots are in use."""

    def add_id(self, item_id: str) -> int | None:
        """Adds the id of the next item, unless an earlier item has the same id.

        Items are numbered from 0 in the order in which they are added.

        Returns:
            The number of the earlier item, or None if the id was new and has been added.
        """
        found, slot = self._find_slot(item_id)
        if found is not None:
            return found
        self._fingerprints.append(hash(item_id) & _HASH_MASK)
        self._slots[slot] = len(self._fingerprints)
        if 2 * len(self._fingerprints) > len(self._slots):
            self._grow_table()
        return None

    def find_item(self, item_id: str) -> int | None:
        """Returns the number of the item with an id, or None if there is none."""
        return self._find_slot(item_id)[0]

    def _find_slot(self, item_id: str) -> tuple[int | None, int]:
        """Returns the number of the item with an id, or None, and the last slot searched."""
        bits = hash(item_id) & _HASH_MASK
        slots, fingerprints = self._slots, self._fingerprints
        mask = len(slots) - 1
        slot = bits & mask
        while entry := slots[slot]:
            if fingerprints[entry - 1] == bits and self._get_id(entry - 1) == item_id:
                return entry - 1, slot
            slot = (slot + 1) & mask
        return None, slot

    def _grow_table(self) -> None:
        slots = array("I", [0]) * (2 * len(self._slots))
        mask = len(slots) - 1
        for item, bits in enumerate(self._fingerprints):
            slot = bits & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = item + 1
        self._slots = slots
