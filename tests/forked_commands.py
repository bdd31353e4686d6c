"""Starts commands in forked processes, so that a test can start and kill many of them quickly.

A parent process that has imported everything forks one child per command. Each child is a real
process with its own files, event loop and sockets, and is killed by a real signal. It only saves
the second that the imports take.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FORKER_SCRIPT = """
import json, os, sys
from epoche.cli import main

answers = int(sys.argv[1])

def run_command(arguments):
    sys.argv = ["epoche", *arguments]
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0

for line in sys.stdin:
    job = json.loads(line)
    if "wait" in job:
        answer = os.waitstatus_to_exitcode(os.waitpid(job["wait"], 0)[1])
    elif job.get("in_parent"):
        os.chdir(job["folder"])
        os.environ.update(job["env"])
        answer = run_command(job["arguments"])
    elif (answer := os.fork()) == 0:
        code = 70  # the exit code if the command raises an exception
        try:
            os.setsid()
            os.chdir(job["folder"])
            os.environ.update(job["env"])
            for stream, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
            code = run_command(job["arguments"])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.write(answers, f"{answer}\\n".encode())
"""
"""Reads one job per line and writes one answer each: an exit code, or the id of a new child."""


class ForkedCommand:
    """A child process that runs one command.

    Attributes:
        pid: its process id.
    """

    def __init__(self, forker: Forker, pid: int) -> None:
        self.pid = pid
        self._forker = forker

    def wait(self) -> int:
        """Waits for the end; returns the exit code, or minus the signal that ended the process."""
        return self._forker.send_job(wait=self.pid)


class Forker:
    """Starts commands; a context manager. Their output is appended to files in their folder.

    Args:
        folder: default working folder of the commands.
        env: environment variables in addition to those of the tests.
    """

    def __init__(self, folder: Path, **env: str) -> None:
        self._folder = folder
        self._env = env

    def __enter__(self) -> Self:
        read_end, write_end = os.pipe()
        self._answers = os.fdopen(read_end)
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKER_SCRIPT, str(write_end)],
            stdin=subprocess.PIPE,
            text=True,
            pass_fds=(write_end,),
        )
        os.close(write_end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._answers.close()

    def warm_up(self, *arguments: object) -> None:
        """Runs a command in the parent process, so that no child has to repeat its imports."""
        assert self.send_job(in_parent=True, **self._build_job(arguments)) == 0

    def start(self, *arguments: object, folder: Path | None = None) -> ForkedCommand:
        """Starts ``epoche ARGUMENTS``."""
        return ForkedCommand(self, self.send_job(**self._build_job(arguments, folder)))

    def run(self, *arguments: object, folder: Path | None = None) -> int:
        """Runs ``epoche ARGUMENTS`` to its end; returns its exit code."""
        return self.start(*arguments, folder=folder).wait()

    def send_job(self, **job: Any) -> int:
        """Sends one job; returns the answer of the forking process."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._answers.readline())

    def _build_job(
        self, arguments: tuple[object, ...], folder: Path | None = None
    ) -> dict[str, Any]:
        return {
            "arguments": list(map(str, arguments)),
            "folder": str(folder or self._folder),
            "env": self._env,
        }
