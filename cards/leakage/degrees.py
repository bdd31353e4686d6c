"""Counts the links of the entities asked about, without those that the question is about."""

from __future__ import annotations

from typing import NamedTuple

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
    """

    def __init__(self, graph: Index, closure: Index) -> None:
        self.graph, self.closure = graph, closure
        self._cache: dict[int, tuple[int, int]] = {}

    def count(self, claim: Claim) -> Degrees:
        """Counts the links of a claim's subject and object, which need not be in the graph.

        Links in either direction between the subject and its values of the predicate are not
        counted for the subject: whether it has that value, another or none is what is asked. All
        links of the object are counted: cards of all labels ask about the same object, and
        without the link asked about, one number would mark the E card among them.
        """
        terms = self.graph.terms
        s, p, o = (terms.get(text) for text in (claim.subj, claim.pred, claim.obj))
        values: list[int] = []
        if s is not None and p is not None:
            values = list(self.closure.find_objects(s, p))
        subject_in, subject_out = self._count_links(s)
        object_in, object_out = self._count_links(o)
        for value in values:
            n_out, n_in = self._count_between(s, value)
            subject_in, subject_out = subject_in - n_in, subject_out - n_out
        return Degrees(subject_in, subject_out, object_in, object_out)

    def _count_links(self, term: int | None) -> tuple[int, int]:
        """Counts the links to a term and from it."""
        if term is None:
            return 0, 0
        counts = self._cache.get(term)
        if counts is None:
            graph = self.graph
            counts = self._cache[term] = (
                sum(len(graph.find_subjects(p, term)) for p in graph.list_predicates()),
                sum(1 for _ in graph.iter_out_edges(term)),
            )
        return counts

    def _count_between(self, s: int | None, o: int) -> tuple[int, int]:
        """Counts the links from ``s`` to ``o``, and from ``o`` to ``s``."""
        if s is None:
            return 0, 0
        has_triple, predicates = self.graph.has_triple, self.graph.list_predicates()
        return (
            sum(has_triple(s, p, o) for p in predicates),
            sum(has_triple(o, p, s) for p in predicates),
        )
