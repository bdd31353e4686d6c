"""Tests that schemas are validated correctly, in bounded time and without remote requests."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.extraction.schemas.schema_graph import MAX_CHECKS_PER_VALUE
from eval.extraction.schemas.schema_validator import (
    MAX_BACKTRACKING_CHARACTERS,
    MAX_PATTERN_LENGTH,
    MAX_SCHEMA_DEPTH,
    MAX_VALUE_DEPTH,
    SchemaValidator,
)
from eval.extraction.schemas.schema_wrappers import unwrap_schema
from kg.base.errors import SchemaError

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"

INVOICE_SCHEMA = {
    "type": "object",
    "properties": {
        "number": {"type": "string", "pattern": "^INV-[0-9]+$"},
        "due": {"type": "string", "format": "date"},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "price": {"type": "number"}},
                "required": ["what"],
            },
        },
    },
    "required": ["number"],
    "additionalProperties": False,
}


def nest_value(levels: int, leaf: Any = 1) -> Any:
    for _ in range(levels):
        leaf = {"c": leaf}
    return leaf


# Errors: path, keyword and message.


def test_a_valid_value_has_no_errors():
    validator = SchemaValidator.from_schema(INVOICE_SCHEMA)
    value = {"number": "INV-7", "due": "2026-02-28", "lines": [{"what": "nails", "price": 3}]}
    assert validator.is_valid(value)
    assert validator.list_errors(value) == ()


@pytest.mark.parametrize(
    ("value", "path", "keyword", "message"),
    [
        ({}, "", "required", '"number" is a required property'),
        ({"number": 7}, "/number", "type", 'is not of type "string"'),
        ({"number": "7"}, "/number", "pattern", "does not match"),
        ({"number": "INV-1", "due": "2026-02-30"}, "/due", "format", 'is not a "date"'),
        ({"number": "INV-1", "lines": [{"what": "a"}, {}]}, "/lines/1", "required", '"what"'),
        ({"number": "INV-1", "a/b~c": 1}, "", "additionalProperties", "a/b~c"),
        ([], "", "type", 'is not of type "object"'),
    ],
)
def test_error_has_path_keyword_and_message(value, path, keyword, message):
    (error,) = SchemaValidator.from_schema(INVOICE_SCHEMA).list_errors(value)
    assert (error.path, error.keyword) == (path, keyword)
    assert message in error.message
    assert not SchemaValidator.from_schema(INVOICE_SCHEMA).is_valid(value)


def test_paths_are_json_pointers():
    schema = {"properties": {"a/b~c": {"items": {"type": "null"}}}}
    (error,) = SchemaValidator.from_schema(schema).list_errors({"a/b~c": [None, 1]})
    assert error.path == "/a~1b~0c/1"


def test_number_of_errors_is_limited():
    value = {"number": "INV-1", "lines": [{}] * 50}
    assert len(SchemaValidator.from_schema(INVOICE_SCHEMA).list_errors(value)) == 20
    assert len(SchemaValidator.from_schema(INVOICE_SCHEMA).list_errors(value, max_errors=3)) == 3


def test_messages_are_one_short_line_with_the_reason():
    hostile_text = "x\x1b[31m\n" * 5000
    (error,) = SchemaValidator.from_schema({"type": "integer"}).list_errors(hostile_text)
    assert len(error.message) <= 300
    assert error.message.isprintable()
    assert error.message.endswith('is not of type "integer"')


def test_formats_are_checked_by_default():
    schema = {"type": "string", "format": "email"}
    assert not SchemaValidator.from_schema(schema).is_valid("nobody")
    assert SchemaValidator.from_schema(schema, formats=False).is_valid("nobody")


# Drafts.


@pytest.mark.parametrize(
    ("identifier", "draft"),
    [
        ("http://json-schema.org/draft-04/schema#", "04"),
        ("http://json-schema.org/draft-06/schema", "06"),
        ("http://json-schema.org/schema#", "2020-12"),
        (DRAFT_07, "07"),
        (DRAFT_07.replace("http:", "https:").rstrip("#"), "07"),
        (DRAFT_2019, "2019-09"),
        (DRAFT_2020 + "#", "2020-12"),
        (None, "2020-12"),
    ],
)
def test_draft_is_the_named_one_or_2020_12(identifier, draft):
    schema = {"type": "object"} if identifier is None else {"$schema": identifier, "type": "object"}
    assert SchemaValidator.from_schema(schema).draft == draft


def test_draft_04_has_its_own_keywords():
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "http://example.org/order",
        "definitions": {"money": {"id": "#money", "minimum": 0, "exclusiveMinimum": True}},
        "properties": {
            "paid": {"$ref": "#money"},
            "due": {"$ref": "#/definitions/money"},
            "id": {"type": "string"},
        },
    }
    validator = SchemaValidator.from_schema(schema)
    assert validator.is_valid({"paid": 1, "due": 2, "id": "a"})
    assert [error.path for error in validator.list_errors({"paid": 0, "due": 0})] == [
        "/paid",
        "/due",
    ]


@pytest.mark.parametrize(
    ("schema", "draft"),
    [
        ({"properties": {"a": {"minimum": 0, "exclusiveMinimum": True}}}, "04"),
        ({"properties": {"a": {"items": [{"type": "string"}]}}}, "07"),
        ({"properties": {"a": {"exclusiveMinimum": 0}}}, "2020-12"),
    ],
)
def test_a_schema_that_names_no_draft_is_read_as_one_in_which_it_is_well_formed(schema, draft):
    assert SchemaValidator.from_schema(schema).draft == draft


def test_a_schema_malformed_in_every_draft_is_refused_as_of_the_newest():
    with pytest.raises(SchemaError, match="malformed"):
        SchemaValidator.from_schema({"properties": {"a": {"minimum": "0"}}})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"a": "string"}, "any value would be valid"),
        ({"name": {"type": "string"}, "age": {"type": "integer"}}, "any value would be valid"),
        ({"name": "order", "schema": INVOICE_SCHEMA}, "under 'schema'"),
        ({"name": "order", "schema_definition": INVOICE_SCHEMA}, "under 'schema_definition'"),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": INVOICE_SCHEMA}},
            "under 'json_schema.schema'",
        ),
        (
            {"type": "function", "function": {"name": "a", "parameters": INVOICE_SCHEMA}},
            "under 'function.parameters'",
        ),
    ],
)
def test_wrappers_and_objects_that_are_no_schemas_are_refused(schema, message):
    with pytest.raises(SchemaError, match=message):
        SchemaValidator.from_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [{}, {"title": "anything"}, {"x-match": "exact"}, {"definitions": {}}, {"minItems": 1}],
)
def test_schemas_with_few_keywords_are_accepted(schema):
    SchemaValidator.from_schema(schema)


def test_a_wrapper_is_unwrapped_only_if_it_has_one_schema():
    assert unwrap_schema({"name": "a", "schema": INVOICE_SCHEMA}) == (INVOICE_SCHEMA, "schema")
    for value in (
        INVOICE_SCHEMA,
        {"schema": INVOICE_SCHEMA, "parameters": INVOICE_SCHEMA},
        {"properties": {"schema": {"type": "string"}}},
        {"schema": {"a": "string"}},
        [INVOICE_SCHEMA],
    ):
        assert unwrap_schema(value) == (value, "")


def test_keywords_follow_the_draft():
    # A list of items is a tuple up to 2019-09; 2020-12 has prefixItems instead.
    draft_07_tuple = {"$schema": DRAFT_07, "items": [{"type": "integer"}, {"type": "string"}]}
    assert SchemaValidator.from_schema(draft_07_tuple).is_valid([1, "a"])
    assert not SchemaValidator.from_schema(draft_07_tuple).is_valid(["a", 1])
    draft_2020_tuple = {"$schema": DRAFT_2020, "prefixItems": [{"type": "integer"}], "items": False}
    assert SchemaValidator.from_schema(draft_2020_tuple).is_valid([1])
    assert not SchemaValidator.from_schema(draft_2020_tuple).is_valid([1, 2])
    # Draft-07 ignores keywords next to a $ref.
    ref_beside_type = {"definitions": {"a": {}}, "properties": {"p": {"$ref": "#/definitions/a"}}}
    ref_beside_type["properties"]["p"]["type"] = "string"
    assert SchemaValidator.from_schema({"$schema": DRAFT_07, **ref_beside_type}).is_valid({"p": 1})
    assert not SchemaValidator.from_schema({"$schema": DRAFT_2019, **ref_beside_type}).is_valid(
        {"p": 1}
    )
    # The draft 2019-09 introduced unevaluatedProperties, which draft-07 ignores.
    closed_schema = {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}
    assert not SchemaValidator.from_schema({"$schema": DRAFT_2019, **closed_schema}).is_valid(
        {"b": 1}
    )
    assert SchemaValidator.from_schema({"$schema": DRAFT_07, **closed_schema}).is_valid({"b": 1})


@pytest.mark.parametrize(
    "identifier",
    ["http://json-schema.org/draft-03/schema#", "draft-07", "", 7, "http://127.0.0.1/s"],
)
def test_other_drafts_are_refused(identifier):
    with pytest.raises(SchemaError, match="names an unsupported draft"):
        SchemaValidator.from_schema({"$schema": identifier})


# Schemas that cannot be used.


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ([], "must be a JSON object"),
        (True, "must be a JSON object"),
        ({"type": "strin"}, r"malformed.*\(/type\)"),
        ({"properties": {"a": {"minimum": "x"}}}, r"malformed.*\(/properties/a/minimum\)"),
        ({"properties": []}, "malformed"),
        ({"pattern": "["}, r"malformed.*regex"),
        ({"patternProperties": {"(": {}}}, "malformed"),
        ({"const": float("nan")}, "not JSON"),
        ({"const": float("inf")}, "not JSON"),
        ({"const": {1, 2}}, "not JSON"),
        ({"const": "\ud800"}, "lone surrogate"),
        ({"pattern": "a" * (MAX_PATTERN_LENGTH + 1)}, "longer than 1,000 characters"),
        ({"enum": ["a" * 1_000_001]}, "longer than 1,000,000 characters"),
        ({"$ref": "#/$defs/nope"}, "leads nowhere"),
        ({"$ref": "#nope"}, "leads nowhere"),
        ({"$ref": "#/enum/7", "enum": [1]}, "leads nowhere"),
        ({"$ref": "#/enum/0", "enum": [1]}, "leads nowhere"),
        ({"$ref": "other.json"}, "leads out of the schema"),
        ({"$ref": "file:///etc/passwd"}, "leads out of the schema"),
        ({"properties": {"a": {"$ref": "http://["}}}, "URI|leads out"),
        ({"$ref": "#"}, "back to itself"),
        ({"anyOf": [{"type": "integer"}, {"not": {"$ref": "#"}}]}, "back to itself"),
        ({"$dynamicRef": "#x", "$dynamicAnchor": "x"}, "back to itself"),
        ({"$schema": DRAFT_2019, "$recursiveRef": "#"}, "back to itself"),
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
            "back to itself",
        ),
    ],
)
def test_unusable_schema_is_refused(schema, message):
    with pytest.raises(SchemaError, match=message) as raised:
        SchemaValidator.from_schema(schema)
    assert raised.value.exit_code == 37


def test_schema_depth_is_limited():
    def nest_schema(levels: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        for _ in range(levels):
            schema = {"not": schema}
        return schema

    assert SchemaValidator.from_schema(nest_schema(MAX_SCHEMA_DEPTH - 1)).is_valid(1)
    for levels in (MAX_SCHEMA_DEPTH + 1, 900, 100_000):
        with pytest.raises(SchemaError, match="nested"):
            SchemaValidator.from_schema(nest_schema(levels))


# References.


def test_references_resolve_through_pointers_anchors_and_ids():
    schema = {
        "$id": "https://example.org/order",
        "properties": {
            "by_pointer": {"$ref": "#/$defs/a~1b"},
            "by_anchor": {"$ref": "#whole"},
            "by_id": {"$ref": "parts/price"},
            "in_id": {"$ref": "parts/price#/$defs/cents"},
            "by_address": {"$ref": "https://example.org/order#whole"},
        },
        "$defs": {
            "a/b": {"type": "boolean"},
            "whole": {"$anchor": "whole", "type": "integer"},
            "price": {
                "$id": "parts/price",
                "type": "number",
                "$defs": {"cents": {"type": "null"}},
            },
        },
    }
    validator = SchemaValidator.from_schema(schema)
    valid_value = {"by_pointer": True, "by_anchor": 1, "by_id": 0.5, "in_id": None, "by_address": 2}
    assert validator.is_valid(valid_value)
    for name in valid_value:
        assert [error.path for error in validator.list_errors({**valid_value, name: "wrong"})] == [
            f"/{name}"
        ]


def test_draft_07_keywords_are_supported():
    schema = {
        "$schema": DRAFT_07,
        "definitions": {"a": {"$id": "#money", "type": "number"}},
        "properties": {"price": {"$ref": "#money"}},
    }
    assert SchemaValidator.from_schema(schema).is_valid({"price": 1})
    assert not SchemaValidator.from_schema(schema).is_valid({"price": "1"})


class _SchemaServer(ThreadingHTTPServer):
    """Serves a schema that accepts everything, and records the requests."""

    def __init__(self) -> None:
        requested_paths: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requested_paths.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: object) -> None:
                """Suppresses request logging."""

        super().__init__(("127.0.0.1", 0), Handler)
        self.requested_paths = requested_paths


@pytest.fixture
def server():
    schema_server = _SchemaServer()
    thread = threading.Thread(target=schema_server.serve_forever, daemon=True)
    thread.start()
    yield schema_server
    schema_server.shutdown()
    schema_server.server_close()
    thread.join()


def test_remote_references_are_never_fetched(server):
    address = f"http://127.0.0.1:{server.server_port}"
    import urllib.request

    with urllib.request.urlopen(f"{address}/alive") as reply:
        assert reply.read() == b"{}"  # the server works, so it would record any request
    server.requested_paths.clear()
    hostile_schemas: list[dict[str, Any]] = [
        {"$ref": f"{address}/a"},
        {"$id": f"{address}/base", "$ref": "relative"},
        {"$id": f"{address}/base", "properties": {"a": {"$ref": "../up#/x"}}},
        {"$dynamicRef": f"{address}/a#x"},
        {"$schema": DRAFT_2019, "$recursiveRef": f"{address}/a"},
        {"$schema": f"{address}/meta"},
        {"$defs": {"unused": {"$ref": f"{address}/b"}}},
        {"unknown": {"$ref": f"{address}/c"}},
        {"properties": {"$ref": {"type": "string"}, "a": {"$schema": f"{address}/meta"}}},
        {"contentSchema": {"$ref": f"{address}/d"}, "contentMediaType": "application/json"},
        {"x": f"{address}/e", "$vocabulary": {f"{address}/v": True}},
    ]
    refused_count = 0
    for schema in hostile_schemas:
        for value in ({"a": 1, "$ref": f"{address}/value"}, "{}"):
            try:
                validator = SchemaValidator.from_schema(schema)
            except SchemaError:
                refused_count += 1
            else:
                validator.is_valid(value)
                validator.list_errors(value)
    # At least seven of these schemas are unusable, and each is tried with two values.
    assert refused_count >= 2 * 7
    assert server.requested_paths == []


def test_recursive_schema_follows_the_value():
    tree = {"type": "object", "properties": {"c": {"$ref": "#"}}, "additionalProperties": False}
    validator = SchemaValidator.from_schema(tree)
    assert validator.is_valid(nest_value(200, {}))
    (error,) = validator.list_errors(nest_value(200, {"d": 1}))
    assert error.path == "/c" * 200
    assert error.keyword == "additionalProperties"


@pytest.mark.parametrize("levels", [MAX_VALUE_DEPTH + 1, 100_000])
def test_too_deep_values_are_invalid_without_a_crash(levels):
    for schema in ({}, {"properties": {"c": {"$ref": "#"}}}):
        validator = SchemaValidator.from_schema(schema)
        value = nest_value(levels)
        assert not validator.is_valid(value)
        (error,) = validator.list_errors(value)
        assert error.keyword == "depth"


def test_a_long_chain_of_references_on_a_deep_value_fits_the_stack():
    # Each level of the value follows 16,000 references, and the deepest allowed value has 256
    # levels, so this is close to the worst case that the limits allow.
    links: dict[str, Any] = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(16_000)}
    links["a16000"] = {"properties": {"c": {"$ref": "#/$defs/a0"}}}
    validator = SchemaValidator.from_schema({"$defs": links, "$ref": "#/$defs/a0"})
    results = []
    thread = threading.Thread(target=lambda: results.append(validator.is_valid(nest_value(250))))
    thread.start()
    thread.join()
    assert results == [True]


def test_exponential_schemas_are_refused():
    def make_doubling_schema(levels: int) -> dict[str, Any]:
        definitions: dict[str, Any] = {"a0": {"type": "integer"}}
        for n in range(1, levels + 1):
            link = {"$ref": f"#/$defs/a{n - 1}"}
            definitions[f"a{n}"] = {"oneOf": [link, {"title": "again", "allOf": [link]}]}
        return {"$defs": definitions, "$ref": f"#/$defs/a{levels}"}

    # Both alternatives of oneOf accept 1, so not exactly one does.
    assert not SchemaValidator.from_schema(make_doubling_schema(8)).is_valid(1)
    with pytest.raises(SchemaError, match=f"more than {MAX_CHECKS_PER_VALUE:,} subschemas"):
        SchemaValidator.from_schema(make_doubling_schema(40))


def test_too_many_errors_are_summarised_as_one():
    child = {"properties": {"c": {"title": "again", "allOf": [{"$ref": "#"}]}}}
    validator = SchemaValidator.from_schema(
        {"type": ["object", "integer"], "allOf": [child, {**child, "title": ""}]}
    )
    assert len(validator.list_errors(nest_value(3, "x"), max_errors=100)) == 8
    started = time.perf_counter()
    (error,) = validator.list_errors(nest_value(200, "x"))
    assert error.keyword == "schema"
    # Each level doubles the errors, so a list of all of them would have 2**200 entries.
    assert time.perf_counter() - started < 30


def test_bound_on_the_number_of_errors_may_exceed_a_float():
    branches = [{"properties": {f"k{n}": {"$ref": "#"}}, "required": ["x"]} for n in range(600)]
    value = 1
    for _ in range(120):  # 600 ** 120 is more than 1e308, the largest float
        value = {"k0": value}
    (error,) = SchemaValidator({"anyOf": branches}).list_errors(value)
    assert "too many possible errors" in error.message


@pytest.mark.parametrize(
    "pattern",
    ["^(a+)+$", "(a|a)*b", "(a|aa)+$", "([a-zA-Z]+)*[0-9]$", "^(([a-z])+.)+[A-Z]([a-z])+$"],
)
def test_regular_expressions_match_in_linear_time(pattern):
    validator = SchemaValidator.from_schema({"type": "string", "pattern": pattern})
    started = time.perf_counter()
    assert not validator.is_valid("a" * 1_000_000 + "!")
    # A backtracking matcher would need exponential time for these patterns.
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize("pattern", [r"(a+)+\1b", r"(?=a*b)c", r"(?<=a)(?:a+)+$(?!x)"])
def test_backtracking_regular_expressions_are_stopped(pattern):
    validator = SchemaValidator.from_schema({"type": "string", "pattern": pattern})
    started = time.perf_counter()
    for length in (30, 3000, MAX_BACKTRACKING_CHARACTERS - 1, 1_000_000):
        (error,) = validator.list_errors("a" * length + "!")
        assert error.keyword == "pattern"
    assert time.perf_counter() - started < 30


def test_cheap_lookaround_works():
    validator = SchemaValidator.from_schema({"pattern": r"^(?=.*\d)(?=.*[A-Z]).{8,}$"})
    assert validator.is_valid("Secret-77")
    assert not validator.is_valid("secret-77")


def test_too_many_regular_expressions_are_refused():
    def make_schema_with_patterns(count: int, pattern: str) -> dict[str, Any]:
        return {"properties": {f"p{n}": {"pattern": f"{pattern}{n}"} for n in range(count)}}

    SchemaValidator.from_schema(make_schema_with_patterns(200, "a"))
    with pytest.raises(SchemaError, match="201 regular expressions"):
        SchemaValidator.from_schema(make_schema_with_patterns(201, "a"))
    with pytest.raises(SchemaError, match="21 of them with lookaround"):
        SchemaValidator.from_schema(make_schema_with_patterns(21, "(?=a)"))


# Values that cannot be written as JSON.


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), ""),
        ({"a": [1, float("-inf")]}, "/a/1"),
        ({1: 2}, ""),
        ({"a": {"b\ud800": 1}}, "/a"),
        (["\udfff"], "/0"),
        ({"a": (1, 2)}, "/a"),
        ({"a": {1, 2}}, "/a"),
        (object(), ""),
    ],
)
def test_values_that_are_not_json_are_invalid(value, path):
    validator = SchemaValidator.from_schema({})
    assert not validator.is_valid(value)
    (error,) = validator.list_errors(value)
    assert (error.path, error.keyword) == (path, "json")


def test_reported_path_does_not_depend_on_the_order_of_keys():
    first, second = float("inf"), float("nan")
    validator = SchemaValidator.from_schema({})
    for value in ({"a": first, "b": second}, {"b": second, "a": first}):
        (error,) = validator.list_errors(value)
        assert (error.path, error.message) == ("/a", "inf is not a JSON number")


def test_huge_numbers_are_compared_exactly():
    validator = SchemaValidator.from_schema({"type": "integer", "maximum": 10**30})
    assert validator.is_valid(10**30)
    assert not validator.is_valid(10**30 + 1)
    assert not validator.is_valid(10**300)


def test_a_wide_value_is_checked():
    validator = SchemaValidator.from_schema({"additionalProperties": {"type": "integer"}})
    wide_value: dict[str, Any] = {f"k{n}": n for n in range(100_000)}
    assert validator.is_valid(wide_value)
    wide_value["k7"] = "x"
    (error,) = validator.list_errors(wide_value)
    assert error.path == "/k7"


# The cache of validators, and arbitrary schemas.

KEYWORDS = (
    *("type", "properties", "items", "$ref", "$id", "$anchor", "$defs", "anyOf", "not", "required"),
    *("pattern", "format", "enum", "const", "patternProperties", "additionalProperties"),
    *("$dynamicRef", "$recursiveRef", "dependencies", "minLength", "a"),
)


def test_equal_schemas_share_one_validator():
    assert SchemaValidator.from_schema({"type": "string"}) is SchemaValidator.from_schema(
        {"type": "string"}
    )
    assert SchemaValidator.from_schema({"type": "string"}) is not SchemaValidator.from_schema(
        {"type": "integer"}
    )
    assert SchemaValidator.from_schema({"format": "date"}) is not SchemaValidator.from_schema(
        {"format": "date"}, formats=False
    )


def test_later_changes_to_a_schema_have_no_effect():
    schema: dict[str, Any] = {"type": "string", "title": "to be changed"}
    validator = SchemaValidator.from_schema(schema)
    schema["type"] = "integer"
    assert validator.is_valid("a")
    assert SchemaValidator.from_schema(schema).is_valid(1)
    assert not SchemaValidator.from_schema(schema).is_valid("a")


def test_validator_is_thread_safe():
    schema = {"title": "threads", **INVOICE_SCHEMA}
    validators: list[SchemaValidator] = []
    threads = [
        threading.Thread(
            target=lambda: validators.append(SchemaValidator.from_schema(dict(schema)))
        )
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, validators))) == 1


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=4)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(KEYWORDS) | st.text(max_size=3),
                inner,
                max_size=4,
            ),
        ),
        max_leaves=20,
    )
)
def test_any_schema_is_used_or_refused(schema):
    try:
        validator = SchemaValidator.from_schema(schema)
    except SchemaError:
        return
    for value in (schema, None, {"a": [1]}, json.dumps(schema)):
        assert validator.is_valid(value) == (validator.list_errors(value) == ())
