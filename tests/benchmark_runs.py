"""Small runs of every benchmark that writes a run folder, for the tests that all of them share."""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from stage_calls import CommandResult, run_epoche

import retrieval
from eval.benchmarks import find_benchmark

BOOK = Path(retrieval.__file__).parent / "corpora" / "keeping_data"
CHAPTER = "04-normal-forms"


@cache
def make_text_run() -> Path:
    """Makes a folder with the text run ``run`` of one chapter, and ``questions.jsonl`` about it."""
    folder = Path(tempfile.mkdtemp(prefix="epoche-text-run-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    lines = [
        line
        for line in (BOOK / "questions.jsonl").read_text("utf-8").splitlines(keepends=True)
        if all(gold.split("#")[0] == CHAPTER for gold in json.loads(line)["gold"])
    ]
    (folder / "questions.jsonl").write_text("".join(lines), "utf-8")
    chapter = BOOK / "book" / f"{CHAPTER}.md"
    built = run_epoche("kg", "build", chapter, "--out", folder / "run", "--no-canonical")
    assert built.code == 0, built.err
    return folder


class TextRunPath:
    """A path in the folder of ``make_text_run``, which is made when a command line needs it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return str(make_text_run() / self._name)


COMMANDS: dict[str, list[object]] = {
    "extraction": ["extract", "run", "--offline", "--resamples", 100, "--no-report"],
    "retrieval": [
        *("retrieval", "eval", "--run", TextRunPath("run")),
        *("--questions", TextRunPath("questions.jsonl"), "--split", "all"),
        *("--baseline", "bm25", "--retriever", "kg", "--resamples", 100),
    ],
    "skn": [
        *("skn", "run", "--offline", "--resamples", 100),
        "--no-report",
        "--concurrency",
        1,
    ],
    "synthlink": [
        *("synthlink", "run", "--system", "graph_walk"),
        "--no-score",
        "--concurrency",
        1,
    ],
}
"""How each benchmark is run without a model."""
LIMIT = 5
CHANGING_KEYS = ("started", "ended", "resumed", "dataset", "search_file")
"""Keys of a manifest that differ between two runs of the same kind: times, and paths relative to
the folder."""

_SLOW_JOURNAL = """
import sys, time
DELAY = float(sys.argv.pop(1))
import eval.harness.journal as journal
append = journal.Journal.append
def append_slowly(self, *row):
    append(self, *row)
    time.sleep(DELAY)
journal.Journal.append = append_slowly
from epoche.cli import main
sys.argv = ["epoche", *sys.argv[1:]]
main()
"""


def make_command(name: str, out: Path, *flags: object) -> list[str]:
    """Returns the arguments of a run of a few items; later flags take precedence."""
    return [str(part) for part in (*COMMANDS[name], "--limit", LIMIT, "--out", out, *flags)]


def run_benchmark(name: str, out: Path, *flags: object) -> CommandResult:
    """Runs a benchmark in this process."""
    return run_epoche(*make_command(name, out, *flags))


def slow_command_line(arguments: list[str], delay_s: float = 0.2) -> list[str]:
    """Makes a command line that waits after every journaled line, so that it can be stopped."""
    return [sys.executable, "-c", _SLOW_JOURNAL, str(delay_s), *arguments]


def read_folder(folder: Path) -> dict[str, Any]:
    """Reads all files of a run folder; the manifest as JSON without ``CHANGING_KEYS``."""
    contents: dict[str, Any] = {}
    manifest_file = find_benchmark(folder).manifest_file
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        contents[name] = path.read_bytes()
        if name == manifest_file:
            manifest = json.loads(path.read_bytes())
            contents[name] = {key: manifest[key] for key in manifest if key not in CHANGING_KEYS}
    return contents
