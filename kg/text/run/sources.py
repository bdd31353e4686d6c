"""From what the user names to chunks: files, folders of files, chunks that are ready."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.console import warn
from kg.base.errors import DocumentError, DuplicateIdError, MissingFileError
from kg.base.files import require_file, sha256_file
from kg.text.run import form
from kg.text.run.form import SourceDocument

if TYPE_CHECKING:
    from kg.text.chunks import Chunk

CHUNKS_SUFFIX = ".jsonl"
MAX_FILES = 100_000
"""More files below one folder are refused: the wrong folder was named."""


def source_files(named: Sequence[Path | str], suffixes: Iterable[str]) -> list[Path]:
    """The files that are named, and below each named folder those with a known suffix.

    Folders are walked in sorted order; hidden files and links to folders are passed over, and so
    is what an earlier build left there: runs, and the cache of keywords.

    Args:
        named: files and folders.
        suffixes: endings of names of documents, as ``.md``.

    Raises:
        MissingFileError: one is not there.
        DocumentError: a folder holds no document, or far too many files.
    """
    known = (*suffixes, CHUNKS_SUFFIX)
    found: dict[Path, None] = {}
    for path in map(Path, named):
        if not path.is_dir():
            found[require_file(path, "the document")] = None
            continue
        below = [file for file in _walk(path) if file.suffix.lower() in known]
        if not below:
            raise DocumentError(
                "the folder holds no document",
                where=str(path),
                hint=f"Documents end in {', '.join(known)}.",
            )
        found.update(dict.fromkeys(below))
    return list(found)


def read_sources(
    files: Sequence[Path], size: int, overlap: int, watch: Callable[[int], None]
) -> tuple[list[Chunk], list[SourceDocument]]:
    """Reads documents and cuts them into chunks; ready-made chunks stay as they are.

    Args:
        files: documents and chunk files.
        size: characters a chunk may have.
        overlap: characters that two chunks of one section share.
        watch: is told how many files are read.

    Raises:
        DocumentError: one cannot be read, or there is no text in any of them.
        DuplicateIdError: two documents, or chunks, would have one id.
    """
    from kg.text.chunking import chunk_documents
    from kg.text.chunks_file import read_chunks
    from kg.text.documents import read_document
    from kg.text.documents.document import printable_filename

    _check_names(files)
    documents, ready, sources = [], [], []
    for number, path in enumerate(files, 1):
        if path.suffix.lower() == CHUNKS_SUFFIX:
            ready.append((path, read_chunks(path)))
        else:
            document = read_document(path)
            for note in document.notes:
                warn(f"{path}: {note}")
            documents.append(document)
        sources.append(SourceDocument(printable_filename(path), sha256_file(path)))
        watch(number)
    chunks = chunk_documents(documents, size=size, overlap=overlap)
    made_of = dict.fromkeys((chunk.id for chunk in chunks), "the documents")
    for path, more in ready:
        for chunk in more:
            if chunk.id in made_of:
                raise DuplicateIdError(
                    f"two chunks have the id {chunk.id!r}: one of {made_of[chunk.id]}",
                    where=str(path),
                    hint="Give each document once, or rename one.",
                )
            made_of[chunk.id] = str(path)
        chunks += more
    if not chunks:
        raise DocumentError(
            "there is no text in the documents",
            where=", ".join(map(str, files[:3])),
            hint="Name documents that hold text.",
        )
    return chunks, sources


def _check_names(files: Sequence[Path]) -> None:
    """Finds out before the reading whether chunks of two documents would share their ids.

    Raises:
        DuplicateIdError: two documents have one name; the message has both paths, as two folders
            may hold files of one name.
    """
    from kg.text.documents.document import document_name

    named: dict[str, Path] = {}
    for path in files:
        if path.suffix.lower() == CHUNKS_SUFFIX:
            continue
        name = document_name(path)
        if name in named:
            raise DuplicateIdError(
                f"{named[name]} is called {name!r} too, and their chunks would share ids",
                where=str(path),
                hint="Give each document once, or rename one.",
            )
        named[name] = path


def _walk(folder: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise MissingFileError(
            f"the folder cannot be read: {error.strerror}",
            where=os.fsdecode(error.filename or folder),
            hint="Check its permissions.",
        )

    count = 0
    for base, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        ours = {form.KEYWORD_CACHE, *(form.FILES if form.METADATA in names else ())}
        for name in sorted(names):
            count += 1
            if count > MAX_FILES:
                raise DocumentError(
                    f"more than {MAX_FILES:,} files", where=str(folder), hint="Name fewer."
                )
            if not name.startswith(".") and name not in ours:
                yield Path(base, name)
