"""Tests ``epoche synthlink score`` and ``run`` with a judge: requests, files, interruptions."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_commands import Forker
from jsonschema import Draft202012Validator
from servers import behaviours
from servers.behaviours import Behaviour, ChatRequest
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, command_line, limit_file_size, run_epoche, run_process
from synthlink_judge_parts import (
    QUESTION_IDS,
    TOPICS,
    make_judge_command,
    make_judge_model,
    make_score_command,
    read_block,
    read_journal,
    write_inputs,
    write_judge_reply,
)

from epoche.schemas import build_schema
from eval.synthlink.scoring.outputs import read_scores
from eval.synthlink.verdicts.record import (
    ANCHOR_KINDS,
    JUDGED_FILE,
    MIN_ANCHORS,
    STEP_ANCHOR_KINDS,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_inputs(tmp_path)


def read_manifest(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return manifest


def read_score_files(folder: Path) -> dict[str, bytes]:
    """Returns the score files; reports and the journal are left out because they contain times."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name.startswith(("synthlink_", "manifest")) and path.name != JUDGED_FILE
    }


def reply_with_errors(request: ChatRequest) -> Behaviour:
    """Judges with errors: supports foreign facts, contradicts one claim and fails on another."""
    claim = read_block(request, "claim")
    if claim == TOPICS[1].paraphrase:
        return behaviours.normal_reply(lambda _: '{"verdict": "contradicted"}')
    if claim == TOPICS[2].paraphrase:
        return behaviours.http_error(500)
    if claim == TOPICS[3].paraphrase:
        return behaviours.normal_reply(lambda _: '{"verdict": "not_told"}')
    return behaviours.normal_reply(write_judge_reply)


