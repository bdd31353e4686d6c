"""Properties that hold for the score of any extraction."""

from __future__ import annotations

import copy
import math
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import CATEGORIES, Mode, SampleScore, Tally, score_sample
from eval.extraction.settings import DEFAULT_MATCHING, Matching

MODES: tuple[Mode, ...] = ("strict", "partial", "lenient")
KEYS = ["name", "city", "a.b", "tags", "rows", "é"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3) | st.integers(),
    st.floats() | st.sampled_from([0.5, 1.0, 1e308]),
    st.sampled_from(["San Francisco", "San Francisco, CA", "N/A", "35", "2024-01-05", "", "é"]),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5)
SCHEMAS = st.sampled_from(
    [
        {},
        {"type": "object"},
        {
            "type": "object",
            "required": ["name", "tags"],
            "properties": {
                "name": {"type": "string"},
                "city": {"type": ["object", "null"], "properties": {"name": {"x-match": "date"}}},
                "tags": {"type": "array", "x-match": "set", "items": {"type": "integer"}},
                "rows": {"type": "array", "items": {"properties": {"name": {"type": "number"}}}},
            },
        },
        {"properties": {"rows": {"$ref": "#"}, "name": {"x-match": "ignore"}}},
    ]
)
MATCHINGS = st.sampled_from(
    [
        DEFAULT_MATCHING,
        Matching(case_sensitive=True, normalize_whitespace=False, coercion="lenient"),
        Matching(exact=0.6, partial=0.4, lenient=0.1, ordered_arrays=False),
    ]
)
EXAMPLES = settings(deadline=None, max_examples=150)
TEXT = "John lives in San Francisco, CA since 5 January 2024; he is 35."


def make_sample(schema: dict[str, Any], expected: Any) -> Sample:
    return Sample(id="s", text=TEXT, schema=schema, expected=expected)


def list_rates(tally: Tally, mode: Mode) -> list[float | None]:
    return [tally.precision(mode), tally.recall(mode), tally.f1(mode)]


@EXAMPLES
@given(SCHEMAS, VALUES, MATCHINGS)
def test_identical_output_is_right_in_every_mode(
    schema: dict[str, Any], value: Any, matching: Matching
) -> None:
    scored = score_sample(make_sample(schema, value), copy.deepcopy(value), matching)
    found = scored.score
    for mode in MODES:
        assert set(list_rates(found.tally, mode)) <= {1.0, None}
    assert found.tally.strict == found.tally.expected == found.tally.predicted
    assert found.hallucinations == (0, 0, 0, 0)
    assert found.exact_match == found.valid
    if found.valid:
        assert found.errors == {}
        assert found.tally.type_accuracy in (1.0, None)


@EXAMPLES
@given(SCHEMAS, VALUES, VALUES, MATCHINGS)
def test_counts_add_up_and_rates_stay_in_range(
    schema: dict[str, Any], expected: Any, predicted: Any, matching: Matching
) -> None:
    scored = score_sample(make_sample(schema, expected), predicted, matching)
    found, tally = scored.score, scored.score.tally
    for mode in MODES:
        counts = tally.count_categories(mode)
        assert tuple(counts) == CATEGORIES
        assert all(count >= 0 for count in counts.values())
        assert sum(counts.values()) == tally.expected + tally.spurious == len(scored.fields)
        assert all(rate is None or 0 <= rate <= 1 for rate in list_rates(tally, mode))
    credits = [tally.sum_credit(mode) for mode in MODES]
    assert credits == sorted(credits)
    assert tally.predicted == tally.expected - tally.missed + tally.spurious
    assert 0 <= tally.type_right <= tally.type_total <= tally.predicted
    for groups in found.by.values():
        assert sum(groups.values(), Tally()) == tally
    for field in scored.fields:
        assert field.score is None or 0 <= field.score <= 1
        assert field.similarity is None or all(0 <= part <= 1 for part in field.similarity)
        assert not field.strict or field.category == "exact"
        assert (field.score is None) == (field.category in ("missed", "spurious"))
        assert field.category == "exact" or field.error
    by_type = found.hallucinations
    assert tally.spurious <= by_type[0] + by_type[2] + by_type[3]
    assert sum(found.errors.values()) == sum(found.error_fields.values())
    assert found.score_sum <= tally.n_paired
    assert msgspec.json.decode(msgspec.json.encode(found), type=SampleScore) == found


@EXAMPLES
@given(SCHEMAS, VALUES, VALUES, MATCHINGS)
def test_expected_counts_do_not_depend_on_the_reply(
    schema: dict[str, Any], expected: Any, predicted: Any, matching: Matching
) -> None:
    given_one = make_sample(schema, expected)
    nothing = score_sample(given_one, None, matching, parsed=False).score
    found = score_sample(given_one, predicted, matching).score
    assert found.tally.expected == nothing.tally.expected
    assert {key: one.expected for key, one in found.by["name"].items() if one.expected} == {
        key: one.expected for key, one in nothing.by["name"].items() if one.expected
    }


