"""Tests that every row has a fixed position, which is the same in every shard and run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.harness.grid import shuffle_positions
from eval.harness.journals.row_layout import RowLayout, Shard
from kg.base.errors import SettingError


@given(
    items=st.integers(1, 20),
    systems=st.integers(1, 3),
    repeats=st.integers(1, 3),
    limit=st.none() | st.integers(1, 25),
    shard_count=st.integers(1, 6),
)
def test_shards_partition_the_positions(
    items: int, systems: int, repeats: int, limit: int | None, shard_count: int
) -> None:
    all_rows = RowLayout(items, systems, repeats, limit)
    positions: list[int] = []
    for number in range(1, shard_count + 1):
        part = RowLayout(items, systems, repeats, limit, Shard(number, shard_count))
        shard_positions = [row[0] for item in part.asked_items for row in part.iter_item_rows(item)]
        assert len(shard_positions) == part.row_count
        assert shard_positions == sorted(shard_positions)
        positions += shard_positions
    assert sorted(positions) == list(range(all_rows.row_count))
    for item in all_rows.asked_items:
        for position, repeat, system in all_rows.iter_item_rows(item):
            assert all_rows.position_of(item, repeat, system) == position < all_rows.size
            assert all_rows.item_at(position) == item


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/", "/2", "a/b", "-1/2", "1/0", "1.5/2", ""])
def test_invalid_shards_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="--shard"):
        Shard.from_text(text)


def test_shard_survives_a_round_trip() -> None:
    assert Shard.from_text("2/3") == Shard(2, 3)
    assert str(Shard(2, 3)) == "2/3"


def test_questions_are_asked_in_a_random_order_that_sessions_share() -> None:
    positions = list(range(50))
    order = shuffle_positions(positions, 1, "skn")
    assert sorted(order) == positions
    assert order != positions
    assert order == shuffle_positions(reversed(positions), 1, "skn")
    assert order != shuffle_positions(positions, 2, "skn")
    assert order != shuffle_positions(positions, 1, "extraction")
