"""The validator agrees with the pure-Python ``jsonschema`` library on random schemas and values.

Left out, because the two libraries differ there by design: ``pattern`` and ``patternProperties``
beyond plain letters (Python's ``re`` is no ECMA-262), ``format`` (``jsonschema`` needs a package a
format), ``multipleOf`` of fractions (binary floats there, decimals here), references to other
documents (refused here), ``unevaluatedItems``, which ``jsonschema`` does not track through
``contains`` in the same way, and ``additionalItems``, on which it fails beside ``items: false``.
Where an error stands is compared for keywords that both report alike: ``jsonschema`` leaves the
last step off the path of a ``false`` subschema, and names what is wrong inside ``propertyNames``.
"""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
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

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, -0.5, 2.5, 1e20, 10**20]),
    st.sampled_from(["", "a", "ab", "é", "👍", "abc"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=8,
)
small = st.integers(0, 3)


def simple_keyword_schemas() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES)
            | st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
            "enum": st.lists(values, min_size=1, max_size=3),
            "const": values,
            "minimum": st.integers(-3, 3),
            "maximum": st.integers(-3, 3) | st.just(2.5),
            "exclusiveMinimum": st.integers(-3, 3),
            "exclusiveMaximum": st.integers(-3, 3),
            "multipleOf": st.integers(1, 3),
            "minLength": small,
            "maxLength": small,
            "pattern": st.sampled_from(["a", "^a", "b$", "^ab?$"]),
            "minItems": small,
            "maxItems": small,
            "uniqueItems": st.booleans(),
            "minProperties": small,
            "maxProperties": small,
            "required": st.lists(st.sampled_from(NAMES), unique=True),
        },
    ).flatmap(
        lambda all_of: st.lists(st.sampled_from(sorted(all_of) or ["type"]), max_size=3).map(
            lambda kept: {key: all_of[key] for key in kept if key in all_of}
        )
    )


def generate_schemas(draft: str) -> st.SearchStrategy[Any]:
    newer = not draft.endswith("#")
    newest = "2020" in draft

    def combine_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        some = st.lists(inner, min_size=1, max_size=2)
        named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)
        optional: dict[str, st.SearchStrategy[Any]] = {
            "properties": named,
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b$"]), inner, max_size=1),
            "additionalProperties": inner,
            "propertyNames": st.fixed_dictionaries({"maxLength": small}),
            "contains": inner,
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "items": inner,
            "$ref": st.just("#/definitions/node"),
        }
        if newest:
            optional["prefixItems"] = some
        else:
            optional["items"] = inner | some
        if newer:
            optional["dependentRequired"] = st.dictionaries(
                st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), unique=True), max_size=1
            )
            optional["dependentSchemas"] = named
            optional["minContains"] = small
            optional["maxContains"] = small
            optional["unevaluatedProperties"] = st.booleans()
        else:
            optional["dependencies"] = named
        return st.tuples(
            simple_keyword_schemas(),
            st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True).flatmap(
                lambda keys: st.fixed_dictionaries({key: optional[key] for key in keys})
            ),
        ).map(lambda pair: {**pair[0], **pair[1]})

    return st.recursive(st.booleans() | simple_keyword_schemas(), combine_schemas, max_leaves=6)


@st.composite
def generate_cases(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any]]:
    draft = draw(st.sampled_from(sorted(DRAFTS)))
    schema = draw(generate_schemas(draft).filter(lambda made: isinstance(made, dict)))
    # What $ref names: an object that may hold itself again, one level down.
    node = {
        "type": ["object", "integer"],
        "properties": {"a": {"$ref": "#/definitions/node"}, "b": draw(simple_keyword_schemas())},
    }
    return (
        {"$schema": draft, **schema, "definitions": {"node": node}},
        draw(st.lists(values, min_size=1, max_size=6)),
    )


@settings(max_examples=150)
@given(generate_cases())
def test_validity_matches_the_library(case: tuple[dict[str, Any], list[Any]]) -> None:
    schema, instances = case
    library = DRAFTS[schema["$schema"]]
    library.check_schema(schema)
    oracle = library(schema)
    check = SchemaValidator.from_schema(schema)
    for value in instances:
        expected = oracle.is_valid(value)
        assert check.is_valid(value) == expected
        found = check.list_errors(value, max_errors=1000)
        assert (found == ()) == expected


@settings(max_examples=75)
@given(generate_cases())
def test_error_paths_match_the_library(case: tuple[dict[str, Any], list[Any]]) -> None:
    schema, instances = case
    oracle = DRAFTS[schema["$schema"]](schema)
    check = SchemaValidator.from_schema(schema)
    for value in instances:
        ours = {
            (found.path, found.keyword)
            for found in check.list_errors(value, max_errors=1000)
            if found.keyword in SAME_LOCATION
        }
        theirs = {
            ("".join(f"/{step}" for step in error.absolute_path), error.validator)
            for error in oracle.iter_errors(value)
            if error.validator in SAME_LOCATION
            and "propertyNames" not in error.absolute_schema_path
        }
        assert ours == theirs


@pytest.mark.parametrize("draft", sorted(DRAFTS))
def test_type_checks_match_the_library(draft: str) -> None:
    for name in TYPES:
        check = SchemaValidator.from_schema({"$schema": draft, "type": name})
        oracle = DRAFTS[draft]({"type": name})
        for value in (None, True, 0, 1.0, 1.5, 10**30, "", [], {}):
            assert check.is_valid(value) == oracle.is_valid(value), (name, value)
