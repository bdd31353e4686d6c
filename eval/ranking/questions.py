"""Labelled questions: what is asked, and which chunks are needed to answer it.

One JSON object a line. ``gold`` lists the chunks that are *all* needed; a question that the text
does not answer is of the kind ``unanswerable`` and has none.
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

_LONGEST_QUESTION = 10_000
"""Characters. Retrievers read every one of them, some with a model."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled question. Keys not named here are ignored."""

    id: str
    question: str
    kind: Kind
    split: Split
    """``dev`` may be looked at while settings are chosen; ``test`` only measures."""
    gold: tuple[str, ...]
    """Ids of the chunks that are needed, all of them; empty exactly for ``unanswerable``."""
    answer: str = ""
    note: str = ""

    @property
    def answerable(self) -> bool:
        """Whether the text holds the answer."""
        return self.kind != UNANSWERABLE


def read_questions(path: Path | str, chunk_ids: Collection[str]) -> tuple[Question, ...]:
    """Reads labelled questions about some chunks.

    Args:
        path: JSON lines.
        chunk_ids: every chunk that retrievers choose from.

    Returns:
        At least one question, in the order of the file.

    Raises:
        MissingFileError: no such file.
        RecordError: a line is no question, or its gold cannot be right: a chunk that does not
            exist or is named twice, gold on an unanswerable question, none on another.
        DuplicateIdError: two questions bear one id.
    """
    known = frozenset(chunk_ids)
    decode = msgspec.json.Decoder(Question).decode
    found: list[Question] = []
    lines: dict[str, int] = {}
    for number, question in iter_decoded_lines(path, "question", decode):
        where = f"{path}:{number}"
        if question.id in lines:
            raise DuplicateIdError(
                f"question id {question.id!r} occurs twice",
                where=where,
                hint=f"The first is in line {lines[question.id]}; give each its own.",
            )
        lines[question.id] = number
        if (wrong := _wrong_text(question) or _wrong_gold(question, known)) is not None:
            what, hint = wrong
            raise RecordError(f"question {question.id!r}: {what}", where=where, hint=hint)
        found.append(question)
    if not found:
        raise RecordError("no question in it", where=str(path), hint="Give one JSON object a line.")
    return tuple(found)


def of_split(
    questions: Sequence[Question], split: Split | Literal["all"], path: Path | str
) -> tuple[Question, ...]:
    """The questions of one split, or all.

    Args:
        questions: what was read.
        split: which.
        path: where they were read, for the message.

    Raises:
        RecordError: there are none.
    """
    chosen = tuple(one for one in questions if split in ("all", one.split))
    if not chosen:
        raise RecordError(
            f"no question of the split {split!r}", where=str(path), hint="Choose another --split."
        )
    return chosen


def _wrong_text(question: Question) -> tuple[str, str] | None:
    """What is wrong with id or wording, and what to do; None where nothing is."""
    if not question.id.strip():
        return "its id is empty", "Give each question an id."
    if not question.question.strip():
        return "it asks nothing", "Write the question."
    if len(question.question) > _LONGEST_QUESTION:
        return f"it is longer than {_LONGEST_QUESTION:,} characters", "Shorten it."
    return None


def _wrong_gold(question: Question, known: frozenset[str]) -> tuple[str, str] | None:
    """What is wrong with the gold, and what to do; None where nothing is."""
    if not question.answerable and question.gold:
        return (
            f"unanswerable, and yet {question.gold[0]!r} is its gold",
            "Leave its gold empty, or give it another kind.",
        )
    if question.answerable and not question.gold:
        return f"{question.kind}, but without gold", "Name every chunk needed to answer it."
    seen: set[str] = set()
    for chunk_id in question.gold:
        if chunk_id in seen:
            return f"gold chunk {chunk_id!r} is named twice", "Name each once."
        seen.add(chunk_id)
        if chunk_id not in known:
            near = difflib.get_close_matches(chunk_id, known, n=1)
            meant = f"Is {near[0]!r} meant? " if near else ""
            return (
                f"gold chunk {chunk_id!r} is none of the run's",
                f"{meant}Chunk ids change when headings do.",
            )
    return None
