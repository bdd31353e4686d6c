"""Tests ``epoche eval`` as a real process: killed, interrupted and out of disk space."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from stage_calls import PRODUCT

from eval.abstention.manifest import read_manifest

CardFile = Callable[..., Path]

# The third word of a question is the number of its card.
ADAPTER = """
import asyncio, os, time
from eval.abstention.result import Answer, Usage

class Slow:
    name = "slow"
    def params(self):
        return {"pause": 0.002}
    def answer(self, card):
        time.sleep(float(os.environ.get("PAUSE", "0")))
        return ("YES", "NO", "UNKNOWN")[len(card.question) % 3]

class Waits(Slow):
    name = "waits"
    async def answer(self, card):
        await asyncio.sleep(float(os.environ.get("PAUSE", "0")) * 4)
        if "HANG" in os.environ and int(card.question.split()[2]) % 20 == 19:
            await asyncio.sleep(3600)
        return Slow.answer(self, card)

class Down(Slow):
    name = "down"
    async def answer(self, card):
        raise ConnectionError("refused")

class Dear(Slow):
    name = "dear"
    def answer(self, card):
        pred = Slow.answer(self, card)
        if int(card.question.split()[2]) % 9 == 8:
            raise ValueError(pred)
        return Answer(pred=pred, usage=Usage(1, 1, 0.001))

class Leaky(Slow):
    name = "leaky"
    def answer(self, card):
        raise RuntimeError("401 for key " + os.environ["MY_API_KEY"])
