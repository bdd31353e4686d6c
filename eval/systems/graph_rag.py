"""``graph_rag``: links the question to the graph, reads it as a claim, answers what is licensed.

It is given what every system is given, a card's visible view, and of that it reads the question
alone. It answers from its *graph*: on the counterfactual set, whose cards state facts that differ
from the graph's, it is therefore expected to fail, because it trusts the graph over the card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cards.card import CardView
from eval.questions.parsing import ClaimParser, Unread
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions
from kg.claims import GOLD_OF_LABEL, Gold, Verdict

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

_OPPOSITE: dict[Gold, Gold] = {"YES": "NO", "NO": "YES", "UNKNOWN": "UNKNOWN"}


class GraphRag:
    """Answers YES, NO or UNKNOWN as the graph entails, contradicts or leaves open.

    Every UNKNOWN says in ``raw`` why: the question could not be linked or read, or the graph does
    not decide it. ``confidence`` is always null: a licence is not a probability.
    """

    name = "graph_rag"

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge
        self._parser = ClaimParser(knowledge)

    def params(self) -> dict[str, Any]:
        """What decides the answers besides graph and shapes."""
        domain = self.knowledge.domain
        return {"regime": domain.regime, "unique_names": domain.unique_names}

    def answer(self, card: CardView) -> Answer:
        """Answers the card's question from the graph."""
        reading = self._parser.parse(card.question)
        if isinstance(reading, Unread):
            return Answer(pred="UNKNOWN", raw=f"Not read: {reading.reason}.")
        verdicts = list(self.knowledge.oracle.license_many(reading.claims))
        labels = {verdict.label for verdict in verdicts}
        if len(labels) > 1:
            return Answer(pred="UNKNOWN", raw=self._ambiguous(verdicts))
        gold = GOLD_OF_LABEL[verdicts[0].label]
        return Answer(
            pred=_OPPOSITE[gold] if reading.inverted else gold,
            raw=self.knowledge.words.proof(verdicts[0]),
        )

    def _ambiguous(self, verdicts: list[Verdict]) -> str:
        words = self.knowledge.words
        readings = dict.fromkeys(words.fact(verdict.claim) for verdict in verdicts)
        return f"Not read: ambiguous, since it may mean any of these. {' '.join(readings)}"


@register("graph_rag")
def create(options: SystemOptions) -> GraphRag:
    """Links the question's names to the graph, reads the claim and answers what is licensed."""
    Settings(options.settings, "graph_rag").refuse_others()
    from kg.knowledge import KnowledgeBase

    return GraphRag(KnowledgeBase.shared(options.domain, options.graph, options.shapes))
