"""Updates the verdicts on an answer's claims and steps with those of a judge."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from eval.synthlink.items import Question
from eval.synthlink.metrics import ClaimVerdict, JudgedClaim, JudgedStep, StepVerdict
from eval.synthlink.sentences import list_expected_facts
from eval.synthlink.verdicts.record import Finding, Judgement, VerdictLine
from kg.base.files import sha256_bytes

# The judge's words for a verdict → those of the scores.
VERDICT_BY_FINDING: dict[Finding, ClaimVerdict] = {
    "supported": "supported",
    "contradicted": "contradicted",
    "not_told": "not_found",
}


_STEP_VERDICT_BY_FINDING: dict[Finding, StepVerdict] = {
    "supported": "stated",
    "contradicted": "contradicted",
    "not_told": "missing",
}


def apply_to_claims(
    claims: Sequence[JudgedClaim], question: Question, judgement: Judgement
) -> tuple[JudgedClaim, ...]:
    """Applies a judge's verdicts to the unjudged claims of an answer."""
    return tuple(
        _apply_to_claim(claim, judgement.lines_by_claim.get((question.id, claim.shown)))
        for claim in claims
    )


def apply_to_steps(
    steps: Sequence[JudgedStep], question: Question, answer: str, judgement: Judgement
) -> tuple[JudgedStep, ...]:
    """Applies a judge's verdicts on whether an answer states the expected facts."""
    sha256 = hash_answer(answer)
    facts = list_expected_facts(question)
    return tuple(
        _apply_to_step(step, judgement.lines_by_step.get((question.id, facts[step.number], sha256)))
        for step in steps
    )


def hash_answer(answer: str) -> str:
    """Returns the hash by which a verdict on a step names the answer."""
    return sha256_bytes(answer.encode())


def _apply_to_claim(claim: JudgedClaim, line: VerdictLine | None) -> JudgedClaim:
    """Returns a claim with the judge's verdict, if the judge has one and nothing else decided."""
    if claim.verdict != "unjudged" or line is None or not line.has_outcome:
        return claim
    # A line with an outcome but no verdict is a split vote.
    verdict = "not_found" if line.verdict is None else VERDICT_BY_FINDING[line.verdict]
    return msgspec.structs.replace(claim, verdict=verdict, by="judge")


def _apply_to_step(step: JudgedStep, line: VerdictLine | None) -> JudgedStep:
    if step.verdict != "unjudged" or line is None or not line.has_outcome:
        return step
    verdict = "missing" if line.verdict is None else _STEP_VERDICT_BY_FINDING[line.verdict]
    return JudgedStep(step.number, verdict, "judge")
