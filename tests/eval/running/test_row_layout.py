"""Row positions: every answer has a fixed number, in every shard and run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.running.row_layout import RowLayout, Shard
from kg.base.errors import SettingError


@given(
    items=st.integers(1, 20),
    systems=st.integers(1, 3),
    repeats=st.integers(1, 3),
    limit=st.none() | st.integers(1, 25),
    shards=st.integers(1, 6),
)
def test_shards_partition_the_positions(
    items: int, systems: int, repeats: int, limit: int | None, shards: int
) -> None:
    whole = RowLayout(items, systems, repeats, limit)
    seen: list[int] = []
    for number in range(1, shards + 1):
        part = RowLayout(items, systems, repeats, limit, Shard(number, shards))
        mine = [row[0] for item in part.asked_items for row in part.iter_item_rows(item)]
        assert len(mine) == part.row_count
        assert mine == sorted(mine)
        seen += mine
    assert sorted(seen) == list(range(whole.row_count))
    for item in whole.asked_items:
        for place, repeat, system in whole.iter_item_rows(item):
            assert whole.position_of(item, repeat, system) == place < whole.size
            assert whole.item_at(place) == item


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/", "/2", "a/b", "-1/2", "1/0", "1.5/2", ""])
def test_invalid_shards_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="--shard"):
        Shard.from_text(text)


def test_shard_survives_a_round_trip() -> None:
    assert Shard.from_text("2/3") == Shard(2, 3)
    assert str(Shard(2, 3)) == "2/3"
