"""The triple index: small integers for terms, one dictionary per predicate, look-ups in 0.1 µs.

Terms are interned once in a ``TermTable`` that any number of indexes share. An index holds per
predicate a row ``subject → objects``; the reverse row ``object → subjects`` is made the first
time someone asks for it, because most predicates (labels, lengths) are never asked backwards.
Rows and their cells are described in ``kg.rows``: one million triples fit in about 300 MB.

Iteration is in insertion order, so nothing depends on ``PYTHONHASHSEED``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from kg.rows import (
    Cell,
    Row,
    add_to_row,
    copy_row,
    discard_from_row,
    join_links,
    missing_links,
    reversed_row,
    taken,
)
from kg.term_table import TermTable

Triple: TypeAlias = tuple[int, int, int]
"""(subject, predicate, object) as term ids."""


MANY = 1_000
"""For so many subjects it is worth while to have the reverse row at hand."""


class Index:
    """A set of triples over a ``TermTable``.

    ``objects`` and ``subjects`` return live views: copy them (``list(...)``) before changing the
    index while iterating. ``add`` and ``discard`` undo each other exactly, up to the order of
    values within one cell.
    """

    __slots__ = ("_forward", "_origin", "_reverse", "_shared", "_size", "terms")

    def __init__(self, terms: TermTable | None = None) -> None:
        self.terms = TermTable() if terms is None else terms
        self._forward: dict[int, Row] = {}
        self._reverse: dict[int, Row] = {}
        # Predicates whose rows belong to the index this one was forked from (copy on write).
        self._shared: set[int] = set()
        self._origin: Index | None = None
        self._size = 0

    def scratch(self) -> Index:
        """An empty index over the same terms, for a card's own facts. Costs under 1 µs."""
        return Index(self.terms)

    def fork(self) -> Index:
        """A copy that shares each predicate's row with this index until one of them changes it.

        The original must not be changed while forks of it are in use: they would see the change.
        """
        copy = Index(self.terms)
        copy._forward = dict(self._forward)
        copy._reverse = dict(self._reverse)
        copy._shared = set(self._forward)
        copy._size = self._size
        copy._origin = self
        return copy

    def shares(self, p: int, other: Index) -> bool:
        """Whether both hold the same row of a predicate, so that it cannot differ."""
        return self._forward.get(p) is other._forward.get(p)

    # Look-ups

    def has(self, s: int, p: int, o: int) -> bool:
        """Whether the triple is in the index."""
        row = self._forward.get(p)
        if row is None:
            return False
        cell = row.get(s)
        if cell is None:
            return False
        return cell == o if cell.__class__ is int else o in cell  # type: ignore[operator]  # not int here

    def objects(self, s: int, p: int) -> Collection[int]:
        """Objects of ``s p ?``, in insertion order."""
        row = self._forward.get(p)
        if row is None:
            return ()
        cell = row.get(s)
        if cell is None:
            return ()
        return (cell,) if cell.__class__ is int else cell  # type: ignore[return-value]  # as above

    def subjects(self, p: int, o: int) -> Collection[int]:
        """Subjects of ``? p o``, in a deterministic order."""
        row = self._reverse.get(p)
        if row is None:
            row = self._build_reverse(p)
            if row is None:
                return ()
        cell = row.get(o)
        if cell is None:
            return ()
        return (cell,) if cell.__class__ is int else cell  # type: ignore[return-value]  # as above

    def pairs(self, p: int) -> Iterator[tuple[int, int]]:
        """All (subject, object) of a predicate."""
        for s, cell in self._forward.get(p, {}).items():
            if isinstance(cell, int):
                yield s, cell
            else:
                for o in cell:
                    yield s, o

    def predicates(self) -> list[int]:
        """Predicates that occur, in order of first use."""
        return list(self._forward)

    def predicates_of(self, s: int) -> Iterator[int]:
        """Predicates that ``s`` is subject of."""
        return (p for p, row in self._forward.items() if s in row)

    def out_edges(self, s: int) -> Iterator[tuple[int, int]]:
        """All (predicate, object) of a subject."""
        for p, row in self._forward.items():
            cell = row.get(s)
            if cell is None:
                continue
            if isinstance(cell, int):
                yield p, cell
            else:
                for o in cell:
                    yield p, o

    def in_edges(self, o: int) -> Iterator[tuple[int, int]]:
        """All (predicate, subject) of an object."""
        for p in self._forward:
            for s in self.subjects(p, o):
                yield p, s

    def lacking(self, p: int, o: int, subjects: Collection[int]) -> list[int]:
        """Those of ``subjects`` that do not have ``o`` as an object of ``p``, in their order."""
        row = self._forward.get(p)
        if row is None:
            return list(subjects)
        if len(subjects) >= MANY:
            return list(itertools.filterfalse(self._subject_of(p, o), subjects))
        return [s for s in subjects if not self.has(s, p, o)]

    def _subject_of(self, p: int, o: int) -> Callable[[int], bool]:
        """Tells who has ``o`` as an object of ``p``, at C's pace."""
        found = self.subjects(p, o)
        return (found if isinstance(found, dict) else frozenset(found)).__contains__

    def subjects_of(self, p: int) -> Collection[int]:
        """Distinct subjects of a predicate."""
        return self._forward.get(p, {}).keys()

    def objects_of(self, p: int) -> Collection[int]:
        """Distinct objects of a predicate."""
        return (self._reverse.get(p) or self._build_reverse(p) or {}).keys()

    def distinct_objects(self, p: int) -> Collection[int]:
        """As ``objects_of``, in order of first mention, without making the reverse row."""
        reverse = self._reverse.get(p)
        if reverse is not None:
            return reverse.keys()
        try:
            return dict.fromkeys(self._forward.get(p, {}).values())  # type: ignore[arg-type]
        except TypeError:  # Some cell is a list or a dictionary.
            return dict.fromkeys(o for _, o in self.pairs(p))

    def row(self, p: int) -> Mapping[int, Cell]:
        """Subject → its one object or a collection of them, for many look-ups at one go.

        Only until the index changes: a change may put another row in its place.
        """
        return self._forward.get(p, {})

    def reverse_row(self, p: int) -> Mapping[int, Cell]:
        """As ``row``, the other way round: object → its one subject or a collection of them."""
        return self._reverse.get(p) or self._build_reverse(p) or {}

    def cells(self, p: int) -> Collection[tuple[int, Cell]]:
        """(subject, its one object or a collection of them), for walks over a whole predicate."""
        return self._forward.get(p, {}).items()

    def nodes_among(self, wanted: set[int]) -> Iterator[int]:
        """Those of ``wanted`` that are subject or object of a triple, in order of first mention.

        When they are few, whole rows are passed over at C's pace.
        """
        left = set(wanted)
        for row in self._forward.values():
            if not left:
                return
            yield from taken(left, row)
            yield from taken(left, row.values())

    def count(self, p: int) -> int:
        """Number of triples with predicate ``p``."""
        cells = self._forward.get(p, {}).values()
        # Told apart without a step of Python for each: most predicates have single values only.
        single = list(map(type, cells)).count(int)
        if single == len(cells):
            return single
        return single + sum([len(cell) for cell in cells if not isinstance(cell, int)])

    def triples(self) -> Iterator[Triple]:
        """All triples, predicate by predicate."""
        for p in self._forward:
            for s, o in self.pairs(p):
                yield s, p, o

    def __len__(self) -> int:
        return self._size

    def __contains__(self, triple: Triple) -> bool:
        return self.has(*triple)

    # Changes

    def add(self, s: int, p: int, o: int) -> bool:
        """Adds a triple; returns False where it already was there."""
        if p in self._shared:
            if self.has(s, p, o):
                return False
            self._unshare(p)
        row = self._forward.get(p)
        if row is None:
            row = self._forward[p] = {}
        # The commonest case, a first value, is written out: this runs once per inferred triple.
        if s not in row:
            row[s] = o
        elif not add_to_row(row, s, o):
            return False
        reverse = self._reverse.get(p)
        if reverse is not None:
            add_to_row(reverse, o, s)
        self._size += 1
        return True

    def add_links(self, p: int, links: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Adds many (subject, object) of one predicate; returns those that were not there."""
        row = self._forward.get(p)
        if row is None:
            # Nothing to compare with: where each subject comes once, there is nothing to add up.
            added = list(links)
            row = dict(added)
            if added and len(row) == len(added):
                self._forward[p] = row
                self._size += len(added)
                return added
            links, row = added, {}
        elif p in self._shared:
            links = missing_links(row, links)
            if not links:
                return []
            self._unshare(p)
            row = self._forward[p]
        reverse = self._reverse.get(p)
        added = []
        for link in links:
            s, o = link
            if s not in row:
                row[s] = o
            elif not add_to_row(row, s, o):
                continue
            if reverse is not None:
                add_to_row(reverse, o, s)
            added.append(link)
        if added:
            self._forward[p] = row
            self._size += len(added)
        return added

    def add_to_many(self, p: int, o: int, subjects: list[int]) -> None:
        """Adds one object to many subjects, each given once, that lack it."""
        if not subjects:
            return
        if p in self._shared:
            self._unshare(p)
        row = self._forward.setdefault(p, {})
        for s in subjects:
            cell = row.get(s)
            if cell is None:
                row[s] = o
            elif cell.__class__ is int:
                row[s] = [cell, o]
            else:
                add_to_row(row, s, o)
        reverse = self._reverse.get(p)
        if reverse is not None:
            held = reverse.get(o)
            if isinstance(held, dict):
                held.update(dict.fromkeys(subjects))
            else:
                for s in subjects:
                    add_to_row(reverse, o, s)
        self._size += len(subjects)

    def add_joined(
        self, p: int, links: Iterable[tuple[int, int]], most: int
    ) -> tuple[list[tuple[int, int]], list[int]]:
        """Adds what paths of two steps of ``p`` through given steps lead to.

        Each is added when its turn comes, so that it takes part in what follows.

        Args:
            p: the predicate.
            links: steps that are there.
            most: more than so many are too many: then the rest is left out.

        Returns:
            (start, end) of those that were not there, in order, and the middle of each.
        """
        if p in self._shared:
            self._unshare(p)
        forward = self._forward.get(p, {})
        reverse = self._reverse.get(p) or self._build_reverse(p) or {}
        added, middles = join_links(forward, reverse, links, most)
        self._size += len(added)
        return added, middles

    def discard(self, s: int, p: int, o: int) -> bool:
        """Removes a triple; returns False where it was not there."""
        if not self.has(s, p, o):
            return False
        if p in self._shared:
            self._unshare(p)
        row = self._forward[p]
        discard_from_row(row, s, o)
        reverse = self._reverse.get(p)
        if reverse is not None:
            discard_from_row(reverse, o, s)
        if not row:
            del self._forward[p]
            self._reverse.pop(p, None)
        self._size -= 1
        return True

    def update(self, triples: Iterable[Triple]) -> None:
        """Adds many triples."""
        for s, p, o in triples:
            self.add(s, p, o)

    def rows_for_loading(self) -> dict[int, Row]:
        """The forward rows themselves, for a loader that fills them in bulk.

        Whoever uses it must call ``finish_loading`` with the number of triples added.
        """
        for p in sorted(self._shared):
            self._unshare(p)
        self._reverse.clear()
        return self._forward

    def finish_loading(self, added: int) -> None:
        """Ends a bulk load begun with ``rows_for_loading``."""
        self._size += added
        for p in [p for p, row in self._forward.items() if not row]:
            del self._forward[p]

    # Inside

    def _build_reverse(self, p: int) -> Row | None:
        forward = self._forward.get(p)
        if forward is None:
            return None
        if p in self._shared and self._origin is not None and self.shares(p, self._origin):
            # Made once for both; a change of the fork copies it like the row itself.
            known = self._origin._reverse.get(p) or self._origin._build_reverse(p)
            if known is not None:
                self._reverse[p] = known
                return known
        reverse = self._reverse[p] = reversed_row(forward)
        return reverse

    def _unshare(self, p: int) -> None:
        self._shared.discard(p)
        self._forward[p] = copy_row(self._forward[p])
        reverse = self._reverse.get(p)
        if reverse is not None:
            self._reverse[p] = copy_row(reverse)
