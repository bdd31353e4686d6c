"""Which questions a run has, and where the answer to each stands in the finished file.

Every row has a *place*, a number that depends only on what is asked: item by item, within an item
repeat by repeat, within a repeat system by system. A finished file holds its rows by rising place,
whatever order they came in, however often the run was cut off, and whoever asked them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from kg.base.errors import SettingError


@dataclass(frozen=True)
class Shard:
    """Every ``count``-th item, from the ``number``-th (from 1) on; 1/1 is all of them."""

    number: int = 1
    count: int = 1

    @classmethod
    def read(cls, text: str) -> Self:
        """Reads ``i/n``.

        Raises:
            SettingError: it is not that, or i is not from 1 to n.
        """
        number, slash, count = text.partition("/")
        if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
            return cls(int(number), int(count))
        raise SettingError(
            f"a shard is i/n with i from 1 to n, not {text!r}",
            where="--shard",
            hint="For example --shard 1/4, and 2/4, 3/4, 4/4 elsewhere.",
        )

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True)
class Places:
    """The places of a run.

    Attributes:
        items: items there are, asked or not.
        systems: how many systems answer each.
        repeats: how often each is asked.
        limit: only the first so many items are asked; null for all.
        shard: which of those are asked here.
    """

    items: int
    systems: int = 1
    repeats: int = 1
    limit: int | None = None
    shard: Shard = Shard()

    @property
    def size(self) -> int:
        """Places there are, asked here or not."""
        return self.items * self.per_item

    @property
    def per_item(self) -> int:
        """Rows of one item."""
        return self.repeats * self.systems

    @property
    def asked(self) -> range:
        """The items that are asked here, by their number from 0."""
        end = self.items if self.limit is None else min(self.limit, self.items)
        return range(self.shard.number - 1, end, self.shard.count)

    @property
    def rows(self) -> int:
        """Rows of the finished file."""
        return len(self.asked) * self.per_item

    def place(self, item: int, repeat: int, system: int) -> int:
        """Where an answer stands."""
        return (item * self.repeats + repeat) * self.systems + system

    def item(self, place: int) -> int:
        """The item at a place."""
        return place // self.per_item

    def of_item(self, item: int) -> Iterator[tuple[int, int, int]]:
        """The rows of one item as (place, repeat, system)."""
        place = item * self.per_item
        for repeat in range(self.repeats):
            for system in range(self.systems):
                yield place, repeat, system
                place += 1
