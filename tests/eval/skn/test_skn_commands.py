"""Tests the output and exit codes of ``epoche skn parse``, ``format`` and ``validate``.

Exit code 36 means that a document is not valid SKN, 3 that a file cannot be read.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from skn_documents import REDIS
from stage_calls import PRODUCT, check_error_line, command_line, run_epoche
from typer.testing import CliRunner

from epoche.cli import app
from epoche.schemas import build_schema
from eval.skn.grammar.document import Document, Fact, Source
from eval.skn.grammar.typed_json import from_json, to_json
from eval.skn.notation import serialize
from kg.base.files import to_json_bytes

CANONICAL = serialize(REDIS) + "\n"
TYPED = to_json_bytes(REDIS, indent=2).decode() + "\n"
LOOSE = CANONICAL.replace("\n  ", "\n").replace("->", "→")
"""A document that only strict reading refuses; tolerant reading loses nothing."""
LOSSY = CANONICAL.replace(" [0.95]", "")
"""A document without one confidence, which tolerant reading has to guess."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    texts = {"good.skn": CANONICAL, "loose.skn": LOOSE, "lossy.skn": LOSSY, "good.json": TYPED}
    for name, text in texts.items():
        Path(name).write_text(text, "utf-8")
    return tmp_path


def run_with_input(text: str | bytes, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["skn", *arguments], input=text)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.usefixtures("folder")
def test_parse_prints_typed_json() -> None:
    for name in ("good.skn", "good.json"):
        result = run_epoche("skn", "parse", name)
        assert (result.code, result.out, result.err) == (0, TYPED, "")
        compact = run_epoche("skn", "parse", name, "--compact").out
        assert compact.count("\n") == 1
        assert from_json(json.loads(compact)) == REDIS
    assert run_with_input(CANONICAL, "parse", "-") == (0, TYPED, "")


@pytest.mark.usefixtures("folder")
def test_reading_level_decides_which_deviations_are_accepted() -> None:
    line = check_error_line(run_epoche("skn", "parse", "loose.skn"), 36)
    assert "loose.skn:4:1" in line
    result = run_epoche("skn", "parse", "loose.skn", "--reading", "lossless")
    assert (result.code, result.out) == (0, TYPED)
    assert "warning: loose.skn:4:1: " in result.err
    assert "lossy.skn:4:" in check_error_line(
        run_epoche("skn", "parse", "lossy.skn", "--reading", "lossless"), 36
    )
    result = run_epoche("skn", "parse", "lossy.skn", "--reading", "tolerant")
    assert result.code == 0
    assert json.loads(result.out)["facts"][0]["confidence"] == 0.5
    assert "0.5 is a guess" in result.err


@pytest.mark.usefixtures("folder")
def test_format_prints_the_canonical_form_in_both_notations() -> None:
    for name in ("good.skn", "loose.skn"):
        result = run_epoche("skn", "format", name)
        assert (result.code, result.out, result.err) == (0, CANONICAL, "")
        assert run_epoche("skn", "format", name, "--to", "json").out == TYPED
    assert run_epoche("skn", "format", "good.json").out == TYPED
    assert run_epoche("skn", "format", "good.json", "--to", "skn").out == CANONICAL
    assert run_with_input(LOOSE, "format", "-") == (0, CANONICAL, "")
    assert run_with_input(CANONICAL, "format", "--check", "-")[0] == 0
    check_error_line(run_epoche("skn", "format", "lossy.skn"), 36)
    result = run_epoche("skn", "format", "lossy.skn", "--reading", "tolerant")
    assert result.code == 0
    assert "warning: lossy.skn:4:" in result.err


def test_format_escapes_hostile_text(tmp_path: Path) -> None:
    hostile = Document(
        Source("\u202eevil", "low", 0.5),
        (Fact("!", "\x1b[31mred\x07\u00a0\u2028 é 😀", 0.5),),
        gaps=("\x9b2J", "rich [bold]markup[/bold]"),
    )
    path = tmp_path / "hostile.json"
    path.write_bytes(to_json_bytes(hostile))
    result = run_epoche("skn", "format", path, "--to", "skn")
    assert result.out == serialize(hostile) + "\n"
    assert all(char == "\n" or char.isprintable() for char in result.out)
    assert run_with_input(result.out, "format", "--check", "-")[0] == 0


def test_format_check_lists_files_and_in_place_rewrites_them(folder: Path) -> None:
    result = run_epoche("skn", "format", "--check", "good.skn", "good.json")
    assert (result.code, result.out) == (0, "")
    result = run_epoche("skn", "format", "--check", "good.skn", "loose.skn")
    assert result.out == "not canonical: loose.skn\n"
    assert "1 of 2 files" in check_error_line(result, 1)
    assert (folder / "loose.skn").read_text("utf-8") == LOOSE
    before = (folder / "good.skn").stat().st_mtime_ns
    result = run_epoche("skn", "format", "--in-place", "good.skn", "loose.skn")
    assert (result.code, result.out) == (0, "rewritten: loose.skn\n")
    assert (folder / "loose.skn").read_text("utf-8") == CANONICAL
    assert (folder / "good.skn").stat().st_mtime_ns == before
    assert run_epoche("skn", "format", "-i", "loose.skn").out == ""


def test_in_place_changes_nothing_if_one_file_is_unreadable(folder: Path) -> None:
    check_error_line(run_epoche("skn", "format", "-i", "loose.skn", "lossy.skn"), 36)
    check_error_line(run_epoche("skn", "format", "-i", "loose.skn", "gone.skn"), 3)
    assert (folder / "loose.skn").read_text("utf-8") == LOOSE


