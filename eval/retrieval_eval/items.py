"""Defines the item of a retrieval run: a labelled question, recorded in the run's folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from eval.retrieval_eval.questions import Question
from kg.base.files import iter_decoded_lines, sha256_bytes, to_json_bytes
from kg.words.normaliser import extract_content_words
from retrieval.protocol import Passage


class RetrievalItem(Question, frozen=True, kw_only=True):
    """A question of a run; one line of ``items.jsonl``."""

    overlap: float | None = None
    """Share of the question's content words that occur in its gold chunks; null without gold or
    content words. A high share makes a question easy for retrieval by words."""


def iter_items(
    questions: Sequence[Question], passages: Sequence[Passage]
) -> Iterator[RetrievalItem]:
    """Yields the items of a run.

    Args:
        questions: the questions.
        passages: the corpus; contains every gold chunk.
    """
    texts = {passage.id: passage.text for passage in passages}
    for question in questions:
        words = set(extract_content_words(question.question))
        overlap = None
        if question.gold and words:
            gold_words = {
                word for gold_id in question.gold for word in extract_content_words(texts[gold_id])
            }
            overlap = len(words & gold_words) / len(words)
        yield RetrievalItem(**msgspec.structs.asdict(question), overlap=overlap)


def read_items(path: Path) -> list[RetrievalItem]:
    """Reads the items that a run asked.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged.
    """
    decode = msgspec.json.Decoder(RetrievalItem).decode
    return [item for _, item in iter_decoded_lines(path, "question", decode)]


def hash_items(items: Sequence[RetrievalItem]) -> str:
    """Returns the hash of questions and gold, in their order."""
    return sha256_bytes(b"".join(to_json_bytes(item) + b"\n" for item in items))
