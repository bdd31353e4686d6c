"""Tests that the schema validator agrees with ``jsonschema`` on random schemas and values.

The random schemas leave out what the two libraries treat differently by design:

* ``pattern`` and ``patternProperties`` beyond simple patterns (Python's ``re`` differs from
  ECMA-262)
* ``format``, for which ``jsonschema`` needs one more package per format
* ``multipleOf`` with fractions (``jsonschema`` uses binary floats, Epoché decimals)
* references to other documents, which Epoché refuses
* ``unevaluatedItems``, which ``jsonschema`` does not track through ``contains`` in the same way
* ``additionalItems``, on which ``jsonschema`` fails if ``items: false`` is present

The paths of errors are compared only for keywords whose errors both libraries report at the same
path (``SAME_LOCATION``). ``jsonschema`` omits the last step of the path to a ``false`` subschema,
and reports errors within ``propertyNames`` differently.
"""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eval.extraction.schemas.schema_validator import SchemaValidator

NAMES = ("a", "b", "c")
DRAFTS = {
    "http://json-schema.org/draft-07/schema#": jsonschema.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema.Draft202012Validator,
}
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

SAME_LOCATION = frozenset(
    {"type", "enum", "const", "required", "minimum", "maximum", "minLength", "maxLength"}
    | {"pattern", "minItems", "maxItems", "uniqueItems", "anyOf", "not"}
)
OTHER_NAMES = {"dependentRequired": "required"}
"""Keywords of ``jsonschema`` that the validator reports by another name."""

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, -0.5, 2.5, 1e20, 10**20]),
    st.sampled_from(["", "a", "ab", "é", "👍", "abc"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=8,
)
SMALL_COUNTS = st.integers(0, 3)


def generate_simple_schemas() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES)
            | st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "minimum": st.integers(-3, 3),
            "maximum": st.integers(-3, 3) | st.just(2.5),
            "exclusiveMinimum": st.integers(-3, 3),
            "exclusiveMaximum": st.integers(-3, 3),
            "multipleOf": st.integers(1, 3),
            "minLength": SMALL_COUNTS,
            "maxLength": SMALL_COUNTS,
            "pattern": st.sampled_from(["a", "^a", "b$", "^ab?$"]),
            "minItems": SMALL_COUNTS,
            "maxItems": SMALL_COUNTS,
            "uniqueItems": st.booleans(),
            "minProperties": SMALL_COUNTS,
            "maxProperties": SMALL_COUNTS,
            "required": st.lists(st.sampled_from(NAMES), unique=True),
        },
    ).flatmap(
        lambda keywords: st.lists(st.sampled_from(sorted(keywords) or ["type"]), max_size=3).map(
            lambda names: {key: keywords[key] for key in names if key in keywords}
        )
    )


def generate_schemas(draft: str) -> st.SearchStrategy[Any]:
    is_2019_or_later = not draft.endswith("#")
    is_2020 = "2020" in draft

    def combine_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        subschema_lists = st.lists(inner, min_size=1, max_size=2)
        subschemas_by_name = st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)
        optional: dict[str, st.SearchStrategy[Any]] = {
            "properties": subschemas_by_name,
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b$"]), inner, max_size=1),
            "additionalProperties": inner,
            "propertyNames": st.fixed_dictionaries({"maxLength": SMALL_COUNTS}),
            "contains": inner,
            "allOf": subschema_lists,
            "anyOf": subschema_lists,
            "oneOf": subschema_lists,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "items": inner,
            "$ref": st.just("#/definitions/node"),
        }
        if is_2020:
            optional["prefixItems"] = subschema_lists
        else:
            optional["items"] = inner | subschema_lists
        if is_2019_or_later:
            optional["dependentRequired"] = st.dictionaries(
                st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), unique=True), max_size=1
            )
            optional["dependentSchemas"] = subschemas_by_name
            optional["minContains"] = SMALL_COUNTS
            optional["maxContains"] = SMALL_COUNTS
            optional["unevaluatedProperties"] = st.booleans()
        else:
            optional["dependencies"] = subschemas_by_name
        return st.tuples(
            generate_simple_schemas(),
            st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True).flatmap(
                lambda keys: st.fixed_dictionaries({key: optional[key] for key in keys})
            ),
        ).map(lambda pair: {**pair[0], **pair[1]})

    return st.recursive(st.booleans() | generate_simple_schemas(), combine_schemas, max_leaves=6)


@st.composite
def generate_cases(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any]]:
    draft = draw(st.sampled_from(sorted(DRAFTS)))
    schema = draw(generate_schemas(draft).filter(lambda candidate: isinstance(candidate, dict)))
    # The target of $ref is a recursive schema: an object that may contain such an object.
    node = {
        "type": ["object", "integer"],
        "properties": {"a": {"$ref": "#/definitions/node"}, "b": draw(generate_simple_schemas())},
    }
    return (
        {"$schema": draft, **schema, "definitions": {"node": node}},
        draw(st.lists(VALUES, min_size=1, max_size=6)),
    )


@settings(max_examples=150)
@given(generate_cases())
def test_validity_matches_the_library(case: tuple[dict[str, Any], list[Any]]) -> None:
    schema, instances = case
    library_class = DRAFTS[schema["$schema"]]
    library_class.check_schema(schema)
    library_validator = library_class(schema)
    validator = SchemaValidator.from_schema(schema)
    for value in instances:
        expected = library_validator.is_valid(value)
        assert validator.is_valid(value) == expected
        errors = validator.list_errors(value, max_errors=1000)
        assert (errors == ()) == expected


@settings(max_examples=75)
@given(generate_cases())
@example(
    (
        {
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "dependentRequired": {"a": ["a", "b"]},
        },
        [{"a": None}],
    )
)
def test_error_paths_match_the_library(case: tuple[dict[str, Any], list[Any]]) -> None:
    schema, instances = case
    library_validator = DRAFTS[schema["$schema"]](schema)
    validator = SchemaValidator.from_schema(schema)
    for value in instances:
        actual = {
            (own_error.path, own_error.keyword)
            for own_error in validator.list_errors(value, max_errors=1000)
            if own_error.keyword in SAME_LOCATION
        }
        expected = {
            ("".join(f"/{step}" for step in error.absolute_path), keyword)
            for error in library_validator.iter_errors(value)
            if (keyword := OTHER_NAMES.get(error.validator, error.validator)) in SAME_LOCATION
            and "propertyNames" not in error.absolute_schema_path
        }
        assert actual == expected


@pytest.mark.parametrize("draft", sorted(DRAFTS))
def test_type_checks_match_the_library(draft: str) -> None:
    for name in TYPES:
        validator = SchemaValidator.from_schema({"$schema": draft, "type": name})
        library_validator = DRAFTS[draft]({"type": name})
        for value in (None, True, 0, 1.0, 1.5, 10**30, "", [], {}):
            assert validator.is_valid(value) == library_validator.is_valid(value), (name, value)
