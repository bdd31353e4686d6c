"""Finds the result files of runs that a user names by file or by folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kg.base.console import print_warning_once
from kg.base.errors import MissingFileError
from kg.base.files import MAX_LINE_BYTES
from kg.base.provenance import manifest_path

_SUFFIX = ".jsonl"
_STALE_NAME = re.compile(r"\.stale-[0-9a-f]+(-\d+)?$")
"""Matches results that ``--if-stale set-aside`` has renamed; they are skipped in a folder."""


class _ManifestProbe(msgspec.Struct):
    """The field that manifests of runs have, but those of cards and graphs do not."""

    results: str


class _CardProbe(msgspec.Struct):
    """The field that cards have, but results do not."""

    claim: dict[str, Any]


class _RowProbe(msgspec.Struct):
    """The fields of results; predictions that wait to be scored have neither gold nor label."""

    id: str
    pred: Any
    gold: str | None = None
    label: str | None = None


_Probe = TypeVar("_Probe", _CardProbe, _RowProbe)


def find_result_files(runs: Sequence[Path]) -> list[Path]:
    """Returns the result files of the given runs without duplicates, in the order given.

    Files of a folder are sorted by name. In a folder, files with a run manifest are result files,
    and files that begin with a result row, whose manifest may be lost or damaged; card files, logs
    and exports may be there too. If the folder has neither, every ``.jsonl`` file without a
    manifest counts as a result file.

    Args:
        runs: files or folders. A file is returned unchanged, whether or not it exists.

    Raises:
        MissingFileError: a folder contains no results.
    """
    result_files: dict[Path, None] = {}
    for run in runs:
        result_files.update(dict.fromkeys(_find_in_folder(run) if run.is_dir() else [run]))
    return list(result_files)


def is_card_file(path: Path) -> bool:
    """Returns whether a file has cards, in contrast to results: its first line has a claim."""
    return path.is_file() and _read_first_line(path, _CardProbe) is not None


def _read_first_line(path: Path, probe: type[_Probe]) -> _Probe | None:
    """Returns the fields of a file's first line, or None if it lacks some."""
    with path.open("rb") as handle:
        line = handle.readline(MAX_LINE_BYTES)
    try:
        return msgspec.json.decode(line, type=probe)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _find_in_folder(folder: Path) -> list[Path]:
    for manifest in sorted(folder.glob("*.manifest.json")):
        results = folder / f"{manifest.name.removesuffix('.manifest.json')}{_SUFFIX}"
        if not results.exists() and _is_run_manifest(manifest):
            print_warning_once(
                f"{manifest} is of results that are not there ({results.name}): their systems are "
                "left out"
            )
    files = sorted(
        path
        for path in folder.glob(f"*{_SUFFIX}")
        if path.is_file() and not _STALE_NAME.search(path.stem)
    )
    result_files = [
        path for path in files if _is_run_manifest(manifest_path(path)) or _has_result_row(path)
    ] or [path for path in files if not manifest_path(path).is_file()]
    if not result_files:
        raise MissingFileError(
            "the folder contains no result files",
            where=str(folder),
            hint="Give result files, or a folder that `epoche eval` wrote to.",
        )
    return result_files


def _has_result_row(path: Path) -> bool:
    row = _read_first_line(path, _RowProbe)
    return row is not None and (row.gold or row.label) is not None


def _is_run_manifest(manifest: Path) -> bool:
    try:
        msgspec.json.decode(manifest.read_bytes(), type=_ManifestProbe)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
