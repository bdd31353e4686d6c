"""Updates the scores of an answer with a judge's verdicts on its claims."""

from __future__ import annotations

from collections.abc import Mapping

from eval.synthlink.corrected.answer_scores import set_claims
from eval.synthlink.items import Question
from eval.synthlink.metrics import AnswerScores, ClaimVerdict, JudgedClaim
from eval.synthlink.verdicts.record import Finding, VerdictLine

# The judge's words for a verdict → those of the scores.
VERDICT_BY_FINDING: dict[Finding, ClaimVerdict] = {
    "supported": "licensed",
    "contradicted": "contradicted",
    "not_told": "unknown",
}


def apply_verdicts(
    scores: AnswerScores, question: Question, lines: Mapping[tuple[str, str], VerdictLine]
) -> AnswerScores:
    """Applies a judge's verdicts to the unjudged claims.

    Claims decided by graph or quotation are unchanged. A claim without a verdict from the judge
    stays unjudged.

    Args:
        scores: scores of the answer without a judge.
        question: the question answered.
        lines: (question id, claim) → the judge's line on it.
    """
    claims = tuple(
        _apply_line(claim, lines.get((question.id, claim.text))) for claim in scores.claims
    )
    return set_claims(scores, question, claims)


def _apply_line(claim: JudgedClaim, line: VerdictLine | None) -> JudgedClaim:
    """Returns a claim with the judge's verdict, if the judge has one and nothing else decided."""
    if claim.verdict != "unjudged" or line is None or not line.has_outcome:
        return claim
    # A line with an outcome but no verdict is a split vote.
    verdict = "unknown" if line.verdict is None else VERDICT_BY_FINDING[line.verdict]
    return JudgedClaim(claim.text, verdict, "judge")
