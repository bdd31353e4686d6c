"""Finds the classes that an ontology declares to have no member in common."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property

from kg.profile.graph_changes.class_links import KIND_OF
from kg.profile.names import is_usable_iri
from kg.reasoning.schema import read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import OWL
from kg.triples.index import Index


def find_disjoint_classes(index: Index) -> dict[int, set[int]]:
    """Returns each named class with those declared disjoint with it."""
    terms = index.terms
    v = Vocabulary.get_for_table(terms)
    disjoint: dict[int, set[int]] = {}

    def add_pair(c: int, d: int) -> None:
        texts = terms.get_text(c), terms.get_text(d)
        if c != d and all(not t.startswith(('"', "_:")) and is_usable_iri(t) for t in texts):
            disjoint.setdefault(c, set()).add(d)
            disjoint.setdefault(d, set()).add(c)

    for c, d in index.iter_pairs(v.DISJOINT_CLASS):
        add_pair(c, d)
    all_disjoint = index.find_subjects(v.TYPE, v.ALL_DISJOINT_CLASSES)
    heads = [head for node in all_disjoint for head in index.find_objects(node, v.MEMBERS)]
    disjoint_union = terms.get(OWL + "disjointUnionOf")
    if disjoint_union is not None:
        heads += [head for _, head in index.iter_pairs(disjoint_union)]
    for head in heads:
        members = read_list(index, v, head)
        for c, d in itertools.combinations(members.items if members else (), 2):
            add_pair(c, d)
    return disjoint


class KindChecker:
    """Checks whether disjoint classes exclude that one class is a kind of another.

    OWL allows that a class is a kind of two disjoint ones, which says that it has no members. To a
    reader it is false, so no question about it is unknown.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._kind_of = index.terms.get(KIND_OF)

    @cached_property
    def _disjoint(self) -> Mapping[int, set[int]]:
        return find_disjoint_classes(self._index)

    def may_hold(self, s: int, p: int, o: int) -> bool:
        """Returns whether disjoint classes allow a claim; they do unless it is about kinds."""
        if p != self._kind_of or not self._disjoint:
            return True
        above = self._find_above(s, p)
        return all(above.isdisjoint(self._disjoint.get(c, ())) for c in self._find_above(o, p))

    def _find_above(self, cls: int, kind_of: int) -> set[int]:
        """Finds a class and all that it is a kind of."""
        found = {cls}
        queue = [cls]
        while queue:
            new = set(self._index.find_objects(queue.pop(), kind_of)) - found
            found |= new
            queue += new
        return found
