"""Chunks in a file: JSON lines of ``id``, ``text`` and ``metadata``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import iter_records, write_jsonl_atomic
from kg.text.chunks import Chunk

MAX_CHARACTERS = 100_000
"""Of one chunk: a longer one is a document that was never cut."""
MAX_ID = 500
"""Characters of an id."""


def read_chunks(path: Path | str) -> list[Chunk]:
    """Reads ready chunks.

    Keys beside ``id``, ``text`` and ``metadata`` are kept as metadata, unless that has them.

    Raises:
        MissingFileError: no such file.
        RecordError: a line is no chunk, its text has no character to read or more than
            ``MAX_CHARACTERS``, or its id is empty, too long or not printable.
        DuplicateIdError: two chunks have one id.
    """
    chunks: dict[str, Chunk] = {}
    for chunk in iter_records(path, "chunk", _chunk):
        if chunk.id in chunks:
            raise DuplicateIdError(
                f"two chunks have the id {chunk.id!r}",
                where=f"{path}, chunk {len(chunks) + 1}",
                hint="Ids must be unique: every retriever finds chunks by them.",
            )
        chunks[chunk.id] = chunk
    if not chunks:
        raise RecordError(
            "the file holds no chunk", where=str(path), hint="Check that it is the file you meant."
        )
    return list(chunks.values())


def write_chunks(path: Path | str, chunks: Iterable[Chunk]) -> int:
    """Writes one chunk a line, all or nothing; returns how many.

    Raises:
        WriteError: the file cannot be written.
    """
    return write_jsonl_atomic(path, chunks)


def _chunk(row: dict[str, Any]) -> Chunk:
    """The chunk of one line.

    Raises:
        ValueError: it is none.
    """
    chunk = msgspec.convert(row, Chunk)
    if not chunk.id or len(chunk.id) > MAX_ID or not chunk.id.isprintable():
        raise ValueError(f"an id has 1 to {MAX_ID} printable characters, not {chunk.id[:80]!r}")
    if not chunk.text.strip():
        raise ValueError(f"chunk {chunk.id!r} is empty")
    if len(chunk.text) > MAX_CHARACTERS:
        raise ValueError(
            f"chunk {chunk.id!r} has {len(chunk.text):,} characters; at most {MAX_CHARACTERS:,}"
        )
    others = {key: row[key] for key in row if key not in Chunk.__struct_fields__}
    return msgspec.structs.replace(chunk, metadata=others | chunk.metadata)
