"""Defines the manifest of an SKN run: samples, searches, pipelines, judges and settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType

from eval.harness.folder_manifest import FolderManifest
from eval.harness.resume import read_run_manifest
from eval.stats.bootstrap import RESAMPLES


class SknManifest(FolderManifest, frozen=True, kw_only=True):
    """Everything needed to identify, repeat or resume a run.

    ``counts`` has the number of rows by outcome; rows that lack a judge's vote are counted under
    ``unjudged`` instead.
    """

    kind: Literal["skn"] = "skn"
    pipelines: tuple[str, ...]
    mode: Literal["fair", "as-published"]
    search: dict[str, Any]
    """How was searched: the engines, or the replayed file with its hash."""
    search_file: str | None = None
    """The replayed file, relative to the manifest's folder; null for a live search."""
    setting: dict[str, Any]
    """The setting, the same for every pipeline."""
    extractors: dict[str, Any]
    """Parameters of the extractor of each pipeline."""
    agent: dict[str, Any]
    judges: dict[str, Any]
    """Parameters of the judges; empty if nothing was judged."""
    model: str | None = None
    judge_model: str | None = None
    same_judge: bool
    """Whether a model judged its own answers."""
    replies_of: str | UnsetType = UNSET
    """The run whose replies were judged again, relative to the manifest's folder; missing if the
    pipelines of this run were asked."""
    results_of: str | UnsetType = UNSET
    """The results whose answers and verdicts were read, relative to the manifest's folder; missing
    if pipelines or judges of this run were asked."""
    resamples: int | UnsetType = UNSET
    """Bootstrap resamples of the intervals; missing for the default number. It changes no row."""

    @property
    def system_names(self) -> tuple[str, ...]:
        """The pipelines, in the order of the rows of a sample."""
        return self.pipelines

    @property
    def n_resamples(self) -> int:
        """Number of bootstrap resamples of the intervals."""
        return self.resamples if isinstance(self.resamples, int) else RESAMPLES

    @property
    def is_judged(self) -> bool:
        """Whether judges gave verdicts. Those of rules, in runs of earlier versions, are none."""
        return bool(self.judges) and self.judges.get("by") != "rules"


FIXED_FIELDS: Final = (
    "pipelines",
    "mode",
    "search",
    "setting",
    "extractors",
    "agent",
    "judges",
    "model",
    "judge_model",
    "seed",
)
"""Fields that must be the same in all sessions and shards of a run."""

COMMAND: Final = "epoche skn run"


def read_manifest(path: Path | str) -> SknManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: the file is not the manifest of an SKN run.
    """
    return read_run_manifest(path, SknManifest, COMMAND)
