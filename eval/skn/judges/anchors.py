"""Measures the errors of judges on anchors, which are answers known to be right or wrong.

For each sample the accuracy judge also rates the right answer itself, which must be judged
correct, and the right answer to another sample, which must be judged wrong. Both are judged in the
same way as every other answer. Anchors are easy: a judge that fails them is unusable, while one
that passes may still err on answers that are nearly right.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from eval.judges.anchors import iter_ring
from eval.skn.judges.record import Failure, Judges
from kg.words.normaliser import normalise_phrase


class AnchorRow(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdicts on one sample's anchors.

    Attributes:
        id: id of the sample.
        right, wrong: the verdict on the right answer, and on another sample's answer; null if no
            verdict was reached, or there was no other answer.
        right_votes, wrong_votes: the planned votes, without deciding votes.
        asked_wrong: whether another sample's answer was judged too.
        wrong_answer: that answer, so that a second judge can be shown the same one.
        problems: the failed votes, with their reasons.
    """

    id: str
    right: bool | None
    wrong: bool | None
    right_votes: tuple[bool | None, ...]
    wrong_votes: tuple[bool | None, ...]
    asked_wrong: bool = True
    wrong_answer: str | None = None
    problems: tuple[Failure, ...] = ()


def assign_wrong_answers(truths: Mapping[str, str], seed: int) -> dict[str, str]:
    """Assigns to each sample another sample's right answer, to be judged as a wrong answer.

    Each sample gets the answer of the next sample in a ring (``iter_ring``) whose answer differs
    in words.

    Args:
        truths: right answers by sample id, of the answerable samples only.
        seed: seed of the random order.

    Returns:
        The wrong answer by sample id; a sample is left out if all samples have the same answer.
    """
    words = {name: normalise_phrase(truth) for name, truth in truths.items()}
    wrong_answers: dict[str, str] = {}
    for name, others in iter_ring(truths, str(seed)):
        other = next((other for other in others if words[other] != words[name]), None)
        if other is not None:
            wrong_answers[name] = truths[other]
    return wrong_answers


async def judge_anchors(
    judges: Judges,
    *,
    id: str,
    question: str,
    ground_truth: str,
    wrong_answer: str | None,
    seed_key: str,
) -> AnchorRow:
    """Has the judges rate the anchors of one sample.

    Args:
        judges: the judges to measure.
        id: id of the sample.
        question: question of the sample.
        ground_truth: right answer of the sample.
        wrong_answer: another sample's right answer (``assign_wrong_answers``); None if there is
            none.
        seed_key: same as in ``Judges.judge_answer``.

    Raises:
        ModelAccessError: every call would fail.
    """
    right = await judges.judge_correctness(
        question=question, answer=ground_truth, ground_truth=ground_truth, seed_key=seed_key
    )
    row = AnchorRow(
        id=id,
        right=right.correct,
        wrong=None,
        right_votes=right.correct_votes[: right.planned_votes],
        wrong_votes=(),
        asked_wrong=False,
        problems=right.problems,
    )
    if wrong_answer is None:
        return row
    wrong = await judges.judge_correctness(
        question=question, answer=wrong_answer, ground_truth=ground_truth, seed_key=seed_key
    )
    return msgspec.structs.replace(
        row,
        wrong=wrong.correct,
        wrong_votes=wrong.correct_votes[: wrong.planned_votes],
        asked_wrong=True,
        wrong_answer=wrong_answer,
        problems=(*right.problems, *wrong.problems),
    )
