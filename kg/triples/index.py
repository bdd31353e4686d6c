"""The triple index: integer term ids, one dictionary per predicate, look-ups in 0.1 µs.

Terms are interned once in a ``TermTable`` that any number of indexes share. An index has one row
``subject → objects`` per predicate. The reverse row ``object → subjects`` is built when it is
first needed, because most predicates (labels, lengths) are never looked up by object. Rows and
their cells are described in ``kg.triples.rows``: one million triples fit in about 300 MB.

Iteration is in insertion order, so nothing depends on ``PYTHONHASHSEED``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from kg.triples.rows import (
    Cell,
    Row,
    add_to_row,
    add_two_step_links,
    copy_row,
    discard_from_row,
    find_missing_links,
    invert_row,
    pop_members,
)
from kg.triples.term_table import TermTable

Triple: TypeAlias = tuple[int, int, int]
"""(subject, predicate, object) as term ids."""


MIN_SUBJECTS_FOR_REVERSE = 1_000
"""Minimum number of subjects for which ``filter_subjects_without`` uses the reverse row: one
look-up there is then faster than one look-up for each subject."""


class Index:
    """A set of triples over a ``TermTable``.

    ``find_objects`` and ``find_subjects`` return live views: to change the index while iterating,
    iterate over a copy (``list(...)``). ``add_triple`` and ``discard_triple`` undo each other
    exactly, up to the order of values within one cell.
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

    @classmethod
    def from_rows(cls, terms: TermTable, rows: dict[int, Row], triple_count: int) -> Index:
        """Makes an index of complete rows by predicate; see ``canonical_order.build_index``."""
        index = cls(terms)
        index._forward = rows
        index._size = triple_count
        return index

    def make_empty_index(self) -> Index:
        """Makes an empty index over the same terms, for a card's own facts. Takes under 1 µs."""
        return Index(self.terms)

    def fork(self) -> Index:
        """Returns a copy that shares each predicate's row until the copy changes it.

        The original must not be changed while forks of it are in use: they would see the change.
        """
        copy = Index(self.terms)
        copy._forward = dict(self._forward)
        copy._reverse = dict(self._reverse)
        copy._shared = set(self._forward)
        copy._size = self._size
        copy._origin = self
        return copy

    def shares_row(self, p: int, other: Index) -> bool:
        """Returns whether both indexes use the same row object for a predicate.

        If so, their triples with this predicate are the same.
        """
        return self._forward.get(p) is other._forward.get(p)

    # Look-ups

    def has_triple(self, s: int, p: int, o: int) -> bool:
        """Returns whether the triple is in the index."""
        row = self._forward.get(p)
        if row is None:
            return False
        cell = row.get(s)
        if cell is None:
            return False
        # ``__class__ is int`` is faster than isinstance, and this is the most frequent look-up.
        return cell == o if cell.__class__ is int else o in cell  # type: ignore[operator]  # not int here

    def find_objects(self, s: int, p: int) -> Collection[int]:
        """Returns the objects of ``s p ?``, in insertion order."""
        row = self._forward.get(p)
        if row is None:
            return ()
        cell = row.get(s)
        if cell is None:
            return ()
        return (cell,) if cell.__class__ is int else cell  # type: ignore[return-value]  # as above

    def find_subjects(self, p: int, o: int) -> Collection[int]:
        """Returns the subjects of ``? p o``, in a deterministic order."""
        row = self._reverse.get(p)
        if row is None:
            row = self._build_reverse(p)
            if row is None:
                return ()
        cell = row.get(o)
        if cell is None:
            return ()
        return (cell,) if cell.__class__ is int else cell  # type: ignore[return-value]  # as above

    def iter_pairs(self, p: int) -> Iterator[tuple[int, int]]:
        """Yields all (subject, object) of a predicate."""
        for s, cell in self._forward.get(p, {}).items():
            if isinstance(cell, int):
                yield s, cell
            else:
                for o in cell:
                    yield s, o

    def list_pairs(self, p: int) -> list[tuple[int, int]]:
        """Lists all (subject, object) of a predicate."""
        row = self._forward.get(p, {})
        # At C speed, if every subject has one object.
        return list(row.items()) if set(map(type, row.values())) == {int} else [*self.iter_pairs(p)]  # type: ignore[arg-type]

    def list_predicates(self) -> list[int]:
        """Returns the predicates that occur, in order of first use."""
        return list(self._forward)

    def iter_out_edges(self, s: int) -> Iterator[tuple[int, int]]:
        """Yields all (predicate, object) of a subject."""
        for p, row in self._forward.items():
            cell = row.get(s)
            if cell is None:
                continue
            if isinstance(cell, int):
                yield p, cell
            else:
                for o in cell:
                    yield p, o

    def iter_in_edges(self, o: int) -> Iterator[tuple[int, int]]:
        """Yields all (predicate, subject) of an object."""
        for p in self._forward:
            for s in self.find_subjects(p, o):
                yield p, s

    def filter_subjects_without(self, p: int, o: int, subjects: Collection[int]) -> list[int]:
        """Returns those of ``subjects`` that do not have ``o`` as a value of ``p``, in order."""
        row = self._forward.get(p)
        if row is None:
            return list(subjects)
        if len(subjects) >= MIN_SUBJECTS_FOR_REVERSE:
            return list(itertools.filterfalse(self._make_subject_test(p, o), subjects))
        return [s for s in subjects if not self.has_triple(s, p, o)]

    def _make_subject_test(self, p: int, o: int) -> Callable[[int], bool]:
        """Returns a membership test for the subjects of ``? p o`` that runs at C speed."""
        subjects = self.find_subjects(p, o)
        return (subjects if isinstance(subjects, dict) else frozenset(subjects)).__contains__

    def get_subjects(self, p: int) -> Collection[int]:
        """Returns the distinct subjects of a predicate."""
        return self._forward.get(p, {}).keys()

    def get_objects(self, p: int) -> Collection[int]:
        """Returns the distinct objects of a predicate."""
        return (self._reverse.get(p) or self._build_reverse(p) or {}).keys()

    def list_distinct_objects(self, p: int) -> Collection[int]:
        """Returns the same as ``get_objects``, but without building the reverse row for it.

        If that row does not exist yet, the objects are in the order of their first triples.
        """
        reverse = self._reverse.get(p)
        if reverse is not None:
            return reverse.keys()
        try:
            return dict.fromkeys(self._forward.get(p, {}).values())  # type: ignore[arg-type]
        except TypeError:  # Some cell is a list or a dictionary.
            return dict.fromkeys(o for _, o in self.iter_pairs(p))

    def get_row(self, p: int) -> Mapping[int, Cell]:
        """Returns the row of a predicate, for many look-ups: subject → cell (see ``rows``).

        Valid only until the index changes: a change may replace the row.
        """
        return self._forward.get(p, {})

    def get_reverse_row(self, p: int) -> Mapping[int, Cell]:
        """Returns the reverse row of a predicate: object → cell of subjects; see ``get_row``."""
        return self._reverse.get(p) or self._build_reverse(p) or {}

    def get_cells(self, p: int) -> Collection[tuple[int, Cell]]:
        """Returns (subject, cell) for all subjects of a predicate; see ``rows`` for cells."""
        return self._forward.get(p, {}).items()

    def iter_used_nodes(self, candidates: set[int]) -> Iterator[int]:
        """Yields those of ``candidates`` that are the subject or object of a triple.

        Works row by row with set operations, which run at C speed.
        """
        remaining = set(candidates)
        # Found candidates are removed, so that each is yielded once and the loop can end early.
        for row in self._forward.values():
            if not remaining:
                return
            yield from pop_members(remaining, row)
            yield from pop_members(remaining, row.values())

    def count_triples(self, p: int) -> int:
        """Counts the triples with predicate ``p``."""
        cells = self._forward.get(p, {}).values()
        # Counting types runs at C speed; most predicates have single values only.
        single_count = list(map(type, cells)).count(int)
        if single_count == len(cells):
            return single_count
        return single_count + sum([len(cell) for cell in cells if not isinstance(cell, int)])

    def iter_triples(self) -> Iterator[Triple]:
        """Yields all triples, predicate by predicate."""
        for p in self._forward:
            for s, o in self.iter_pairs(p):
                yield s, p, o

    def __len__(self) -> int:
        return self._size

    def __contains__(self, triple: Triple) -> bool:
        return self.has_triple(*triple)

    # Changes

    def add_triple(self, s: int, p: int, o: int) -> bool:
        """Adds a triple; returns False if it is present already."""
        if p in self._shared:
            if self.has_triple(s, p, o):
                return False
            self._unshare(p)
        row = self._forward.get(p)
        if row is None:
            row = self._forward[p] = {}
        # The most common case, a first value, is inlined: this runs once per inferred triple.
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
        """Adds many (subject, object) of one predicate; returns those that are new."""
        row = self._forward.get(p)
        if row is None:
            # A new predicate: if no subject occurs twice, a dictionary of the links is the row.
            new_links = list(links)
            row = dict(new_links)
            if new_links and len(row) == len(new_links):
                self._forward[p] = row
                self._size += len(new_links)
                return new_links
            links, row = new_links, {}
        elif p in self._shared:
            links = find_missing_links(row, links)
            if not links:
                return []
            self._unshare(p)
            row = self._forward[p]
        reverse = self._reverse.get(p)
        new_links = []
        for link in links:
            s, o = link
            if s not in row:
                row[s] = o
            elif not add_to_row(row, s, o):
                continue
            if reverse is not None:
                add_to_row(reverse, o, s)
            new_links.append(link)
        if new_links:
            self._forward[p] = row
            self._size += len(new_links)
        return new_links

    def add_to_many(self, p: int, o: int, subjects: list[int]) -> None:
        """Adds one object to many distinct subjects that do not have it yet."""
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
            reverse_cell = reverse.get(o)
            if isinstance(reverse_cell, dict):
                reverse_cell.update(dict.fromkeys(subjects))
            else:
                for s in subjects:
                    add_to_row(reverse, o, s)
        self._size += len(subjects)

    def add_two_step_links(
        self, p: int, links: Iterable[tuple[int, int]], max_added: int
    ) -> tuple[list[tuple[int, int]], list[int]]:
        """Adds start → end for every path of two links of ``p`` that uses a given link.

        New links are added at once, so that they extend later paths (for transitive properties).

        Args:
            p: the predicate.
            links: links that are present.
            max_added: stop after more than this many additions.

        Returns:
            (start, end) of the new links, in order, and the middle node of each.
        """
        if p in self._shared:
            self._unshare(p)
        forward = self._forward.get(p, {})
        reverse = self._reverse.get(p) or self._build_reverse(p) or {}
        new_links, middles = add_two_step_links(forward, reverse, links, max_added)
        self._size += len(new_links)
        return new_links, middles

    def discard_triple(self, s: int, p: int, o: int) -> bool:
        """Removes a triple; returns False if it is not present."""
        if not self.has_triple(s, p, o):
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

    def add_triples(self, triples: Iterable[Triple]) -> None:
        """Adds many triples."""
        for s, p, o in triples:
            self.add_triple(s, p, o)

    # Internals

    def _build_reverse(self, p: int) -> Row | None:
        forward = self._forward.get(p)
        if forward is None:
            return None
        if p in self._shared and self._origin is not None and self.shares_row(p, self._origin):
            # The reverse row is built once for both indexes. When the fork changes the predicate,
            # it copies the reverse row like the row itself.
            original = self._origin._reverse.get(p) or self._origin._build_reverse(p)
            if original is not None:
                self._reverse[p] = original
                return original
        reverse = self._reverse[p] = invert_row(forward)
        return reverse

    def _unshare(self, p: int) -> None:
        self._shared.discard(p)
        reverse = self._reverse.get(p)
        if reverse is None and self._origin is not None and self.shares_row(p, self._origin):
            # Copying is faster than inverting the row later.
            reverse = self._origin._reverse.get(p)
        self._forward[p] = copy_row(self._forward[p])
        if reverse is not None:
            self._reverse[p] = copy_row(reverse)
