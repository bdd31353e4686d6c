"""Small runs of every benchmark, for the tests that all of them share."""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from extraction_reader import READER
from skn_reader import READER as SKN_READER
from skn_run_parts import REPLAY
from stage_calls import CommandResult, run_epoche

import retrieval
from eval.abstention.manifest import FIXED_FIELDS
from eval.harness.benchmarks import find_benchmark
from eval.harness.reply import REPLIES

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


@cache
def make_card_folder() -> Path:
    """Makes a folder with ``cards.jsonl``."""
    folder = Path(tempfile.mkdtemp(prefix="epoche-cards-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    out = folder / "cards.jsonl"
    made = run_epoche("cards", "--domain", "mayors", "--num-per-type", 3, "--out", out)
    assert made.code == 0, made.err
    return folder


class MadePath:
    """A path in a folder that is made when a command line needs it."""

    def __init__(self, make_folder: Callable[[], Path], name: str) -> None:
        self._make_folder = make_folder
        self._name = name

    def __str__(self) -> str:
        return str(self._make_folder() / self._name)


COMMANDS: dict[str, list[object]] = {
    "cards": ["eval", "--system", "controls", "--cards", MadePath(make_card_folder, "cards.jsonl")],
    "extraction": ["extract", "run", *READER, "--resamples", 100, "--no-report"],
    "retrieval": [
        *("retrieval", "eval", "--run", MadePath(make_text_run, "run")),
        *("--questions", MadePath(make_text_run, "questions.jsonl"), "--split", "all"),
        *("--baseline", "bm25", "--retriever", "kg", "--resamples", 100),
    ],
    "skn": [
        *("skn", "run", *SKN_READER, "--resamples", 100),
        *("--no-report", "--concurrency", 1),
    ],
    "synthlink": [
        *("synthlink", "run", "--system", "graph_walk"),
        "--no-score",
        "--concurrency",
        1,
    ],
}
"""How each benchmark is run without a model."""
FOLDER_COMMANDS = {name: command for name, command in COMMANDS.items() if name != "cards"}
"""The benchmarks that write a folder; a run of cards writes one result file."""
LIMIT = 5
CHANGING_KEYS = (
    *("started", "ended", "resumed", "content_sha256", "statistics_sha256"),
    *("dataset", "cards_file", "search_file"),
)
"""Keys of a manifest that differ between two runs of the same kind: times with the digest that
covers them, paths relative to the folder, and the statistics that only shards have."""

_SLOW_JOURNAL = """
import sys, time
DELAY = float(sys.argv.pop(1))
import eval.harness.journals.journal as journal
append = journal.Journal.append
def append_slowly(self, *row):
    append(self, *row)
    time.sleep(DELAY)
journal.Journal.append = append_slowly
from epoche.cli import main
sys.argv = ["epoche", *sys.argv[1:]]
main()
"""


@dataclass(frozen=True)
class RunFiles:
    """The files of a run in a folder, and the fields of its manifest that identify the run.

    Attributes:
        name: name of the benchmark.
        out: the output as named on the command line, relative to the folder.
        journal: the file to which a line per answer is appended.
        rows: the file of rows; cards have no other journal.
        manifest: the manifest.
        outputs: patterns of the files that are derived from the rows.
        dataset_field: field of the manifest with the hash of the items.
        settings_field: field of the manifest that may not change.
    """

    name: str
    out: str = "."
    journal: str = REPLIES
    rows: str = "rows.jsonl"
    manifest: str = "manifest.json"
    outputs: tuple[str, ...] = ()
    dataset_field: str = "dataset_sha256"
    settings_field: str = ""


CARD_FILES = RunFiles(
    "cards",
    out="results.jsonl",
    journal="results.jsonl",
    rows="results.jsonl",
    manifest="results.manifest.json",
    dataset_field="cards_sha256",
    settings_field=FIXED_FIELDS[0],
)


def find_files(folder: Path) -> RunFiles:
    """Finds the benchmark that wrote a folder, and names its files."""
    if (folder / CARD_FILES.manifest).exists():
        return CARD_FILES
    benchmark = find_benchmark(folder)
    return RunFiles(
        benchmark.name,
        rows=benchmark.rows_file,
        manifest=benchmark.manifest_file,
        outputs=tuple(benchmark.output_files),
        settings_field=benchmark.fixed_fields[0],
    )


def name_output(name: str, folder: Path) -> Path:
    """Returns what ``--out`` names if a run is to be in a folder: the folder, or a file in it."""
    return folder / CARD_FILES.out if name == "cards" else folder


def make_command(name: str, out: Path, *flags: object) -> list[str]:
    """Returns the arguments of a run of a few items into a folder; later flags win."""
    return [
        str(part)
        for part in (*COMMANDS[name], "--limit", LIMIT, "--out", name_output(name, out), *flags)
    ]


def run_benchmark(name: str, out: Path, *flags: object) -> CommandResult:
    """Runs a benchmark in this process."""
    return run_epoche(*make_command(name, out, *flags))


def run_with_judge(out: Path) -> CommandResult:
    """Runs SKN with a recorded model as the judge; the runs of ``COMMANDS`` have no judges."""
    settings = ("--limit", 2, "--resamples", 100, "--no-report", "--concurrency", 1, "--no-cache")
    return run_epoche("skn", "run", *REPLAY, *settings, "--out", out)


def slow_command_line(arguments: list[str], delay_s: float = 0.2) -> list[str]:
    """Makes a command line that waits after every journaled line, so that it can be stopped."""
    return [sys.executable, "-c", _SLOW_JOURNAL, str(delay_s), *arguments]


def read_folder(folder: Path) -> dict[str, Any]:
    """Reads all files of a run folder, except statistics of shards.

    The manifest is read as JSON without ``CHANGING_KEYS``.
    """
    contents: dict[str, Any] = {}
    manifest_file = find_files(folder).manifest
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.name.endswith(".statistics.msgpack"):
            continue
        contents[name] = path.read_bytes()
        if name == manifest_file:
            manifest = json.loads(path.read_bytes())
            contents[name] = {key: manifest[key] for key in manifest if key not in CHANGING_KEYS}
    return contents
