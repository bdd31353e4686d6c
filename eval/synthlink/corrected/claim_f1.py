"""Computes the F1 of an answer from the verdicts on its claims and on the expected facts.

A word of the answer counts as right if its claim is supported, and a word of the expected facts if
the answer states the fact: who denies or reverses what is expected has all of its words, and an F1
of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from eval.synthlink.claims.splitter import split_claims
from eval.synthlink.claims.words import get_content, split_text
from eval.synthlink.metrics import JudgedClaim, JudgedStep
from eval.synthlink.sentences import list_expected_facts, normalise_wording
from kg.words.normaliser import extract_content_words

if TYPE_CHECKING:
    from eval.synthlink.claims.splitter import ClaimText
    from eval.synthlink.items import Question


class Share(NamedTuple):
    """A share of which parts may be unjudged."""

    value: float | None
    """Share among those with a verdict; null if none has one."""
    low: float
    """Share if everything unjudged were wrong."""
    high: float
    """Share if everything unjudged were right."""


_NOTHING: Final = Share(None, 0.0, 0.0)
_ALL: Final = Share(1.0, 1.0, 1.0)


def measure_share(
    verdicts: Sequence[str], right: str, weights: Sequence[float] | None = None
) -> Share:
    """Measures the share of a verdict among all verdicts.

    Args:
        verdicts: the verdicts; ``unjudged`` for none.
        right: the verdict that counts.
        weights: weight of each verdict; 1 each by default.
    """
    weights = weights or [1.0] * len(verdicts)
    total = sum(weights)
    if not total:
        return _NOTHING
    n_right, n_unjudged = (
        sum(weight for one, weight in zip(verdicts, weights, strict=True) if one == verdict)
        for verdict in (right, "unjudged")
    )
    value = n_right / (total - n_unjudged) if total > n_unjudged else None
    return Share(value, n_right / total, (n_right + n_unjudged) / total)


def compute_claim_f1(
    claims: Sequence[JudgedClaim], steps: Sequence[JudgedStep], question: Question
) -> Share:
    """Computes F1 = 2PR / (P + R) of an answer's claims against the expected facts.

    P is the share of supported claims, and R the share of stated facts, both by number of content
    words without those of the question. All facts are stated by an answer that quotes an expected
    answer completely. The value is null if it depends on what is unjudged: rules find more easily
    that a fact is missing than that it is stated, so F1 over what they decide would be too low.

    Args:
        claims: the claims of the answer.
        steps: what the answer says of each expected fact.
        question: the question.
    """
    question_words = frozenset(extract_content_words(question.question))

    def count_words(text: str) -> float:
        words = extract_content_words(text)
        return max(1, sum(word not in question_words for word in words))

    facts = list_expected_facts(question)
    precision = measure_share(
        [claim.verdict for claim in claims],
        "supported",
        [count_words(claim.text) for claim in claims],
    )
    recall = measure_share(
        [step.verdict for step in steps],
        "stated",
        [count_words(facts[step.number]) for step in steps],
    )
    if quotes_expected_answer(claims, question):
        recall = _ALL
    low = _compute_harmonic_mean(precision.low, recall.low)
    high = _compute_harmonic_mean(precision.high, recall.high)
    return Share(low if low == high else None, low, high)


def quotes_expected_answer(claims: Sequence[JudgedClaim], question: Question) -> bool:
    """Returns whether the supported claims of an answer are all claims of an expected answer."""
    said = {normalise_wording(claim.text) for claim in claims if claim.verdict == "supported"}
    for expected in (question.answer, *question.aliases):
        wordings = {normalise_wording(claim.text) for claim in split_claims(expected)}
        beyond = {wording for wording in wordings if not _repeats_question(wording, question)}
        if beyond and beyond <= said:
            return True
    return False


def is_expected_answer(answer: str, question: Question) -> bool:
    """Returns whether an answer is an expected answer except for case and punctuation."""
    expected = map(normalise_wording, (question.answer, *question.aliases))
    return normalise_wording(answer) in expected


def list_claims(answer: str, question: Question) -> list[ClaimText]:
    """Returns the different claims of an answer that say something beyond the question."""
    claims: dict[str, ClaimText] = {}
    for claim in split_claims(answer, _list_topic(question)):
        if not _repeats_question(claim.text, question):
            wording = normalise_wording(claim.text)
            # Of a claim that is repeated, the wording that retracts it counts.
            if wording not in claims or claim.is_retracted:
                claims[wording] = claim
    return list(claims.values())


def _list_topic(question: Question) -> frozenset[str]:
    """Lists the words that an answer to a question is expected to have."""
    texts = [question.question, question.answer, *question.aliases]
    texts += [step.fact for step in question.steps]
    words = get_content(word for text in texts for word in split_text(text))
    return frozenset(word.key for word in words)


def _repeats_question(text: str, question: Question) -> bool:
    words = extract_content_words(question.question)
    return frozenset(extract_content_words(text)) <= frozenset(words)


def _compute_harmonic_mean(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
