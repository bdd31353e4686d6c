"""Finds claims that the graph denies by an ``owl:NegativePropertyAssertion``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kg.claims import Claim, Regime
from kg.index import Index, Triple
from kg.terms import OWL, RDF, RDFS


class Denial(NamedTuple):
    """One negative property assertion, in term ids."""

    node: int
    s: int
    p: int
    o: int
    target: int
    """The predicate that gives ``o``: ``owl:targetIndividual`` or ``owl:targetValue``."""


def iter_denials(index: Index) -> Iterator[Denial]:
    """Yields the negative property assertions of an index, in the order of the index."""
    get = index.terms.get
    source, asserted = get(OWL + "sourceIndividual"), get(OWL + "assertionProperty")
    named = (get(OWL + "targetIndividual"), get(OWL + "targetValue"))
    targets = [target for target in named if target is not None]
    if source is None or asserted is None:
        return
    for node, s in index.iter_pairs(source):
        for p in index.find_objects(node, asserted):
            for target in targets:
                for o in index.find_objects(node, target):
                    yield Denial(node, s, p, o, target)


class Denials:
    """The negative property assertions of a closed graph.

    A claim is denied if it, or a triple that follows from it alone through the graph's property
    axioms (sub-property, and under OWL also equivalent, inverse and symmetric properties), is
    asserted not to hold. ``owl:sameAs`` needs no handling here: the closure resolves it.
    """

    def __init__(self, index: Index, regime: Regime) -> None:
        self._index = index
        self._regime = regime
        get = index.terms.get
        self._property = get(OWL + "assertionProperty")
        self._source = get(OWL + "sourceIndividual")
        self._type, self._class = get(RDF + "type"), get(OWL + "NegativePropertyAssertion")
        self._sub = get(RDFS + "subPropertyOf")
        self._equivalent = get(OWL + "equivalentProperty")
        self._inverse = get(OWL + "inverseOf")
        self._symmetric = get(OWL + "SymmetricProperty")
        self._premises_of: dict[Triple, list[Triple]] = {}
        self._implied: dict[int, list[tuple[int, bool]]] = {}
        self._load_denials()

    def _load_denials(self) -> None:
        index = self._index
        if self._property is None or self._source is None:
            return
        kind, negative = self._type, self._class
        for node, s, p, o, target in iter_denials(index):
            premises = [
                (node, self._source, s),
                (node, self._property, p),
                (node, target, o),
            ]
            if kind is not None and negative is not None and index.has_triple(node, kind, negative):
                premises.insert(0, (node, kind, negative))
            self._premises_of.setdefault((s, p, o), premises)

    def __len__(self) -> int:
        return len(self._premises_of)

    def find_premises(self, s: int, p: int, o: int) -> tuple[Claim, ...]:
        """Finds the triples that deny a claim.

        Returns:
            The triples of the negative property assertion; empty if the claim is not denied.
        """
        if not self._premises_of:
            return ()
        for q, is_inverted in self._find_implied_properties(p):
            premises = self._premises_of.get((o, q, s) if is_inverted else (s, q, o))
            if premises is not None:
                return tuple(map(self._to_claim, premises))
        return ()

    def _find_implied_properties(self, p: int) -> list[tuple[int, bool]]:
        """Returns (property, whether subject and object are swapped) of all implied triples.

        The list starts with the property itself.
        """
        implications = self._implied.get(p)
        if implications is None:
            implications = self._implied[p] = [(p, False)]
            if self._regime != "none":
                visited = set(implications)
                # ``implications`` grows while it is iterated over: a breadth-first search.
                for q, is_inverted in implications:
                    for other, inverts in self._iter_direct_implications(q):
                        implied = (other, is_inverted != inverts)
                        if implied not in visited:
                            visited.add(implied)
                            implications.append(implied)
        return implications

    def _iter_direct_implications(self, p: int) -> Iterator[tuple[int, bool]]:
        """Yields the properties that one axiom implies; see ``_find_implied_properties``."""
        index = self._index
        if self._sub is not None:
            for q in index.find_objects(p, self._sub):
                yield q, False
        if self._regime != "owl-rl":
            return
        if self._equivalent is not None:
            for q in (
                *index.find_objects(p, self._equivalent),
                *index.find_subjects(self._equivalent, p),
            ):
                yield q, False
        if self._inverse is not None:
            for q in (
                *index.find_objects(p, self._inverse),
                *index.find_subjects(self._inverse, p),
            ):
                yield q, True
        if (
            self._symmetric is not None
            and self._type is not None
            and index.has_triple(p, self._type, self._symmetric)
        ):
            yield p, True

    def _to_claim(self, triple: Triple) -> Claim:
        text = self._index.terms.get_text
        return Claim(text(triple[0]), text(triple[1]), text(triple[2]))
