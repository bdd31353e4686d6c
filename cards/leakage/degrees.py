"""Counts the links of the entities asked about, without those that the question is about."""

from __future__ import annotations

from typing import NamedTuple

from cards.generation.graph_lookup import GraphLookup
from cards.generation.restated_values import find_restating_predicates, list_restating_facts
from kg.claims import Claim
from kg.triples.index import Index


class Degrees(NamedTuple):
    """Numbers of links of a claim's subject and object in a graph."""

    subject_in: int
    subject_out: int
    object_in: int
    object_out: int


class DegreeCounter:
    """Counts links in a graph.

    Args:
        graph: the asserted triples.
        closure: the triples that these entail.
        lookup: the same graph, to find facts that restate values; if omitted, all are counted.
    """

    def __init__(self, graph: Index, closure: Index, lookup: GraphLookup | None = None) -> None:
        self.graph, self.closure, self._lookup = graph, closure, lookup
        self._cache: dict[int, tuple[int, int]] = {}
        self._object_cache: dict[tuple[int, int], tuple[int, int]] = {}
        self._restating: dict[int, frozenset[int]] = {}

    def count(self, claim: Claim) -> Degrees:
        """Counts the links of a claim's subject and object, which need not be in the graph.

        Links in either direction between the subject and its values of the predicate are not
        counted for the subject, nor facts that say these in other words ("1975-1982"): whether it
        has that value, another or none is what is asked, and what says so is set aside. Nor are
        those between the object and the subjects that have it counted for the object.
        """
        get_id = self.graph.terms.get
        s, p, o = get_id(claim.subj), get_id(claim.pred), get_id(claim.obj)
        subject_in, subject_out = (0, 0) if s is None else self.count_of_subject(s, p)
        object_in, object_out = (0, 0) if o is None else self.count_of_object(o, p)
        return Degrees(subject_in, subject_out, object_in, object_out)

    def count_of_subject(self, s: int, p: int | None) -> tuple[int, int]:
        """Counts the links to a subject and from it, without those to and from its values."""
        n_in, n_out = self.count_links(s)
        if p is None:
            return n_in, n_out
        values = list(self.closure.find_objects(s, p))
        for value in values:
            to_value, from_value = self._count_between(s, value)
            n_in, n_out = n_in - from_value, n_out - to_value
        return n_in, n_out - self._count_restating(s, p, values)

    def count_of_object(self, o: int, p: int | None) -> tuple[int, int]:
        """Counts the links to an object and from it, without those of subjects that have it."""
        n_in, n_out = self.count_links(o)
        if p is None:
            return n_in, n_out
        rest = self._object_cache.get((o, p))
        if rest is None:
            # A hub has millions of holders, but few links of other predicates.
            holders = set(self.closure.find_subjects(p, o))
            for q in self.graph.list_predicates():
                subjects = self.graph.find_subjects(q, o)
                n_in -= len(subjects) if q == p else sum(s in holders for s in subjects)
            n_out -= sum(value in holders for _, value in self.graph.iter_out_edges(o))
            rest = self._object_cache[o, p] = n_in, n_out
        return rest

    def count_links(self, term: int) -> tuple[int, int]:
        """Counts the links to a term and from it."""
        counts = self._cache.get(term)
        if counts is None:
            graph = self.graph
            counts = self._cache[term] = (
                sum(len(graph.find_subjects(p, term)) for p in graph.list_predicates()),
                sum(1 for _ in graph.iter_out_edges(term)),
            )
        return counts

    def _count_between(self, s: int, o: int) -> tuple[int, int]:
        """Counts the links from ``s`` to ``o``, and from ``o`` to ``s``."""
        has_triple, predicates = self.graph.has_triple, self.graph.list_predicates()
        return (
            sum(has_triple(s, p, o) for p in predicates),
            sum(has_triple(o, p, s) for p in predicates),
        )

    def _count_restating(self, s: int, p: int, values: list[int]) -> int:
        """Counts the other facts about a subject that restate its values of a predicate."""
        if self._lookup is None or not values:
            return 0
        restating = self._restating.get(p)
        if restating is None:
            restating = self._restating[p] = find_restating_predicates(self._lookup, p)
        facts = list_restating_facts(self._lookup, s, values, restating)
        return sum(o not in values for _, _, o in facts)
