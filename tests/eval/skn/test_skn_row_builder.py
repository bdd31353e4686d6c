"""Tests that rows follow from sample, reply and vote, whatever a foreign system or judge says."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from eval.harness.reply import Reply, Vote
from eval.skn.items import Sample
from eval.skn.judges.record import Verdicts
from eval.skn.judging.judge import SknJudge
from eval.skn.judging.judge_set import JudgeSet
from eval.skn.row import SknRow
from eval.skn.row_builder import COUNTED, build_row, get_row_key
from eval.skn.search_source import Source
from eval.skn.systems.view import read_answer
from kg.base.errors import ModelAccessError, RecordError

SAMPLE = Sample(id="q1", question="Why does it stall?", ground_truth="A lock is kept.")


def journal(reply: Reply) -> Reply:
    """Returns a reply as it is read back from the journal."""
    return msgspec.json.decode(msgspec.json.encode(reply), type=Reply)


def make_row(returned: object, vote: Vote | None = None, *, published: bool = False) -> SknRow:
    reply = msgspec.structs.replace(read_answer(returned), id="q1", system="mine")
    return build_row(SAMPLE, journal(reply), vote, published=published)


@pytest.mark.parametrize(
    ("returned", "outcome", "sign", "confidence"),
    [
        ("A lock is kept.", "ANSWERED", "", None),
        ("I do not know.", "ABSTAINED", "text", None),
        ({"answer": "A lock.", "confidence": 1}, "ANSWERED", "", 1.0),
        ({"answer": "A lock.", "confidence": 7.0}, "ANSWERED", "", None),
        ({"answer": "A lock.", "confidence": float("nan")}, "ANSWERED", "", None),
        ({"answer": "A lock.", "abstained": True, "colour": "red"}, "ABSTAINED", "field", None),
        ({"answer": "I do not know.", "abstained": False}, "ANSWERED", "", None),
        ({"answer": "", "abstained": True}, "ABSTAINED", "field", None),
    ],
)
def test_answers_of_foreign_systems_are_read(
    returned: object, outcome: str, sign: str, confidence: float | None
) -> None:
    row = make_row(returned)
    assert (row.outcome, row.abstained_by, row.error) == (outcome, sign, None)
    assert row.response is not None
    assert row.response.confidence == confidence
    assert (row.extraction, row.retention, row.verdicts) == (None, None, None)


@pytest.mark.parametrize(
    "returned",
    [None, 3, "", "  ", "\ud800", [], {"answer": ["a"]}, {"confidence": 1.0}, {1: 2}, object()],
)
def test_unreadable_answers_are_invalid(returned: object) -> None:
    row = make_row(returned)
    assert (row.outcome, row.stage, row.abstained_by) == ("INVALID", "agent", "")
    assert row.response is not None
    assert row.response.problem
    assert get_row_key(row).outcome == COUNTED.index("INVALID")


@pytest.mark.parametrize(
    "fields",
    [
        {"value": "a text"},
        {"value": {"answer": 3}},
        {"value": None},
        {"value": None, "parts": {"extraction": 3, "retention": [], "search_s": "long"}},
        {"value": None, "stage": "lunch"},
    ],
)
def test_replies_of_another_form_are_invalid(fields: dict[str, Any]) -> None:
    row = build_row(SAMPLE, Reply(id="q1", system="mine", **fields), None, published=False)
    assert (row.outcome, row.stage) == ("INVALID", "")
    assert (row.response, row.extraction, row.retention, row.search_s) == (None, None, None, None)


def test_published_phrases_alone_abstain_in_the_published_mode() -> None:
    answer = {"answer": "Insufficient information.", "abstained": False}
    assert make_row(answer, published=True).abstained_by == "text"
    assert make_row(answer).outcome == "ANSWERED"
    assert make_row({"answer": "A lock.", "abstained": True}, published=True).outcome == "ANSWERED"


def test_outcomes_are_counted_with_missing_votes() -> None:
    def count_name(vote: Vote | None) -> str:
        return COUNTED[get_row_key(make_row("A lock is kept.", vote)).outcome]

    def make_vote(**fields: Any) -> Vote:
        return Vote(verdict=msgspec.to_builtins(Verdicts(correct=True, **fields)))

    assert count_name(None) == "unjudged", "the judges were not asked yet"
    assert count_name(make_vote()) == "ANSWERED"
    call = {"judge": "accuracy", "vote": 0, "kind": "call", "problem": "gone"}
    lost = {**call, "kind": "unreadable"}
    assert count_name(msgspec.convert({"verdict": {"problems": [call]}}, Vote)) == "unjudged"
    assert count_name(msgspec.convert({"verdict": {"problems": [lost]}}, Vote)) == "ANSWERED"
    failed = make_row("A lock is kept.", Vote(failed=True, problem="ValueError: odd"))
    assert (failed.outcome, failed.stage, failed.error) == ("ERROR", "judging", "ValueError: odd")
    with pytest.raises(RecordError, match="no readable verdict"):
        make_row("A lock is kept.", Vote(verdict={"correct": "yes"}))


class FaultyJudges:
    """Judges that raise an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def params(self) -> dict[str, object]:
        return {}

    async def judge_answer(self, **_: Any) -> Verdicts:
        raise self.error

    async def judge_correctness(self, **_: Any) -> Verdicts:
        raise self.error


def judge(error: Exception, *, anchor: bool) -> Vote:
    task = SknJudge(
        JudgeSet(judges=FaultyJudges(error)),
        [SAMPLE],
        {"q1": Source(id="q1", question=SAMPLE.question)},
        published=False,
        has_anchors=True,
        seed=1,
    )
    reply = journal(read_answer("A lock is kept."))
    assert task.needs_vote(SAMPLE, reply)
    assert not task.needs_vote(SAMPLE, journal(read_answer("")))
    assert task.has_anchor(SAMPLE)
    assert not task.has_anchor(msgspec.structs.replace(SAMPLE, answerable=False))
    return asyncio.run(task.judge_anchor(SAMPLE) if anchor else task.judge_reply(SAMPLE, reply))


@pytest.mark.parametrize("anchor", [False, True])
def test_an_error_of_a_judge_is_a_failed_vote(*, anchor: bool) -> None:
    vote = judge(ValueError("odd"), anchor=anchor)
    assert (vote.failed, vote.verdict, vote.problem) == (True, None, "ValueError: odd")
    with pytest.raises(ModelAccessError):
        judge(ModelAccessError("the key has expired"), anchor=anchor)
