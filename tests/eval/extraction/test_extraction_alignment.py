"""Arrays of objects: the best assignment, the same with every short cut, in bounded time."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.extraction.matchers.fields import plan_of
from eval.extraction.samples.sample import Sample
from eval.extraction.scoring import score
from eval.extraction.settings import DEFAULT, Matching
from eval.extraction.verdicts import alignment
from eval.extraction.verdicts.alignment import Entry, align

ROW = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "qty": {"type": "integer"}, "price": {}},
}
SCHEMA = {"type": "object", "properties": {"rows": {"type": "array", "items": ROW}}}


def rows(expected: list[Any], predicted: list[Any], **array: Any) -> Any:
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": ROW, **array}}}
    sample = Sample(id="rows", text="", schema=schema, expected={"rows": expected})
    return score(sample, {"rows": predicted})


def total(entries: list[Entry]) -> float:
    return sum(entry.compared[1] for entry in entries if entry.compared is not None)


def test_elements_are_found_wherever_they_stand() -> None:
    expected = [{"item": name, "qty": number} for number, name in enumerate("abc")]
    scored = rows(expected, [expected[2], expected[0], expected[1]])
    assert scored.score.tally.strict == 6
    # Order matters in strict mode, unless it is said not to: the match is not exact.
    assert not scored.score.exact_match
    assert rows(expected, expected[::-1], **{"x-match": "bag"}).score.exact_match
    assert rows(expected, expected[::-1], uniqueItems=True).score.exact_match
    assert not rows(expected, expected[::-1], **{"x-match": "list"}).score.exact_match
    unordered = Matching(ordered_arrays=False)
    sample = Sample(id="", text="", schema=SCHEMA, expected={"rows": expected})
    assert score(sample, {"rows": expected[::-1]}, unordered).score.exact_match


def test_order_that_does_not_matter_does_not_matter_to_capitals_either() -> None:
    # Sorted by their letters the two sides are in different orders: "Z" comes before "a".
    expected, predicted = [{"item": "Zinc"}, {"item": "ash"}], [{"item": "ash"}, {"item": "zinc"}]
    for array in ({"x-match": "bag"}, {"uniqueItems": True}):
        assert rows(expected, predicted, **array).score.exact_match
    assert not rows(expected, predicted).score.exact_match


def test_the_assignment_is_that_of_the_greatest_total_and_not_the_greedy_one() -> None:
    # Row 0 would rather have column 0 (both right), but then row 1 gets nothing.
    expected = [{"item": "pen", "qty": 1}, {"item": "pen", "qty": 9}]
    predicted = [{"item": "pen", "qty": 1}, {"item": "ink", "qty": 1}]
    scored = rows(expected, predicted)
    # Straight: 2 + 0; crossed: 1 + 1. A tie, which goes to the pair that is wholly equal.
    assert scored.score.tally.strict == 2
    better = rows(expected, [{"item": "pen", "qty": 5}, {"item": "pen", "qty": 1}])
    assert better.score.tally.strict == 3


def test_elements_over_are_missed_or_spurious_with_all_their_fields() -> None:
    one, two = {"item": "pen", "qty": 1}, {"item": "ink", "qty": 2}
    over = rows([two], [one, two])
    assert (over.score.tally.strict, over.score.tally.spurious) == (2, 2)
    assert [field.hallucination for field in over.fields] == [0, 0, 4, 4]
    under = rows([one, two], [two])
    assert (under.score.tally.strict, under.score.tally.missed) == (2, 2)
    assert rows([one], []).score.tally.missed == 2
    assert rows([], [one]).score.tally.spurious == 2


def test_ties_go_by_position() -> None:
    expected = [{"item": "a"}, {"item": "b"}, {"item": "c"}]
    scored = rows(expected, [{"item": "x"}, {"item": "y"}, {"item": "z"}])
    assert [field.predicted for field in scored.fields] == ["x", "y", "z"]


def test_arrays_in_arrays() -> None:
    inner = [{"item": "a", "price": [{"x": 1}, {"x": 2}]}, {"item": "b", "price": [{"x": 3}]}]
    turned = [inner[1], {"item": "a", "price": [{"x": 2}, {"x": 1}]}]
    scored = rows(inner, turned)
    assert scored.score.tally.strict == scored.score.tally.expected == 5
    assert not scored.score.exact_match
    paths = {field.path for field in scored.fields}
    assert paths == {"rows[].item", "rows[].price[].x"}


def test_order_inside_the_elements_matters_too() -> None:
    expected = [{"item": "a", "price": [{"x": 1}, {"x": 2}]}, {"item": "bb"}, {"item": "ccc"}]
    predicted = [{"item": "a", "price": [{"x": 2}, {"x": 1}]}, {"item": "bb"}, {"item": "ccd"}]
    assert not align(
        plan_of(SCHEMA).root, {"rows": expected}, {"rows": predicted}, DEFAULT
    ).in_order


def test_mixed_elements_meet_their_like() -> None:
    scored = rows(["text", {"item": "a"}], [{"item": "a"}, "text"])
    assert scored.score.tally.strict == 2
    lone = rows([{"item": "a"}], ["a", "b"])
    assert (lone.score.tally.missed, lone.score.tally.spurious) == (1, 1)


ELEMENT = st.fixed_dictionaries(
    {},
    optional={
        "item": st.sampled_from(["pen", "red pen", "red ink", "ink pot", "PEN"]),
        "qty": st.integers(0, 2),
        "price": st.sampled_from([1.0, 1.1, 2.0, "1"]),
    },
).filter(bool)
ELEMENTS = st.lists(ELEMENT, min_size=1, max_size=4)


def symmetric(element: Any, one: Any, other: Any) -> float:
    """Score of a pair of elements, on average over both directions."""
    there, back = (
        align(element, *sides, DEFAULT).entries for sides in ((one, other), (other, one))
    )
    return (total(there) + total(back)) / 2


@settings(deadline=None, max_examples=150)
@given(ELEMENTS, ELEMENTS)
def test_no_other_assignment_has_a_greater_total(expected: list[Any], predicted: list[Any]) -> None:
    element = plan_of(SCHEMA).root.child("rows").element()
    short, long = sorted((expected, predicted), key=len)
    gains = [[symmetric(element, one, other) for other in long] for one in short]
    best = max(
        sum(row[at] for row, at in zip(gains, chosen, strict=True))
        for chosen in itertools.permutations(range(len(long)), len(short))
    )
    there, back = (
        total(align(plan_of(SCHEMA).root, {"rows": one}, {"rows": other}, DEFAULT).entries)
        for one, other in ((expected, predicted), (predicted, expected))
    )
    assert (there + back) / 2 == pytest.approx(best, abs=1e-6)


@settings(deadline=None, max_examples=150)
@given(ELEMENTS, ELEMENTS)
def test_short_cuts_change_no_result(expected: list[Any], predicted: list[Any]) -> None:
    def aligned() -> tuple[Any, bool]:
        found = align(plan_of(SCHEMA).root, {"rows": expected}, {"rows": predicted}, DEFAULT)
        return sorted(
            (entry.place.path, repr(entry.compared), repr(entry.expected), repr(entry.predicted))
            for entry in found.entries
        ), found.in_order

    short = aligned()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "_equal_elements", lambda *_: [])
        assert aligned() == short


@settings(deadline=None, max_examples=100)
@given(ELEMENTS, ELEMENTS, st.randoms(use_true_random=False))
def test_the_order_of_elements_changes_no_count(
    expected: list[Any], predicted: list[Any], rng: random.Random
) -> None:
    found = rows(expected, predicted, **{"x-match": "bag"}).score
    for side in (expected, predicted):
        rng.shuffle(side)
    again = rows(expected, predicted, **{"x-match": "bag"}).score
    assert again.tally == found.tally
    assert again.exact_match == found.exact_match
    assert again.score_sum == pytest.approx(found.score_sum)


@pytest.mark.parametrize("size", [400, 5_000])
def test_arrays_too_large_for_the_best_assignment_are_aligned_by_equality_then_position(
    size: int,
) -> None:
    expected = [{"item": f"item {number}", "qty": number} for number in range(size)]
    predicted = [dict(row) for row in expected]
    predicted[0]["qty"] = -1
    moved = predicted[1:] + predicted[:1]
    scored = rows(expected, [{"item": "new", "qty": 0}, *moved][: size + 1])
    assert scored.score.bounded
    assert scored.score.tally.strict >= 2 * size - 2
    assert scored.score.tally.spurious == 2


def test_nested_arrays_are_compared_in_bounded_time() -> None:
    def nest(depth: int, seed: int) -> Any:
        if not depth:
            return seed
        return [{"a": nest(depth - 1, seed * 7 + number)} for number in range(5)]

    sample = Sample(id="nest", text="", schema={"type": "object"}, expected={"f": nest(5, 1)})
    found = score(sample, {"f": nest(5, 2)}).score
    assert found.tally.expected == found.tally.predicted == 5**5
    assert found.bounded
