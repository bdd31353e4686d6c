"""Records inferred triples in order, with the rule that inferred each.

An entry is five 32-bit integers (subject, predicate, object, rule, witness), enough to rebuild
the premises on demand: 20 bytes, while a stored proof would take about a kilobyte. Premises
always precede their conclusions, so a derivation rebuilt from the log is never circular.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from kg.triples.index import Triple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ENTRY_WIDTH = 5
"""Integers per inferred triple."""

MAX_DICTIONARY_ENTRIES = 500_000
"""Maximum number of log entries for which triples are found with one dictionary per predicate. It
is built in a tenth of a second, which is less than importing numpy takes. Larger logs use sorted
numpy arrays, which need an eighth of the memory."""


class InferenceLog:
    """An append-only list of inferred triples, searchable by triple.

    Args:
        max_dictionary_entries: logs with more entries are searched with sorted arrays instead
            of dictionaries.
    """

    __slots__ = (
        "_max_dictionary_entries",
        "_origin",
        "_positions",
        "_sorted_arrays",
        "append",
        "entries",
    )

    def __init__(self, max_dictionary_entries: int = MAX_DICTIONARY_ENTRIES) -> None:
        self._max_dictionary_entries = max_dictionary_entries
        self._origin: InferenceLog | None = None
        self.entries = array("i")
        self.append = self.entries.extend
        """Appends an entry: ``append((s, p, o, rule, witness))``."""
        self._positions: dict[int, dict[int, int]] = {}
        self._sorted_arrays: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}

    def __len__(self) -> int:
        return len(self.entries) // ENTRY_WIDTH

    def fork(self) -> InferenceLog:
        """Returns a copy for more entries; the original must not get any while it is in use.

        The triples so far are searched in the original, so that its search structure serves both.
        """
        copy = InferenceLog(self._max_dictionary_entries)
        copy.entries.extend(self.entries)
        copy._origin = self
        return copy

    def resume(self) -> None:
        """Prepares for more entries after a search."""
        self._positions.clear()
        self._sorted_arrays.clear()

    def append_links(
        self, p: int, links: Sequence[tuple[int, int]], rule: int, witnesses: Sequence[int] = ()
    ) -> None:
        """Logs many (subject, object) of one predicate.

        Args:
            p: the predicate.
            links: the inferred (subject, object), in order.
            rule: number of the rule.
            witnesses: one for each link; empty if all are 0.
        """
        # Filled column by column, which is much faster than entry by entry.
        block = array("i", bytes(self.entries.itemsize * ENTRY_WIDTH * len(links)))
        block[::ENTRY_WIDTH] = array("i", list(map(itemgetter(0), links)))
        block[1::ENTRY_WIDTH] = array("i", [p]) * len(links)
        block[2::ENTRY_WIDTH] = array("i", list(map(itemgetter(1), links)))
        block[3::ENTRY_WIDTH] = array("i", [rule]) * len(links)
        if witnesses:
            block[4::ENTRY_WIDTH] = array("i", witnesses)
        self.entries += block

    def collect_predicates(self) -> frozenset[int]:
        """Returns the predicates of all triples."""
        return frozenset(self.entries[1::ENTRY_WIDTH])

    def iter_triples(self, end: int) -> Iterator[Triple]:
        """Yields the first ``end`` triples in order."""
        entries = self.entries
        for start in range(0, end * ENTRY_WIDTH, ENTRY_WIDTH):
            yield entries[start], entries[start + 1], entries[start + 2]

    def get_entry(self, position: int) -> tuple[int, int, int, int, int]:
        """Returns the entry at a position: subject, predicate, object, rule, witness."""
        s, p, o, rule, witness = self.entries[position * ENTRY_WIDTH : (position + 1) * ENTRY_WIDTH]
        return s, p, o, rule, witness

    def find_position(self, triple: Triple) -> int | None:
        """Returns the last position of a triple in the log, or None if it was not inferred.

        A triple that was removed and inferred again (``kg.reasoning.removal``) has several.

        The search structure is built on first use and not updated, so call this only after the
        run has ended, and ``resume`` before it goes on.
        """
        origin = self._origin
        start = 0 if origin is None else len(origin)
        is_large = len(self) - start > self._max_dictionary_entries
        search = self._search_sorted_arrays if is_large else self._search_dictionaries
        position = search(triple, start)
        return origin.find_position(triple) if position is None and origin is not None else position

    def _search_dictionaries(self, triple: Triple, start: int) -> int | None:
        """Finds the last position from ``start`` on, with one dictionary for each predicate."""
        s, p, o = triple
        positions = self._positions.get(p)
        if positions is None:
            entries = self.entries[start * ENTRY_WIDTH :] if start else self.entries
            starts = entries[::ENTRY_WIDTH]
            ends = entries[2::ENTRY_WIDTH]
            has_predicate = list(map(p.__eq__, entries[1::ENTRY_WIDTH]))
            predicate_entries = zip(
                itertools.compress(starts, has_predicate),
                itertools.compress(ends, has_predicate),
                itertools.compress(itertools.count(start), has_predicate),
                strict=True,
            )
            # Subject and object are 32-bit ids, so together they fit into one integer key.
            positions = self._positions[p] = {
                (s << 32) | o: position for s, o, position in predicate_entries
            }
        return positions.get((s << 32) | o)

    def _search_sorted_arrays(self, triple: Triple, start: int) -> int | None:
        """Does the same as ``_search_dictionaries``, by binary search over (subject, object)."""
        import numpy as np

        s, p, o = triple
        if p not in self._sorted_arrays:
            table = np.array(self.entries, dtype=np.int64).reshape(-1, ENTRY_WIDTH)
            log_positions = np.flatnonzero(table[start:, 1] == p) + start
            keys = (table[log_positions, 0] << 32) | table[log_positions, 2]
            order = np.argsort(keys, kind="stable")
            self._sorted_arrays[p] = keys[order], log_positions[order]
        keys, log_positions = self._sorted_arrays[p]
        key = (s << 32) | o
        key_index = int(np.searchsorted(keys, key, side="right")) - 1
        if key_index < 0 or keys[key_index] != key:
            return None
        return int(log_positions[key_index])
