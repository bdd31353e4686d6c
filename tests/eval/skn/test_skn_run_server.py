"""Tests runs against a scripted server: requests, their order, and every kind of faulty reply."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import behaviours
from servers.behaviours import ChatRequest
from servers.scripted_server import ScriptedServer
from skn_run_parts import (
    REPLIES,
    SKN_REPLY,
    check_finished,
    find_request_role,
    make_failing_model,
    make_scripted_model,
    online_command,
    remove_latency,
    write_inputs,
)
from stage_calls import CommandResult, check_error_line, run_epoche

from eval.harness.reply import VOTES, read_votes
from eval.skn.formats.pipelines import ABLATION_PIPELINES

# A run with --ablation has eight formats, so it writes eight rows per sample.
SAMPLE_COUNT = 4
JUDGE_MODEL = "custom/judge-1"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_inputs(tmp_path, SAMPLE_COUNT)


@pytest.fixture
def run_arguments(workspace: Path, scripted_model: str) -> Callable[..., list[object]]:
    """Returns the command with a judge other than the answering model."""

    def build_arguments(
        *options: object, out: str = "out", judge: str = JUDGE_MODEL
    ) -> list[object]:
        return online_command(workspace, scripted_model, *options, out=out, judge=judge)

    return build_arguments


def test_requests_and_their_order(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    scripted_server.behave_with(make_scripted_model())
    rows = check_finished(
        run_epoche(*run_arguments("--ablation", "--concurrency", 1)), workspace / "out"
    )
    assert len(rows) == SAMPLE_COUNT * 8
    assert {row["outcome"] for row in rows} == {"ANSWERED", "ABSTAINED"}
    roles = [find_request_role(request) for request in scripted_server.requests]
    assert roles[:2] == ["warm-up"] * 2, "both models are warmed up before the first sample"
    assert roles.count("warm-up") == 2
    models = {
        (find_request_role(request), str(request.body["model"]))
        for request in scripted_server.requests[2:]
    }
    judges = {"accuracy", "hallucination", "groundedness"}
    assert {name for role, name in models if role in judges} == {"judge-1"}
    assert {name for role, name in models if role not in judges} == {scripted_server.model}
    extraction_requests = [
        (
            str(request.body["messages"][1]["content"]).split("service ")[1][0],
            find_request_role(request),
        )
        for request in scripted_server.requests
        if find_request_role(request) not in {*judges, "agent", "warm-up"}
    ]
    assert len(extraction_requests) == SAMPLE_COUNT * 8
    assert extraction_requests != sorted(extraction_requests, key=lambda pair: pair[0]), (
        "samples must be shuffled"
    )
    scripted_server.clear_log()
    concurrent_rows = check_finished(
        run_epoche(*run_arguments("--ablation", "--concurrency", 16, out="b")), workspace / "b"
    )
    assert remove_latency(concurrent_rows) == remove_latency(rows)
    manifest = json.loads((workspace / "out" / "manifest.json").read_bytes())
    assert (manifest["model"], manifest["judge_model"]) == ("custom/scripted-1", JUDGE_MODEL)
    assert manifest["same_judge"] is False
    tokens = sum(count_prompt_tokens(row) for row in rows)
    anchors = [vote for vote in read_votes(workspace / "out" / VOTES) if vote.anchor]
    # Every third sample has no answer, so it has no anchor.
    assert len(anchors) == sum(1 for number in range(SAMPLE_COUNT) if number % 3 != 2)
    tokens += sum(anchor.usage.prompt_tokens for anchor in anchors if anchor.usage)
    assert manifest["calls"]["prompt_tokens"] == tokens, "warm-up calls are not counted"
    assert manifest["calls"]["replies"] == len(scripted_server.requests)


def count_prompt_tokens(row: dict[str, Any]) -> int:
    judge_usage = (row["verdicts"] or {}).get("usage") or {"prompt_tokens": 0}
    return int(row["usage"]["prompt_tokens"]) + int(judge_usage["prompt_tokens"])


def test_the_question_is_shown_to_all_extractors_or_none(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    scripted_server.behave_with(make_scripted_model())
    for flags, out, question_shown in (((), "a", True), (("--hide-question",), "b", False)):
        scripted_server.clear_log()
        check_finished(
            run_epoche(*run_arguments("--ablation", "--limit", 1, *flags, out=out)), workspace / out
        )
        extractors = [
            request
            for request in scripted_server.requests
            if find_request_role(request) in {"skn", "json", "json_conf", "json_meta"}
        ]
        assert len(extractors) == 8
        assert {"<question>\nWhy" in request.prompt for request in extractors} == {question_shown}
        assert {request.body["max_tokens"] for request in extractors} == {900}
        assert {request.response_format for request in extractors} == {"text"}


def test_as_published_run(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    scripted_server.behave(behaviours.normal_reply(reply_in_published_form))
    arguments = run_arguments("--ablation", "--as-published")
    judge_position = arguments.index("--judge-model")
    arguments_without_judge = [*arguments[:judge_position], *arguments[judge_position + 2 :]]
    rows = check_finished(run_epoche(*arguments_without_judge), workspace / "out")
    assert {row["pipeline"] for row in rows} == set(ABLATION_PIPELINES)
    assert {row["outcome"] for row in rows} == {"ANSWERED"}
    assert all(row["verdicts"]["correct"] is True for row in rows if row["answerable"])
    manifest = json.loads((workspace / "out" / "manifest.json").read_bytes())
    assert (manifest["mode"], manifest["same_judge"]) == ("as-published", True)
    metrics = json.loads((workspace / "out" / "metrics.json").read_bytes())
    assert metrics["json"]["accuracy_ci"] == {
        "mean": 1.0,
        "ci_low": 1.0,
        "ci_high": 1.0,
        "std": 0.0,
    }
    assert isinstance(metrics["json"]["avg_context_tokens"], int)
    assert "judges its own answers" in (workspace / "out" / "summary.txt").read_text()


@pytest.mark.parametrize("options", [(), ("--as-published",)])
def test_a_run_without_judge_asks_none(
    scripted_server: ScriptedServer,
    workspace: Path,
    scripted_model: str,
    options: tuple[object, ...],
) -> None:
    scripted_server.behave(behaviours.normal_reply(reply_in_published_form))
    if not options:
        scripted_server.behave_with(make_scripted_model())
    command = online_command(workspace, scripted_model, *options, out="out", judge=None)
    rows = check_finished(run_epoche(*command), workspace / "out")
    assert {row["outcome"] for row in rows} <= {"ANSWERED", "ABSTAINED"}
    assert not any(row["verdicts"] for row in rows)
    assert not (workspace / "out" / VOTES).exists()
    # One extraction and one answer a row, and the first call of the model.
    assert len(scripted_server.requests) == 2 * len(rows) + 1
    assert len({request.body["model"] for request in scripted_server.requests}) == 1
    metrics = json.loads((workspace / "out" / "metrics.json").read_bytes())
    assert metrics["skn"]["accuracy"] is None
    assert metrics["skn"]["abstention_f1"] is not None


@pytest.mark.parametrize("options", [("--judge-model", "custom/other"), ("--judge-repeats", 3)])
def test_as_published_refuses_other_judges(
    scripted_server: ScriptedServer,
    workspace: Path,
    run_arguments: Callable[..., list[object]],
    options: tuple[object, ...],
) -> None:
    arguments = run_arguments("--as-published")
    judge_position = arguments.index("--judge-model")
    arguments_without_judge = [*arguments[:judge_position], *arguments[judge_position + 2 :]]
    line = check_error_line(run_epoche(*arguments_without_judge, *options), 19)
    assert "--as-published" in line
    assert not scripted_server.requests
    assert not (workspace / "out").exists()


def reply_in_published_form(request: ChatRequest) -> str:
    """Replies to any request in the form of the published prompts."""
    system = str(request.body["messages"][0]["content"])
    if "[SKN]" in system:
        return SKN_REPLY
    fields = {
        **{"entities": [], "relationships": [], "claims": []},
        **{"answer": "An open cursor.", "confidence": 0.9, "reasoning": "r"},
        **{"correct": True, "hallucination_detected": False, "hallucination_severity": 0.0},
        **{"total_claims": 1, "fabricated_claims": []},
        **{"groundedness_score": 1.0, "unsupported_fraction": 0.0},
    }
    return json.dumps(fields)


def test_missing_judge_is_refused_before_any_request(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    arguments = run_arguments()
    judge_position = arguments.index("--judge-model")
    arguments_without_judge = [*arguments[:judge_position], *arguments[judge_position + 2 :]]
    line = check_error_line(run_epoche(*arguments_without_judge), 19)
    assert "--judge-model same" in line
    assert not scripted_server.requests
    assert not (workspace / "out").exists()


def test_self_judging_is_allowed_and_marked_in_every_output(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    scripted_server.behave_with(make_scripted_model())
    result = run_epoche(*run_arguments(judge="same"))
    check_finished(result, workspace / "out")
    assert "The same model answered and judged" in result.out
    for name in ("summary.txt", "metrics.json", "report.html", "report.md"):
        assert "The same model answered and judged" in (workspace / "out" / name).read_text(), name
    assert json.loads((workspace / "out" / "manifest.json").read_bytes())["same_judge"] is True


HALF_SKN_REPLY = SKN_REPLY[: len(SKN_REPLY) // 2]


def reply_after_repair(request: ChatRequest) -> str:
    """Replies with half a block, and in the repair turn with the whole block."""
    return SKN_REPLY if len(request.body["messages"]) > 2 else HALF_SKN_REPLY


Fault = tuple[dict[str, Any], dict[str, Any]]
"""The faulty reply of a role, and the fields that the affected rows then have."""

INVALID_AGENT = {"outcome": "INVALID", "stage": "agent", "verdicts": None}
INVALID_SKN = {"outcome": "INVALID", "stage": "extraction", "response": None}
FAULTY_REPLIES: dict[str, Fault] = {
    "a list for an answer": (
        {"agent": '{"answer": ["a", "b"], "confidence": 1, "reasoning": "", "abstained": false}'},
        INVALID_AGENT,
    ),
    "a list for a reply": ({"agent": "[1, 2, 3]"}, INVALID_AGENT),
    "nothing": ({"agent": ""}, INVALID_AGENT),
    "prose": ({"agent": "It was the cursor."}, INVALID_AGENT),
    "no answer": (
        {"agent": '{"answer": " ", "confidence": 1, "reasoning": "", "abstained": false}'},
        INVALID_AGENT,
    ),
    "a nest": ({"agent": "[" * 50_000}, INVALID_AGENT),
    "half a block": ({"skn": HALF_SKN_REPLY}, INVALID_SKN),
    "half a block at first": ({"skn": reply_after_repair}, {"validity": "repaired"}),
    "a fenced block": ({"skn": f"Here it is:\n```\n{SKN_REPLY}```\n"}, {"validity": "tolerant"}),
    "fenced JSON": (
        {"json": f"```json\n{REPLIES['json'](None)}\n```"},  # type: ignore[arg-type]
        {"validity": "tolerant"},
    ),
    "a list for an extraction": ({"json": "[]"}, {"outcome": "INVALID", "stage": "extraction"}),
    "null counts": (
        {"hallucination": '{"total_claims": null, "fabricated_claims": [], "severity": 0}'},
        {"failed": ["hallucination"]},
    ),
    "eight": (
        {"hallucination": '{"total_claims": "eight", "fabricated_claims": [], "severity": 0}'},
        {"failed": ["hallucination"]},
    ),
    "false in quotes": ({"accuracy": '{"correct": "false"}'}, {"failed": ["accuracy"]}),
    "a list of verdicts": ({"accuracy": '[{"correct": true}]'}, {"failed": ["accuracy"]}),
    "not a number": (
        {"groundedness": '{"makes_claims": true, "groundedness": NaN, "unsupported_fraction": 0}'},
        {"failed": ["groundedness"]},
    ),
}


CORRECT_REPLIES = {
    "agent": '{"answer": "A cursor.", "confidence": 0.9, "reasoning": "r", "abstained": false}',
    "accuracy": '{"correct": true}',
    "hallucination": '{"total_claims": 2, "fabricated_claims": [], "severity": 0.0}',
    "groundedness": '{"makes_claims": true, "groundedness": 1.0, "unsupported_fraction": 0.0}',
}

FAULTY_SAMPLES = [number for number in range(3 * len(FAULTY_REPLIES)) if number % 3 != 2]
"""Numbers of the samples with an answer; the n-th of them gets the n-th fault."""


def reply_with_faults(request: ChatRequest) -> behaviours.Behaviour:
    """Replies correctly, except for the fault assigned to the sample."""
    match = re.search(r"Why does service (\d+) stall", request.prompt)
    faulty_replies: dict[str, Any] = {}
    if match and int(match[1]) in FAULTY_SAMPLES:
        position = FAULTY_SAMPLES.index(int(match[1]))
        if position < len(FAULTY_REPLIES):
            faulty_replies, _ = list(FAULTY_REPLIES.values())[position]
    return make_scripted_model(**{**CORRECT_REPLIES, **faulty_replies})(request)


def test_bad_replies_do_not_end_a_run(
    scripted_server: ScriptedServer, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    count = FAULTY_SAMPLES[len(FAULTY_REPLIES) - 1] + 1
    write_inputs(tmp_path, count)
    scripted_server.behave_with(reply_with_faults)
    rows = check_finished(run_epoche(*run_arguments()), tmp_path / "out")
    rows_by_id: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        rows_by_id.setdefault(row["id"], []).append(row)
    assert len(rows_by_id) == count
    for number, (fault, (faulty_replies, expected)) in zip(
        FAULTY_SAMPLES, FAULTY_REPLIES.items(), strict=False
    ):
        (role,) = faulty_replies
        for row in rows_by_id.pop(f"q{number:02}"):
            if role in {"skn", "json"} and row["pipeline"] != role:
                assert row["outcome"] == "ANSWERED", f"{fault}: affects only {role}"
            else:
                check_row(row, expected, fault)
    other_rows = [row for sample_rows in rows_by_id.values() for row in sample_rows]
    assert {row["outcome"] for row in other_rows} == {"ANSWERED"}, (
        "a fault affects only its own sample"
    )
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_bytes())
    outcomes = metrics["report"]["pipelines"]["skn"]["outcomes"]
    # Of the FAULTY_REPLIES, seven make an SKN row invalid and five are replies of a judge. Each
    # judge votes twice, so one such reply means two failures.
    assert outcomes["invalid"] == 7
    assert outcomes["unjudged"] == 5
    assert outcomes["answered"] == count - 7
    assert outcomes["judge_failures"] == {"accuracy": 4, "hallucination": 4, "groundedness": 2}
    accuracy = metrics["report"]["pipelines"]["skn"]["metrics"]["accuracy"]
    assert accuracy["worst"] < accuracy["value"] < accuracy["best"]


def check_row(row: dict[str, Any], expected: dict[str, Any], fault: str) -> None:
    """Checks that a row has the outcome of a fault."""
    if "failed" in expected:
        assert row["outcome"] == "ANSWERED", fault
        assert row["verdicts"]["failed"] == expected["failed"], fault
        (judge,) = expected["failed"]
        verdict_field = {"accuracy": "correct", "groundedness": "groundedness"}.get(judge)
        verdict = row["verdicts"] if verdict_field else row["verdicts"]["hallucination"]
        assert verdict[verdict_field or "total_claims"] is None, fault
    elif "validity" in expected:
        outcome_and_validity = (row["outcome"], row["extraction"]["validity"])
        assert outcome_and_validity == ("ANSWERED", expected["validity"]), fault
    else:
        assert {key: row[key] for key in expected} == expected, fault


@pytest.mark.parametrize(("role", "stage"), [("skn", "extraction"), ("agent", "agent")])
def test_failed_call_is_an_error_and_repeated_on_request(
    scripted_server: ScriptedServer,
    workspace: Path,
    run_arguments: Callable[..., list[object]],
    role: str,
    stage: str,
) -> None:
    scripted_server.behave_with(make_failing_model(role, behaviours.http_error(500)))
    result = run_epoche(*run_arguments("--limit", 2))
    # All rows of one or both pipelines are errors and the run fails, but all files are written.
    rows = check_finished(result, workspace / "out", code=27)
    failed = [row for row in rows if row["outcome"] == "ERROR"]
    assert len(failed) == (2 if role == "skn" else 4)
    assert {row["stage"] for row in failed} == {stage}
    assert all("the server cannot answer" in row["error"] for row in failed)
    assert "--retry-errors" in result.err
    scripted_server.behave_with(make_scripted_model())
    scripted_server.clear_log()
    if role == "skn":
        again = run_epoche(*run_arguments("--limit", 2))
        assert check_finished(again, workspace / "out", code=27) == rows
        assert not scripted_server.requests, "errors are retried only with --retry-errors"
    retried = check_and_read_rows(
        run_epoche(*run_arguments("--limit", 2, "--retry-errors")), workspace
    )
    assert "ERROR" not in {row["outcome"] for row in retried}
    answered = [row for row in rows if row["outcome"] != "ERROR"]
    assert all(row in retried for row in answered), "answered questions are not asked again"


def check_and_read_rows(result: CommandResult, workspace: Path) -> list[dict[str, Any]]:
    return check_finished(result, workspace / "out")


def test_failed_judge_is_asked_again_on_request(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    scripted_server.behave_with(make_failing_model("accuracy", behaviours.http_error(500)))
    result = run_epoche(*run_arguments())
    rows = check_finished(result, workspace / "out")
    unjudged = [row for row in rows if "accuracy" in ((row["verdicts"] or {}).get("failed") or ())]
    assert unjudged
    assert {row["outcome"] for row in unjudged} == {"ANSWERED"}
    assert all(row["verdicts"]["correct"] is None for row in unjudged)
    counts = json.loads((workspace / "out" / "manifest.json").read_bytes())["counts"]
    assert counts["unjudged"] == len(unjudged)
    assert "lack a judge's vote" in result.err
    scripted_server.behave_with(make_scripted_model())
    scripted_server.clear_log()
    result = run_epoche(*run_arguments("--retry-errors"))
    retried = check_finished(result, workspace / "out")
    assert f"0 rows ({len(rows)} were there already)" in result.out
    assert {find_request_role(request) for request in scripted_server.requests} <= {
        *("warm-up", "accuracy", "hallucination", "groundedness")
    }, "only the judges are asked again"
    assert not any((row["verdicts"] or {}).get("failed") for row in retried)
    anchors = [vote for vote in read_votes(workspace / "out" / VOTES) if vote.anchor]
    assert anchors
    assert not any(anchor.verdict["problems"] for anchor in anchors)
