"""Places: a number for every answer, the same whoever asks and whenever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.running.places import Places, Shard
from kg.base.errors import SettingError


@given(
    items=st.integers(1, 20),
    systems=st.integers(1, 3),
    repeats=st.integers(1, 3),
    limit=st.none() | st.integers(1, 25),
    shards=st.integers(1, 6),
)
def test_shards_part_the_places(
    items: int, systems: int, repeats: int, limit: int | None, shards: int
) -> None:
    whole = Places(items, systems, repeats, limit)
    seen: list[int] = []
    for number in range(1, shards + 1):
        part = Places(items, systems, repeats, limit, Shard(number, shards))
        mine = [row[0] for item in part.asked for row in part.of_item(item)]
        assert len(mine) == part.rows
        assert mine == sorted(mine)
        seen += mine
    assert sorted(seen) == list(range(whole.rows))
    for item in whole.asked:
        for place, repeat, system in whole.of_item(item):
            assert whole.place(item, repeat, system) == place < whole.size
            assert whole.item(place) == item


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/", "/2", "a/b", "-1/2", "1/0", "1.5/2", ""])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(SettingError, match="--shard"):
        Shard.read(text)


def test_a_shard_reads_as_it_is_written() -> None:
    assert Shard.read("2/3") == Shard(2, 3)
    assert str(Shard(2, 3)) == "2/3"
