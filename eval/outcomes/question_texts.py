"""Compares the texts of questions, whose ids are often only running numbers.

Two files with the same ids have the same questions only if the texts agree, as far as they are
known. Within a file, questions of the same text are copies, which are no evidence of their own.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

_HASH_LENGTH: Final = 16
OTHER_QUESTIONS_HINT: Final = (
    "Systems are compared on the same questions: name their ids with --map id=…, or measure each "
    "file in a call of its own. If these are versions of the same question, --map question=id "
    "compares them by id."
)


def hash_text(text: str) -> str:
    """Returns the start of the hash of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]


def hash_question_text(text: str) -> str:
    """Returns the start of the hash of a question's text; empty if there is none.

    White space, case and the ways to encode a character do not matter.
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return hash_text(plain) if plain else ""


def write_text(value: Any) -> str:
    """Writes a JSON value as a text that is the same for the same content; empty if it is empty."""
    if not value:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def cluster_copies(rows: Sequence[tuple[str, dict[str, Any]]], contents: Sequence[str]) -> None:
    """Puts the questions of a log that have the same content into a cluster.

    Args:
        rows: the rows of one log, with ``id`` and ``question``; those of copies get a ``cluster``.
        contents: the content of each row's question, with all that it is answered from; empty if it
            is not known.
    """
    ids: dict[str, set[str]] = {}
    for (_, row), content in zip(rows, contents, strict=True):
        ids.setdefault(content, set()).add(str(row.get("id")))
    for (_, row), content in zip(rows, contents, strict=True):
        if content and len(ids[content]) > 1:
            # Not of the content, whose options may be in another order in another file.
            row["cluster"] = hash_question_text(str(row.get("question")))
