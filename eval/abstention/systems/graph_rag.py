"""``graph_rag``: parses the question as a claim about the graph and answers with its verdict.

Like every system it gets the card's visible view, but it reads only the question and answers from
its *graph*. It is therefore expected to fail on the counterfactual set, whose cards state facts
that differ from the graph's.

With a retriever it does not use the whole graph. Facts are retrieved for the question, as passages
are for ``rag``, and the claim is checked against these facts and the rules alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cards.card import CardView
from eval.abstention.result import Answer
from eval.abstention.retrieval_plan import RetrievalPlan
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from eval.questions.parser import ClaimParser, ParseFailure
from kg.claims import GOLD_OF_LABEL, Gold, Verdict
from retrieval.names import TEXT_RETRIEVERS

if TYPE_CHECKING:
    from eval.abstention.retrieved_facts import RetrievedFacts
    from kg.knowledge import KnowledgeBase

DEFAULT_TOP_K = 20
"""Default for the number of facts that are retrieved."""

_OPPOSITE_ANSWER: dict[Gold, Gold] = {"YES": "NO", "NO": "YES", "UNKNOWN": "UNKNOWN"}


class GraphRag:
    """Answers YES if the graph entails the claim, NO if it contradicts it, else UNKNOWN.

    For every UNKNOWN, ``raw`` has the reason: the question could not be linked or parsed, or the
    graph does not decide it. ``confidence`` is always null, because a verdict is not a probability.

    Args:
        knowledge: the graph with its oracle.
        facts: retrieves the facts that the claim is checked against; None to use the whole graph.
    """

    name = "graph_rag"

    def __init__(self, knowledge: KnowledgeBase, facts: RetrievedFacts | None = None) -> None:
        self.knowledge = knowledge
        self._facts = facts
        self._parser = ClaimParser(knowledge)

    def params(self) -> dict[str, Any]:
        """Returns the parameters that determine the answers, besides graph and shapes."""
        domain = self.knowledge.domain
        retrieval_params = self._facts.params() if self._facts is not None else {}
        return {"regime": domain.regime, "unique_names": domain.unique_names, **retrieval_params}

    def answer(self, card: CardView) -> Answer:
        """Answers the card's question from the graph."""
        reading = self._parser.parse_question(card.question)
        if isinstance(reading, ParseFailure):
            return Answer(pred="UNKNOWN", raw=f"Not read: {reading.reason}.")
        retrieved_facts = self._facts
        oracle = (
            self.knowledge.oracle
            if retrieved_facts is None
            else retrieved_facts.build_oracle(card.question)
        )
        verdicts = list(oracle.license_many(reading.claims))
        labels = {verdict.label for verdict in verdicts}
        if len(labels) > 1:
            return Answer(pred="UNKNOWN", raw=self._describe_ambiguity(verdicts))
        gold = GOLD_OF_LABEL[verdicts[0].label]
        return Answer(
            pred=_OPPOSITE_ANSWER[gold] if reading.inverted else gold,
            raw=self._describe_verdict(verdicts[0]),
        )

    def _describe_verdict(self, verdict: Verdict) -> str:
        verbaliser = self.knowledge.verbaliser
        if self._facts is not None and verdict.label == "U":
            # A proof of UNKNOWN quotes related facts of the whole graph, which were not retrieved.
            return (
                "The facts found neither entail nor contradict this: "
                f"{verbaliser.render_fact(verdict.claim)}"
            )
        return verbaliser.render_proof(verdict)

    def _describe_ambiguity(self, verdicts: list[Verdict]) -> str:
        verbaliser = self.knowledge.verbaliser
        readings = dict.fromkeys(verbaliser.render_fact(verdict.claim) for verdict in verdicts)
        return f"Not read: ambiguous, since it may mean any of these. {' '.join(readings)}"


@register("graph_rag")
def create_system(options: SystemOptions) -> GraphRag:
    """Links the question's names to the graph, parses the claim and answers what is licensed.

    Settings: ``retriever`` none|bm25|dense|hybrid, and with a retriever ``top_k`` and the settings
    of ``eval.abstention.retrieval_plan``.
    """
    settings = Settings(options.settings, "graph_rag")
    retriever = settings.get_choice("retriever", ("none", *TEXT_RETRIEVERS))
    plan = None
    if retriever != "none":
        top_k = settings.get_int("top_k", DEFAULT_TOP_K, minimum=1)
        plan = RetrievalPlan.for_retriever(settings, retriever, passages="fact", top_k=top_k)
    settings.refuse_unknown()
    from kg.knowledge import KnowledgeBase

    knowledge = KnowledgeBase.open_cached(options.domain, options.graph, options.shapes)
    if plan is None:
        return GraphRag(knowledge)
    from eval.abstention.retrieved_facts import RetrievedFacts

    return GraphRag(knowledge, RetrievedFacts(knowledge, plan))
