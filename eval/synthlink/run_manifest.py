"""Defines the manifest of a run: questions, system and library.

``run_manifest.json`` is in the run's folder, next to the ``manifest.json`` of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from eval.harness.folder_manifest import FolderManifest
from eval.harness.resume import read_run_manifest
from eval.synthlink.items import Question
from kg.base.files import sha256_bytes, to_json_bytes

KIND: Final = "synthlink-run"
SHIPPED: Final = "shipped"
"""Name of the catalogue that is part of this package."""


class RunManifest(FolderManifest, frozen=True, kw_only=True):
    """Everything needed to identify, repeat or resume a run.

    ``seed`` decides the order in which questions are asked, but no row. ``dataset`` is the
    catalogue; its hash covers the ids and texts of the questions but not the expected answers,
    which may be corrected later without changing a row.
    """

    kind: Literal["synthlink-run"] = KIND
    system: str
    """The system as named on the command line (``graph_walk``, ``mypkg.mod:Class``)."""
    name: str
    """The system's own name, which is used in rows."""
    params: dict[str, Any]
    """Parameters of the system."""
    library: dict[str, Any] | None
    """Parameters of the library it searches; null if it does not search."""
    rounds: int
    """Maximum number of rounds."""
    model: str | None = None

    @property
    def system_names(self) -> tuple[str, ...]:
        """The one system of the run."""
        return (self.name,)


FIXED_FIELDS: Final = ("system", "name", "params", "library", "rounds", "model")
"""Fields that must be the same in all sessions and shards of a run."""

COMMAND: Final = "epoche synthlink run"


def hash_questions(questions: Sequence[Question]) -> str:
    """Returns the hex SHA-256 of ids, categories and texts of the questions, in order."""
    return sha256_bytes(
        to_json_bytes([[item.id, item.category, item.question] for item in questions])
    )


def read_run_manifest_file(path: Path | str) -> RunManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: the file is not the manifest of a run.
    """
    return read_run_manifest(path, RunManifest, COMMAND)
