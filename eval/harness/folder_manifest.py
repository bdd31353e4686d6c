"""The base class of the manifests of runs that write a folder, common to all benchmarks."""

from __future__ import annotations

from typing import Any

import msgspec

from eval.harness.row_layout import RowLayout, Shard
from eval.harness.session import RunStatus
from eval.harness.totals import CallTotals


class FolderManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The fields common to all run manifests.

    A manifest is written before the first row and again at the end. A run may be resumed only if
    its data set and settings are still those of its manifest. A benchmark's own manifest adds the
    parameters that decide its rows. No manifest contains an absolute path or a secret.
    """

    kind: str
    """The kind of run; each benchmark has its own."""
    rows: str
    """Name of the file of rows, in the manifest's own folder."""
    dataset: str
    """The data set; for a file or folder its path, relative to the manifest's folder, with forward
    slashes."""
    dataset_sha256: str
    """Hash of the whole data set, independent of ``limit``."""
    sample_count: int
    """Number of items of the data set."""
    limit: int | None = None
    """Only the first ``limit`` items were asked; null for all."""
    repeats: int = 1
    shard: str | None = None
    """``i/n`` if only every n-th item was asked, from the i-th on; null for all."""
    offline: bool
    """Whether the run called no model."""
    seed: int
    versions: dict[str, str] = {}
    started: str
    """UTC, ISO 8601, of the first start; resuming does not change it."""
    ended: str | None = None
    resumed: int = 0
    """Number of times the run was resumed."""
    status: RunStatus
    counts: dict[str, int] = {}
    """Number of rows by outcome."""
    calls: CallTotals | None = None
    """The model calls behind the rows; null without a model."""
    observed: dict[str, Any] = {}
    """The observed modes of structured output and the model names that servers reported."""

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the systems in the rows, in the order of the rows of an item."""
        raise NotImplementedError

    @property
    def layout(self) -> RowLayout:
        """The positions of the run's rows."""
        return RowLayout(
            self.sample_count,
            systems=len(self.system_names),
            repeats=self.repeats,
            limit=self.limit,
            shard=Shard.from_text(self.shard) if self.shard else Shard(),
        )
