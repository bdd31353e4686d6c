"""Tests the benchmark of whole runs, with few cards and without the compared tools."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import bench_runner
import pytest
import runner_rivals

SCRIPT = Path(bench_runner.__file__)


def run_bench(*flags: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, flags)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_every_flag_has_an_effect() -> None:
    tool_flags = ("--only", "bare loop", "ours", "lm-eval")
    size_flags = ("--items", 30, "--concurrency", 3, "--delay-ms", 40, "--runs", 1)
    process = run_bench(
        *size_flags, *tool_flags, "--harness-python", "/nowhere/bin/python", "--json"
    )
    assert process.returncode == 0, process.stderr
    measurements: dict[str, dict[str, dict[str, Any]]] = json.loads(process.stdout)
    assert list(measurements) == ["3"]
    assert list(measurements["3"]) == ["bare loop", "ours"]
    for row in measurements["3"].values():
        assert row["in_flight"] == 3
        # 30 questions, 3 at a time, 40 ms each, take at least 0.4 s.
        assert row["wall_s"] > row["asking_s"] > 0.39
        assert row["items_s"] == pytest.approx(30 / row["wall_s"])
        assert row["cpu_s"] > 0.1
        assert 20 < row["peak_mb"] < 1_000
    assert "lm-eval is not measured" in process.stderr
    assert "/nowhere/bin/pip install" in process.stderr


def test_table_compares_speed_and_memory_with_each_tool(capsys: pytest.CaptureFixture[str]) -> None:
    def make_row(items_s: float, peak_mb: float) -> bench_runner.Measurement:
        return bench_runner.Measurement(items_s, 2.0, 4.0, 3.0, peak_mb, 64, 0.4)

    flags = bench_runner.read_flags(["--items", "2000"])
    rows = {
        "bare loop": make_row(1_000, 60),
        "ours": make_row(950, 80),
        "inspect-ai": make_row(75, 240),
        "lm-eval": make_row(190, 400),
    }
    bench_runner.print_table(rows, flags, 64)
    printed = capsys.readouterr().out
    # 64 requests at a time, answered after the default 50 ms, allow at most 1,280 items/s.
    assert "1,280 items/s" in printed
    assert "95% of its items/s" in printed
    assert "5.0 × its items/s" in printed
    assert "0.33 × its memory" in printed


def test_runner_that_loses_questions_gives_no_result(tmp_path: Path) -> None:
    flags = bench_runner.read_flags(["--items", "5"])
    questions = bench_runner.write_questions(tmp_path, 4)
    with pytest.raises(
        SystemExit, match="was given 5 questions, sent 4 requests and logged 4 answers"
    ):
        bench_runner.run_once("bare loop", questions, flags, 2)


def test_missing_rival_tools_are_named() -> None:
    assert runner_rivals.how_to_install("ours", None) is None
    for name in runner_rivals.PACKAGES:
        assert "pip install" in str(runner_rivals.how_to_install(name, None))
