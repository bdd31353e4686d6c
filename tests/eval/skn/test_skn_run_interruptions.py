"""Runs with models that are killed, or stopped by a limit or an unusable model, lose no reply.

What all benchmarks promise of interrupted runs is tested in ``tests/eval/harness``.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forked_commands import Forker
from servers import behaviours
from servers.scripted_server import ScriptedServer
from skn_run_parts import (
    PUBLISHED_FILES,
    check_finished,
    make_failing_model,
    make_scripted_model,
    online_command,
    read_rows,
    remove_latency,
    write_inputs,
)
from stage_calls import check_error_line, run_epoche

from eval.harness.reply import REPLIES, VOTES

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


def test_unusable_model_ends_the_run_which_can_be_resumed(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    out = workspace / "out"
    scripted_server.behave(behaviours.expired_key_error())
    assert "key" in check_error_line(run_epoche(*run_arguments()), 23)
    assert read_rows(out) == []
    scripted_server.behave_with(make_failing_model("skn", behaviours.http_error(500)))
    earlier_rows = check_finished(run_epoche(*run_arguments()), out)
    scripted_server.behave(behaviours.expired_key_error())
    check_error_line(run_epoche(*run_arguments("--retry-errors")), 23)
    assert len(read_rows(out)) == SAMPLE_COUNT
    assert not any((out / name).exists() for name in PUBLISHED_FILES), (
        "outputs of outdated rows must be deleted"
    )
    scripted_server.behave_with(make_scripted_model())
    rows = check_finished(run_epoche(*run_arguments()), out)
    assert len(rows) == len(earlier_rows) == 2 * SAMPLE_COUNT
    assert "ERROR" not in {row["outcome"] for row in rows}


def test_too_many_consecutive_errors_end_the_run(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    scripted_server.behave_with(make_failing_model("skn", behaviours.http_error(500)))
    arguments = run_arguments("--ablation", "--concurrency", 1, "--max-consecutive-errors", 3)
    line = check_error_line(run_epoche(*arguments), 27)
    assert "3 questions in a row" in line
    assert len(read_rows(workspace / "out")) < SAMPLE_COUNT * 8
    assert not (workspace / "out" / "metrics.json").exists()


def test_run_stops_at_max_cost(
    scripted_server: ScriptedServer, workspace: Path, run_arguments: Callable[..., list[object]]
) -> None:
    scripted_server.behave_with(make_scripted_model())
    price = {"prompt": 1_000.0, "completion": 1_000.0}
    (workspace / "prices.json").write_text(
        json.dumps({"custom/scripted-1": price, "custom/judge-1": price})
    )
    arguments = run_arguments("--prices", workspace / "prices.json", "--concurrency", 1)
    line = check_error_line(run_epoche(*arguments, "--max-cost", 1), 26)
    assert "--max-cost" in line
    earlier_rows = read_rows(workspace / "out")
    assert 0 < len(earlier_rows) < 2 * SAMPLE_COUNT
    assert earlier_rows[0]["usage"]["cost_usd"] > 0
    rows = check_finished(run_epoche(*arguments, "--max-cost", 1_000), workspace / "out")
    assert len(rows) == 2 * SAMPLE_COUNT
    unjudged = [{**row, "verdicts": None} for row in rows]
    assert all({**row, "verdicts": None} in unjudged for row in earlier_rows)


@pytest.fixture
def command_forker(
    scripted_server: ScriptedServer, workspace: Path, scripted_model: str
) -> Iterator[Forker]:
    with Forker(
        workspace, EPOCHE_BASE_URL=scripted_server.base_url, EPOCHE_API_KEY=scripted_server.api_key
    ) as forker:
        yield forker


def read_outputs(out: Path) -> dict[str, bytes]:
    """Returns rows and outputs; the report is left out because it contains times."""
    names = sorted({*PUBLISHED_FILES, "rows.jsonl", REPLIES, VOTES, "categories.csv"})
    return {name: (out / name).read_bytes() for name in names}


def test_run_killed_at_any_moment_resumes_to_the_same_bytes(
    scripted_server: ScriptedServer,
    command_forker: Forker,
    workspace: Path,
    run_arguments: Callable[..., list[object]],
) -> None:
    # The cache is on, because the second killed run gets the cache of the reference run.
    arguments = [
        argument for argument in run_arguments("--concurrency", 8) if argument != "--no-cache"
    ]
    out_position = arguments.index("--out") + 1

    def make_arguments(name: str) -> list[object]:
        return [*arguments[:out_position], workspace / name, *arguments[out_position + 1 :]]

    scripted_server.behave_with(make_scripted_model())
    command_forker.warm_up(*make_arguments("reference"))
    reference_outputs = read_outputs(workspace / "reference")
    scripted_server.behave_with(make_scripted_model(delay=0.002))
    rng = random.Random(5)
    interrupted_runs = 0
    for number in range(3):
        out = workspace / f"killed-{number}"
        if number % 2:
            # This run uses the cache of the reference run. Cached replies keep their latencies, so
            # even these are equal.
            out.mkdir()
            shutil.copy(workspace / "reference" / "responses.sqlite", out)
        process = command_forker.start(*make_arguments(out.name))
        # Killed while pipelines are asked, while judges vote, and while pipelines are asked again.
        journal = out / (VOTES if number == 1 else REPLIES)
        n_lines = rng.randrange(1, SAMPLE_COUNT * 2)
        deadline = time.monotonic() + 30
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= n_lines):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        interrupted_runs += not (out / "summary.txt").exists()  # only a finished run has a summary
        assert command_forker.run(*make_arguments(out.name)) == 0
        if number % 2:
            assert read_outputs(out) == reference_outputs
        assert remove_latency(read_rows(out)) == remove_latency(read_rows(workspace / "reference"))
    assert interrupted_runs == 3
