"""Computes the closure of a graph under an entailment regime, and derivations of inferred triples.

The closure is computed once, from the graph alone; nothing is ever inferred from a claim. Regimes:

* ``none``: the graph unchanged.
* ``rdfs``: rdfs2, 3, 5, 7, 9 and 11. The other rules (rdf1, rdfs1, 4a, 4b, 6, 8, 10, 12, 13) are
  left out: their conclusions are true of every graph and carry no information (everything is a
  resource, every class is its own subclass …).
* ``owl-rl``: the OWL 2 RL/RDF rules of the W3C profile (tables 4 to 9,
  https://www.w3.org/TR/owl2-profiles/), except for these conclusions and rules:

  - trivial conclusions: ``eq-ref`` (everything is the same as itself), ``prp-ap``,
    ``cls-thing``, ``cls-nothing1`` (axiomatic triples), and ``scm-cls``, ``scm-op``, ``scm-dp``
    (every class and property is below itself, ``owl:Thing`` above and ``owl:Nothing`` below every
    class). They are inferred only where another rule needs such a triple, so that not everything
    becomes an instance of ``owl:Thing``;
  - axioms about copies: of anonymous restrictions that say the same, all are equivalent to the
    first one, and most of what follows from this is inferred of the first one only; all that
    follows for other classes and for instances is inferred;
  - triples that RDF does not allow: with a literal as subject (hence also equality of literals)
    or a blank node as predicate;
  - the datatype rules ``dt-*``, which would need every value of every datatype; literals are
    compared by their lexical form.

  Rules that conclude *false* infer no triple; ``Closure.find_inconsistencies`` lists their
  instances.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from kg.claims import Claim, Regime, Step
from kg.reasoning.axioms import CompiledAxioms
from kg.reasoning.inconsistencies import find_contradictions
from kg.reasoning.removal import remove_from_run
from kg.reasoning.run import InferenceRun
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import OWL
from kg.triples.index import Index, Triple
from kg.triples.loader import pause_garbage_collection

if TYPE_CHECKING:
    from kg.graph import Graph


class Inconsistency(msgspec.Struct, frozen=True):
    """An instance of a rule that concludes *false*."""

    rule: str
    """W3C rule name, e.g. ``cax-dw``."""
    premises: tuple[Claim, ...]


class Closure:
    """A graph and all triples that it entails.

    Attributes:
        regime: the entailment regime.
        index: asserted and inferred triples; for ``none`` the graph's own index. Triples may be
            added to it and discarded again (copy on write keeps the graph as it is).
    """

    def __init__(
        self,
        graph: Graph | Index,
        regime: Regime = "owl-rl",
        *,
        axioms: CompiledAxioms | None = None,
    ) -> None:
        """Computes the closure.

        Args:
            graph: the asserted triples.
            regime: the entailment regime (see the module docstring).
            axioms: axioms compiled earlier by ``compile_axioms`` over the same terms; they count
                as asserted. The graph should then contain no axioms of its own: these are compiled
                as well, which is slower.
        """
        base = graph if isinstance(graph, Index) else graph.index
        self.regime: Regime = regime
        self._base = base
        self._run: InferenceRun | None = None
        self._axioms: CompiledAxioms | None = None
        """The compiled axioms, if no more were inferred from the data."""
        if regime == "none":
            self.index = base
            return
        vocabulary = Vocabulary.get_for_table(base.terms)
        if axioms is None or axioms.regime != regime or has_axioms(base, vocabulary, regime):
            if axioms is not None:
                base = self._base = base.fork()
                base.add_triples(axioms.source.iter_triples())
            axioms = CompiledAxioms(base, regime)
        elif len(axioms.source):
            base = self._base = base.fork()
            base.add_triples(axioms.source.iter_triples())
        with pause_garbage_collection():
            run = self._run = InferenceRun(base, vocabulary)
            run.apply_axioms(axioms)
            self._axioms = None if run.schema_grew else axioms
            # Data can entail axioms (a property inferred to be transitive, classes inferred to be
            # the same): compile and apply again until no new axiom is inferred.
            while run.schema_grew:
                run.apply_axioms(CompiledAxioms(run.index, regime, run.rule_count))
        self.index = run.index

    def without(
        self, graph: Graph, removed: Collection[Triple], *, in_place: bool = False
    ) -> Closure:
        """Returns the closure of a part of the graph; this closure must not be changed afterwards.

        Args:
            graph: the graph without ``removed``.
            removed: asserted triples of this closure's graph.
            in_place: whether this closure may be changed into the new one, which takes less time.
        """
        if self._run is None or self._axioms is None or any(map(self._run.is_axiom, removed)):
            return Closure(graph, self.regime)
        with pause_garbage_collection():
            run = remove_from_run(self._run, self._axioms, graph.index, removed, in_place=in_place)
        if run is None:
            return Closure(graph, self.regime)
        closure = Closure.__new__(Closure)
        closure.regime, closure.index = self.regime, run.index
        closure._base, closure._run, closure._axioms = graph.index, run, self._axioms
        return closure

    def has_claim(self, claim: Claim) -> bool:
        """Returns whether the claim is asserted or entailed."""
        triple = self._to_triple(claim)
        return triple is not None and self.index.has_triple(*triple)

    def is_asserted(self, s: int, p: int, o: int) -> bool:
        """Returns whether the triple is in the graph itself (not only inferred)."""
        return self._base.has_triple(s, p, o)

    def is_inferred(self, claim: Claim) -> bool:
        """Returns whether the claim is entailed, but not asserted."""
        triple = self._to_triple(claim)
        return (
            triple is not None and self.index.has_triple(*triple) and not self.is_asserted(*triple)
        )

    def derive_claim(self, claim: Claim) -> tuple[Step, ...] | None:
        """Derives a claim.

        Returns:
            The steps in order, each with premises that are asserted or concluded before; empty
            for an asserted triple, None for one that is not entailed.
        """
        triple = self._to_triple(claim)
        if triple is None:
            return None
        if self._base.has_triple(*triple):
            return ()
        if self._run is None or not self.index.has_triple(*triple):
            return None
        run, log = self._run, self._run.log
        # The log lists inferences in order: a premise always has a lower position than what is
        # concluded from it, so that sorting by position gives a valid order of steps.
        position = log.find_position(triple)
        if position is None:  # It was only added to the index for a while.
            return None
        inferences: dict[int, tuple[str, tuple[Triple, ...], Triple]] = {}
        pending = [(position, triple)]
        while pending:
            position, conclusion = pending.pop()
            if position in inferences:
                continue
            name, premises = run.get_justification(position)
            inferences[position] = (name, premises, conclusion)
            for premise in premises:
                if not self._base.has_triple(*premise):
                    premise_position = log.find_position(premise)
                    if premise_position is None:
                        raise AssertionError(f"premise is not in the inference log: {premise}")
                    pending.append((premise_position, premise))
        return tuple(
            Step(name, tuple(map(self._to_claim, premises)), self._to_claim(conclusion))
            for _, (name, premises, conclusion) in sorted(inferences.items())
        )

    def find_same_terms(self, s: int) -> Collection[int]:
        """Returns the terms that ``owl:sameAs`` makes equal to a term, itself first."""
        same_as = self.index.terms.get(OWL + "sameAs")
        if same_as is None or self.regime != "owl-rl":
            return (s,)
        equal_terms = self.index.find_objects(s, same_as)
        return list(dict.fromkeys([s, *equal_terms])) if equal_terms else (s,)

    def find_inconsistencies(self) -> Iterator[Inconsistency]:
        """Yields instances of the OWL 2 RL rules that conclude *false*; none in other regimes."""
        if self.regime == "owl-rl":
            for rule, premises in find_contradictions(self.index):
                # One triple can be two premises (a property that is disjoint with itself).
                yield Inconsistency(rule, tuple(map(self._to_claim, dict.fromkeys(premises))))

    @cached_property
    def inferred_predicates(self) -> frozenset[int]:
        """The predicates of inferred triples."""
        return self._run.log.collect_predicates() if self._run else frozenset()

    def _to_triple(self, claim: Claim) -> Triple | None:
        get_id = self.index.terms.get
        s, p, o = get_id(claim.subj), get_id(claim.pred), get_id(claim.obj)
        return None if s is None or p is None or o is None else (s, p, o)

    def _to_claim(self, triple: Triple) -> Claim:
        get_text = self.index.terms.get_text
        s, p, o = triple
        return Claim(get_text(s), get_text(p), get_text(o))


def compile_axioms(index: Index, triples: Iterable[Claim], regime: Regime) -> CompiledAxioms:
    """Compiles axioms, so that closures of many small indexes can share them.

    Args:
        index: any index of the term table.
        triples: the axioms (and the RDF lists they point to).
        regime: ``rdfs`` or ``owl-rl``.
    """
    axiom_index = index.make_empty_index()
    intern = axiom_index.terms.intern
    axiom_index.add_triples((intern(t.subj), intern(t.pred), intern(t.obj)) for t in triples)
    return CompiledAxioms(axiom_index, regime)


def has_axioms(index: Index, vocabulary: Vocabulary, regime: Regime) -> bool:
    """Returns whether any triple of the index is an axiom under the regime."""
    predicates = vocabulary.schema_predicates[regime]
    if any(p in predicates for p in index.list_predicates()):
        return True
    classes = vocabulary.schema_classes[regime]
    return bool(classes) and any(c in classes for _, c in index.iter_pairs(vocabulary.TYPE))
