"""Merges the shards of one run into the result file and manifest of a single run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import msgspec

from eval.card_file import CardFile
from eval.card_plan import CardPlan
from eval.harness.journal import RowIndex
from eval.harness.row_layout import RowLayout
from eval.harness.shards import MAX_SHOWN, combine_manifests, join_first, sort_shards
from eval.harness.totals import CallMeter
from eval.manifest import RunManifest, find_card_file, read_manifest, write_manifest
from eval.result import PREDS, Usage
from eval.run_identity import FIXED_FIELDS
from kg.base.errors import CardSetMismatchError, IncompleteRunError, MissingFileError
from kg.base.files import atomic_writer, check_output, require_file
from kg.base.provenance import make_relative_name, manifest_path


def merge_shards(shards: Sequence[Path], out: Path, cards_file: Path | None = None) -> RunManifest:
    """Merges the result files of all shards of a run.

    Args:
        shards: the result files, in any order, each with its manifest in the same folder.
        out: the merged result file, next to which its manifest is written. Both are identical to
            those of a run without ``--shard``, except for the times in the manifest.
        cards_file: the cards that were asked; by default the file the manifests name.

    Returns:
        The merged manifest.

    Raises:
        MissingFileError: a shard, its manifest or the card file does not exist.
        RecordError: a row is damaged, or belongs to no question of the run.
        CardSetMismatchError: the files are not shards of one run, or two are the same shard.
        DuplicateIdError: a question is answered twice.
        IncompleteRunError: a shard or an answer is missing.
        WriteError: ``out`` cannot be written.
    """
    manifests = {path: read_manifest(manifest_path(require_file(path, "shard"))) for path in shards}
    ordered = sort_shards(
        [(path, manifests[path]) for path in shards],
        (*FIXED_FIELDS, "cards_sha256", "cards_file_sha256"),
    )
    first = manifests[ordered[0]]
    cards_file = cards_file or find_card_file(manifest_path(ordered[0]))
    if cards_file is None:
        raise MissingFileError(
            f"the card file that the manifest names ({first.cards_file}) does not exist",
            where=str(manifest_path(ordered[0])),
            hint="Name them with --cards.",
        )
    check_output(out, [*shards, *map(manifest_path, shards), cards_file])
    with CardFile(cards_file) as cards:
        if (cards.sha256, cards.file_sha256) != (first.cards_sha256, first.cards_file_sha256):
            raise CardSetMismatchError(
                "these are not the cards of the run",
                where=str(cards_file),
                hint="Name the card file of the run with --cards.",
            )
        meter = CallMeter()
        rows = RowIndex(first.layout.size)
        missing = [
            text
            for path in ordered
            if (text := _read_shard(path, manifests[path], cards, rows, meter.add_row))
        ]
        if missing:
            raise IncompleteRunError(
                "; ".join(missing),
                where=", ".join(map(str, ordered)),
                hint="Run the command of each of these shards again; it resumes where it stopped.",
            )
    with atomic_writer(out) as handle:
        handle.writelines(_iter_lines(ordered, rows, first.layout))
    merged: RunManifest = combine_manifests(
        [manifests[path] for path in ordered], rows.count_outcomes(PREDS), meter
    )
    merged = msgspec.structs.replace(
        merged, results=out.name, cards_file=make_relative_name(cards_file, out.parent)
    )
    write_manifest(manifest_path(out), merged)
    return merged


def _read_shard(
    path: Path,
    manifest: RunManifest,
    cards: CardFile,
    rows: RowIndex,
    on_row: Callable[[int, Usage | None], None],
) -> str:
    """Reads the rows of one shard; returns a text on missing answers, empty if none is missing."""
    plan = CardPlan(cards, manifest.systems, manifest.layout, on_row=on_row)
    before = rows.row_count
    rows.read_rows(path, plan)
    missing = manifest.rows_expected - (rows.row_count - before)
    if not missing:
        return ""
    absent = (
        plan.describe_position(position)
        for item in plan.layout.asked_items
        for position, _, _ in plan.layout.iter_item_rows(item)
        if not rows.has_row(position)
    )
    listed = join_first(islice(absent, MAX_SHOWN + 1))
    return f"{missing} answers are missing from shard {plan.layout.shard}: {listed}"


def _iter_lines(ordered: Sequence[Path], rows: RowIndex, layout: RowLayout) -> Iterator[bytes]:
    """Yields all rows in the order of their positions."""
    with ExitStack() as stack:
        handles = [stack.enter_context(path.open("rb")) for path in ordered]
        for position in rows.iter_positions():
            handle = handles[layout.item_at(position) % len(handles)]
            handle.seek(rows.offsets[position])
            yield handle.readline()
