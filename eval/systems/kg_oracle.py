"""``kg``: the licence oracle itself. The one system that is handed the claim, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions
from kg.claims import GOLD_OF_LABEL, Claim

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase


class KgOracle:
    """Answers with the oracle's verdict on the claim; ``raw`` is its proof in words.

    It is the ceiling, not a competitor: it reads no text and meets no ambiguity.
    """

    name = "kg"

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge

    def params(self) -> dict[str, Any]:
        """What decides verdicts besides graph and shapes."""
        domain = self.knowledge.domain
        return {"regime": domain.regime, "unique_names": domain.unique_names}

    def answer_claim(self, claim: Claim) -> Answer:
        """YES if entailed, NO if contradictory, else UNKNOWN."""
        verdict = self.knowledge.oracle.license(claim)
        return Answer(pred=GOLD_OF_LABEL[verdict.label], raw=self.knowledge.words.proof(verdict))


@register("kg")
def create(options: SystemOptions) -> KgOracle:
    """Declared oracle: licenses the card's claim against graph and shapes, with proof."""
    Settings(options.settings, "kg").refuse_others()
    from kg.knowledge import KnowledgeBase

    return KgOracle(KnowledgeBase.shared(options.domain, options.graph, options.shapes))
