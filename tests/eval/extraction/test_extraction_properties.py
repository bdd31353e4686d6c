"""Tests properties that hold for the score of any extraction."""

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
from extraction_outputs import count_categories
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import CATEGORIES, Mode, SampleScore, Tally, score_sample
from eval.extraction.settings import DEFAULT_MATCHING, SPECIFICATION_MATCHING, Matching

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
PROPERTY_SETTINGS = settings(deadline=None, max_examples=150)
TEXT = "John lives in San Francisco, CA since 5 January 2024; he is 35."


def make_sample(schema: dict[str, Any], expected: Any) -> Sample:
    return Sample(id="s", text=TEXT, schema=schema, expected=expected)


def list_rates(tally: Tally, mode: Mode) -> list[float | None]:
    return [tally.precision(mode), tally.recall(mode), tally.f1(mode)]


@PROPERTY_SETTINGS
@given(SCHEMAS, VALUES, MATCHINGS)
def test_identical_output_is_right_in_every_mode(
    schema: dict[str, Any], value: Any, matching: Matching
) -> None:
    result = score_sample(make_sample(schema, value), copy.deepcopy(value), matching)
    score = result.score
    for mode in MODES:
        assert set(list_rates(score.tally, mode)) <= {1.0, None}
    assert score.tally.strict == score.tally.expected == score.tally.predicted
    assert score.hallucinations == (0, 0, 0, 0)
    assert score.exact_match == score.valid
    if score.valid:
        assert score.errors == {}
        assert score.tally.type_accuracy in (1.0, None)


@PROPERTY_SETTINGS
@given(SCHEMAS, VALUES, VALUES, MATCHINGS)
def test_counts_add_up_and_rates_stay_in_range(
    schema: dict[str, Any], expected: Any, predicted: Any, matching: Matching
) -> None:
    result = score_sample(make_sample(schema, expected), predicted, matching)
    score, tally = result.score, result.score.tally
    for mode in MODES:
        counts = count_categories(tally, mode)
        assert tuple(counts) == CATEGORIES
        assert all(count >= 0 for count in counts.values())
        assert sum(counts.values()) == tally.expected + tally.spurious == len(result.fields)
        assert all(rate is None or 0 <= rate <= 1 for rate in list_rates(tally, mode))
    credits = [tally.sum_credit(mode) for mode in MODES]
    assert credits == sorted(credits)
    assert tally.predicted == tally.expected - tally.missed + tally.spurious
    assert 0 <= tally.type_right <= tally.type_total <= tally.predicted
    for groups in score.by.values():
        assert sum(groups.values(), Tally()) == tally
    for field in result.fields:
        assert field.score is None or 0 <= field.score <= 1
        assert field.similarity is None or all(0 <= part <= 1 for part in field.similarity)
        assert not field.strict or field.category == "exact"
        assert (field.score is None) == (field.category in ("missed", "spurious"))
        assert field.category == "exact" or field.error
    hallucinations = score.hallucinations
    # Spurious fields are hallucinations of the types 1, 3 and 4 (indices 0, 2 and 3).
    assert tally.spurious <= hallucinations[0] + hallucinations[2] + hallucinations[3]
    assert sum(score.errors.values()) == sum(score.error_fields.values())
    assert score.score_sum <= tally.n_paired
    assert msgspec.json.decode(msgspec.json.encode(score), type=SampleScore) == score


@PROPERTY_SETTINGS
@given(SCHEMAS, VALUES, VALUES, MATCHINGS)
def test_expected_counts_do_not_depend_on_the_reply(
    schema: dict[str, Any], expected: Any, predicted: Any, matching: Matching
) -> None:
    sample = make_sample(schema, expected)
    score_without_reply = score_sample(sample, None, matching, parsed=False).score
    score = score_sample(sample, predicted, matching).score
    assert score.tally.expected == score_without_reply.tally.expected
    # ``by["name"]`` has one tally for each field name.
    assert {key: tally.expected for key, tally in score.by["name"].items() if tally.expected} == {
        key: tally.expected
        for key, tally in score_without_reply.by["name"].items()
        if tally.expected
    }


@PROPERTY_SETTINGS
@given(SCHEMAS, VALUES, VALUES)
def test_swapping_expected_and_predicted_swaps_the_counts(
    schema: dict[str, Any], expected: Any, predicted: Any
) -> None:
    tally = score_sample(make_sample(schema, expected), predicted).score.tally
    swapped_tally = score_sample(make_sample(schema, predicted), expected).score.tally
    assert (tally.expected, tally.missed) == (swapped_tally.predicted, swapped_tally.spurious)
    assert (tally.predicted, tally.spurious) == (swapped_tally.expected, swapped_tally.missed)
    # A schema makes strict equality asymmetric, because only the type of the predicted value is
    # checked. Without a schema it is symmetric, so that precision and recall change places.
    tally_without_schema = score_sample(make_sample({}, expected), predicted).score.tally
    swapped_without_schema = score_sample(make_sample({}, predicted), expected).score.tally
    assert tally_without_schema.strict == swapped_without_schema.strict
    assert tally_without_schema.precision("strict") == swapped_without_schema.recall("strict")


