"""Models as judges, on a server with faulty and contradictory replies and on a real one."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from servers import behaviours
from servers.behaviours import FAULTS, Behaviour, ChatRequest
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer, fail_first_attempts

from eval.judges.panel import MAX_REPEATS
from eval.llm import ClientOptions
from eval.model.calls import CallLog, record_calls
from eval.skn.judges.agreement import measure_agreement
from eval.skn.judges.judge_view import MAX_SOURCES_LENGTH
from eval.skn.judges.model_judges import ModelJudges
from eval.skn.judges.record import JUDGES, Judges, Verdicts
from kg.base.errors import ModelAccessError, SettingError

QUESTION = "Why does the pod end with code 137?"
TRUTH = "It exceeded its memory limit, and the kernel killed it."
SOURCES = "[Result 1]\nTitle: A\nContent: 137 is SIGKILL.\n\n[Result 2]\nTitle: B\nContent: Memory."
GOOD = {
    "accuracy": {"correct": True},
    "hallucination": {"total_claims": 4, "fabricated_claims": ["one"], "severity": 0.25},
    "groundedness": {"makes_claims": True, "groundedness": 0.75, "unsupported_fraction": 0.25},
}
SIGNS = {
    "judge whether": "accuracy",
    "look for claims": "hallucination",
    "how well": "groundedness",
}


def judge_of(request: ChatRequest) -> str:
    """Returns the judge that a request asks."""
    system = request.body["messages"][0]["content"]
    return next(
        name
        for sign, name in SIGNS.items()
        if system.startswith(f"You judge {sign}") or sign in system.split(".")[0]
    )


def reply_with(replies: dict[str, Any] | None = None) -> Behaviour:
    """Replies with good verdicts, except for ``replies`` (texts, or values written as JSON)."""
    told = {**GOOD, **(replies or {})}

    def build_reply(request: ChatRequest) -> str:
        reply = told[judge_of(request)]
        if callable(reply):
            reply = reply(request)
        return reply if isinstance(reply, str) else json.dumps(reply)

    return behaviours.normal_reply(build_reply)


def reply_by_seed(replies: dict[int, Any]) -> Callable[[ChatRequest], Any]:
    """Chooses the reply by the seed of the request, that is, by vote."""
    return lambda request: replies[request.body["seed"] - 100]


@pytest.fixture
def options(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ClientOptions:
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    scripted_server.behave(reply_with())
    return ClientOptions(
        model="custom/unused", backoff_s=0.005, max_retries=1, timeout_s=10.0, jitter_seed=1
    )


def in_time(options: ClientOptions, fault: str) -> ClientOptions:
    """Waits briefly for what never comes; a reply that does come may be late on a busy machine."""
    if fault in ("hang", "slow drip"):
        return msgspec.structs.replace(options, timeout_s=0.3)
    return options


def judge_answer(
    options: ClientOptions,
    answer: str = "The memory limit was exceeded.",
    *,
    models: tuple[str, ...] = ("custom/scripted-1",),
    repeats: int = 2,
    truth: str | None = TRUTH,
    key: str = "s1",
    sources: str = SOURCES,
) -> tuple[Verdicts, CallLog]:
    """Returns the verdicts on an answer, and the call log."""

    async def run_client() -> tuple[Verdicts, CallLog]:
        judges = ModelJudges.open(options, models, repeats=repeats, seed=100)
        try:
            with record_calls() as log:
                found = await judges.judge_answer(
                    question=QUESTION,
                    answer=answer,
                    ground_truth=truth,
                    sources=sources,
                    seed_key=key,
                )
            return found, log
        finally:
            await judges.aclose()

    return asyncio.run(run_client())


def test_two_votes_on_three_questions(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    found, log = judge_answer(options)
    assert found.correct is True
    assert found.correct_votes == (True, True)
    assert found.planned_votes == 2
    assert (found.hallucination.total_claims, found.hallucination.fabricated) == (4, 1)
    assert found.hallucination.fabricated_claims == ("one",)
    assert found.hallucination.severity == 0.25
    assert found.hallucination.detected is True
    assert (found.groundedness, found.unsupported_fraction) == (0.75, 0.25)
    assert (found.failures, found.failed, found.problems) == ({}, (), ())
    asked = Counter(judge_of(request) for request in scripted_server.requests)
    assert asked == dict.fromkeys(JUDGES, 2)
    # The calls of the judges are in the verdicts and in the call log of the row.
    assert found.usage == log.sum_usage()
    assert log.calls == 6
    assert found.latency_s == pytest.approx(log.latency_s, abs=1e-5)
    # A row is written as JSON and read again.
    assert msgspec.json.decode(msgspec.json.encode(found), type=Verdicts) == found


def test_repeats_differ_in_order_and_seed(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    judge_answer(options)
    bodies = [request.body for request in scripted_server.requests]
    assert all(QUESTION in body["messages"][1]["content"] for body in bodies)
    assert all(body["response_format"]["type"] == "json_schema" for body in bodies)
    assert all(body["temperature"] == 0 for body in bodies)
    assert Counter(body["seed"] for body in bodies) == {100: 3, 101: 3}
    assert len({str(body["messages"]) for body in bodies}) == 6
    shown = [b["messages"][1]["content"] for b in bodies if "<reference>" in str(b["messages"][1])]
    assert len(shown) == 2
    # Only the accuracy judge sees the ground truth.
    assert sum("killed" in body["messages"][1]["content"] for body in bodies) == 2


def test_equal_answers_of_two_formats_get_equal_prompts(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    sent = []
    for answer in (
        "See notes: the limit.",
        "See @facts: the limit.",
        "[SKN] See @gaps: the limit.",
    ):
        scripted_server.clear_log()
        judge_answer(options, answer)
        sent.append(sorted(json.dumps(request.body) for request in scripted_server.requests))
    assert sent[0] == sent[1] == sent[2]
    handed = set(inspect.signature(Judges.judge_answer).parameters)
    assert handed == {"self", "question", "answer", "ground_truth", "sources", "seed_key"}


def test_third_vote_decides_a_tie(options: ClientOptions, scripted_server: ScriptedServer) -> None:
    for third in (True, False):
        votes = reply_by_seed({0: {"correct": True}, 1: {"correct": False}, 2: {"correct": third}})
        scripted_server.clear_log()
        scripted_server.behave(reply_with({"accuracy": votes}))
        found, _ = judge_answer(options)
        assert found.correct is third
        assert found.correct_votes == (True, False, third)
        assert found.planned_votes == 2
        prompts = [str(r.body["messages"]) for r in scripted_server.requests]
        assert len(set(prompts)) == 7


def test_unreadable_third_vote_decides_nothing(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    votes = reply_by_seed({0: {"correct": True}, 1: {"correct": False}, 2: {"correct": "false"}})
    scripted_server.behave(reply_with({"accuracy": votes}))
    found, _ = judge_answer(options)
    assert found.correct is None
    assert found.correct_votes == (True, False, None)
    assert found.failures == {"accuracy": 1}
    assert found.failed == ("accuracy",)


def test_failed_vote_is_counted_and_the_other_decides(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    votes = reply_by_seed({0: {"correct": False}, 1: "wrong, I think"})
    scripted_server.behave(reply_with({"accuracy": votes}))
    found, _ = judge_answer(options)
    assert found.correct is False
    assert found.correct_votes == (False, None)
    assert found.failures == {"accuracy": 1}
    assert found.failed == ()
    assert [(p.judge, p.vote, p.kind) for p in found.problems] == [("accuracy", 1, "unreadable")]
    assert found.problems[0].model == "custom/scripted-1"


def test_counts_are_medians_of_votes(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    def count_claims(total: int, *claims: str, severity: float) -> dict[str, Any]:
        return {"total_claims": total, "fabricated_claims": claims, "severity": severity}

    votes = {
        0: count_claims(3, severity=0),
        1: count_claims(6, "a", "b", severity=0.5),
        2: count_claims(4, "a", severity=0.25),
    }
    scripted_server.behave(reply_with({"hallucination": reply_by_seed(votes)}))
    three = judge_answer(options, repeats=3)[0].hallucination
    assert (three.total_claims, three.fabricated, three.severity) == (4, 1, 0.25)
    assert (three.fabricated_claims, three.detected) == (("a",), True)
    both = {
        0: count_claims(3, "a", severity=0.25),
        1: count_claims(6, "a", "b", "c", severity=0.75),
    }
    scripted_server.behave(reply_with({"hallucination": reply_by_seed(both)}))
    two = judge_answer(options, repeats=2)[0].hallucination
    assert (two.total_claims, two.fabricated, two.severity) == (4.5, 2, 0.5)
    assert (two.detected, len(two.votes)) == (True, 2)


def test_third_vote_decides_on_hallucination(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    nothing = {"total_claims": 3, "fabricated_claims": [], "severity": 0}
    something = {"total_claims": 5, "fabricated_claims": ["a", "b"], "severity": 0.5}
    for third, fabricated in ((nothing, 0), (something, 2)):
        scripted_server.clear_log()
        votes = reply_by_seed({0: something, 1: nothing, 2: third})
        scripted_server.behave(reply_with({"hallucination": votes}))
        found, _ = judge_answer(options)
        assert found.hallucination.detected is (third is something)
        assert found.hallucination.fabricated == fabricated
        assert len(found.hallucination.votes) == 3
        assert len(scripted_server.requests) == 7
        # A deciding vote exists only for ties, so agreement uses the two planned votes.
        said = measure_agreement([found]).hallucination
        assert (said.n, said.agreed) == (1, 0.0)
    scripted_server.behave(
        reply_with({"hallucination": reply_by_seed({0: something, 1: nothing, 2: "neither"})})
    )
    found, _ = judge_answer(options)
    assert (found.hallucination.detected, found.hallucination.fabricated) == (None, 1)
    assert found.failures == {"hallucination": 1}


UNREADABLE = {
    "accuracy": ('{"correct": "false"}', '[{"correct": true}]', "Correct.", '{"correct": null}'),
    "hallucination": (
        '{"total_claims": null, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": "eight", "fabricated_claims": [], "severity": 0}',
        '{"total_claims": 1, "fabricated_claims": ["a", "b"], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": 1.5}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": NaN}',
    ),
    "groundedness": (
        '{"makes_claims": true, "groundedness": null, "unsupported_fraction": 0}',
        '{"makes_claims": true, "groundedness": 80, "unsupported_fraction": 0}',
        '[{"makes_claims": true, "groundedness": 1, "unsupported_fraction": 0}]',
    ),
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in UNREADABLE.items() for text in texts]
)
def test_unreadable_verdict_is_null_and_affects_no_other(
    options: ClientOptions, scripted_server: ScriptedServer, name: str, text: str
) -> None:
    scripted_server.behave(reply_with({name: text}))
    found, _ = judge_answer(options)
    assert found.failures == {name: 2}
    assert found.failed == (name,)
    assert {problem.kind for problem in found.problems} == {"unreadable"}
    assert all(problem.problem for problem in found.problems)
    assert (found.correct is None) == (name == "accuracy")
    assert (found.hallucination.total_claims is None) == (name == "hallucination")
    assert (found.hallucination.severity is None) == (name == "hallucination")
    assert (found.groundedness is None) == (name == "groundedness")
    assert (found.unsupported_fraction is None) == (name == "groundedness")


def test_contradiction_is_returned_to_the_judge_for_repair(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    def build_reply(request: ChatRequest) -> Any:
        is_repair = len(request.body["messages"]) > 2
        return {**GOOD["hallucination"], "total_claims": 4 if is_repair else 0}

    scripted_server.behave(reply_with({"hallucination": build_reply}))
    found, log = judge_answer(options)
    assert found.failures == {}
    assert found.hallucination.total_claims == 4
    assert log.repairs == 2
    turns = [r.body["messages"] for r in scripted_server.requests if len(r.body["messages"]) > 2]
    assert all("1 fabricated claims of 0 claims" in turn[-1]["content"] for turn in turns)


NO_MODEL = {"401", "404", "429 for good"}
"""Faults that concern every call."""


@pytest.mark.parametrize("fault", FAULTS)
def test_server_fault_is_never_a_verdict(
    options: ClientOptions, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    if fault in NO_MODEL:
        with pytest.raises(ModelAccessError):
            judge_answer(options)
        return
    found, _ = judge_answer(in_time(options, fault))
    assert found.failures == dict.fromkeys(JUDGES, 2)
    assert found.failed == JUDGES
    assert found.correct is None
    assert found.correct_votes == (None, None)
    assert found.hallucination.votes == (None, None)
    assert found.hallucination.total_claims is None
    assert found.groundedness is None
    kinds = {problem.kind for problem in found.problems}
    assert len(found.problems) == 6
    if fault in ("refusal", "content filter"):
        assert kinds == {"refused"}
    assert "too long" not in kinds


@pytest.mark.parametrize("fault", ["503", "reset", "hang", "truncated", "invalid JSON"])
def test_transient_fault_costs_a_retry_and_no_vote(
    options: ClientOptions, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave_with(fail_first_attempts(1, FAULTS[fault](), reply_with()))
    # Only what hangs shall be cut off, not the calls after it.
    patient = msgspec.structs.replace(options, timeout_s=2.0)
    found, log = judge_answer(patient if fault == "hang" else options)
    assert found.failures == {}
    assert found.correct is True
    assert log.retries == 6


def test_several_models_vote_and_one_decides(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    def build_reply(request: ChatRequest) -> Any:
        further = request.body["seed"] == 101
        return {"correct": further or request.body["model"] == "one"}

    scripted_server.behave(reply_with({"accuracy": build_reply}))
    models = ("custom/one", "custom/two")
    deciding = set()
    for number in range(12):
        scripted_server.clear_log()
        found, _ = judge_answer(options, models=models, repeats=1, key=f"s{number}")
        assert found.correct_votes == (True, False, True)
        assert found.correct is True
        assert found.planned_votes == 2
        deciding |= {r.body["model"] for r in scripted_server.requests if r.body["seed"] == 101}
    assert deciding == {"one", "two"}
    votes = {"one": {"correct": True}, "two": {"correct": False}}
    scripted_server.behave(reply_with({"accuracy": lambda request: votes[request.body["model"]]}))
    found, log = judge_answer(options, models=models, repeats=2)
    # Two votes on each of three questions, and one deciding vote.
    assert log.calls == 13
    assert len(found.correct_votes) == 5


def test_accuracy_is_not_judged_without_ground_truth(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    found, _ = judge_answer(options, truth=None)
    assert found.correct is None
    assert found.correct_votes == ()
    assert found.failed == ()
    assert found.groundedness == 0.75
    assert {judge_of(r) for r in scripted_server.requests} == {"hallucination", "groundedness"}


@pytest.mark.parametrize("answer", ["", " \n", "\x00", "[SKN] [/SKN]"])
def test_empty_answer_is_judged_without_a_model(
    options: ClientOptions, scripted_server: ScriptedServer, answer: str
) -> None:
    found, _ = judge_answer(options, answer)
    assert not scripted_server.requests
    assert found.correct is False
    assert found.hallucination.total_claims == 0
    assert found.groundedness is None
    assert found.failed == ()
    assert judge_answer(options, answer, truth=None)[0].correct is None


def test_too_long_texts_are_not_judged(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    found, _ = judge_answer(options, sources="x" * (MAX_SOURCES_LENGTH + 1))
    assert not scripted_server.requests
    assert found.failures == dict.fromkeys(JUDGES, 2)
    assert found.failed == JUDGES
    assert {problem.kind for problem in found.problems} == {"too long"}


def test_equal_answers_are_judged_once_with_a_cache(
    options: ClientOptions, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    cached = msgspec.structs.replace(options, cache=tmp_path / "replies.sqlite")
    one, other = judge_answer(cached)[0], judge_answer(cached)[0]
    assert one == other
    assert len(scripted_server.requests) == 6


def test_params_name_the_settings_without_secrets(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    async def run_client() -> dict[str, Any]:
        judges = ModelJudges.open(options, ["custom/scripted-1"], repeats=3, seed=9)
        told: Any = judges.params()
        await judges.aclose()
        return told

    told = asyncio.run(run_client())
    assert (told["by"], told["repeats"], told["planned_votes"], told["seed"]) == ("models", 3, 3, 9)
    assert told["models"][0]["model"] == "custom/scripted-1"
    assert len({prompt["sha256"] for prompt in told["prompts"]}) == 3
    assert scripted_server.api_key not in json.dumps(told)


def test_invalid_settings_are_refused(options: ClientOptions) -> None:
    with pytest.raises(SettingError, match="no judge is named"):
        ModelJudges([])
    for repeats in (0, -1, MAX_REPEATS + 1):
        with pytest.raises(SettingError, match="can vote 1 to"):
            judge_answer(options, repeats=repeats)


def test_real_server_that_follows_schemas(
    llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    real = ClientOptions(concurrency=8, backoff_s=0.01, max_retries=1)
    found = [judge_answer(real, models=(f"custom/{llama_server.model}",))[0] for _ in range(2)]
    # The verdicts are random, but valid and reproducible.
    assert set(found[0].correct_votes) <= {True, False}
    assert found[0].correct is not None
    assert found[0].correct_votes == found[1].correct_votes
    for verdict in found:
        counts = verdict.hallucination
        assert ("hallucination" in verdict.failed) == (counts.total_claims is None)
        assert sum(verdict.failures.values()) == len(verdict.problems)
        assert verdict.usage is not None
        assert verdict.usage.prompt_tokens > 100
