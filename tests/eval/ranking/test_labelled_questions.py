"""Tests that files of labelled questions are read, and refused with file and line if invalid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.retrieval_eval.questions import read_questions, select_split
from kg.base.errors import DuplicateIdError, EpocheError, MissingFileError, RecordError

CHUNKS = ("a#1", "a#2", "b#1")
VALID_QUESTION: dict[str, Any] = {
    "id": "q1",
    "question": "What is a page?",
    "kind": "single-hop",
    "split": "dev",
    "gold": ["a#1"],
    "answer": "A block.",
    "note": "",
}


def write_questions(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_valid_questions_are_read_in_order(tmp_path: Path) -> None:
    rows = [
        VALID_QUESTION,
        {
            **VALID_QUESTION,
            "id": "q2",
            "kind": "multi-hop",
            "gold": ["a#2", "b#1"],
            "split": "test",
        },
        {
            **VALID_QUESTION,
            "id": "q3",
            "kind": "unanswerable",
            "gold": [],
            "reviewer": "unknown keys may be",
        },
    ]
    questions = read_questions(write_questions(tmp_path, *rows), CHUNKS)
    assert [question.id for question in questions] == ["q1", "q2", "q3"]
    assert questions[1].gold == ("a#2", "b#1")
    assert [question.answerable for question in questions] == [True, True, False]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold": ["a#3"]}, "'q2'.*the run has no chunk 'a#3'"),
        ({"gold": ["a#1", "a#1"]}, "'q2'.*'a#1' is named twice"),
        ({"gold": ["a#1"], "excluded": ["a#1"]}, "'q2'.*'a#1' is excluded, too"),
        ({"gold": []}, "'q2'.*single-hop, but it has no gold"),
        ({"kind": "unanswerable"}, "'q2'.*unanswerable, but it has the gold chunk 'a#1'"),
        ({"kind": "easy"}, "kind"),
        ({"split": "train"}, "split"),
        ({"question": "  "}, "'q2'.*its text is empty"),
        ({"question": "why " * 5000}, "'q2'.*longer than"),
        ({"id": ""}, "id is empty"),
        ({"gold": "a#1"}, "gold"),
    ],
)
def test_invalid_questions_are_refused_with_file_and_line(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = write_questions(tmp_path, VALID_QUESTION, {**VALID_QUESTION, "id": "q2", **change})
    with pytest.raises(RecordError, match=message) as caught:
        read_questions(path, CHUNKS)
    assert f"{path}:2" in caught.value.where


def test_unknown_chunk_error_suggests_the_nearest(tmp_path: Path) -> None:
    path = write_questions(tmp_path, {**VALID_QUESTION, "gold": ["a#11"]})
    with pytest.raises(RecordError, match="Did you mean 'a#1'"):
        read_questions(path, CHUNKS)


def test_duplicate_id_is_refused(tmp_path: Path) -> None:
    path = write_questions(
        tmp_path,
        VALID_QUESTION,
        {**VALID_QUESTION, "id": "q2"},
        {**VALID_QUESTION, "question": "And this?"},
    )
    with pytest.raises(DuplicateIdError, match=r"'q1' occurs twice.*:3.*line 1") as caught:
        read_questions(path, CHUNKS)
    assert caught.value.exit_code == 13


@pytest.mark.parametrize(
    ("content", "error_type"),
    [
        (b"", RecordError),
        (b"\n\n", RecordError),
        (b"[1]\n", RecordError),
        (b'{"id": "q1"', RecordError),
        (b"\xff\n", RecordError),
        (b"[" * 100_000 + b"\n", RecordError),
        (None, MissingFileError),
    ],
)
def test_files_without_questions_are_refused(
    tmp_path: Path, content: bytes | None, error_type: type[EpocheError]
) -> None:
    path = tmp_path / "questions.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error_type) as caught:
        read_questions(path, CHUNKS)
    assert str(path) in caught.value.where


def test_split_without_questions_is_refused(tmp_path: Path) -> None:
    path = write_questions(tmp_path, VALID_QUESTION)
    questions = read_questions(path, CHUNKS)
    assert select_split(questions, "dev", path) == select_split(questions, "all", path) == questions
    with pytest.raises(RecordError, match="no questions in the split 'test'"):
        select_split(questions, "test", path)
