"""Proves a card's label twice: over the graph, and over the card's own facts and rules alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cards.facts import Fact, facts_to_triples
from cards.generation.graph_lookup import GraphLookup
from kg.claims import Claim, Verdict
from kg.knowledge import KnowledgeBase
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.terms import OWL, RDF_TYPE
from kg.vocabulary import is_vocabulary


def is_about_vocabulary(claim: Claim) -> bool:
    """Returns whether a triple is about a class or property and not about an entity."""
    if claim.pred == RDF_TYPE:
        return claim.obj.startswith(OWL)
    return is_vocabulary(claim.pred)


class CardRules(NamedTuple):
    """The rules that every card of a predicate states."""

    texts: tuple[str, ...]
    shapes: Shapes
    axioms: tuple[Claim, ...]


def select_card_rules(kb: KnowledgeBase, pred: str) -> CardRules:
    """Selects the rules about a predicate, and what they describe of the shapes."""
    rules = kb.verbaliser.get_rules(pred)
    return CardRules(
        tuple(rule.text for rule in rules),
        kb.verbaliser.rulebook.select_shapes(pred) or kb.shapes.select_shapes(()),
        tuple(dict.fromkeys(axiom for rule in rules for axiom in rule.axioms)),
    )


class Prover:
    """Proves the cards of one predicate.

    All cards of a predicate show the same rules, so the shapes and axioms behind these rules are
    compiled once.
    """

    def __init__(self, lookup: GraphLookup, p: int) -> None:
        self.lookup = lookup
        self.oracle = lookup.kb.oracle
        self.rule_texts, self.shapes, self.axioms = select_card_rules(
            lookup.kb, lookup.terms.get_text(p)
        )
        self._verdict_cache: dict[Claim, Verdict] = {}

    def find_target_classes(self, shape_names: Iterable[str]) -> frozenset[int]:
        """Returns the classes that shapes target, given the names of these shapes or parts of them.

        Only shapes that the cards' rules state are looked at.
        """
        names = tuple(shape_names)
        return frozenset(
            self.lookup.intern_term(cls)
            for node in self.shapes.targeted_nodes
            if any(name == node or name.startswith(f"{node}/") for name in names)
            for cls in self.shapes.shapes[node].targets.classes
        )

    def license_on_graph(self, claim: Claim) -> Verdict:
        """Returns the oracle's verdict over the graph."""
        verdict = self._verdict_cache.get(claim)
        if verdict is None:
            verdict = self._verdict_cache[claim] = self.oracle.license(claim)
        return verdict

    def make_card_oracle(self, facts: Iterable[Fact], *, with_axioms: bool = True) -> Oracle:
        """Returns an oracle that knows only a card's facts and rules.

        Args:
            facts: the facts.
            with_axioms: whether it derives further facts by the rules that are axioms.
        """
        return self.oracle.make_local_oracle(
            facts_to_triples(facts, self.lookup.terms),
            self.shapes,
            self.axioms if with_axioms else (),
        )

    def find_premises(self, s: int, p: int, o: int) -> tuple[Fact, ...] | None:
        """Returns the facts that an entailed triple follows from; None if it is not entailed."""
        lookup = self.lookup
        if lookup.graph_index.has_triple(s, p, o):
            return (Fact(s, p, o),)
        verdict = self.license_on_graph(lookup.make_claim(s, p, o))
        if verdict.label != "E":
            return None
        return tuple(
            Fact(
                lookup.intern_term(premise.subj),
                lookup.intern_term(premise.pred),
                lookup.intern_term(premise.obj),
            )
            for premise in verdict.proof.premises
            if not is_about_vocabulary(premise)
        )
