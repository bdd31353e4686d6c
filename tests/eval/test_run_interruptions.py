"""Tests that runs against a model server lose no answer if killed, interrupted or out of disk.

Results are compared byte for byte if all replies came from the cache. If a reply had to be fetched
again, everything is compared except the latencies.
"""

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
from typing import Any

import pytest
from forked_commands import Forker
from servers import behaviours
from servers.behaviours import ChatRequest
from servers.scripted_server import ScriptedServer
from stage_calls import (
    command_line,
    limit_file_size,
    run_process,
    wait_for_condition,
)

from eval.abstention.manifest import read_manifest

CARD_COUNT, REPEAT_COUNT, REQUESTS_AT_ONCE = 20, 2, 8
ROW_COUNT = CARD_COUNT * REPEAT_COUNT
KILL_COUNT = 50
# Rows have latencies, so that their hash differs, too.
TIME_AND_PLACE_KEYS = {
    "results",
    "started",
    "ended",
    "resumed",
    "rows_sha256",
    "line_digests",
    "content_sha256",
}
"""Manifest keys about the time and place of a run; they differ between runs with equal results."""
CUMULATIVE_KEYS = {"replies", "cached", "retries", "spent_usd"}
"""Manifest keys that count calls, not rows: a request repeated after a kill adds to them."""


def reply_with_delay(request: ChatRequest) -> behaviours.Behaviour:
    """Replies after 2 to 20 ms, so that answers arrive in another order than the requests."""
    return behaviours.normal_reply(
        delay=0.002 * (1 + len(request.prompt) * (request.number + 1) % 10)
    )


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted_server:
        yield scripted_server


@pytest.fixture
def cards(card_file: Callable[[int], Path]) -> Path:
    return card_file(CARD_COUNT)


def make_environment(server: ScriptedServer) -> dict[str, str]:
    return {"EPOCHE_BASE_URL": server.base_url, "EPOCHE_API_KEY": server.api_key}


def make_run_command(
    cards: Path, *flags: object, at_once: int = REQUESTS_AT_ONCE
) -> tuple[object, ...]:
    """Returns the command without ``--out``."""
    system = ("--system", "raw", "--model", f"custom/{ScriptedServer.model}")
    repeat_options = ("--repeat", REPEAT_COUNT, "--concurrency", at_once)
    return ("eval", "--cards", cards, *system, *repeat_options, *flags)


@pytest.fixture
def command_forker(server: ScriptedServer, cards: Path, tmp_path: Path) -> Iterator[Forker]:
    """Starts commands that send requests to ``server``, whose request log is empty."""
    server.behave(behaviours.normal_reply())
    with Forker(tmp_path, **make_environment(server)) as forker:
        warm_up_folder = tmp_path / "warm"
        forker.warm_up(*make_run_command(cards, "--out", warm_up_folder / "out.jsonl"))
        shutil.rmtree(warm_up_folder)
        server.clear_log()
        server.behave_with(reply_with_delay)
        yield forker


def read_rows(out: Path) -> list[dict[str, Any]]:
    """Returns the rows in file order, without latencies."""
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    for row in rows:
        assert row.pop("latency_s") >= 0
    return rows


def read_stable_manifest_values(out: Path) -> dict[str, Any]:
    """Returns the manifest values that no interruption may change."""
    manifest = json.loads(out.with_suffix(".manifest.json").read_bytes())
    stable_values = {
        key: value for key, value in manifest.items() if key not in TIME_AND_PLACE_KEYS
    }
    stable_values["calls"] = {
        k: v for k, v in stable_values["calls"].items() if k not in CUMULATIVE_KEYS
    }
    return stable_values


def read_complete_rows(out: Path) -> list[bytes]:
    """Returns the complete lines of a file that may be truncated or missing."""
    return out.read_bytes().split(b"\n")[:-1] if out.exists() else []


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.0005)


@pytest.mark.slow
def test_run_killed_at_50_moments_resumes(
    server: ScriptedServer, command_forker: Forker, cards: Path, tmp_path: Path
) -> None:
    reference = tmp_path / "reference" / "out.jsonl"
    assert command_forker.run(*make_run_command(cards, "--out", reference)) == 0
    expected_rows, expected_values = read_rows(reference), read_stable_manifest_values(reference)
    assert len(expected_rows) == ROW_COUNT
    assert expected_values["status"] == "complete"
    rng, partial_runs = random.Random(50), 0
    for number in range(KILL_COUNT):
        out = tmp_path / f"killed-{number}" / "out.jsonl"
        server.clear_log()
        process = command_forker.start(*make_run_command(cards, "--out", out))
        n_requests = rng.randrange(ROW_COUNT + 1)
        wait_until(lambda n=n_requests: len(server.requests) >= n)  # type: ignore[misc]
        time.sleep(rng.uniform(0, 0.03))
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() in {0, -signal.SIGKILL}  # 0: it had finished before the kill
        saved_rows = read_complete_rows(out)
        partial_runs += 0 < len(saved_rows) < ROW_COUNT
        assert command_forker.run(*make_run_command(cards, "--out", out)) == 0
        assert read_rows(out) == expected_rows
        assert read_stable_manifest_values(out) == expected_values
        assert set(saved_rows) <= set(out.read_bytes().split(b"\n")), (
            "existing rows must not change"
        )
        # Finished questions must not be asked again; only open requests may be repeated.
        assert len(server.requests) <= ROW_COUNT + REQUESTS_AT_ONCE
        # A kill while the result file is sorted leaves the temporary file of the sorted rows.
        names = {path.name for path in out.parent.iterdir() if not path.name.startswith(".out.")}
        assert names == {"out.jsonl", "out.manifest.json", "responses.sqlite"}
    assert partial_runs >= KILL_COUNT // 2


