"""Proving: a card's label over the graph, and again over its own facts and rules alone."""

from __future__ import annotations

from collections.abc import Iterable

from cards.facts import Fact, as_triples
from cards.world import World
from kg.claims import Claim, Verdict
from kg.domain import Rule
from kg.oracle import Oracle
from kg.terms import OWL, RDF_TYPE
from kg.vocabulary import is_vocabulary


def speaks_of_vocabulary(claim: Claim) -> bool:
    """Whether a triple speaks about the vocabulary rather than about the world."""
    if claim.pred == RDF_TYPE:
        return claim.obj.startswith(OWL)
    return is_vocabulary(claim.pred)


class Prover:
    """Both proofs for the cards of one predicate.

    All cards of a predicate show the same rules, so the shapes and axioms those put in words are
    compiled once.
    """

    def __init__(self, world: World, p: int) -> None:
        self.world = world
        self.oracle = world.kb.oracle
        self.rules: tuple[Rule, ...] = tuple(world.kb.words.rules(world.terms.text(p)))
        names = dict.fromkeys(shape for rule in self.rules for shape in rule.shapes)
        self.shapes = world.kb.shapes.subset(list(names))
        self.axioms = tuple(dict.fromkeys(axiom for rule in self.rules for axiom in rule.axioms))
        self._known: dict[Claim, Verdict] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The rules in words, as every card of the predicate shows them."""
        return tuple(rule.text for rule in self.rules)

    def on_graph(self, claim: Claim) -> Verdict:
        """The licence over the graph."""
        verdict = self._known.get(claim)
        if verdict is None:
            verdict = self._known[claim] = self.oracle.license(claim)
        return verdict

    def on_card(self, facts: Iterable[Fact]) -> Oracle:
        """An oracle that knows a card's facts and rules and nothing else."""
        return self.oracle.local(as_triples(facts, self.world.terms), self.shapes, self.axioms)

    def premises(self, s: int, p: int, o: int) -> tuple[Fact, ...] | None:
        """The facts an entailed triple rests on; None when it is not entailed after all."""
        world = self.world
        if world.graph.has(s, p, o):
            return (Fact(s, p, o),)
        verdict = self.on_graph(world.claim(s, p, o))
        if verdict.label != "E":
            return None
        return tuple(
            Fact(world.id(c.subj), world.id(c.pred), world.id(c.obj))
            for c in verdict.proof.premises
            if not speaks_of_vocabulary(c)
        )
