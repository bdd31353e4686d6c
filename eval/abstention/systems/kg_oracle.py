"""``kg``: the licence oracle itself, the only system that is given the claim of a card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.abstention.result import Answer
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from kg.claims import GOLD_OF_LABEL, Claim

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase


class KgOracle:
    """Answers with the oracle's verdict on the claim; ``raw`` is its proof in words.

    It is an upper bound and not a competitor, since it does not have to interpret any text.
    """

    name = "kg"

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge

    def params(self) -> dict[str, Any]:
        """Returns the parameters that determine the verdicts, besides graph and shapes."""
        domain = self.knowledge.domain
        return {"regime": domain.regime, "unique_names": domain.unique_names}

    def answer_claim(self, claim: Claim) -> Answer:
        """Answers YES if the claim is entailed, NO if it is contradicted, else UNKNOWN."""
        verdict = self.knowledge.oracle.license(claim)
        return Answer(
            pred=GOLD_OF_LABEL[verdict.label], raw=self.knowledge.verbaliser.render_proof(verdict)
        )


@register("kg")
def create_system(options: SystemOptions) -> KgOracle:
    """Oracle, reported as such: checks the card's claim against graph and shapes, with proof."""
    Settings(options.settings, "kg").refuse_unknown()
    from kg.knowledge import KnowledgeBase

    return KgOracle(KnowledgeBase.open_cached(options.domain, options.graph, options.shapes))
