"""Reads and writes manifests of runs, and checks that an interrupted run may be resumed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from eval.harness.base_manifest import BaseManifest
from kg.base.errors import (
    CardSetMismatchError,
    ChangedRunError,
    RecordError,
    SettingError,
    WriteError,
)
from kg.base.files import require_file, write_json_atomic
from kg.base.provenance import compute_content_digest, has_wrong_digest

MAX_REPEATS: Final = 10_000
"""Maximum number of repeats that a manifest may name; ``--repeat`` has the same limit."""
MAX_ROWS: Final = 100_000_000
"""Maximum number of items × repeats × systems that a manifest may describe."""

_HASH_FIELDS: Final = ("rows_sha256", "files_sha256", "line_digests")
"""Fields of manifests that have the hashes of files; no type of manifest has all of them."""

OUT_HINT = "Choose another --out, or use --overwrite to replace it."

AnyManifest = TypeVar("AnyManifest", bound=BaseManifest)
ManifestType = TypeVar("ManifestType", bound=msgspec.Struct)


def read_run_manifest(
    path: Path | str, manifest_type: type[ManifestType], command: str
) -> ManifestType:
    """Reads a run manifest.

    Args:
        path: the file.
        manifest_type: type of the manifest.
        command: the command that writes such manifests, for the hint.

    Raises:
        MissingFileError: no such file.
        RecordError: the file is not a manifest of this type, or its numbers are not those of a run.
        ChangedRunError: it was changed after the run.
    """
    path = Path(path)
    refuse_other_benchmark(path.parent, manifest_type, command)
    path = require_file(path, "run manifest")
    try:
        content = path.read_bytes()
        manifest = msgspec.json.decode(content, type=manifest_type)
        if isinstance(manifest, BaseManifest):
            _check_size(manifest)
            _check_digest(path, msgspec.json.decode(content))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not a run manifest: {error}",
            where=str(path),
            hint=f"`{command}` writes it next to its rows; run again with --overwrite.",
        ) from error
    return manifest


def write_run_manifest(path: Path | str, manifest: BaseManifest) -> None:
    """Writes a manifest atomically, with its digest unless a session runs.

    Raises:
        WriteError: the disk is full or the folder cannot be written.
    """
    manifest = msgspec.structs.replace(manifest, content_sha256="")
    if manifest.status != "running":
        digest = compute_content_digest(manifest)
        manifest = msgspec.structs.replace(manifest, content_sha256=digest)
    write_json_atomic(path, manifest)


def _check_digest(path: Path, fields: dict[str, Any]) -> None:
    """Refuses a manifest that was changed after the run."""
    if has_wrong_digest(fields):
        raise ChangedRunError(
            f"{path.name} was changed after the run",
            where=str(path),
            hint="Restore it or run again.",
        )


def refuse_other_benchmark(folder: Path, manifest_type: type[msgspec.Struct], command: str) -> None:
    """Refuses the folder of a run of another benchmark.

    Raises:
        RecordError: it is one.
    """
    from eval.harness.benchmarks import find_other_benchmark

    if name := find_other_benchmark(folder, manifest_type):
        raise RecordError(
            f"this is the folder of a run of {name}, which `{command}` did not write",
            where=str(folder),
            hint=f"Name a folder that `{command}` wrote; for --out, choose another folder.",
        )


def _check_size(manifest: BaseManifest) -> None:
    """Refuses numbers that no run has, before memory is allocated for that many rows."""
    n_rows = manifest.item_count * manifest.repeats * len(manifest.system_names)
    for what, number, low, high in (
        ("repeats", manifest.repeats, 1, MAX_REPEATS),
        ("the number of items", manifest.item_count, 0, MAX_ROWS),
        ("items × repeats × systems", n_rows, 0, MAX_ROWS),
        ("limit", manifest.limit or 0, 0, sys.maxsize),
    ):
        if not low <= number <= high:
            raise msgspec.ValidationError(f"{what}: {number} is not from {low} to {high}")
    try:
        _ = manifest.layout
    except (SettingError, ValueError) as error:  # a number of thousands of digits is a ValueError
        raise msgspec.ValidationError(f"shard: {str(manifest.shard)[:40]!r} is not i/n") from error


def round_trip_json(value: Any) -> Any:
    """Encodes and decodes a value as JSON, so that it equals the value read from a manifest."""
    return msgspec.json.decode(msgspec.json.encode(value))


def resume_manifest(
    new: AnyManifest,
    path: Path,
    fixed_fields: Sequence[str],
    command: str,
    *,
    noun: str = "sample",
) -> AnyManifest:
    """Returns the manifest of a resumed run: ``new`` with start, totals and hashes of the old one.

    Args:
        new: the manifest that a new run would have.
        path: the existing manifest, in the folder of the run.
        fixed_fields: names of the fields that must be equal in both.
        command: the command that writes such manifests, for the hint.
        noun: what messages call an item.

    Raises:
        RecordError: the manifest is missing, so the rows cannot be checked; or it is damaged.
        CardSetMismatchError: the rows were written for other samples or with other settings.
    """
    rows = path.parent / new.rows_name
    if not path.is_file():
        raise RecordError(
            f"cannot be resumed: {path.name} is missing, so the rows cannot be checked",
            where=str(rows),
            hint=OUT_HINT,
        )
    old = read_run_manifest(path, type(new), command)
    return _check_and_merge(old, new, rows, fixed_fields, noun)


def make_no_resume_error(path: Path) -> WriteError:
    """Builds the error for ``--no-resume`` with a file or folder that already contains a run."""
    return WriteError(
        "it already contains a run, and --no-resume was given",
        where=str(path),
        hint=OUT_HINT,
    )


def _check_and_merge(
    old: AnyManifest, new: AnyManifest, rows: Path, fixed_fields: Sequence[str], noun: str
) -> AnyManifest:
    if old.dataset_hashes != new.dataset_hashes:
        raise CardSetMismatchError(
            f"the rows are about other {noun}s ({old.dataset_name}, {old.dataset_hashes[0][:12]}; "
            f"this run: {new.dataset_name}, {new.dataset_hashes[0][:12]})",
            where=str(rows),
            hint=OUT_HINT,
        )
    for field in fixed_fields:
        was, is_now = getattr(old, field), getattr(new, field)
        if was != is_now:
            raise CardSetMismatchError(
                f"the rows were written with another {describe_difference(field, was, is_now)}",
                where=str(rows),
                hint=OUT_HINT,
            )
    hashes: dict[str, Any] = {}
    if old.status != "running":
        # The journals are compared with them when they have been read.
        hashes = {name: getattr(old, name) for name in _HASH_FIELDS if hasattr(old, name)}
    return msgspec.structs.replace(
        new,
        started=old.started,
        resumed=old.resumed + 1,
        calls=old.calls,
        observed=old.observed,
        accepted_changes=old.accepted_changes,
        **hashes,
    )


def describe_difference(
    field: str, first: object, second: object, *, second_label: str = "now"
) -> str:
    """Describes how a field of two manifests differs; of a dict, only the differing keys.

    Args:
        field: name of the field.
        first: value in the first manifest.
        second: value in the second manifest.
        second_label: word that marks the second value: ``now`` or ``there``.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        keys = [key for key in {**first, **second} if first.get(key) != second.get(key)]
        pairs = (f"{key} {first.get(key)!r}, {second_label} {second.get(key)!r}" for key in keys)
        return f"{field}: {'; '.join(pairs)}"
    return f"{field}: {first!r}, {second_label} {second!r}"
