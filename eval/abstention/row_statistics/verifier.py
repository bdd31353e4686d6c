"""Verifies the statistics beside a result file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.abstention.manifest import RunManifest
from eval.abstention.row_statistics.columns import compute_statistics
from eval.abstention.row_statistics.record import read_version, statistics_path
from eval.harness.verification.record import DifferenceLog
from kg.base.files import sha256_bytes
from kg.base.provenance import package_version

if TYPE_CHECKING:
    from eval.abstention.metrics.reader import ResultReader


def verify_statistics(
    results: Path, manifest: RunManifest, log: DifferenceLog, reader: ResultReader
) -> None:
    """Adds a difference if the statistics of a run are not, to the byte, those of its rows.

    Only statistics that the manifest names are read by any command, and only those of this version;
    others say nothing of the run, and they may be deleted.

    Args:
        results: the result file.
        manifest: its manifest.
        log: where differences are added.
        reader: a new reader.
    """
    path = statistics_path(results)
    if not manifest.statistics_sha256 or not path.is_file():
        return
    content = path.read_bytes()
    found = sha256_bytes(content)
    if found != manifest.statistics_sha256:
        log.add(path, "content", expected=manifest.statistics_sha256, found=found)
        return
    version = read_version(content)
    if version not in (None, package_version()):
        log.skipped.append(f"{path.name}: version {version} of Epoché wrote it, and it is not read")
        return
    log.checked["rows in statistics"] = log.checked["rows"]
    statistics = compute_statistics(results, reader)
    if statistics is None or content != msgspec.msgpack.encode(statistics):
        log.add(path, "content", expected="the statistics of the rows", found="others")
