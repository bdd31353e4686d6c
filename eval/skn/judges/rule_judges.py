"""Judges without a model, by deterministic word overlap; used by offline runs.

An answer is right if it contains enough of the right answer's words; a claim is made up if no
sentence of the sources contains enough of its words. The judges do not understand meaning: a
paraphrase is judged wrong, and a sentence with the right words in the wrong places is judged
right. Their numbers compare what formats keep, under the same rule for all; they do not measure
truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum

from eval.reader import is_negated
from eval.skn.abstention import is_abstention
from eval.skn.judges.judge_view import remove_notation_names
from eval.skn.judges.record import GroundednessVote, HallucinationVote, Verdicts
from eval.skn.judges.votes import combine_groundedness, combine_hallucination
from eval.skn.rules.statements import split_statements, subject_words

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
        counts, grounds = judge_claims(question, answer, sources)
        groundedness, unsupported, _ = combine_groundedness([grounds], 1)
        return Verdicts(
            correct=correct,
            correct_votes=() if correct is None else (correct,),
            hallucination=combine_hallucination([counts], 1),
            groundedness=groundedness,
            unsupported_fraction=unsupported,
            groundedness_votes=(grounds,),
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
    required_words = _new_content_words(ground_truth, question) or subject_words(ground_truth)
    shared = required_words & subject_words(remove_notation_names(answer))
    return bool(required_words) and len(shared) >= MIN_CORRECT_OVERLAP * len(required_words)


def judge_claims(
    question: str, answer: str, sources: str
) -> tuple[HallucinationVote, GroundednessVote]:
    """Checks the claims of an answer against the sources, sentence by sentence.

    A claim is a sentence that has content words besides those of the question and is not an
    abstention. A sentence of the sources supports it by the share of the claim's words that it
    contains. There is no support if only one of the two is negated, or if a number of the claim is
    missing. Severity is the share of unsupported claims.
    """
    claims = [
        (claim, claim_words)
        for claim in split_statements(remove_notation_names(answer))
        if (claim_words := _new_content_words(claim, question)) and not is_abstention(claim)
    ]
    if not claims:
        return HallucinationVote(0, (), 0.0, False), GroundednessVote(None, None)
    known = [
        (subject_words(sentence), is_negated(sentence)) for sentence in split_statements(sources)
    ]
    support = [_compute_support(its_words, is_negated(claim), known) for claim, its_words in claims]
    made_up = tuple(
        claim for (claim, _), share in zip(claims, support, strict=True) if share < MIN_SUPPORT
    )
    share = len(made_up) / len(claims)
    return (
        HallucinationVote(len(claims), made_up, share, bool(made_up)),
        GroundednessVote(fsum(support) / len(support), share),
    )


def _new_content_words(text: str, question: str) -> frozenset[str]:
    """Returns the content words of a text that are not in the question, without negations."""
    return subject_words(text) - subject_words(question)


def _compute_support(
    claim_words: frozenset[str], negated: bool, known: Iterable[tuple[frozenset[str], bool]]
) -> float:
    """Returns the share of a claim's words that the best sentence contains, 0 to 1."""
    numbers = {word for word in claim_words if word[0].isdigit()}
    return max(
        (
            len(claim_words & words) / len(claim_words)
            for words, denies in known
            if denies == negated and numbers <= words
        ),
        default=0.0,
    )