@PROPERTY_SETTINGS
@given(SCHEMAS, OBJECTS, OBJECTS, st.randoms(use_true_random=False))
def test_key_order_does_not_matter(
    schema: dict[str, Any], expected: Any, predicted: Any, rng: random.Random
) -> None:
    def shuffle_keys(value: Any) -> Any:
        if isinstance(value, dict):
            pairs = [(key, shuffle_keys(child)) for key, child in value.items()]
            rng.shuffle(pairs)
            return dict(pairs)
        return [shuffle_keys(child) for child in value] if isinstance(value, list) else value

    result = score_sample(make_sample(schema, expected), predicted)
    shuffled_result = score_sample(
        make_sample(schema, shuffle_keys(expected)), shuffle_keys(predicted)
    )
    assert msgspec.json.encode(shuffled_result.score) == msgspec.json.encode(result.score)
    assert [field.path for field in shuffled_result.fields] == [
        field.path for field in result.fields
    ]


@PROPERTY_SETTINGS
@given(SCHEMAS, OBJECTS, OBJECTS, VALUES)
def test_spurious_field_never_raises_precision(
    schema: dict[str, Any], expected: Any, predicted: Any, value: Any
) -> None:
    old_tally = score_sample(make_sample(schema, expected), predicted).score.tally
    new_tally = score_sample(
        make_sample(schema, expected), {**predicted, "nobody asked": value}
    ).score.tally
    assert new_tally.predicted >= old_tally.predicted
    for mode in MODES:
        old_precision, new_precision = old_tally.precision(mode), new_tally.precision(mode)
        assert old_precision is None or (
            new_precision is not None and new_precision <= old_precision
        )
        assert new_tally.recall(mode) == old_tally.recall(mode)


@PROPERTY_SETTINGS
@given(SCHEMAS, OBJECTS, OBJECTS, st.sampled_from(KEYS))
def test_missing_field_never_raises_recall(
    schema: dict[str, Any], expected: Any, predicted: Any, key: str
) -> None:
    old_tally = score_sample(
        make_sample(schema, expected), {**predicted, key: expected.get(key)}
    ).score.tally
    new_tally = score_sample(make_sample(schema, expected), {**predicted, key: None}).score.tally
    for mode in MODES:
        old_recall, new_recall = old_tally.recall(mode), new_tally.recall(mode)
        assert new_recall is None or (old_recall is not None and new_recall <= old_recall)


@PROPERTY_SETTINGS
@given(SCHEMAS, VALUES)
def test_missing_reply_misses_every_field(schema: dict[str, Any], expected: Any) -> None:
    tally = score_sample(make_sample(schema, expected), None, parsed=False).score.tally
    assert tally.expected == tally.missed
    assert tally.predicted == 0


@PROPERTY_SETTINGS
@given(st.text(max_size=20), st.text(max_size=20))
def test_text_composite_matches_the_specification(expected: str, predicted: str) -> None:
    """Compares the score with the specified formula for texts that normalisation leaves as is."""
    expected, predicted = (
        "".join(filter(str.isascii, text)).lower() for text in (expected, predicted)
    )
    expected, predicted = (" ".join(text.split()) for text in (expected, predicted))
    if not expected or not predicted:
        return
    sample = make_sample({}, {"f": expected})
    # Only the specification's own reading ignores that one text may negate the other.
    (field,) = score_sample(sample, {"f": predicted}, SPECIFICATION_MATCHING).fields
    assert field.score == pytest.approx(compute_specified_composite(predicted, expected))
    assert field.score is not None
    assert math.isclose(field.score, 1.0) == (expected == predicted)


def compute_specified_composite(predicted: str, expected: str) -> float:
    from Levenshtein import distance

    predicted_tokens, expected_tokens = set(predicted.split()), set(expected.split())
    n_common = len(predicted_tokens & expected_tokens)
    precision, recall = n_common / len(predicted_tokens), n_common / len(expected_tokens)
    f1 = 2 * precision * recall / (precision + recall) if n_common else 0
    edit_similarity = 1 - distance(predicted, expected) / max(len(predicted), len(expected))
    if expected in predicted:
        containment = 1.0
    else:
        containment = len(predicted) / len(expected) if predicted in expected else 0.0
    return 0.5 * f1 + 0.3 * edit_similarity + 0.2 * containment


SCORING_SCRIPT = """
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
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCORING_SCRIPT],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
