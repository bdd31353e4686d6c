"""Runs that are interrupted, out of disk space, started twice or stopped by a limit lose no row."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
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
    offline_command,
    online_command,
    read_output_files,
    read_rows,
    remove_latency,
    write_inputs,
)
from stage_calls import (
    check_error_line,
    command_line,
    limit_file_size,
    run_epoche,
    run_process,
    wait_for_condition,
)

# A run with --ablation has eight formats, so it writes eight rows per sample.
SAMPLE_COUNT = 4
LARGE_SAMPLE_COUNT = 72
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


@pytest.fixture(scope="module")
def large_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a finished run that takes long enough to be interrupted."""
    folder = write_inputs(
        tmp_path_factory.mktemp("large"),
        LARGE_SAMPLE_COUNT,
        empty_searches=[3],
        missing_searches=[4],
    )
    assert run_epoche(*offline_command(folder)).code == 0
    return folder


def test_truncated_last_line_is_asked_again(large_workspace: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(large_workspace, tmp_path / "torn")
    for name in ("rows.jsonl", "anchors.jsonl"):
        path = folder / "out" / name
        path.write_bytes(path.read_bytes()[:-40])
    assert run_epoche(*offline_command(folder)).code == 0
    assert read_output_files(folder / "out") == read_output_files(large_workspace / "out")


def stop_after_rows(
    workspace: Path, row_count: int, stop_signal: signal.Signals, *options: object
) -> tuple[int, bytes]:
    """Runs the command and sends it the signal as soon as ``row_count`` rows are written.

    Returns the exit code and stderr.
    """
    rows = workspace / "out" / "rows.jsonl"
    with subprocess.Popen(
        command_line(*offline_command(workspace, *options)),
        cwd=workspace,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_condition(
            lambda: rows.exists() and rows.read_bytes().count(b"\n") >= row_count,
            process,
        )
        process.send_signal(stop_signal)
        _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr


@pytest.mark.parametrize(
    ("stop_signal", "row_count", "code"),
    [
        (signal.SIGKILL, 60, -signal.SIGKILL),
        (signal.SIGINT, 30, 130),
    ],
)
def test_interrupted_run_resumes_to_the_same_bytes(
    large_workspace: Path, tmp_path: Path, stop_signal: signal.Signals, row_count: int, code: int
) -> None:
    for name in ("samples.json", "search.jsonl"):
        shutil.copy(large_workspace / name, tmp_path)
    exit_code, stderr = stop_after_rows(tmp_path, row_count, stop_signal)
    assert exit_code == code, stderr
    out = tmp_path / "out"
    finished_rows = [
        line for line in (out / "rows.jsonl").read_bytes().splitlines(True) if line[-1:] == b"\n"
    ]
    assert row_count <= len(finished_rows) < LARGE_SAMPLE_COUNT * 8
    if stop_signal != signal.SIGKILL:
        manifest = json.loads((out / "manifest.json").read_bytes())
        assert manifest["status"] == "interrupted"
        assert sum(manifest["counts"].values()) == len(finished_rows)
    if stop_signal == signal.SIGINT:
        assert stderr.decode().splitlines()[-1] == "interrupted: what was finished is saved"
    assert not (out / "metrics.json").exists(), "an incomplete run has no final outputs"
    assert run_epoche(*offline_command(tmp_path)).code == 0
    assert read_output_files(out) == read_output_files(large_workspace / "out")


def test_a_second_run_on_the_folder_is_refused(large_workspace: Path, tmp_path: Path) -> None:
    for name in ("samples.json", "search.jsonl"):
        shutil.copy(large_workspace / name, tmp_path)
    rows = tmp_path / "out" / "rows.jsonl"
    with subprocess.Popen(
        command_line(*offline_command(tmp_path)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for_condition(lambda: rows.exists() and b"\n" in rows.read_bytes(), process)
        os.kill(process.pid, signal.SIGSTOP)
        try:
            assert "another run" in check_error_line(run_epoche(*offline_command(tmp_path)), 15)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        assert process.wait(60) == 0
    assert read_output_files(tmp_path / "out") == read_output_files(large_workspace / "out")


def test_full_disk_loses_no_row(large_workspace: Path, tmp_path: Path) -> None:
    for name in ("samples.json", "search.jsonl"):
        shutil.copy(large_workspace / name, tmp_path)
    # A limit on the file size simulates the full disk.
    result = run_process(
        limit_file_size(command_line(*offline_command(tmp_path)), 60_000), tmp_path
    )
    assert "cannot write" in check_error_line(result, 15)
    rows = tmp_path / "out" / "rows.jsonl"
    assert rows.read_bytes().endswith(b"\n")
    assert json.loads((rows.parent / "manifest.json").read_bytes())["status"] == "failed"
    assert run_epoche(*offline_command(tmp_path)).code == 0
    assert read_output_files(tmp_path / "out") == read_output_files(large_workspace / "out")


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
    assert all(row in rows for row in earlier_rows)


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
    names = sorted({*PUBLISHED_FILES, "rows.jsonl", "anchors.jsonl", "categories.csv"})
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
        rows = out / "rows.jsonl"
        row_count = rng.randrange(1, SAMPLE_COUNT * 2)
        deadline = time.monotonic() + 30
        while not (rows.exists() and rows.read_bytes().count(b"\n") >= row_count):
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
