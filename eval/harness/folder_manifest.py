"""The base class of the manifests of runs that write a folder, common to all benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from eval.harness.base_manifest import BaseManifest
from eval.harness.session import RunStatus
from eval.harness.totals import CallTotals


class FolderManifest(BaseManifest, frozen=True, kw_only=True):
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
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    started: str
    """UTC, ISO 8601, of the first start; resuming does not change it."""
    ended: str | None = None
    resumed: int = 0
    """Number of times the run was resumed."""
    status: RunStatus
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of rows by outcome."""
    files_sha256: dict[str, str] = msgspec.field(default_factory=dict)
    """SHA-256 of the rows, and of the files that they are computed from, at the end of the last
    session, so that changes made afterwards are noticed; empty while a session runs."""
    line_digests: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """Short digests of the lines of these files, by name, which tell the first changed line;
    absent while a session runs."""
    calls: CallTotals | None = None
    """The model calls behind the rows; null without a model."""
    observed: dict[str, Any] = msgspec.field(default_factory=dict)
    """The observed modes of structured output and the model names that servers reported."""
    accepted_changes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What ``--allow-changed`` accepted when the run was resumed or merged; absent if nothing."""
    content_sha256: str = ""
    """Digest of all other fields, so that changes of the manifest are noticed; empty while a
    session runs."""

    @property
    def item_count(self) -> int:
        """Number of items of the data set, asked or not."""
        return self.sample_count

    @property
    def rows_name(self) -> str:
        """Name of the file of rows, in the manifest's own folder."""
        return self.rows

    @property
    def dataset_name(self) -> str:
        """The data set, as a message names it."""
        return self.dataset

    @property
    def file_hashes(self) -> Mapping[str, str]:
        """Names of files in the folder → SHA-256 at the end of the last session."""
        return self.files_sha256

    @property
    def dataset_hashes(self) -> tuple[str, ...]:
        """Hash of the data set."""
        return (self.dataset_sha256,)
