"""The compact id index: it must never confuse or lose ids."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.running import id_index
from eval.running.id_index import IdIndex


def build_index(names: list[str]) -> tuple[IdIndex, list[int | None]]:
    kept: list[str] = []
    index = IdIndex(kept.__getitem__)
    found = []
    for name in names:
        found.append(index.add_id(name))
        if found[-1] is None:
            kept.append(name)
    return index, found


@given(names=st.lists(st.text(max_size=3)), asked=st.lists(st.text(max_size=3)))
def test_index_agrees_with_a_dictionary(names: list[str], asked: list[str]) -> None:
    index, found = build_index(names)
    known: dict[str, int] = {}
    for name, before in zip(names, found, strict=True):
        assert before == known.get(name)
        known.setdefault(name, len(known))
    for name in [*names, *asked]:
        assert index.find_item(name) == known.get(name)


@given(names=st.lists(st.text(max_size=3)))
@settings(max_examples=50)
def test_ids_with_equal_hashes_are_distinguished(names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_index, "hash", lambda name: len(name), raising=False)
        test_index_agrees_with_a_dictionary.hypothesis.inner_test(names, ["", "a", "zz"])  # type: ignore[attr-defined]


def test_index_grows() -> None:
    names = [f"card {number}" for number in range(5_000)]
    index, found = build_index(names)
    assert found == [None] * 5_000
    assert [index.find_item(name) for name in names] == list(range(5_000))
    assert index.find_item("card 5000") is None
