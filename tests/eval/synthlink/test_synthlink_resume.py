"""Tests that runs with a model that fails, costs too much or is killed lose no reply."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from forked_commands import Forker
from servers import behaviours
from servers.behaviours import Behaviour, ChatRequest
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, run_epoche
from synthlink_run_parts import (
    check_finished,
    load_predictions,
    make_scripted_model,
    online_command,
    question_id,
    question_number,
    read_manifest,
    read_output_files,
    read_rows,
    remove_latency,
    write_inputs,
)

from eval.harness.reply import REPLIES

QUESTION_COUNT = 6


def wait_for_replies(out: Path, count: int) -> None:
    """Waits until a run has written ``count`` replies."""
    replies, deadline = out / REPLIES, time.monotonic() + 30
    while not (replies.exists() and replies.read_bytes().count(b"\n") >= count):
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def small_workspace(tmp_path: Path) -> Path:
    return write_inputs(tmp_path, QUESTION_COUNT)


def test_unusable_model_ends_the_run_which_can_be_resumed(
    scripted_server: ScriptedServer, small_workspace: Path, scripted_model: str
) -> None:
    out = small_workspace / "out"
    scripted_server.behave(behaviours.expired_key_error())
    assert "key" in check_error_line(
        run_epoche(*online_command(small_workspace, scripted_model)), 23
    )
    assert read_rows(out) == []
    assert not (out / "predictions.json").exists()
    working_model = make_scripted_model()
    request_numbers = iter(range(10_000))
    scripted_server.behave_with(
        lambda request: (
            working_model(request) if next(request_numbers) < 7 else behaviours.expired_key_error()
        )
    )
    assert "key" in check_error_line(
        run_epoche(*online_command(small_workspace, scripted_model, "--concurrency", 1)), 23
    )
    earlier_rows = read_rows(out)
    assert 0 < len(earlier_rows) < QUESTION_COUNT
    scripted_server.behave_with(working_model)
    rows = check_finished(run_epoche(*online_command(small_workspace, scripted_model)), out)
    assert len(rows) == QUESTION_COUNT
    assert all(row in rows for row in earlier_rows)


def test_failed_call_is_an_error_and_repeated_on_request(
    scripted_server: ScriptedServer, small_workspace: Path, scripted_model: str
) -> None:
    out, working_model = small_workspace / "out", make_scripted_model()
    # Whether a request of question 2 fails: the first does not, every later one does.
    failure_flags = iter([False])

    def fail_one_question(request: ChatRequest) -> Behaviour:
        """Fails one question in its second round."""
        fails = question_number(request) == 2 and next(failure_flags, True)
        return behaviours.http_error(500) if fails else working_model(request)

    scripted_server.behave_with(fail_one_question)
    result = run_epoche(*online_command(small_workspace, scripted_model))
    rows = check_finished(result, out)
    failed = [row for row in rows if row["outcome"] == "ERROR"]
    assert [row["id"] for row in failed] == [question_id(2)]
    assert failed[0]["usage"]["prompt_tokens"] > 0
    assert "the server cannot answer" in failed[0]["error"]
    assert "--retry-errors" in result.err
    assert len(load_predictions(out)) == QUESTION_COUNT - 1
    scripted_server.behave_with(working_model)
    scripted_server.clear_log()
    assert check_finished(run_epoche(*online_command(small_workspace, scripted_model)), out) == rows
    assert not scripted_server.requests, "errors are retried only with --retry-errors"
    retried = check_finished(
        run_epoche(*online_command(small_workspace, scripted_model, "--retry-errors")), out
    )
    assert {row["outcome"] for row in retried} == {"ANSWERED"}
    assert [row for row in retried if row["id"] != question_id(2)] == [
        row for row in rows if row["id"] != question_id(2)
    ]
    assert len(load_predictions(out)) == QUESTION_COUNT
    prompt_tokens = sum(row["usage"]["prompt_tokens"] for row in retried)
    assert read_manifest(out)["calls"]["prompt_tokens"] == prompt_tokens, (
        "only the calls of the current rows are counted"
    )


def test_too_many_consecutive_errors_end_the_run(
    scripted_server: ScriptedServer, small_workspace: Path, scripted_model: str
) -> None:
    scripted_server.behave(behaviours.http_error(500))
    run_options = ("--concurrency", 1, "--max-consecutive-errors", 3)
    assert "3 questions in a row" in check_error_line(
        run_epoche(*online_command(small_workspace, scripted_model, *run_options)), 27
    )
    assert len(read_rows(small_workspace / "out")) == 3


def test_run_stops_at_max_cost(
    scripted_server: ScriptedServer, small_workspace: Path, scripted_model: str
) -> None:
    scripted_server.behave_with(make_scripted_model())
    price = {"prompt": 1_000.0, "completion": 1_000.0}
    (small_workspace / "prices.json").write_text(json.dumps({scripted_model: price}))
    run_options = ("--prices", small_workspace / "prices.json", "--concurrency", 1)
    line = check_error_line(
        run_epoche(*online_command(small_workspace, scripted_model, *run_options, "--max-cost", 2)),
        26,
    )
    assert "--max-cost" in line
    earlier_rows = read_rows(small_workspace / "out")
    assert 0 < len(earlier_rows) < QUESTION_COUNT
    assert earlier_rows[0]["usage"]["cost_usd"] > 0
    result = run_epoche(
        *online_command(small_workspace, scripted_model, *run_options, "--max-cost", 1_000)
    )
    rows = check_finished(result, small_workspace / "out")
    assert len(rows) == QUESTION_COUNT
    assert all(row in rows for row in earlier_rows)
    calls = read_manifest(small_workspace / "out")["calls"]
    assert calls["cost_usd"] == pytest.approx(sum(row["usage"]["cost_usd"] for row in rows))


def test_run_killed_at_any_moment_resumes_to_the_same_bytes(
    scripted_server: ScriptedServer, small_workspace: Path, scripted_model: str
) -> None:
    # The cache is on, because the second killed run gets the cache of the reference run.
    def make_arguments(name: str) -> list[object]:
        return [
            argument
            for argument in online_command(small_workspace, scripted_model, out=name)
            if argument != "--no-cache"
        ]

    environment = {
        "EPOCHE_BASE_URL": scripted_server.base_url,
        "EPOCHE_API_KEY": scripted_server.api_key,
    }
    scripted_server.behave_with(make_scripted_model())
    with Forker(small_workspace, **environment) as forker:
        # The run that warms up the forker is also the reference run.
        forker.warm_up(*make_arguments("reference"))
        reference_outputs = read_output_files(small_workspace / "reference")
        scripted_server.behave_with(make_scripted_model(delay=0.003))
        rng = random.Random(5)
        for number in range(2):
            out = small_workspace / f"killed-{number}"
            if number % 2:
                # This run uses the cache of the reference run. Cached replies keep their
                # latencies, so even these are equal.
                out.mkdir()
                shutil.copy(small_workspace / "reference" / "responses.sqlite", out)
            process = forker.start(*make_arguments(out.name))
            wait_for_replies(out, rng.randrange(1, QUESTION_COUNT))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert forker.run(*make_arguments(out.name)) == 0
            if number % 2:
                outputs = read_output_files(out)
                assert outputs["rows.jsonl"] == reference_outputs["rows.jsonl"]
            assert (out / "predictions.json").read_bytes() == reference_outputs["predictions.json"]
            assert list(map(remove_latency, read_rows(out))) == list(
                map(remove_latency, read_rows(small_workspace / "reference"))
            )
