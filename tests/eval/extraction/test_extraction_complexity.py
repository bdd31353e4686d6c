"""The seed's ten features, the score and the bins; and what a set of samples consists of."""

from __future__ import annotations

import math
import statistics
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from eval.extraction.samples.dataset_statistics import (
    UNNAMED,
    DatasetStatistics,
    describe,
    statistics_of,
)
from eval.extraction.samples.loading import load
from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.complexity import (
    FEATURES,
    Bin,
    bin_of,
    complexity_of,
    depth_score,
    fields_score,
)
from eval.extraction.schemas.schema_check import SchemaCheck
from eval.extraction.schemas.schema_fields import MAX_PATHS, SchemaField, fields_of
from kg.base.errors import SchemaError

# The seed's Appendix A, word for word.
SIMPLE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "occupation": {"type": "string"},
        "company": {"type": "string"},
    },
    "required": ["name"],
}
NESTED = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "title": {"type": "string"},
        "contact": {
            "type": "object",
            "properties": {"email": {"type": "string"}, "phone": {"type": "string"}},
        },
        "specialization": {"type": "string"},
        "workplace": {"type": "string"},
    },
}


def flat(fields: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(fields)}}


def deep(depth: int, fields: int = 1) -> dict[str, Any]:
    schema = flat(fields)
    for _ in range(depth):
        schema = {"type": "object", "properties": {"in": schema}}
    return schema


def paths(schema: dict[str, Any]) -> dict[str, SchemaField]:
    return {field.path: field for field in fields_of(SchemaCheck.of(schema))}


# Features by hand.


def test_the_seeds_simple_sample():
    found = complexity_of(SIMPLE)
    assert [getattr(found, name) for name in FEATURES] == [4, 1, 3, 0, False, False, 4, 2, 0, 0]
    assert found.bin == "simple"
    assert found.score == pytest.approx(0.33 * 4 / 5)


def test_the_seeds_nested_sample():
    found = complexity_of(NESTED)
    # Six leaves; the object that holds two of them is a path, but no field.
    assert [getattr(found, name) for name in FEATURES] == [6, 0, 6, 1, False, True, 7, 2, 0, 0]
    assert found.bin == "medium"
    assert found.score == pytest.approx(0.33 + 0.34 / 11)


def test_an_order_of_everything():
    schema = {
        "type": "object",
        "required": ["id", "lines"],
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "state": {"enum": ["open", "closed", None]},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "when": {"type": ["string", "null"], "format": "date"},
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["what"],
                    "properties": {
                        "what": {"type": "string"},
                        "price": {
                            "type": "object",
                            "properties": {"amount": {"type": "number"}, "paid": {"const": True}},
                        },
                    },
                },
            },
            "extra": {"type": "object"},
        },
    }
    found = complexity_of(schema)
    assert [getattr(found, name) for name in FEATURES] == [8, 2, 6, 2, True, True, 10, 5, 3, 2]
    at = paths(schema)
    assert list(at) == [
        *("id", "state", "tags", "when", "lines", "lines[].what", "lines[].price"),
        *("lines[].price.amount", "lines[].price.paid", "extra"),
    ]
    assert at["lines[].price.amount"].depth == 2
    assert at["lines[].what"].required
    assert at["when"].nullable
    assert at["when"].types == ("string",)
    assert at["state"].types == ("string",)
    assert at["state"].nullable
    assert at["lines[].price.paid"].types == ("boolean",)
    assert {path for path, field in at.items() if field.kind == "holder"} == {
        "lines",
        "lines[].price",
    }


