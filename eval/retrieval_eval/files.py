"""Names the files of a run folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from eval.harness.reply import REPLIES, VOTES

MANIFEST: Final = "manifest.json"
ROWS: Final = "rows.jsonl"
ITEMS: Final = "items.jsonl"
"""The questions that were asked, with their gold, in the order of the rows."""

METRICS: Final = "metrics.json"
PAGE: Final = "retrieval.md"
QUESTIONS: Final = "questions.jsonl"
QRELS: Final = "qrels.trec"
RUNS_FOLDER: Final = "runs"

OUTPUT_FILES: Final = (METRICS, PAGE, QUESTIONS, QRELS)
"""The files derived from rows and replies, without the TREC file of each retriever."""


def list_trec_files(names: Iterable[str]) -> list[str]:
    """Returns the names, within the run's folder, of the TREC run files of retrievers."""
    return [f"{RUNS_FOLDER}/{make_file_name(name)}.trec" for name in names]


def list_run_files(folder: Path, retrievers: Iterable[str]) -> list[Path]:
    """Returns the path of every file that a run in ``folder`` writes, except its report."""
    names = (MANIFEST, REPLIES, VOTES, ROWS, ITEMS, *OUTPUT_FILES, *list_trec_files(retrievers))
    return [folder / name for name in names]


def make_file_name(name: str) -> str:
    """Returns a safe file name: ``ensemble without kg`` → ``ensemble-without-kg``.

    The result has no path separators, so the file stays in its folder.
    """
    return re.sub(r"[^a-z0-9_+]+", "-", name.casefold()).strip("-") or "retriever"
