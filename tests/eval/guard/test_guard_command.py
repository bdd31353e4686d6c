"""``epoche guard`` on the command line: streams, events, report, exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers.behaviours import normal_reply
from servers.scripted_server import ScriptedServer
from typer.testing import CliRunner

from epoche.cli import app

TEXT = "The Rhine flows into the North Sea. The Elbe flows into the Black Sea. Bye."
GUARDED_TEXT = (
    "The Rhine flows into the North Sea. "
    "[withheld: the graph contradicts that the Elbe flows into the Black Sea]. Bye."
)


def run_guard(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "epoche", "guard", *arguments],
        input=text,
        capture_output=True,
        check=False,
    )


def test_standard_input_is_guarded_to_standard_output() -> None:
    done = run_guard(text=TEXT.encode())
    assert done.returncode == 0
    assert done.stdout.decode() == GUARDED_TEXT


def test_decided_text_is_written_before_the_input_ends() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "epoche", "guard"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(TEXT[:60].encode())
        process.stdin.write(b" and so on, and so on.")
        process.stdin.flush()
        assert process.stdout.read(35).decode() == TEXT[:35]
        process.stdin.close()
        assert process.wait() == 0
        process.stdout.read()


def test_events_report_and_exit_code(tmp_path: Path) -> None:
    file, report = tmp_path / "said.txt", tmp_path / "report.json"
    file.write_bytes(TEXT.encode() + b" \xff\x1b[31m")
    done = run_guard(str(file), "--json", "--fail", "--report", str(report))
    assert done.returncode == 29
    assert b"1 of 4 clauses were withheld" in done.stderr
    assert b"\x1b" not in done.stdout
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["kind"] for event in events] == [
        "licensed",
        "contradicted",
        "no-claim",
        "no-claim",
    ]
    assert "".join(event["source"] for event in events) == TEXT + " \ufffd\x1b[31m"
    counted = json.loads(report.read_text())
    assert counted["withheld"] == 1
    assert counted["listed"] == [events[1]]
    assert len(counted["graph_sha256"]) == 64


def test_failures_have_their_exit_codes(tmp_path: Path) -> None:
    def exit_code(*arguments: str) -> int:
        return CliRunner().invoke(app, ["guard", *arguments]).exit_code

    assert exit_code(str(tmp_path / "missing.txt")) == 3
    file = tmp_path / "said.txt"
    file.write_text(TEXT)
    assert exit_code(str(file), "--report", str(file)) == 15
    assert exit_code(str(file), "--domain", "nowhere") == 10
    assert exit_code(str(file), "--strict", "--domain", "mayors") == 0


def ask_model(server: ScriptedServer, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    named = {"EPOCHE_BASE_URL": server.base_url, "EPOCHE_API_KEY": server.api_key}
    return subprocess.run(
        [sys.executable, "-m", "epoche", "guard", "--ask", "Where do rivers end?", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **named},
    )


def test_model_reply_is_guarded_while_streaming(scripted_server: ScriptedServer) -> None:
    scripted_server.behave([normal_reply(lambda _: TEXT)])
    done = ask_model(scripted_server, "--model", f"custom/{scripted_server.model}")
    assert done.stdout.decode() == GUARDED_TEXT
    assert done.returncode == 0
    sent = scripted_server.requests[0].body
    assert sent["stream"] is True
    assert sent["messages"] == [{"role": "user", "content": "Where do rivers end?"}]


def test_unusable_model_outputs_nothing(scripted_server: ScriptedServer) -> None:
    done = ask_model(scripted_server, "--model", "nobody/nothing")
    assert done.returncode == 23
    assert done.stdout == b""


@pytest.mark.parametrize("arguments", [["--ask", "Hm?", __file__], ["--model", "custom/x"]])
def test_prompt_and_text_exclude_each_other(arguments: list[str]) -> None:
    done = run_guard(*arguments)
    assert done.returncode == 2
    assert b"--ask" in done.stderr