def test_windows_file_is_valid_and_formatted_to_lf(folder: Path) -> None:
    (folder / "crlf.skn").write_bytes(CANONICAL.replace("\n", "\r\n").encode())
    assert run_epoche("skn", "validate", "crlf.skn").code == 0
    assert run_epoche("skn", "format", "--check", "crlf.skn").code == 1
    assert run_epoche("skn", "format", "-i", "crlf.skn").code == 0
    assert (folder / "crlf.skn").read_bytes() == CANONICAL.encode()


@pytest.mark.usefixtures("folder")
def test_validate_reports_every_problem_of_all_files() -> None:
    result = run_epoche("skn", "validate", "good.skn", "good.json")
    assert (result.code, result.out) == (0, "good.skn: valid\ngood.json: valid\n")
    result = run_epoche("skn", "validate", "loose.skn", "good.skn", "lossy.skn")
    assert "2 of 3 files are not valid" in check_error_line(result, 36)
    lines = result.out.splitlines()
    assert lines[0].startswith("loose.skn:4:1: ")
    assert "good.skn: valid" in lines
    assert lines[-1] == r"lossy.skn:4:40: expected ' [', found the end of the line"
    result = run_epoche("skn", "validate", "gone.skn", "lossy.skn")
    assert result.out.startswith("lossy.skn:4:40: ")
    assert result.code == 3
    result = run_epoche("skn", "validate", "--reading", "tolerant", "lossy.skn")
    assert result.code == 0
    assert "valid, though reading it dropped or guessed something" in result.out


@pytest.mark.usefixtures("folder")
def test_validate_prints_json_lines() -> None:
    result = run_epoche("skn", "validate", "--json", "good.json", "lossy.skn")
    assert result.code == 36
    first, second = map(json.loads, result.out.splitlines())
    assert first == {
        "file": "good.json",
        "notation": "json",
        "valid": True,
        "lossless": True,
        "problems": [],
    }
    assert (second["valid"], second["problems"][0]["line"]) == (False, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r":1:1: the first line must be \[SKN\]"),
        (b"\xff\xfe\x00", ":1:1: not UTF-8"),
        ("[SKN]\né".encode() + b"\x80", ":2:2: not UTF-8"),
        (b'{"source": ', ":1:12: not JSON"),
        (b'{"facts": []}', "missing required field `source`"),
        (b'{"source": 1, "source": 2}', "'source' occurs twice"),
        (b'{"source": 1e999}', "a number is too large"),
        (b"{" * 100_000, "JSON|deep"),
        (b'{"a":' * 100_000, "JSON|deep"),
    ],
    ids=range(9),
)
def test_files_that_are_not_documents_are_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "bad"
    path.write_bytes(content)
    for arguments in (("parse",), ("format",), ("format", "-i"), ("validate",)):
        result = run_epoche("skn", arguments[0], path, *arguments[1:])
        check_error_line(result, 36)
        assert path.read_bytes() == content
    assert re.search(message, result.out), result.out
    assert run_with_input(content, "validate", "-")[0] == 36


@pytest.mark.parametrize(
    ("length", "message"),
    [
        (4_000_001, ":1:1: longer than 4000000 characters"),
        (16_000_001, ":1:1: larger than 16000000 bytes"),
    ],
)
def test_too_large_files_are_refused(tmp_path: Path, length: int, message: str) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * length)
    result = run_epoche("skn", "validate", path)
    check_error_line(result, 36)
    assert message in result.out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments",
    [
        ("format", "good.skn", "loose.skn"),
        ("format", "--check", "--in-place", "good.skn"),
        ("format", "--check", "--to", "json", "good.skn"),
        ("format", "--in-place", "-"),
        ("format", "--check", "-", "-"),
        ("validate", "-", "-"),
        ("validate",),
        ("parse", "--reading", "lazy", "good.skn"),
    ],
)
def test_invalid_command_lines_are_refused(arguments: tuple[str, ...]) -> None:
    assert run_epoche("skn", *arguments).code == 2


@pytest.mark.usefixtures("folder")
def test_commands_work_in_a_pipe() -> None:
    formatted = subprocess.run(
        command_line("skn", "format", "-"), input=LOOSE.encode(), capture_output=True, check=True
    )
    assert formatted.stdout == CANONICAL.encode()
    script = [
        sys.executable,
        str(PRODUCT / "eval/skn/commands/validate_skn.py"),
        "-",
    ]
    assert subprocess.run(script, input=formatted.stdout, capture_output=True).returncode == 0
    result_without_stdin = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command_line("skn", "parse", "-")],
        capture_output=True,
        text=True,
    )
    assert result_without_stdin.returncode == 3
    assert result_without_stdin.stderr.startswith("error: ")


def test_schema_matches_the_parser() -> None:
    schema = json.loads(build_schema("skn"))
    assert schema["$schema"].endswith("2020-12/schema")
    document_schema = schema["$defs"]["Document"]
    assert set(document_schema["properties"]) == set(to_json(REDIS))
    assert document_schema["required"] == ["source", "facts"]
    assert document_schema["additionalProperties"] is False
    assert schema["$defs"]["Fact"]["properties"]["confidence"] == {
        "type": "number",
        "minimum": 0.0,
        "maximum": 1.0,
    }
