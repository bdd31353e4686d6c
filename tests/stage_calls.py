"""Runs commands as users do, and checks how their failures look."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from epoche.cli import app

ROOT = Path(__file__).parents[1]
MAYORS = ROOT / "kg" / "domains" / "mayors"
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
    """The command line ``python -m epoche ARGUMENTS``."""
    return [sys.executable, "-m", "epoche", *map(str, arguments)]


def run_process(arguments: list[str], cwd: Path, **env: str) -> CommandResult:
    """Runs a real process to its end."""
    done = subprocess.run(
        arguments,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def limit_file_size(arguments: list[str], limit: int) -> list[str]:
    """The command line under a limit of ``limit`` bytes per file.

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
    """``epoche ARGUMENTS`` on a disk that never finishes its first ``fsync``.

    ``ready`` is created when it is reached: the output is written but not yet renamed.
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
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def cpu_seconds(pid: int) -> float:
    """CPU time that a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_error_line(done: CommandResult, code: int) -> str:
    """Checks that a failure prints exactly one error line; returns it.

    Warnings may precede it. It has no terminal control characters.
    """
    assert done.code == code, done.err
    lines = done.err.split("\n")
    assert lines.pop() == "", "the last line must end in a line feed"
    errors = [line for line in lines if not line.startswith("warning: ")]
    assert len(errors) == 1, done.err
    (line,) = errors
    assert line.startswith("error: ")
    assert "Traceback" not in done.err
    assert len(line) < 2_500
    troublesome = {char for char in line if unicodedata.category(char) in {"Cc", "Cs"}}
    assert not troublesome
    assert not set(line) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
    return line


def check_usage_error(done: CommandResult) -> str:
    """Checks that a wrong command line says how to get help; returns the last line."""
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    last = done.err.rstrip("\n").split("\n")[-1]
    assert last.startswith("Error: ")
    return last


def read_folder_bytes(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, to detect leftovers and losses."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
