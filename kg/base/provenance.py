"""Provides helpers for all manifests: their paths, relative file names, package versions."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from kg.base.errors import ChangedRunError, RecordError
from kg.base.files import sha256_bytes

AnyManifest = TypeVar("AnyManifest")

CONTENT_DIGEST: Final = "content_sha256"
"""The field of manifests and records that has the digest of all their other fields."""
_LIBRARIES = ("epoche", "rdflib", "pyshacl", "pyoxigraph", "numpy")


def manifest_path(records: Path | str) -> Path:
    """Returns the path of a card or result file's manifest: ``x.jsonl`` → ``x.manifest.json``."""
    records = Path(records)
    stem = records.name.removesuffix(".jsonl") or records.name
    return records.parent / f"{stem}.manifest.json"


def read_card_manifest(cards: Path | str, manifest_type: type[AnyManifest]) -> AnyManifest | None:
    """Reads the manifest next to a card file; returns None if there is none.

    Args:
        cards: the card file.
        manifest_type: the type to decode it as.

    Raises:
        RecordError: the manifest is damaged. Ignoring it could evaluate a system with another
            graph than the one the cards were made from.
        ChangedRunError: the manifest was changed after the cards were made.
    """
    path = manifest_path(cards)
    if not path.exists():
        return None
    try:
        content = path.read_bytes()
        manifest = msgspec.json.decode(content, type=manifest_type)
        fields = msgspec.json.decode(content, type=dict[str, Any])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not a card manifest: {error}",
            where=str(path),
            hint="Generate the cards again; remove the file if Epoché did not make the cards.",
        ) from error
    if has_wrong_digest(fields):
        raise ChangedRunError(
            f"{path.name} was changed after the cards were made",
            where=str(path),
            hint="Restore it, or make the cards again.",
        )
    return manifest


def compute_content_digest(record: Any) -> str:
    """Computes the digest of a record's JSON, whatever the order of its keys and its white space.

    Args:
        record: a struct or dict, or the JSON object decoded from its file.
    """
    fields = msgspec.json.decode(msgspec.json.encode(record))
    content = {name: value for name, value in fields.items() if name != CONTENT_DIGEST}
    return sha256_bytes(msgspec.json.encode(content, order="sorted"))


def has_wrong_digest(fields: dict[str, Any]) -> bool:
    """Returns whether a JSON object has a digest, and it is not that of its other fields."""
    return fields.get(CONTENT_DIGEST, "") not in ("", compute_content_digest(fields))


def make_relative_name(target: Path | str, folder: Path | str) -> str:
    """Returns ``target`` relative to ``folder``, with forward slashes.

    The name stays valid when both are moved together. Bytes that are not UTF-8 are written as hex
    escapes, since JSON cannot contain them.
    """
    target, folder = Path(target).resolve(), Path(folder).resolve()
    try:
        return escape_file_name(Path(os.path.relpath(target, folder)).as_posix())
    except ValueError:  # on Windows, there is no relative path to another drive
        return escape_file_name(target.name)


def escape_file_name(name: str) -> str:
    """Returns a file name as valid UTF-8 text, with undecodable bytes written as hex escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


@cache
def package_version(name: str = "epoche") -> str:
    """Returns the version of an installed distribution, or ``unknown`` if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"


def utc_now() -> str:
    """Returns the current time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def library_versions() -> dict[str, str]:
    """Returns the versions of Python and of the libraries that could change an answer."""
    libraries = {name: package_version(name) for name in _LIBRARIES}
    return {"python": platform.python_version(), **libraries}
