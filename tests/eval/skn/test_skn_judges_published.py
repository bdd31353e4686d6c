"""Tests the judges of the published benchmark: prompts, inputs and strict parsing of replies."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from servers import behaviours
from servers.behaviours import FAULTS, Behaviour, ChatRequest
from servers.scripted_server import ScriptedServer

from eval.model.calls import CallLog, record_calls
from eval.model.client import ClientOptions
from eval.skn.judges.published_judges import PublishedJudges
from eval.skn.judges.record import JUDGES, Verdicts
from kg.base.errors import ModelAccessError

GOOD_REPLIES = {
    "accuracy": {"correct": True},
    "hallucination": {
        "hallucination_detected": True,
        "hallucination_severity": 0.5,
        "total_claims": 8,
        "fabricated_claims": ["claim1", "claim2"],
    },
    "groundedness": {"groundedness_score": 0.8, "unsupported_fraction": 0.2},
}
FIRST_WORDS = {
    "accuracy": "You are an evaluation judge.",
    "hallucination": "You are a hallucination detector.",
    "groundedness": "You are a groundedness evaluator.",
}


def identify_judge(request: ChatRequest) -> str:
    system = request.body["messages"][0]["content"]
    return next(name for name, words in FIRST_WORDS.items() if system.startswith(words))


def make_behaviour(replies: dict[str, Any]) -> Behaviour:
    all_replies = {**GOOD_REPLIES, **replies}

    def build_reply(request: ChatRequest) -> str:
        reply = all_replies[identify_judge(request)]
        return reply if isinstance(reply, str) else json.dumps(reply)

    return behaviours.normal_reply(build_reply)


@pytest.fixture
def options(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ClientOptions:
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    scripted_server.behave(make_behaviour({}))
    return ClientOptions(
        model="custom/scripted-1", backoff_s=0.005, max_retries=1, timeout_s=10.0, jitter_seed=1
    )


def judge_answer(
    options: ClientOptions, truth: str | None = "The limit."
) -> tuple[Verdicts, CallLog]:
    async def run_client() -> tuple[Verdicts, CallLog]:
        judges = PublishedJudges.open(options)
        try:
            with record_calls() as log:
                verdicts = await judges.judge_answer(
                    question="Why does it end?",
                    answer="The memory.",
                    ground_truth=truth,
                    sources="It says so.",
                    seed_key="s1",
                )
            return verdicts, log
        finally:
            await judges.aclose()

    return asyncio.run(run_client())


def test_published_prompts_show_no_question(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    verdicts, log = judge_answer(options)
    assert verdicts.correct is True
    counts = verdicts.hallucination
    assert (counts.total_claims, counts.fabricated, counts.severity) == (8, 2, 0.5)
    assert counts.detected is True
    assert (verdicts.groundedness, verdicts.unsupported_fraction) == (0.8, 0.2)
    assert verdicts.planned_votes == 1
    assert verdicts.failed == ()
    assert verdicts.usage == log.sum_usage()
    source_prompt = "ORIGINAL SOURCE TEXT:\nIt says so.\n\nANSWER TO EVALUATE:\nThe memory."
    assert {
        identify_judge(r): r.body["messages"][1]["content"] for r in scripted_server.requests
    } == {
        "accuracy": "Ground truth: The limit.\n\nPrediction: The memory.",
        "hallucination": source_prompt,
        "groundedness": source_prompt,
    }
    for request in scripted_server.requests:
        assert request.response_format == "json_object"
        assert request.body["max_tokens"] == 4096
        assert request.body["temperature"] == 0
        assert "Why does it end?" not in request.prompt
        assert request.body["messages"][0]["content"].count("Respond with ONLY this JSON") == 1


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("accuracy", '{"correct": "false"}'),
        ("accuracy", "{}"),
        ("accuracy", '[{"correct": true}]'),
        ("hallucination", {**GOOD_REPLIES["hallucination"], "total_claims": None}),
        ("hallucination", {**GOOD_REPLIES["hallucination"], "total_claims": "eight"}),
        ("hallucination", {**GOOD_REPLIES["hallucination"], "total_claims": 1}),
        ("hallucination", {**GOOD_REPLIES["hallucination"], "hallucination_severity": 1.5}),
        (
            "hallucination",
            {**GOOD_REPLIES["hallucination"], "hallucination_severity": float("nan")},
        ),
        ("hallucination", {**GOOD_REPLIES["hallucination"], "fabricated_claims": "claim1"}),
        ("hallucination", {**GOOD_REPLIES["hallucination"], "hallucination_detected": "no"}),
        ("groundedness", {"groundedness_score": 8, "unsupported_fraction": 0.2}),
        ("groundedness", {"groundedness_score": 0.8}),
        ("groundedness", "0.8"),
    ],
)
def test_loosely_typed_verdict_fails_and_names_the_judge(
    options: ClientOptions, scripted_server: ScriptedServer, name: str, reply: object
) -> None:
    scripted_server.behave(make_behaviour({name: reply}))
    verdicts, log = judge_answer(options)
    assert verdicts.failures == {name: 1}
    assert verdicts.failed == (name,)
    # As published, there is no repair turn.
    assert log.calls == 3
    assert (verdicts.correct is None) == (name == "accuracy")
    assert (verdicts.hallucination.total_claims is None) == (name == "hallucination")
    assert (verdicts.groundedness is None) == (name == "groundedness")


@pytest.mark.parametrize("fault", ["500", "refusal", "null text", "cut off", "prose", "401"])
def test_failures_keep_their_kind(
    options: ClientOptions, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    if fault == "401":
        with pytest.raises(ModelAccessError):
            judge_answer(options)
        return
    verdicts, _ = judge_answer(options)
    assert verdicts.failed == JUDGES
    kinds = {"500": {"call"}, "refusal": {"refused"}}
    assert {problem.kind for problem in verdicts.problems} == kinds.get(fault, {"unreadable"})


def test_accuracy_is_not_judged_without_ground_truth(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    verdicts, _ = judge_answer(options, truth=None)
    assert verdicts.correct is None
    assert verdicts.failed == ()
    assert len(scripted_server.requests) == 2


def test_published_judges_can_judge_anchors(options: ClientOptions) -> None:
    async def run_client() -> Verdicts:
        judges = PublishedJudges.open(options)
        verdicts = await judges.judge_correctness(
            question="?", answer="The limit.", ground_truth="The limit.", seed_key="s"
        )
        assert judges.params()["repeats"] == 1
        await judges.aclose()
        return verdicts

    verdicts = asyncio.run(run_client())
    assert (verdicts.correct, verdicts.correct_votes, verdicts.failed) == (True, (True,), ())
