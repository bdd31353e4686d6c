"""Tests that the outputs of five jobs stay the same while code is renamed and moved.

The jobs are small runs of ``make all``, ``text``, ``skn``, ``extract`` and ``synthlink`` with fixed
seeds. Their outputs are compared with those in ``tests/frozen/JOB.tsv``: rows, metrics,
comparisons, manifests, tables, predictions, cards (to the byte), concept graphs and exports. Pages
and Markdown are
compared by their numbers and ids. Times, digests, versions, paths and prose are masked;
``tests/frozen/output_files.py`` says what is masked and how.

When a key, column or file is renamed on purpose, enter it in ``RENAMED_KEYS`` below. When behaviour
changes on purpose, freeze again in the commit that changes it, and say so in its message::

    python tests/test_frozen_outputs.py --freeze            # all jobs; then empty RENAMED_KEYS
    python tests/test_frozen_outputs.py --freeze skn text   # these jobs only

Of long columns the first values are frozen as they are and the others as digests. To see a value
that is frozen as a digest, check out the commit that froze it, and keep the outputs of its jobs::

    python tests/test_frozen_outputs.py --keep FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import extraction_reader
import pytest
import skn_reader
from extraction_reader import READER, REPLAY
from frozen.column_store import Outputs, compare_outputs, read_frozen, write_frozen
from frozen.output_files import read_outputs
from skn_reader import READER as SKN_READER
from skn_run_parts import REPLAY as SKN_REPLAY
from stage_calls import PRODUCT

# Old name → new name of JSON keys, CSV columns, ids and files. The masks use the old names: after
# --freeze, empty this table and enter the new names in tests/frozen/output_files.py.
RENAMED_KEYS: dict[str, str] = {}

ROOT = Path(__file__).parents[1]
FROZEN = Path(__file__).parent / "frozen"
CORPUS = PRODUCT / "retrieval" / "corpora" / "keeping_data"
CHAPTERS = ("11-transactions-and-isolation", "12-locking", "14-recovery")
MAX_DIFFERENCES = 25

# The command lines of each goal of the Makefile, on fewer items. Flags that are left out are
# frozen at their defaults. A line that begins with `> FILE` writes its standard output to FILE.
RESULTS = "kg_results.jsonl graph_rag_results.jsonl rag_results.jsonl controls_results.jsonl"
JOBS: dict[str, tuple[str, ...]] = {
    "all": (
        "cards --domain rivers --num-per-type 12 --seed 12345 --out context_cards.jsonl",
        "near-miss --cards context_cards.jsonl --num 8 --seed 12345 --out near_miss_cards.jsonl",
        "join context_cards.jsonl near_miss_cards.jsonl --out cards.jsonl",
        "eval --cards cards.jsonl --domain rivers --system kg --out kg_results.jsonl",
        "eval --cards cards.jsonl --domain rivers --system graph_rag --out graph_rag_results.jsonl",
        "eval --cards cards.jsonl --domain rivers --system rag --shard 1/2 --out shard_1.jsonl",
        "eval --cards cards.jsonl --domain rivers --system rag --shard 2/2 --out shard_2.jsonl",
        "merge shard_1.jsonl shard_2.jsonl --out rag_results.jsonl",
        "eval --cards cards.jsonl --system controls --seed 12345 --out controls_results.jsonl",
        "eval --cards cards.jsonl --domain rivers --system formats --out formats_results.jsonl",
        f"metrics --cards cards.jsonl --results {RESULTS} --seed 12345 --out metrics.json",
        f"report --cards cards.jsonl --results {RESULTS} --domain rivers --metrics metrics.json "
        "--out report.html",
        f"compare --cards cards.jsonl {RESULTS} --seed 12345 --out comparison.json",
        "compare --cards cards.jsonl formats_results.jsonl --out formats_comparison.json",
        "gate rag_results.jsonl --metric FAR-NE<=0.05 --metric rag:LA.low>=0.2 "
        "--baseline graph_rag_results.jsonl --junit gate.xml",
        "> audit.json audit context_cards.jsonl --domain rivers --seed 12345 --json",
        # Kinds of cards that the goal does not make.
        "cards --domain mayors --num-per-type 6 --faithfulness --seed 7 --out mayors_cards.jsonl",
        "near-miss --domain mayors --num 5 --with-entailed --seed 7 --out mayors_near_cards.jsonl",
    ),
    "text": (
        f"kg build {' '.join(f'docs/{chapter}.md' for chapter in CHAPTERS)} --embedder lexical "
        "--out runs/book",
        # The lexical embedder is always there; by default dense retrieval needs an extra.
        "retrieval eval --run runs/book --questions questions.jsonl --retriever ensemble --ablate "
        "--embedder lexical --split all --seed 12345 --out retrieval",
        "kg export --run runs/book --ttl graph/concepts.ttl",
        "cards --domain graph/domain.toml --num-per-type 10 --seed 12345 --out cards.jsonl",
        "> audit.json audit cards.jsonl --domain graph/domain.toml --seed 12345 --json",
        "eval --cards cards.jsonl --system rag --set run=runs/book --set passages=chunk "
        "--set retriever=ensemble --set embedder=lexical --out rag_results.jsonl",
        "eval --cards cards.jsonl --domain graph/domain.toml --system graph_rag "
        "--out graph_rag_results.jsonl",
        "eval --cards cards.jsonl --system controls --out controls_results.jsonl",
        "metrics --cards cards.jsonl --results rag_results.jsonl graph_rag_results.jsonl "
        "controls_results.jsonl --seed 12345 --out metrics.json",
        "report --cards cards.jsonl --results rag_results.jsonl graph_rag_results.jsonl "
        "controls_results.jsonl --domain graph/domain.toml --metrics metrics.json "
        "--out report.html",
    ),
    "skn": (
        f"skn run {' '.join(map(str, SKN_REPLAY))} --limit 6 --out first",
        f"skn run {' '.join(SKN_READER)} --limit 6 --out second",
    ),
    "extract": (
        f"extract run {' '.join(map(str, REPLAY))} --limit 16 --out first",
        f"extract run {' '.join(READER)} --sample 60 --seed 12345 --limit 16 --out second",
        "extract compare --runs first,second --output comparison.html",
    ),
    "synthlink": (
        "synthlink run --system extractive --no-score --limit 12 --seed 12345 --out extractive",
        "synthlink run --system graph_walk --compare extractive/predictions.json --limit 12 "
        "--seed 12345 --out graph_walk",
        "synthlink score --predictions extractive/predictions.json --output-dir scored",
    ),
}

# Runs every command line in one process, because starting Python takes longer than most of them.
# It uses only the command line, so that it need not change when code is moved or renamed. Exit code
# 100 of `epoche gate` means that a check failed; that is an output like any other.
DRIVER = """
import contextlib, io, json, runpy, sys

