"""Tests that the failures in replies and votes of SKN name no file of this machine."""

from __future__ import annotations

import asyncio
from typing import Any

from eval.skn.judging.judge import SknJudge
from eval.skn.judging.judge_set import JudgeSet
from eval.skn.systems.pipeline_system import PipelineSystem
from eval.skn.systems.view import SknView
from kg.base.errors import RecordError

PLACE = "/srv/someone/cache.jsonl:3"


async def fail(*_args: object, **_kwargs: object) -> Any:
    raise RecordError("the cache is damaged", where=PLACE)


def test_the_problem_of_a_reply_has_no_place() -> None:
    class Broken:
        extract = answer_question = staticmethod(fail)

    broken: Any = Broken()
    reply = asyncio.run(PipelineSystem("own", broken, broken).answer(SknView("Why?", "A text.")))
    assert reply.status == "error"
    assert reply.problem == "RecordError: the cache is damaged"


def test_the_problem_of_an_anchor_has_no_place(monkeypatch: Any) -> None:
    monkeypatch.setattr("eval.skn.judging.judge.judge_anchors", fail)
    nobody: Any = None
    judge = SknJudge(JudgeSet(judges=nobody), [], {}, published=False, has_anchors=True, seed=1)
    sample: Any = type("OneSample", (), {"id": "q1", "question": "Why?", "ground_truth": "So."})
    vote = asyncio.run(judge.judge_anchor(sample))
    assert vote.failed
    assert vote.problem == "RecordError: the cache is damaged"
