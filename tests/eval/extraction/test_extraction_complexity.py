"""Tests the ten features of the specification, complexity scores, bins and sample statistics."""

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
    compute_statistics,
    render_tables,
)
from eval.extraction.samples.loader import load_samples
from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.complexity import (
    FEATURES,
    Bin,
    complexity_bin,
    compute_complexity,
    score_depth,
    score_field_count,
)
from eval.extraction.schemas.schema_fields import MAX_PATHS, SchemaField, list_schema_fields
from eval.extraction.schemas.schema_validator import SchemaValidator
from kg.base.errors import SchemaError

# Appendix A of the specification, verbatim.
SIMPLE_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "occupation": {"type": "string"},
        "company": {"type": "string"},
    },
    "required": ["name"],
}
NESTED_SCHEMA = {
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


def make_flat_schema(fields: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(fields)}}


def make_nested_schema(depth: int, fields: int = 1) -> dict[str, Any]:
    schema = make_flat_schema(fields)
    for _ in range(depth):
        schema = {"type": "object", "properties": {"in": schema}}
    return schema


def map_fields_by_path(schema: dict[str, Any]) -> dict[str, SchemaField]:
    return {field.path: field for field in list_schema_fields(SchemaValidator.from_schema(schema))}


# Features, in the order of FEATURES, compared with manually counted values.


def test_simple_sample_of_the_specification():
    complexity = compute_complexity(SIMPLE_SCHEMA)
    assert [getattr(complexity, name) for name in FEATURES] == [
        4,
        1,
        3,
        0,
        False,
        False,
        4,
        2,
        0,
        0,
    ]
    assert complexity.bin == "simple"
    # "medium" begins at five fields, with a score of .33.
    assert complexity.score == pytest.approx(0.33 * 4 / 5)


def test_nested_sample_of_the_specification():
    complexity = compute_complexity(NESTED_SCHEMA)
    # Six leaves; the object around two of them is a path but not a field.
    assert [getattr(complexity, name) for name in FEATURES] == [6, 0, 6, 1, False, True, 7, 2, 0, 0]
    assert complexity.bin == "medium"
    # From 5 to 16 fields, the score rises from .33 to .67 in 11 equal steps.
    assert complexity.score == pytest.approx(0.33 + 0.34 / 11)


