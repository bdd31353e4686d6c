"""The manifest of a run: which questions were put to whom, where it could look, and how.

``run_manifest.json`` stands in the run's folder, beside the ``manifest.json`` of its scores. It is
written before the first row and again at the end, each time all or nothing, and decides whether
the folder may be taken up again. No absolute path and no secret is ever in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from eval.running.folder_manifest import FolderManifest
from eval.running.resume import read_run_manifest, resume_manifest
from eval.running.row_layout import RowLayout
from eval.synthlink.question import Question
from eval.synthlink.running.output_files import RUN_MANIFEST
from kg.base.files import sha256_bytes, to_json_bytes

KIND: Final = "synthlink-run"


class RunManifest(FolderManifest, frozen=True, kw_only=True):
    """Everything needed to name, repeat or continue a run.

    ``seed`` is of the order in which questions were asked, which decides no row. ``dataset`` is
    the catalogue; its hash is of ids and texts of all questions, which is what decides a row:
    expected answers may be put right later.
    """

    kind: Literal["synthlink-run"] = KIND
    system: str
    """As it was asked for (``graph_walk``, ``mypkg.mod:Class``)."""
    name: str
    """What the system calls itself, and rows call it."""
    params: dict[str, Any]
    """What the system says of itself."""
    library: dict[str, Any] | None
    """Where it could look things up; null where it could not."""
    rounds: int
    """Iterations it had."""
    model: str | None = None

    @property
    def places(self) -> RowLayout:
        """Which rows the run has."""
        return RowLayout(self.sample_count, limit=self.limit)


SAME_IN_A_RUN: Final = ("system", "name", "params", "library", "rounds", "model")
"""What may not change within a run; ``limit`` may grow."""

_WRITTEN_BY: Final = "epoche synthlink run"


def questions_sha256(questions: Sequence[Question]) -> str:
    """Hex SHA-256 of what is asked, under which ids, in which order."""
    return sha256_bytes(to_json_bytes([[one.id, one.category, one.question] for one in questions]))


def read_manifest(path: Path | str) -> RunManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: it is none of such a run.
    """
    return read_run_manifest(path, RunManifest, _WRITTEN_BY)


def continued(new: RunManifest, folder: Path) -> RunManifest:
    """The manifest of the run in ``folder``, which is being taken up again.

    Raises:
        RecordError: there is no manifest, so nobody knows what the rows are.
        CardSetMismatchError: they were made from other questions or otherwise.
    """
    return resume_manifest(new, folder / RUN_MANIFEST, SAME_IN_A_RUN, _WRITTEN_BY)
