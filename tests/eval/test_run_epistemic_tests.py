"""The command as a real process: killed, interrupted and out of disk space."""

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

from eval.manifest import read_manifest

CardFile = Callable[..., Path]
ROOT = Path(__file__).parents[2]

ADAPTER = """
import asyncio, os, time
from eval.result import Answer, Usage

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


def eval_command(cards: Path, out: Path, *more: str, system: str = "slowly:Slow") -> list[str]:
    start = [sys.executable, "-m", "eval.run_epistemic_tests", "--cards", str(cards)]
    return [*start, "--system", system, "--out", str(out), *more]


def call_command(
    arguments: list[str], folder: Path, **env: str
) -> subprocess.CompletedProcess[str]:
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
    deadline = time.monotonic() + 30
    while not path.exists() or path.stat().st_size < count:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_run_killed_five_times_ends_in_identical_bytes(folder: Path, card_file: CardFile) -> None:
    cards, out, calm = card_file(400), folder / "killed.jsonl", folder / "calm.jsonl"
    assert call_command(eval_command(cards, calm), folder).returncode == 0
    whole = calm.read_bytes()
    dice = random.Random(11)
    env = {**os.environ, "PAUSE": "0.01"}
    for kill in range(5):
        before = out.stat().st_size if out.exists() else 0
        with subprocess.Popen(eval_command(cards, out), cwd=folder, env=env) as process:
            wait_for_bytes(process, out, before + dice.randrange(1, len(whole) // 8))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert read_manifest(folder / "killed.manifest.json").status == "running"
        assert whole.startswith(out.read_bytes()), kill
        if kill % 2:
            # This is what a crash during a write leaves.
            with out.open("ab") as handle:
                handle.write(whole[out.stat().st_size :][: dice.randrange(1, 100)])
    done = call_command(eval_command(cards, out), folder)
    assert done.returncode == 0, done.stderr
    assert "were there already" in done.stdout
    assert out.read_bytes() == whole
    manifest = read_manifest(folder / "killed.manifest.json")
    assert (manifest.status, manifest.resumed) == ("complete", 5)


@pytest.mark.parametrize("system", ["slowly:Slow", "slowly:Waits"])
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
def test_signal_saves_the_finished_rows(
    folder: Path, card_file: CardFile, sent: signal.Signals, code: int, system: str
) -> None:
    cards, out = card_file(400), folder / "r.jsonl"
    # Some questions of the second system hang; they are cancelled at once.
    env = {**os.environ, "PAUSE": "0.02", "HANG": "yes"}
    with subprocess.Popen(
        eval_command(cards, out, system=system), cwd=folder, env=env, stderr=subprocess.PIPE
    ) as process:
        wait_for_bytes(process, out, 1000)
        process.send_signal(sent)
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert process.returncode == code
    assert "Traceback" not in said
    manifest = read_manifest(folder / "r.manifest.json")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert manifest.status == "interrupted"
    assert 0 < len(rows) == sum(manifest.counts.values()) < 400
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert call_command(eval_command(cards, out, system=system), folder).returncode == 0
    assert read_manifest(folder / "r.manifest.json").counts != manifest.counts


def test_full_disk_is_an_error_and_the_run_can_resume(folder: Path, card_file: CardFile) -> None:
    cards, out = card_file(100), folder / "r.jsonl"
    # Python ignores SIGXFSZ, so a file-size limit fails a write half way like a full disk.
    starved = (
        "import resource, runpy, sys;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000));"
        "sys.argv = sys.argv[1:];"
        "runpy.run_module('eval.run_epistemic_tests', run_name='__main__', alter_sys=False)"
    )
    arguments = [sys.executable, "-c", starved, *eval_command(cards, out)[2:]]
    failed = call_command(arguments, folder)
    assert failed.returncode == 15, failed.stderr
    assert re.fullmatch(r"error: cannot write: .*r\.jsonl.*\n", failed.stderr)
    rows = out.read_bytes()
    assert rows.endswith(b"\n"), "an incomplete last row must be removed"
    assert 4000 < len(rows) <= 5000
    assert read_manifest(folder / "r.manifest.json").status == "failed"
    assert call_command(eval_command(cards, out), folder).returncode == 0
    assert call_command(eval_command(cards, folder / "calm.jsonl"), folder).returncode == 0
    assert out.read_bytes() == (folder / "calm.jsonl").read_bytes()
    assert out.read_bytes().startswith(rows)


def test_full_device_is_a_write_error(folder: Path, card_file: CardFile) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    from eval.running.journal import Journal
    from kg.base.errors import WriteError

    out = folder / "r.jsonl"
    with Journal(out, 1) as journal:
        full = os.open("/dev/full", os.O_RDWR)
        kept = os.dup(journal._descriptor)
        os.dup2(full, journal._descriptor)
        with pytest.raises(WriteError, match="No space left"):
            journal.append(0, 0, b"{}\n")
        assert not journal.has_row(0)
        os.dup2(kept, journal._descriptor)
        os.close(full)
        os.close(kept)
        journal.append(0, 0, b"{}\n")
    assert out.read_bytes().count(b"\n") == 1


def test_secrets_in_exceptions_are_hidden(folder: Path, card_file: CardFile) -> None:
    out = folder / "r.jsonl"
    done = call_command(
        eval_command(card_file(4), out, system="slowly:Leaky"), folder, MY_API_KEY="swordfish-42"
    )
    assert done.returncode == 27, "a run with only ERROR rows must fail"
    assert "4 of 4 rows are ERROR" in done.stderr
    for path in (out, folder / "r.manifest.json"):
        assert "swordfish" not in path.read_text()
    assert (
        json.loads(out.read_text().splitlines()[0])["error"] == "RuntimeError: 401 for key [hidden]"
    )


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--set", "api_key=swordfish"], 19, "API_KEY"),
        (["--set", "top_k"], 19, "key=value"),
        (["--system", "always-YES", "--closed-book"], 19, "closed_book"),
        (["--system", "rag", "--embedder", "here"], 19, "embedder"),
        (["--limit", "0"], 2, "--limit"),
        (["--shard", "3/2"], 19, "--shard"),
        (["--max-cost", "inf"], 19, "--max-cost"),
        (["--repeat", "0"], 2, "--repeat"),
        (["--system", "kgg"], 16, "Nearest first: kg,"),
        (["--system", "nowhere.at:All"], 16, "cannot be imported"),
        (["--system", "slowly:Fast"], 16, "It has: Slow, Waits, Down, Dear, Leaky"),
        (["--system", "always-YES", "--set", "top_k=3"], 19, "It has none"),
        (["--cards", "absent.jsonl"], 3, "absent.jsonl"),
    ],
)
def test_bad_flags_give_advice(
    folder: Path, card_file: CardFile, more: list[str], code: int, said: str
) -> None:
    out = folder / "r.jsonl"
    failed = call_command([*eval_command(card_file(2), out), *more], folder)
    assert failed.returncode == code, failed.stderr
    assert said in failed.stderr
    assert "swordfish" not in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not out.exists()


def test_script_by_path_takes_the_same_flags(folder: Path, card_file: CardFile) -> None:
    arguments = eval_command(card_file(3), folder / "r.jsonl", system="controls")
    script = [sys.executable, str(ROOT / "eval" / "run_epistemic_tests.py"), *arguments[3:]]
    done = call_command(script, folder)
    assert done.returncode == 0, done.stderr
    assert "controls: 12 answers" in done.stdout
    assert done.stderr == ""
    shown = call_command([*script[:2], "--help"], folder, COLUMNS="200").stdout
    for flag in ("--cards", "--system", "--out", "--kg-path", "--kg", "--resume", "--set"):
        assert flag in shown


def test_progress_is_shown_on_a_terminal_only(folder: Path, card_file: CardFile) -> None:
    arguments = eval_command(card_file(300), folder / "r.jsonl", system="slowly:Dear")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        arguments,
        cwd=folder,
        env={**os.environ, "PAUSE": "0.012", "TERM": "xterm", "COLUMNS": "120"},
        stderr=theirs,
        stdout=subprocess.PIPE,
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not part:
                break
            seen += part
        process.wait(timeout=30)
    os.close(ours)
    assert process.returncode == 0
    assert re.search(rb"\d+/300", seen)
    assert re.search(rb"0:00:0\d", seen), "time left"
    assert re.search(rb"\d\.\d/s", seen), "rate"
    assert re.search(rb"\d+ errors", seen)
    assert re.search(rb"0\.\d{4} USD", seen), "cost"
    quiet = call_command([*arguments, "--overwrite"], folder)
    assert quiet.stderr.startswith("warning: 33 of 300 rows are ERROR")
    assert quiet.stderr.count("\n") == 1


def test_unreachable_server_stops_the_run_after_max_errors(
    folder: Path, card_file: CardFile
) -> None:
    cards, out = card_file(90), folder / "r.jsonl"
    failed = call_command(eval_command(cards, out, system="slowly:Down"), folder)
    assert failed.returncode == 27, failed.stderr
    assert "50 questions in a row ended in ERROR; 40 have no answer yet" in failed.stderr
    assert "--retry-errors" in failed.stderr
    assert out.read_bytes().count(b"\n") == 50
    more = call_command(
        eval_command(cards, out, "--max-consecutive-errors", "0", system="slowly:Down"), folder
    )
    assert more.returncode == 27
    assert "90 of 90 rows are ERROR" in more.stderr
    assert "--retry-errors" in more.stderr


def test_no_resume_refuses_existing_results(folder: Path, card_file: CardFile) -> None:
    cards, out = card_file(5), folder / "r.jsonl"
    assert call_command(eval_command(cards, out, "--no-resume"), folder).returncode == 0
    refused = call_command(eval_command(cards, out, "--no-resume"), folder)
    assert refused.returncode == 15
    assert "--no-resume" in refused.stderr
    assert call_command(eval_command(cards, out, "--resume"), folder).returncode == 0


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
        done = call_command(arguments, folder)
        assert done.returncode == 0, done.stderr
        told: dict[str, object] = json.loads((folder / "seen.json").read_text())
        return told

    usual = read_options()
    assert usual["cache"] == str(folder / "there" / "responses.sqlite")
    assert not (folder / "there" / "responses.sqlite").exists(), (
        "the cache file is created by the first model call"
    )
    assert (usual["model"], usual["concurrency"], usual["max_retries"]) == (None, 16, 8)
    flags = "--model custom/m --concurrency 3 --rpm 60 --tpm 900 --timeout 5 --retries 2 --no-cache"
    told = read_options(*flags.split(), "--prices", "p.json")
    assert (
        told.items()
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


@pytest.mark.parametrize("place", ["r.jsonl", "r.manifest.json"])
def test_cache_never_overwrites_the_results(
    card_file: CardFile, tmp_path: Path, place: str
) -> None:
    cards, out = card_file(1), tmp_path / "o" / "r.jsonl"
    arguments = eval_command(cards, out, "--cache", str(out.with_name(place)), system="controls")
    done = call_command(arguments, tmp_path)
    assert done.returncode == 15, done.stderr
    assert "--cache" in done.stderr
    assert not out.parent.exists()
