"""The run manifest: what a result file was made from, by what and when.

``X.manifest.json`` stands beside ``X.jsonl``. It is written before the first answer and again at
the end, each time all or nothing. A run killed in between leaves ``status`` at ``running``, which
reads as interrupted. It decides whether a result file may be resumed, and metrics build their
signature from it. No absolute path and no secret is ever in it.
"""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from eval.running.places import Places, Shard
from eval.running.session import RunStatus
from eval.running.totals import CallTotals
from kg.base.errors import RecordError
from kg.base.files import require_file, write_json_atomic
from kg.base.provenance import package_version

_LIBRARIES = ("epoche", "rdflib", "pyshacl", "pyoxigraph", "numpy")


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to name, repeat or continue a run."""

    results: str
    """Name of the result file, in the manifest's own folder."""
    cards_file: str
    """The card file, relative to the manifest's folder, with forward slashes."""
    cards_sha256: str
    """``cards.card.card_set_hash`` of the whole card file, whatever ``limit`` says."""
    cards_file_sha256: str
    """SHA-256 of the card file's bytes: kinds, clusters and claims are copied from it too."""
    card_count: int
    """Cards in the card file."""
    limit: int | None = None
    """Only the first ``limit`` cards were asked; null for all."""
    repeats: int = 1
    """How often each card was asked."""
    shard: str | None = None
    """``i/n`` if only every n-th card was asked, from the i-th on; null for all."""
    system: str
    """The system as it was asked for (``kg``, ``controls``, ``mypkg.mod:Class``)."""
    systems: tuple[str, ...]
    """Names in the ``system`` field of the rows; more than one for ``controls``."""
    oracles: tuple[str, ...] = ()
    """Those of ``systems`` that were handed the claims themselves (the declared exemption)."""
    params: dict[str, Any] = {}
    """``system.params()``; keyed by system name where there are several."""
    model: str | None = None
    seed: int
    domain: str | None = None
    graph_sha256: str | None = None
    """Of the graph the system used; null for a system that uses none."""
    shapes_sha256: str | None = None
    versions: dict[str, str] = {}
    started: str
    """UTC, ISO 8601, of the first start: resuming does not move it."""
    ended: str | None = None
    resumed: int = 0
    """How often the run was taken up again."""
    status: RunStatus
    counts: dict[str, int] = {}
    """Rows in the result file per prediction, all systems together."""
    calls: CallTotals | None = None
    """The model calls behind the rows; null for systems that call none."""
    observed: dict[str, Any] = {}
    """By system, what its model turned out to do: mode of structured output, names it served."""

    @property
    def places(self) -> Places:
        """Which questions the run has."""
        return Places(
            self.card_count,
            systems=len(self.systems),
            repeats=self.repeats,
            limit=self.limit,
            shard=Shard.read(self.shard) if self.shard else Shard(),
        )

    @property
    def rows_expected(self) -> int:
        """Rows of the finished result file."""
        return self.places.rows


def read_manifest(path: Path | str) -> RunManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: it is not a manifest.
    """
    path = require_file(path, "run manifest")
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunManifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not a run manifest: {error}",
            where=str(path),
            hint="Runs write it beside their results; run again with --overwrite.",
        ) from error


def write_manifest(path: Path | str, manifest: RunManifest) -> None:
    """Writes a manifest, all or nothing.

    Raises:
        WriteError: the disk is full or the folder cannot be written.
    """
    write_json_atomic(path, manifest)


def find_cards(manifest: Path | str) -> Path | None:
    """The card file a manifest speaks of, or ``None`` when it is no longer there.

    Looked for at the recorded relative path, then beside the manifest under its own name (result
    folders get copied without their surroundings).

    Raises:
        MissingFileError, RecordError: as ``read_manifest``.
    """
    manifest = Path(manifest)
    recorded = Path(read_manifest(manifest).cards_file)
    for candidate in (manifest.parent / recorded, manifest.parent / recorded.name):
        if candidate.is_file():
            return candidate
    return None


def now() -> str:
    """The time, UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that could change an answer."""
    libraries = {name: package_version(name) for name in _LIBRARIES}
    return {"python": platform.python_version(), **libraries}
