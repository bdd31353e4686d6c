"""Protects the files in the folder of a drafted domain: only a draft may be replaced."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from kg.base.errors import WriteError
from kg.base.files import check_output, convert_write_errors

READINESS_PAGE = "readiness.md"
"""The page that says what can be asked about each predicate, or why nothing."""
CLASS_LINKS = "class-links.nt"
"""Links between classes, see ``class_links``."""
FACTS_GRAPH = "graph.nt"
"""The graph of facts that were extracted from documents."""
QUOTES = "quotes.jsonl"
"""The words of the documents that state each of them."""
FILES = ("domain.toml", "shapes.ttl", READINESS_PAGE, "confirm.toml", CLASS_LINKS, FACTS_GRAPH)
"""The files of a draft."""
ANSWERS_FILE = "confirm.toml"
"""The file that the user edits: its answers are kept, so it may have changed."""

_CHECKSUM = re.compile(rb"[^\n]*sha256 ([0-9a-f]{64})[^\n]*\n")
_COMMENTS = {".md": ("<!-- sha256 ", " -->\n")}


def add_checksum(name: str, text: str) -> bytes:
    """Returns the bytes of a file, with a first line by which a change is noticed later."""
    content = text.encode("utf-8")
    if name == ANSWERS_FILE:
        return content
    start, end = _COMMENTS.get(Path(name).suffix, ("# sha256 ", "\n"))
    return f"{start}{hashlib.sha256(content).hexdigest()}{end}".encode() + content


def check_folder(folder: Path, inputs: Iterable[Path], *, overwrite: bool) -> None:
    """Checks that a draft may be written: the folder is new, empty or a draft that is unchanged.

    Args:
        folder: the folder.
        inputs: files that the draft is made from.
        overwrite: whether changed files and those of others may be replaced.

    Raises:
        WriteError: a file of the draft would replace one that is not, or one that the user changed.
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
        is_draft = _is_unchanged(folder / "domain.toml")
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
        check_output(path, inputs)
        is_kept = name == ANSWERS_FILE and (is_draft or overwrite)
        if path.exists() and not (overwrite or is_kept or _is_unchanged(path)):
            raise WriteError(
                "the file was changed, or `epoche kg init` did not write it",
                where=str(path),
                hint="Choose another --out, or give --overwrite to replace it.",
            )


def _is_unchanged(path: Path) -> bool:
    """Returns whether a file is as ``add_checksum`` wrote it."""
    if not path.is_file():
        return False
    content = path.read_bytes()
    match = _CHECKSUM.match(content)
    return match is not None and (
        hashlib.sha256(content[match.end() :]).hexdigest().encode() == match[1]
    )