def test_same_cache_gives_identical_bytes(
    server: ScriptedServer, command_forker: Forker, cards: Path, tmp_path: Path
) -> None:
    reference = tmp_path / "reference" / "out.jsonl"
    assert command_forker.run(*make_run_command(cards, "--out", reference)) == 0
    server.clear_log()
    rng = random.Random(8)
    for number in range(8):
        out = tmp_path / f"killed-{number}" / "out.jsonl"
        out.parent.mkdir()
        shutil.copy(reference.with_name("responses.sqlite"), out.parent)
        process = command_forker.start(*make_run_command(cards, "--out", out))
        n_rows = rng.randrange(1, ROW_COUNT)
        wait_until(lambda out=out, n=n_rows: len(read_complete_rows(out)) >= n)  # type: ignore[misc]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert command_forker.run(*make_run_command(cards, "--out", out)) == 0
        assert out.read_bytes() == reference.read_bytes()
    assert not server.requests


def test_two_runs_at_once_share_one_cache(
    server: ScriptedServer, command_forker: Forker, cards: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "shared.sqlite"
    outs = [tmp_path / name / "out.jsonl" for name in ("one", "two", "later")]
    command = make_run_command(cards, "--cache", cache)
    processes = [command_forker.start(*command, "--out", out) for out in outs[:2]]
    assert [process.wait() for process in processes] == [0, 0]
    assert ROW_COUNT <= len(server.requests) <= 2 * ROW_COUNT
    server.clear_log()
    assert command_forker.run(*command, "--out", outs[2]) == 0
    assert not server.requests, "all replies are in the cache"
    first_bytes, second_bytes, third_bytes = (out.read_bytes() for out in outs)
    assert first_bytes == second_bytes == third_bytes
    assert {read_stable_manifest_values(out)["counts"]["ERROR"] for out in outs} == {0}
    assert {path.name for path in tmp_path.glob("shared*")} == {"shared.sqlite"}


def test_cache_of_a_killed_run_serves_another_run(
    server: ScriptedServer, command_forker: Forker, cards: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "shared.sqlite"
    killed_out, other_out = (tmp_path / name / "out.jsonl" for name in ("one", "two"))
    command = make_run_command(cards, "--cache", cache)
    killed_process, other_process = (
        command_forker.start(*command, "--out", killed_out),
        command_forker.start(*command, "--out", other_out),
    )
    wait_until(lambda: len(read_complete_rows(killed_out)) > ROW_COUNT // 4)
    os.kill(killed_process.pid, signal.SIGKILL)
    killed_process.wait()
    assert other_process.wait() == 0
    assert command_forker.run(*command, "--out", killed_out) == 0
    assert read_rows(killed_out) == read_rows(other_out)


@pytest.mark.parametrize(("sent_signal", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_with_64_requests_in_flight(
    server: ScriptedServer,
    command_forker: Forker,
    card_file: Callable[[int, str], Path],
    tmp_path: Path,
    sent_signal: signal.Signals,
    code: int,
) -> None:
    cards = card_file(100, "hundred.jsonl")
    out, reference = tmp_path / "out" / "out.jsonl", tmp_path / "right" / "out.jsonl"
    command = make_run_command(cards, at_once=64)
    server.behave(behaviours.normal_reply())
    assert command_forker.run(*command, "--out", reference) == 0
    server.clear_log()
    # The first 30 requests are answered, all others hang.
    server.behave_with(
        lambda request: (
            behaviours.normal_reply() if request.number < 30 else behaviours.never_reply()
        )
    )
    with subprocess.Popen(
        command_line(*command, "--out", out),
        cwd=tmp_path,
        env={**os.environ, **make_environment(server)},
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_condition(
            lambda: server.in_flight == 64 and len(read_complete_rows(out)) == 30, process
        )
        process.send_signal(sent_signal)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == code
    wait_until(lambda: server.in_flight == 0)
    last_line = stderr.decode().splitlines()[-1:]
    if sent_signal == signal.SIGINT:
        assert last_line == ["interrupted: what was finished is saved"]
    assert b"Traceback" not in stderr
    saved_rows = read_complete_rows(out)
    assert len(saved_rows) == 30
    manifest = read_manifest(out.with_suffix(".manifest.json"))
    assert manifest.status == "interrupted"
    assert sum(manifest.counts.values()) == 30
    assert manifest.counts["ERROR"] == 0
    server.behave(behaviours.normal_reply())
    assert command_forker.run(*command, "--out", out) == 0
    assert read_rows(out) == read_rows(reference)
    assert read_stable_manifest_values(out) == read_stable_manifest_values(reference)
    assert set(saved_rows) <= set(out.read_bytes().split(b"\n"))


def test_full_disk_for_the_cache_loses_no_answer(
    server: ScriptedServer, command_forker: Forker, cards: Path, tmp_path: Path
) -> None:
    out, reference = tmp_path / "out" / "out.jsonl", tmp_path / "right" / "out.jsonl"
    assert command_forker.run(*make_run_command(cards, "--out", reference)) == 0
    # Enough disk space for the results and a new cache, but not for all replies in the cache.
    max_bytes = 60_000
    assert reference.stat().st_size < max_bytes
    result = run_process(
        limit_file_size(command_line(*make_run_command(cards, "--out", out)), max_bytes),
        tmp_path,
        **make_environment(server),
    )
    assert result.code == 0, result.err
    assert "replies are no longer cached" in result.err
    assert read_rows(out) == read_rows(reference)
    server.clear_log()
    second_out = tmp_path / "again.jsonl"
    cache = ("--cache", out.with_name("responses.sqlite"))
    assert command_forker.run(*make_run_command(cards, *cache, "--out", second_out)) == 0
    assert read_rows(second_out) == read_rows(reference)
