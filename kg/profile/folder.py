"""Protects the files in the folder of a drafted domain: only a draft may be replaced.

The first line of each file of a draft has the checksum of the rest. A file that differs from it was
edited: it stays, and the new draft is written beside it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kg.base.errors import WriteError
from kg.base.files import check_output, convert_write_errors
from kg.base.plain_text import clean_text, join_first

READINESS_PAGE = "readiness.md"
"""The page that says what can be asked about each predicate, or why nothing."""
CLASS_LINKS = "class-links.nt"
"""Links between classes, see ``class_links``."""
PREPARED_GRAPH = "prepared-graph.nt"
"""The graph as it is used, if literals get datatypes that the user's shapes demand, or blank nodes
names."""
FACTS_GRAPH = "graph.nt"
"""The graph of facts that were extracted from documents."""
QUOTES = "quotes.jsonl"
"""The words of the documents that state each of them."""
FILES = (
    "domain.toml",
    "shapes.ttl",
    READINESS_PAGE,
    "confirm.toml",
    CLASS_LINKS,
    PREPARED_GRAPH,
    FACTS_GRAPH,
)
"""The files of a draft."""
ANSWERS_FILE = "confirm.toml"
"""The file that the user answers in: its answers are read and written again."""
EDITABLE_FILES = frozenset({"domain.toml", "shapes.ttl", READINESS_PAGE})
"""Files that stay if the user has edited them."""

MAX_TITLE_FILES = 3
"""Maximum number of files in the title of a domain."""

_CHECKSUM = re.compile(rb"[^\n]*sha256 ([0-9a-f]{64})[^\n]*\n")
_COMMENTS = {".md": ("<!-- sha256 ", " -->\n")}


def make_title(name: str, folder: Path, graph_files: Sequence[Path]) -> str:
    """Returns what reports call a domain: its name, but its files if only its folder is called so.

    Args:
        name: the name of the domain.
        folder: its folder.
        graph_files: the files of its graph.
    """
    files = [path.name for path in graph_files if path.name != FACTS_GRAPH]
    if name != clean_text(folder.resolve().name) or not files:
        return name
    # "airports" of "airports.owl.gz"
    return join_first([clean_text(file.split(".")[0]) or file for file in files], MAX_TITLE_FILES)


def add_checksum(name: str, text: str) -> bytes:
    """Returns the bytes of a file, with a first line by which a change is noticed later."""
    content = text.encode("utf-8")
    start, end = _COMMENTS.get(Path(name).suffix, ("# sha256 ", "\n"))
    return f"{start}{hashlib.sha256(content).hexdigest()}{end}".encode() + content


def check_folder(folder: Path, inputs: Iterable[Path], *, overwrite: bool) -> None:
    """Checks that a draft may be written: the folder is new, empty, or that of a draft.

    Args:
        folder: the folder.
        inputs: files that the draft is made from.
        overwrite: whether changed files and those of others may be replaced.

    Raises:
        WriteError: a file of the draft would replace one that is not, or one that was changed and
            is not in ``EDITABLE_FILES``.
    """
    inputs = list(inputs)
    for path in (folder, *inputs):
        if not str(path.resolve()).isprintable():  # TOML has no bytes that are not UTF-8
            raise WriteError(
                "the path has characters that domain.toml cannot hold",
                where=str(path),
                hint="Rename the file or folder, or choose another --out.",
            )
    with convert_write_errors(folder):
        is_draft = _read_checksum(folder / "domain.toml") is not None
        exists = (folder / "domain.toml").exists()
        is_foreign = not exists and folder.is_dir() and any(folder.iterdir())
    if is_foreign and not overwrite:
        raise WriteError(
            "the folder has other files",
            where=str(folder),
            hint="Choose a new folder with --out, or give --overwrite to write beside them.",
        )
    for name in FILES:
        path = folder / name
        is_answered = name == ANSWERS_FILE and is_draft
        is_edited = name in EDITABLE_FILES and _read_checksum(path) is not None
        _check_file(path, inputs, may_replace=overwrite or is_answered or is_edited)
        if is_edited:
            _check_file(_name_beside(path), inputs, may_replace=overwrite)


def _check_file(path: Path, inputs: list[Path], *, may_replace: bool) -> None:
    check_output(path, inputs)
    if path.exists() and not (may_replace or is_unchanged(path)):
        raise WriteError(
            "the file was changed, or `epoche kg init` did not write it",
            where=str(path),
            hint="Choose another --out, or give --overwrite to replace it.",
        )


class PlacedFiles(NamedTuple):
    """Where the files of a draft go."""

    contents: dict[Path, bytes]
    notes: list[str]
    """What becomes of files that the user has edited."""


def place_files(folder: Path, texts: Mapping[str, str], *, overwrite: bool) -> PlacedFiles:
    """Places a draft beside files that the user has edited, and over the others.

    Args:
        folder: the folder, see ``check_folder``.
        texts: name of the file → its text.
        overwrite: whether edited files are replaced.
    """
    placed = PlacedFiles({}, [])
    for name, text in texts.items():
        path, content = folder / name, add_checksum(name, text)
        is_edited = name in EDITABLE_FILES and path.exists() and not is_unchanged(path)
        if not is_edited:
            placed.contents[path] = content
        elif overwrite:
            placed.contents[path] = content
            placed.notes.append(f"{path} was edited: replaced, because of --overwrite")
        elif _read_checksum(path) == hashlib.sha256(text.encode()).hexdigest():
            # The draft is the one that was edited, so there is nothing new to tell.
            placed.notes.append(f"{path} was edited, so it stays as it is")
        else:
            beside = _name_beside(path)
            placed.contents[beside] = content
            placed.notes.append(
                f"{path} was edited, so it stays as it is; the new draft is {beside}: take over "
                "from it what you want, or give --overwrite"
            )
    return placed


def is_unchanged(path: Path) -> bool:
    """Returns whether a file is as ``add_checksum`` wrote it."""
    checksum = _read_checksum(path)
    if checksum is None:
        return False
    content = path.read_bytes().split(b"\n", 1)[1]
    return hashlib.sha256(content).hexdigest() == checksum


def _read_checksum(path: Path) -> str | None:
    """Returns the checksum in the first line of a file; None if it has none."""
    match = _CHECKSUM.match(path.read_bytes()) if path.is_file() else None
    return None if match is None else match[1].decode()


def _name_beside(path: Path) -> Path:
    return path.with_suffix(f".new{path.suffix}")
