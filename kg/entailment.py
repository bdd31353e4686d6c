"""Entailment: the closure of a graph under a regime, and the derivation of any inferred triple.

The closure is made once, from the graph alone; nothing is ever inferred from a claim. Regimes:

* ``none``: the graph as it is.
* ``rdfs``: rdfs2, 3, 5, 7, 9 and 11. Left out are the rules that hold of every graph and tell
  nothing (rdf1, rdfs1, 4a, 4b, 6, 8, 10, 12, 13: everything is a resource, every class is its own
  subclass …).
* ``owl-rl``: the OWL 2 RL/RDF rules of the W3C profile (tables 4 to 9,
  https://www.w3.org/TR/owl2-profiles/). Left out are

  - what is trivially true: ``eq-ref`` (everything is the same as itself), ``prp-ap``,
    ``cls-thing``, ``cls-nothing1`` (axiomatic triples), and ``scm-cls``, ``scm-op``, ``scm-dp``
    (every class and property is below itself, ``owl:Thing`` above and ``owl:Nothing`` below every
    class), except where another rule rests on such a triple. So no membership in ``owl:Thing``
    is inferred merely because everything is a thing;
  - what RDF cannot state: triples with a literal as subject (hence also equality of literals) or
    a blank node as predicate;
  - the datatype rules ``dt-*``, which would need every value of every datatype; literals are
    compared as written.

  Rules that conclude *false* infer no triple; ``Closure.inconsistencies`` lists what they find.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from kg.claims import Claim, Regime, Step
from kg.index import Index, Triple
from kg.loading import no_garbage_collection
from kg.reasoning.axioms import Axioms
from kg.reasoning.inconsistencies import find_clashes
from kg.reasoning.run import Run
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import OWL

if TYPE_CHECKING:
    from kg.graph import Graph


class Inconsistency(msgspec.Struct, frozen=True):
    """An instance of a rule that concludes *false*."""

    rule: str
    """W3C rule name, e.g. ``cax-dw``."""
    premises: tuple[Claim, ...]


class Closure:
    """A graph and all that it entails.

    Attributes:
        regime: the entailment regime.
        index: asserted and inferred triples; for ``none`` the graph's own index. Triples may be
            added to it and discarded again (copy on write keeps the graph as it is).
    """

    def __init__(
        self, graph: Graph | Index, regime: Regime = "owl-rl", *, axioms: Axioms | None = None
    ) -> None:
        """Closes a graph.

        Args:
            graph: the asserted triples.
            regime: see the module.
            axioms: compiled earlier by ``compile_axioms`` over the same terms; they then count as
                asserted too, and the graph is expected to hold data only (any axioms it holds
                besides are found and compiled as well, which costs more).
        """
        base = graph if isinstance(graph, Index) else graph.index
        self.regime: Regime = regime
        self._base = base
        self._run: Run | None = None
        if regime == "none":
            self.index = base
            return
        vocabulary = Vocabulary.of(base.terms)
        if axioms is None or axioms.regime != regime or holds_axioms(base, vocabulary, regime):
            if axioms is not None:
                base = self._base = base.fork()
                base.update(axioms.source.triples())
            axioms = Axioms(base, regime)
        elif len(axioms.source):
            base = self._base = base.fork()
            base.update(axioms.source.triples())
        with no_garbage_collection():
            run = self._run = Run(base, vocabulary)
            run.apply(axioms)
            # Only where data infers axioms (a property whose type is inferred to be transitive,
            # classes that are the same): compile again, until none is new.
            while run.schema_grew:
                run.apply(Axioms(run.index, regime, run.rule_count))
        self.index = run.index

    def has(self, claim: Claim) -> bool:
        """Whether the claim is asserted or entailed."""
        triple = self._ids(claim)
        return triple is not None and self.index.has(*triple)

    def asserted(self, s: int, p: int, o: int) -> bool:
        """Whether the triple stands in the graph itself."""
        return self._base.has(s, p, o)

    def derive(self, claim: Claim) -> tuple[Step, ...] | None:
        """The derivation of a claim: steps in order, premises asserted or concluded before.

        Returns:
            No steps for an asserted triple, None for one that is not entailed.
        """
        triple = self._ids(claim)
        if triple is None:
            return None
        if self._base.has(*triple):
            return ()
        if self._run is None:
            return None
        run, log = self._run, self._run.log
        place = log.place(triple)
        if place is None:
            return None
        found: dict[int, tuple[str, tuple[Triple, ...], Triple]] = {}
        open_places = [(place, triple)]
        while open_places:
            place, conclusion = open_places.pop()
            if place in found:
                continue
            name, premises = run.justification(place)
            found[place] = (name, premises, conclusion)
            for premise in premises:
                if not self._base.has(*premise):
                    earlier = log.place(premise)
                    if earlier is None:
                        raise AssertionError(f"premise without a place: {premise}")
                    open_places.append((earlier, premise))
        return tuple(
            Step(name, tuple(map(self._claim, premises)), self._claim(conclusion))
            for _, (name, premises, conclusion) in sorted(found.items())
        )

    def same(self, s: int) -> Collection[int]:
        """The ``owl:sameAs`` class of a term, itself first."""
        same = self.index.terms.get(OWL + "sameAs")
        if same is None or self.regime != "owl-rl":
            return (s,)
        others = self.index.objects(s, same)
        return list(dict.fromkeys([s, *others])) if others else (s,)

    def inconsistencies(self) -> Iterator[Inconsistency]:
        """What OWL 2 RL concludes *false* from, lazily; nothing under other regimes."""
        if self.regime == "owl-rl":
            for rule, premises in find_clashes(self.index):
                # One triple may fill two places (a property that is disjoint with itself).
                yield Inconsistency(rule, tuple(map(self._claim, dict.fromkeys(premises))))

    @cached_property
    def inferred_predicates(self) -> frozenset[int]:
        """The predicates of inferred triples."""
        return self._run.log.predicates() if self._run else frozenset()

    @property
    def inferred_count(self) -> int:
        """How many triples were inferred."""
        return len(self._run.log) if self._run else 0

    def _ids(self, claim: Claim) -> Triple | None:
        get = self.index.terms.get
        s, p, o = get(claim.subj), get(claim.pred), get(claim.obj)
        return None if s is None or p is None or o is None else (s, p, o)

    def _claim(self, triple: Triple) -> Claim:
        text = self.index.terms.text
        s, p, o = triple
        return Claim(text(s), text(p), text(o))


def compile_axioms(index: Index, triples: Iterable[Claim], regime: Regime) -> Axioms:
    """Compiles axioms once, to close many small indexes of the same term table with them.

    Args:
        index: any index of the term table.
        triples: the axioms (and the RDF lists they point to).
        regime: ``rdfs`` or ``owl-rl``.
    """
    own = index.scratch()
    intern = own.terms.intern
    own.update((intern(t.subj), intern(t.pred), intern(t.obj)) for t in triples)
    return Axioms(own, regime)


def holds_axioms(index: Index, vocabulary: Vocabulary, regime: Regime) -> bool:
    """Whether any triple of the index is an axiom under the regime."""
    predicates = vocabulary.schema_predicates[regime]
    if any(p in predicates for p in index.predicates()):
        return True
    classes = vocabulary.schema_classes[regime]
    return bool(classes) and any(c in classes for _, c in index.pairs(vocabulary.TYPE))
