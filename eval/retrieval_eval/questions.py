"""Reads labelled questions: their texts, and which chunks are needed to answer them.

A file has one JSON object per line. ``gold`` lists the chunks that are needed, *all* of them. A
question that the text does not answer has the kind ``unanswerable`` and no gold.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import iter_decoded_lines

Kind = Literal["single-hop", "multi-hop", "cross-section", "confusable", "unanswerable"]
Split = Literal["dev", "test"]

UNANSWERABLE: Kind = "unanswerable"
KINDS: tuple[Kind, ...] = get_args(Kind)

MAX_GRADE = 1_000
"""Largest grade of relevance, since nDCG adds up grades; published ones are at most 4."""
_MAX_QUESTION_LENGTH = 10_000
"""Maximum number of characters, because some retrievers process the whole question with a model."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled question. Unknown keys are ignored."""

    id: str
    question: str
    kind: Kind
    split: Split
    """``dev`` questions may be used to choose settings; ``test`` questions only to evaluate."""
    gold: tuple[str, ...]
    """Ids of all chunks that are needed; empty if and only if ``kind`` is ``unanswerable``."""
    answer: str = ""
    note: str = ""
    grades: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """Gold chunk → its grade of relevance, at least 1; 1 for all that are not named. Only nDCG
    depends on it."""
    excluded: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Ids of chunks that are left out of its rankings, such as the one that it is the text of."""

    @property
    def qrels(self) -> dict[str, int]:
        """Gold chunk → its grade of relevance."""
        grades = self.grades if self.grades is not msgspec.UNSET else {}
        return {chunk_id: grades.get(chunk_id, 1) for chunk_id in self.gold}

    def is_excluded(self, chunk_id: str) -> bool:
        """Returns whether a chunk is left out of the question's rankings."""
        return self.excluded is not msgspec.UNSET and chunk_id in self.excluded

    @property
    def answerable(self) -> bool:
        """Whether the text contains the answer."""
        return self.kind != UNANSWERABLE


def read_questions(path: Path | str, chunk_ids: Collection[str]) -> tuple[Question, ...]:
    """Reads labelled questions about some chunks.

    Args:
        path: a JSONL file.
        chunk_ids: the ids of all chunks.

    Returns:
        At least one question, in the order of the file.

    Raises:
        MissingFileError: there is no such file.
        RecordError: a line is not a valid question, or its gold is wrong. Gold is wrong if a chunk
            does not exist or is named twice, if an unanswerable question has gold, or if another
            question has none.
        DuplicateIdError: two questions have the same id.
    """
    valid_ids = frozenset(chunk_ids)
    decode = msgspec.json.Decoder(Question).decode
    questions: list[Question] = []
    lines: dict[str, int] = {}
    for number, question in iter_decoded_lines(path, "question", decode):
        where = f"{path}:{number}"
        if question.id in lines:
            raise DuplicateIdError(
                f"question id {question.id!r} occurs twice",
                where=where,
                hint=f"It first occurs in line {lines[question.id]}; ids must be unique.",
            )
        lines[question.id] = number
        if (
            fault := _find_text_fault(question) or _find_gold_fault(question, valid_ids)
        ) is not None:
            problem, hint = fault
            raise RecordError(f"question {question.id!r}: {problem}", where=where, hint=hint)
        questions.append(question)
    if not questions:
        raise RecordError(
            "the file has no questions", where=str(path), hint="Give one JSON object per line."
        )
    return tuple(questions)


def select_split(
    questions: Sequence[Question], split: Split | Literal["all"], path: Path | str
) -> tuple[Question, ...]:
    """Selects the questions of one split, or all.

    Args:
        questions: the questions.
        split: which split.
        path: the file that they were read from, for the message.

    Raises:
        RecordError: the split has no questions.
    """
    selected = tuple(question for question in questions if split in ("all", question.split))
    if not selected:
        raise RecordError(
            f"no questions in the split {split!r}", where=str(path), hint="Choose another --split."
        )
    return selected


def _find_text_fault(question: Question) -> tuple[str, str] | None:
    """Returns what is wrong with id or text, and what to do; None if they are valid."""
    if not question.id.strip():
        return "its id is empty", "Give each question an id."
    if not question.question.strip():
        return "its text is empty", "Write the question."
    if len(question.question) > _MAX_QUESTION_LENGTH:
        return f"it is longer than {_MAX_QUESTION_LENGTH:,} characters", "Shorten it."
    return None


def _find_gold_fault(question: Question, valid_ids: frozenset[str]) -> tuple[str, str] | None:
    """Returns what is wrong with the gold, and what to do; None if it is valid."""
    if not question.answerable and question.gold:
        return (
            f"its kind is unanswerable, but it has the gold chunk {question.gold[0]!r}",
            "Leave its gold empty, or give it another kind.",
        )
    if question.answerable and not question.gold:
        return (
            f"its kind is {question.kind}, but it has no gold",
            "Name every chunk needed to answer it.",
        )
    earlier_ids: set[str] = set()
    for chunk_id in question.gold:
        if chunk_id in earlier_ids:
            return f"gold chunk {chunk_id!r} is named twice", "Name each chunk once."
        earlier_ids.add(chunk_id)
        if chunk_id not in valid_ids:
            similar = difflib.get_close_matches(chunk_id, valid_ids, n=1)
            suggestion = f"Did you mean {similar[0]!r}? " if similar else ""
            return (
                f"the run has no chunk {chunk_id!r}",
                f"{suggestion}Chunk ids change when headings do.",
            )
    for chunk_id in question.gold:
        if question.is_excluded(chunk_id):
            return (
                f"gold chunk {chunk_id!r} is excluded, too",
                "Take it out of one of the two lists.",
            )
    if question.grades is not msgspec.UNSET:
        for chunk_id, grade in question.grades.items():
            if chunk_id not in earlier_ids or not 1 <= grade <= MAX_GRADE:
                return (
                    f"{chunk_id!r} has the grade {grade}, but is not gold or the grade is invalid",
                    f"Grade gold chunks only, from 1 to {MAX_GRADE:,}.",
                )
    return None