def test_schema_with_every_feature():
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
    complexity = compute_complexity(schema)
    assert [getattr(complexity, name) for name in FEATURES] == [8, 2, 6, 2, True, True, 10, 5, 3, 2]
    fields = map_fields_by_path(schema)
    assert list(fields) == [
        *("id", "state", "tags", "when", "lines", "lines[].what", "lines[].price"),
        *("lines[].price.amount", "lines[].price.paid", "extra"),
    ]
    assert fields["lines[].price.amount"].depth == 2
    assert fields["lines[].what"].required
    assert fields["when"].nullable
    assert fields["when"].types == ("string",)
    assert fields["state"].types == ("string",)
    assert fields["state"].nullable
    assert fields["lines[].price.paid"].types == ("boolean",)
    assert {path for path, field in fields.items() if field.kind == "holder"} == {
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
def test_fields_of_a_schema_are_listed(schema, fields, depth):
    schema_fields = map_fields_by_path(schema)
    assert [path for path, field in schema_fields.items() if field.kind == "field"] == fields
    assert compute_complexity(schema).max_nesting_depth == depth


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_fields_of_alternatives_are_merged(keyword):
    schema = {
        "properties": {"a": {"type": "string"}},
        keyword: [
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
            {"properties": {"a": {"type": "null"}, "c": {}}},
        ],
    }
    schema_fields = map_fields_by_path(schema)
    assert list(schema_fields) == ["a", "b", "c"]
    assert schema_fields["a"].nullable
    assert schema_fields["b"].required


def test_conditions_and_dependencies_add_fields_but_negation_does_not():
    schema = {
        "if": {"properties": {"kind": {"const": 1}}},
        "then": {"properties": {"a": {}}},
        "else": {"properties": {"b": {}}},
        "dependentSchemas": {"a": {"properties": {"c": {}}}},
        "not": {"properties": {"d": {}}},
    }
    assert list(map_fields_by_path(schema)) == ["a", "b", "c"]


def test_references_are_followed_and_recursion_stops():
    schema = {
        "properties": {"home": {"$ref": "#/$defs/place"}, "work": {"$ref": "#/$defs/place"}},
        "$defs": {
            "place": {
                "properties": {"town": {"type": "string"}, "part_of": {"$ref": "#/$defs/place"}}
            }
        },
    }
    schema_fields = map_fields_by_path(schema)
    assert list(schema_fields) == [
        *("home", "home.town", "home.part_of", "work", "work.town", "work.part_of")
    ]
    assert schema_fields["home.part_of"].kind == "field"
    recursive_schema = {"properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert [
        (field.path, field.kind) for field in map_fields_by_path(recursive_schema).values()
    ] == [("children", "field")]


def test_exponential_schema_is_counted_up_to_a_limit():
    definitions: dict[str, Any] = {"p0": {"type": "string"}}
    for n in range(1, 40):
        reference = {"$ref": f"#/$defs/p{n - 1}"}
        definitions[f"p{n}"] = {"properties": {"a": reference, "b": reference}}
    complexity = compute_complexity({"$ref": "#/$defs/p39", "$defs": definitions})  # 2**39 fields
    assert complexity.total_possible_paths == MAX_PATHS
    assert complexity.bin == "complex"


def test_unusable_schema_has_no_complexity():
    with pytest.raises(SchemaError):
        compute_complexity({"type": "nothing"})


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
def test_bins_match_the_specification(fields, depth, expected):
    complexity = compute_complexity(make_nested_schema(depth, fields))
    assert (complexity.total_fields, complexity.max_nesting_depth) == (fields, depth)
    assert complexity.bin == expected


@given(st.integers(0, 10**6), st.integers(0, 10**4))
def test_score_thresholds_match_the_specified_bins(fields: int, depth: int) -> None:
    score = max(score_field_count(fields), score_depth(depth))
    expected: Bin = "medium"
    if fields < 5 and depth <= 1:
        expected = "simple"
    elif fields > 15 or depth > 2:
        expected = "complex"
    assert complexity_bin(score) == expected
    assert 0 <= score < 1
    # The thresholds of the specification.
    assert (score < 0.33) == (expected == "simple")
    assert (score >= 0.67) == (expected == "complex")


@given(st.integers(0, 10**5), st.integers(1, 100))
def test_score_rises_with_fields_and_depth(number: int, increase: int) -> None:
    assert score_field_count(number) < score_field_count(number + increase)
    assert score_depth(number) < score_depth(number + increase)


def test_scores_match_manual_values():
    assert score_field_count(0) == 0
    assert score_field_count(2) == pytest.approx(0.132)
    assert score_field_count(5) == pytest.approx(0.33)
    assert score_field_count(16) == pytest.approx(0.67)
    assert score_field_count(32) == pytest.approx(1 - 0.33 / 2)
    assert [score_depth(n) for n in range(4)] == pytest.approx([0, 0.165, 0.5, 0.67])
    assert score_depth(6) == pytest.approx(1 - 0.33 / 2)


property_names = st.text(alphabet="abc.[]*", min_size=1, max_size=3)
generated_schemas = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": ["integer", "null"]}, {"enum": [1, "a"]}, True]),
    lambda inner: st.one_of(
        st.builds(
            lambda properties, num_required: {
                "properties": properties,
                "required": sorted(properties)[:num_required],
            },
            st.dictionaries(property_names, inner, max_size=4),
            st.integers(0, 2),
        ),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=12,
).filter(lambda schema: isinstance(schema, dict))


@given(generated_schemas)
def test_features_are_consistent(schema: dict[str, Any]) -> None:
    complexity = compute_complexity(schema)
    assert complexity.required_fields + complexity.optional_fields == complexity.total_fields
    assert 1 <= complexity.total_fields <= complexity.total_possible_paths
    assert complexity.enum_fields_count <= complexity.total_fields
    assert complexity.has_nested_objects or complexity.max_nesting_depth == 0
    assert 0 <= complexity.field_types_diversity <= 7
    assert complexity == compute_complexity({"title": "changes nothing", **schema})


@given(generated_schemas, st.randoms())
def test_key_order_does_not_matter(schema: dict[str, Any], random: Any) -> None:
    def shuffle_keys(value: Any) -> Any:
        if isinstance(value, dict):
            keys = sorted(value)
            random.shuffle(keys)
            return {key: shuffle_keys(value[key]) for key in keys}
        return [shuffle_keys(item) for item in value] if isinstance(value, list) else value

    assert compute_complexity(shuffle_keys(schema)) == compute_complexity(schema)


# Statistics of a set of samples.


def make_sample(number: int, schema: dict[str, Any], **properties: Any) -> Sample:
    return Sample(id=str(number), text="word " * number, schema=schema, expected={}, **properties)


def test_statistics_match_manual_values():
    samples = [
        make_sample(1, SIMPLE_SCHEMA, domain="people"),
        make_sample(2, dict(reversed(SIMPLE_SCHEMA.items())), domain="people", language="de"),
        make_sample(3, NESTED_SCHEMA),
        make_sample(
            6,
            {"$schema": "http://json-schema.org/draft-07/schema#", **make_nested_schema(3)},
            domain="law",
        ),
    ]
    summary = compute_statistics(samples, rejected=2)
    assert (summary.samples, summary.rejected, summary.schemas) == (4, 2, 3)
    assert summary.bins == {"simple": 2, "medium": 1, "complex": 1}
    assert summary.domains == {"people": 2, UNNAMED: 1, "law": 1}
    assert list(summary.domains) == ["people", UNNAMED, "law"]
    assert summary.languages == {"en": 3, "de": 1}
    assert summary.drafts == {"2020-12": 3, "07": 1}
    assert summary.field_types == {"string": 13, "integer": 2}
    assert summary.depths == {"0": 12, "1": 2, "3": 1}
    assert summary.required == {"optional": 13, "required": 2}
    assert summary.features["total_fields"].mean == (4 + 4 + 6 + 1) / 4
    assert summary.features["has_nested_objects"].mean == 0.5
    assert (summary.text_characters.least, summary.text_characters.most) == (5, 30)
    assert summary.text_words.median == 2.5
    assert summary.expected_characters.mean == 2


def test_formats_nullable_and_enumerated_fields_are_counted():
    schema = {
        "properties": {
            "a": {"type": "string", "format": "date"},
            "b": {"type": "array", "items": {"format": "date"}},
            "c": {"type": ["number", "null"]},
            "d": {"enum": ["x", None]},
            "e": {},
        }
    }
    summary = compute_statistics([make_sample(1, schema)])
    assert summary.formats == {"date": 2}
    assert (summary.nullable, summary.enumerated) == (2, 1)
    assert summary.field_types == {"string": 2, "(none)": 1, "array": 1, "number": 1}


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30))
def test_dispersion_matches_the_standard_library(lengths: list[int]) -> None:
    summary = compute_statistics([make_sample(n, SIMPLE_SCHEMA) for n in lengths]).text_words
    assert summary.mean == pytest.approx(statistics.fmean(lengths))
    assert summary.median == pytest.approx(statistics.median(lengths))
    assert (
        summary.least
        <= summary.lower_quartile
        <= summary.median
        <= summary.upper_quartile
        <= summary.most
    )
    assert math.isfinite(summary.mean)


def test_statistics_of_no_samples_are_refused():
    with pytest.raises(ValueError, match="no samples"):
        compute_statistics([])


def test_statistics_survive_a_json_round_trip():
    summary = compute_statistics(load_samples("shipped").samples)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=DatasetStatistics) == summary


def test_tables_name_their_counts_and_escape_control_characters():
    hostile_samples = [
        make_sample(n, SIMPLE_SCHEMA, domain=f"\x1b[2J[red]domain {n}") for n in range(1, 40)
    ]
    console = Console(width=120, force_terminal=False)
    with console.capture() as captured:
        for table in render_tables(compute_statistics(hostile_samples, rejected=7)):
            console.print(table)
    output = captured.get()
    assert "39 samples of 1 schema, 7 rows left out" in output
    assert "\x1b" not in output
    assert "[red]domain 1 " in output
    assert "19 others" in output
    for name in FEATURES:
        assert name.replace("_", " ") in output
