"""Running stages as users do, and what every failure must look like; for the tests beside it."""

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
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def epoche(*arguments: object) -> Done:
    """``epoche ARGUMENTS`` in this process, from the command line parser to the exit code.

    An exception that would show the user a traceback fails the test.
    """
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def command(*arguments: object) -> list[str]:
    """The command line of ``python -m epoche ARGUMENTS``."""
    return [sys.executable, "-m", "epoche", *map(str, arguments)]


def call(arguments: list[str], cwd: Path, **env: str) -> Done:
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
    return Done(done.returncode, done.stdout, done.stderr)


def starved(arguments: list[str], limit: int) -> list[str]:
    """The command line under a limit of ``limit`` bytes a file.

    Python ignores SIGXFSZ, so a write past the limit fails half way, exactly as on a full disk.
    """
    assert resource.RLIMIT_FSIZE is not None
    start = (
        "import os, resource, sys;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", start, *arguments]


def held_at_fsync(ready: Path, *arguments: object) -> list[str]:
    """``epoche ARGUMENTS`` on a disk that never finishes its first ``fsync``.

    ``ready`` appears when it is reached: the output is written, but has not taken its place.
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


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Waits until ``condition`` holds; the process must still be running then."""
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def cpu_seconds(pid: int) -> float:
    """Processor time a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def error_line(done: Done, code: int) -> str:
    """The one line that a failure prints, after checking that it is one.

    Warnings may stand before it. Nothing in it can drive a terminal.
    """
    assert done.code == code, done.err
    lines = done.err.split("\n")
    assert lines.pop() == "", "the line is not finished"
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


def usage_error(done: Done) -> str:
    """What a wrong command line prints, after checking that it says how to get help."""
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    last = done.err.rstrip("\n").split("\n")[-1]
    assert last.startswith("Error: ")
    return last


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file under a folder with its bytes: leftovers and losses both show as differences."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
