"""Models as judges: over a server that contradicts itself, lies and fails, and over a real one."""

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
from servers.behaviours import FAULTS, Asked, Behaviour
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer, first

from eval.judges.panel import MAX_REPEATS
from eval.llm import ClientOptions
from eval.model.calls import CallLog, recording
from eval.skn.judges.agreement import agreement
from eval.skn.judges.model_judges import ModelJudges
from eval.skn.judges.record import JUDGES, Judges, Verdicts
from eval.skn.judges.showing import MAX_SOURCES
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


def judge_of(asked: Asked) -> str:
    """Which judge a request asks."""
    system = asked.body["messages"][0]["content"]
    return next(
        name
        for sign, name in SIGNS.items()
        if system.startswith(f"You judge {sign}") or sign in system.split(".")[0]
    )


def say(replies: dict[str, Any] | None = None) -> Behaviour:
    """Good verdicts, but for these: a text, or a value that is written as JSON."""
    told = {**GOOD, **(replies or {})}

    def text(asked: Asked) -> str:
        reply = told[judge_of(asked)]
        if callable(reply):
            reply = reply(asked)
        return reply if isinstance(reply, str) else json.dumps(reply)

    return behaviours.reply(text)


def with_seeds(replies: dict[int, Any]) -> Callable[[Asked], Any]:
    """A reply by the seed a request bears, that is, by vote."""
    return lambda asked: replies[asked.body["seed"] - 100]


