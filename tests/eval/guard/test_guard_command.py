"""Tests streams, events, reports and exit codes of the command ``epoche guard``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers.behaviours import ended_stream, normal_reply
from servers.scripted_server import ScriptedServer
from typer.testing import CliRunner

from epoche.cli import app

TEXT = "The Rhine flows into the North Sea. The Elbe flows into the Black Sea. Bye."
GUARDED_TEXT = (
    "The Rhine flows into the North Sea. "
    "[withheld: the graph contradicts that the Elbe flows into the Black Sea]. Bye."
)


# Exit codes in these tests: 2 wrong usage, 3 missing file, 10 unknown domain, 15 file cannot be
# written, 23 no access to the model, 29 clauses were withheld.


def run_guard(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "epoche", "guard", *arguments],
        input=text,
        capture_output=True,
        check=False,
    )


def test_standard_input_is_guarded_to_standard_output() -> None:
    result = run_guard(text=TEXT.encode())
    assert result.returncode == 0
    assert result.stdout.decode() == GUARDED_TEXT


def test_decided_text_is_written_before_the_input_ends() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "epoche", "guard"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(TEXT[:60].encode())
        process.stdin.write(b" and so on, and so on.")
        process.stdin.flush()
        # The first 35 characters are the first sentence.
        assert process.stdout.read(35).decode() == TEXT[:35]
        process.stdin.close()
        assert process.wait() == 0
        process.stdout.read()


def test_events_report_and_exit_code(tmp_path: Path) -> None:
    text_file, report_file = tmp_path / "said.txt", tmp_path / "report.json"
    text_file.write_bytes(TEXT.encode() + b" \xff\x1b[31m")
    result = run_guard(str(text_file), "--json", "--fail", "--report", str(report_file))
    assert result.returncode == 29
    assert b"1 of 4 clauses were withheld" in result.stderr
    assert b"\x1b" not in result.stdout
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["kind"] for event in events] == [
        "licensed",
        "contradicted",
        "no-claim",
        "no-claim",
    ]
    assert "".join(event["source"] for event in events) == TEXT + " \ufffd\x1b[31m"
    report = json.loads(report_file.read_text())
    assert report["withheld"] == 1
    assert report["listed"] == [events[1]]
    assert len(report["graph_sha256"]) == 64


def test_failures_have_their_exit_codes(tmp_path: Path) -> None:
    def get_exit_code(*arguments: str) -> int:
        return CliRunner().invoke(app, ["guard", *arguments]).exit_code

    assert get_exit_code(str(tmp_path / "missing.txt")) == 3
    text_file = tmp_path / "said.txt"
    text_file.write_text(TEXT)
    assert get_exit_code(str(text_file), "--report", str(text_file)) == 15
    assert get_exit_code(str(text_file), "--domain", "nowhere") == 10
    assert get_exit_code(str(text_file), "--strict", "--domain", "mayors") == 0


def ask_model(server: ScriptedServer, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    server_variables = {"EPOCHE_BASE_URL": server.base_url, "EPOCHE_API_KEY": server.api_key}
    return subprocess.run(
        [sys.executable, "-m", "epoche", "guard", "--ask", "Where do rivers end?", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **server_variables},
    )


def test_model_reply_is_guarded_while_streaming(scripted_server: ScriptedServer) -> None:
    scripted_server.behave([normal_reply(lambda _: TEXT)])
    result = ask_model(scripted_server, "--model", f"custom/{scripted_server.model}")
    assert result.stdout.decode() == GUARDED_TEXT
    assert result.returncode == 0
    request_body = scripted_server.requests[0].body
    assert request_body["stream"] is True
    assert request_body["messages"] == [{"role": "user", "content": "Where do rivers end?"}]


def test_a_reply_that_is_cut_off_is_reported(
    scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    text = TEXT.replace("Bye.", "The Danube flows into the Nor")
    scripted_server.behave(ended_stream("length", text))
    report_file = tmp_path / "report.json"
    result = ask_model(
        scripted_server,
        *("--model", f"custom/{scripted_server.model}", "--json", "--report", str(report_file)),
    )
    assert result.returncode == 24
    assert b"cut off after 512 tokens" in result.stderr
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert "".join(event["source"] for event in events) == text
    assert [event["kind"] for event in events] == ["licensed", "contradicted", "unread"]
    report = json.loads(report_file.read_text())
    assert report["listed"] == events[1:]
    assert "cut off after 512 tokens" in report["error"]


def test_unusable_model_outputs_nothing(scripted_server: ScriptedServer) -> None:
    result = ask_model(scripted_server, "--model", "nobody/nothing")
    assert result.returncode == 23
    assert result.stdout == b""


@pytest.mark.parametrize("arguments", [["--ask", "Hm?", __file__], ["--model", "custom/x"]])
def test_prompt_and_text_exclude_each_other(arguments: list[str]) -> None:
    result = run_guard(*arguments)
    assert result.returncode == 2
    assert b"--ask" in result.stderr
