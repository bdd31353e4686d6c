"""Taking a run up again: whether its folder holds what is asked for now, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eval.running.folder_manifest import FolderManifest
from eval.running.journal import Journal, RowReader
from eval.running.totals import Meter
from kg.base.errors import CardSetMismatchError, RecordError, WriteError
from kg.base.files import require_file

HINT = "Choose another --out, or use --overwrite to replace it."


AnyManifest = TypeVar("AnyManifest", bound=FolderManifest)
Kind = TypeVar("Kind", bound=msgspec.Struct)


def read_as(path: Path | str, kind: type[Kind], written_by: str) -> Kind:
    """Reads a manifest.

    Args:
        path: the file.
        kind: its type.
        written_by: the command that writes such, for the hint.

    Raises:
        MissingFileError: no such file.
        RecordError: it is none of such a run.
    """
    path = require_file(path, "run manifest")
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not the manifest of such a run: {error}",
            where=str(path),
            hint=f"`{written_by}` writes it beside its rows; run again with --overwrite.",
        ) from error


def as_stored(value: Any) -> Any:
    """A value there and back through JSON, so that it compares equal to what a manifest gives."""
    return msgspec.json.decode(msgspec.json.encode(value))


def taken_up(new: AnyManifest, path: Path, same: Sequence[str], written_by: str) -> AnyManifest:
    """The manifest of the run whose own is at ``path``, and which is being taken up again.

    Args:
        new: as it would be, were the run new.
        path: of the manifest, in the folder of the run.
        same: names of what may not differ.
        written_by: the command that writes such, for the hint.

    Raises:
        RecordError: there is no manifest, so nobody knows what the rows are; or it is no such.
        CardSetMismatchError: the rows were made from other samples or otherwise.
    """
    folder = path.parent
    if not path.is_file():
        raise RecordError(
            f"cannot be resumed: {path.name} is not beside it, so nobody knows what it holds",
            where=str(folder / new.rows),
            hint=HINT,
        )
    old = read_as(path, type(new), written_by)
    return _continued(old, new, folder, same)


def taken_up_rows(
    new: AnyManifest,
    journal: Journal,
    plan: RowReader,
    meter: Meter,
    *,
    continued: Callable[[AnyManifest, Path], AnyManifest],
    resume: bool,
    again: Sequence[int],
) -> AnyManifest:
    """The manifest, of the run that is going on if there is one, once its rows are read.

    Args:
        new: as it would be, were the run new.
        journal: of the rows, in the folder of the run.
        plan: what reads them, and enters them in ``meter``.
        meter: of the calls.
        continued: makes the manifest of a run that goes on from ``new`` and the folder.
        resume: whether it may go on.
        again: outcomes whose rows are taken out, to be asked again.

    Raises:
        WriteError: there are rows, and the run is not to go on.
        EpocheError: as ``continued`` and ``Journal.load``.
    """
    folder = journal.path.parent
    if not journal.path.stat().st_size:
        return new
    if not resume:
        raise not_to_be_resumed(folder)
    manifest = continued(new, folder)
    journal.load(plan)
    meter.earlier(manifest.calls)
    for outcome in again:
        journal.drop(outcome)
        meter.drop(outcome)
    return manifest


def not_to_be_resumed(folder: Path) -> WriteError:
    """What to raise where a run is not to be taken up again and its folder holds one."""
    return WriteError(
        "the folder holds a run already, and --no-resume was given", where=str(folder), hint=HINT
    )


def _continued(
    old: AnyManifest, new: AnyManifest, folder: Path, same: Sequence[str]
) -> AnyManifest:
    if old.dataset_sha256 != new.dataset_sha256:
        raise CardSetMismatchError(
            f"the rows are about other samples ({old.dataset}, {old.dataset_sha256[:12]}; "
            f"asked now: {new.dataset}, {new.dataset_sha256[:12]})",
            where=str(folder / new.rows),
            hint=HINT,
        )
    for field in same:
        was, is_now = getattr(old, field), getattr(new, field)
        if was != is_now:
            raise CardSetMismatchError(
                f"the rows were made with another {differing(field, was, is_now)}",
                where=str(folder / new.rows),
                hint=HINT,
            )
    return msgspec.structs.replace(
        new,
        started=old.started,
        resumed=old.resumed + 1,
        calls=old.calls,
        observed=old.observed,
    )


def differing(field: str, one: object, other: object, *, apart: str = "now") -> str:
    """What of a field of two manifests differs, in words: of a table, its differing keys alone.

    Args:
        field: its name.
        one: what the first manifest says.
        other: what the second says.
        apart: what tells the second from the first: it is that of ``now``, or of ``there``.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        pairs = (f"{key} {one.get(key)!r}, {apart} {other.get(key)!r}" for key in keys)
        return f"{field}: {'; '.join(pairs)}"
    return f"{field}: {one!r}, {apart} {other!r}"
