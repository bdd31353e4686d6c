"""Builds licence oracles that know only the facts a retriever found for a question.

The retriever searches all facts that the graph asserts or denies. The claim is then licensed on the
facts found, under the same shapes and the axioms of the vocabulary (such as subclasses and
inverses). Axioms are always included: they are rules and assert nothing about single entities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cards.facts import make_denial_triples
from eval.abstention.retrieval_plan import RetrievalPlan, describe_plan, make_text_retriever
from kg.claims import Claim
from kg.terms import OWL, RDF, RDF_TYPE, RDFS
from retrieval.passages import build_passages, is_factual_claim, iter_graph_facts

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase
    from kg.oracle import Oracle

_NON_AXIOM_PREDICATES = frozenset(
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
"""Predicates of denials and labels, which are not axioms."""
_NON_AXIOM_CLASSES = frozenset({OWL + "NegativePropertyAssertion", OWL + "NamedIndividual"})


def is_axiom(claim: Claim) -> bool:
    """Returns whether a triple is an axiom, that is, about predicates or classes."""
    if is_factual_claim(claim):
        return False
    if claim.pred == RDF_TYPE:
        return claim.obj.startswith((OWL, RDFS, RDF)) and claim.obj not in _NON_AXIOM_CLASSES
    return claim.pred.startswith((OWL, RDFS, RDF)) and claim.pred not in _NON_AXIOM_PREDICATES


class RetrievedFacts:
    """Retrieves facts for a question, and builds oracles that know only these.

    Args:
        knowledge: the graph, its shapes and its wording.
        plan: the retrieval settings; ``passages`` must be ``fact``.

    Raises:
        EpocheError: an embedding or reranking model cannot be loaded.
    """

    def __init__(self, knowledge: KnowledgeBase, plan: RetrievalPlan) -> None:
        graph = knowledge.graph
        passages = build_passages(graph, knowledge.verbaliser, "fact")
        self._knowledge, self._plan = knowledge, plan
        self._triples: dict[str, list[Claim]] = {
            passage.id: make_denial_triples(claim, f"_:denied-{passage.id}")
            if is_denied
            else [claim]
            for passage, (claim, is_denied) in zip(passages, iter_graph_facts(graph), strict=True)
        }
        self._axioms = tuple(claim for claim in graph.iter_claims() if is_axiom(claim))
        self._retriever = make_text_retriever(plan, passages)

    def params(self) -> dict[str, Any]:
        """Returns the parameters that decide which facts are found."""
        return describe_plan(self._plan, self._retriever)

    def build_oracle(self, question: str) -> Oracle:
        """Builds an oracle that knows the facts found for a question, and the axioms."""
        passages = self._retriever.search(question, self._plan.top_k)
        triples = [triple for passage_id, _ in passages for triple in self._triples[passage_id]]
        return self._knowledge.oracle.make_local_oracle(
            triples, self._knowledge.shapes, self._axioms
        )
