"""What a measurement writes: metrics, page, a row per question, and files for TREC's tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from eval.ranking.measures import MEASURES, per_question
from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings
from eval.ranking.record import RetrievalReport
from eval.ranking.trec import qrels_text, run_text
from eval.ranking.words import markdown
from eval.stats.intervals import tidy
from kg.base.files import to_json_bytes

METRICS = "metrics.json"
PAGE = "retrieval.md"
QUESTIONS = "questions.jsonl"
QRELS = "qrels.trec"
FILES = (METRICS, PAGE, QUESTIONS, QRELS)
RUNS = "runs"

_SHOWN = 10
"""Chunks listed for each question and retriever; the run files have all of them."""


class QuestionRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one retriever found for one question."""

    id: str
    retriever: str
    kind: str
    gold: tuple[str, ...]
    measures: dict[str, float] | None
    """Null for an unanswerable question: there is nothing to be found."""
    best_score: float | None
    """Null where nothing was found."""
    ranks: dict[str, int | None]
    """Place of each gold chunk, from 1; null where it was not found."""
    found: tuple[tuple[str, float], ...]
    """The first chunks and their scores."""


def question_rows(
    questions: Sequence[Question], retrievers: Mapping[str, Rankings]
) -> Iterator[QuestionRow]:
    """A row for each retriever and question."""
    for name, rankings in retrievers.items():
        values = per_question(rankings, questions)
        for question, row in zip(questions, values, strict=True):
            found = rankings.by_question[question.id]
            places = {chunk_id: place for place, chunk_id in enumerate(found, start=1)}
            scored = list(found.items())
            yield QuestionRow(
                id=question.id,
                retriever=name,
                kind=question.kind,
                gold=question.gold,
                measures=dict(zip(MEASURES, map(tidy, row.tolist()), strict=True))
                if question.answerable
                else None,
                best_score=tidy(scored[0][1]) if scored else None,
                ranks={chunk_id: places.get(chunk_id) for chunk_id in question.gold},
                found=tuple((chunk_id, tidy(score)) for chunk_id, score in scored[:_SHOWN]),
            )


def contents(
    folder: Path,
    report: RetrievalReport,
    questions: Sequence[Question],
    retrievers: Mapping[str, Rankings],
    variants: Mapping[str, Rankings],
) -> dict[Path, bytes]:
    """Everything to be written, by path: all of it, or nothing.

    Args:
        folder: where to.
        report: what was measured.
        questions: those asked.
        retrievers: their rankings.
        variants: those of the ablations.
    """
    rows = question_rows(questions, {**retrievers, **variants})
    files = {
        METRICS: to_json_bytes(report, indent=2) + b"\n",
        PAGE: markdown(report).encode(),
        QUESTIONS: b"".join(to_json_bytes(row) + b"\n" for row in rows),
        QRELS: qrels_text(questions).encode(),
    }
    for name, rankings in {**retrievers, **variants}.items():
        files[f"{RUNS}/{file_name(name)}.trec"] = run_text(rankings, questions).encode()
    return {folder / name: content for name, content in files.items()}


def file_name(name: str) -> str:
    """``ensemble without kg`` as ``ensemble-without-kg``: no path leads out of the folder."""
    return re.sub(r"[^a-z0-9_+]+", "-", name.casefold()).strip("-") or "retriever"
