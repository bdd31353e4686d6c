"""Tests models as judges, with faulty and contradictory replies and with a real server."""

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
from eval.model.calls import CallLog, record_calls
from eval.model.client import ClientOptions
from eval.skn.judges.agreement import measure_agreement
from eval.skn.judges.judge_view import MAX_SOURCES_LENGTH
from eval.skn.judges.model_judges import ModelJudges
from eval.skn.judges.record import JUDGES, Judges, Verdicts
from kg.base.errors import ModelAccessError, SettingError

QUESTION = "Why does the pod end with code 137?"
TRUTH = "It exceeded its memory limit, and the kernel killed it."
SOURCES = "[Result 1]\nTitle: A\nContent: 137 is SIGKILL.\n\n[Result 2]\nTitle: B\nContent: Memory."
GOOD_REPLIES = {
    "accuracy": {"correct": True},
    "hallucination": {"total_claims": 4, "fabricated_claims": ["one"], "severity": 0.25},
    "groundedness": {"makes_claims": True, "groundedness": 0.75, "unsupported_fraction": 0.25},
}
JUDGE_PHRASES = {
    "judge whether": "accuracy",
    "look for claims": "hallucination",
    "how well": "groundedness",
}
"""Phrases of the system prompts, by which the judge of a request is recognised."""


def identify_judge(request: ChatRequest) -> str:
    """Returns the name of the judge to which a request belongs."""
    system = request.body["messages"][0]["content"]
    return next(
        name
        for phrase, name in JUDGE_PHRASES.items()
        if system.startswith(f"You judge {phrase}") or phrase in system.split(".")[0]
    )


def make_behaviour(replies: dict[str, Any] | None = None) -> Behaviour:
    """Returns a server behaviour that replies with good verdicts, except for ``replies``.

    Args:
        replies: by judge, a text, a value that is sent as JSON, or a function of the request that
            returns one of these.
    """
    all_replies = {**GOOD_REPLIES, **(replies or {})}

    def build_reply(request: ChatRequest) -> str:
        reply = all_replies[identify_judge(request)]
        if callable(reply):
            reply = reply(request)
        return reply if isinstance(reply, str) else json.dumps(reply)

    return behaviours.normal_reply(build_reply)


def choose_reply_by_seed(replies: dict[int, Any]) -> Callable[[ChatRequest], Any]:
    """Returns a function that chooses the reply by vote; the seed of vote n is 100 + n."""
    return lambda request: replies[request.body["seed"] - 100]


@pytest.fixture
def options(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ClientOptions:
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    scripted_server.behave(make_behaviour())
    return ClientOptions(
        model="custom/unused", backoff_s=0.005, max_retries=1, timeout_s=10.0, jitter_seed=1
    )


def shorten_timeout(options: ClientOptions, fault: str) -> ClientOptions:
    """Shortens the timeout for faults that never reply; a busy machine may delay other replies."""
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
    seed_key: str = "s1",
    sources: str = SOURCES,
) -> tuple[Verdicts, CallLog]:
    """Returns the verdicts on an answer, and the call log."""

    async def run_client() -> tuple[Verdicts, CallLog]:
        judges = ModelJudges.open(options, models, repeats=repeats, seed=100)
        try:
            with record_calls() as log:
                verdicts = await judges.judge_answer(
                    question=QUESTION,
                    answer=answer,
                    ground_truth=truth,
                    sources=sources,
                    seed_key=seed_key,
                )
            return verdicts, log
        finally:
            await judges.aclose()

    return asyncio.run(run_client())


