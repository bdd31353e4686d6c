"""Finds the documents that the user names (files, folders, chunk files) and reads their chunks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.console import print_warning
from kg.base.errors import DocumentError, DuplicateIdError, MissingFileError
from kg.base.files import require_file, sha256_file
from kg.text.run import layout
from kg.text.run.layout import SourceDocument

if TYPE_CHECKING:
    from kg.text.chunks import Chunk

CHUNKS_SUFFIX = ".jsonl"
MAX_FILES = 100_000
"""Maximum number of files below one folder; with more, it is probably the wrong folder."""


def find_source_files(paths: Sequence[Path | str], suffixes: Iterable[str]) -> list[Path]:
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
    files: dict[Path, None] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            files[require_file(path, "the document")] = None
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
        files.update(dict.fromkeys(folder_files))
    return list(files)


def read_sources(
    files: Sequence[Path], size: int, overlap: int, on_progress: Callable[[int], None]
) -> tuple[list[Chunk], list[SourceDocument]]:
    """Reads documents and cuts them into chunks; chunks from chunk files are not changed.

    Args:
        files: documents and chunk files.
        size: maximum number of characters in a chunk.
        overlap: maximum number of characters that neighbouring chunks of a section share.
        on_progress: called with the number of files read so far.

    Raises:
        DocumentError: a document cannot be read, or none contains text.
        DuplicateIdError: two documents or chunks would have the same id.
    """
    from kg.text.chunker import chunk_documents
    from kg.text.chunks_file import read_chunks
    from kg.text.documents import read_document
    from kg.text.documents.document import clean_filename

    _check_document_names(files)
    documents, chunk_files, sources = [], [], []
    for number, path in enumerate(files, 1):
        if path.suffix.lower() == CHUNKS_SUFFIX:
            chunk_files.append((path, read_chunks(path)))
        else:
            document = read_document(path)
            for note in document.notes:
                print_warning(f"{path}: {note}")
            documents.append(document)
        sources.append(SourceDocument(clean_filename(path), sha256_file(path)))
        on_progress(number)
    chunks = chunk_documents(documents, size=size, overlap=overlap)
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
            "the documents contain no text",
            where=", ".join(map(str, files[:3])),
            hint="Give documents that contain text.",
        )
    return chunks, sources


def _check_document_names(files: Sequence[Path]) -> None:
    """Checks that no two documents have the same name, and so the same chunk ids.

    This is checked before the documents are read, which may take long.

    Raises:
        DuplicateIdError: two documents have the same name; the message gives both paths, since the
            files may be in different folders.
    """
    from kg.text.documents.document import make_document_name

    path_of_name: dict[str, Path] = {}
    for path in files:
        if path.suffix.lower() == CHUNKS_SUFFIX:
            continue
        name = make_document_name(path)
        if name in path_of_name:
            raise DuplicateIdError(
                f"{path_of_name[name]} has the same name {name!r}, so their chunks would have "
                "equal ids",
                where=str(path),
                hint="Give each document once, or rename one.",
            )
        path_of_name[name] = path


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
