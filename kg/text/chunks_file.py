"""Reads and writes chunks as JSON Lines of ``id``, ``text`` and ``metadata``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import iter_records, write_jsonl_atomic
from kg.text.chunks import Chunk

MAX_CHUNK_CHARACTERS = 100_000
"""Maximum length of a chunk; a longer one is a whole document that was never cut."""
MAX_ID_LENGTH = 500
"""Maximum length of an id in characters."""


def read_chunks(path: Path | str) -> list[Chunk]:
    """Reads prepared chunks.

    Keys other than ``id``, ``text`` and ``metadata`` are added to the metadata; on a conflict
    ``metadata`` wins.

    Raises:
        MissingFileError: there is no such file.
        RecordError: a line is not a chunk, its text is blank or longer than
            ``MAX_CHUNK_CHARACTERS``, or its id is empty, too long or not printable.
        DuplicateIdError: two chunks have the same id.
    """
    chunks: dict[str, Chunk] = {}
    for chunk in iter_records(path, "chunk", _parse_chunk):
        if chunk.id in chunks:
            raise DuplicateIdError(
                f"two chunks have the id {chunk.id!r}",
                where=f"{path}, chunk {len(chunks) + 1}",
                hint="Make the ids unique: retrievers identify chunks by them.",
            )
        chunks[chunk.id] = chunk
    if not chunks:
        raise RecordError(
            "the file contains no chunk", where=str(path), hint="Check that it is the right file."
        )
    return list(chunks.values())


def write_chunks(path: Path | str, chunks: Iterable[Chunk]) -> int:
    """Writes one chunk per line, atomically, and returns the number of chunks.

    Raises:
        WriteError: the file cannot be written.
    """
    return write_jsonl_atomic(path, chunks)


def _parse_chunk(row: dict[str, Any]) -> Chunk:
    """Converts one line to a chunk.

    Raises:
        ValueError: the line is not a valid chunk.
    """
    chunk = msgspec.convert(row, Chunk)
    if not chunk.id or len(chunk.id) > MAX_ID_LENGTH or not chunk.id.isprintable():
        raise ValueError(
            f"an id must have 1 to {MAX_ID_LENGTH} printable characters: {chunk.id[:80]!r}"
        )
    if not chunk.text.strip():
        raise ValueError(f"chunk {chunk.id!r} is empty")
    if len(chunk.text) > MAX_CHUNK_CHARACTERS:
        raise ValueError(
            f"chunk {chunk.id!r} has {len(chunk.text):,} characters; at most "
            f"{MAX_CHUNK_CHARACTERS:,}"
        )
    extra_metadata = {key: row[key] for key in row if key not in Chunk.__struct_fields__}
    return msgspec.structs.replace(chunk, metadata=extra_metadata | chunk.metadata)
