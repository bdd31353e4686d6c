"""Verifies the claims of an answer against graph, catalogue and source pages.

The sources that a prediction itself gives (``sources_verified``) are never used as evidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from eval.synthlink.corrected.evidence import EvidencePiece, SourcePages, collect_pieces
from eval.synthlink.corrected.prose import is_prose, least, signs
from eval.synthlink.corrected.steps import is_in_order, numbers_agree
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import (
    ContentWords,
    asked_words,
    asks,
    bare_words,
    build_content_words,
    common,
    names,
    sentences,
    to_the_letter,
)
from eval.synthlink.items import Question
from eval.synthlink.metrics import ClaimVerdict, DecidedBy, JudgedClaim
from kg.words.normaliser import normalise_phrase

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
    answer: str,
    question: Question,
    guard: Guard | None,
    thresholds: Thresholds,
    pages: SourcePages | None = None,
) -> tuple[JudgedClaim, ...]:
    """Splits an answer into claims, and judges each as licensed, contradicted or unknown.

    A claim is a sentence with at least one word that is not in the question. Sentences that are
    questions themselves are no claims, and sentences with the same set of words are one claim.

    First the graph judges: the stream guard reads clauses from the sentence and asks the licence
    oracle about each. The claim is contradicted if a clause is contradicted, and licensed if all
    clauses are licensed.

    If the graph leaves the claim open, its words are compared with the evidence: the step facts,
    the expected answers and the source pages. A piece of evidence matches a claim if it contains
    enough of the claim's words, in order, including one that is not a keyword.

    * A matching fact or expected answer licenses the claim if numbers and negation agree. If they
      do not agree, a fact contradicts the claim.
    * A matching sentence of a page licenses the claim if negation agrees, and if the sentence and
      the page's title together have all names and numbers of the claim. Pages never contradict.

    All other claims are unknown, whether true or not.

    Args:
        answer: the answer.
        question: the question; its facts and expected answers are evidence.
        guard: stream guard of the catalogue's graph; None for none.
        thresholds: settings of the corrected scores.
        pages: source pages used as evidence; None for none.

    Returns:
        Claims in the order of the answer; empty if it claims nothing.
    """
    evidence = _Evidence(
        collect_pieces(question, pages),
        asked_words(question.question),
        bare_words(question),
        thresholds,
    )
    subject_words = evidence.question_words.union(
        *(piece.content.words for piece in evidence.pieces if piece.kind == "facts")
    )
    reference_sentences = to_the_letter(question)
    claims: list[JudgedClaim] = []
    answer_signs, thresholds_for_prose = signs(answer), least(question, thresholds)
    judged_keys: set[frozenset[str]] = set()
    answer_sentences = sentences(answer)
    graph_findings = _read_sentences(answer, [start for start, _ in answer_sentences], guard)
    for (_, text), graph_finding in zip(answer_sentences, graph_findings, strict=True):
        claim = build_content_words(text)
        key = frozenset(claim.words)
        if key <= evidence.question_words or key in judged_keys or asks(text):
            continue
        judged_keys.add(key)
        verdict: ClaimVerdict = "unknown"
        decided_by: DecidedBy = "nothing"
        # The graph decides only claims that share a word with question or facts: true statements
        # about an unrelated subject must not count.
        if key & subject_words and graph_finding.contradicted:
            verdict, decided_by = "contradicted", "graph"
        elif key & subject_words and graph_finding.licensed and not graph_finding.undecided:
            verdict, decided_by = "licensed", "graph"
        elif normalise_phrase(text) in reference_sentences or is_prose(
            text, answer_signs, thresholds_for_prose
        ):
            # A text that is not prose may be a list of keywords, which claims nothing. The check is
            # not needed for verbatim evidence, nor for texts that the graph decides, because the
            # guard can read only sentences.
            verdict, decided_by = _judge_by_words(
                claim, names(text) - evidence.question_words, evidence
            )
        claims.append(JudgedClaim(text.strip(), verdict, decided_by))
    return tuple(claims)


class _Evidence(NamedTuple):
    """The evidence that claims are compared with, and words that need special treatment."""

    pieces: Sequence[EvidencePiece]
    question_words: frozenset[str]
    """Content words of the question."""
    keywords: frozenset[str]
    """Words that do not state a fact by themselves."""
    thresholds: Thresholds


def _judge_by_words(
    claim: ContentWords, claim_names: frozenset[str], evidence: _Evidence
) -> tuple[ClaimVerdict, DecidedBy]:
    """Judges a claim by its words: licensed by any piece, else contradicted by a single fact."""
    claim_words = [word for word in claim.words if word not in evidence.question_words]
    contradicted = False
    for piece in evidence.pieces:
        content = piece.content
        # Words of the question are left out on both sides, since they occur in every fact.
        piece_words = [word for word in content.words if word not in evidence.question_words]
        if common(claim_words, piece_words) < max(
            1.0, evidence.thresholds.coverage * len(claim_words)
        ):
            continue
        # Common keywords only show that both are about the same subject.
        if evidence.keywords.issuperset(
            {*claim_words} & {*piece_words}
        ) and not evidence.keywords.issuperset(piece_words):
            continue
        if not is_in_order(claim.words, content.words, evidence.thresholds):
            continue
        if piece.kind == "pages":
            if claim.negated == content.negated and claim_names <= piece.title_words.union(
                content.words
            ):
                return "licensed", "pages"
            continue
        # In a piece with several statements, a negation may belong to another statement.
        same_negation = claim.negated == content.negated or (
            not piece.is_single_fact and not claim.negated
        )
        if same_negation and numbers_agree(claim, content):
            return "licensed", "facts"
        contradicted = contradicted or piece.is_single_fact
    return ("contradicted", "facts") if contradicted else ("unknown", "nothing")


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
