"""Kills runs while models answer and judge; other interruptions: ``tests/eval/harness``."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from forked_commands import Forker
from servers.scripted_server import ScriptedServer
from skn_run_parts import (
    PUBLISHED_FILES,
    make_scripted_model,
    online_command,
    read_rows,
    remove_latency,
    write_inputs,
)

from eval.harness.reply import REPLIES, VOTES

SAMPLE_COUNT = 4


def read_outputs(out: Path) -> dict[str, bytes]:
    """Returns rows and outputs; the report is left out because it contains times."""
    names = sorted({*PUBLISHED_FILES, "rows.jsonl", REPLIES, VOTES, "categories.csv"})
    return {name: (out / name).read_bytes() for name in names}


@pytest.mark.slow
def test_run_killed_at_any_moment_resumes_to_the_same_bytes(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    workspace = write_inputs(tmp_path, SAMPLE_COUNT)

    def make_arguments(name: str) -> list[object]:
        # The cache is on, because the second killed run gets the cache of the reference run.
        options = ("--concurrency", 8)
        arguments = online_command(
            workspace, scripted_model, *options, out=name, judge="custom/judge-1"
        )
        return [argument for argument in arguments if argument != "--no-cache"]

    environment = {
        "EPOCHE_BASE_URL": scripted_server.base_url,
        "EPOCHE_API_KEY": scripted_server.api_key,
    }
    scripted_server.behave_with(make_scripted_model())
    with Forker(workspace, **environment) as command_forker:
        command_forker.warm_up(*make_arguments("reference"))
        reference_outputs = read_outputs(workspace / "reference")
        scripted_server.behave_with(make_scripted_model(delay=0.002))
        rng = random.Random(5)
        interrupted_runs = 0
        for number in range(3):
            out = workspace / f"killed-{number}"
            if number % 2:
                # This run uses the cache of the reference run. Cached replies keep their
                # latencies, so even these are equal.
                out.mkdir()
                shutil.copy(workspace / "reference" / "responses.sqlite", out)
            process = command_forker.start(*make_arguments(out.name))
            # Killed while pipelines are asked, while judges vote, and once more the former.
            journal = out / (VOTES if number == 1 else REPLIES)
            n_lines = rng.randrange(1, SAMPLE_COUNT * 2)
            deadline = time.monotonic() + 30
            while not (journal.exists() and journal.read_bytes().count(b"\n") >= n_lines):
                assert time.monotonic() < deadline
                time.sleep(0.001)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            interrupted_runs += not (
                out / "summary.txt"
            ).exists()  # only a finished run has a summary
            assert command_forker.run(*make_arguments(out.name)) == 0
            if number % 2:
                assert read_outputs(out) == reference_outputs
            assert remove_latency(read_rows(out)) == remove_latency(
                read_rows(workspace / "reference")
            )
        assert interrupted_runs == 3
