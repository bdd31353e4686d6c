"""Defines which rows a run has, and their order in the finished file.

Every row has a *position*, a number that depends only on item, repeat and system: positions count
item by item, within an item repeat by repeat, within a repeat system by system. A finished file
has its rows in ascending position, independent of concurrency, interruptions and shards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from kg.base.errors import CardSetMismatchError, SettingError


@dataclass(frozen=True)
class Shard:
    """Every ``count``-th item, starting with the ``number``-th (from 1); 1/1 is all items."""

    number: int = 1
    count: int = 1

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parses ``i/n``.

        Raises:
            SettingError: the text is not ``i/n`` with i from 1 to n.
        """
        number, slash, count = text.partition("/")
        if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
            return cls(int(number), int(count))
        raise SettingError(
            f"a shard must be i/n with i from 1 to n, not {text!r}",
            where="--shard",
            hint="For example --shard 1/4, and 2/4, 3/4, 4/4 on other machines.",
        )

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def to_field(self) -> str | None:
        """Returns ``i/n`` for a manifest; None for a shard that is the whole run."""
        return str(self) if self.count > 1 else None


ALL_ITEMS = Shard()
"""The shard that is the whole run."""


@dataclass(frozen=True)
class RowLayout:
    """The positions of the rows of a run.

    Attributes:
        items: number of items, asked or not.
        systems: number of systems that answer each item.
        repeats: number of times each item is asked.
        limit: only the first ``limit`` items are asked; None for all.
        shard: the part of these items that is asked in this run.
        system_repeats: how often each system answered each item, at most ``repeats``; empty if all
            did so ``repeats`` times.
    """

    items: int
    systems: int = 1
    repeats: int = 1
    limit: int | None = None
    shard: Shard = ALL_ITEMS
    system_repeats: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of positions, asked in this run or not."""
        return self.items * self.rows_per_item

    @property
    def rows_per_item(self) -> int:
        """Number of rows of one item."""
        return self.repeats * self.systems

    @property
    def asked_items(self) -> range:
        """Numbers, from 0, of the items that are asked in this run."""
        end = self.items if self.limit is None else min(self.limit, self.items)
        return range(self.shard.number - 1, end, self.shard.count)

    @property
    def row_count(self) -> int:
        """Number of rows of the finished file."""
        return len(self.asked_items) * (sum(self.system_repeats) or self.rows_per_item)

    def count_repeats(self, system: int) -> int:
        """Returns how often a system answers each item, given its number."""
        return self.system_repeats[system] if self.system_repeats else self.repeats

    def position_of(self, item: int, repeat: int, system: int) -> int:
        """Returns the position of a row."""
        return (item * self.repeats + repeat) * self.systems + system

    def split_position(self, position: int) -> tuple[int, int, int]:
        """Splits a position into the numbers of item, repeat and system."""
        item, remainder = divmod(position, self.rows_per_item)
        return (item, *divmod(remainder, self.systems))

    def require_asked(self, item: int, repeat: int, *, noun: str, where: str) -> None:
        """Refuses a row of an item or repeat that this run does not ask.

        Args:
            item: number of the item.
            repeat: number of the repeat, from 0.
            noun: what messages call an item.
            where: file and line of the row.

        Raises:
            CardSetMismatchError: the row is beyond limit or repeats, or not in the shard.
        """
        extra = ""
        if repeat >= self.repeats:
            extra = f"repeat {repeat + 1}, more than --repeat {self.repeats}"
        elif self.limit is not None and item >= self.limit:
            extra = f"{noun} {item + 1}, more than --limit {self.limit}"
        elif item not in self.asked_items:
            extra = f"{noun} {item + 1}, which is not in shard {self.shard}"
        if extra:
            raise CardSetMismatchError(
                f"the rows already contain answers to {extra}",
                where=where,
                hint="Use the flags of the earlier run, choose another --out, or use --overwrite.",
            )

    def item_at(self, position: int) -> int:
        """Returns the number of the item at a position."""
        return position // self.rows_per_item

    def iter_item_rows(self, item: int) -> Iterator[tuple[int, int, int]]:
        """Yields the rows of one item as (position, repeat, system)."""
        position = item * self.rows_per_item
        for repeat in range(self.repeats):
            for system in range(self.systems):
                if repeat < self.count_repeats(system):
                    yield position, repeat, system
                position += 1
