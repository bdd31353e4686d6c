"""Reads the JSON documents of a folder that has one file per schema, gold or prediction.

Files are recognised by what they contain, not by their names. Names only pair them: files with the
same stem belong together, without endings such as ``.gold``, ``.result`` and ``-schema``.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from kg.base.errors import RecordError
from kg.base.strict_json import NotJsonError, parse_json

MAX_FILES: Final = 100_000
MAX_FOLDER_DEPTH: Final = 8
MAX_DOCUMENT_BYTES: Final = 64 * 2**20
TEXT_ENDINGS: Final = (".txt", ".md")
_ARTIFACTS: Final = (".images", ".parse", ".screenshots")
"""Endings of folders in which parsers leave what belongs to one document, also results."""

_MARKERS = re.compile(
    r"(?:[._-](?:gold|golden|schema|test|result|label|labels|expected|prediction|pred|output"
    r"|extracted|extraction|predicted|gt)|\.(?:pdf|png|jpe?g|tiff?|docx?|html?))+$",
    re.IGNORECASE,
)

_RESULT_NAMES: Final = ("result", "output", "prediction", "extraction", "extracted", "response")
"""Names of files that are named by their folder: "a1/result.json"."""


class Document(msgspec.Struct, frozen=True):
    """One JSON file."""

    path: Path
    value: Any
    problem: str = ""
    """Why there is no value; otherwise empty."""


def list_files(folder: Path) -> list[Path]:
    """Lists the files of a folder and its subfolders, sorted, without hidden ones.

    Links to folders are not followed; dead links and devices are left out.

    Raises:
        RecordError: there are more than ``MAX_FILES``.
    """
    files: list[Path] = []
    base = len(folder.parts)
    for parent, folders, names in os.walk(folder):
        path = Path(parent)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and not name.endswith(_ARTIFACTS)
            and len(path.parts) - base < MAX_FOLDER_DEPTH
        )
        visible = (path / name for name in sorted(names) if not name.startswith("."))
        files += [file for file in visible if file.is_file()]
        if len(files) > MAX_FILES:
            raise RecordError(
                f"more than {MAX_FILES:,} files",
                where=str(folder),
                hint="Name the folder with the data itself.",
            )
    return files


def list_files_beside(folder: Path) -> list[Path]:
    """Lists the files beside a folder and those of the folders beside it, not deeper."""
    parent = folder.resolve().parent
    files: list[Path] = []
    try:
        for entry in sorted(parent.iterdir()):
            if entry.name.startswith(".") or entry == folder.resolve():
                continue
            if entry.is_file():
                files.append(entry)
            elif entry.is_dir():
                files += [file for file in sorted(entry.iterdir()) if file.is_file()]
            if len(files) > 10_000:
                return []
    except OSError:
        return []
    return files


def read_document(path: Path) -> Document:
    """Reads one JSON file; a file that is too large or not JSON has a problem instead."""
    try:
        size = path.stat().st_size
        if size > MAX_DOCUMENT_BYTES:
            return Document(path, None, f"larger than {MAX_DOCUMENT_BYTES:,} bytes")
        return Document(path, parse_json(path.read_bytes().removeprefix(BOM_UTF8)))
    except NotJsonError as error:
        return Document(path, None, f"not JSON: {error}")
    except OSError as error:
        return Document(path, None, f"cannot be read: {error.strerror}")


def strip_markers(path: Path) -> str:
    """Returns the stem of a file without endings such as ``.gold`` and ``-schema``."""
    stem = path.name.removesuffix(path.suffix)
    return _MARKERS.sub("", stem) or stem


def iter_names(path: Path, folder: Path) -> Iterator[str]:
    """Yields the names under which a file may be meant, the most specific first."""
    stem = strip_markers(path)
    whole = path.name.removesuffix(path.suffix)
    parent = path.parent.relative_to(folder).as_posix() if path.is_relative_to(folder) else "."
    if parent != ".":
        for name in (whole, stem):
            yield f"{parent}/{name}"
            yield f"{path.parent.name}/{name}"
        if stem.lower() in _RESULT_NAMES:
            yield path.parent.name
    yield whole
    yield stem
    yield path.name
