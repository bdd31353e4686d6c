"""Anchors: answers whose truth is known, put to the judge to see how well it judges.

For each sample the accuracy judge is also shown the right answer itself, which must be correct,
and the right answer to another sample, which must be wrong. Both go the same way as every other
answer. They are easy: a judge that fails them is no judge, while one that passes may still err on
answers that are nearly right.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from eval.judges.drawing import drawn_by
from eval.skn.judges.record import Failure, Judges
from kg.text.normaliser import normalise


class AnchorRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the judge said of one sample's anchors.

    Attributes:
        id: of the sample.
        right, wrong: the verdict on the right answer, and on another sample's; null where none
            came about, or there was no other answer.
        right_votes, wrong_votes: the planned votes, deciding ones left out.
        asked_wrong: whether there was another sample's answer to show.
        problems: votes that could not be had, with their reasons.
    """

    id: str
    right: bool | None
    wrong: bool | None
    right_votes: tuple[bool | None, ...]
    wrong_votes: tuple[bool | None, ...]
    asked_wrong: bool = True
    problems: tuple[Failure, ...] = ()


def other_truths(truths: Mapping[str, str], seed: int) -> dict[str, str]:
    """Another sample's right answer for each sample.

    All stand in one ring in an order drawn by ``seed``, and each gets the answer of the next one
    whose words differ: so every answer serves about once, and none is its own.

    Args:
        truths: right answers by sample id, of the answerable samples only.
        seed: draws the order.

    Returns:
        By sample id; without those whose answer is everybody's.
    """
    ring = sorted(truths)
    drawn_by(f"{seed}|anchors").shuffle(ring)
    said = [normalise(truths[name]) for name in ring]
    found: dict[str, str] = {}
    for place, name in enumerate(ring):
        for step in range(1, len(ring)):
            following = (place + step) % len(ring)
            if said[following] != said[place]:
                found[name] = truths[ring[following]]
                break
    return found


async def anchors(
    judges: Judges,
    *,
    id: str,
    question: str,
    ground_truth: str,
    other_truth: str | None,
    seed_key: str,
) -> AnchorRow:
    """Puts one sample's anchors to the judges.

    Args:
        judges: who judges.
        id: of the sample.
        question: what it asks.
        ground_truth: its right answer.
        other_truth: another sample's (``other_truths``); None if there is none.
        seed_key: as for ``Judges.judge``.

    Raises:
        ModelAccessError: every call would fail.
    """
    right = await judges.correctness(
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
    if other_truth is None:
        return row
    wrong = await judges.correctness(
        question=question, answer=other_truth, ground_truth=ground_truth, seed_key=seed_key
    )
    return msgspec.structs.replace(
        row,
        wrong=wrong.correct,
        wrong_votes=wrong.correct_votes[: wrong.planned_votes],
        asked_wrong=True,
        problems=(*right.problems, *wrong.problems),
    )
