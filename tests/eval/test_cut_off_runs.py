"""Runs over a server that are killed, stopped, starved of disk or doubled: none loses an answer.

What can be the same is compared: with the replies in one cache, every byte of the results; where a
reply had to be fetched again, everything but the seconds it took.
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
from servers import behaviours as does
from servers.behaviours import Asked
from servers.scripted_server import ScriptedServer
from stage_calls import call, command, error_line, starved, wait_for

from eval.manifest import read_manifest

CARDS, REPEATS, AT_ONCE = 20, 2, 8
ROWS = CARDS * REPEATS
KILLS = 50
OF_THE_MOMENT = {"results", "started", "ended", "resumed"}
"""What a manifest says of when and where rather than of what."""
DONE_IN_ALL = {"replies", "cached", "retries", "spent_usd"}
"""Sums of a manifest over what was done, and not over the rows: asking again adds to them."""


def pace(asked: Asked) -> does.Behaviour:
    """Replies after 2 to 20 ms, so that answers overtake each other."""
    return does.reply(delay=0.002 * (1 + len(asked.prompt) * (asked.number + 1) % 10))


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as serving:
        yield serving


@pytest.fixture
def cards(card_file: Callable[[int], Path]) -> Path:
    return card_file(CARDS)


def env_of(server: ScriptedServer) -> dict[str, str]:
    return {"EPOCHE_BASE_URL": server.base_url, "EPOCHE_API_KEY": server.api_key}


def asking(cards: Path, *more: object, at_once: int = AT_ONCE) -> tuple[object, ...]:
    """The command, but for ``--out``."""
    system = ("--system", "raw", "--model", f"custom/{ScriptedServer.model}")
    how = ("--repeat", REPEATS, "--concurrency", at_once)
    return ("eval", "--cards", cards, *system, *how, *more)


@pytest.fixture
def forker(server: ScriptedServer, cards: Path, tmp_path: Path) -> Iterator[Forker]:
    """Starts commands that ask ``server``; it is ready, and nobody has asked it anything yet."""
    server.behave(does.reply())
    with Forker(tmp_path, **env_of(server)) as forker:
        warm = tmp_path / "warm"
        forker.warm_up(*asking(cards, "--out", warm / "out.jsonl"))
        shutil.rmtree(warm)
        server.forget()
        server.behave_by(pace)
        yield forker


def rows_of(out: Path) -> list[dict[str, Any]]:
    """Rows in file order, without the seconds they took."""
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    for row in rows:
        assert row.pop("latency_s") >= 0
    return rows


def told_by(out: Path) -> dict[str, Any]:
    """What the manifest says that no interruption may change."""
    manifest = json.loads(out.with_suffix(".manifest.json").read_bytes())
    told = {key: value for key, value in manifest.items() if key not in OF_THE_MOMENT}
    told["calls"] = {k: v for k, v in told["calls"].items() if k not in DONE_IN_ALL}
    return told


def whole_rows(out: Path) -> list[bytes]:
    """The finished lines of a file that may be torn, or not there yet."""
    return out.read_bytes().split(b"\n")[:-1] if out.exists() else []


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.0005)


def test_killed_at_50_moments_and_taken_up_again(
    server: ScriptedServer, forker: Forker, cards: Path, tmp_path: Path
) -> None:
    reference = tmp_path / "reference" / "out.jsonl"
    assert forker.run(*asking(cards, "--out", reference)) == 0
    right, told = rows_of(reference), told_by(reference)
    assert len(right) == ROWS
    assert told["status"] == "complete"
    dice, cut_off = random.Random(50), 0
    for number in range(KILLS):
        out = tmp_path / f"killed-{number}" / "out.jsonl"
        server.forget()
        process = forker.start(*asking(cards, "--out", out))
        seen = dice.randrange(ROWS + 1)
        wait_until(lambda seen=seen: len(server.requests) >= seen)  # type: ignore[misc]
        time.sleep(dice.uniform(0, 0.03))
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() in {0, -signal.SIGKILL}  # 0: it was waiting to be reaped already
        kept = whole_rows(out)
        cut_off += 0 < len(kept) < ROWS
        assert forker.run(*asking(cards, "--out", out)) == 0
        assert rows_of(out) == right
        assert told_by(out) == told
        assert set(kept) <= set(out.read_bytes().split(b"\n")), "a row that was there has changed"
        # What had been answered was not asked again, and nobody but the cache was.
        assert len(server.requests) <= ROWS + AT_ONCE
        # A kill while the rows are put in order leaves the file that was to take their place.
        names = {path.name for path in out.parent.iterdir() if not path.name.startswith(".out.")}
        assert names == {"out.jsonl", "out.manifest.json", "responses.sqlite"}
    assert cut_off >= KILLS // 2


def test_with_the_same_cache_even_the_bytes_are_the_same(
    server: ScriptedServer, forker: Forker, cards: Path, tmp_path: Path
) -> None:
    reference = tmp_path / "reference" / "out.jsonl"
    assert forker.run(*asking(cards, "--out", reference)) == 0
    server.forget()
    dice = random.Random(8)
    for number in range(8):
        out = tmp_path / f"killed-{number}" / "out.jsonl"
        out.parent.mkdir()
        shutil.copy(reference.with_name("responses.sqlite"), out.parent)
        process = forker.start(*asking(cards, "--out", out))
        enough = dice.randrange(1, ROWS)
        wait_until(lambda out=out, n=enough: len(whole_rows(out)) >= n)  # type: ignore[misc]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert forker.run(*asking(cards, "--out", out)) == 0
        assert out.read_bytes() == reference.read_bytes()
    assert not server.requests


def test_two_runs_at_once_share_one_cache(
    server: ScriptedServer, forker: Forker, cards: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "shared.sqlite"
    outs = [tmp_path / name / "out.jsonl" for name in ("one", "two", "later")]
    asked = asking(cards, "--cache", cache)
    both = [forker.start(*asked, "--out", out) for out in outs[:2]]
    assert [process.wait() for process in both] == [0, 0]
    assert ROWS <= len(server.requests) <= 2 * ROWS
    server.forget()
    assert forker.run(*asked, "--out", outs[2]) == 0
    assert not server.requests, "everything was in the cache"
    one, two, later = (out.read_bytes() for out in outs)
    assert one == two == later
    assert {told_by(out)["counts"]["ERROR"] for out in outs} == {0}
    assert {path.name for path in tmp_path.glob("shared*")} == {"shared.sqlite"}


def test_a_cache_that_is_killed_with_its_run_serves_the_other(
    server: ScriptedServer, forker: Forker, cards: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "shared.sqlite"
    one, two = (tmp_path / name / "out.jsonl" for name in ("one", "two"))
    asked = asking(cards, "--cache", cache)
    dies, lives = forker.start(*asked, "--out", one), forker.start(*asked, "--out", two)
    wait_until(lambda: len(whole_rows(one)) > ROWS // 4)
    os.kill(dies.pid, signal.SIGKILL)
    dies.wait()
    assert lives.wait() == 0
    assert forker.run(*asked, "--out", one) == 0
    assert rows_of(one) == rows_of(two)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_with_64_in_flight(
    server: ScriptedServer,
    forker: Forker,
    card_file: Callable[[int, str], Path],
    tmp_path: Path,
    sent: signal.Signals,
    code: int,
) -> None:
    cards = card_file(100, "hundred.jsonl")
    out, right = tmp_path / "out" / "out.jsonl", tmp_path / "right" / "out.jsonl"
    asked = asking(cards, at_once=64)
    server.behave(does.reply())
    assert forker.run(*asked, "--out", right) == 0
    server.forget()
    # The first 30 are answered, all others hang.
    server.behave_by(lambda asked: does.reply() if asked.number < 30 else does.hang())
    with subprocess.Popen(
        command(*asked, "--out", out),
        cwd=tmp_path,
        env={**os.environ, **env_of(server)},
        stderr=subprocess.PIPE,
    ) as process:
        wait_for(lambda: server.in_flight == 64 and len(whole_rows(out)) == 30, process)
        process.send_signal(sent)
        _, said = process.communicate(timeout=30)
    assert process.returncode == code
    wait_until(lambda: server.in_flight == 0)
    last = said.decode().splitlines()[-1:]
    if sent == signal.SIGINT:
        assert last == ["interrupted: what was finished is saved"]
    assert b"Traceback" not in said
    kept = whole_rows(out)
    assert len(kept) == 30
    manifest = read_manifest(out.with_suffix(".manifest.json"))
    assert manifest.status == "interrupted"
    assert sum(manifest.counts.values()) == 30
    assert manifest.counts["ERROR"] == 0
    server.behave(does.reply())
    assert forker.run(*asked, "--out", out) == 0
    assert rows_of(out) == rows_of(right)
    assert told_by(out) == told_by(right)
    assert set(kept) <= set(out.read_bytes().split(b"\n"))


def test_a_full_disk_for_the_results(
    server: ScriptedServer, forker: Forker, cards: Path, tmp_path: Path
) -> None:
    out, right = tmp_path / "out.jsonl", tmp_path / "right.jsonl"
    asked = asking(cards, "--no-cache")
    assert forker.run(*asked, "--out", right) == 0
    line = error_line(
        call(starved(command(*asked, "--out", out), 6_000), tmp_path, **env_of(server)), 15
    )
    assert "out.jsonl" in line
    kept = out.read_bytes()
    assert kept.endswith(b"\n")
    assert 0 < len(kept) <= 6_000
    assert forker.run(*asked, "--out", out) == 0
    assert rows_of(out) == rows_of(right)
    assert set(kept.split(b"\n")) <= set(out.read_bytes().split(b"\n"))


def test_a_full_disk_for_the_cache_alone_loses_no_answer(
    server: ScriptedServer, forker: Forker, cards: Path, tmp_path: Path
) -> None:
    out, right = tmp_path / "out" / "out.jsonl", tmp_path / "right" / "out.jsonl"
    assert forker.run(*asking(cards, "--out", right)) == 0
    # Room for the results, and for the cache to begin, but not for all the replies in it.
    room = 60_000
    assert right.stat().st_size < room
    done = call(starved(command(*asking(cards, "--out", out)), room), tmp_path, **env_of(server))
    assert done.code == 0, done.err
    assert "replies are not kept from here on" in done.err
    assert rows_of(out) == rows_of(right)
    server.forget()
    again = tmp_path / "again.jsonl"
    cache = ("--cache", out.with_name("responses.sqlite"))
    assert forker.run(*asking(cards, *cache, "--out", again)) == 0
    assert rows_of(again) == rows_of(right)
