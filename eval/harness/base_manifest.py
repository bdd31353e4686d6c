"""The base class of all run manifests: what the harness needs to resume, shard and merge a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from eval.harness.journals.row_layout import RowLayout, Shard

if TYPE_CHECKING:
    from eval.harness.session import RunStatus
    from eval.harness.totals import CallTotals


class BaseManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The fields and properties that every run manifest has.

    Each subclass defines the fields itself, because their order in the file is part of its format,
    and inherited fields would always come first.
    """

    if TYPE_CHECKING:
        limit: int | None
        repeats: int
        shard: str | None
        seed: int
        versions: dict[str, str]
        started: str
        ended: str | None
        resumed: int
        status: RunStatus
        counts: dict[str, int]
        calls: CallTotals | None
        observed: dict[str, Any]
        line_digests: dict[str, str] | msgspec.UnsetType
        accepted_changes: tuple[str, ...] | msgspec.UnsetType
        content_sha256: str

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the systems in the rows, in the order of the rows of an item."""
        raise NotImplementedError

    @property
    def item_count(self) -> int:
        """Number of items of the data set, asked or not."""
        raise NotImplementedError

    @property
    def rows_name(self) -> str:
        """Name of the file of rows, in the manifest's own folder."""
        raise NotImplementedError

    @property
    def dataset_name(self) -> str:
        """The data set, as a message names it."""
        raise NotImplementedError

    @property
    def dataset_hashes(self) -> tuple[str, ...]:
        """Hashes of the data set, the one that identifies it first."""
        raise NotImplementedError

    @property
    def file_hashes(self) -> Mapping[str, str]:
        """Names of files in the manifest's own folder → SHA-256 at the end of the last session.

        Empty while a session runs, and in manifests of versions that recorded none.
        """
        raise NotImplementedError

    @property
    def repeats_of_systems(self) -> tuple[int, ...]:
        """How often each system answered each item; empty if all did so ``repeats`` times."""
        return ()

    @property
    def layout(self) -> RowLayout:
        """The positions of the run's rows."""
        return RowLayout(
            self.item_count,
            systems=len(self.system_names),
            repeats=self.repeats,
            limit=self.limit,
            shard=Shard.from_text(self.shard) if self.shard else Shard(),
            system_repeats=self.repeats_of_systems,
        )

    @property
    def rows_expected(self) -> int:
        """Number of rows of the finished run."""
        return self.layout.row_count