def test_verdicts_and_judge_quality_are_in_every_file(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    assert run_epoche(*make_score_command(workspace, out="plain")).code == 0
    scripted_server.behave_with(reply_with_errors)
    result = run_epoche(*make_judge_command(workspace, scripted_model))
    assert result.code == 0, result.err
    out = workspace / "out"
    report = read_scores(out).report
    summary = report.judge
    assert summary is not None
    counts = (summary.open, summary.asked, summary.decided, summary.lost, summary.split)
    assert counts == (6, 6, 5, 1, 0)
    assert (summary.models, summary.planned, summary.same) == ((scripted_model,), 2, False)
    reliability = summary.reliability
    # Twelve facts of the questions, and ten that answers state.
    assert (reliability.passed, reliability.false_rejection.n) == (True, 22)
    assert (reliability.false_acceptance.value, reliability.false_rejection.value) == (0.0, 0.0)
    assert set(reliability.supported) == {*ANCHOR_KINDS, *STEP_ANCHOR_KINDS}
    assert summary.lost_votes == {"call": 2}
    assert summary.unanimous == 1.0
    assert summary.usage is not None
    assert summary.usage.prompt_tokens == sum(
        line["usage"]["prompt_tokens"] for line in read_journal(out) if line["usage"]
    )
    rows = {row.question_id: row for row in report.modes["corrected"].questions}
    claims = [rows[id_].parts.claims[0] for id_ in QUESTION_IDS]
    # The third claim has no verdict because the judge's call failed.
    assert [claim.by == "judge" for claim in claims] == [True, True, False, True, True, True]
    assert [claim.verdict for claim in claims[:2]] == ["supported", "contradicted"]
    assert claims[3].verdict == "not_found"
    assert claims[2].verdict == "unjudged"
    report_without_judge = read_scores(workspace / "plain").report
    for row in report_without_judge.modes["corrected"].questions:
        assert [claim.verdict for claim in row.parts.claims] == ["unjudged"]
    assert report_without_judge.modes["corrected"].overall.measures["fcs"].value is None
    with (out / "synthlink_scores.csv").open() as handle:
        table = {r["question_id"]: r for r in csv.DictReader(handle) if r["mode"] == "corrected"}
    assert [int(table[id_]["claims_judged"]) for id_ in QUESTION_IDS] == [1, 1, 0, 1, 1, 1]
    assert table[QUESTION_IDS[1]]["claims_contradicted"] == "1"
    text = (out / "synthlink_overall_score.txt").read_text()
    for sentence in (
        f"{scripted_model} judged 5 of 6 claims that graph, facts and pages left open",
        "the judge's errors on known claims: 0.000 [0.000,",
        "of wrong claims called supported, 0.000 [0.000, 0.149] (n = 22) of true ones not",
        "1 claim unjudged: the judge gave no verdict",
        "votes of the judge that were lost: 2 call",
    ):
        assert sentence in text
    manifest = read_manifest(out)
    judge_manifest = manifest["judge"]
    assert judge_manifest["models"][0]["model"] == scripted_model
    assert judge_manifest["prompt"]["name"] == "synthlink_claim"
    assert (
        f"|judge:{judge_manifest['sha256'][:12]}|verdicts:{judge_manifest['verdicts_sha256'][:12]}"
        in (manifest["signature"])
    )
    assert read_manifest(workspace / "plain")["judge"] is None
    assert "|judge:" not in read_manifest(workspace / "plain")["signature"]
    assert "1 of 6 claims got no verdict from the judge and are unjudged" in result.err
    assert (
        f"judge: {summary.usage.prompt_tokens:,} + {summary.usage.completion_tokens:,} tokens"
        in (result.out)
    )
    validator = Draft202012Validator(json.loads(build_schema("synthlink-judged")))
    for line in read_journal(out):
        validator.validate(line)
    page = (out / "report.html").read_text()
    assert f"{scripted_model} judged 5 of the 6 claims" in page
    assert "Wrong claims called supported" in page
    for name in ("manifest.json", "synthlink_scores.json", JUDGED_FILE):
        assert scripted_server.api_key not in (out / name).read_text()
        assert str(workspace) not in (out / name).read_text()


def test_second_scoring_asks_nothing_and_gives_identical_bytes(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave_with(make_judge_model())
    assert run_epoche(*make_judge_command(workspace, scripted_model)).code == 0
    before = read_score_files(workspace / "out")
    journal = (workspace / "out" / JUDGED_FILE).read_bytes()
    scripted_server.clear_log()
    assert run_epoche(*make_judge_command(workspace, scripted_model)).code == 0
    assert not scripted_server.requests
    assert read_score_files(workspace / "out") == before
    assert (workspace / "out" / JUDGED_FILE).read_bytes() == journal
    # Without the judge the journal is kept but not used.
    assert run_epoche(*make_score_command(workspace)).code == 0
    assert read_scores(workspace / "out").report.judge is None
    assert (workspace / "out" / JUDGED_FILE).read_bytes() == journal


def test_compared_files_are_also_judged(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    folder = write_inputs(tmp_path)
    other_folder = write_inputs(
        tmp_path / "other", lambda position: f"They never heard of {TOPICS[position].paraphrase}"
    )
    scripted_server.behave_with(make_judge_model())
    compare_options = ("--compare", other_folder / "predictions.json")
    result = run_epoche(*make_judge_command(folder, scripted_model, *compare_options))
    assert result.code == 0, result.err
    claims = [line for line in read_journal(folder / "out") if line["kind"] == "claim"]
    # "Night", "Blue" and "Shorter" look like names that no evidence has, so three need no judge.
    assert len(claims) == 6 + 3
    scores = read_scores(folder / "out")
    assert scores.report.judge is not None
    assert scores.report.judge.open == 6, "only claims of the first file are counted"
    fcs = scores.comparisons[0].modes["corrected"].measures["fcs"]
    assert fcs.value == 0.0, "no claim of the other file is supported"
    first_fcs = scores.report.modes["corrected"].overall.measures["fcs"]
    assert first_fcs.value == 1.0


def test_every_named_file_is_judged_and_no_claim_is_asked_about_twice(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    folder = write_inputs(tmp_path)
    other_folder = write_inputs(
        tmp_path / "other", lambda position: f"They never heard of {TOPICS[position].paraphrase}"
    )
    scripted_server.behave_with(make_judge_model())
    command = make_score_command(folder, "--judge-model", scripted_model, "--retries", 0)
    named = [f"right={part}" if part == folder / "predictions.json" else part for part in command]
    other = ("--predictions", f"other={other_folder / 'predictions.json'}")
    result = run_epoche(*named, *other)
    assert result.code == 0, result.err
    assert "no judge was asked" not in result.out
    fcs = {
        name: read_scores(folder / "out" / name).report.modes["corrected"].overall.measures["fcs"]
        for name in ("right", "other")
    }
    assert (fcs["right"].value, fcs["other"].value) == (1.0, 0.0)
    bodies = [json.dumps(request.body, sort_keys=True) for request in scripted_server.requests]
    assert bodies, "the judge was asked"
    assert len(bodies) == len(set(bodies))
    # The same command goes on where it was stopped: without the score files of one, say.
    for path in (folder / "out" / "other").glob("synthlink_scores.*"):
        path.unlink()
    scripted_server.clear_log()
    assert run_epoche(*named, *other).code == 0
    assert not scripted_server.requests
    assert read_scores(folder / "out" / "other").report.judge is not None
    # Other predictions would replace the run.
    rows = json.loads((other_folder / "predictions.json").read_bytes())
    rows[0]["predicted_answer"] = "Something else."
    (other_folder / "predictions.json").write_text(json.dumps(rows))
    refused = run_epoche(*named, *other)
    assert refused.code == 15
    assert "--overwrite" in refused.err


def test_invalid_flags_are_refused_before_any_request(
    scripted_server: ScriptedServer,
    scripted_model: str,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for options, code, message in (
        (("--mode", "literal"), 19, "literal"),
        (("--judge-repeats", 99), 19, "can vote 1 to 25 times"),
        (("--judge-model", scripted_model), 19, "named twice"),
        (("--compare", workspace / "none.json"), 3, "none.json"),
    ):
        assert message in check_error_line(
            run_epoche(*make_judge_command(workspace, scripted_model, *options)), code
        ), options
    arguments = [
        argument
        for argument in make_judge_command(workspace, scripted_model)
        if argument != "--no-cache"
    ]
    assert "cache" in check_error_line(
        run_epoche(*arguments, "--cache", workspace / "out" / JUDGED_FILE), 15
    )
    assert "--judge-repeats" in check_error_line(
        run_epoche(*make_score_command(workspace, "--judge-repeats", 3)), 19
    )
    check_error_line(run_epoche(*make_judge_command(workspace, "nobody")), 23)
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    refusal = check_error_line(run_epoche(*make_judge_command(workspace, scripted_model)), 19)
    assert "is the model that answers" in refusal
    assert "Unset EPOCHE_MODEL if another model answered" in refusal
    assert not scripted_server.requests
    assert not (workspace / "out").exists()


def test_folder_of_another_kind_is_unchanged(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    (workspace / "out").mkdir()
    (workspace / "out" / "manifest.json").write_text('{"kind": "skn"}')
    assert "another kind" in check_error_line(
        run_epoche(*make_judge_command(workspace, scripted_model)), 15
    )
    assert not scripted_server.requests
    assert not (workspace / "out" / JUDGED_FILE).exists()


def test_failing_judge_is_an_error_but_scores_are_written(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave(behaviours.http_error(500))
    # There are more anchors than the default limit of errors in a row.
    command = make_judge_command(workspace, scripted_model, "--max-consecutive-errors", 0)
    message = check_error_line(run_epoche(*command), 27)
    assert "6 of 6 claims got no verdict" in message
    report = read_scores(workspace / "out").report
    assert report.judge is not None
    assert (report.judge.decided, report.judge.reliability.passed) == (0, False)
    assert report.judge.reliability.false_rejection.unjudged == 22
    assert report.judge.reliability.false_rejection.value is None
    scripted_server.behave_with(make_judge_model())
    assert run_epoche(*make_judge_command(workspace, scripted_model)).code == 0
    second_summary = read_scores(workspace / "out").report.judge
    assert second_summary is not None
    assert (second_summary.decided, second_summary.lost) == (6, 0)


# --- run --------------------------------------------------------------------------------------

AGENT_MODULE = '''
from eval.synthlink.agents.trail import Round, Trail


class TableAgent:
    """Answers from a table."""

    name = "table"

    def __init__(self, options):
        pass

    def params(self):
        return {}

    async def answer(self, question):
        told = TABLE[question]
        return Trail(answer=told, rounds=(Round(answer=told, done=True),))
'''


def make_run_command(workspace: Path, model: str, *options: object) -> list[object]:
    input_options = ("--catalog", workspace / "catalog.jsonl", "--pages", workspace / "pages.jsonl")
    run_options = ("--retries", 0, "--no-cache", "--resamples", 100, "--out", workspace / "out")
    judge_options = ("--judge-model", model)
    command = ["synthlink", "run", "--system", "table_agent:TableAgent"]
    return [*command, *input_options, *run_options, *judge_options, *options]


@pytest.fixture
def workspace_with_agent(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    table = {topic.question: topic.paraphrase for topic in TOPICS}
    (workspace / "table_agent.py").write_text(f"TABLE = {table!r}\n{AGENT_MODULE}")
    monkeypatch.syspath_prepend(str(workspace))
    return workspace


def test_run_command_judges_claims_when_it_scores(
    scripted_server: ScriptedServer, scripted_model: str, workspace_with_agent: Path
) -> None:
    scripted_server.behave_with(make_judge_model())
    result = run_epoche(*make_run_command(workspace_with_agent, scripted_model))
    assert result.code == 0, result.err
    report = read_scores(workspace_with_agent / "out").report
    assert report.judge is not None
    assert report.judge.decided == 6
    scripted_server.clear_log()
    assert run_epoche(*make_run_command(workspace_with_agent, scripted_model)).code == 0
    assert not scripted_server.requests
    # --overwrite asks all rows again and deletes the scores, but keeps the paid verdicts.
    assert (
        run_epoche(*make_run_command(workspace_with_agent, scripted_model, "--overwrite")).code == 0
    )
    assert not scripted_server.requests
    message = check_error_line(
        run_epoche(*make_run_command(workspace_with_agent, scripted_model, "--no-score")), 19
    )
    assert "--judge-model needs scores" in message


def test_run_without_a_model_accepts_any_judge(
    scripted_server: ScriptedServer,
    scripted_model: str,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    scripted_server.behave_with(make_judge_model())
    arguments = make_run_command(workspace, scripted_model)
    arguments[3] = "extractive"  # the system, which answers without a model
    result = run_epoche(*arguments)
    assert result.code == 0, result.err
    report = read_scores(workspace / "out").report
    assert report.judge is not None
    assert not report.judge.same
    # The predictions can be scored with this judge too: the run manifest names no answering model.
    score_arguments = make_judge_command(workspace, scripted_model)
    score_arguments[score_arguments.index(workspace / "predictions.json")] = (
        workspace / "out" / "predictions.json"
    )
    result = run_epoche(*score_arguments)
    assert result.code == 0, result.err


def test_invalid_judge_is_refused_before_the_run(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    arguments = make_run_command(workspace, scripted_model, "--model", scripted_model)
    arguments[3] = "agent"  # the system, which answers by a model
    assert "is the model that answers" in check_error_line(run_epoche(*arguments), 19)
    assert not scripted_server.requests
    assert not (workspace / "out").exists()


# --- interruptions ----------------------------------------------------------------------------


@pytest.fixture
def command_forker(
    workspace: Path, scripted_server: ScriptedServer, scripted_model: str
) -> Iterator[Forker]:
    scripted_server.behave_with(make_judge_model())
    with Forker(workspace) as forker:
        forker.warm_up(*make_judge_command(workspace, scripted_model, out="whole"))
        yield forker


def read_verdicts_without_times(folder: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k != "latency_s"} for line in read_journal(folder)]


def test_interrupted_judge_resumes(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path, command_forker: Forker
) -> None:
    """Kills, interrupts and terminates runs and compares them with the folder ``whole``.

    A finished journal has 24 lines (6 claims and 18 anchors), each with two votes.
    """
    codes = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130, signal.SIGTERM: 143}
    for stop_signal, code in codes.items():
        out = workspace / stop_signal.name
        scripted_server.behave_with(make_judge_model(delay=0.04))
        slow_command = make_judge_command(
            workspace, scripted_model, "--concurrency", 2, out=stop_signal.name
        )
        process = command_forker.start(*slow_command, folder=workspace)
        deadline = time.monotonic() + 30
        while not (
            (out / JUDGED_FILE).exists() and (out / JUDGED_FILE).read_bytes().count(b"\n") >= 5
        ):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        os.kill(process.pid, stop_signal)
        assert process.wait() == code
        lines = (out / JUDGED_FILE).read_bytes().splitlines(True)
        n_lines = len(read_journal(workspace / "whole"))
        line_count = sum(line.endswith(b"\n") for line in lines)
        assert 5 <= line_count < n_lines
        assert not (out / "synthlink_scores.json").exists()
        if stop_signal == signal.SIGINT:
            last_message = (workspace / "stderr").read_text().splitlines()[-1]
            assert last_message == "interrupted: what was finished is saved"
        scripted_server.clear_log()
        scripted_server.behave_with(make_judge_model())
        assert (
            command_forker.run(
                *make_judge_command(workspace, scripted_model, out=stop_signal.name),
                folder=workspace,
            )
            == 0
        )
        assert len(scripted_server.requests) == 2 * (n_lines - line_count)
        assert read_verdicts_without_times(out) == read_verdicts_without_times(workspace / "whole")
        assert read_score_files(out) == read_score_files(workspace / "whole")


def test_a_full_disk_loses_no_verdict(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave_with(make_judge_model())
    arguments = make_judge_command(workspace, scripted_model, "--concurrency", 1)
    # A limit on the file size simulates the full disk.
    result = run_process(limit_file_size(command_line(*arguments), 3_000), workspace)
    assert "cannot write" in check_error_line(result, 15)
    interrupted_journal = (workspace / "out" / JUDGED_FILE).read_bytes()
    assert interrupted_journal.endswith(b"\n")
    assert not (workspace / "out" / "synthlink_scores.json").exists()
    scripted_server.clear_log()
    assert run_epoche(*arguments).code == 0
    lines = (workspace / "out" / JUDGED_FILE).read_bytes().splitlines()
    n_interrupted = interrupted_journal.count(b"\n")
    assert 0 < n_interrupted < len(lines)
    assert len(scripted_server.requests) == 2 * (len(lines) - n_interrupted), "two votes a line"
    assert set(interrupted_journal.splitlines()) <= set(lines)


def test_real_server_follows_the_verdict_schema(
    llama_server: LlamaServer, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPOCHE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    rows = json.loads((workspace / "predictions.json").read_bytes())[:1]
    (workspace / "predictions.json").write_text(json.dumps(rows))
    arguments = make_judge_command(workspace, f"custom/{llama_server.model}")
    result = run_epoche(*arguments)
    assert result.code == 0, result.err
    lines = read_journal(workspace / "out")
    kinds = [line["kind"] for line in lines]
    assert set(kinds) == {"claim", "step", *ANCHOR_KINDS, *STEP_ANCHOR_KINDS}
    assert kinds.count("own fact") == kinds.count("stated step") == MIN_ANCHORS
    for line in lines:
        assert not line["lost"], "the grammar allows only the three verdicts"
        assert line["split"] or line["verdict"] in {"supported", "contradicted", "not_told"}
        assert line["usage"]["prompt_tokens"] > 200
    before = read_score_files(workspace / "out")
    shutil.copy(workspace / "out" / JUDGED_FILE, workspace / "journal")
    assert run_epoche(*arguments).code == 0
    assert read_score_files(workspace / "out") == before
    assert (workspace / "out" / JUDGED_FILE).read_bytes() == (workspace / "journal").read_bytes()
