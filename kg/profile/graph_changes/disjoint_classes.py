"""Finds the classes that an ontology declares to have no member in common."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import cache, cached_property

from kg.profile.graph_changes.class_links import KIND_OF
from kg.profile.names import is_usable_iri
from kg.reasoning.schema import read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import OWL, is_iri
from kg.triples.index import Index


def find_disjoint_classes(index: Index) -> dict[int, set[int]]:
    """Returns each named class with those declared disjoint with it.

    What is disjoint with a union is so with its members, and what is below the complement of a
    class with that class.
    """
    v = Vocabulary.get_for_table(index.terms)
    disjoint: dict[int, set[int]] = {}

    @cache
    def is_named(term: int) -> bool:
        text = index.terms.get_text(term)
        return is_iri(text) and is_usable_iri(text)

    def list_members(head: int) -> list[int]:
        members = read_list(index, v, head)
        return list(filter(is_named, members.items)) if members else []

    def list_classes(term: int) -> list[int]:
        """Lists a named class itself, or those of which an unnamed one is the union."""
        if is_named(term):
            return [term]
        return [c for head in index.find_objects(term, v.UNION) for c in list_members(head)]

    def add_pairs(pairs: Iterable[tuple[int, int]]) -> None:
        for c, d in pairs:
            if c != d:
                disjoint.setdefault(c, set()).add(d)
                disjoint.setdefault(d, set()).add(c)

    for c, d in index.iter_pairs(v.DISJOINT_CLASS):
        add_pairs(itertools.product(list_classes(c), list_classes(d)))
    for complement, c in index.iter_pairs(v.COMPLEMENT):
        below = [complement, *index.find_subjects(v.SUB_CLASS, complement)]
        below += index.find_subjects(v.EQUIVALENT_CLASS, complement)
        add_pairs(itertools.product(filter(is_named, below), list_classes(c)))
    all_disjoint = index.find_subjects(v.TYPE, v.ALL_DISJOINT_CLASSES)
    heads = [head for node in all_disjoint for head in index.find_objects(node, v.MEMBERS)]
    disjoint_union = index.terms.get(OWL + "disjointUnionOf")
    if disjoint_union is not None:
        heads += [head for _, head in index.iter_pairs(disjoint_union)]
    for head in heads:
        add_pairs(itertools.combinations(list_members(head), 2))
    return disjoint


class KindChecker:
    """Checks whether disjoint classes exclude that one class is a kind of another.

    OWL allows that a class is a kind of two disjoint ones, which says that it has no members. To a
    reader it is false, so no question about it is unknown.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._kind_of = index.terms.get(KIND_OF)
        self._equivalent = Vocabulary.get_for_table(index.terms).EQUIVALENT_CLASS
        self._above_cache: dict[int, frozenset[int]] = {}

    @cached_property
    def _disjoint(self) -> Mapping[int, set[int]]:
        return find_disjoint_classes(self._index)

    def may_hold(self, s: int, p: int, o: int) -> bool:
        """Returns whether disjoint classes allow a claim; they do unless it is about kinds.

        Neither ``s`` nor what is below it may be a kind of something disjoint.
        """
        if p != self._kind_of or not self._disjoint:
            return True
        above = self._find_above(s, p)
        excluded = {d for c in self._find_above(o, p) for d in self._disjoint.get(c, ())}
        return above.isdisjoint(excluded) and not any(s in self._find_above(d, p) for d in excluded)

    def _find_above(self, cls: int, kind_of: int) -> frozenset[int]:
        """Finds a class and all that it is a kind of, by all their equivalent names."""
        above = self._above_cache.get(cls)
        if above is None:
            found, queue = {cls}, [cls]
            find_objects, equivalent = self._index.find_objects, self._equivalent
            while queue:
                c = queue.pop()
                new = {*find_objects(c, kind_of), *find_objects(c, equivalent)}
                new |= {*self._index.find_subjects(equivalent, c)}
                queue += new - found
                found |= new
            above = self._above_cache[cls] = frozenset(found)
        return above