def test_each_of_three_judges_votes_twice(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    verdicts, log = judge_answer(options)
    assert verdicts.correct is True
    assert verdicts.correct_votes == (True, True)
    assert verdicts.planned_votes == 2
    assert (verdicts.hallucination.total_claims, verdicts.hallucination.fabricated) == (4, 1)
    assert verdicts.hallucination.fabricated_claims == ("one",)
    assert verdicts.hallucination.severity == 0.25
    assert verdicts.hallucination.detected is True
    assert (verdicts.groundedness, verdicts.unsupported_fraction) == (0.75, 0.25)
    assert (verdicts.failures, verdicts.failed, verdicts.problems) == ({}, (), ())
    request_counts = Counter(identify_judge(request) for request in scripted_server.requests)
    assert request_counts == dict.fromkeys(JUDGES, 2)
    # The calls of the judges are in the verdicts and in the call log of the row.
    assert verdicts.usage == log.sum_usage()
    assert log.calls == 6
    assert verdicts.latency_s == pytest.approx(log.latency_s, abs=1e-5)
    # A row is written as JSON and read again.
    assert msgspec.json.decode(msgspec.json.encode(verdicts), type=Verdicts) == verdicts


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
    accuracy_prompts = [
        b["messages"][1]["content"] for b in bodies if "<reference>" in str(b["messages"][1])
    ]
    assert len(accuracy_prompts) == 2
    # Only the accuracy judge sees the ground truth.
    assert sum("killed" in body["messages"][1]["content"] for body in bodies) == 2


def test_equal_answers_of_two_formats_get_equal_prompts(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    request_bodies = []
    for answer in (
        "See notes: the limit.",
        "See @facts: the limit.",
        "[SKN] See @gaps: the limit.",
    ):
        scripted_server.clear_log()
        judge_answer(options, answer)
        request_bodies.append(
            sorted(json.dumps(request.body) for request in scripted_server.requests)
        )
    assert request_bodies[0] == request_bodies[1] == request_bodies[2]
    parameters = set(inspect.signature(Judges.judge_answer).parameters)
    assert parameters == {"self", "question", "answer", "ground_truth", "sources", "seed_key"}


def test_third_vote_decides_a_tie(options: ClientOptions, scripted_server: ScriptedServer) -> None:
    for third_vote in (True, False):
        votes = choose_reply_by_seed(
            {0: {"correct": True}, 1: {"correct": False}, 2: {"correct": third_vote}}
        )
        scripted_server.clear_log()
        scripted_server.behave(make_behaviour({"accuracy": votes}))
        verdicts, _ = judge_answer(options)
        assert verdicts.correct is third_vote
        assert verdicts.correct_votes == (True, False, third_vote)
        assert verdicts.planned_votes == 2
        prompts = [str(r.body["messages"]) for r in scripted_server.requests]
        assert len(set(prompts)) == 7


def test_unreadable_third_vote_decides_nothing(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    votes = choose_reply_by_seed(
        {0: {"correct": True}, 1: {"correct": False}, 2: {"correct": "false"}}
    )
    scripted_server.behave(make_behaviour({"accuracy": votes}))
    verdicts, _ = judge_answer(options)
    assert verdicts.correct is None
    assert verdicts.correct_votes == (True, False, None)
    assert verdicts.failures == {"accuracy": 1}
    assert verdicts.failed == ("accuracy",)


def test_failed_vote_is_counted_and_the_other_decides(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    votes = choose_reply_by_seed({0: {"correct": False}, 1: "wrong, I think"})
    scripted_server.behave(make_behaviour({"accuracy": votes}))
    verdicts, _ = judge_answer(options)
    assert verdicts.correct is False
    assert verdicts.correct_votes == (False, None)
    assert verdicts.failures == {"accuracy": 1}
    assert verdicts.failed == ()
    assert [(p.judge, p.vote, p.kind) for p in verdicts.problems] == [("accuracy", 1, "unreadable")]
    assert verdicts.problems[0].model == "custom/scripted-1"


def test_counts_are_medians_of_votes(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    def make_reply(total: int, *claims: str, severity: float) -> dict[str, Any]:
        return {"total_claims": total, "fabricated_claims": claims, "severity": severity}

    three_votes = {
        0: make_reply(3, severity=0),
        1: make_reply(6, "a", "b", severity=0.5),
        2: make_reply(4, "a", severity=0.25),
    }
    scripted_server.behave(make_behaviour({"hallucination": choose_reply_by_seed(three_votes)}))
    median_of_three = judge_answer(options, repeats=3)[0].hallucination
    assert (median_of_three.total_claims, median_of_three.fabricated, median_of_three.severity) == (
        4,
        1,
        0.25,
    )
    assert (median_of_three.fabricated_claims, median_of_three.detected) == (("a",), True)
    two_votes = {
        0: make_reply(3, "a", severity=0.25),
        1: make_reply(6, "a", "b", "c", severity=0.75),
    }
    scripted_server.behave(make_behaviour({"hallucination": choose_reply_by_seed(two_votes)}))
    median_of_two = judge_answer(options, repeats=2)[0].hallucination
    assert (median_of_two.total_claims, median_of_two.fabricated, median_of_two.severity) == (
        4.5,
        2,
        0.5,
    )
    assert (median_of_two.detected, len(median_of_two.votes)) == (True, 2)


def test_third_vote_decides_on_hallucination(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    faithful = {"total_claims": 3, "fabricated_claims": [], "severity": 0}
    fabricating = {"total_claims": 5, "fabricated_claims": ["a", "b"], "severity": 0.5}
    for third_vote, fabricated in ((faithful, 0), (fabricating, 2)):
        scripted_server.clear_log()
        votes = choose_reply_by_seed({0: fabricating, 1: faithful, 2: third_vote})
        scripted_server.behave(make_behaviour({"hallucination": votes}))
        verdicts, _ = judge_answer(options)
        assert verdicts.hallucination.detected is (third_vote is fabricating)
        assert verdicts.hallucination.fabricated == fabricated
        assert len(verdicts.hallucination.votes) == 3
        assert len(scripted_server.requests) == 7
        # A deciding vote exists only for ties, so agreement uses the two planned votes.
        agreement = measure_agreement([verdicts]).hallucination
        assert (agreement.n, agreement.agreed) == (1, 0.0)
    scripted_server.behave(
        make_behaviour(
            {"hallucination": choose_reply_by_seed({0: fabricating, 1: faithful, 2: "neither"})}
        )
    )
    verdicts, _ = judge_answer(options)
    assert (verdicts.hallucination.detected, verdicts.hallucination.fabricated) == (None, 1)
    assert verdicts.failures == {"hallucination": 1}


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
    scripted_server.behave(make_behaviour({name: text}))
    verdicts, _ = judge_answer(options)
    assert verdicts.failures == {name: 2}
    assert verdicts.failed == (name,)
    assert {problem.kind for problem in verdicts.problems} == {"unreadable"}
    assert all(problem.problem for problem in verdicts.problems)
    assert (verdicts.correct is None) == (name == "accuracy")
    assert (verdicts.hallucination.total_claims is None) == (name == "hallucination")
    assert (verdicts.hallucination.severity is None) == (name == "hallucination")
    assert (verdicts.groundedness is None) == (name == "groundedness")
    assert (verdicts.unsupported_fraction is None) == (name == "groundedness")


def test_contradiction_is_returned_to_the_judge_for_repair(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    def build_reply(request: ChatRequest) -> Any:
        is_repair = len(request.body["messages"]) > 2
        return {**GOOD_REPLIES["hallucination"], "total_claims": 4 if is_repair else 0}

    scripted_server.behave(make_behaviour({"hallucination": build_reply}))
    verdicts, log = judge_answer(options)
    assert verdicts.failures == {}
    assert verdicts.hallucination.total_claims == 4
    assert log.repairs == 2
    turns = [r.body["messages"] for r in scripted_server.requests if len(r.body["messages"]) > 2]
    assert all("1 fabricated claims of 0 claims" in turn[-1]["content"] for turn in turns)


FATAL_FAULTS = {"401", "404", "429 for good"}
"""Faults after which no call can succeed, so that the run ends."""


@pytest.mark.parametrize("fault", FAULTS)
def test_server_fault_is_never_a_verdict(
    options: ClientOptions, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    if fault in FATAL_FAULTS:
        with pytest.raises(ModelAccessError):
            judge_answer(options)
        return
    verdicts, _ = judge_answer(shorten_timeout(options, fault))
    assert verdicts.failures == dict.fromkeys(JUDGES, 2)
    assert verdicts.failed == JUDGES
    assert verdicts.correct is None
    assert verdicts.correct_votes == (None, None)
    assert verdicts.hallucination.votes == (None, None)
    assert verdicts.hallucination.total_claims is None
    assert verdicts.groundedness is None
    kinds = {problem.kind for problem in verdicts.problems}
    assert len(verdicts.problems) == 6
    if fault in ("refusal", "content filter"):
        assert kinds == {"refused"}
    assert "too long" not in kinds


@pytest.mark.parametrize("fault", ["503", "reset", "hang", "truncated", "invalid JSON"])
def test_transient_fault_costs_a_retry_and_no_vote(
    options: ClientOptions, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave_with(fail_first_attempts(1, FAULTS[fault](), make_behaviour()))
    # The timeout must end the call that hangs, but not the calls after it.
    patient_options = msgspec.structs.replace(options, timeout_s=2.0)
    verdicts, log = judge_answer(patient_options if fault == "hang" else options)
    assert verdicts.failures == {}
    assert verdicts.correct is True
    assert log.retries == 6


def test_several_models_vote_and_one_decides(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    def build_reply(request: ChatRequest) -> Any:
        # With one repeat, the planned votes have seed 100 and the deciding vote has seed 101.
        is_deciding_vote = request.body["seed"] == 101
        return {"correct": is_deciding_vote or request.body["model"] == "one"}

    scripted_server.behave(make_behaviour({"accuracy": build_reply}))
    models = ("custom/one", "custom/two")
    deciding_models = set()
    for number in range(12):
        scripted_server.clear_log()
        verdicts, _ = judge_answer(options, models=models, repeats=1, seed_key=f"s{number}")
        assert verdicts.correct_votes == (True, False, True)
        assert verdicts.correct is True
        assert verdicts.planned_votes == 2
        deciding_models |= {
            r.body["model"] for r in scripted_server.requests if r.body["seed"] == 101
        }
    assert deciding_models == {"one", "two"}
    votes = {"one": {"correct": True}, "two": {"correct": False}}
    scripted_server.behave(
        make_behaviour({"accuracy": lambda request: votes[request.body["model"]]})
    )
    verdicts, log = judge_answer(options, models=models, repeats=2)
    # Each of three judges has two models with two repeats, and accuracy needs a deciding vote.
    assert log.calls == 13
    assert len(verdicts.correct_votes) == 5


def test_accuracy_is_not_judged_without_ground_truth(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    verdicts, _ = judge_answer(options, truth=None)
    assert verdicts.correct is None
    assert verdicts.correct_votes == ()
    assert verdicts.failed == ()
    assert verdicts.groundedness == 0.75
    assert {identify_judge(r) for r in scripted_server.requests} == {
        "hallucination",
        "groundedness",
    }


@pytest.mark.parametrize("answer", ["", " \n", "\x00", "[SKN] [/SKN]"])
def test_empty_answer_is_judged_without_a_model(
    options: ClientOptions, scripted_server: ScriptedServer, answer: str
) -> None:
    verdicts, _ = judge_answer(options, answer)
    assert not scripted_server.requests
    assert verdicts.correct is False
    assert verdicts.hallucination.total_claims == 0
    assert verdicts.groundedness is None
    assert verdicts.failed == ()
    assert judge_answer(options, answer, truth=None)[0].correct is None


def test_too_long_texts_are_not_judged(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    verdicts, _ = judge_answer(options, sources="x" * (MAX_SOURCES_LENGTH + 1))
    assert not scripted_server.requests
    assert verdicts.failures == dict.fromkeys(JUDGES, 2)
    assert verdicts.failed == JUDGES
    assert {problem.kind for problem in verdicts.problems} == {"too long"}


def test_equal_answers_are_judged_once_with_a_cache(
    options: ClientOptions, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    cached = msgspec.structs.replace(options, cache=tmp_path / "replies.sqlite")
    first_verdicts, second_verdicts = judge_answer(cached)[0], judge_answer(cached)[0]
    assert first_verdicts == second_verdicts
    assert len(scripted_server.requests) == 6


def test_params_name_the_settings_without_secrets(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    async def run_client() -> dict[str, Any]:
        judges = ModelJudges.open(options, ["custom/scripted-1"], repeats=3, seed=9)
        params: Any = judges.params()
        await judges.aclose()
        return params

    params = asyncio.run(run_client())
    assert (params["by"], params["repeats"], params["planned_votes"], params["seed"]) == (
        "models",
        3,
        3,
        9,
    )
    assert params["models"][0]["model"] == "custom/scripted-1"
    assert len({prompt["sha256"] for prompt in params["prompts"]}) == 3
    assert scripted_server.api_key not in json.dumps(params)


def test_invalid_settings_are_refused(options: ClientOptions) -> None:
    with pytest.raises(SettingError, match="no judge is named"):
        ModelJudges.open(options, [])
    for repeats in (0, -1, MAX_REPEATS + 1):
        with pytest.raises(SettingError, match="can vote 1 to"):
            judge_answer(options, repeats=repeats)


def test_real_server_gives_valid_reproducible_verdicts(
    llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    real_options = ClientOptions(concurrency=8, backoff_s=0.01, max_retries=1)
    verdicts = [
        judge_answer(real_options, models=(f"custom/{llama_server.model}",))[0] for _ in range(2)
    ]
    # The verdicts are random, but valid and reproducible.
    assert set(verdicts[0].correct_votes) <= {True, False}
    assert verdicts[0].correct is not None
    assert verdicts[0].correct_votes == verdicts[1].correct_votes
    for verdict in verdicts:
        counts = verdict.hallucination
        assert ("hallucination" in verdict.failed) == (counts.total_claims is None)
        assert sum(verdict.failures.values()) == len(verdict.problems)
        assert verdict.usage is not None
        assert verdict.usage.prompt_tokens > 100
