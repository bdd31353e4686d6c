"""Judges without a model: word overlap, the same every time, and declared as just that.

They serve runs offline. Whether an answer is right is told by how many of the right answer's words
it holds; whether a claim is made up, by the best sentence of the sources. Meaning beyond words is
out of reach: a paraphrase is wrong to them, and a sentence with the right words in the wrong
places is right. Their figures compare what formats keep, under one blind rule for all; they are no
measure of truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum

from eval.reader import is_negated
from eval.skn.abstaining import abstained
from eval.skn.judges.record import GroundednessVote, HallucinationVote, Verdicts
from eval.skn.judges.showing import neutral
from eval.skn.judges.voting import groundedness_of, hallucination_of
from eval.skn.rules.statements import statements, subject_matter

RIGHT_FROM = 0.5
"""Share of the right answer's words that an answer must hold."""
SUPPORTED_FROM = 0.6
"""Share of a claim's words that one sentence of the sources must hold."""


class RuleJudges:
    """Deterministic judges that go by words."""

    def params(self) -> dict[str, object]:
        """What they are."""
        return {
            "by": "rules",
            "accuracy": "lexical overlap with the ground truth",
            "right_from": RIGHT_FROM,
            "hallucination, groundedness": "support of each sentence by one of the sources",
            "supported_from": SUPPORTED_FROM,
            "repeats": 1,
        }

    async def judge(
        self,
        *,
        question: str,
        answer: str,
        ground_truth: str | None,
        sources: str,
        seed_key: str,  # noqa: ARG002 - nothing is drawn
    ) -> Verdicts:
        """Judges one answer; see ``Judges``."""
        correct = None if ground_truth is None else is_right(question, answer, ground_truth)
        counts, grounds = supported_claims(question, answer, sources)
        groundedness, unsupported, _ = groundedness_of([grounds], 1)
        return Verdicts(
            correct=correct,
            correct_votes=() if correct is None else (correct,),
            hallucination=hallucination_of([counts], 1),
            groundedness=groundedness,
            unsupported_fraction=unsupported,
            groundedness_votes=(grounds,),
        )

    async def correctness(
        self,
        *,
        question: str,
        answer: str,
        ground_truth: str,
        seed_key: str,  # noqa: ARG002 - nothing is drawn
    ) -> Verdicts:
        """Judges only whether the answer is right; see ``Judges``."""
        correct = is_right(question, answer, ground_truth)
        return Verdicts(correct=correct, correct_votes=(correct,))


def is_right(question: str, answer: str, ground_truth: str) -> bool:
    """Whether an answer holds at least ``RIGHT_FROM`` of the right answer's words.

    Each content word counts once; negations are none. Words of the question count nothing, since
    every answer may repeat them, unless the right answer has no others.
    """
    wanted = _told(ground_truth, question) or subject_matter(ground_truth)
    held = wanted & subject_matter(neutral(answer))
    return bool(wanted) and len(held) >= RIGHT_FROM * len(wanted)


def supported_claims(
    question: str, answer: str, sources: str
) -> tuple[HallucinationVote, GroundednessVote]:
    """The claims of an answer held against the sources, sentence by sentence.

    A claim is a sentence that tells something beyond the question's words and does not merely
    decline to answer. A sentence of the sources supports it by the share of its words that it
    holds, and not at all if one of the two is negated and the other is not, or if a number of the
    claim is missing. Severity is the share of claims without support.
    """
    claims = [
        (claim, told)
        for claim in statements(neutral(answer))
        if (told := _told(claim, question)) and not abstained(claim)
    ]
    if not claims:
        return HallucinationVote(0, (), 0.0, False), GroundednessVote(None, None)
    known = [(subject_matter(sentence), is_negated(sentence)) for sentence in statements(sources)]
    support = [_support(told, is_negated(claim), known) for claim, told in claims]
    made_up = tuple(
        claim for (claim, _), held in zip(claims, support, strict=True) if held < SUPPORTED_FROM
    )
    share = len(made_up) / len(claims)
    return (
        HallucinationVote(len(claims), made_up, share, bool(made_up)),
        GroundednessVote(fsum(support) / len(support), share),
    )


def _told(text: str, question: str) -> frozenset[str]:
    """The content words of a text that are not the question's, negations left out."""
    return subject_matter(text) - subject_matter(question)


def _support(
    told: frozenset[str], negated: bool, known: Iterable[tuple[frozenset[str], bool]]
) -> float:
    """Share of a claim's words that the best sentence holds, 0 to 1."""
    numbers = {word for word in told if word[0].isdigit()}
    return max(
        (
            len(told & words) / len(told)
            for words, denies in known
            if denies == negated and numbers <= words
        ),
        default=0.0,
    )
