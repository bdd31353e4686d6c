"""Checks whether an existing result file belongs to this run, and renames stale results."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path

import msgspec

from eval.harness.resume import describe_difference as describe_difference
from eval.manifest import RunManifest, read_manifest
from kg.base.console import print_warning
from kg.base.errors import CardSetMismatchError, RecordError, WriteError
from kg.base.files import convert_write_errors
from kg.base.provenance import manifest_path

FIXED_FIELDS = ("system", "systems", "params", "seed", "graph_sha256", "shapes_sha256")
"""Manifest fields that must be equal in all sessions and all shards of one run."""


def resume_manifest(new: RunManifest, manifest_file: Path, out: Path) -> RunManifest:
    """Returns the manifest of a resumed run: ``new`` with the start and totals of the old one.

    Raises:
        RecordError: ``out`` has no manifest, so it cannot be checked.
        CardSetMismatchError: ``out`` was written for other cards or with other settings.
    """
    if not manifest_file.is_file():
        raise RecordError(
            f"cannot be resumed: {manifest_file.name} is missing, so the rows cannot be checked",
            where=str(out),
            hint="Choose another --out, or use --overwrite to replace it.",
        )
    old = read_manifest(manifest_file)
    hint = "Choose another --out, or use --overwrite to replace it."
    if (old.cards_sha256, old.cards_file_sha256) != (new.cards_sha256, new.cards_file_sha256):
        raise CardSetMismatchError(
            f"the results are of another card set ({old.cards_file}, {old.cards_sha256[:12]}; "
            f"this run: {new.cards_file}, {new.cards_sha256[:12]})",
            where=str(out),
            hint=hint,
        )
    for field in (*FIXED_FIELDS, "shard"):
        old_value, new_value = getattr(old, field), getattr(new, field)
        if old_value != new_value:
            difference = describe_difference(field, old_value, new_value)
            raise CardSetMismatchError(
                f"the results were written with another {difference}",
                where=str(out),
                hint=hint,
            )
    return msgspec.structs.replace(
        new,
        started=old.started,
        resumed=old.resumed + 1,
        calls=old.calls,
        observed=old.observed,
    )


def rename_stale_results(new: RunManifest, manifest_file: Path, out: Path) -> None:
    """Renames results of another run to ``X.stale-<card set hash>.jsonl``; nothing is deleted.

    Results of this run are left in place, to be resumed.
    """
    if not (out.is_file() and manifest_file.is_file() and out.stat().st_size):
        return
    try:
        resume_manifest(new, manifest_file, out)
    except CardSetMismatchError as error:
        old = read_manifest(manifest_file)
        stem = f"{out.stem}.stale-{old.cards_sha256[:12]}"
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        candidates = (out.with_name(name + out.suffix) for name in names)
        stale_path = next(candidate for candidate in candidates if not candidate.exists())
        with convert_write_errors(stale_path):
            out.replace(stale_path)
            manifest_file.replace(manifest_path(stale_path))
        print_warning(f"set aside as {stale_path.name}: {error.what}")


def protect_card_file(cards_file: Path, out: Path) -> None:
    """Refuses an output file that would overwrite the cards or their manifest.

    Raises:
        WriteError: ``out`` is one of these files, or its manifest is.
    """
    input_files = {cards_file.resolve(), manifest_path(cards_file).resolve()}
    if not input_files.isdisjoint({out.resolve(), manifest_path(out).resolve()}):
        raise WriteError(
            "the results would overwrite the cards or their manifest",
            where=str(out),
            hint="Choose another --out.",
        )
