"""Updates the scores of an answer with a judge's verdicts on its claims."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from eval.synthlink.corrected.answer_scores import aggregate_metrics
from eval.synthlink.items import Question
from eval.synthlink.metrics import (
    AGGREGATE_WEIGHTS,
    AnswerScores,
    ClaimVerdict,
    JudgedClaim,
    MetricName,
)
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
    """Applies a judge's verdicts to the claims that the graph leaves open.

    Claims decided by the graph are unchanged. A claim without a verdict from the judge keeps the
    verdict from comparing words, as without a judge.

    Args:
        scores: scores of the answer, with verdicts from graph and word comparison.
        question: the question answered.
        lines: (question id, claim) → the judge's line on it.
    """
    claims = tuple(
        _apply_line(claim, lines.get((question.id, claim.text))) for claim in scores.claims
    )
    if claims == scores.claims:
        return scores
    metrics: dict[MetricName, float | None] = {
        name: getattr(scores, name) for name in AGGREGATE_WEIGHTS
    }
    metrics["fcs"] = sum(claim.verdict == "licensed" for claim in claims) / len(claims)
    return msgspec.structs.replace(
        scores, claims=claims, fcs=metrics["fcs"], aggregate=aggregate_metrics(metrics, question)
    )


def _apply_line(claim: JudgedClaim, line: VerdictLine | None) -> JudgedClaim:
    """Returns a claim with the judge's verdict, if the judge has one and the graph has none."""
    if claim.by == "graph" or line is None or not line.has_outcome:
        return claim
    # A line with an outcome but no verdict is a split vote.
    verdict = "unknown" if line.verdict is None else VERDICT_BY_FINDING[line.verdict]
    return JudgedClaim(claim.text, verdict, "judge", claim.verdict)
