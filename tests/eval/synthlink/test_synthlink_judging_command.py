"""``epoche synthlink score`` and ``run`` with a judge: requests, files, interruptions."""

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
    judge_command,
    judge_model,
    read_block,
    read_journal,
    score_command,
    write_inputs,
)

from epoche.schemas import build_schema
from eval.synthlink.outputs import read_scores
from eval.synthlink.verdicts.record import JUDGED_FILE


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_inputs(tmp_path)


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return found


def score_files(folder: Path) -> dict[str, bytes]:
    """Returns all outputs of predictions and verdicts, without pages and times."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name.startswith(("synthlink_", "manifest")) and path.name != JUDGED_FILE
    }


def reply_with_errors(request: ChatRequest) -> Behaviour:
    """A judge that supports foreign facts, contradicts one claim and fails on another."""
    claim = read_block(request, "claim")
    if claim == TOPICS[1].said:
        return behaviours.normal_reply(lambda _: '{"verdict": "contradicted"}')
    if claim == TOPICS[2].said:
        return behaviours.http_error(500)
    if claim == TOPICS[3].said:
        return behaviours.normal_reply(lambda _: '{"verdict": "not_told"}')
    return behaviours.normal_reply(lambda _: '{"verdict": "supported"}')


def test_verdicts_and_judge_quality_are_in_every_file(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    assert run_epoche(*score_command(workspace, out="plain")).code == 0
    scripted_server.behave_with(reply_with_errors)
    done = run_epoche(*judge_command(workspace, scripted_model))
    assert done.code == 0, done.err
    out = workspace / "out"
    report = read_scores(out).report
    told = report.judge
    assert told is not None
    assert (told.open, told.asked, told.decided, told.lost, told.split) == (6, 6, 5, 1, 0)
    assert (told.models, told.planned, told.same) == ((scripted_model,), 2, False)
    assert (told.own_facts.value, told.own_facts.n) == (1.0, 12)
    assert (told.other_facts.value, told.other_supported.value) == (0.0, 1.0)
    assert told.lost_votes == {"call": 2}
    assert told.unanimous == 1.0
    assert told.usage is not None
    assert told.usage.prompt_tokens == sum(
        line["usage"]["prompt_tokens"] for line in read_journal(out) if line["usage"]
    )
    rows = {row.question_id: row for row in report.modes["corrected"].questions}
    found = [rows[id_].parts.claims[0] for id_ in QUESTION_IDS]
    assert [one.by for one in found] == ["judge", "judge", found[2].by, "judge", "judge", "judge"]
    assert found[2].by != "judge"
    assert [one.verdict for one in found[:2]] == ["licensed", "contradicted"]
    assert found[3].verdict == "unknown"
    # The results without a judge are recorded as well.
    plain = read_scores(workspace / "plain").report
    words = {row.question_id: row.parts.claims[0] for row in plain.modes["corrected"].questions}
    for id_, one in zip(QUESTION_IDS, found, strict=True):
        if one.by == "judge":
            assert one.words == words[id_].verdict
        else:
            assert one == words[id_]
    with (out / "synthlink_scores.csv").open() as handle:
        table = {r["question_id"]: r for r in csv.DictReader(handle) if r["mode"] == "corrected"}
    assert [int(table[id_]["claims_judged"]) for id_ in QUESTION_IDS] == [1, 1, 0, 1, 1, 1]
    assert table[QUESTION_IDS[1]]["claims_contradicted"] == "1"
    text = (out / "synthlink_overall_score.txt").read_text()
    for said in (
        f"{scripted_model} judged 5 of 6 claims that the graph left open, "
        "and agreed with word overlap on",
        "the judge called 12 of 12 facts of the questions themselves supported",
        "the judge called 6 of 6 facts of other questions supported",
        "1 claim got no verdict from the judge: decided by word overlap",
        "the judge errs often on these known facts",
        "votes of the judge that were lost: 2 call",
    ):
        assert said in text
    manifest = manifest_of(out)
    held = manifest["judge"]
    assert held["models"][0]["model"] == scripted_model
    assert held["prompt"]["name"] == "synthlink_claim"
    assert (
        f"|judge:{held['sha256'][:12]}|verdicts:{held['verdicts_sha256'][:12]}"
        in (manifest["signature"])
    )
    assert manifest_of(workspace / "plain")["judge"] is None
    assert "|judge:" not in manifest_of(workspace / "plain")["signature"]
    assert "1 of 6 claims got no verdict from the judge, so word overlap decided" in done.err
    assert f"judge: {told.usage.prompt_tokens:,} + {told.usage.completion_tokens:,} tokens" in (
        done.out
    )
    checker = Draft202012Validator(json.loads(build_schema("synthlink-judged")))
    for line in read_journal(out):
        checker.validate(line)
    page = (out / "report.html").read_text()
    assert f"{scripted_model} judged what the graph left open: 5 of 6 claims" in page
    assert "It errs so often on what is known" in page
    for name in ("manifest.json", "synthlink_scores.json", JUDGED_FILE):
        assert scripted_server.api_key not in (out / name).read_text()
        assert str(workspace) not in (out / name).read_text()


def test_second_scoring_asks_nothing_and_gives_identical_bytes(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave_with(judge_model())
    assert run_epoche(*judge_command(workspace, scripted_model)).code == 0
    before, journal = score_files(workspace / "out"), (workspace / "out" / JUDGED_FILE).read_bytes()
    scripted_server.clear_log()
    assert run_epoche(*judge_command(workspace, scripted_model)).code == 0
    assert not scripted_server.requests
    assert score_files(workspace / "out") == before
    assert (workspace / "out" / JUDGED_FILE).read_bytes() == journal
    # Without the judge the journal is kept but not used.
    assert run_epoche(*score_command(workspace)).code == 0
    assert read_scores(workspace / "out").report.judge is None
    assert (workspace / "out" / JUDGED_FILE).read_bytes() == journal


def test_compared_files_are_also_judged(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    shop = write_inputs(tmp_path)
    other = write_inputs(
        tmp_path / "other", lambda place: f"They never heard of {TOPICS[place].said}"
    )
    scripted_server.behave_with(judge_model())
    compared = ("--compare", other / "predictions.json")
    done = run_epoche(*judge_command(shop, scripted_model, *compared))
    assert done.code == 0, done.err
    claims = [line for line in read_journal(shop / "out") if line["kind"] == "claim"]
    assert len(claims) == 12
    scored = read_scores(shop / "out")
    assert scored.report.judge is not None
    assert scored.report.judge.open == 6, "only claims of the first file are counted"
    fcs = scored.comparisons[0].modes["corrected"].measures["fcs"]
    assert fcs.value == 0.0, "contradicted, every one"
    first = scored.report.modes["corrected"].overall.measures["fcs"]
    assert first.value == 1.0


def test_invalid_flags_are_refused_before_any_request(
    scripted_server: ScriptedServer,
    scripted_model: str,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for more, code, said in (
        (("--mode", "literal"), 19, "literal"),
        (("--judge-repeats", 99), 19, "can vote 1 to 25 times"),
        (("--judge-model", scripted_model), 19, "named twice"),
        (("--compare", workspace / "none.json"), 3, "none.json"),
    ):
        assert said in check_error_line(
            run_epoche(*judge_command(workspace, scripted_model, *more)), code
        ), more
    cached = [one for one in judge_command(workspace, scripted_model) if one != "--no-cache"]
    assert "cache" in check_error_line(
        run_epoche(*cached, "--cache", workspace / "out" / JUDGED_FILE), 15
    )
    assert "--judge-repeats" in check_error_line(
        run_epoche(*score_command(workspace, "--judge-repeats", 3)), 19
    )
    check_error_line(run_epoche(*judge_command(workspace, "nobody")), 23)
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    assert "is the model that answers" in check_error_line(
        run_epoche(*judge_command(workspace, scripted_model)), 19
    )
    assert not scripted_server.requests
    assert not (workspace / "out").exists()


def test_folder_of_another_kind_is_unchanged(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    (workspace / "out").mkdir()
    (workspace / "out" / "manifest.json").write_text('{"kind": "skn"}')
    assert "another kind" in check_error_line(
        run_epoche(*judge_command(workspace, scripted_model)), 15
    )
    assert not scripted_server.requests
    assert not (workspace / "out" / JUDGED_FILE).exists()


def test_failing_judge_is_an_error_but_scores_are_written(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave(behaviours.http_error(500))
    said = check_error_line(run_epoche(*judge_command(workspace, scripted_model)), 27)
    assert "6 of 6 claims got no verdict" in said
    report = read_scores(workspace / "out").report
    assert report.judge is not None
    assert (report.judge.decided, report.judge.own_facts.unjudged) == (0, 12)
    assert report.judge.own_facts.value is None
    scripted_server.behave_with(judge_model())
    assert run_epoche(*judge_command(workspace, scripted_model)).code == 0
    again = read_scores(workspace / "out").report.judge
    assert again is not None
    assert (again.decided, again.lost) == (6, 0)


# --- run --------------------------------------------------------------------------------------

AGENT = '''
from eval.synthlink.agents.trail import Round, Trail


class Sayer:
    """Answers from a table."""

    name = "sayer"

    def __init__(self, options):
        pass

    def params(self):
        return {}

    async def answer(self, question):
        told = TABLE[question]
        return Trail(answer=told, rounds=(Round(answer=told, done=True),))
'''


def run_command(workspace: Path, model: str, *more: object) -> list[object]:
    files = ("--catalog", workspace / "catalog.jsonl", "--pages", workspace / "pages.jsonl")
    how = ("--retries", 0, "--no-cache", "--resamples", 100, "--out", workspace / "out")
    judges = ("--judge-model", model)
    return ["synthlink", "run", "--system", "sayer_agent:Sayer", *files, *how, *judges, *more]


@pytest.fixture
def answering_agent(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    table = {topic.question: topic.said for topic in TOPICS}
    (workspace / "sayer_agent.py").write_text(f"TABLE = {table!r}\n{AGENT}")
    monkeypatch.syspath_prepend(str(workspace))
    return workspace


def test_a_run_is_judged_where_it_is_scored(
    scripted_server: ScriptedServer, scripted_model: str, answering_agent: Path
) -> None:
    scripted_server.behave_with(judge_model())
    done = run_epoche(*run_command(answering_agent, scripted_model))
    assert done.code == 0, done.err
    report = read_scores(answering_agent / "out").report
    assert report.judge is not None
    assert report.judge.decided == 6
    scripted_server.clear_log()
    assert run_epoche(*run_command(answering_agent, scripted_model)).code == 0
    assert not scripted_server.requests
    # Asking rows again deletes the scores but keeps paid verdicts.
    assert run_epoche(*run_command(answering_agent, scripted_model, "--overwrite")).code == 0
    assert not scripted_server.requests
    said = check_error_line(
        run_epoche(*run_command(answering_agent, scripted_model, "--no-score")), 19
    )
    assert "--judge-model needs scores" in said


def test_run_without_a_model_accepts_any_judge(
    scripted_server: ScriptedServer,
    scripted_model: str,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    scripted_server.behave_with(judge_model())
    arguments = run_command(workspace, scripted_model)
    arguments[3] = "extractive"
    done = run_epoche(*arguments)
    assert done.code == 0, done.err
    report = read_scores(workspace / "out").report
    assert report.judge is not None
    assert not report.judge.same
    # The same file scored on its own: its manifest names no answering model.
    again = judge_command(workspace, scripted_model)
    again[again.index(workspace / "predictions.json")] = workspace / "out" / "predictions.json"
    done = run_epoche(*again)
    assert done.code == 0, done.err


def test_invalid_judge_is_refused_before_the_run(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    arguments = run_command(workspace, scripted_model, "--model", scripted_model)
    arguments[3] = "agent"
    assert "is the model that answers" in check_error_line(run_epoche(*arguments), 19)
    assert not scripted_server.requests
    assert not (workspace / "out").exists()


# --- stopped ----------------------------------------------------------------------------------


@pytest.fixture
def command_forker(
    workspace: Path, scripted_server: ScriptedServer, scripted_model: str
) -> Iterator[Forker]:
    scripted_server.behave_with(judge_model())
    with Forker(workspace) as forker:
        forker.warm_up(*judge_command(workspace, scripted_model, out="whole"))
        yield forker


def without_times(folder: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in one.items() if k != "latency_s"} for one in read_journal(folder)]


def test_interrupted_judge_resumes(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path, command_forker: Forker
) -> None:
    """Kills, interrupts and terminates the run; ``whole`` is uninterrupted."""
    codes = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130, signal.SIGTERM: 143}
    for sent, code in codes.items():
        out = workspace / sent.name
        scripted_server.behave_with(judge_model(delay=0.04))
        slow = judge_command(workspace, scripted_model, "--concurrency", 2, out=sent.name)
        process = command_forker.start(*slow, folder=workspace)
        deadline = time.monotonic() + 30
        while not (
            (out / JUDGED_FILE).exists() and (out / JUDGED_FILE).read_bytes().count(b"\n") >= 5
        ):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        os.kill(process.pid, sent)
        assert process.wait() == code
        lines = (out / JUDGED_FILE).read_bytes().splitlines(True)
        held = sum(line.endswith(b"\n") for line in lines)
        assert 5 <= held < 24
        assert not (out / "synthlink_scores.json").exists()
        if sent == signal.SIGINT:
            said = (workspace / "stderr").read_text().splitlines()[-1]
            assert said == "interrupted: what was finished is saved"
        scripted_server.clear_log()
        scripted_server.behave_with(judge_model())
        assert (
            command_forker.run(
                *judge_command(workspace, scripted_model, out=sent.name), folder=workspace
            )
            == 0
        )
        assert len(scripted_server.requests) == 2 * (24 - held)
        assert without_times(out) == without_times(workspace / "whole")
        assert score_files(out) == score_files(workspace / "whole")


def test_a_full_disk_loses_no_verdict(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave_with(judge_model())
    arguments = judge_command(workspace, scripted_model, "--concurrency", 1)
    done = run_process(limit_file_size(command_line(*arguments), 3_000), workspace)
    assert "cannot write" in check_error_line(done, 15)
    held = (workspace / "out" / JUDGED_FILE).read_bytes()
    assert held.endswith(b"\n")
    assert 0 < held.count(b"\n") < 24
    assert not (workspace / "out" / "synthlink_scores.json").exists()
    scripted_server.clear_log()
    assert run_epoche(*arguments).code == 0
    assert len(scripted_server.requests) == 2 * (24 - held.count(b"\n"))
    kept = (workspace / "out" / JUDGED_FILE).read_bytes().splitlines()
    assert len(kept) == 24
    assert set(held.splitlines()) <= set(kept)


def test_real_server_follows_the_verdict_schema(
    llama_server: LlamaServer, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPOCHE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    rows = json.loads((workspace / "predictions.json").read_bytes())[:1]
    (workspace / "predictions.json").write_text(json.dumps(rows))
    arguments = judge_command(workspace, f"custom/{llama_server.model}")
    done = run_epoche(*arguments)
    assert done.code == 0, done.err
    lines = read_journal(workspace / "out")
    assert [line["kind"] for line in lines] == ["claim", "own fact", "own fact", "other fact"]
    for line in lines:
        assert not line["lost"], "noise, in one of three words"
        assert line["split"] or line["verdict"] in {"supported", "contradicted", "not_told"}
        assert line["usage"]["prompt_tokens"] > 200
    before = score_files(workspace / "out")
    shutil.copy(workspace / "out" / JUDGED_FILE, workspace / "journal")
    assert run_epoche(*arguments).code == 0
    assert score_files(workspace / "out") == before
    assert (workspace / "out" / JUDGED_FILE).read_bytes() == (workspace / "journal").read_bytes()
