"""Finds claims that the graph denies by an ``owl:NegativePropertyAssertion``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kg.claims import Claim, Regime
from kg.terms import OWL, RDF, RDFS
from kg.triples.index import Index, Triple


class Denial(NamedTuple):
    """One negative property assertion, in term ids: ``s p o`` is denied."""

    node: int
    """The node of type ``owl:NegativePropertyAssertion``."""
    s: int
    p: int
    o: int
    target_predicate: int
    """The predicate whose object is ``o``: ``owl:targetIndividual`` or ``owl:targetValue``."""


def iter_denials(index: Index) -> Iterator[Denial]:
    """Yields the negative property assertions of an index, in the order of the index."""
    get_id = index.terms.get
    source, assertion_property = get_id(OWL + "sourceIndividual"), get_id(OWL + "assertionProperty")
    target_ids = (get_id(OWL + "targetIndividual"), get_id(OWL + "targetValue"))
    target_predicates = [predicate for predicate in target_ids if predicate is not None]
    if source is None or assertion_property is None:
        return
    for node, s in index.iter_pairs(source):
        for p in index.find_objects(node, assertion_property):
            for target_predicate in target_predicates:
                for o in index.find_objects(node, target_predicate):
                    yield Denial(node, s, p, o, target_predicate)


class Denials:
    """The negative property assertions of a closed graph.

    A claim is denied if a negative property assertion is about the claim itself, or about a triple
    that follows from the claim through the graph's property axioms. These are sub-property axioms
    and, under OWL, also those of equivalent, inverse and symmetric properties. ``owl:sameAs`` needs
    no handling here: the closure resolves it.
    """

    def __init__(self, index: Index, regime: Regime) -> None:
        self._index = index
        self._regime = regime
        get_id = index.terms.get
        self._assertion_property = get_id(OWL + "assertionProperty")
        self._source_individual = get_id(OWL + "sourceIndividual")
        self._rdf_type, self._denial_class = (
            get_id(RDF + "type"),
            get_id(OWL + "NegativePropertyAssertion"),
        )
        self._sub_property_of = get_id(RDFS + "subPropertyOf")
        self._equivalent_property = get_id(OWL + "equivalentProperty")
        self._inverse_of = get_id(OWL + "inverseOf")
        self._symmetric_property = get_id(OWL + "SymmetricProperty")
        self._premises_by_triple: dict[Triple, list[Triple]] = {}
        self._implications_cache: dict[int, list[tuple[int, bool]]] = {}
        self._load_denials()

    def _load_denials(self) -> None:
        index = self._index
        if self._assertion_property is None or self._source_individual is None:
            return
        rdf_type, denial_class = self._rdf_type, self._denial_class
        for node, s, p, o, target_predicate in iter_denials(index):
            premises = [
                (node, self._source_individual, s),
                (node, self._assertion_property, p),
                (node, target_predicate, o),
            ]
            if (
                rdf_type is not None
                and denial_class is not None
                and index.has_triple(node, rdf_type, denial_class)
            ):
                premises.insert(0, (node, rdf_type, denial_class))
            self._premises_by_triple.setdefault((s, p, o), premises)

    def __len__(self) -> int:
        return len(self._premises_by_triple)

    def find_premises(self, s: int, p: int, o: int) -> tuple[Claim, ...]:
        """Finds the triples that deny a claim.

        Returns:
            The triples of the negative property assertion; empty if the claim is not denied.
        """
        if not self._premises_by_triple:
            return ()
        for q, is_inverted in self._find_implied_properties(p):
            premises = self._premises_by_triple.get((o, q, s) if is_inverted else (s, q, o))
            if premises is not None:
                return tuple(map(self._to_claim, premises))
        return ()

    def _find_implied_properties(self, p: int) -> list[tuple[int, bool]]:
        """Returns the properties of all triples that a triple of ``p`` implies, ``p`` itself first.

        Each entry is (property, whether subject and object are swapped).
        """
        implications = self._implications_cache.get(p)
        if implications is None:
            implications = self._implications_cache[p] = [(p, False)]
            if self._regime != "none":
                visited = set(implications)
                # ``implications`` grows while it is iterated over: a breadth-first search.
                for q, is_inverted in implications:
                    for implied_property, inverts_further in self._iter_direct_implications(q):
                        implication = (implied_property, is_inverted != inverts_further)
                        if implication not in visited:
                            visited.add(implication)
                            implications.append(implication)
        return implications

    def _iter_direct_implications(self, p: int) -> Iterator[tuple[int, bool]]:
        """Yields the properties that follow by one axiom; see ``_find_implied_properties``."""
        index = self._index
        if self._sub_property_of is not None:
            for q in index.find_objects(p, self._sub_property_of):
                yield q, False
        if self._regime != "owl-rl":
            return
        if self._equivalent_property is not None:
            for q in (
                *index.find_objects(p, self._equivalent_property),
                *index.find_subjects(self._equivalent_property, p),
            ):
                yield q, False
        if self._inverse_of is not None:
            for q in (
                *index.find_objects(p, self._inverse_of),
                *index.find_subjects(self._inverse_of, p),
            ):
                yield q, True
        if (
            self._symmetric_property is not None
            and self._rdf_type is not None
            and index.has_triple(p, self._rdf_type, self._symmetric_property)
        ):
            yield p, True

    def _to_claim(self, triple: Triple) -> Claim:
        get_text = self._index.terms.get_text
        return Claim(get_text(triple[0]), get_text(triple[1]), get_text(triple[2]))
