"""Finds whether two terms are related, as a kind or a part of something is with that."""

from __future__ import annotations

from collections.abc import Sequence

from kg.terms import OWL, RDF_TYPE, RDFS, SKOS
from kg.triples.index import Index

_DC_TERMS = "http://purl.org/dc/terms/"
_HIERARCHIES = (
    *(RDF_TYPE, RDFS + "subClassOf", RDFS + "subPropertyOf", _DC_TERMS + "isPartOf"),
    *(SKOS + "broader", SKOS + "broaderTransitive", SKOS + "broadMatch"),
)
_INVERSE_HIERARCHIES = (
    *(SKOS + "narrower", SKOS + "narrowerTransitive", SKOS + "narrowMatch"),
    _DC_TERMS + "hasPart",
)
_DIFFERENCES = (OWL + "differentFrom", OWL + "disjointWith", OWL + "complementOf")


class RelatedTerms:
    """Finds related terms in one graph, preferably its closure.

    Args:
        index: the facts.
        broader: predicates that lead to what something is a part of, or located in.
    """

    def __init__(self, index: Index, broader: Sequence[int] = ()) -> None:
        self._index = index
        intern = index.terms.get
        self._up = [p for p in map(intern, _HIERARCHIES) if p is not None]
        self._up += broader
        self._down = [p for p in map(intern, _INVERSE_HIERARCHIES) if p is not None]
        self._ignored = {p for p in map(intern, _DIFFERENCES) if p is not None}
        self._broader: dict[int, frozenset[int]] = {}
        self._predicates: dict[int, tuple[int, ...]] = {}

    def are_related(self, term: int, other: int, p: int | None) -> bool:
        """Returns whether two terms say the same more or less exactly, as far as the graph shows.

        So do terms of one line of a hierarchy, and those that any fact links in one direction:
        Paris is the capital of France. Facts in both directions, such as that two countries are
        neighbours, say nothing of the kind. Nor do those of a predicate that leads from one value
        to the next: rivers flow into rivers that flow into others.

        Args:
            term: a term.
            other: another one.
            p: the predicate that both are values of, if its own facts relate nothing.
        """
        if other in self._find_broader(term) or term in self._find_broader(other):
            return True
        links, back = self._find_links(term, other), self._find_links(other, term)
        return p not in links | back and links != back

    def _find_links(self, s: int, o: int) -> set[int]:
        predicates = self._predicates.get(s)
        if predicates is None:
            has = dict.fromkeys(q for q, _ in self._index.iter_out_edges(s))
            predicates = self._predicates[s] = tuple(q for q in has if q not in self._ignored)
        return {q for q in predicates if self._index.has_triple(s, q, o)}

    def _find_broader(self, term: int) -> frozenset[int]:
        """Finds all terms above one in a hierarchy."""
        found = self._broader.get(term)
        if found is None:
            find_objects, find_subjects = self._index.find_objects, self._index.find_subjects
            reached, stack = {term}, [term]
            while stack:
                current = stack.pop()
                above = {o for q in self._up for o in find_objects(current, q)}
                above.update(s for q in self._down for s in find_subjects(q, current))
                stack += above - reached
                reached |= above
            found = self._broader[term] = frozenset(reached - {term})
        return found
