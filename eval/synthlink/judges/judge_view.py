"""The view of a claim that a judge gets: the question, the claim, and the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eval.judges.rng import reorder_blocks, rng_for
from eval.synthlink.judges.prompts import CLAIM_PROMPT

if TYPE_CHECKING:
    from eval.model.completion import Message
    from eval.synthlink.corrected.evidence import SourcePages
    from eval.synthlink.items import Question

MAX_EVIDENCE_LENGTH: Final = 100_000
"""Maximum length of question and evidence together, in characters. If they are longer, the claim is
not judged: a verdict from a part of the evidence could be different."""
MAX_CLAIM_LENGTH: Final = 2_000
"""Maximum length of a claim, in characters."""


@dataclass(frozen=True)
class JudgeView:
    """Everything that a judge sees of a claim."""

    question: str
    claim: str
    evidence: tuple[str, ...]

    @property
    def key(self) -> str:
        """Text that determines the orders of what is shown, and who gives a deciding vote."""
        return f"synthlink|{self.question}|{self.claim}"

    @property
    def is_within_limits(self) -> bool:
        """Whether claim and evidence are short enough to be judged."""
        return (
            len(self.claim) <= MAX_CLAIM_LENGTH
            and len(self.question) + sum(map(len, self.evidence)) <= MAX_EVIDENCE_LENGTH
        )

    def build_messages(self, vote_number: int) -> list[Message]:
        """Builds the conversation for one vote.

        The evidence comes first, and its order depends on question and vote number only. So all
        claims of a question begin with the same prompt, which servers need not read again. Votes
        differ in the order of the evidence, and in whether the claim follows the question.

        Args:
            vote_number: number of the vote, from 0.
        """
        evidence = list(self.evidence)
        rng_for(f"synthlink|{self.question}|{vote_number}|evidence").shuffle(evidence)
        prompt = reorder_blocks(CLAIM_PROMPT, self.key, vote_number, first=("evidence",))
        return prompt.build_messages(question=self.question, claim=self.claim, evidence=evidence)


def collect_evidence(
    question: Question, pages: SourcePages | None, excluded_fact: str = ""
) -> tuple[str, ...]:
    """Collects the facts, expected answers and paragraphs of the source pages of a question.

    Args:
        question: the question.
        pages: source pages used as evidence; None for none.
        excluded_fact: a fact to leave out.

    Returns:
        Each text once, in a fixed order.
    """
    texts = [step.fact for step in question.steps if step.fact and step.fact != excluded_fact]
    texts += [question.answer, *question.aliases]
    for page in pages.find_pages(question) if pages is not None else ():
        texts += [f"{page.title}: {paragraph}" for paragraph in page.paragraphs]
    return tuple(dict.fromkeys(text for text in texts if text.strip()))
