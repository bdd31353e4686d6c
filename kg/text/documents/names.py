"""Names documents by their paths, so that a whole tree of files can be one collection."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from kg.base.errors import DuplicateIdError
from kg.base.plain_text import to_one_line
from kg.words.normaliser import split_words

MAX_NAME_LENGTH = 80
"""Maximum number of characters in a document's name; the ids of its chunks begin with it."""


class SourceFile(NamedTuple):
    """A file to read, and the folder in which it was found."""

    path: Path
    root: Path | None = None
    """The folder that the user gave; None if the user gave the file itself."""

    @property
    def relative_path(self) -> PurePath:
        """The path below the folder that the user gave, else the file's base name."""
        return self.path.relative_to(self.root) if self.root else PurePath(self.path.name)

    @property
    def filename(self) -> str:
        """The relative path with slashes, without control or bidirectional characters."""
        return to_one_line(self.relative_path.as_posix()) or "unnamed"


def make_document_name(path: PurePath) -> str:
    """Returns a slug of a relative path without its extension: words joined by hyphens.

    ``guide/07-Tree indexes.md`` becomes ``guide/07-tree-indexes``. A long name is cut and a hash of
    the whole appended, so that different long names stay different.
    """
    slug = "/".join(filter(None, map(_make_slug, (*path.parent.parts, path.stem))))
    if len(slug) > MAX_NAME_LENGTH:
        # 9 characters are for the hyphen and the hash.
        slug = f"{slug[: MAX_NAME_LENGTH - 9].rstrip('-/')}-{_make_digest(slug)}"
    return slug or "document"


def assign_document_names(files: Sequence[SourceFile]) -> list[str]:
    """Returns a name for each file, different from all others.

    Files with the same name are told apart by their extensions (``trees-md``, ``trees-txt``), then
    by the folder in which each was found, then by a hash of their relative path. Other files keep
    their names, so that adding one file changes as few ids as possible.

    Raises:
        DuplicateIdError: a file is given twice, or no rule tells two files apart.
    """
    seen: dict[str, Path] = {}
    for file in files:
        # Path.resolve raises an error for a link to itself.
        other = seen.setdefault(os.path.realpath(file.path), file.path)
        if other is not file.path:
            raise DuplicateIdError(
                f"the document is given twice, also as {other}",
                where=str(file.path),
                hint="Give each document once: its chunks would have equal ids.",
            )
    names = [make_document_name(file.relative_path) for file in files]
    for rename in (_add_extension, _add_folder, _add_digest):
        positions: defaultdict[str, list[int]] = defaultdict(list)
        for position, name in enumerate(names):
            positions[name].append(position)
        equal = [group for group in positions.values() if len(group) > 1]
        for group in equal:
            new_names = [rename(names[position], files[position]) for position in group]
            if len(set(new_names)) > 1:
                for position, name in zip(group, new_names, strict=True):
                    names[position] = name
    path_of_name: dict[str, Path] = {}
    for name, file in zip(names, files, strict=True):
        if name in path_of_name:
            raise DuplicateIdError(
                f"{path_of_name[name]} has the same name {name!r}, so their chunks would have "
                "equal ids",
                where=str(file.path),
                hint="Give their common folder instead, or rename one.",
            )
        path_of_name[name] = file.path
    return names


def _add_extension(name: str, file: SourceFile) -> str:
    return f"{name}-{_make_slug(file.path.suffix) or 'file'}"


def _add_folder(name: str, file: SourceFile) -> str:
    folder = _make_slug((file.root or file.path.parent).resolve().name)
    return f"{folder}/{name}" if folder else name


def _add_digest(name: str, file: SourceFile) -> str:
    return f"{name}-{_make_digest(file.relative_path.as_posix())}"


def _make_slug(text: str) -> str:
    # File names may contain undecodable bytes as surrogates, which no output can encode.
    text = text.encode("utf-8", "replace").decode("utf-8")
    # "#" separates a document's name from its section in every id.
    return "-".join(split_words(text)).replace("#", "-sharp")


def _make_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
