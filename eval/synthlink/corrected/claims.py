"""Verifies the claims of an answer against graph, catalogue and source pages.

The sources that a prediction itself gives (``sources_verified``) are never used as evidence.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from eval.synthlink.corrected.evidence import SourcePages, collect_sentences
from eval.synthlink.corrected.word_f1 import list_references
from eval.synthlink.items import Question
from eval.synthlink.metrics import ClaimVerdict, DecidedBy, JudgedClaim
from eval.synthlink.sentences import is_question, normalise_wording, split_sentences
from kg.words.normaliser import extract_content_words

if TYPE_CHECKING:
    from eval.guard.stream import Guard


class _GraphFinding(NamedTuple):
    """The graph's verdict on the clauses of a sentence."""

    contradicted: bool = False
    """Whether a clause is contradicted."""
    licensed: bool = False
    """Whether a clause is licensed."""
    undecided: bool = False
    """Whether a clause could not be decided."""


def judge_claims(
    answer: str, question: Question, guard: Guard | None, pages: SourcePages | None = None
) -> tuple[JudgedClaim, ...]:
    """Splits an answer into claims, and judges those that can be judged without a model.

    A claim is a sentence with at least one word that is not in the question. Sentences that are
    questions themselves are no claims, and a repeated sentence is one claim.

    First the graph judges: the stream guard reads clauses from the sentence and asks the licence
    oracle about each. The claim is contradicted if a clause is contradicted, and licensed if all
    clauses are licensed. If the graph leaves the claim open, it is licensed if a fact, an expected
    answer or a source page has the same sentence, with the same words in the same order.

    All other claims are unjudged, whether true or not.

    Args:
        answer: the answer.
        question: the question; its facts and expected answers are evidence.
        guard: stream guard of the catalogue's graph; None for none.
        pages: source pages used as evidence; None for none.

    Returns:
        Claims in the order of the answer; empty if it claims nothing.
    """
    question_words = frozenset(extract_content_words(question.question))
    subject_words = question_words.union(*map(extract_content_words, list_references(question)))
    evidence = collect_sentences(question, pages)
    claims: dict[str, JudgedClaim] = {}
    sentences = split_sentences(answer)
    findings = _read_sentences(answer, [start for start, _ in sentences], guard)
    for (_, text), finding in zip(sentences, findings, strict=True):
        words, wording = frozenset(extract_content_words(text)), normalise_wording(text)
        if words <= question_words or wording in claims or is_question(text):
            continue
        verdict: ClaimVerdict = "unjudged"
        decided_by: DecidedBy = "nothing"
        # The graph decides only claims that share a word with question or references: true
        # statements about an unrelated subject must not count.
        if words & subject_words and finding.contradicted:
            verdict, decided_by = "contradicted", "graph"
        elif words & subject_words and finding.licensed and not finding.undecided:
            verdict, decided_by = "licensed", "graph"
        elif wording in evidence:
            verdict, decided_by = "licensed", evidence[wording]
        claims[wording] = JudgedClaim(text.strip(), verdict, decided_by)
    return tuple(claims.values())


def _read_sentences(answer: str, starts: list[int], guard: Guard | None) -> list[_GraphFinding]:
    """Returns the graph's verdict on each sentence.

    The guard reads the answer as a whole, so that it can resolve "it" and the like.
    """
    findings = [_GraphFinding() for _ in starts]
    if guard is None or not starts:
        return findings
    for event in guard.iter_events([answer]):
        index = bisect_right(starts, event.start) - 1
        if index < 0:
            continue
        previous = findings[index]
        findings[index] = _GraphFinding(
            previous.contradicted or event.kind == "contradicted",
            previous.licensed or event.kind == "licensed",
            previous.undecided or event.kind in ("unknown", "ambiguous", "unread"),
        )
    return findings
