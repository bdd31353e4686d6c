"""Runs that are stopped, starved, doubled, or may go no further: none loses a row."""

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
from servers import behaviours as does
from servers.behaviours import Asked, Behaviour
from servers.scripted_server import ScriptedServer
from stage_calls import call, command, epoche, error_line, starved
from synthlink_run_parts import (
    asking,
    ended,
    files_of,
    manifest_of,
    model,
    number_of,
    online,
    predictions_of,
    question_id,
    rows_of,
    shop_of,
    untimed,
)

COUNT = 6
LARGE = 40
SLOW = "own_agents:Slow"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop with a finished run that takes long enough to be stopped."""
    shop = shop_of(tmp_path_factory.mktemp("large"), LARGE)
    done = call(command(*slow(shop)), shop)
    assert done.code == 0, done.err
    return shop


def slow(shop: Path, *more: object) -> list[object]:
    how = ("--concurrency", 2, "--no-score")
    return asking(shop, *how, *more, system=SLOW)


@pytest.fixture
def shop(large: Path, tmp_path: Path) -> Path:
    """The same without its run."""
    shutil.copytree(large, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "out")
    return tmp_path


@pytest.fixture(scope="module")
def forks(large: Path) -> Iterator[Forker]:
    """Starts commands without the second of imports."""
    with Forker(large) as forker:
        forker.warm_up(*slow(large))
        yield forker


def wait_for_rows(out: Path, count: int) -> None:
    """Until a run has written so many."""
    rows, deadline = out / "rows.jsonl", time.monotonic() + 30
    while not (rows.exists() and rows.read_bytes().count(b"\n") >= count):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def torn(out: Path) -> None:
    path = out / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-40])


def test_a_torn_last_line_is_asked_again(large: Path, tmp_path: Path, forks: Forker) -> None:
    shutil.copytree(large, tmp_path, dirs_exist_ok=True)
    torn(tmp_path / "out")
    assert forks.run(*slow(tmp_path), folder=tmp_path) == 0
    assert files_of(tmp_path / "out") == files_of(large / "out")


@pytest.mark.parametrize(
    ("sent", "lines"), [(signal.SIGKILL, 7), (signal.SIGKILL, 27), (signal.SIGINT, 15)]
)
def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(
    large: Path, shop: Path, forks: Forker, sent: signal.Signals, lines: int
) -> None:
    out = shop / "out"
    process = forks.start(*slow(shop), folder=shop)
    wait_for_rows(out, lines)
    os.kill(process.pid, sent)
    code = process.wait()
    assert code == (130 if sent == signal.SIGINT else -signal.SIGKILL)
    kept = [
        line for line in (out / "rows.jsonl").read_bytes().splitlines(True) if line.endswith(b"\n")
    ]
    assert lines <= len(kept) < LARGE
    assert not (out / "predictions.json").exists(), "nothing is made of half a run"
    manifest = manifest_of(out)
    if sent == signal.SIGINT:
        assert manifest["status"] == "interrupted"
        assert sum(manifest["counts"].values()) == len(kept)
        said = (shop / "stderr").read_text().splitlines()[-1]
        assert said == "interrupted: what was finished is saved"
    assert forks.run(*slow(shop), folder=shop) == 0
    assert files_of(out) == files_of(large / "out")
    assert manifest_of(out)["resumed"] == 1


def test_a_second_run_on_the_folder_is_refused(large: Path, shop: Path, forks: Forker) -> None:
    process = forks.start(*slow(shop), folder=shop)
    wait_for_rows(shop / "out", 1)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        assert forks.run(*slow(shop), folder=shop) == 15
        assert "another run" in (shop / "stderr").read_text()
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert process.wait() == 0
    assert files_of(shop / "out") == files_of(large / "out")


def test_a_full_disk_loses_nothing(large: Path, shop: Path, forks: Forker) -> None:
    done = call(starved(command(*slow(shop)), 20_000), shop)
    assert "cannot write" in error_line(done, 15)
    rows = shop / "out" / "rows.jsonl"
    kept = rows.read_bytes()
    assert kept.endswith(b"\n")
    assert 0 < kept.count(b"\n") < LARGE
    assert manifest_of(shop / "out")["status"] == "failed"
    assert forks.run(*slow(shop), folder=shop) == 0
    assert files_of(shop / "out") == files_of(large / "out")


@pytest.mark.parametrize(
    ("spoil", "code", "said"),
    [
        (lambda out: (out / "run_manifest.json").unlink(), 12, "nobody knows"),
        (lambda out: (out / "run_manifest.json").write_text("{"), 12, "not the manifest"),
        (lambda out: _insert(out, b'{"id":1}\n'), 12, "not a row"),
        (lambda out: _insert(out, b"\xff\xfe\n"), 12, "not a row"),
        (lambda out: _insert(out, _first(out).replace(b"HIA-01", b"HIA-99")), 12, "HIA-99"),
        (lambda out: _insert(out, _first(out).replace(b'"first"', b'"other"')), 12, "other"),
        (lambda out: _insert(out, _first(out)), 13, "answered twice"),
    ],
    ids=["no manifest", "half a manifest", "no row", "no text", "no question", "system", "twice"],
)
def test_a_damaged_folder_is_refused_and_left_as_it_is(
    large: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path], object],
    code: int,
    said: str,
) -> None:
    shutil.copytree(large, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    spoil(tmp_path / "out")
    before = (tmp_path / "out" / "rows.jsonl").read_bytes()
    assert said in error_line(epoche(*slow(tmp_path)), code)
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == before
    assert (tmp_path / "out" / "predictions.json").exists()


def _first(out: Path) -> bytes:
    return (out / "rows.jsonl").read_bytes().splitlines(keepends=True)[0]


def _insert(out: Path, line: bytes) -> None:
    path = out / "rows.jsonl"
    path.write_bytes(path.read_bytes() + line)


# --- with a model -----------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return shop_of(tmp_path, COUNT)


def test_a_model_nobody_can_use_ends_the_run_and_it_goes_on(
    scripted_server: ScriptedServer, small: Path, scripted_model: str
) -> None:
    out = small / "out"
    scripted_server.behave(does.expired_key())
    assert "key" in error_line(epoche(*online(small, scripted_model)), 23)
    assert rows_of(out) == []
    assert not (out / "predictions.json").exists()
    well = model()
    of_three = iter(range(10_000))
    scripted_server.behave_by(
        lambda asked: well(asked) if next(of_three) < 7 else does.expired_key()
    )
    assert "key" in error_line(epoche(*online(small, scripted_model, "--concurrency", 1)), 23)
    kept = rows_of(out)
    assert 0 < len(kept) < COUNT
    scripted_server.behave_by(well)
    rows = ended(epoche(*online(small, scripted_model)), out)
    assert len(rows) == COUNT
    assert all(row in rows for row in kept)


def test_a_failed_call_is_an_error_and_asked_again_when_told(
    scripted_server: ScriptedServer, small: Path, scripted_model: str
) -> None:
    out, well = small / "out", model()
    second = iter([False])

    def broken(asked: Asked) -> Behaviour:
        """Fails one question, and not before its second round."""
        fails = number_of(asked) == 2 and next(second, True)
        return does.status(500) if fails else well(asked)

    scripted_server.behave_by(broken)
    done = epoche(*online(small, scripted_model))
    rows = ended(done, out)
    failed = [row for row in rows if row["outcome"] == "ERROR"]
    assert [row["id"] for row in failed] == [question_id(2)]
    assert failed[0]["usage"]["prompt_tokens"] > 0
    assert "the server cannot answer" in failed[0]["error"]
    assert "--retry-errors" in done.err
    assert len(predictions_of(out)) == COUNT - 1
    scripted_server.behave_by(well)
    scripted_server.forget()
    assert ended(epoche(*online(small, scripted_model)), out) == rows
    assert not scripted_server.requests, "errors are asked again only when told"
    mended = ended(epoche(*online(small, scripted_model, "--retry-errors")), out)
    assert {row["outcome"] for row in mended} == {"ANSWERED"}
    assert [row for row in mended if row["id"] != question_id(2)] == [
        row for row in rows if row["id"] != question_id(2)
    ]
    assert len(predictions_of(out)) == COUNT
    spent = sum(row["usage"]["prompt_tokens"] for row in mended)
    assert manifest_of(out)["calls"]["prompt_tokens"] == spent, "of the rows that there are"


def test_too_many_errors_in_a_row_end_the_run(
    scripted_server: ScriptedServer, small: Path, scripted_model: str
) -> None:
    scripted_server.behave(does.status(500))
    how = ("--concurrency", 1, "--max-consecutive-errors", 3)
    assert "3 questions in a row" in error_line(epoche(*online(small, scripted_model, *how)), 27)
    assert len(rows_of(small / "out")) == 3


def test_a_run_stops_at_what_it_may_cost(
    scripted_server: ScriptedServer, small: Path, scripted_model: str
) -> None:
    scripted_server.behave_by(model())
    price = {"prompt": 1_000.0, "completion": 1_000.0}
    (small / "prices.json").write_text(json.dumps({scripted_model: price}))
    how = ("--prices", small / "prices.json", "--concurrency", 1)
    line = error_line(epoche(*online(small, scripted_model, *how, "--max-cost", 2)), 26)
    assert "--max-cost" in line
    kept = rows_of(small / "out")
    assert 0 < len(kept) < COUNT
    assert kept[0]["usage"]["cost_usd"] > 0
    done = epoche(*online(small, scripted_model, *how, "--max-cost", 1_000))
    rows = ended(done, small / "out")
    assert len(rows) == COUNT
    assert all(row in rows for row in kept)
    calls = manifest_of(small / "out")["calls"]
    assert calls["cost_usd"] == pytest.approx(sum(row["usage"]["cost_usd"] for row in rows))


def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(
    scripted_server: ScriptedServer, small: Path, scripted_model: str
) -> None:
    def into(name: str) -> list[object]:
        return [one for one in online(small, scripted_model, out=name) if one != "--no-cache"]

    keys = {"EPOCHE_BASE_URL": scripted_server.base_url, "EPOCHE_API_KEY": scripted_server.api_key}
    scripted_server.behave_by(model())
    with Forker(small, **keys) as forker:
        forker.warm_up(*into("reference"))
        right = files_of(small / "reference")
        scripted_server.behave_by(model(delay=0.003))
        dice = random.Random(5)
        for number in range(2):
            out = small / f"killed-{number}"
            if number % 2:
                # With the replies in the cache even the seconds they took are the same.
                out.mkdir()
                shutil.copy(small / "reference" / "responses.sqlite", out)
            process = forker.start(*into(out.name))
            wait_for_rows(out, dice.randrange(1, COUNT))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert forker.run(*into(out.name)) == 0
            if number % 2:
                made = files_of(out)
                assert made["rows.jsonl"] == right["rows.jsonl"]
            assert (out / "predictions.json").read_bytes() == right["predictions.json"]
            assert list(map(untimed, rows_of(out))) == list(
                map(untimed, rows_of(small / "reference"))
            )
