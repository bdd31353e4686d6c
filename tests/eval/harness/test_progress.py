"""Tests that long runs print a progress line every ten seconds and short runs print none."""

from __future__ import annotations

import pytest

from eval.harness import progress
from eval.harness.progress import RunProgress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_are_printed_every_ten_seconds(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    # 6,000 answers at 128 per second take 47 seconds, so four lines are due.
    with RunProgress("kg", 18_000) as run_progress:
        for number in range(6_000):
            clock[0] += 1 / 128
            # Answers 7 and 3,007 fail. From answer 3,000 on, a total of 0.25 USD has been spent.
            run_progress.count_answer(
                failed=number % 3_000 == 7, spent_usd=None if number < 3_000 else 0.25
            )
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[0] == "kg: 1,280/18,000 · 128.0/s · 1 error · 2:11 left"
    assert lines[3] == "kg: 5,120/18,000 · 128.0/s · 2 errors · 0.2500 USD · 1:41 left"


def test_short_runs_are_silent(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress("kg", 10) as run_progress:
        for _ in range(10):
            clock[0] += 0.9
            run_progress.count_answer(failed=False, spent_usd=None)
    assert capsys.readouterr().err == ""


def test_run_without_answers_prints_progress(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with RunProgress("a\x1b[31m", 5) as run_progress:
        clock[0] += 11
        run_progress.show_if_due()
    assert capsys.readouterr().err == "a[31m: 0/5\n"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(5, "0:05"), (3599.6, "1:00:00"), (90061, "25:01:01")]
)
def test_remaining_time_is_formatted(seconds: float, expected: str) -> None:
    assert progress._format_duration(seconds) == expected


def test_slow_runs_show_the_seconds_of_one_question(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with RunProgress("agent", 12) as run_progress:
        clock[0] += 44
        run_progress.count_answer(failed=False, spent_usd=None)
    assert capsys.readouterr().err == "agent: 1/12 · 44 s each · 8:04 left\n"
