"""Caches extracted keywords on disk, so that an interrupted build resumes where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from kg.base.closable import Closable
from kg.base.files import check_output, convert_write_errors, to_json_bytes
from kg.text.chunks import Chunk
from kg.text.keywords.protocol import ChunkKeywords, KeywordExtractor


class _Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the file."""

    key: str
    """Hash of the extractor, its parameters, and the chunk's text, language and blocks of code."""
    keywords: tuple[str, ...]
    invented: int = 0
    """Number of keywords of the model that do not occur in the chunk. A row without keywords is
    kept if it is not 0, because then the model did reply."""


class KeywordCache(Closable):
    """A JSON Lines file of keywords, keyed by extractor, parameters and chunk text.

    Each row is written and flushed as one whole line as soon as its keywords are extracted, so that
    Ctrl-C and ``kill -9`` lose no finished chunk. An incomplete last line is removed when the file
    is opened. Any other invalid line is skipped, and its chunk is extracted again. Chunks without
    keywords are not cached, because a failed model call gives the same empty result.

    Args:
        path: the file; created if it does not exist.

    Raises:
        WriteError: the file cannot be written, or is not a regular file.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        check_output(self._path)
        with convert_write_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self._path.open("a+b")
            self._rows = self._load_rows()

    def close(self) -> None:
        """Closes the file."""
        with convert_write_errors(self._path):
            self._file.close()

    def extract_keywords(
        self,
        extractor: KeywordExtractor,
        chunks: Sequence[Chunk],
        on_done: Callable[[ChunkKeywords], None],
    ) -> list[ChunkKeywords]:
        """Returns the keywords of each chunk, from the file if cached, else from the extractor.

        Args:
            extractor: extracts the keywords of chunks that are not cached.
            chunks: the chunks.
            on_done: called with each chunk's keywords; first with the cached ones.

        Raises:
            WriteError: a row cannot be written.
            EpocheError: the extractor failed.
        """
        keys = {chunk.id: _compute_key(extractor, chunk) for chunk in chunks}
        keywords_by_chunk: dict[str, ChunkKeywords] = {}

        def store_keywords(result: ChunkKeywords) -> None:
            self._append_row(_Row(keys[result.chunk_id], result.keywords, result.invented))
            on_done(result)

        for chunk in chunks:
            cached = self._rows.get(keys[chunk.id])
            if cached is not None:
                keywords_by_chunk[chunk.id] = ChunkKeywords(
                    chunk.id, cached.keywords, cached.invented
                )
                on_done(keywords_by_chunk[chunk.id])
        uncached_chunks = [chunk for chunk in chunks if chunk.id not in keywords_by_chunk]
        if uncached_chunks:
            keywords_by_chunk |= {
                result.chunk_id: result
                for result in extractor.extract_keywords(uncached_chunks, store_keywords)
            }
        return [keywords_by_chunk[chunk.id] for chunk in chunks]

    def _append_row(self, row: _Row) -> None:
        if not (row.keywords or row.invented) or row.key in self._rows:
            return
        with convert_write_errors(self._path):
            self._file.write(to_json_bytes(row) + b"\n")
            self._file.flush()
        self._rows[row.key] = row

    def _load_rows(self) -> dict[str, _Row]:
        """Reads the rows of the file and truncates an incomplete last line."""
        self._file.seek(0)
        row_by_key: dict[str, _Row] = {}
        end = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                # A crash cut this line off; new rows must not be appended to half a line.
                self._file.truncate(end)
                break
            end += len(line)
            try:
                row = msgspec.json.decode(line, type=_Row)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            row_by_key[row.key] = row
        return row_by_key


def _compute_key(extractor: KeywordExtractor, chunk: Chunk) -> str:
    inputs = {
        "name": extractor.name,
        "params": extractor.params(),
        "language": chunk.metadata.get("language"),
        "text": chunk.text,
    }
    if "code" in chunk.metadata:
        inputs["code"] = chunk.metadata["code"]
    return hashlib.sha256(to_json_bytes(inputs)).hexdigest()
