"""Judges answers without a model, by deterministic word overlap; used by offline runs.

An answer is right if it contains enough of the right answer's words. A claim is made up if no
sentence of the sources contains enough of its words. These judges do not understand meaning: a
paraphrase is judged wrong, and a sentence with the right words in the wrong places is judged
right. Their numbers do not measure truth; they compare what the formats keep, by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum

from eval.questions.lexical_answerer import is_negated
from eval.replies.abstention import is_abstention
from eval.skn.judges.judge_view import remove_notation_names
from eval.skn.judges.record import GroundednessVote, HallucinationVote, Verdicts
from eval.skn.judges.votes import combine_groundedness, combine_hallucination
from eval.skn.rules.statements import extract_subject_words, split_statements

MIN_CORRECT_OVERLAP = 0.5
"""Share of the right answer's words that an answer must have."""
MIN_SUPPORT = 0.6
"""Share of a claim's words that one sentence of the sources must have."""


class RuleJudges:
    """Deterministic judges that compare words."""

    def params(self) -> dict[str, object]:
        """Returns the rules and their thresholds, for the manifest."""
        return {
            "by": "rules",
            "accuracy": "lexical overlap with the ground truth",
            "right_from": MIN_CORRECT_OVERLAP,
            "hallucination, groundedness": "support of each sentence by one of the sources",
            "supported_from": MIN_SUPPORT,
            "repeats": 1,
        }

    async def judge_answer(
        self,
        *,
        question: str,
        answer: str,
        ground_truth: str | None,
        sources: str,
        seed_key: str,  # noqa: ARG002 - no randomness
    ) -> Verdicts:
        """Judges one answer; see ``Judges``."""
        correct = None if ground_truth is None else is_correct(question, answer, ground_truth)
        hallucination_vote, groundedness_vote = judge_claims(question, answer, sources)
        groundedness, unsupported, _ = combine_groundedness([groundedness_vote], 1)
        return Verdicts(
            correct=correct,
            correct_votes=() if correct is None else (correct,),
            hallucination=combine_hallucination([hallucination_vote], 1),
            groundedness=groundedness,
            unsupported_fraction=unsupported,
            groundedness_votes=(groundedness_vote,),
        )

    async def judge_correctness(
        self,
        *,
        question: str,
        answer: str,
        ground_truth: str,
        seed_key: str,  # noqa: ARG002 - no randomness
    ) -> Verdicts:
        """Judges only whether the answer is right; see ``Judges``."""
        correct = is_correct(question, answer, ground_truth)
        return Verdicts(correct=correct, correct_votes=(correct,))


def is_correct(question: str, answer: str, ground_truth: str) -> bool:
    """Returns whether an answer has at least ``MIN_CORRECT_OVERLAP`` of the right answer's words.

    Each content word counts once; negations do not count. Words of the question do not count
    either, since any answer may repeat them, unless the right answer has no other words.
    """
    required_words = _new_content_words(ground_truth, question) or extract_subject_words(
        ground_truth
    )
    shared = required_words & extract_subject_words(remove_notation_names(answer))
    return bool(required_words) and len(shared) >= MIN_CORRECT_OVERLAP * len(required_words)


def judge_claims(
    question: str, answer: str, sources: str
) -> tuple[HallucinationVote, GroundednessVote]:
    """Checks the claims of an answer against the sources, sentence by sentence.

    A claim is a sentence that is not an abstention and has content words that the question does not
    have. The support of a claim is the largest share of its words that one sentence of the sources
    contains. A sentence gives no support if only one of the two is negated, or if it lacks a number
    of the claim. Severity is the share of unsupported claims.
    """
    claims = [
        (claim, claim_words)
        for claim in split_statements(remove_notation_names(answer))
        if (claim_words := _new_content_words(claim, question)) and not is_abstention(claim)
    ]
    if not claims:
        return HallucinationVote(0, (), 0.0, False), GroundednessVote(None, None)
    source_sentences = [
        (extract_subject_words(sentence), is_negated(sentence))
        for sentence in split_statements(sources)
    ]
    support = [
        _compute_support(words, is_negated(claim), source_sentences) for claim, words in claims
    ]
    unsupported_claims = tuple(
        claim for (claim, _), share in zip(claims, support, strict=True) if share < MIN_SUPPORT
    )
    unsupported_share = len(unsupported_claims) / len(claims)
    return (
        HallucinationVote(
            len(claims), unsupported_claims, unsupported_share, bool(unsupported_claims)
        ),
        GroundednessVote(fsum(support) / len(support), unsupported_share),
    )


def _new_content_words(text: str, question: str) -> frozenset[str]:
    """Returns the content words of a text that are not in the question, without negations."""
    return extract_subject_words(text) - extract_subject_words(question)


def _compute_support(
    claim_words: frozenset[str],
    is_claim_negated: bool,
    source_sentences: Iterable[tuple[frozenset[str], bool]],
) -> float:
    """Returns the share of a claim's words that the best sentence contains, 0 to 1."""
    numbers = {word for word in claim_words if word[0].isdigit()}
    return max(
        (
            len(claim_words & words) / len(claim_words)
            for words, is_sentence_negated in source_sentences
            if is_sentence_negated == is_claim_negated and numbers <= words
        ),
        default=0.0,
    )
