"""Explicit denials: ``owl:NegativePropertyAssertion``, and the claims they rule out."""

from __future__ import annotations

from collections.abc import Iterator

from kg.claims import Claim, Regime
from kg.index import Index, Triple
from kg.terms import OWL, RDF, RDFS


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
        self._targets = [get(OWL + "targetIndividual"), get(OWL + "targetValue")]
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
        for node, p in index.pairs(self._property):
            for s in index.objects(node, self._source):
                for target in self._targets:
                    if target is None:
                        continue
                    for o in index.objects(node, target):
                        premises = [
                            (node, self._source, s),
                            (node, self._property, p),
                            (node, target, o),
                        ]
                        if (
                            self._type is not None
                            and self._class is not None
                            and index.has(node, self._type, self._class)
                        ):
                            premises.insert(0, (node, self._type, self._class))
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
