"""The manifest of a run of SKN against JSON: what was asked of whom, from what, and how.

``manifest.json`` stands in the run's folder. It is written before the first row and again at the
end, each time all or nothing, and decides whether the folder may be taken up again. No absolute
path and no secret is ever in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from eval.running.places import Places
from eval.running.session import RunStatus
from eval.running.taking_up import as_stored as as_stored
from eval.running.taking_up import read_as, taken_up
from eval.running.totals import CallTotals

NAME = "manifest.json"


class SknManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to name, repeat or continue a run."""

    kind: Literal["skn"] = "skn"
    rows: str
    """Name of the file of rows, in the manifest's own folder."""
    dataset: str
    """The samples, relative to the manifest's folder, with forward slashes."""
    dataset_sha256: str
    """Of the file's bytes."""
    sample_count: int
    limit: int | None = None
    """Only the first so many samples were asked; null for all."""
    repeats: int = 1
    pipelines: tuple[str, ...]
    mode: Literal["fair", "as-published"]
    offline: bool
    """Whether rules extracted, reasoned and judged, and no model at all."""
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
    seed: int
    versions: dict[str, str] = {}
    started: str
    """UTC, ISO 8601, of the first start: resuming does not move it."""
    ended: str | None = None
    resumed: int = 0
    status: RunStatus
    counts: dict[str, int] = {}
    """Rows by outcome; ``unjudged``: those of them whose judge could not be called."""
    calls: CallTotals | None = None
    """The model calls behind the rows and anchors; null without a model."""
    observed: dict[str, Any] = {}
    """What the models turned out to do: mode of structured output, names they were served under."""

    @property
    def places(self) -> Places:
        """Which rows the run has."""
        return Places(
            self.sample_count,
            systems=len(self.pipelines),
            repeats=self.repeats,
            limit=self.limit,
        )


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
    return read_as(path, SknManifest, _WRITTEN_BY)


def continued(new: SknManifest, folder: Path) -> SknManifest:
    """The manifest of the run in ``folder``, which is being taken up again.

    Raises:
        RecordError: there is no manifest, so nobody knows what the rows are.
        CardSetMismatchError: they were made from other samples or otherwise.
    """
    return taken_up(new, folder / NAME, SAME_IN_A_RUN, _WRITTEN_BY)