codes = []
for line in json.load(sys.stdin):
    words = line.split()
    stdout_file = words[1] if words[0] == ">" else None
    sys.argv = ["epoche", *(words[2:] if stdout_file else words)]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_module("epoche", run_name="__main__")
        codes.append(0)
    except SystemExit as stop:
        codes.append(stop.code or 0)
    if codes[-1] not in {0, 100}:
        sys.exit(f"exit code {codes[-1]!r} of: epoche {line}")
    if stdout_file:
        open(stdout_file, "w", encoding="utf-8").write(printed.getvalue())
json.dump(codes, open("exit_codes.json", "w"))
"""
INHERITED_VARIABLES = {"PATH", "LD_LIBRARY_PATH", "PYTHONHASHSEED", "PYTHONPATH", "TMPDIR"}


def write_inputs(folder: Path) -> None:
    """Writes the chapters that ``text`` reads, and the questions that these chapters answer."""
    (folder / "docs").mkdir()
    for chapter in CHAPTERS:
        text = (CORPUS / "book" / f"{chapter}.md").read_text("utf-8")
        (folder / "docs" / f"{chapter}.md").write_text(text, "utf-8")
    lines = (CORPUS / "questions.jsonl").read_text("utf-8").splitlines(keepends=True)
    answerable_lines = (
        line
        for line in lines
        if all(gold.split("#")[0] in CHAPTERS for gold in json.loads(line)["gold"])
    )
    (folder / "questions.jsonl").write_text("".join(answerable_lines), "utf-8")


def run_job(job: str, folder: Path) -> Outputs:
    """Runs the commands of a job in an empty folder; returns what they wrote.

    Raises:
        AssertionError: a command failed; the message ends with what it printed.
    """
    if job == "text":
        write_inputs(folder)
    if job == "extract":
        shutil.copy(extraction_reader.__file__, folder)
    if job == "skn":
        shutil.copy(skn_reader.__file__, folder)
    inputs = {path for path in folder.rglob("*") if path.is_file()}
    # The run must not depend on the settings, keys, caches and languages of the machine's user.
    environment = {name: value for name, value in os.environ.items() if name in INHERITED_VARIABLES}
    result = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(JOBS[job]),
        cwd=folder,
        env={
            **environment,
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",  # of the system that `extract` asks
            "HOME": str(folder),
            "COLUMNS": "80",
            "TZ": "UTC",
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    old_names = {new: old for old, new in RENAMED_KEYS.items()}
    return dict(read_outputs(folder, inputs, old_names))


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_outputs_equal_the_frozen_ones(job: str, tmp_path: Path) -> None:
    outputs = run_job(job, tmp_path)
    frozen = read_frozen(FROZEN / f"{job}.tsv")
    differences = list(compare_outputs(frozen, outputs, RENAMED_KEYS))
    # Differences of pages and Markdown come last: those of the data show the change more clearly.
    differences.sort(key=lambda line: line.split(": ")[0].endswith((".html", ".md", ".txt")))
    assert not differences, "\n".join(
        [
            f"{job}: {len(differences)} columns differ from tests/frozen/{job}.tsv "
            "(on purpose? the docstring of this file says what to do)",
            *differences[:MAX_DIFFERENCES],
        ]
    )


def main(arguments: list[str]) -> None:
    """Freezes the current outputs of the jobs, or only runs the jobs and keeps their outputs."""
    if arguments[:1] == ["--keep"] and len(arguments) == 2:
        for job in JOBS:
            folder = Path(arguments[1]).resolve() / job
            folder.mkdir(parents=True)
            run_job(job, folder)
    elif arguments[:1] == ["--freeze"] and set(arguments[1:]) <= set(JOBS):
        for job in arguments[1:] or JOBS:
            with tempfile.TemporaryDirectory() as folder:
                write_frozen(FROZEN / f"{job}.tsv", run_job(job, Path(folder).resolve()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
