"""Finds the documents that the user names (files, folders, chunk files) and reads their chunks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kg.base.console import print_warning, print_warning_once
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
SOURCES_FOLDER = "_sources"
"""Where Sphinx keeps the source of each page, for its readers."""
NO_SUFFIX = "no extension"
"""How files without an extension are counted."""
MAX_NAMED_CHUNK_FILES = 20
"""Maximum number of chunk files in folders that the warning names; the others are counted."""
_REFUSALS = (DocumentError, RecordError, MissingFileError, MissingExtraError, DuplicateIdError)
"""Errors because of which a file in a folder is skipped."""
MAX_FILES = 100_000
"""Maximum number of files below one folder; with more, it is probably the wrong folder."""


def find_source_files(paths: Sequence[Path | str], suffixes: Iterable[str]) -> list[SourceFile]:
    """Returns the given files, and the documents and chunk files in the given folders.

    Folders are walked in sorted order. Hidden files, links to folders and the outputs of earlier
    builds (runs, the keyword cache) are skipped, and with a warning unreadable subfolders, too.

    Args:
        paths: files and folders.
        suffixes: file extensions of documents, such as ``.md``.

    Raises:
        MissingFileError: a file or folder does not exist, or a given folder cannot be read.
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

    A file in a folder is skipped if it cannot be read, contains no text, is a link to another file
    in the folders or the source of a page in them, or has chunks whose ids are taken. So a whole
    tree of documentation can be built as it is. A file that the user named is an error instead.
    Chunk files in folders are named in a warning, since they may be other data.

    Args:
        files: documents and chunk files; a path stands for a file that the user named.
        size: maximum number of characters in a chunk.
        overlap: maximum number of characters that neighbouring chunks of a section share.
        on_progress: called with the number of files read so far.

    Raises:
        DocumentError: a document cannot be read, or none contains text.
        DuplicateIdError: two documents or chunks that the user named would have the same id.
    """
    from kg.text.chunker import chunk_documents
    from kg.text.chunks_file import read_chunks

    chunks: list[Chunk] = []
    chunk_files: list[tuple[SourceFile, SourceDocument, list[Chunk]]] = []
    sources: list[SourceDocument] = []
    given, skipped = _drop_copies(
        [SourceFile(file) if isinstance(file, Path) else file for file in files]
    )
    for number, (file, name) in enumerate(zip(given, assign_document_names(given), strict=True), 1):
        path = file.path
        try:
            if path.suffix.lower() == CHUNKS_SUFFIX:
                new_chunks = read_chunks(path)
                sources.append(SourceDocument(file.filename, sha256_file(path), name))
                chunk_files.append((file, sources[-1], new_chunks))
            else:
                document = read_document(path, file.root)
                for note in document.notes:
                    print_warning(f"{path}: {note}")
                # Each document is cut at once, so that only the chunks are kept in memory.
                chunks += chunk_documents([replace(document, name=name)], size, overlap)
                sources.append(SourceDocument(file.filename, sha256_file(path), name))
        except _REFUSALS as error:
            if file.root is None:
                raise
            skipped.append(error.format_line())
        on_progress(number)
    origin_of_id = dict.fromkeys((chunk.id for chunk in chunks), "the documents")
    found_chunk_files: list[str] = []
    for file, source, new_chunks in chunk_files:
        taken_id = next((chunk.id for chunk in new_chunks if chunk.id in origin_of_id), None)
        if taken_id is not None:
            conflict = DuplicateIdError(
                f"two chunks have the id {taken_id!r}; the other is in {origin_of_id[taken_id]}",
                where=str(file.path),
                hint="Give each document once, or rename one.",
            )
            if file.root is None:
                raise conflict
            skipped.append(conflict.format_line())
            sources.remove(source)
            continue
        origin_of_id |= dict.fromkeys((chunk.id for chunk in new_chunks), str(file.path))
        chunks += new_chunks
        found_chunk_files += [file.filename] if file.root else []
    if found_chunk_files:
        print_warning(
            f"{len(found_chunk_files):,} files in the folders have lines with id and text and are "
            f"read as ready chunks: {_join_names(found_chunk_files)}"
        )
    if not chunks:
        raise DocumentError(
            "the documents contain no text" + (f"; the first: {skipped[0]}" if skipped else ""),
            where=", ".join(str(file.path) for file in given[:3]),
            hint="Give documents that contain text.",
        )
    return SourceText(chunks, sources, skipped)


def _drop_copies(files: Sequence[SourceFile]) -> tuple[list[SourceFile], list[str]]:
    """Drops links to files that were found in folders, too, and what pages of Sphinx are made from.

    Returns:
        The other files, and a line for each that was dropped.
    """
    path_of_file: dict[str, Path] = {}
    for file in sorted(files, key=lambda file: file.path.is_symlink()):
        if file.root is not None:
            path_of_file.setdefault(os.path.realpath(file.path), file.path)
    found = {file.path for file in files}
    kept, skipped = [], []
    for file in files:
        other = path_of_file.get(os.path.realpath(file.path), file.path)
        page = _find_page(file.path)
        if file.root is not None and other != file.path:
            skipped.append(f"{clean_text(str(file.path))} is the same file as {other}")
        elif file.root is not None and page in found:
            skipped.append(f"{clean_text(str(file.path))} is the source of {page}")
        else:
            kept.append(file)
    return kept, skipped


def _find_page(path: Path) -> Path | None:
    """Returns the page that Sphinx makes of ``_sources/guide/start.rst.txt``; None for others."""
    folders, (name, *endings) = path.parent.parts, path.name.rsplit(".", 2)
    if SOURCES_FOLDER not in folders or len(endings) != 2:
        return None
    position = folders.index(SOURCES_FOLDER)
    return Path(*folders[:position], *folders[position + 1 :], f"{name}.html")


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED_CHUNK_FILES
    return ", ".join(names[:MAX_NAMED_CHUNK_FILES]) + (f" and {more:,} more" if more > 0 else "")


def _walk_folder(folder: Path) -> Iterator[Path]:
    def report_unreadable(error: OSError) -> None:
        path = os.fsdecode(error.filename or folder)
        problem = f"the folder cannot be read: {error.strerror}"
        if Path(path) == folder:
            raise MissingFileError(problem, where=path, hint="Check its permissions.")
        # Each folder is walked twice, also to count what is not read.
        print_warning_once(f"skipped: {problem} ({path})")

    count = 0
    for parent, folders, names in os.walk(folder, onerror=report_unreadable):
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
