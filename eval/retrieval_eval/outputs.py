"""Writes the output files of a run from its rows, replies, items and manifest.

They are the metrics, a page, a row for each retriever and question, and TREC files. They depend on
nothing else, so an interrupted and resumed run writes the same bytes as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from eval.harness.reply import REPLIES, read_replies
from eval.retrieval_eval.files import (
    MANIFEST,
    METRICS,
    PAGE,
    QRELS,
    QUESTIONS,
    list_trec_files,
)
from eval.retrieval_eval.items import RetrievalItem, read_items
from eval.retrieval_eval.manifest import RetrievalManifest, read_manifest
from eval.retrieval_eval.questions import Kind
from eval.retrieval_eval.record import RetrievalReport
from eval.retrieval_eval.report import build_report
from eval.retrieval_eval.row import RetrievalRow, read_rows
from eval.retrieval_eval.row_builder import check_value, get_ranking
from eval.retrieval_eval.text import render_markdown
from eval.retrieval_eval.trec import render_qrels, render_run
from eval.stats.bootstrap import round_significant
from kg.base.files import to_json_bytes, write_files_atomic


class QuestionRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one retriever for one question, to be read by people and other tools.

    Scores and metrics are rounded; ``rows.jsonl`` has them in full.
    """

    id: str
    retriever: str
    kind: Kind
    gold: tuple[str, ...]
    measures: dict[str, float] | None
    """Null for an unanswerable question, which has no gold."""
    best_score: float | None
    """Null if nothing was found."""
    ranks: dict[str, int | None]
    """Rank of each gold chunk, from 1; null if it was not found."""
    found: tuple[tuple[str, float], ...]
    """The first chunks and their scores."""
    repeat: int = 0


def write_outputs(folder: Path) -> RetrievalReport:
    """Measures a run and writes its output files, either all or none.

    Args:
        folder: folder of the run. If the run was interrupted, the rows so far are measured.

    Raises:
        MissingFileError, RecordError: the folder has no run.
        WriteError: a file cannot be written.
    """
    manifest = read_manifest(folder / MANIFEST)
    items = read_items(folder / manifest.items)
    rows = list(read_rows(folder / manifest.rows))
    report = build_report(manifest, items, rows)
    contents = {
        METRICS: to_json_bytes(report, indent=2) + b"\n",
        PAGE: render_markdown(report).encode(),
        QUESTIONS: b"".join(
            to_json_bytes(row) + b"\n" for row in _iter_question_rows(manifest, rows)
        ),
        QRELS: render_qrels(items).encode(),
        **_render_runs(folder, manifest, items),
    }
    write_files_atomic({folder / name: content for name, content in contents.items()})
    return report


def _iter_question_rows(
    manifest: RetrievalManifest, rows: Sequence[RetrievalRow]
) -> Iterator[QuestionRow]:
    """Yields the rows retriever by retriever, rounded."""
    order = {name: number for number, name in enumerate(manifest.systems)}
    for row in sorted(rows, key=lambda row: order[row.system]):
        yield QuestionRow(
            id=row.id,
            retriever=row.system,
            repeat=row.repeat,
            kind=row.kind,
            gold=row.gold,
            measures=None
            if row.measures is None
            else {name: round_significant(value) for name, value in row.measures.items()},
            best_score=None if row.best_score is None else round_significant(row.best_score),
            ranks=row.ranks,
            found=tuple((chunk_id, round_significant(score)) for chunk_id, score in row.found),
        )


def _render_runs(
    folder: Path, manifest: RetrievalManifest, items: Sequence[RetrievalItem]
) -> dict[str, bytes]:
    """Renders the TREC run file of each retriever, from its first reply to each question."""
    item_of_id = {item.id: item for item in items}
    rankings: dict[str, dict[str, list[str]]] = {name: {} for name in manifest.systems}
    for reply in read_replies(folder / REPLIES):
        if reply.repeat == 0:
            ranking = get_ranking(check_value(reply), item_of_id[reply.id])
            rankings[reply.system][reply.id] = [chunk_id for chunk_id, _ in ranking]
    return {
        file: render_run(name, rankings[name], items).encode()
        for name, file in zip(manifest.systems, list_trec_files(manifest.systems), strict=True)
    }
