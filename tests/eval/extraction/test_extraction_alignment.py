"""Tests that arrays of objects are aligned optimally and in bounded time."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.extraction.matchers.match_result import LENIENT_RULES
from eval.extraction.matchers.schema_nodes import get_schema_plan
from eval.extraction.matchers.value_comparison import compare_values
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.extraction.settings import SPECIFICATION_MATCHING, Matching
from eval.extraction.verdicts import alignment
from eval.extraction.verdicts.alignment import Entry, align_values

ROW = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "qty": {"type": "integer"}, "price": {}},
}
SCHEMA = {"type": "object", "properties": {"rows": {"type": "array", "items": ROW}}}


def score_arrays(expected: list[Any], predicted: list[Any], **array_keywords: Any) -> Any:
    schema = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": ROW, **array_keywords}},
    }
    sample = Sample(id="rows", text="", schema=schema, expected={"rows": expected})
    return score_sample(sample, {"rows": predicted}, SPECIFICATION_MATCHING)


def compute_total_score(entries: list[Entry]) -> float:
    """Sums the scores of the matched fields; ``match`` is (whether equal, score, …)."""
    return sum(entry.match[1] for entry in entries if entry.match is not None)


def test_elements_are_matched_at_any_position() -> None:
    expected = [{"item": name, "qty": number} for number, name in enumerate("abc")]
    result = score_arrays(expected, [expected[2], expected[0], expected[1]])
    assert result.score.tally.strict == 6
    # Order matters for an exact match unless the schema says otherwise.
    assert not result.score.exact_match
    assert score_arrays(expected, expected[::-1], **{"x-match": "bag"}).score.exact_match
    assert score_arrays(expected, expected[::-1], uniqueItems=True).score.exact_match
    assert not score_arrays(expected, expected[::-1], **{"x-match": "list"}).score.exact_match
    unordered_matching = Matching(ordered_arrays=False)
    sample = Sample(id="", text="", schema=SCHEMA, expected={"rows": expected})
    assert score_sample(sample, {"rows": expected[::-1]}, unordered_matching).score.exact_match


def test_unordered_arrays_match_despite_different_case() -> None:
    # Sorting would order the two sides differently: "Z" comes before "a", but "z" after it.
    expected, predicted = [{"item": "Zinc"}, {"item": "ash"}], [{"item": "ash"}, {"item": "zinc"}]
    for array_keywords in ({"x-match": "bag"}, {"uniqueItems": True}):
        assert score_arrays(expected, predicted, **array_keywords).score.exact_match
    assert not score_arrays(expected, predicted).score.exact_match


def test_assignment_maximises_total_score() -> None:
    expected = [{"item": "pen", "qty": 1}, {"item": "pen", "qty": 9}]
    predicted = [{"item": "pen", "qty": 1}, {"item": "ink", "qty": 1}]
    result = score_arrays(expected, predicted)
    # Both assignments have two right fields: in order 2 + 0, crosswise 1 + 1.
    assert result.score.tally.strict == 2
    # Here, 1 + 1 fields are right in order, but 1 + 2 crosswise.
    swapped_result = score_arrays(expected, [{"item": "pen", "qty": 5}, {"item": "pen", "qty": 1}])
    assert swapped_result.score.tally.strict == 3


def test_unmatched_elements_are_missed_or_spurious_with_all_fields() -> None:
    pen, ink = {"item": "pen", "qty": 1}, {"item": "ink", "qty": 2}
    result_with_extra = score_arrays([ink], [pen, ink])
    assert (result_with_extra.score.tally.strict, result_with_extra.score.tally.spurious) == (2, 2)
    # Fields of an extra array element are hallucinations of type 4.
    assert [field.hallucination for field in result_with_extra.fields] == [0, 0, 4, 4]
    result_with_missing = score_arrays([pen, ink], [ink])
    assert (result_with_missing.score.tally.strict, result_with_missing.score.tally.missed) == (
        2,
        2,
    )
    assert score_arrays([pen], []).score.tally.missed == 2
    assert score_arrays([], [pen]).score.tally.spurious == 2


def test_ties_are_broken_by_position() -> None:
    expected = [{"item": "a"}, {"item": "b"}, {"item": "c"}]
    result = score_arrays(expected, [{"item": "x"}, {"item": "y"}, {"item": "z"}])
    assert [field.predicted for field in result.fields] == ["x", "y", "z"]


NAMED = {"name": {"type": "string"}, "price": {"type": "number"}}
NUMBERED = {"number": {"type": "integer"}, "price": {"type": "number"}}


def list_wrong(members: dict[str, Any], expected: list[Any], predicted: list[Any]) -> list[str]:
    """Returns the paths of the fields that are not right, by the rules that apply by default."""
    rows = {"type": "array", "items": {"type": "object", "properties": members}}
    schema = {"type": "object", "properties": {"rows": rows}}
    sample = Sample(id="rows", text="", schema=schema, expected={"rows": expected})
    result = score_sample(sample, {"rows": predicted}, Matching())
    return [field.name for field in result.fields if field.category != "exact"]


@pytest.mark.parametrize(
    "names", [["Bolt", "Nut"], ["Widget A", "Widget B"], ["A1 pump", "A2 pump", "A3 pump"]]
)
def test_on_ties_elements_are_matched_by_their_texts(names: list[str]) -> None:
    expected = [{"name": name, "price": n + 0.5} for n, name in enumerate(names)]
    # The prices are moved on by one.
    predicted = [
        {"name": name, "price": other["price"]}
        for name, other in zip(names, [*expected[1:], expected[0]], strict=True)
    ]
    count = len(names)
    assert list_wrong(NAMED, expected, predicted) == ["price"] * count
    assert list_wrong(NAMED, expected[::-1], predicted) == ["price"] * count
    # Other elements do not change it, nor does a name in another case.
    other = {"name": "Tube", "price": 77.0}
    changed = [{**one, "name": one["name"].upper()} for one in predicted]
    assert list_wrong(NAMED, [*expected, other], [other, *predicted]) == ["price"] * count
    assert list_wrong(NAMED, expected, changed) in (["price"] * count, ["name"] * count)
    # Also in objects with others.
    nested = {"thing": {"type": "object", "properties": NAMED}}
    sides = [[{"thing": one} for one in side] for side in (expected, predicted)]
    assert list_wrong(nested, *sides) == ["price"] * count


def test_on_ties_elements_without_texts_are_matched_by_the_first_field() -> None:
    expected = [{"number": 1, "price": 1.5}, {"number": 2, "price": 2.5}]
    predicted = [{"number": 1, "price": 2.5}, {"number": 2, "price": 1.5}]
    assert list_wrong(NUMBERED, expected, predicted) == ["price", "price"]
    assert list_wrong(NUMBERED, expected, predicted[::-1]) == ["price", "price"]


def test_more_right_fields_count_before_equal_texts() -> None:
    members = {**NAMED, "count": {"type": "integer"}}
    expected = [
        {"name": "Bolt", "price": 1.5, "count": 1},
        {"name": "Nut", "price": 2.5, "count": 2},
    ]
    predicted = [{**expected[1], "name": "Bolt"}, {**expected[0], "name": "Nut"}]
    assert list_wrong(members, expected, predicted) == ["name", "name"]


def test_nested_arrays_are_aligned() -> None:
    rows = [{"item": "a", "price": [{"x": 1}, {"x": 2}]}, {"item": "b", "price": [{"x": 3}]}]
    reordered_rows = [rows[1], {"item": "a", "price": [{"x": 2}, {"x": 1}]}]
    result = score_arrays(rows, reordered_rows)
    assert result.score.tally.strict == result.score.tally.expected == 5
    assert not result.score.exact_match
    paths = {field.path for field in result.fields}
    assert paths == {"rows[].item", "rows[].price[].x"}


def test_order_inside_elements_is_checked() -> None:
    expected = [{"item": "a", "price": [{"x": 1}, {"x": 2}]}, {"item": "bb"}, {"item": "ccc"}]
    predicted = [{"item": "a", "price": [{"x": 2}, {"x": 1}]}, {"item": "bb"}, {"item": "ccd"}]
    assert not align_values(
        get_schema_plan(SCHEMA).root,
        {"rows": expected},
        {"rows": predicted},
        SPECIFICATION_MATCHING,
    ).in_order


def test_elements_are_matched_with_the_same_type() -> None:
    result = score_arrays(["text", {"item": "a"}], [{"item": "a"}, "text"])
    assert result.score.tally.strict == 2
    unmatched_result = score_arrays([{"item": "a"}], ["a", "b"])
    assert (unmatched_result.score.tally.missed, unmatched_result.score.tally.spurious) == (1, 1)


ELEMENT = st.fixed_dictionaries(
    {},
    optional={
        "item": st.sampled_from(["pen", "red pen", "red ink", "ink pot", "PEN"]),
        "qty": st.integers(0, 2),
        "price": st.sampled_from([1.0, 1.1, 2.0, "1"]),
    },
).filter(bool)
ELEMENTS = st.lists(ELEMENT, min_size=1, max_size=4)


def compute_symmetric_score(element: Any, left: Any, right: Any) -> float:
    """Returns the mean score of a pair of elements over both directions."""
    forward, backward = (
        align_values(element, *sides, SPECIFICATION_MATCHING).entries
        for sides in ((left, right), (right, left))
    )
    return (compute_total_score(forward) + compute_total_score(backward)) / 2


@settings(deadline=None, max_examples=150)
@given(ELEMENTS, ELEMENTS)
def test_no_other_assignment_has_a_greater_total(expected: list[Any], predicted: list[Any]) -> None:
    element = get_schema_plan(SCHEMA).root.get_child("rows").get_element()
    shorter, longer = sorted((expected, predicted), key=len)
    pair_scores = [
        [compute_symmetric_score(element, left, right) for right in longer] for left in shorter
    ]
    best_total = max(
        sum(row[column] for row, column in zip(pair_scores, columns, strict=True))
        for columns in itertools.permutations(range(len(longer)), len(shorter))
    )
    forward, backward = (
        compute_total_score(
            align_values(
                get_schema_plan(SCHEMA).root,
                {"rows": left},
                {"rows": right},
                SPECIFICATION_MATCHING,
            ).entries
        )
        for left, right in ((expected, predicted), (predicted, expected))
    )
    assert (forward + backward) / 2 == pytest.approx(best_total, abs=1e-6)


@settings(deadline=None, max_examples=150)
@given(ELEMENTS, ELEMENTS)
def test_shortcuts_give_the_same_alignment(expected: list[Any], predicted: list[Any]) -> None:
    def align_elements() -> tuple[Any, bool]:
        result = align_values(
            get_schema_plan(SCHEMA).root,
            {"rows": expected},
            {"rows": predicted},
            SPECIFICATION_MATCHING,
        )
        return sorted(
            (entry.node.path, repr(entry.match), repr(entry.expected), repr(entry.predicted))
            for entry in result.entries
        ), result.in_order

    with_shortcuts = align_elements()
    with pytest.MonkeyPatch.context() as patch:
        # Disables the shortcut that pairs equal elements before the assignment is solved.
        patch.setattr(alignment, "pair_equal_elements", lambda *_: [])
        assert align_elements() == with_shortcuts


@settings(deadline=None, max_examples=100)
@given(ELEMENTS, ELEMENTS, st.randoms(use_true_random=False))
def test_element_order_changes_no_count(
    expected: list[Any], predicted: list[Any], rng: random.Random
) -> None:
    score = score_arrays(expected, predicted, **{"x-match": "bag"}).score
    for side in (expected, predicted):
        rng.shuffle(side)
    shuffled_score = score_arrays(expected, predicted, **{"x-match": "bag"}).score
    assert shuffled_score.tally == score.tally
    assert shuffled_score.exact_match == score.exact_match
    assert shuffled_score.score_sum == pytest.approx(score.score_sum)


@pytest.mark.parametrize("size", [400, 5_000])
def test_large_arrays_are_aligned_by_equality_then_shared_values(size: int) -> None:
    expected = [{"item": f"item {number}", "qty": number} for number in range(size)]
    predicted = [dict(row) for row in expected]
    predicted[0]["qty"] = -1
    rotated_rows = predicted[1:] + predicted[:1]
    result = score_arrays(expected, [{"item": "new", "qty": 0}, *rotated_rows][: size + 1])
    # The arrays are too large for an optimal alignment.
    assert result.score.bounded
    assert result.score.tally.strict >= 2 * size - 2
    assert result.score.tally.spurious == 2


@pytest.mark.parametrize("size", [230, 2_000])
def test_rows_of_large_tables_are_found_by_their_rare_values(size: int) -> None:
    """Each row has a wrong field, one row is missing, and the rows are in another order."""
    rng = random.Random(size)
    expected = [
        {"item": f"Part {rng.randrange(10 * size)}", "qty": rng.randrange(20), "price": index / 8}
        | {"colour": rng.choice(["red", "green", "blue"])}
        for index in range(size)
    ]
    predicted = [dict(row) for row in expected[1:]]
    for row in predicted:
        row[rng.choice(["item", "qty", "price", "colour"])] = rng.choice(["unread", "?"])
    rng.shuffle(predicted)
    score = score_arrays(expected, predicted, **{"x-match": "bag"}).score
    assert score.bounded
    assert score.tally.strict == 3 * (size - 1)


def test_rows_that_share_frequent_values_only_are_paired_in_groups() -> None:
    expected = [{"item": f"kind {n % 4}", "qty": n % 5, "price": n} for n in range(1_000)]
    predicted = [row | {"price": None} for row in expected]
    score = score_arrays(expected, predicted[::-1], **{"x-match": "bag"}).score
    assert score.bounded
    assert score.tally.strict == 2_000


CELLS = st.fixed_dictionaries(
    {"item": st.sampled_from(["A 1", "a 1", "B", "C", "5 EUR", "5 USD"])},
    optional={"qty": st.integers(0, 5), "price": st.sampled_from([1, {"net": 1}, [2, 1]])},
)


@settings(max_examples=200, deadline=None)
@given(st.lists(CELLS, max_size=12), st.data(), st.randoms(use_true_random=False))
def test_rows_that_were_not_changed_are_right_in_large_tables_of_any_order(
    rows: list[Any], data: st.DataObject, rng: random.Random
) -> None:
    kept = data.draw(
        st.lists(st.sampled_from(range(len(rows))), unique=True) if rows else st.just([])
    )
    changed = data.draw(st.dictionaries(st.sampled_from(kept) if kept else st.nothing(), CELLS))
    untouched = [rows[index] for index in kept if index not in changed]
    predicted = [rows[index] | changed.get(index, {}) for index in kept]
    root = get_schema_plan(
        {"properties": {"rows": {"items": ROW | {"required": []}, "x-match": "bag"}}}
    ).root

    def list_right_rows() -> tuple[list[str], int]:
        copies = [copy.deepcopy(row) for row in predicted]
        rng.shuffle(rows)
        rng.shuffle(copies)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(alignment, "MAX_COMPARED_FIELDS", 0)
            entries = align_values(root, {"rows": rows}, {"rows": copies}, Matching()).entries
        # A row is identified by any of its fields, which all belong to it or to objects within.
        wrong = {entry.owner for entry in entries if entry.match is None or not entry.match[0]}
        owners = [(id(row), id(row.get("price")), row) for row in copies]
        right = [json.dumps(row, sort_keys=True) for *ids, row in owners if wrong.isdisjoint(ids)]
        return sorted(right), sum(bool(entry.match and entry.match[0]) for entry in entries)

    found = list_right_rows()
    missing = Counter(json.dumps(row, sort_keys=True) for row in untouched) - Counter(found[0])
    assert not missing
    assert list_right_rows() == found


def test_nested_arrays_are_compared_in_bounded_time() -> None:
    def nest(depth: int, seed: int) -> Any:
        if not depth:
            return seed
        return [{"a": nest(depth - 1, seed * 7 + number)} for number in range(5)]

    sample = Sample(id="nest", text="", schema={"type": "object"}, expected={"f": nest(5, 1)})
    score = score_sample(sample, {"f": nest(5, 2)}).score
    assert score.tally.expected == score.tally.predicted == 5**5
    assert score.bounded


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("ordered", [True, False])
def test_an_array_is_no_more_strictly_right_than_its_elements(order: int, ordered: bool) -> None:
    """One element is another spelling, one is only within the tolerance."""
    element = {"type": "number", "x-tolerance": 5}
    schema = {"type": "object", "properties": {"v": {"type": "array", "items": element}}}
    node = get_schema_plan(schema).root.get_child("v")
    matching = Matching(ordered_arrays=ordered)
    expected, predicted = [1000, 200][::order], ["1,000", 203][::order]
    is_same, _, _, rule = compare_values(node, expected, predicted, matching)
    assert is_same
    assert rule in LENIENT_RULES
    predicted = ["1,000", 200][::order]
    is_same, _, _, rule = compare_values(node, expected, predicted, matching)
    assert is_same
    assert rule not in LENIENT_RULES
