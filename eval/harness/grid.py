"""Lists the rows of a run over items × repeats × systems, and finds out which row a line contains.

It is used by benchmarks whose rows name their item and their system. Cards have
``eval.abstention.card_plan``, which handles a million items in little memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from eval.harness.folder_manifest import FolderManifest
from eval.harness.journals.row_layout import RowLayout
from eval.harness.reply import STATUSES, Reply
from eval.harness.workers import AnsweredRow
from eval.model.usage import Usage
from kg.base.errors import RecordError

Row = TypeVar("Row")
AnyItem = TypeVar("AnyItem")


@dataclass(frozen=True, slots=True)
class AsyncQuestion:
    """A question that is answered by a coroutine."""

    position: int
    repeat: int
    work: Callable[[], Coroutine[Any, Any, AnsweredRow]]
    is_async: bool = True

    def ask_sync(self) -> AnsweredRow:
        """Raises an error, because this question can only be asked with ``ask_async``."""
        raise RuntimeError("this question can only be asked with ask_async")

    async def ask_async(self) -> AnsweredRow:
        """Asks the question."""
        return await self.work()


@dataclass(frozen=True, slots=True)
class SyncQuestion:
    """A question that is answered by a plain function."""

    position: int
    repeat: int
    work: Callable[[], AnsweredRow]
    is_async: bool = False

    def ask_sync(self) -> AnsweredRow:
        """Asks the question."""
        return self.work()

    async def ask_async(self) -> AnsweredRow:
        """Asks the question."""
        return self.work()


def shuffle_positions(positions: Iterable[int], seed: int, benchmark: str) -> list[int]:
    """Returns positions in a random order, the same for every session of a run.

    The order is shuffled so that no system is always asked first, while the server is cold.

    Args:
        positions: row positions, in any order.
        seed: seed of the run.
        benchmark: name of the benchmark; each has its own order.
    """
    order = sorted(positions)
    random.Random(f"{benchmark}/{seed}").shuffle(order)  # noqa: S311 - an order, no secret
    return order


def number_items(
    items: Iterable[AnyItem], manifest: FolderManifest, *, where: str
) -> dict[int, AnyItem]:
    """Returns the items that a run folder has, by their number in the data set.

    Args:
        items: all items of the data set, or those that the run asks, in their order.
        manifest: the manifest of the run.
        where: path of the manifest, for the message.

    Raises:
        RecordError: the number of items is neither of the two.
    """
    found, asked = list(items), manifest.layout.asked_items
    if len(found) == manifest.sample_count:
        return dict(enumerate(found))
    if len(found) == len(asked):
        return dict(zip(asked, found, strict=True))
    raise RecordError(
        f"the run asks {len(asked)} of {manifest.sample_count} items, and {len(found)} are there",
        where=where,
        hint="Restore the items that the run was made with.",
    )


class RowKey(NamedTuple):
    """What identifies a row, that is its row key, together with the row's outcome and usage."""

    item: str
    """Id of the item."""
    system: str
    repeat: int
    outcome: int
    """Outcome code, as stored by the journal."""
    usage: Usage | None


class Grid(Generic[Row]):
    """Every item × every repeat × every system.

    Args:
        items: ids of all items, asked or not.
        systems: names of all systems.
        layout: the positions of the rows.
        row_type: the type of the rows.
        row_key: returns the key of a row.
        nouns: the nouns for an item and for a system, used in messages.
        on_row: called with outcome code and usage of every row that is read.
    """

    def __init__(
        self,
        items: Sequence[str],
        systems: Sequence[str],
        layout: RowLayout,
        *,
        row_type: type[Row],
        row_key: Callable[[Row], RowKey],
        nouns: tuple[str, str],
        on_row: Callable[[int, Usage | None], None],
    ) -> None:
        self.layout = layout
        self._items = items
        self._systems = systems
        self._item_numbers = {name: number for number, name in enumerate(items)}
        self._system_numbers = {name: number for number, name in enumerate(systems)}
        self._decode = msgspec.json.Decoder(row_type).decode
        self._row_key = row_key
        self._nouns = nouns
        self._on_row = on_row

    @property
    def asked_positions(self) -> list[int]:
        """All positions that are asked, in the order of the finished file."""
        return [
            position
            for item in self.layout.asked_items
            for position, _, _ in self.layout.iter_item_rows(item)
        ]

    def parse_row(self, line: bytes, where: str) -> tuple[int, int]:
        """Returns position and outcome code of a row of this run.

        Raises:
            RecordError: the line is not a row, or the row names an unknown item or system.
            CardSetMismatchError: the row's item is beyond ``--limit``, or its repeat beyond
                ``--repeat``.
        """
        hint = "Nothing was changed. Repair the line, choose another --out, or use --overwrite."
        try:
            key = self._row_key(self._decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a row: {error}", where=where, hint=hint) from error
        item = self._item_numbers.get(key.item)
        system = self._system_numbers.get(key.system)
        if item is None or system is None or key.repeat < 0:
            item_noun, system_noun = self._nouns
            raise RecordError(
                f"{item_noun} {key.item!r}, {system_noun} {key.system!r} "
                "does not belong to this run",
                where=where,
                hint=hint,
            )
        self.layout.require_asked(item, key.repeat, noun=self._nouns[0], where=where)
        self._on_row(key.outcome, key.usage)
        return self.layout.position_of(item, key.repeat, system), key.outcome

    def find_position(self, item: str, system: str | None, repeat: int) -> int | None:
        """Returns the position of a row, or of an item's anchor if there is no system.

        Returns:
            ``None`` if the run has no such item, system or repeat.
        """
        item_number = self._item_numbers.get(item)
        if item_number is None:
            return None
        if system is None:
            return self.layout.size + item_number
        system_number = self._system_numbers.get(system)
        if system_number is None or not 0 <= repeat < self.layout.repeats:
            return None
        return self.layout.position_of(item_number, repeat, system_number)

    def describe_position(self, position: int) -> str:
        """Returns item, system and repeat of a position, in words."""
        item, repeat, system = self.layout.split_position(position)
        repeat_text = f", repeat {repeat}," if self.layout.repeats > 1 else ""
        return f"{self._nouns[0]} {self._items[item]!r} of {self._systems[system]}{repeat_text}"


def make_reply_grid(
    items: Sequence[str],
    manifest: FolderManifest,
    nouns: tuple[str, str],
    *,
    on_row: Callable[[int, Usage | None], None],
) -> Grid[Reply]:
    """Returns the grid of the replies of a run.

    Args:
        items: ids of all items, asked or not.
        manifest: the manifest of the run.
        nouns: as in ``Grid``.
        on_row: as in ``Grid``.
    """
    return Grid(
        items,
        manifest.system_names,
        manifest.layout,
        row_type=Reply,
        row_key=_get_reply_key,
        nouns=nouns,
        on_row=on_row,
    )


def _get_reply_key(reply: Reply) -> RowKey:
    return RowKey(reply.id, reply.system, reply.repeat, STATUSES.index(reply.status), reply.usage)