@EXAMPLES
@given(SCHEMAS, VALUES, VALUES)
def test_swapping_expected_and_predicted_swaps_the_counts(
    schema: dict[str, Any], expected: Any, predicted: Any
) -> None:
    there = score_sample(make_sample(schema, expected), predicted).score.tally
    back = score_sample(make_sample(schema, predicted), expected).score.tally
    assert (there.expected, there.missed) == (back.predicted, back.spurious)
    assert (there.predicted, there.spurious) == (back.expected, back.missed)
    # Strict equality is symmetric, except that only the prediction's type is checked.
    free_there = score_sample(make_sample({}, expected), predicted).score.tally
    free_back = score_sample(make_sample({}, predicted), expected).score.tally
    assert free_there.strict == free_back.strict
    assert free_there.precision("strict") == free_back.recall("strict")


@EXAMPLES
@given(SCHEMAS, OBJECTS, OBJECTS, st.randoms(use_true_random=False))
def test_key_order_does_not_matter(
    schema: dict[str, Any], expected: Any, predicted: Any, rng: random.Random
) -> None:
    def reverse_keys(value: Any) -> Any:
        if isinstance(value, dict):
            pairs = [(key, reverse_keys(child)) for key, child in value.items()]
            rng.shuffle(pairs)
            return dict(pairs)
        return [reverse_keys(child) for child in value] if isinstance(value, list) else value

    first = score_sample(make_sample(schema, expected), predicted)
    again = score_sample(make_sample(schema, reverse_keys(expected)), reverse_keys(predicted))
    assert msgspec.json.encode(again.score) == msgspec.json.encode(first.score)
    assert [field.path for field in again.fields] == [field.path for field in first.fields]


@EXAMPLES
@given(SCHEMAS, OBJECTS, OBJECTS, VALUES)
def test_spurious_field_never_raises_precision(
    schema: dict[str, Any], expected: Any, predicted: Any, value: Any
) -> None:
    before = score_sample(make_sample(schema, expected), predicted).score.tally
    after = score_sample(
        make_sample(schema, expected), {**predicted, "nobody asked": value}
    ).score.tally
    assert after.predicted >= before.predicted
    for mode in MODES:
        first, then = before.precision(mode), after.precision(mode)
        assert first is None or (then is not None and then <= first)
        assert after.recall(mode) == before.recall(mode)


@EXAMPLES
@given(SCHEMAS, OBJECTS, OBJECTS, st.sampled_from(KEYS))
def test_missing_field_never_raises_recall(
    schema: dict[str, Any], expected: Any, predicted: Any, key: str
) -> None:
    before = score_sample(
        make_sample(schema, expected), {**predicted, key: expected.get(key)}
    ).score.tally
    after = score_sample(make_sample(schema, expected), {**predicted, key: None}).score.tally
    for mode in MODES:
        first, then = before.recall(mode), after.recall(mode)
        assert then is None or (first is not None and then <= first)


@EXAMPLES
@given(SCHEMAS, VALUES)
def test_missing_reply_misses_every_field(schema: dict[str, Any], expected: Any) -> None:
    found = score_sample(make_sample(schema, expected), None, parsed=False).score.tally
    assert found.expected == found.missed
    assert found.predicted == 0


@EXAMPLES
@given(st.text(max_size=20), st.text(max_size=20))
def test_text_composite_matches_the_specification(expected: str, predicted: str) -> None:
    """Compares with the specified formula, on texts that normalisation does not change."""
    expected, predicted = (
        "".join(filter(str.isascii, one)).lower() for one in (expected, predicted)
    )
    expected, predicted = (" ".join(one.split()) for one in (expected, predicted))
    if not expected or not predicted:
        return
    (field,) = score_sample(make_sample({}, {"f": expected}), {"f": predicted}).fields
    assert field.score == pytest.approx(specified_composite(predicted, expected))
    assert field.score is not None
    assert math.isclose(field.score, 1.0) == (expected == predicted)


def specified_composite(predicted: str, expected: str) -> float:
    from Levenshtein import distance

    tokens, others = set(predicted.split()), set(expected.split())
    both = len(tokens & others)
    precision, recall = both / len(tokens), both / len(others)
    f1 = 2 * precision * recall / (precision + recall) if both else 0
    edits = 1 - distance(predicted, expected) / max(len(predicted), len(expected))
    if expected in predicted:
        contained = 1.0
    else:
        contained = len(predicted) / len(expected) if predicted in expected else 0.0
    return 0.5 * f1 + 0.3 * edits + 0.2 * contained


SEEDED = """
import msgspec
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
schema = {"properties": {"a": {"enum": ["x", "y"]}, "b": {"anyOf": [{"type": "string",
    "format": "date"}, {"x-match": "numeric"}]}}}
expected = {"a": "x", "b": "2024", "c": ["p", "q"], "d": {"z": 1, "y": 2}, "e": [{"k": "v"}] * 3}
predicted = {"b": "2024-01", "c": ["q", "r"], "w": 5, "v": {"y": 2}, "e": [{"k": "v"}, {"l": 1}]}
scored = score_sample(Sample(id="s", text="x y", schema=schema, expected=expected), predicted)
print(msgspec.json.encode([scored.score, scored.fields]).decode())
"""


def test_bytes_do_not_depend_on_the_hash_seed() -> None:
    root = Path(__file__).parents[3]
    runs = {
        subprocess.run(
            [sys.executable, "-c", SEEDED],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(runs) == 1
