"""Runs that are stopped, starved, doubled, or may go no further: none loses a row."""

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
from servers import behaviours as does
from servers.scripted_server import ScriptedServer
from skn_run_parts import (
    SIX,
    broken,
    ended,
    files_of,
    model,
    offline,
    online,
    rows_of,
    shop_of,
    untimed,
)
from stage_calls import call, command, epoche, error_line, starved, wait_for

COUNT = 4
LARGE = 72
JUDGE = "custom/judge-1"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return shop_of(tmp_path, COUNT)


@pytest.fixture
def asking(shop: Path, scripted_model: str) -> Callable[..., list[object]]:
    """The command, with another judge than the model that answers."""

    def arguments(*more: object, out: str = "out", judge: str = JUDGE) -> list[object]:
        return online(shop, scripted_model, *more, out=out, judge=judge)

    return arguments


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop whose run takes long enough to be stopped, with that run."""
    shop = shop_of(tmp_path_factory.mktemp("large"), LARGE, empty=[3], lost=[4])
    assert epoche(*offline(shop)).code == 0
    return shop


def test_a_torn_last_line_is_asked_again(large: Path, tmp_path: Path) -> None:
    shop = shutil.copytree(large, tmp_path / "torn")
    for name in ("rows.jsonl", "anchors.jsonl"):
        path = shop / "out" / name
        path.write_bytes(path.read_bytes()[:-40])
    assert epoche(*offline(shop)).code == 0
    assert files_of(shop / "out") == files_of(large / "out")


def killed_at(shop: Path, lines: int, sent: signal.Signals, *more: object) -> tuple[int, bytes]:
    """Runs in a process that gets a signal as soon as there are so many rows."""
    rows = shop / "out" / "rows.jsonl"
    with subprocess.Popen(
        command(*offline(shop, *more)),
        cwd=shop,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for(
            lambda: rows.exists() and rows.read_bytes().count(b"\n") >= lines,
            process,
        )
        process.send_signal(sent)
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize(
    ("sent", "lines", "code"),
    [
        (signal.SIGKILL, 60, -signal.SIGKILL),
        (signal.SIGINT, 30, 130),
    ],
)
def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(
    large: Path, tmp_path: Path, sent: signal.Signals, lines: int, code: int
) -> None:
    for name in ("samples.json", "search.jsonl"):
        shutil.copy(large / name, tmp_path)
    ended, said = killed_at(tmp_path, lines, sent)
    assert ended == code, said
    out = tmp_path / "out"
    kept = [
        line for line in (out / "rows.jsonl").read_bytes().splitlines(True) if line[-1:] == b"\n"
    ]
    assert lines <= len(kept) < LARGE * 8
    if sent != signal.SIGKILL:
        manifest = json.loads((out / "manifest.json").read_bytes())
        assert manifest["status"] == "interrupted"
        assert sum(manifest["counts"].values()) == len(kept)
    if sent == signal.SIGINT:
        assert said.decode().splitlines()[-1] == "interrupted: what was finished is saved"
    assert not (out / "metrics.json").exists(), "nothing is made of half a run"
    assert epoche(*offline(tmp_path)).code == 0
    assert files_of(out) == files_of(large / "out")


def test_a_second_run_on_the_folder_is_refused(large: Path, tmp_path: Path) -> None:
    for name in ("samples.json", "search.jsonl"):
        shutil.copy(large / name, tmp_path)
    rows = tmp_path / "out" / "rows.jsonl"
    with subprocess.Popen(
        command(*offline(tmp_path)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_for(lambda: rows.exists() and b"\n" in rows.read_bytes(), process)
        os.kill(process.pid, signal.SIGSTOP)
        try:
            assert "another run" in error_line(epoche(*offline(tmp_path)), 15)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        assert process.wait(60) == 0
    assert files_of(tmp_path / "out") == files_of(large / "out")


def test_a_full_disk_loses_nothing(large: Path, tmp_path: Path) -> None:
    for name in ("samples.json", "search.jsonl"):
        shutil.copy(large / name, tmp_path)
    done = call(starved(command(*offline(tmp_path)), 60_000), tmp_path)
    assert "cannot write" in error_line(done, 15)
    rows = tmp_path / "out" / "rows.jsonl"
    assert rows.read_bytes().endswith(b"\n")
    assert json.loads((rows.parent / "manifest.json").read_bytes())["status"] == "failed"
    assert epoche(*offline(tmp_path)).code == 0
    assert files_of(tmp_path / "out") == files_of(large / "out")


def test_a_model_nobody_can_use_ends_the_run_and_it_goes_on(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    out = shop / "out"
    scripted_server.behave(does.expired_key())
    assert "key" in error_line(epoche(*asking()), 23)
    assert rows_of(out) == []
    scripted_server.behave_by(broken("skn", does.status(500)))
    before = ended(epoche(*asking()), out)
    scripted_server.behave(does.expired_key())
    error_line(epoche(*asking("--retry-errors")), 23)
    assert len(rows_of(out)) == COUNT
    assert not any((out / name).exists() for name in SIX), "they are of other rows"
    scripted_server.behave_by(model())
    rows = ended(epoche(*asking()), out)
    assert len(rows) == len(before) == 2 * COUNT
    assert "ERROR" not in {row["outcome"] for row in rows}


def test_too_many_errors_in_a_row_end_the_run(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    scripted_server.behave_by(broken("skn", does.status(500)))
    arguments = asking("--ablation", "--concurrency", 1, "--max-consecutive-errors", 3)
    line = error_line(epoche(*arguments), 27)
    assert "3 questions in a row" in line
    assert len(rows_of(shop / "out")) < COUNT * 8
    assert not (shop / "out" / "metrics.json").exists()


def test_a_run_stops_at_what_it_may_cost(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    scripted_server.behave_by(model())
    price = {"prompt": 1_000.0, "completion": 1_000.0}
    (shop / "prices.json").write_text(
        json.dumps({"custom/scripted-1": price, "custom/judge-1": price})
    )
    arguments = asking("--prices", shop / "prices.json", "--concurrency", 1)
    line = error_line(epoche(*arguments, "--max-cost", 1), 26)
    assert "--max-cost" in line
    kept = rows_of(shop / "out")
    assert 0 < len(kept) < 2 * COUNT
    assert kept[0]["usage"]["cost_usd"] > 0
    rows = ended(epoche(*arguments, "--max-cost", 1_000), shop / "out")
    assert len(rows) == 2 * COUNT
    assert all(row in rows for row in kept)


@pytest.fixture
def forker(scripted_server: ScriptedServer, shop: Path, scripted_model: str) -> Iterator[Forker]:
    with Forker(
        shop, EPOCHE_BASE_URL=scripted_server.base_url, EPOCHE_API_KEY=scripted_server.api_key
    ) as forker:
        yield forker


def derived(out: Path) -> dict[str, bytes]:
    """What is made of the rows, and the rows; the report shows the manifest, and so the time."""
    names = sorted({*SIX, "rows.jsonl", "anchors.jsonl", "categories.csv"})
    return {name: (out / name).read_bytes() for name in names}


def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(
    scripted_server: ScriptedServer,
    forker: Forker,
    shop: Path,
    asking: Callable[..., list[object]],
) -> None:
    cached = [one for one in asking("--concurrency", 8) if one != "--no-cache"]
    at = cached.index("--out") + 1

    def into(name: str) -> list[object]:
        return [*cached[:at], shop / name, *cached[at + 1 :]]

    scripted_server.behave_by(model())
    forker.warm_up(*into("reference"))
    right = derived(shop / "reference")
    scripted_server.behave_by(model(delay=0.002))
    dice, cut_off = random.Random(5), 0
    for number in range(3):
        out = shop / f"killed-{number}"
        if number % 2:
            # With the replies in the cache even the seconds they took are the same.
            out.mkdir()
            shutil.copy(shop / "reference" / "responses.sqlite", out)
        process = forker.start(*into(out.name))
        rows = out / "rows.jsonl"
        wanted = dice.randrange(1, COUNT * 2)
        deadline = time.monotonic() + 30
        while not (rows.exists() and rows.read_bytes().count(b"\n") >= wanted):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        cut_off += not (out / "summary.txt").exists()
        assert forker.run(*into(out.name)) == 0
        if number % 2:
            assert derived(out) == right
        assert untimed(rows_of(out)) == untimed(rows_of(shop / "reference"))
    assert cut_off == 3
