"""Merges the journals of a sharded run into the journal of a single run, in little memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Protocol

from eval.harness.journals.journal import RowIndex, RowReader
from eval.harness.journals.row_layout import RowLayout
from eval.harness.merging.shards import MAX_SHOWN, join_first
from kg.base.errors import IncompleteRunError
from kg.base.files import atomic_writer


class ShardPlan(RowReader, Protocol):
    """Parses the rows of one shard."""

    @property
    def layout(self) -> RowLayout:
        """The positions of the shard's rows."""
        ...


def read_shards(paths: Sequence[Path], plans: Sequence[ShardPlan]) -> RowIndex:
    """Reads the rows of all shards of a run.

    Args:
        paths: the journals of the shards, in the order of the shards.
        plans: the plan of each shard.

    Returns:
        The index of all rows. Offsets are those in the row's own shard.

    Raises:
        RecordError: a row is damaged, or belongs to no question of the run.
        CardSetMismatchError: a row belongs to another shard.
        DuplicateIdError: a question is answered twice.
        IncompleteRunError: an answer is missing.
    """
    rows = RowIndex(plans[0].layout.size)
    missing = [
        text
        for path, plan in zip(paths, plans, strict=True)
        if (text := _read_shard(path, plan, rows))
    ]
    if missing:
        raise IncompleteRunError(
            "; ".join(missing),
            where=", ".join(map(str, paths)),
            hint="Run the command of each of these shards again; it resumes where it stopped.",
        )
    return rows


def write_shards(out: Path, paths: Sequence[Path], rows: RowIndex, layout: RowLayout) -> None:
    """Writes the rows of all shards to one journal, in the order of their positions.

    Args:
        out: the journal to write.
        paths: the journals of the shards, in the order of the shards.
        rows: the index of their rows.
        layout: the positions of the rows.

    Raises:
        WriteError: ``out`` cannot be written.
    """
    with atomic_writer(out) as handle:
        handle.writelines(_iter_lines(paths, rows, layout))


def _read_shard(path: Path, plan: ShardPlan, rows: RowIndex) -> str:
    """Reads the rows of one shard; returns a text on missing answers, empty if none is missing."""
    before = rows.row_count
    rows.read_rows(path, plan)
    layout = plan.layout
    n_missing = layout.row_count - (rows.row_count - before)
    if not n_missing:
        return ""
    absent = (
        plan.describe_position(position)
        for item in layout.asked_items
        for position, _, _ in layout.iter_item_rows(item)
        if not rows.has_row(position)
    )
    listed = join_first(islice(absent, MAX_SHOWN + 1))
    return f"{n_missing} answers are missing from shard {layout.shard}: {listed}"


def _iter_lines(paths: Sequence[Path], rows: RowIndex, layout: RowLayout) -> Iterator[bytes]:
    with ExitStack() as stack:
        handles = [stack.enter_context(path.open("rb")) for path in paths]
        for position in rows.iter_positions():
            handle = handles[layout.item_at(position) % len(handles)]
            handle.seek(rows.offsets[position])
            yield handle.readline()
