"""What all manifests share: where they stand, how they name files, which versions they record."""

from __future__ import annotations

import os
from functools import cache
from importlib import metadata
from pathlib import Path


def manifest_path(records: Path | str) -> Path:
    """Where the manifest of a card or result file stands: ``r/x.jsonl`` → ``r/x.manifest.json``."""
    records = Path(records)
    stem = records.name.removesuffix(".jsonl") or records.name
    return records.parent / f"{stem}.manifest.json"


def relative_name(target: Path | str, folder: Path | str) -> str:
    """``target`` as seen from ``folder``, with forward slashes, so that both can move together."""
    target, folder = Path(target).resolve(), Path(folder).resolve()
    try:
        return Path(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # another drive on Windows has no relative path
        return target.name


@cache
def package_version(name: str = "epoche") -> str:
    """Version of an installed distribution, or ``unknown`` (a bare source tree, for our own)."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
