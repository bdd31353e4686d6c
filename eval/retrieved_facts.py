"""A licence from retrieved facts: what a graph says of a claim when only some of it is at hand.

For a question a retriever finds some facts among all that the graph states and denies. The claim is
then licensed on those alone, under the same shapes and the vocabulary's own axioms (what is a
subclass or an inverse of what): these are rules, and say nothing of any single thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cards.facts import denial
from eval.retrieving import RetrievalPlan, described_plan, retriever_over
from kg.claims import Claim
from kg.terms import OWL, RDF, RDF_TYPE, RDFS
from retrieval.passages import passages_of, stated_facts, states_a_fact

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase
    from kg.oracle import Oracle

_ABOUT_THINGS = frozenset(
    {
        OWL + "sourceIndividual",
        OWL + "assertionProperty",
        OWL + "targetIndividual",
        OWL + "targetValue",
        RDFS + "label",
        RDFS + "comment",
        RDFS + "seeAlso",
        RDFS + "isDefinedBy",
    }
)
"""Predicates of denials and names: no rules."""
_KINDS_OF_THINGS = frozenset({OWL + "NegativePropertyAssertion", OWL + "NamedIndividual"})


def is_rule(claim: Claim) -> bool:
    """Whether a triple belongs to the axioms: it says something of predicates or classes."""
    if states_a_fact(claim):
        return False
    if claim.pred == RDF_TYPE:
        return claim.obj.startswith((OWL, RDFS, RDF)) and claim.obj not in _KINDS_OF_THINGS
    return claim.pred.startswith((OWL, RDFS, RDF)) and claim.pred not in _ABOUT_THINGS


class RetrievedFacts:
    """Finds facts by the question, and makes oracles that know them alone.

    Args:
        knowledge: the graph, its shapes and its words.
        plan: how facts are found; its ``passages`` are ``fact``.

    Raises:
        EpocheError: a model cannot be had.
    """

    def __init__(self, knowledge: KnowledgeBase, plan: RetrievalPlan) -> None:
        graph = knowledge.graph
        passages = passages_of(graph, knowledge.words, "fact")
        self._knowledge, self._plan = knowledge, plan
        self._triples: dict[str, list[Claim]] = {
            passage.id: denial(claim, f"_:denied-{passage.id}") if denied else [claim]
            for passage, (claim, denied) in zip(passages, stated_facts(graph), strict=True)
        }
        self._rules = tuple(claim for claim in graph.claims() if is_rule(claim))
        self._retriever = retriever_over(plan, passages)

    def params(self) -> dict[str, Any]:
        """What decides which facts are found."""
        return described_plan(self._plan, self._retriever)

    def oracle(self, question: str) -> Oracle:
        """An oracle that knows the facts found for a question, and the rules."""
        found = self._retriever.search(question, self._plan.top_k)
        triples = [triple for one, _ in found for triple in self._triples[one]]
        return self._knowledge.oracle.local(triples, self._knowledge.shapes, self._rules)
