"""Tests that the compact id index never confuses or loses ids."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.harness.journals import id_index
from eval.harness.journals.id_index import IdIndex


def build_index(names: list[str]) -> tuple[IdIndex, list[int | None]]:
    """Returns an index of the names and, for each name, its earlier position if it was known."""
    stored_names: list[str] = []
    index = IdIndex(stored_names.__getitem__)
    positions = []
    for name in names:
        positions.append(index.add_id(name))
        if positions[-1] is None:
            stored_names.append(name)
    return index, positions


@given(names=st.lists(st.text(max_size=3)), queries=st.lists(st.text(max_size=3)))
def test_index_agrees_with_a_dictionary(names: list[str], queries: list[str]) -> None:
    index, positions = build_index(names)
    reference: dict[str, int] = {}
    for name, position in zip(names, positions, strict=True):
        assert position == reference.get(name)
        reference.setdefault(name, len(reference))
    for name in [*names, *queries]:
        assert index.find_item(name) == reference.get(name)


@given(names=st.lists(st.text(max_size=3)))
@settings(max_examples=50)
def test_ids_with_equal_hashes_are_distinguished(names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # All names of the same length get the same hash.
        patch.setattr(id_index, "hash", lambda name: len(name), raising=False)
        test_index_agrees_with_a_dictionary.hypothesis.inner_test(names, ["", "a", "zz"])  # type: ignore[attr-defined]


def test_index_grows() -> None:
    names = [f"card {number}" for number in range(5_000)]
    index, positions = build_index(names)
    assert positions == [None] * 5_000
    assert [index.find_item(name) for name in names] == list(range(5_000))
    assert index.find_item("card 5000") is None
