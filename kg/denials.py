"""Explicit denials: ``owl:NegativePropertyAssertion``, and the claims they rule out."""

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
    """The predicate that names ``o``: ``owl:targetIndividual`` or ``owl:targetValue``."""


def stated_denials(index: Index) -> Iterator[Denial]:
    """The negative property assertions of an index, in its order."""
    get = index.terms.get
    source, asserted = get(OWL + "sourceIndividual"), get(OWL + "assertionProperty")
    named = (get(OWL + "targetIndividual"), get(OWL + "targetValue"))
    targets = [target for target in named if target is not None]
    if source is None or asserted is None:
        return
    for node, s in index.pairs(source):
        for p in index.objects(node, asserted):
            for target in targets:
                for o in index.objects(node, target):
                    yield Denial(node, s, p, o, target)


class Denials:
    """The negative property assertions of a closed graph.

    A claim is denied if it, or a triple that follows from it alone through the graph's property
    axioms (sub-property, and under OWL also equivalent, inverse and symmetric properties), is
    asserted not to hold. ``owl:sameAs`` is taken care of by the closure.
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
        self._denied: dict[Triple, list[Triple]] = {}
        self._implied: dict[int, list[tuple[int, bool]]] = {}
        self._read()

    def _read(self) -> None:
        index = self._index
        if self._property is None or self._source is None:
            return
        kind, negative = self._type, self._class
        for node, s, p, o, target in stated_denials(index):
            premises = [
                (node, self._source, s),
                (node, self._property, p),
                (node, target, o),
            ]
            if kind is not None and negative is not None and index.has(node, kind, negative):
                premises.insert(0, (node, kind, negative))
            self._denied.setdefault((s, p, o), premises)

    def __len__(self) -> int:
        return len(self._denied)

    def of(self, s: int, p: int, o: int) -> tuple[Claim, ...]:
        """The triples that deny a claim, property axioms last; empty if nothing does."""
        if not self._denied:
            return ()
        for q, turned in self._consequences(p):
            premises = self._denied.get((o, q, s) if turned else (s, q, o))
            if premises is not None:
                return tuple(map(self._claim, premises))
        return ()

    def _consequences(self, p: int) -> list[tuple[int, bool]]:
        """(property, whether subject and object change places) of all that a claim says."""
        found = self._implied.get(p)
        if found is None:
            found = self._implied[p] = [(p, False)]
            if self._regime != "none":
                seen = set(found)
                for q, turned in found:
                    for other, turns in self._directly(q):
                        more = (other, turned != turns)
                        if more not in seen:
                            seen.add(more)
                            found.append(more)
        return found

    def _directly(self, p: int) -> Iterator[tuple[int, bool]]:
        index = self._index
        if self._sub is not None:
            for q in index.objects(p, self._sub):
                yield q, False
        if self._regime != "owl-rl":
            return
        if self._equivalent is not None:
            for q in (*index.objects(p, self._equivalent), *index.subjects(self._equivalent, p)):
                yield q, False
        if self._inverse is not None:
            for q in (*index.objects(p, self._inverse), *index.subjects(self._inverse, p)):
                yield q, True
        if (
            self._symmetric is not None
            and self._type is not None
            and index.has(p, self._type, self._symmetric)
        ):
            yield p, True

    def _claim(self, triple: Triple) -> Claim:
        text = self._index.terms.text
        return Claim(text(triple[0]), text(triple[1]), text(triple[2]))
