"""The manifest of a run of SKN against JSON: what was asked of whom, from what, and how.

``manifest.json`` stands in the run's folder. It is written before the first row and again at the
end, each time all or nothing, and decides whether the folder may be taken up again. No absolute
path and no secret is ever in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

from eval.harness.folder_manifest import FolderManifest
from eval.harness.resume import read_run_manifest, resume_manifest
from eval.harness.resume import round_trip_json as round_trip_json

NAME = "manifest.json"


class SknManifest(FolderManifest, frozen=True, kw_only=True):
    """Everything needed to name, repeat or continue a run.

    ``counts`` holds rows by outcome; ``unjudged``: those of them whose judge could not be called.
    """

    kind: Literal["skn"] = "skn"
    pipelines: tuple[str, ...]
    mode: Literal["fair", "as-published"]
    search: dict[str, Any]
    """What was searched: the engines, or what was replayed, with its hash."""
    search_file: str | None = None
    """The replayed file, relative to the manifest's folder; null for a live search."""
    setting: dict[str, Any]
    """What was the same for every pipeline."""
    extractors: dict[str, Any]
    """By pipeline, what its extractor says of itself."""
    agent: dict[str, Any]
    judges: dict[str, Any]
    model: str | None = None
    judge_model: str | None = None
    same_judge: bool
    """Whether whoever answered also judged."""

    @property
    def system_names(self) -> tuple[str, ...]:
        """The pipelines, in the order of the rows of a sample."""
        return self.pipelines


SAME_IN_A_RUN = (
    "pipelines",
    "mode",
    "offline",
    "search",
    "setting",
    "extractors",
    "agent",
    "judges",
    "model",
    "judge_model",
    "seed",
)
"""What may not change within a run; ``limit`` and ``repeats`` may grow."""


_WRITTEN_BY: Final = "epoche skn run"


def read_manifest(path: Path | str) -> SknManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: it is none of such a run.
    """
    return read_run_manifest(path, SknManifest, _WRITTEN_BY)


def continued(new: SknManifest, folder: Path) -> SknManifest:
    """The manifest of the run in ``folder``, which is being taken up again.

    Raises:
        RecordError: there is no manifest, so nobody knows what the rows are.
        CardSetMismatchError: they were made from other samples or otherwise.
    """
    return resume_manifest(new, folder / NAME, SAME_IN_A_RUN, _WRITTEN_BY)
