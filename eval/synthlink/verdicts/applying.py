"""What verdicts of a judge make of an answer's scores."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from eval.synthlink.corrected.answering import aggregate
from eval.synthlink.measures import WEIGHTS, Judged, Measure, Parts, Verdict
from eval.synthlink.question import Question
from eval.synthlink.verdicts.record import Finding, JudgedLine

VERDICT_OF: dict[Finding, Verdict] = {
    "supported": "licensed",
    "contradicted": "contradicted",
    "not_told": "unknown",
}


def with_verdicts(
    parts: Parts, question: Question, said: Mapping[tuple[str, str], JudgedLine]
) -> Parts:
    """The measures of an answer where a judge decided about claims that the graph left open.

    What the graph decided stays as it is, and so does a claim about which the judge came to
    nothing: words decide about it, as they do without a judge.

    Args:
        parts: as graph and words have them.
        question: whose.
        said: question id and claim → what was said of it.
    """
    claims = tuple(_decided(one, said.get((question.id, one.text))) for one in parts.claims)
    if claims == parts.claims:
        return parts
    measures: dict[Measure, float | None] = {name: getattr(parts, name) for name in WEIGHTS}
    measures["fcs"] = sum(one.verdict == "licensed" for one in claims) / len(claims)
    return msgspec.structs.replace(
        parts, claims=claims, fcs=measures["fcs"], aggregate=aggregate(measures, question)
    )


def _decided(claim: Judged, said: JudgedLine | None) -> Judged:
    if claim.by == "graph" or said is None or not said.came_about:
        return claim
    verdict = "unknown" if said.verdict is None else VERDICT_OF[said.verdict]
    return Judged(claim.text, verdict, "judge", claim.verdict)
