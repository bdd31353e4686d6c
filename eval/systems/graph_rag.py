"""``graph_rag``: links the question to the graph, reads it as a claim, answers what is licensed.

It is given what every system is given, a card's visible view, and of that it reads the question
alone. It answers from its *graph*: on the counterfactual set, whose cards state facts that differ
from the graph's, it is therefore expected to fail, because it trusts the graph over the card.

With a retriever it does not know the whole graph: facts are found by the question first, as
passages are for ``rag``, and the claim is licensed on those facts and the rules alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cards.card import CardView
from eval.questions.parsing import ClaimParser, Unread
from eval.registry import register
from eval.result import Answer
from eval.retrieving import TEXT_RETRIEVERS, RetrievalPlan
from eval.settings import Settings
from eval.system import SystemOptions
from kg.claims import GOLD_OF_LABEL, Gold, Verdict

if TYPE_CHECKING:
    from eval.retrieved_facts import RetrievedFacts
    from kg.knowledge import KnowledgeBase

TOP_K = 20
"""Facts that are retrieved."""

_OPPOSITE: dict[Gold, Gold] = {"YES": "NO", "NO": "YES", "UNKNOWN": "UNKNOWN"}


class GraphRag:
    """Answers YES, NO or UNKNOWN as the graph entails, contradicts or leaves open.

    Every UNKNOWN says in ``raw`` why: the question could not be linked or read, or the graph does
    not decide it. ``confidence`` is always null: a licence is not a probability.

    Args:
        knowledge: the graph with its oracle.
        facts: finds the facts that a claim is licensed on; None: all that the graph holds.
    """

    name = "graph_rag"

    def __init__(self, knowledge: KnowledgeBase, facts: RetrievedFacts | None = None) -> None:
        self.knowledge = knowledge
        self._facts = facts
        self._parser = ClaimParser(knowledge)

    def params(self) -> dict[str, Any]:
        """What decides the answers besides graph and shapes."""
        domain = self.knowledge.domain
        found = self._facts.params() if self._facts is not None else {}
        return {"regime": domain.regime, "unique_names": domain.unique_names, **found}

    def answer(self, card: CardView) -> Answer:
        """Answers the card's question from the graph."""
        reading = self._parser.parse(card.question)
        if isinstance(reading, Unread):
            return Answer(pred="UNKNOWN", raw=f"Not read: {reading.reason}.")
        known = self._facts
        oracle = self.knowledge.oracle if known is None else known.oracle(card.question)
        verdicts = list(oracle.license_many(reading.claims))
        labels = {verdict.label for verdict in verdicts}
        if len(labels) > 1:
            return Answer(pred="UNKNOWN", raw=self._ambiguous(verdicts))
        gold = GOLD_OF_LABEL[verdicts[0].label]
        return Answer(
            pred=_OPPOSITE[gold] if reading.inverted else gold,
            raw=self._reason(verdicts[0]),
        )

    def _reason(self, verdict: Verdict) -> str:
        words = self.knowledge.words
        if self._facts is not None and verdict.label == "U":
            # A proof of absence tells what the graph holds instead; that was not found.
            return (
                f"The facts found neither entail nor contradict this: {words.fact(verdict.claim)}"
            )
        return words.proof(verdict)

    def _ambiguous(self, verdicts: list[Verdict]) -> str:
        words = self.knowledge.words
        readings = dict.fromkeys(words.fact(verdict.claim) for verdict in verdicts)
        return f"Not read: ambiguous, since it may mean any of these. {' '.join(readings)}"


@register("graph_rag")
def create(options: SystemOptions) -> GraphRag:
    """Links the question's names to the graph, reads the claim and answers what is licensed.

    Settings: ``retriever`` none|bm25|dense|hybrid, and with one of them ``top_k`` and those of
    ``eval.retrieving``.
    """
    settings = Settings(options.settings, "graph_rag")
    chosen = settings.choice("retriever", ("none", *TEXT_RETRIEVERS))
    plan = None
    if chosen != "none":
        top_k = settings.whole("top_k", TOP_K, least=1)
        plan = RetrievalPlan.of_retriever(settings, chosen, passages="fact", top_k=top_k)
    settings.refuse_others()
    from kg.knowledge import KnowledgeBase

    knowledge = KnowledgeBase.shared(options.domain, options.graph, options.shapes)
    if plan is None:
        return GraphRag(knowledge)
    from eval.retrieved_facts import RetrievedFacts

    return GraphRag(knowledge, RetrievedFacts(knowledge, plan))
