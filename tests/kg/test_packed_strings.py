from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.base import packed_strings
from kg.base.packed_strings import PackedStrings, StringColumn, StringNumbers

TEXTS = st.lists(st.text(max_size=6) | st.sampled_from(["", "a", "a\0", "\0a", "ä", "\U0001f600"]))


@given(TEXTS)
def test_strings_are_kept_and_sorted_as_python_sorts_them(texts: list[str]) -> None:
    packed = PackedStrings(texts)
    assert list(packed) == texts
    assert [packed[number] for number in range(len(texts))] == texts
    assert packed[-2:] == texts[-2:]
    order = packed.sort_indices()
    # ``sorted`` is stable too, so equal strings keep their order.
    assert order.tolist() == sorted(range(len(texts)), key=texts.__getitem__)
    assert list(packed.take(order)) == sorted(texts)


@pytest.mark.parametrize("width", [3, 40])
def test_many_strings_are_sorted(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_strings, "_CHUNK", 7)
    rng = np.random.default_rng(1)
    texts = [f"{n:x}".ljust(width if n % 2 else 3, "-") for n in rng.integers(0, 999, 500).tolist()]
    packed = PackedStrings(texts)
    assert list(packed.take(packed.sort_indices())) == sorted(texts)


@given(TEXTS | st.lists(st.text(alphabet="ab\0", min_size=2, max_size=2)), st.data())
def test_strings_are_taken_and_compared_from_a_place_on(
    texts: list[str], data: st.DataObject
) -> None:
    packed = PackedStrings(texts)
    indices = data.draw(st.lists(st.sampled_from(range(len(texts))))) if texts else []
    taken = packed.take(np.array(indices, dtype=np.int32))
    assert list(taken) == [texts[index] for index in indices]
    first = data.draw(st.integers(0, len(texts) + 1))
    run = data.draw(TEXTS | st.just(texts[first : first + 3]))
    encoded = [text.encode("utf-8", "surrogatepass") for text in run]
    assert packed.has_run(first, encoded) == (
        texts[first : first + len(run)] == run and first + len(run) <= len(texts)
    )


def test_an_index_out_of_range_raises() -> None:
    with pytest.raises(IndexError):
        PackedStrings(["a"])[1]


@given(TEXTS, TEXTS)
def test_strings_are_numbered_in_the_order_of_their_first_use(
    texts: list[str], others: list[str]
) -> None:
    expected = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    numbers = StringNumbers()
    assert [numbers.add(text) for text in texts] == [expected[text] for text in texts]
    assert list(numbers.strings) == list(expected)
    for found in (numbers, StringNumbers(numbers.strings)):
        assert [found.find(text) for text in others] == [expected.get(text, -1) for text in others]
        assert [text in found for text in others] == [text in expected for text in others]
        assert found.find_all(others).tolist() == [expected.get(text, -1) for text in others]


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_many_strings_are_numbered_as_one_by_one(parts: list[list[str]], others: list[str]) -> None:
    one_by_one, many = StringNumbers(), StringNumbers()
    for number, part in enumerate(parts):
        # Both ways of adding may be mixed.
        add_all = many.add_all if number % 2 else lambda texts: list(map(many.add, texts))
        assert list(add_all(part)) == [one_by_one.add(text) for text in part]
    assert list(many.strings) == list(one_by_one.strings)
    assert many.find_all(others).tolist() == [one_by_one.find(text) for text in others]


def test_equal_hashes_are_told_apart_and_the_table_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_strings, "hash", lambda text: len(text), raising=False)
    texts = [f"{n:0{1 + n % 30}}" for n in range(3000)]
    expected = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    numbers = StringNumbers()
    assert [numbers.add(text) for text in texts] == [expected[text] for text in texts]
    assert [numbers.find(text) for text in texts] == [expected[text] for text in texts]
    many = StringNumbers()
    for start in range(0, len(texts), 700):
        part = texts[start : start + 700]
        assert many.add_all(part).tolist() == [expected[text] for text in part]
    assert many.find_all(texts).tolist() == [expected[text] for text in texts]
    assert many.find_all(["absent"]).tolist() == [-1]


@given(TEXTS)
def test_a_column_has_its_strings(texts: list[str]) -> None:
    column = StringColumn.from_strings(texts)
    assert list(column) == texts
    assert list(column[1:]) == texts[1:]
    assert column.select(lambda text: text == "a").tolist() == [text == "a" for text in texts]
    is_kept = column.select(bool)
    assert list(column.take(is_kept)) == [text for text in texts if text]
