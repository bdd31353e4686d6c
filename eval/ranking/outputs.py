"""Renders the output files of an evaluation: metrics, page, rows per question, TREC files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from eval.ranking.metrics import METRIC_NAMES, score_questions
from eval.ranking.questions import Kind, Question
from eval.ranking.rankings import Rankings
from eval.ranking.record import RetrievalReport
from eval.ranking.text import render_markdown
from eval.ranking.trec import render_qrels, render_run
from eval.stats.bootstrap import round_significant
from kg.base.files import to_json_bytes

METRICS_FILE = "metrics.json"
PAGE_FILE = "retrieval.md"
QUESTIONS_FILE = "questions.jsonl"
QRELS_FILE = "qrels.trec"
OUTPUT_FILES = (METRICS_FILE, PAGE_FILE, QUESTIONS_FILE, QRELS_FILE)
RUNS_FOLDER = "runs"

_MAX_LISTED_CHUNKS = 10
"""Maximum number of chunks listed per question and retriever; TREC run files have all of them."""


class QuestionRow(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one retriever for one question."""

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


def build_question_rows(
    questions: Sequence[Question], retrievers: Mapping[str, Rankings]
) -> Iterator[QuestionRow]:
    """Yields a row for each retriever and question."""
    for name, rankings in retrievers.items():
        values = score_questions(rankings, questions)
        for question, question_values in zip(questions, values, strict=True):
            ranking = rankings.by_question[question.id]
            ranks = {chunk_id: rank for rank, chunk_id in enumerate(ranking, start=1)}
            scored_chunks = list(ranking.items())
            yield QuestionRow(
                id=question.id,
                retriever=name,
                kind=question.kind,
                gold=question.gold,
                measures=dict(
                    zip(METRIC_NAMES, map(round_significant, question_values.tolist()), strict=True)
                )
                if question.answerable
                else None,
                best_score=round_significant(scored_chunks[0][1]) if scored_chunks else None,
                ranks={chunk_id: ranks.get(chunk_id) for chunk_id in question.gold},
                found=tuple(
                    (chunk_id, round_significant(score))
                    for chunk_id, score in scored_chunks[:_MAX_LISTED_CHUNKS]
                ),
            )


def render_outputs(
    folder: Path,
    report: RetrievalReport,
    questions: Sequence[Question],
    retrievers: Mapping[str, Rankings],
    variants: Mapping[str, Rankings],
) -> dict[Path, bytes]:
    """Renders all output files, to be written together.

    Args:
        folder: the output folder.
        report: the report.
        questions: the questions that were evaluated.
        retrievers: name of a retriever → its rankings.
        variants: name of an ablation variant → its rankings.

    Returns:
        Path → content.
    """
    rows = build_question_rows(questions, {**retrievers, **variants})
    files = {
        METRICS_FILE: to_json_bytes(report, indent=2) + b"\n",
        PAGE_FILE: render_markdown(report).encode(),
        QUESTIONS_FILE: b"".join(to_json_bytes(row) + b"\n" for row in rows),
        QRELS_FILE: render_qrels(questions).encode(),
    }
    for name, rankings in {**retrievers, **variants}.items():
        files[f"{RUNS_FOLDER}/{make_file_name(name)}.trec"] = render_run(
            rankings, questions
        ).encode()
    return {folder / name: content for name, content in files.items()}


def make_file_name(name: str) -> str:
    """Returns a safe file name: ``ensemble without kg`` → ``ensemble-without-kg``.

    The result has no path separators, so the file stays in its folder.
    """
    return re.sub(r"[^a-z0-9_+]+", "-", name.casefold()).strip("-") or "retriever"