"""


def eval_command(cards: Path, out: Path, *flags: str, system: str = "slowly:Slow") -> list[str]:
    command = [sys.executable, "-m", "eval.run_epistemic_tests", "--cards", str(cards)]
    return [*command, "--system", system, "--out", str(out), *flags]


def run_command(arguments: list[str], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slowly.py").write_text(ADAPTER)
    return tmp_path


def wait_for_bytes(process: subprocess.Popen[bytes], path: Path, count: int) -> None:
    """Waits until a running process has written a number of bytes to a file."""
    deadline = time.monotonic() + 30
    while not path.exists() or path.stat().st_size < count:
        assert process.poll() is None, "the process ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_run_killed_five_times_ends_in_identical_bytes(folder: Path, card_file: CardFile) -> None:
    cards, out, reference = card_file(400), folder / "killed.jsonl", folder / "calm.jsonl"
    assert run_command(eval_command(cards, reference), folder).returncode == 0
    expected = reference.read_bytes()
    rng = random.Random(11)
    env = {**os.environ, "PAUSE": "0.01"}
    for kill_number in range(5):
        before = out.stat().st_size if out.exists() else 0
        with subprocess.Popen(eval_command(cards, out), cwd=folder, env=env) as process:
            wait_for_bytes(process, out, before + rng.randrange(1, len(expected) // 8))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert read_manifest(folder / "killed.manifest.json").status == "running"
        assert expected.startswith(out.read_bytes()), kill_number
        if kill_number % 2:
            # A crash during a write leaves an incomplete line.
            with out.open("ab") as handle:
                handle.write(expected[out.stat().st_size :][: rng.randrange(1, 100)])
    final_run = run_command(eval_command(cards, out), folder)
    assert final_run.returncode == 0, final_run.stderr
    assert "were there already" in final_run.stdout
    assert out.read_bytes() == expected
    manifest = read_manifest(folder / "killed.manifest.json")
    assert (manifest.status, manifest.resumed) == ("complete", 5)


@pytest.mark.parametrize("system", ["slowly:Slow", "slowly:Waits"])
@pytest.mark.parametrize(
    ("sent_signal", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143)],
    ids=["ctrl-c", "sigterm"],
)
def test_signal_saves_the_finished_rows(
    folder: Path, card_file: CardFile, sent_signal: signal.Signals, code: int, system: str
) -> None:
    cards, out = card_file(400), folder / "r.jsonl"
    # Some questions of slowly:Waits hang; the signal must cancel them at once.
    env = {**os.environ, "PAUSE": "0.02", "HANG": "yes"}
    with subprocess.Popen(
        eval_command(cards, out, system=system), cwd=folder, env=env, stderr=subprocess.PIPE
    ) as process:
        wait_for_bytes(process, out, 1000)
        process.send_signal(sent_signal)
        assert process.stderr is not None
        stderr = process.stderr.read().decode()
    assert process.returncode == code
    assert "Traceback" not in stderr
    manifest = read_manifest(folder / "r.manifest.json")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert manifest.status == "interrupted"
    assert 0 < len(rows) == sum(manifest.counts.values()) < 400
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert run_command(eval_command(cards, out, system=system), folder).returncode == 0
    assert read_manifest(folder / "r.manifest.json").counts != manifest.counts


def test_full_disk_is_an_error_and_the_run_can_resume(folder: Path, card_file: CardFile) -> None:
    cards, out = card_file(100), folder / "r.jsonl"
    # A file-size limit makes a write fail half way, like a full disk (Python ignores SIGXFSZ).
    script = (
        "import resource, runpy, sys;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000));"
        "sys.argv = sys.argv[1:];"
        "runpy.run_module('eval.run_epistemic_tests', run_name='__main__', alter_sys=False)"
    )
    arguments = [sys.executable, "-c", script, *eval_command(cards, out)[2:]]
    limited_run = run_command(arguments, folder)
    assert limited_run.returncode == 15, limited_run.stderr
    assert re.fullmatch(r"error: cannot write: .*r\.jsonl.*\n", limited_run.stderr)
    rows = out.read_bytes()
    assert rows.endswith(b"\n"), "an incomplete last row must be removed"
    assert 4000 < len(rows) <= 5000
    assert read_manifest(folder / "r.manifest.json").status == "failed"
    assert run_command(eval_command(cards, out), folder).returncode == 0
    assert run_command(eval_command(cards, folder / "calm.jsonl"), folder).returncode == 0
    assert out.read_bytes() == (folder / "calm.jsonl").read_bytes()
    assert out.read_bytes().startswith(rows)


def test_full_device_is_a_write_error(folder: Path, card_file: CardFile) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    from eval.harness.journals.journal import Journal
    from kg.base.errors import WriteError

    out = folder / "r.jsonl"
    with Journal(out, 1) as journal:
        full_device = os.open("/dev/full", os.O_RDWR)
        saved_descriptor = os.dup(journal._descriptor)
        os.dup2(full_device, journal._descriptor)
        with pytest.raises(WriteError, match="No space left"):
            journal.append(0, 0, b"{}\n")
        assert not journal.has_row(0)
        os.dup2(saved_descriptor, journal._descriptor)
        os.close(full_device)
        os.close(saved_descriptor)
        journal.append(0, 0, b"{}\n")
    assert out.read_bytes().count(b"\n") == 1


def test_secrets_in_exceptions_are_hidden(folder: Path, card_file: CardFile) -> None:
    out = folder / "r.jsonl"
    process = run_command(
        eval_command(card_file(4), out, system="slowly:Leaky"), folder, MY_API_KEY="swordfish-42"
    )
    assert process.returncode == 27, "a run with only ERROR rows must fail"
    assert "4 of 4 rows are ERROR" in process.stderr
    for path in (out, folder / "r.manifest.json"):
        assert "swordfish" not in path.read_text()
    assert (
        json.loads(out.read_text().splitlines()[0])["error"] == "RuntimeError: 401 for key [hidden]"
    )


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--set", "api_key=swordfish"], 19, "API_KEY"),
        (["--set", "top_k"], 19, "key=value"),
        (["--system", "always-YES", "--closed-book"], 19, "closed_book"),
        (["--system", "rag", "--embedder", "here"], 19, "embedder"),
        (["--limit", "0"], 2, "--limit"),
        (["--shard", "3/2"], 19, "--shard"),
        (["--max-cost", "inf"], 19, "--max-cost"),
        (["--repeat", "0"], 2, "--repeat"),
        (["--system", "kgg"], 16, "Did you mean kg?"),
        (["--system", "rag", "--model", "recorded/x"], 19, "rag asks no model"),
        (["--system", "nowhere.at:All"], 16, "cannot be imported"),
        (["--system", "slowly:Fast"], 16, "It has: Slow, Waits, Down, Dear, Leaky"),
        (["--system", "always-YES", "--set", "top_k=3"], 19, "It has none"),
        (["--cards", "absent.jsonl"], 3, "absent.jsonl"),
    ],
)
def test_bad_flags_give_advice(
    folder: Path, card_file: CardFile, flags: list[str], code: int, message: str
) -> None:
    out = folder / "r.jsonl"
    process = run_command([*eval_command(card_file(2), out), *flags], folder)
    assert process.returncode == code, process.stderr
    assert message in process.stderr
    assert "swordfish" not in process.stderr
    assert "Traceback" not in process.stderr
    assert not out.exists()


def test_script_by_path_takes_the_same_flags(folder: Path, card_file: CardFile) -> None:
    arguments = eval_command(card_file(3), folder / "r.jsonl", system="controls")
    script = [sys.executable, str(PRODUCT / "eval" / "run_epistemic_tests.py"), *arguments[3:]]
    process = run_command(script, folder)
    assert process.returncode == 0, process.stderr
    assert "controls: 12 answers" in process.stdout
    assert process.stderr == ""
    help_text = run_command([*script[:2], "--help"], folder, COLUMNS="200").stdout
    for flag in ("--cards", "--system", "--out", "--kg-path", "--kg", "--resume", "--set"):
        assert flag in help_text


def test_progress_is_shown_on_a_terminal_only(folder: Path, card_file: CardFile) -> None:
    arguments = eval_command(card_file(300), folder / "r.jsonl", system="slowly:Dear")
    reading_end, terminal_end = pty.openpty()
    with subprocess.Popen(
        arguments,
        cwd=folder,
        env={**os.environ, "PAUSE": "0.012", "TERM": "xterm", "COLUMNS": "120"},
        stderr=terminal_end,
        stdout=subprocess.PIPE,
    ) as process:
        os.close(terminal_end)
        printed = b""
        while True:
            try:
                chunk = os.read(reading_end, 65536)
            except OSError:  # Linux raises it when the process has closed the terminal
                break
            if not chunk:
                break
            printed += chunk
        process.wait(timeout=30)
    os.close(reading_end)
    assert process.returncode == 0
    assert re.search(rb"\d+/300", printed)
    assert re.search(rb"0:00:0\d", printed), "time left"
    assert re.search(rb"\d\.\d/s", printed), "rate"
    assert re.search(rb"\d+ errors", printed)
    assert re.search(rb"0\.\d{4} USD", printed), "cost"
    redirected_run = run_command([*arguments, "--overwrite"], folder)
    # The system ``Dear`` fails on every ninth card.
    assert redirected_run.stderr.startswith("warning: 33 of 300 rows are ERROR")
    assert redirected_run.stderr.count("\n") == 1


def test_unreachable_server_stops_the_run_after_max_errors(
    folder: Path, card_file: CardFile
) -> None:
    cards, out = card_file(90), folder / "r.jsonl"
    first_run = run_command(eval_command(cards, out, system="slowly:Down"), folder)
    assert first_run.returncode == 27, first_run.stderr
    assert "50 questions in a row ended in ERROR; 40 have no answer yet" in first_run.stderr
    assert "--retry-errors" in first_run.stderr
    assert out.read_bytes().count(b"\n") == 50
    second_run = run_command(
        eval_command(cards, out, "--max-consecutive-errors", "0", system="slowly:Down"), folder
    )
    assert second_run.returncode == 27
    assert "90 of 90 rows are ERROR" in second_run.stderr
    assert "--retry-errors" in second_run.stderr


def test_no_resume_refuses_existing_results(folder: Path, card_file: CardFile) -> None:
    cards, out = card_file(5), folder / "r.jsonl"
    assert run_command(eval_command(cards, out, "--no-resume"), folder).returncode == 0
    refused_run = run_command(eval_command(cards, out, "--no-resume"), folder)
    assert refused_run.returncode == 15
    assert "--no-resume" in refused_run.stderr
    assert run_command(eval_command(cards, out, "--resume"), folder).returncode == 0


def test_model_options_reach_the_system(folder: Path, card_file: CardFile) -> None:
    (folder / "options.py").write_text(
        "import pathlib, msgspec\n"
        "class Shows:\n"
        "    name = 'shows'\n"
        "    def __init__(self, options):\n"
        "        told = msgspec.json.encode(options.client, enc_hook=str)\n"
        "        pathlib.Path('seen.json').write_bytes(told)\n"
        "    def params(self): return {}\n"
        "    def answer(self, card): return 'NO'\n"
    )
    cards, out = card_file(1), folder / "there" / "r.jsonl"

    def read_options(*flags: str) -> dict[str, object]:
        arguments = eval_command(cards, out, *flags, "--overwrite", system="options:Shows")
        process = run_command(arguments, folder)
        assert process.returncode == 0, process.stderr
        options: dict[str, object] = json.loads((folder / "seen.json").read_text())
        return options

    default_options = read_options()
    assert default_options["cache"] == str(folder / "there" / "responses.sqlite")
    assert not (folder / "there" / "responses.sqlite").exists(), (
        "the cache file is created by the first model call"
    )
    assert (
        default_options["model"],
        default_options["concurrency"],
        default_options["max_retries"],
    ) == (None, 16, 8)
    flags = "--model custom/m --concurrency 3 --rpm 60 --tpm 900 --timeout 5 --retries 2 --no-cache"
    given_options = read_options(*flags.split(), "--prices", "p.json")
    assert (
        given_options.items()
        >= {
            "model": "custom/m",
            "concurrency": 3,
            "requests_per_minute": 60,
            "tokens_per_minute": 900,
            "timeout_s": 5,
            "max_retries": 2,
            "cache": None,
            "prices": "p.json",
        }.items()
    )
    assert read_options("--cache", "c.sqlite")["cache"] == "c.sqlite"


@pytest.mark.parametrize("name", ["r.jsonl", "r.manifest.json"])
def test_cache_never_overwrites_the_results(card_file: CardFile, tmp_path: Path, name: str) -> None:
    cards, out = card_file(1), tmp_path / "o" / "r.jsonl"
    arguments = eval_command(cards, out, "--cache", str(out.with_name(name)), system="controls")
    process = run_command(arguments, tmp_path)
    assert process.returncode == 15, process.stderr
    assert "--cache" in process.stderr
    assert not out.parent.exists()
