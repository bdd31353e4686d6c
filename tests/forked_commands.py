"""Commands in processes that are there at once, so that a test can kill many of them.

A process that has imported everything forks one child a command. Each child is a real process with
its own files, loop and sockets, and dies by a real signal; only the second of imports is spared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FORKER = """
import json, os, sys
from epoche.cli import main

answers = int(sys.argv[1])

def end_of(arguments):
    sys.argv = ["epoche", *arguments]
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0

for line in sys.stdin:
    job = json.loads(line)
    if "wait" in job:
        said = os.waitstatus_to_exitcode(os.waitpid(job["wait"], 0)[1])
    elif job.get("here"):
        os.chdir(job["folder"])
        os.environ.update(job["env"])
        said = end_of(job["arguments"])
    elif (said := os.fork()) == 0:
        code = 70
        try:
            os.setsid()
            os.chdir(job["folder"])
            os.environ.update(job["env"])
            for stream, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
            code = end_of(job["arguments"])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.write(answers, f"{said}\\n".encode())
"""


class Forked:
    """A child process that runs one command.

    Attributes:
        pid: its process id.
    """

    def __init__(self, forker: Forker, pid: int) -> None:
        self.pid = pid
        self._forker = forker

    def wait(self) -> int:
        """Its exit code; minus the signal that ended it."""
        return self._forker.tell(wait=self.pid)


class Forker:
    """Starts commands; use it as a context. What they print is appended to files in their folder.

    Args:
        folder: where commands run, unless told otherwise.
        env: variables they have beside those of the tests.
    """

    def __init__(self, folder: Path, **env: str) -> None:
        self._folder = folder
        self._env = env

    def __enter__(self) -> Self:
        end, other = os.pipe()
        self._answers = os.fdopen(end)
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKER, str(other)],
            stdin=subprocess.PIPE,
            text=True,
            pass_fds=(other,),
        )
        os.close(other)
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
        """Runs a command in the parent itself, so that no child has to import what it needs."""
        assert self.tell(here=True, **self._job(arguments)) == 0

    def start(self, *arguments: object, folder: Path | None = None) -> Forked:
        """Starts ``epoche ARGUMENTS``."""
        return Forked(self, self.tell(**self._job(arguments, folder)))

    def run(self, *arguments: object, folder: Path | None = None) -> int:
        """Runs ``epoche ARGUMENTS`` to its end; returns its exit code."""
        return self.start(*arguments, folder=folder).wait()

    def tell(self, **job: Any) -> int:
        """Hands over one job; returns what the forking process says to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._answers.readline())

    def _job(self, arguments: tuple[object, ...], folder: Path | None = None) -> dict[str, Any]:
        return {
            "arguments": list(map(str, arguments)),
            "folder": str(folder or self._folder),
            "env": self._env,
        }