@pytest.fixture
def options(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ClientOptions:
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    scripted_server.behave(say())
    return ClientOptions(
        model="custom/unused", backoff_s=0.005, max_retries=1, timeout_s=10.0, jitter_seed=1
    )


def in_time(options: ClientOptions, fault: str) -> ClientOptions:
    """Waits briefly for what never comes; a reply that does come may be late on a busy machine."""
    if fault in ("hang", "slow drip"):
        return msgspec.structs.replace(options, timeout_s=0.3)
    return options


def judged(
    options: ClientOptions,
    answer: str = "The memory limit was exceeded.",
    *,
    models: tuple[str, ...] = ("custom/scripted-1",),
    repeats: int = 2,
    truth: str | None = TRUTH,
    key: str = "s1",
    sources: str = SOURCES,
) -> tuple[Verdicts, CallLog]:
    """The verdicts on an answer, and what the whole row cost."""

    async def run() -> tuple[Verdicts, CallLog]:
        judges = ModelJudges.open(options, models, repeats=repeats, seed=100)
        try:
            with recording() as log:
                found = await judges.judge(
                    question=QUESTION,
                    answer=answer,
                    ground_truth=truth,
                    sources=sources,
                    seed_key=key,
                )
            return found, log
        finally:
            await judges.aclose()

    return asyncio.run(run())


def test_two_votes_on_three_matters(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    found, log = judged(options)
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
    # What judging took is in the verdicts, and in the row's own log as well.
    assert found.usage == log.usage()
    assert log.calls == 6
    assert found.latency_s == pytest.approx(log.latency_s, abs=1e-5)
    # A row is written as JSON and read again.
    assert msgspec.json.decode(msgspec.json.encode(found), type=Verdicts) == found


def test_repeats_differ_in_order_and_seed_and_every_prompt_holds_the_question(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    judged(options)
    bodies = [request.body for request in scripted_server.requests]
    assert all(QUESTION in body["messages"][1]["content"] for body in bodies)
    assert all(body["response_format"]["type"] == "json_schema" for body in bodies)
    assert all(body["temperature"] == 0 for body in bodies)
    assert Counter(body["seed"] for body in bodies) == {100: 3, 101: 3}
    assert len({str(body["messages"]) for body in bodies}) == 6
    shown = [b["messages"][1]["content"] for b in bodies if "<reference>" in str(b["messages"][1])]
    assert len(shown) == 2
    # The truth is shown to whoever judges accuracy and to nobody else.
    assert sum("killed" in body["messages"][1]["content"] for body in bodies) == 2


def test_formats_with_the_same_answer_are_judged_by_the_same_bytes(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    sent = []
    for answer in (
        "See notes: the limit.",
        "See @facts: the limit.",
        "[SKN] See @gaps: the limit.",
    ):
        scripted_server.forget()
        judged(options, answer)
        sent.append(sorted(json.dumps(request.body) for request in scripted_server.requests))
    assert sent[0] == sent[1] == sent[2]
    handed = set(inspect.signature(Judges.judge).parameters)
    assert handed == {"self", "question", "answer", "ground_truth", "sources", "seed_key"}


def test_where_two_disagree_a_third_decides(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    for third in (True, False):
        votes = with_seeds({0: {"correct": True}, 1: {"correct": False}, 2: {"correct": third}})
        scripted_server.forget()
        scripted_server.behave(say({"accuracy": votes}))
        found, _ = judged(options)
        assert found.correct is third
        assert found.correct_votes == (True, False, third)
        assert found.planned_votes == 2
        prompts = [str(r.body["messages"]) for r in scripted_server.requests]
        assert len(set(prompts)) == 7


def test_a_third_that_cannot_be_read_decides_nothing(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    votes = with_seeds({0: {"correct": True}, 1: {"correct": False}, 2: {"correct": "false"}})
    scripted_server.behave(say({"accuracy": votes}))
    found, _ = judged(options)
    assert found.correct is None
    assert found.correct_votes == (True, False, None)
    assert found.failures == {"accuracy": 1}
    assert found.failed == ("accuracy",)


def test_a_vote_that_fails_is_counted_and_the_other_speaks(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    votes = with_seeds({0: {"correct": False}, 1: "wrong, I think"})
    scripted_server.behave(say({"accuracy": votes}))
    found, _ = judged(options)
    assert found.correct is False
    assert found.correct_votes == (False, None)
    assert found.failures == {"accuracy": 1}
    assert found.failed == ()
    assert [(p.judge, p.vote, p.kind) for p in found.problems] == [("accuracy", 1, "unreadable")]
    assert found.problems[0].model == "custom/scripted-1"


def test_numbers_are_medians(options: ClientOptions, scripted_server: ScriptedServer) -> None:
    def counts(total: int, *claims: str, severity: float) -> dict[str, Any]:
        return {"total_claims": total, "fabricated_claims": claims, "severity": severity}

    votes = {
        0: counts(3, severity=0),
        1: counts(6, "a", "b", severity=0.5),
        2: counts(4, "a", severity=0.25),
    }
    scripted_server.behave(say({"hallucination": with_seeds(votes)}))
    three = judged(options, repeats=3)[0].hallucination
    assert (three.total_claims, three.fabricated, three.severity) == (4, 1, 0.25)
    assert (three.fabricated_claims, three.detected) == (("a",), True)
    both = {0: counts(3, "a", severity=0.25), 1: counts(6, "a", "b", "c", severity=0.75)}
    scripted_server.behave(say({"hallucination": with_seeds(both)}))
    two = judged(options, repeats=2)[0].hallucination
    assert (two.total_claims, two.fabricated, two.severity) == (4.5, 2, 0.5)
    assert (two.detected, len(two.votes)) == (True, 2)


def test_where_two_disagree_on_what_is_made_up_a_third_decides(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    nothing = {"total_claims": 3, "fabricated_claims": [], "severity": 0}
    something = {"total_claims": 5, "fabricated_claims": ["a", "b"], "severity": 0.5}
    for third, fabricated in ((nothing, 0), (something, 2)):
        scripted_server.forget()
        votes = with_seeds({0: something, 1: nothing, 2: third})
        scripted_server.behave(say({"hallucination": votes}))
        found, _ = judged(options)
        assert found.hallucination.detected is (third is something)
        assert found.hallucination.fabricated == fabricated
        assert len(found.hallucination.votes) == 3
        assert len(scripted_server.requests) == 7
        # The deciding vote exists only where the others differ: agreement is of those two.
        said = agreement([found]).hallucination
        assert (said.n, said.agreed) == (1, 0.0)
    scripted_server.behave(
        say({"hallucination": with_seeds({0: something, 1: nothing, 2: "neither"})})
    )
    found, _ = judged(options)
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
def test_an_unreadable_verdict_scores_nothing_and_spoils_no_other(
    options: ClientOptions, scripted_server: ScriptedServer, name: str, text: str
) -> None:
    scripted_server.behave(say({name: text}))
    found, _ = judged(options)
    assert found.failures == {name: 2}
    assert found.failed == (name,)
    assert {problem.kind for problem in found.problems} == {"unreadable"}
    assert all(problem.problem for problem in found.problems)
    assert (found.correct is None) == (name == "accuracy")
    assert (found.hallucination.total_claims is None) == (name == "hallucination")
    assert (found.hallucination.severity is None) == (name == "hallucination")
    assert (found.groundedness is None) == (name == "groundedness")
    assert (found.unsupported_fraction is None) == (name == "groundedness")


def test_a_contradiction_is_told_to_the_judge_who_may_mend_it(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    def text(asked: Asked) -> Any:
        mended = len(asked.body["messages"]) > 2
        return {**GOOD["hallucination"], "total_claims": 4 if mended else 0}

    scripted_server.behave(say({"hallucination": text}))
    found, log = judged(options)
    assert found.failures == {}
    assert found.hallucination.total_claims == 4
    assert log.repairs == 2
    turns = [r.body["messages"] for r in scripted_server.requests if len(r.body["messages"]) > 2]
    assert all("1 fabricated claims of 0 claims" in turn[-1]["content"] for turn in turns)


NO_MODEL = {"401", "404", "429 for good"}
"""Faults that concern every call."""


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_is_taken_for_a_verdict(
    options: ClientOptions, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    if fault in NO_MODEL:
        with pytest.raises(ModelAccessError):
            judged(options)
        return
    found, _ = judged(in_time(options, fault))
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
def test_a_fault_that_passes_costs_a_retry_and_no_vote(
    options: ClientOptions, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave_by(first(1, FAULTS[fault](), say()))
    # Only what hangs shall be cut off, not the calls after it.
    patient = msgspec.structs.replace(options, timeout_s=2.0)
    found, log = judged(patient if fault == "hang" else options)
    assert found.failures == {}
    assert found.correct is True
    assert log.retries == 6


def test_several_models_vote_and_one_of_them_decides(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    def text(asked: Asked) -> Any:
        further = asked.body["seed"] == 101
        return {"correct": further or asked.body["model"] == "one"}

    scripted_server.behave(say({"accuracy": text}))
    models = ("custom/one", "custom/two")
    deciding = set()
    for number in range(12):
        scripted_server.forget()
        found, _ = judged(options, models=models, repeats=1, key=f"s{number}")
        assert found.correct_votes == (True, False, True)
        assert found.correct is True
        assert found.planned_votes == 2
        deciding |= {r.body["model"] for r in scripted_server.requests if r.body["seed"] == 101}
    assert deciding == {"one", "two"}
    votes = {"one": {"correct": True}, "two": {"correct": False}}
    scripted_server.behave(say({"accuracy": lambda asked: votes[asked.body["model"]]}))
    found, log = judged(options, models=models, repeats=2)
    # Two of each on three matters, and one that decides.
    assert log.calls == 13
    assert len(found.correct_votes) == 5


def test_accuracy_is_not_judged_where_there_is_no_truth(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    found, _ = judged(options, truth=None)
    assert found.correct is None
    assert found.correct_votes == ()
    assert found.failed == ()
    assert found.groundedness == 0.75
    assert {judge_of(r) for r in scripted_server.requests} == {"hallucination", "groundedness"}


@pytest.mark.parametrize("answer", ["", " \n", "\x00", "[SKN] [/SKN]"])
def test_no_model_is_asked_about_an_answer_without_text(
    options: ClientOptions, scripted_server: ScriptedServer, answer: str
) -> None:
    found, _ = judged(options, answer)
    assert not scripted_server.requests
    assert found.correct is False
    assert found.hallucination.total_claims == 0
    assert found.groundedness is None
    assert found.failed == ()
    assert judged(options, answer, truth=None)[0].correct is None


def test_texts_that_are_too_long_are_not_judged_by_half(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    found, _ = judged(options, sources="x" * (MAX_SOURCES + 1))
    assert not scripted_server.requests
    assert found.failures == dict.fromkeys(JUDGES, 2)
    assert found.failed == JUDGES
    assert {problem.kind for problem in found.problems} == {"too long"}


def test_equal_answers_are_judged_once_where_there_is_a_cache(
    options: ClientOptions, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    cached = msgspec.structs.replace(options, cache=tmp_path / "replies.sqlite")
    one, other = judged(cached)[0], judged(cached)[0]
    assert one == other
    assert len(scripted_server.requests) == 6


def test_what_decides_verdicts_is_told_without_secrets(
    options: ClientOptions, scripted_server: ScriptedServer
) -> None:
    async def run() -> dict[str, Any]:
        judges = ModelJudges.open(options, ["custom/scripted-1"], repeats=3, seed=9)
        told: Any = judges.params()
        await judges.aclose()
        return told

    told = asyncio.run(run())
    assert (told["by"], told["repeats"], told["planned_votes"], told["seed"]) == ("models", 3, 3, 9)
    assert told["models"][0]["model"] == "custom/scripted-1"
    assert len({prompt["sha256"] for prompt in told["prompts"]}) == 3
    assert scripted_server.api_key not in json.dumps(told)


def test_settings_that_make_no_sense_are_refused(options: ClientOptions) -> None:
    with pytest.raises(SettingError, match="no judge is named"):
        ModelJudges([])
    for repeats in (0, -1, MAX_REPEATS + 1):
        with pytest.raises(SettingError, match="votes from 1 to"):
            judged(options, repeats=repeats)


def test_a_real_server_that_follows_schemas(
    llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    real = ClientOptions(concurrency=8, backoff_s=0.01, max_retries=1)
    found = [judged(real, models=(f"custom/{llama_server.model}",))[0] for _ in range(2)]
    # Its verdicts are noise: each is a yes or a no, never anything else, and the same again.
    assert set(found[0].correct_votes) <= {True, False}
    assert found[0].correct is not None
    assert found[0].correct_votes == found[1].correct_votes
    for verdict in found:
        counts = verdict.hallucination
        assert ("hallucination" in verdict.failed) == (counts.total_claims is None)
        assert sum(verdict.failures.values()) == len(verdict.problems)
        assert verdict.usage is not None
        assert verdict.usage.prompt_tokens > 100
