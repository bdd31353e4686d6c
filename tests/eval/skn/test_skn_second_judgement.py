"""Tests that a finished run is judged again without asking a pipeline."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from skn_run_parts import (
    PUBLISHED_FILES,
    check_finished,
    find_request_role,
    make_failing_model,
    make_scripted_model,
    online_command,
    read_rows,
    remove_latency,
    write_inputs,
)
from stage_calls import check_error_line, read_folder_bytes, run_epoche, write_edited_manifest

from eval.harness.reply import REPLIES, VOTES, read_replies, read_votes
from eval.skn.judging.judge import read_anchors

SAMPLE_COUNT = 4
FIRST_JUDGE, SECOND_JUDGE = "custom/judge-1", "custom/judge-2"
JUDGE_ROLES = {"accuracy", "hallucination", "groundedness", "warm-up"}

JudgeCommand = Callable[..., list[object]]


@pytest.fixture
def workspace(tmp_path: Path, scripted_server: ScriptedServer, scripted_model: str) -> Path:
    """A workspace with a run in ``run``, whose extractor of ``skn`` failed on every sample."""
    folder = write_inputs(tmp_path, SAMPLE_COUNT)
    scripted_server.behave_with(make_failing_model("skn", behaviours.http_error(500)))
    command = online_command(folder, scripted_model, out="run", judge=FIRST_JUDGE)
    # All rows of one pipeline are errors, which the exit code says.
    check_finished(run_epoche(*command), folder / "run", code=27)
    scripted_server.behave_with(make_scripted_model())
    scripted_server.clear_log()
    return folder


@pytest.fixture
def judge_command(workspace: Path) -> JudgeCommand:
    """Returns the command that judges the run again, into ``again``."""

    def build_command(*options: object, judge: str = SECOND_JUDGE) -> list[object]:
        folders = (workspace / "run", "--out", workspace / "again")
        settings = ("--resamples", 100, "--retries", 0, "--no-cache", "--judge-model", judge)
        return ["skn", "judge", *folders, *settings, *options]

    return build_command


def read_manifest(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return manifest


def remove_verdicts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "verdicts": None} for row in rows]


def test_only_the_second_judge_is_asked(
    scripted_server: ScriptedServer, workspace: Path, judge_command: JudgeCommand
) -> None:
    run_files = read_folder_bytes(workspace / "run")
    result = run_epoche(*judge_command("--judge-repeats", 1))
    rows = check_finished(result, workspace / "again", code=27)
    assert f"\n{len(rows)} rows → " in result.out
    assert read_folder_bytes(workspace / "run") == run_files, "the first run is not changed"
    requests = scripted_server.requests
    assert {find_request_role(request) for request in requests} <= JUDGE_ROLES
    assert {request.body["model"] for request in requests} == {"judge-2"}
    replies = (workspace / "again" / REPLIES).read_bytes()
    assert replies == (workspace / "run" / REPLIES).read_bytes()
    first_rows = read_rows(workspace / "run")
    assert remove_verdicts(rows) == remove_verdicts(first_rows)
    assert {row["verdicts"]["planned_votes"] for row in rows if row["verdicts"]} == {1}
    assert {row["verdicts"]["planned_votes"] for row in first_rows if row["verdicts"]} == {2}
    votes = list(read_votes(workspace / "again" / VOTES))
    assert len(votes) == 2 * SAMPLE_COUNT - SAMPLE_COUNT + 3, "failed replies are not judged"
    assert sum(vote.anchor for vote in votes) == 3
    assert "custom/judge-2 judged them again" in (workspace / "again/summary.txt").read_text()
    manifest, first = read_manifest(workspace / "again"), read_manifest(workspace / "run")
    assert (manifest["judge_model"], manifest["replies_of"]) == (SECOND_JUDGE, "../run")
    assert (manifest["model"], manifest["same_judge"]) == (first["model"], False)
    assert manifest["calls"]["replies"] == len(requests)
    usages = [reply.usage for reply in read_replies(workspace / "again" / REPLIES)]
    usages += [vote.usage for vote in votes]
    assert manifest["calls"]["prompt_tokens"] == sum(u.prompt_tokens for u in usages if u)
    scripted_server.clear_log()
    again = run_epoche(*judge_command("--judge-repeats", 1))
    assert check_finished(again, workspace / "again", code=27) == rows
    assert not scripted_server.requests


def test_the_same_judge_gives_the_same_verdicts(
    workspace: Path, judge_command: JudgeCommand
) -> None:
    rows = check_finished(
        run_epoche(*judge_command(judge=FIRST_JUDGE)), workspace / "again", code=27
    )
    assert remove_latency(rows) == remove_latency(read_rows(workspace / "run"))


def test_an_interrupted_judgement_is_resumed(
    scripted_server: ScriptedServer, workspace: Path, judge_command: JudgeCommand
) -> None:
    scripted_server.behave(behaviours.expired_key_error())
    assert "key" in check_error_line(run_epoche(*judge_command()), 23)
    assert not any((workspace / "again" / name).exists() for name in PUBLISHED_FILES)
    scripted_server.behave_with(make_failing_model("accuracy", behaviours.http_error(500)))
    result = run_epoche(*judge_command())
    check_finished(result, workspace / "again", code=27)
    assert "lack a judge's vote" in result.err
    scripted_server.behave_with(make_scripted_model())
    scripted_server.clear_log()
    rows = check_finished(
        run_epoche(*judge_command("--retry-errors")), workspace / "again", code=27
    )
    assert {find_request_role(request) for request in scripted_server.requests} <= JUDGE_ROLES
    assert not any((row["verdicts"] or {}).get("failed") for row in rows)
    n_failed = sum(row["outcome"] == "ERROR" for row in rows)
    assert n_failed == SAMPLE_COUNT, "failed replies are not asked again"
    before = read_folder_bytes(workspace / "again")
    other = check_error_line(run_epoche(*judge_command(judge=FIRST_JUDGE)), 14)
    assert "judge" in other
    assert "--no-resume" in check_error_line(run_epoche(*judge_command("--no-resume")), 15)
    assert read_folder_bytes(workspace / "again") == before
    overwritten = run_epoche(*judge_command("--overwrite", judge=FIRST_JUDGE))
    rows = check_finished(overwritten, workspace / "again", code=27)
    assert remove_latency(rows) == remove_latency(read_rows(workspace / "run"))


def test_the_cost_limit_does_not_count_the_replies(
    scripted_server: ScriptedServer, tmp_path: Path, scripted_model: str
) -> None:
    folder = write_inputs(tmp_path, SAMPLE_COUNT)
    scripted_server.behave_with(make_scripted_model())
    prices = {
        scripted_model: {"prompt": 1e6, "completion": 1e6},
        SECOND_JUDGE: {"prompt": 1.0, "completion": 1.0},
        FIRST_JUDGE: {"prompt": 1.0, "completion": 1.0},
    }
    (folder / "prices.json").write_text(json.dumps(prices))
    priced = ("--prices", folder / "prices.json")
    command = online_command(folder, scripted_model, *priced, out="run", judge=FIRST_JUDGE)
    check_finished(run_epoche(*command), folder / "run")
    judge = ("skn", "judge", folder / "run", "--out", folder / "again", "--resamples", 100)
    options = ("--judge-model", SECOND_JUDGE, "--no-cache", "--concurrency", 1, *priced)
    line = check_error_line(run_epoche(*judge, *options, "--max-cost", 0.0001), 26)
    assert "--max-cost" in line
    n_votes = len((folder / "again" / VOTES).read_bytes().splitlines())
    assert 0 < n_votes < len((folder / "run" / VOTES).read_bytes().splitlines())
    check_finished(run_epoche(*judge, *options, "--max-cost", 1), folder / "again")
    calls = read_manifest(folder / "again")["calls"]
    assert calls["spent_usd"] < 1 < calls["cost_usd"]


@pytest.fixture
def unjudged_workspace(
    tmp_path: Path, scripted_server: ScriptedServer, scripted_model: str
) -> Path:
    """A workspace with a run in ``run`` that nobody judged, whose second search failed."""
    folder = write_inputs(tmp_path, SAMPLE_COUNT, missing_searches=[1])
    scripted_server.behave_with(make_scripted_model())
    command = online_command(folder, scripted_model, out="run", judge=None)
    result = run_epoche(*command)
    check_finished(result, folder / "run")
    assert "vote" not in result.err
    scripted_server.clear_log()
    return folder


def judge_run(workspace: Path, *options: object, out: str = "again") -> list[object]:
    folders = (workspace / "run", "--out", workspace / out)
    settings = ("--resamples", 100, "--no-cache", "--judge-model", SECOND_JUDGE)
    return ["skn", "judge", *folders, *settings, *options]


def test_an_unjudged_run_is_judged_later(
    scripted_server: ScriptedServer, unjudged_workspace: Path, scripted_model: str
) -> None:
    run = unjudged_workspace / "run"
    assert not (run / VOTES).exists()
    assert not any(row["verdicts"] for row in read_rows(run))
    result = run_epoche(*judge_run(unjudged_workspace))
    rows = check_finished(result, unjudged_workspace / "again")
    assert {find_request_role(request) for request in scripted_server.requests} <= JUDGE_ROLES
    assert remove_verdicts(rows) == read_rows(run)
    # The verdicts are those of a run that was judged at once.
    command = online_command(unjudged_workspace, scripted_model, out="at-once", judge=SECOND_JUDGE)
    at_once = check_finished(run_epoche(*command), unjudged_workspace / "at-once")
    assert remove_latency(rows) == remove_latency(at_once)
    reports = [
        json.loads((unjudged_workspace / name / "metrics.json").read_bytes())["report"]
        for name in ("run", "again", "at-once")
    ]
    signatures = [report["signature"].partition("judge:")[2] for report in reports]
    assert signatures[0].startswith("none|")
    assert signatures[1] == signatures[2]
    assert reports[0]["judges"] is None


def test_a_run_that_cannot_be_judged_is_refused(unjudged_workspace: Path) -> None:
    run = unjudged_workspace / "run"
    same = check_error_line(run_epoche(*judge_run(unjudged_workspace, out="run")), 15)
    assert "second judgement" in same or "made from" in same
    assert not (unjudged_workspace / "again").exists()
    assert run_epoche(*judge_run(unjudged_workspace)).code == 0
    shutil.copytree(unjudged_workspace / "again", unjudged_workspace / "other")
    lines = (run / REPLIES).read_bytes().splitlines(keepends=True)
    (run / REPLIES).write_bytes(b"".join(lines[:-1]))
    incomplete = check_error_line(run_epoche(*judge_run(unjudged_workspace, out="new")), 28)
    assert f"{len(lines) - 1} of {len(lines)} replies" in incomplete
    changed = lines[0].replace(b'"reasoning":"', b'"reasoning":"Also: ', 1)
    assert changed != lines[0]
    (run / REPLIES).write_bytes(b"".join([changed, *lines[1:]]))
    edited = check_error_line(run_epoche(*judge_run(unjudged_workspace, out="other")), 40)
    assert "replies.jsonl changed after the run" in edited
    manifest = {**read_manifest(run), "files_sha256": {}}
    write_edited_manifest(run / "manifest.json", manifest)
    other = check_error_line(run_epoche(*judge_run(unjudged_workspace, out="other")), 14)
    assert "other replies" in other
    write_edited_manifest(run / "manifest.json", {**manifest, "shard": "1/2"})
    shard = check_error_line(run_epoche(*judge_run(unjudged_workspace, out="new")), 19)
    assert "epoche merge" in shard


def test_rows_without_replies_are_not_replaced(unjudged_workspace: Path) -> None:
    assert run_epoche(*judge_run(unjudged_workspace)).code == 0
    out = unjudged_workspace / "again"
    (out / REPLIES).unlink()
    before = read_folder_bytes(out)
    refused = check_error_line(run_epoche(*judge_run(unjudged_workspace)), 15)
    assert f"rows.jsonl but no {REPLIES}" in refused
    assert read_folder_bytes(out) == {**before, REPLIES: b""}, "an empty file is the lock"
    assert run_epoche(*judge_run(unjudged_workspace, "--overwrite")).code == 0
    assert (out / REPLIES).read_bytes() == (unjudged_workspace / "run" / REPLIES).read_bytes()


def read_wrong_answers(folder: Path) -> dict[str, str]:
    return {row.id: str(row.wrong_answer) for row in read_anchors(folder / VOTES)}


def test_anchors_show_the_wrong_answers_of_the_first_judgement(
    tmp_path: Path, scripted_server: ScriptedServer, scripted_model: str
) -> None:
    folder = write_inputs(tmp_path, 12)
    scripted_server.behave_with(make_scripted_model())
    command = online_command(folder, scripted_model, "--limit", 3, out="run", judge=SECOND_JUDGE)
    assert run_epoche(*command).code == 0
    assert run_epoche(*judge_run(folder)).code == 0
    wrong_answers = read_wrong_answers(folder / "run")
    assert len(wrong_answers) > 1
    assert read_wrong_answers(folder / "again") == wrong_answers
