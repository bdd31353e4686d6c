"""What all manifests share: where they stand, how they name files, which versions they record."""

from __future__ import annotations

import os
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TypeVar

import msgspec

from kg.base.errors import RecordError

AnyManifest = TypeVar("AnyManifest")


def manifest_path(records: Path | str) -> Path:
    """Where the manifest of a card or result file stands: ``r/x.jsonl`` → ``r/x.manifest.json``."""
    records = Path(records)
    stem = records.name.removesuffix(".jsonl") or records.name
    return records.parent / f"{stem}.manifest.json"


def card_manifest_beside(cards: Path | str, kind: type[AnyManifest]) -> AnyManifest | None:
    """The manifest beside a card file, or None where there is none (cards from elsewhere).

    Args:
        cards: the card file.
        kind: what to decode it as.

    Raises:
        RecordError: there is one, but it is damaged; taken for none, it would let a system be
            asked about another graph than the cards were made from.
    """
    beside = manifest_path(cards)
    if not beside.exists():
        return None
    try:
        return msgspec.json.decode(beside.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not a card manifest: {error}",
            where=str(beside),
            hint="Make the cards again, or remove it if the cards are not ours.",
        ) from error


def relative_name(target: Path | str, folder: Path | str) -> str:
    """``target`` as seen from ``folder``, with forward slashes, so that both can move together.

    Bytes of a name that are not UTF-8 are written out in hex, for JSON can hold no others.
    """
    target, folder = Path(target).resolve(), Path(folder).resolve()
    try:
        return encodable(Path(os.path.relpath(target, folder)).as_posix())
    except ValueError:  # another drive on Windows has no relative path
        return encodable(target.name)


def encodable(name: str) -> str:
    """A file's name as a text that UTF-8 can hold, whatever bytes the file system has it as."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


@cache
def package_version(name: str = "epoche") -> str:
    """Version of an installed distribution, or ``unknown`` (a bare source tree, for our own)."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
