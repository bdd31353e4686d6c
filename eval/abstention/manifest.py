"""The run manifest: records the cards, system, settings and time of a result file.

``X.manifest.json`` is in the folder of ``X.jsonl``. It is written atomically before the first
answer and again at the end. A run killed in between leaves ``status`` at ``running``, which is
treated as interrupted. The manifest decides whether a result file may be resumed, and metrics build
their signature from it. It never contains an absolute path or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from eval.harness.base_manifest import BaseManifest
from eval.harness.resume import read_run_manifest, write_run_manifest
from eval.harness.session import RunStatus
from eval.harness.totals import CallTotals
from kg.base.errors import MissingFileError
from kg.base.files import require_file

COMMAND = "epoche eval"
PREDICTIONS_SYSTEM = "predictions"
"""``system`` of results that were not asked by ``epoche eval``, but scored by ``epoche score``."""

FIXED_FIELDS = (
    "system",
    "systems",
    "params",
    "seed",
    "graph_sha256",
    "shapes_sha256",
    "other_graph",
)
"""Fields that must be the same in all sessions and shards of a run."""


class RunManifest(BaseManifest, frozen=True, kw_only=True):
    """Everything needed to identify, repeat or resume a run."""

    results: str
    """Name of the result file, in the manifest's own folder."""
    cards_file: str
    """The card file, relative to the manifest's folder, with forward slashes."""
    cards_sha256: str
    """``cards.card.hash_card_set`` of the whole card file, independent of ``limit``."""
    cards_file_sha256: str
    """SHA-256 of the card file's bytes. Unlike ``cards_sha256`` it also covers the kinds, clusters
    and claims of the cards, which the rows copy."""
    card_count: int
    """Number of cards in the card file."""
    card_warnings: tuple[str, ...] = ()
    """What the cards' manifest says that whoever reads scores on them must know."""
    limit: int | None = None
    """Only the first ``limit`` cards were asked; null for all."""
    repeats: int = 1
    """Number of times each card was asked."""
    system_repeats: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """By system, the number of predictions of each card, if these differ; ``repeats`` is then the
    largest. Absent otherwise."""
    shard: str | None = None
    """``i/n`` if only every n-th card was asked, from the i-th on; null for all."""
    system: str
    """The system as named with ``--system`` (``kg``, ``controls``, ``mypkg.mod:Class``)."""
    systems: tuple[str, ...]
    """Names in the ``system`` field of the rows; more than one for ``controls``."""
    oracles: tuple[str, ...] = ()
    """Names of the ``systems`` that are declared oracles: they receive the claims themselves."""
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    """``system.params()``; keyed by system name where there are several."""
    model: str | None = None
    seed: int
    domain: str | None = None
    graph_sha256: str | None = None
    """SHA-256 of the graph that the system used; null for a system that uses none."""
    other_graph: bool = False
    """Whether the system was allowed to use another graph than the cards were made from."""
    shapes_sha256: str | None = None
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    started: str
    """UTC, ISO 8601, of the first start; resuming does not change it."""
    ended: str | None = None
    resumed: int = 0
    """Number of times the run was resumed."""
    status: RunStatus
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of rows in the result file by prediction, over all systems."""
    rows_sha256: str | None = None
    """SHA-256 of the result file at the end of the last session, so that rows that were changed
    afterwards are noticed; null while a session runs."""
    line_digests: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """Short digests of the lines of the result file, by name, which tell the first changed line;
    absent while a session runs."""
    statistics_sha256: str | msgspec.UnsetType = msgspec.UNSET
    """SHA-256 of the statistics beside the rows of a shard or of merged shards; absent if there are
    none."""
    calls: CallTotals | None = None
    """The model calls behind the rows; null for systems that call no model."""
    observed: dict[str, Any] = msgspec.field(default_factory=dict)
    """By system, the observed mode of structured output and the reported model names."""
    accepted_changes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What ``--allow-changed`` accepted when the run was resumed or merged; absent if nothing."""
    accepted_card_changes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """The changes of the cards that ``--allow-changed`` accepted before they were asked, or when
    they were joined or worded otherwise; absent if there are none."""
    content_sha256: str = ""
    """Digest of all other fields, so that changes of the manifest are noticed; empty while a
    session runs."""

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the systems in the rows, in the order of the rows of a card."""
        return self.systems

    @property
    def repeats_of_systems(self) -> tuple[int, ...]:
        """How often each system answered each card; empty if all did so ``repeats`` times."""
        repeats = self.system_repeats or {}
        return tuple(repeats.get(name, self.repeats) for name in self.systems) if repeats else ()

    @property
    def item_count(self) -> int:
        """Number of cards in the card file."""
        return self.card_count

    @property
    def rows_name(self) -> str:
        """Name of the result file, in the manifest's own folder."""
        return self.results

    @property
    def dataset_name(self) -> str:
        """The card file, relative to the manifest's folder."""
        return self.cards_file

    @property
    def file_hashes(self) -> Mapping[str, str]:
        """The result file → its SHA-256 at the end of the last session."""
        return {} if self.rows_sha256 is None else {self.results: self.rows_sha256}

    @property
    def dataset_hashes(self) -> tuple[str, ...]:
        """Hashes of the card set and of the card file."""
        return self.cards_sha256, self.cards_file_sha256


def read_manifest(path: Path | str) -> RunManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: it is not a manifest.
    """
    return read_run_manifest(path, RunManifest, COMMAND)


def write_manifest(path: Path | str, manifest: RunManifest) -> None:
    """Writes a manifest atomically.

    Raises:
        WriteError: the disk is full or the folder cannot be written.
    """
    write_run_manifest(path, manifest)


def find_card_file(manifest: Path | str) -> Path | None:
    """Returns the card file that a manifest names, or None if it is no longer there.

    Tries the recorded relative path, then a file of that name in the manifest's folder, because
    result folders are often copied without the cards' folder.

    Raises:
        MissingFileError, RecordError: as ``read_manifest``.
    """
    manifest = Path(manifest)
    recorded_path = Path(read_manifest(manifest).cards_file)
    for candidate in (manifest.parent / recorded_path, manifest.parent / recorded_path.name):
        if candidate.is_file():
            return candidate
    return None


def require_card_file(manifest: Path | str, named: Path | None = None) -> Path:
    """Returns the card file of a run.

    Args:
        manifest: path of the run's manifest.
        named: the file that the user named; by default the one that the manifest names.

    Raises:
        MissingFileError: it does not exist, or there is no manifest.
        RecordError: as ``read_manifest``.
    """
    if named is not None:
        return require_file(named, "card file")
    found = find_card_file(manifest)
    if found is None:
        raise MissingFileError(
            f"the card file that the manifest names ({read_manifest(manifest).cards_file}) does "
            "not exist",
            where=str(manifest),
            hint="Name it with --cards.",
        )
    return found
