"""What a judge is shown of a claim: the question, the claim, and what the evaluator holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Final

from eval.judges.drawing import drawn_by
from eval.synthlink.judging.prompts import CLAIM

if TYPE_CHECKING:
    from eval.model.completion import Message
    from eval.synthlink.corrected.evidence import SourcePages
    from eval.synthlink.question import Question

MOST_EVIDENCE: Final = 100_000
"""Characters of evidence that a judge is shown. Nothing is ever cut: a judge who sees half of the
evidence judges by other evidence."""
LONGEST_CLAIM: Final = 2_000
"""Characters of a claim that is put to a judge; a longer sentence is none."""


@dataclass(frozen=True)
class Shown:
    """All that a judge is shown."""

    question: str
    claim: str
    evidence: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether all of it can be shown."""
        return (
            len(self.claim) <= LONGEST_CLAIM
            and len(self.question) + sum(map(len, self.evidence)) <= MOST_EVIDENCE
        )

    def messages(self, vote: int) -> list[Message]:
        """The conversation for one vote.

        Votes differ in the order of the blocks (six votes in six ways) and of the evidence, so
        that a judge who goes by position disagrees with itself. The orders depend on what is shown
        alone.

        Args:
            vote: which one, from 0.
        """
        key = f"synthlink|{self.question}|{self.claim}"
        orders = list(permutations(CLAIM.blocks))
        drawn_by(f"{key}|blocks").shuffle(orders)
        evidence = list(self.evidence)
        drawn_by(f"{key}|{vote}|evidence").shuffle(evidence)
        order = orders[vote % len(orders)]
        return replace(CLAIM, blocks=order).messages(
            question=self.question, claim=self.claim, evidence=evidence
        )


def evidence_of(
    question: Question, pages: SourcePages | None, without: str = ""
) -> tuple[str, ...]:
    """Facts, expected answers, and the paragraphs of the pages that are the question's sources.

    Args:
        question: whose.
        pages: texts of the sources; None for none.
        without: a fact that is left out.

    Returns:
        Each once, in a fixed order.
    """
    found = [step.fact for step in question.steps if step.fact and step.fact != without]
    found += [question.answer, *question.aliases]
    for page in pages.of(question) if pages is not None else ():
        found += [f"{page.title}: {paragraph}" for paragraph in page.paragraphs]
    return tuple(dict.fromkeys(text for text in found if text.strip()))
