"""What a user means by "a run": a result file, or the folder it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kg.base.errors import MissingFileError
from kg.base.provenance import manifest_path

_SUFFIX = ".jsonl"
_SET_ASIDE = re.compile(r"\.stale-[0-9a-f]+(-\d+)?$")
"""How ``--if-stale set-aside`` renames results that are no longer meant."""


class _Marks(msgspec.Struct):
    """What tells the manifest of a run from those of cards and graphs."""

    results: str


def result_files(runs: Sequence[Path]) -> list[Path]:
    """The result files of some runs, each once, in the order given; those of a folder by name.

    In a folder, a result file is one with a run manifest beside it: card files, logs and exports
    may lie there too. A folder without any manifest of a run is taken at its files' word: all of
    its ``.jsonl`` files.

    Args:
        runs: files or folders. A file is passed on as it is, whether or not it is there.

    Raises:
        MissingFileError: a folder holds no results.
    """
    found: dict[Path, None] = {}
    for run in runs:
        found.update(dict.fromkeys(_in_folder(run) if run.is_dir() else [run]))
    return list(found)


def _in_folder(folder: Path) -> list[Path]:
    files = sorted(
        path
        for path in folder.glob(f"*{_SUFFIX}")
        if path.is_file() and not _SET_ASIDE.search(path.stem)
    )
    named = [path for path in files if _is_run(manifest_path(path))]
    chosen = named or [path for path in files if not manifest_path(path).is_file()]
    if not chosen:
        raise MissingFileError(
            "the folder holds no result files",
            where=str(folder),
            hint="Give result files, or a folder that `epoche eval` wrote to.",
        )
    return chosen


def _is_run(manifest: Path) -> bool:
    try:
        msgspec.json.decode(manifest.read_bytes(), type=_Marks)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
