"""Tests that the judgement of answers made elsewhere is resumed: ``epoche skn score``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from skn_run_parts import check_finished, make_failing_model, make_scripted_model, write_inputs
from stage_calls import check_error_line, read_folder_bytes, run_epoche

from eval.harness.reply import REPLIES, VOTES

SAMPLE_COUNT = 4
JUDGE = "custom/judge-1"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = write_inputs(tmp_path, SAMPLE_COUNT)
    write_answers(folder, "Because of an open cursor.")
    return folder


def write_answers(folder: Path, answer: str) -> None:
    """Answers all questions but the last."""
    samples = json.loads((folder / "samples.json").read_bytes())
    lines = [json.dumps({"id": sample["id"], "answer": answer}) for sample in samples[:-1]]
    (folder / "own.jsonl").write_text("\n".join(lines) + "\n")


def score(workspace: Path, *options: object, judge: str = JUDGE) -> list[object]:
    inputs = ("--dataset", workspace / "samples.json", "--search", workspace / "search.jsonl")
    files = ("--predictions", f"own={workspace / 'own.jsonl'}", "--out", workspace / "out")
    settings = ("--resamples", 100, "--retries", 0, "--no-cache", "--judge-model", judge)
    return ["skn", "score", *inputs, *files, *settings, *options]


def test_an_interrupted_judgement_of_predictions_is_resumed(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave(behaviours.expired_key_error())
    check_error_line(run_epoche(*score(workspace)), 23)
    replies = (workspace / "out" / REPLIES).read_bytes()
    assert replies.count(b"\n") == SAMPLE_COUNT
    scripted_server.behave_with(make_scripted_model())
    check_error_line(run_epoche(*score(workspace, judge="custom/judge-2")), 14)
    done = run_epoche(*score(workspace))
    check_finished(done, workspace / "out")
    assert f"\n{SAMPLE_COUNT} rows → " in done.out
    assert (workspace / "out" / REPLIES).read_bytes() == replies
    assert (workspace / "out" / VOTES).read_bytes()
    assert json.loads((workspace / "out" / "manifest.json").read_bytes())["resumed"] > 0
    before = read_folder_bytes(workspace / "out")
    check_error_line(run_epoche(*score(workspace)), 15)
    assert read_folder_bytes(workspace / "out") == before, "a finished run is not replaced"


def test_ids_of_the_published_samples_need_the_data_set(workspace: Path) -> None:
    lines = [json.dumps({"id": number, "answer": "It is open."}) for number in range(1, 51)]
    (workspace / "own.jsonl").write_text("\n".join(lines))
    files = ("--predictions", f"own={workspace / 'own.jsonl'}", "--out", workspace / "out")
    error = check_error_line(run_epoche("skn", "score", *files, "--no-judge"), 12)
    assert "--dataset" in str(error)
    own = ("--dataset", workspace / "samples.json")
    error = check_error_line(run_epoche("skn", "score", *files, *own, "--no-judge"), 12)
    assert "--dataset" not in str(error)


def test_other_predictions_do_not_resume_a_judgement(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave(behaviours.expired_key_error())
    check_error_line(run_epoche(*score(workspace)), 23)
    before = read_folder_bytes(workspace / "out")
    write_answers(workspace, "Because of something else.")
    check_error_line(run_epoche(*score(workspace)), 15)
    assert read_folder_bytes(workspace / "out") == before


def test_lost_votes_are_reported_with_a_flag_that_exists(
    scripted_server: ScriptedServer, scripted_model: str, workspace: Path
) -> None:
    scripted_server.behave_with(make_failing_model("accuracy", behaviours.http_error(500)))
    done = run_epoche(*score(workspace))
    assert "lack a judge's vote; --overwrite" in done.err
    assert "--retry-errors" not in done.err
    scripted_server.behave_with(make_scripted_model())
    again = run_epoche(*score(workspace, "--overwrite"))
    check_finished(again, workspace / "out")
    assert "lack a judge's vote" not in again.err
