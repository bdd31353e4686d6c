"""Whether results belong to the run that is asked for now, and what to do when they do not."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path

import msgspec

from eval.manifest import RunManifest, read_manifest
from eval.running.taking_up import differing as differing
from kg.base.console import warn
from kg.base.errors import CardSetMismatchError, RecordError, WriteError
from kg.base.files import write_errors_named
from kg.base.provenance import manifest_path

SAME_IN_A_RUN = ("system", "systems", "params", "seed", "graph_sha256", "shapes_sha256")
"""What a manifest says of the systems that may not change within a run, or between its shards."""


def continued(new: RunManifest, beside: Path, out: Path) -> RunManifest:
    """The manifest of the run that is being taken up again.

    Raises:
        RecordError: ``out`` has no manifest, so nobody knows what it is.
        CardSetMismatchError: it was made from other cards or otherwise.
    """
    if not beside.is_file():
        raise RecordError(
            f"cannot be resumed: {beside.name} is not beside it, so nobody knows what it holds",
            where=str(out),
            hint="Choose another --out, or use --overwrite to replace it.",
        )
    old = read_manifest(beside)
    hint = "Choose another --out, or use --overwrite to replace it."
    if (old.cards_sha256, old.cards_file_sha256) != (new.cards_sha256, new.cards_file_sha256):
        raise CardSetMismatchError(
            f"the results are of another card set ({old.cards_file}, {old.cards_sha256[:12]}; "
            f"asked now: {new.cards_file}, {new.cards_sha256[:12]})",
            where=str(out),
            hint=hint,
        )
    for field in (*SAME_IN_A_RUN, "shard"):
        was, is_now = getattr(old, field), getattr(new, field)
        if was != is_now:
            raise CardSetMismatchError(
                f"the results were made with another {differing(field, was, is_now)}",
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


def set_stale_aside(new: RunManifest, beside: Path, out: Path) -> None:
    """Renames results of another run to ``X.stale-<their card set>.jsonl``; nothing is deleted."""
    if not (out.is_file() and beside.is_file() and out.stat().st_size):
        return
    try:
        continued(new, beside, out)
    except CardSetMismatchError as error:
        old = read_manifest(beside)
        stem = f"{out.stem}.stale-{old.cards_sha256[:12]}"
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        places = (out.with_name(name + out.suffix) for name in names)
        aside = next(place for place in places if not place.exists())
        with write_errors_named(aside):
            out.replace(aside)
            beside.replace(manifest_path(aside))
        warn(f"set aside as {aside.name}: {error.what}")


def keep_cards_safe(cards_file: Path, out: Path) -> None:
    """Refuses results that would take the place of the cards.

    Raises:
        WriteError: they would.
    """
    taken = {cards_file.resolve(), manifest_path(cards_file).resolve()}
    if not taken.isdisjoint({out.resolve(), manifest_path(out).resolve()}):
        raise WriteError(
            "the results would take the place of the cards or their manifest",
            where=str(out),
            hint="Choose another --out.",
        )
