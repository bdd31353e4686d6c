"""Finds the documents that the user names (files, folders, chunk files) and reads their chunks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kg.base.console import print_warning
from kg.base.errors import (
    DocumentError,
    DuplicateIdError,
    MissingExtraError,
    MissingFileError,
    RecordError,
)
from kg.base.files import require_file, sha256_file
from kg.base.plain_text import clean_text
from kg.text.documents.names import SourceFile, assign_document_names
from kg.text.documents.reader import read_document
from kg.text.run import layout
from kg.text.run.layout import SourceDocument

if TYPE_CHECKING:
    from kg.text.chunks import Chunk

CHUNKS_SUFFIX = ".jsonl"
NO_SUFFIX = "no extension"
"""How files without an extension are counted."""
MAX_FILES = 100_000
"""Maximum number of files below one folder; with more, it is probably the wrong folder."""


def find_source_files(paths: Sequence[Path | str], suffixes: Iterable[str]) -> list[SourceFile]:
    """Returns the given files, and the documents and chunk files in the given folders.

    Folders are walked in sorted order. Hidden files, links to folders and the outputs of earlier
    builds (runs, the keyword cache) are skipped.

    Args:
        paths: files and folders.
        suffixes: file extensions of documents, such as ``.md``.

    Raises:
        MissingFileError: a file or folder does not exist.
        DocumentError: a folder contains no document, or too many files.
    """
    accepted_suffixes = (*suffixes, CHUNKS_SUFFIX)
    files: dict[Path, SourceFile] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            files[path] = SourceFile(require_file(path, "the document"))
            continue
        folder_files = [
            file for file in _walk_folder(path) if file.suffix.lower() in accepted_suffixes
        ]
        if not folder_files:
            raise DocumentError(
                "the folder contains no document",
                where=str(path),
                hint=f"Documents have one of these extensions: {', '.join(accepted_suffixes)}.",
            )
        for file in folder_files:
            files.setdefault(file, SourceFile(file, path))
    return list(files.values())


def count_unread_files(paths: Sequence[Path | str], suffixes: Iterable[str]) -> dict[str, int]:
    """Counts, by extension, the files in folders that have no reader; the commonest first."""
    accepted_suffixes = (*suffixes, CHUNKS_SUFFIX)
    counts = Counter(
        clean_text(suffix) or NO_SUFFIX
        for path in map(Path, paths)
        if path.is_dir()
        for file in _walk_folder(path)
        if (suffix := file.suffix.lower()) not in accepted_suffixes
    )
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


class SourceText(NamedTuple):
    """What was read from the sources."""

    chunks: list[Chunk]
    documents: list[SourceDocument]
    skipped: list[str]
    """Files in folders that could not be read, each with the reason."""


def read_sources(
    files: Sequence[SourceFile | Path], size: int, overlap: int, on_progress: Callable[[int], None]
) -> SourceText:
    """Reads documents and cuts them into chunks; chunks from chunk files are not changed.

    A file in a folder that cannot be read or contains no text is skipped, so that a whole tree of
    documentation can be built as it is. A file that the user named is an error instead.

    Args:
        files: documents and chunk files; a path stands for a file that the user named.
        size: maximum number of characters in a chunk.
        overlap: maximum number of characters that neighbouring chunks of a section share.
        on_progress: called with the number of files read so far.

    Raises:
        DocumentError: a document cannot be read, or none contains text.
        DuplicateIdError: two documents or chunks would have the same id.
    """
    from kg.text.chunker import chunk_documents
    from kg.text.chunks_file import read_chunks

    chunks: list[Chunk] = []
    chunk_files: list[tuple[Path, list[Chunk]]] = []
    sources: list[SourceDocument] = []
    skipped: list[str] = []
    named = [SourceFile(file) if isinstance(file, Path) else file for file in files]
    for number, (file, name) in enumerate(zip(named, assign_document_names(named), strict=True), 1):
        path = file.path
        try:
            if path.suffix.lower() == CHUNKS_SUFFIX:
                chunk_files.append((path, read_chunks(path)))
            else:
                document = read_document(path, file.root)
                for note in document.notes:
                    print_warning(f"{path}: {note}")
                # Each document is cut at once, so that only the chunks are kept in memory.
                chunks += chunk_documents([replace(document, name=name)], size, overlap)
            sources.append(SourceDocument(file.filename, sha256_file(path), name))
        except (DocumentError, RecordError, MissingFileError, MissingExtraError) as error:
            if file.root is None:
                raise
            skipped.append(error.format_line())
        on_progress(number)
    origin_of_id = dict.fromkeys((chunk.id for chunk in chunks), "the documents")
    for path, file_chunks in chunk_files:
        for chunk in file_chunks:
            if chunk.id in origin_of_id:
                raise DuplicateIdError(
                    f"two chunks have the id {chunk.id!r}; "
                    f"the other is in {origin_of_id[chunk.id]}",
                    where=str(path),
                    hint="Give each document once, or rename one.",
                )
            origin_of_id[chunk.id] = str(path)
        chunks += file_chunks
    if not chunks:
        raise DocumentError(
            "the documents contain no text" + (f"; the first: {skipped[0]}" if skipped else ""),
            where=", ".join(str(file.path) for file in named[:3]),
            hint="Give documents that contain text.",
        )
    return SourceText(chunks, sources, skipped)


def _walk_folder(folder: Path) -> Iterator[Path]:
    def raise_unreadable(error: OSError) -> None:
        raise MissingFileError(
            f"the folder cannot be read: {error.strerror}",
            where=os.fsdecode(error.filename or folder),
            hint="Check its permissions.",
        )

    count = 0
    for parent, folders, names in os.walk(folder, onerror=raise_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        own_outputs = {layout.KEYWORD_CACHE, *(layout.FILES if layout.METADATA in names else ())}
        for name in sorted(names):
            count += 1
            if count > MAX_FILES:
                raise DocumentError(
                    f"more than {MAX_FILES:,} files",
                    where=str(folder),
                    hint="Check that it is the right folder, or name its subfolders.",
                )
            if not name.startswith(".") and name not in own_outputs:
                yield Path(parent, name)