@pytest.mark.parametrize(
    ("schema", "fields", "depth"),
    [
        ({"type": "string"}, [""], 0),
        ({}, [""], 0),
        ({"type": "object"}, [""], 0),
        ({"type": "array", "items": {"type": "string"}}, [""], 0),
        ({"type": "array", "items": {"properties": {"a": {}}}}, ["[].a"], 0),
        (
            {"properties": {"m": {"items": {"items": {"properties": {"a": {}}}}}}},
            ["m[][].a"],
            1,
        ),
        ({"properties": {"a": True, "b": False}}, ["a", "b"], 0),
        ({"properties": {"by": {"additionalProperties": {"type": "integer"}}}}, ["by.*"], 1),
        ({"properties": {"by": {"patternProperties": {"^x": {}}}}}, ["by.*"], 1),
        (
            {"prefixItems": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
            ["[].a", "[].b"],
            0,
        ),
    ],
)
def test_what_is_a_field(schema, fields, depth):
    found = paths(schema)
    assert [path for path, field in found.items() if field.kind == "field"] == fields
    assert complexity_of(schema).max_nesting_depth == depth


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_alternatives_are_put_together(keyword):
    schema = {
        "properties": {"a": {"type": "string"}},
        keyword: [
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
            {"properties": {"a": {"type": "null"}, "c": {}}},
        ],
    }
    found = paths(schema)
    assert list(found) == ["a", "b", "c"]
    assert found["a"].nullable
    assert found["b"].required


def test_conditions_and_dependencies_declare_fields_and_not_does_not():
    schema = {
        "if": {"properties": {"kind": {"const": 1}}},
        "then": {"properties": {"a": {}}},
        "else": {"properties": {"b": {}}},
        "dependentSchemas": {"a": {"properties": {"c": {}}}},
        "not": {"properties": {"d": {}}},
    }
    assert list(paths(schema)) == ["a", "b", "c"]


def test_references_are_followed_and_recursion_is_entered_once():
    schema = {
        "properties": {"home": {"$ref": "#/$defs/place"}, "work": {"$ref": "#/$defs/place"}},
        "$defs": {
            "place": {
                "properties": {"town": {"type": "string"}, "part_of": {"$ref": "#/$defs/place"}}
            }
        },
    }
    found = paths(schema)
    assert list(found) == [
        *("home", "home.town", "home.part_of", "work", "work.town", "work.part_of")
    ]
    assert found["home.part_of"].kind == "field"
    tree = {"properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert [(field.path, field.kind) for field in paths(tree).values()] == [("children", "field")]


def test_a_schema_that_multiplies_is_counted_up_to_a_bound():
    parts: dict[str, Any] = {"p0": {"type": "string"}}
    for n in range(1, 40):
        link = {"$ref": f"#/$defs/p{n - 1}"}
        parts[f"p{n}"] = {"properties": {"a": link, "b": link}}
    found = complexity_of({"$ref": "#/$defs/p39", "$defs": parts})  # 2**39 fields
    assert found.total_possible_paths == MAX_PATHS
    assert found.bin == "complex"


def test_a_schema_that_cannot_be_used_has_no_complexity():
    with pytest.raises(SchemaError):
        complexity_of({"type": "nothing"})


# The score and the bins.


@pytest.mark.parametrize(
    ("fields", "depth", "expected"),
    [
        (1, 0, "simple"),
        (4, 0, "simple"),
        (4, 1, "simple"),
        (5, 0, "medium"),
        (5, 1, "medium"),
        (15, 0, "medium"),
        (15, 2, "medium"),
        (4, 2, "medium"),
        (1, 2, "medium"),
        (16, 0, "complex"),
        (16, 1, "complex"),
        (1, 3, "complex"),
        (1, 20, "complex"),
    ],
)
def test_the_bins_are_those_the_seed_describes(fields, depth, expected):
    found = complexity_of(deep(depth, fields))
    assert (found.total_fields, found.max_nesting_depth) == (fields, depth)
    assert found.bin == expected


@given(st.integers(0, 10**6), st.integers(0, 10**4))
def test_the_score_cuts_as_the_seeds_words_do(fields: int, depth: int) -> None:
    score = max(fields_score(fields), depth_score(depth))
    expected: Bin = "medium"
    if fields < 5 and depth <= 1:
        expected = "simple"
    elif fields > 15 or depth > 2:
        expected = "complex"
    assert bin_of(score) == expected
    assert 0 <= score < 1
    # And as the seed cuts the score.
    assert (score < 0.33) == (expected == "simple")
    assert (score >= 0.67) == (expected == "complex")


@given(st.integers(0, 10**5), st.integers(1, 100))
def test_more_fields_or_levels_are_never_simpler(number: int, more: int) -> None:
    assert fields_score(number) < fields_score(number + more)
    assert depth_score(number) < depth_score(number + more)


def test_scores_by_hand():
    assert fields_score(0) == 0
    assert fields_score(2) == pytest.approx(0.132)
    assert fields_score(5) == pytest.approx(0.33)
    assert fields_score(16) == pytest.approx(0.67)
    assert fields_score(32) == pytest.approx(1 - 0.33 / 2)
    assert [depth_score(n) for n in range(4)] == pytest.approx([0, 0.165, 0.5, 0.67])
    assert depth_score(6) == pytest.approx(1 - 0.33 / 2)


names = st.text(alphabet="abc.[]*", min_size=1, max_size=3)
generated = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": ["integer", "null"]}, {"enum": [1, "a"]}, True]),
    lambda inner: st.one_of(
        st.builds(
            lambda held, needed: {"properties": held, "required": sorted(held)[:needed]},
            st.dictionaries(names, inner, max_size=4),
            st.integers(0, 2),
        ),
        st.builds(lambda held: {"type": "array", "items": held}, inner),
        st.builds(lambda held: {"anyOf": held}, st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=12,
).filter(lambda schema: isinstance(schema, dict))


@given(generated)
def test_features_hold_together(schema: dict[str, Any]) -> None:
    found = complexity_of(schema)
    assert found.required_fields + found.optional_fields == found.total_fields
    assert 1 <= found.total_fields <= found.total_possible_paths
    assert found.enum_fields_count <= found.total_fields
    assert found.has_nested_objects or found.max_nesting_depth == 0
    assert 0 <= found.field_types_diversity <= 7
    assert found == complexity_of({"title": "changes nothing", **schema})


@given(generated, st.randoms())
def test_the_order_of_keys_changes_nothing(schema: dict[str, Any], random: Any) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            keys = sorted(value)
            random.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(one) for one in value] if isinstance(value, list) else value

    assert complexity_of(shuffled(schema)) == complexity_of(schema)


# What a set consists of.


def sample(number: int, schema: dict[str, Any], **others: Any) -> Sample:
    return Sample(id=str(number), text="word " * number, schema=schema, expected={}, **others)


def test_statistics_by_hand():
    samples = [
        sample(1, SIMPLE, domain="people"),
        sample(2, dict(reversed(SIMPLE.items())), domain="people", language="de"),
        sample(3, NESTED),
        sample(6, {"$schema": "http://json-schema.org/draft-07/schema#", **deep(3)}, domain="law"),
    ]
    found = statistics_of(samples, rejected=2)
    assert (found.samples, found.rejected, found.schemas) == (4, 2, 3)
    assert found.bins == {"simple": 2, "medium": 1, "complex": 1}
    assert found.domains == {"people": 2, UNNAMED: 1, "law": 1}
    assert list(found.domains) == ["people", UNNAMED, "law"]
    assert found.languages == {"en": 3, "de": 1}
    assert found.drafts == {"2020-12": 3, "07": 1}
    assert found.field_types == {"string": 13, "integer": 2}
    assert found.depths == {"0": 12, "1": 2, "3": 1}
    assert found.required == {"optional": 13, "required": 2}
    assert found.features["total_fields"].mean == (4 + 4 + 6 + 1) / 4
    assert found.features["has_nested_objects"].mean == 0.5
    assert (found.text_characters.least, found.text_characters.most) == (5, 30)
    assert found.text_words.median == 2.5
    assert found.expected_characters.mean == 2


def test_formats_null_and_given_values_are_counted():
    schema = {
        "properties": {
            "a": {"type": "string", "format": "date"},
            "b": {"type": "array", "items": {"format": "date"}},
            "c": {"type": ["number", "null"]},
            "d": {"enum": ["x", None]},
            "e": {},
        }
    }
    found = statistics_of([sample(1, schema)])
    assert found.formats == {"date": 2}
    assert (found.nullable, found.enumerated) == (2, 1)
    assert found.field_types == {"string": 2, "(none)": 1, "array": 1, "number": 1}


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30))
def test_spreads_are_those_of_the_standard_library(lengths: list[int]) -> None:
    found = statistics_of([sample(n, SIMPLE) for n in lengths]).text_words
    assert found.mean == pytest.approx(statistics.fmean(lengths))
    assert found.median == pytest.approx(statistics.median(lengths))
    assert found.least <= found.lower_quartile <= found.median <= found.upper_quartile <= found.most
    assert math.isfinite(found.mean)


def test_no_samples_have_no_statistics():
    with pytest.raises(ValueError, match="no samples"):
        statistics_of([])


def test_statistics_are_the_same_through_json():
    found = statistics_of(load("shipped").samples)
    assert msgspec.json.decode(msgspec.json.encode(found), type=DatasetStatistics) == found


def test_tables_say_what_is_counted_and_cannot_drive_the_terminal():
    hostile = [sample(n, SIMPLE, domain=f"\x1b[2J[red]domain {n}") for n in range(1, 40)]
    console = Console(width=120, force_terminal=False)
    with console.capture() as captured:
        for table in describe(statistics_of(hostile, rejected=7)):
            console.print(table)
    said = captured.get()
    assert "39 samples of 1 schema, 7 rows left out" in said
    assert "\x1b" not in said
    assert "[red]domain 1 " in said
    assert "19 others" in said
    for name in FEATURES:
        assert name.replace("_", " ") in said
