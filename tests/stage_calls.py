"""Runs commands as users do, and checks how failures are reported."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import kg
from epoche.cli import app
from kg.base.provenance import compute_content_digest

ROOT = Path(__file__).parents[1]
PRODUCT = Path(kg.__file__).parents[1]
"""Folder of the packages: the repository or, when the tests run against the wheel, ``epoche``."""
MAYORS = PRODUCT / "kg" / "domains" / "mayors"
GRAPH = MAYORS / "mayors.ttl"
SHAPES = MAYORS / "mayors.shacl.ttl"


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def run_epoche(*arguments: object) -> CommandResult:
    """Runs ``epoche ARGUMENTS`` in this process, from the command line parser to the exit code.

    An exception that would show the user a traceback fails the test.
    """
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return CommandResult(result.exit_code, result.stdout, result.stderr)


def command_line(*arguments: object) -> list[str]:
    """Makes the command line ``python -m epoche ARGUMENTS``."""
    return [sys.executable, "-m", "epoche", *map(str, arguments)]


def run_process(arguments: list[str], cwd: Path, **env: str) -> CommandResult:
    """Runs a real process to its end."""
    result = subprocess.run(
        arguments,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )
    return CommandResult(result.returncode, result.stdout, result.stderr)


def limit_file_size(arguments: list[str], limit: int) -> list[str]:
    """Makes a command line that runs ``arguments`` under a limit of ``limit`` bytes per file.

    Python ignores SIGXFSZ, so a write beyond the limit fails half way, as on a full disk.
    """
    assert resource.RLIMIT_FSIZE is not None
    start = (
        "import os, resource, sys;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", start, *arguments]


def block_at_fsync(ready: Path, *arguments: object) -> list[str]:
    """Makes a command line for ``epoche ARGUMENTS`` that sleeps in its first ``fsync``.

    ``ready`` is created there: the output is then written but not yet renamed.
    """
    script = (
        "import os, pathlib, sys, time\n"
        "def hold(descriptor):\n"
        f"    pathlib.Path({str(ready)!r}).touch()\n"
        "    time.sleep(60)\n"
        "os.fsync = hold\n"
        "from epoche.cli import main\n"
        "main()\n"
    )
    return [sys.executable, "-c", script, *map(str, arguments)]


def wait_for_condition(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Waits until ``condition`` is true; the process must still be running then."""
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, "the process ended before the condition was true"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def stop_process(process: subprocess.Popen[bytes], signal_number: int) -> int:
    """Sends a signal until a process has ended, and returns its exit code.

    Python drops an interrupt that arrives while it runs a finaliser, so one may not be enough.
    """
    for _ in range(3):
        process.send_signal(signal_number)
        try:
            return process.wait(15)
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    process.wait()
    raise AssertionError(f"the process did not end after three signals {signal_number}")


def read_cpu_seconds(pid: int) -> float:
    """Reads the CPU time that a running process has used."""
    # Fields 14 and 15 of /proc/PID/stat, user and system time; the split drops the first two.
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_error_line(result: CommandResult, code: int) -> str:
    """Checks that a failure prints exactly one error line; returns it.

    Warnings may precede it. The line must have no control or text-direction characters.
    """
    assert result.code == code, result.err
    lines = result.err.split("\n")
    assert lines.pop() == "", "the last line must end in a line feed"
    errors = [line for line in lines if not line.startswith("warning: ")]
    assert len(errors) == 1, result.err
    (line,) = errors
    assert line.startswith("error: ")
    assert "Traceback" not in result.err
    assert len(line) < 2_500
    control_characters = {char for char in line if unicodedata.category(char) in {"Cc", "Cs"}}
    assert not control_characters
    assert not set(line) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
    return line


def check_usage_error(result: CommandResult) -> str:
    """Checks that a wrong command line exits with 2 and an error line; returns that line."""
    assert result.code == 2, result.err
    assert "Traceback" not in result.err
    last_line = result.err.rstrip("\n").split("\n")[-1]
    assert last_line.startswith("Error: ")
    return last_line


def write_edited_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Writes a manifest; if it had a digest, with the right one, as a careful forger would."""
    changed = dict(manifest)
    if changed.get("content_sha256"):
        changed["content_sha256"] = compute_content_digest(changed)
    path.write_text(json.dumps(changed), "utf-8")


def read_folder_bytes(folder: Path) -> dict[str, bytes]:
    """Reads every file below a folder, so that tests can detect new, lost and changed files."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def check_failure(workspace: Path, code: int, *arguments: object, message: str = "") -> str:
    """Runs a command that must fail with exit code ``code`` and change no file."""
    old_files = read_folder_bytes(workspace)
    line = check_error_line(run_epoche(*arguments), code)
    assert read_folder_bytes(workspace) == old_files, "a failed command must not change files"
    assert re.search(message, line), line
    return line
