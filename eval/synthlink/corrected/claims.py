"""Verifies the claims of an answer against graph, catalogue and source pages.

The sources that a prediction itself gives (``sources_verified``) are never used as evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.graph_reader import ask_graph
from eval.synthlink.corrected.claim_f1 import list_claims
from eval.synthlink.corrected.evidence import SourcePages, collect_sentences
from eval.synthlink.items import Question
from eval.synthlink.metrics import ClaimVerdict, DecidedBy, JudgedClaim
from eval.synthlink.sentences import normalise_wording
from kg.words.normaliser import extract_content_words

if TYPE_CHECKING:
    from eval.guard.stream import Guard

_VERDICTS: dict[str, ClaimVerdict] = {
    "supported": "supported",
    "contradicted": "contradicted",
    "not found": "not_found",
}


def judge_claims(
    answer: str,
    question: Question,
    guard: Guard | None,
    pages: SourcePages | None = None,
    decider: ClaimDecider | None = None,
) -> tuple[JudgedClaim, ...]:
    """Splits an answer into claims, and judges those that can be judged without a model.

    The evidence is asked in turn:

    1. the graph: the stream guard reads the claim, and the licence oracle judges it;
    2. a quotation: a fact, an expected answer or a source page has the same sentence;
    3. the facts, triples and pages of the question (``ClaimDecider``).

    All other claims are unjudged, whether true or not.

    Args:
        answer: the answer.
        question: the question; its facts and expected answers are evidence.
        guard: stream guard of the catalogue's graph; None for none.
        pages: source pages used as evidence; None for none.
        decider: the evidence on the question, if it was already read.

    Returns:
        Claims in the order of the answer; empty if it claims nothing.
    """
    facts = [step.fact for step in question.steps]
    subject_words = frozenset().union(
        *map(extract_content_words, (question.question, question.answer, *question.aliases, *facts))
    )
    quoted = collect_sentences(question, pages)
    decider = decider or ClaimDecider(question, pages)
    judged = []
    for claim in list_claims(answer, question):
        verdict: ClaimVerdict = "unjudged"
        decided_by: DecidedBy = "nothing"
        # The graph decides only claims that share a word with question or references: true
        # statements about an unrelated subject must not count.
        concerns_question = frozenset(extract_content_words(claim.text)) & subject_words
        finding = ask_graph(claim.plain, guard).verdict if concerns_question else None
        if finding is None and concerns_question and claim.text != claim.sentence:
            # A licensed sentence has no clause that is not.
            whole = ask_graph(claim.sentence, guard).verdict
            finding = whole if whole == "supported" else None
        wordings = map(normalise_wording, (claim.text, claim.sentence))
        quotation = next((quoted[wording] for wording in wordings if wording in quoted), None)
        if claim.is_retracted:
            pass
        elif finding is not None:
            verdict, decided_by = finding, "graph"
        elif quotation is not None:
            verdict, decided_by = "supported", quotation
        elif (decision := decider.decide(claim)).verdict != "open":
            verdict, decided_by = _VERDICTS[decision.verdict], decision.by
        judged.append(JudgedClaim(claim.text, verdict, decided_by, claim.context))
    return tuple(judged)
