"""A cache of keywords on disk, which makes a build that was cut off go on where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from kg.base.closing import Closing
from kg.base.files import check_output, to_json_bytes, write_errors_named
from kg.text.chunks import Chunk
from kg.text.keywords.protocol import ChunkKeywords, KeywordExtractor


class _Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the file."""

    key: str
    """Hash of the extractor, its parameters, and the chunk's text and language."""
    keywords: tuple[str, ...]
    invented: int = 0


class KeywordCache(Closing):
    """Keywords by extractor, parameters and chunk text, as JSON lines.

    Each row is one ``write`` of a whole line, at once: Ctrl-C and ``kill -9`` lose no chunk that
    was done. A torn last line is cut off; any other line that is no row is passed over, and its
    chunk extracted again. What an extractor found nothing in is not kept, because a model's failed
    reply looks like that.

    Args:
        path: the file; made when there is none.

    Raises:
        WriteError: it cannot be written, or is no ordinary file.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        check_output(self._path)
        with write_errors_named(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self._path.open("a+b")
            self._known = self._read()

    def close(self) -> None:
        """Closes the file."""
        with write_errors_named(self._path):
            self._file.close()

    def extract(
        self,
        extractor: KeywordExtractor,
        chunks: Sequence[Chunk],
        on_done: Callable[[ChunkKeywords], None],
    ) -> list[ChunkKeywords]:
        """The keywords of each chunk, from the file or else from the extractor.

        Args:
            extractor: finds what the file does not hold.
            chunks: what to read.
            on_done: is told of each chunk; first of those that are in the file.

        Raises:
            WriteError: a row cannot be written.
            EpocheError: as the extractor.
        """
        keys = {chunk.id: _key(extractor, chunk) for chunk in chunks}
        found: dict[str, ChunkKeywords] = {}

        def keep(row: ChunkKeywords) -> None:
            self._put(_Row(keys[row.chunk_id], row.keywords, row.invented))
            on_done(row)

        for chunk in chunks:
            kept = self._known.get(keys[chunk.id])
            if kept is not None:
                found[chunk.id] = ChunkKeywords(chunk.id, kept.keywords, kept.invented)
                on_done(found[chunk.id])
        missing = [chunk for chunk in chunks if chunk.id not in found]
        if missing:
            found |= {row.chunk_id: row for row in extractor.extract(missing, keep)}
        return [found[chunk.id] for chunk in chunks]

    def _put(self, row: _Row) -> None:
        if not (row.keywords or row.invented) or row.key in self._known:
            return
        with write_errors_named(self._path):
            self._file.write(to_json_bytes(row) + b"\n")
            self._file.flush()
        self._known[row.key] = row

    def _read(self) -> dict[str, _Row]:
        """The rows of the file; a torn last line is cut off."""
        self._file.seek(0)
        known: dict[str, _Row] = {}
        end = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(end)
                break
            end += len(line)
            try:
                row = msgspec.json.decode(line, type=_Row)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            known[row.key] = row
        return known


def _key(extractor: KeywordExtractor, chunk: Chunk) -> str:
    asked = {
        "name": extractor.name,
        "params": extractor.params(),
        "language": chunk.metadata.get("language"),
        "text": chunk.text,
    }
    return hashlib.sha256(to_json_bytes(asked)).hexdigest()
