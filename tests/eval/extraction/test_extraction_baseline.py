"""Tests the rules of the baseline extractor: what they find, robustness and run time."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.extraction.baseline.extractor import Baseline
from eval.extraction.baseline.spans import MAX_SPANS, find_spans, parse_number
from eval.extraction.baseline.text_index import TextIndex, is_denied
from eval.extraction.samples.loader import load_samples, shipped_folder
from eval.extraction.schemas.schema_validator import SchemaValidator
from eval.extraction.scorer import score_sample
from eval.extraction.systems.prompt_builder import PromptBuilder


def extract_fields(text: str, **properties: Any) -> Any:
    schema = {"type": "object", "properties": properties}
    return Baseline().extract(text, schema)


LETTER = (
    "Invoice 77-40193 of 3 March 2026\n"
    "Customer: Gwen Ashdown; contact gwen@lamps.example, phone 01632 960544\n"
    "We charge EUR 1,234.50 for delivery within 12 days. The lamp is not returned.\n"
    "Status: paid. See https://lamps.example/a?b=1.\n"
)


@pytest.mark.parametrize(
    ("name", "schema", "expected"),
    [
        ("invoice_date", {"type": "string", "format": "date"}, "2026-03-03"),
        ("email", {"type": "string", "format": "email"}, "gwen@lamps.example"),
        ("contactPhone", {"type": "string"}, "01632 960544"),
        ("website", {"type": "string", "format": "uri"}, "https://lamps.example/a?b=1"),
        ("charge_eur", {"type": "number"}, 1234.5),
        ("delivery_days", {"type": "integer"}, 12),
        ("customer", {"type": "string"}, "Gwen Ashdown"),
        ("lamp_returned", {"type": "boolean"}, False),
        ("status", {"type": "string", "enum": ["open", "paid"]}, "paid"),
        ("invoice", {"type": "string", "pattern": "^[0-9]{2}-[0-9]{5}$"}, "77-40193"),
        ("colour", {"type": "string", "enum": ["red", "blue"]}, None),
        ("altitude_m", {"type": "integer", "minimum": 5000}, None),
    ],
)
def test_field_gets_the_candidate_next_to_its_name(
    name: str, schema: dict[str, Any], expected: Any
) -> None:
    assert extract_fields(LETTER, **{name: schema}).get(name) == expected


def test_table_rows_become_objects() -> None:
    text = "Our stock\n\nItem   Count   Colour\nlamps   3   red\ncables   12   blue\n"
    item = {
        "type": "object",
        "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["count"],
    }
    extraction = extract_fields(text, stock={"type": "array", "items": item})
    assert [row["count"] for row in extraction["stock"]] == [3, 12]


def test_enumeration_in_the_text_becomes_an_array() -> None:
    extraction = extract_fields(
        "Colours: white, graphite and blue", colours={"type": "array", "items": {"type": "string"}}
    )
    assert extraction == {"colours": ["white", "graphite", "blue"]}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("1,234.5", 1234.5), ("1.234,5", 1234.5), ("1,234", 1234), ("0,5", 0.5), ("-7", -7)),
        *(("\u22123", -3), ("12 000", 12000), ("x", None), ("3.0", 3.0)),
    ],
)
def test_number_formats_are_parsed(text: str, number: float | None) -> None:
    assert parse_number(text) == number


def test_date_without_year_takes_the_year_of_the_text() -> None:
    dates = [span.value for span in find_spans("On 3 May we met; by 4 June 2025 it was over.")]
    assert "2025-05-03" in dates
    assert "2025-06-04" in dates


def test_negations_are_recognised_in_several_languages() -> None:
    assert all(map(is_denied, ("It is not so", "no dogs", "they don't", "kein Hund", "sans sel")))
    assert not is_denied("a note of notice")


def test_baseline_does_not_see_the_expected_output() -> None:
    assert list(inspect.signature(Baseline.extract).parameters) == ["self", "text", "schema"]
    for sample in load_samples(shipped_folder(), limit=5).samples:
        schema_before = json.dumps(sample.schema)
        extraction = Baseline().extract(sample.text, sample.schema)
        assert extraction == Baseline().extract(sample.text, sample.schema)
        assert json.dumps(sample.schema) == schema_before


def test_baseline_finds_many_shipped_fields() -> None:
    """The limits detect broken rules; the values are far below the baseline's reported results."""
    tallies = [
        score_sample(sample, Baseline().extract(sample.text, sample.schema)).score.tally
        for sample in load_samples(shipped_folder(), limit=60).samples
    ]
    correct_fields = sum(tally.sum_credit("partial") for tally in tallies)
    assert correct_fields / sum(tally.expected for tally in tallies) > 0.25
    assert correct_fields / sum(tally.predicted for tally in tallies) > 0.3


SCHEMAS: list[Any] = [
    {},
    {"type": "string"},
    {"type": "array"},
    {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"next": {"$ref": "#/$defs/a"}}}}},
    {
        "properties": {
            "": {},
            "x" * 1000: {"type": "integer"},
            "Ünï \u202e": {"enum": [None, 1, []]},
        }
    },
    {"anyOf": [{"properties": {"a": {"const": "b"}}}, {"type": "null"}]},
    {"properties": {"a": {"type": "string", "pattern": "(a+)+$", "minLength": 3}}},
]


@settings(max_examples=60)
@given(st.text() | st.text(alphabet='0123456789.,:-/()+@"„“ aZ\n\t|'), st.sampled_from(SCHEMAS))
def test_any_text_and_schema_are_handled(text: str, schema: Any) -> None:
    extraction = Baseline().extract(text, schema)
    assert json.loads(json.dumps(extraction, allow_nan=False)) == extraction
    assert SchemaValidator.from_schema(schema).is_valid(extraction) in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "1" * 200_000,
        "1,111" * 40_000,
        "A B " * 50_000,
        "a@a." * 50_000,
        '"' * 100_000,
        "no " * 50_000,
        "x: y; " * 30_000,
        "+1 " * 60_000,
    ],
)
def test_long_hostile_texts_are_read_in_bounded_time(text: str) -> None:
    assert len(find_spans(text[:50_000])) <= 2 * MAX_SPANS
    # A pattern with catastrophic backtracking would not end.
    extract_fields(text, amount={"type": "number"}, name={"type": "string"})


def test_nearer_cue_scores_higher() -> None:
    text_index = TextIndex("weight 5 and height 7")
    near_score = text_index.score_nearness(
        text_index.text.index("5"), text_index.text.index("5") + 1, {"weight": 1.0}
    )
    far_score = text_index.score_nearness(
        text_index.text.index("7"), text_index.text.index("7") + 1, {"weight": 1.0}
    )
    assert near_score > far_score > 0


def test_prompt_placeholders_are_filled_once() -> None:
    builder = PromptBuilder("s {schema}", "{text}|{other}|{text.__class__}|{{text}}|{schema}")
    schema = {"type": "object", "x-match": "set", "title": "{text}"}
    system, user = builder.build_messages("T {schema} {text}", schema)
    printed_schema = json.dumps({"type": "object", "title": "{text}"}, indent=2)
    assert system == {"role": "system", "content": f"s {printed_schema}"}
    filled_text = "T {schema} {text}"
    assert (
        user["content"]
        == f"{filled_text}|{{other}}|{{text.__class__}}|{{{filled_text}}}|{printed_schema}"
    )
    assert [turn["role"] for turn in PromptBuilder(" \n", "{text}").build_messages("x", {})] == [
        "user"
    ]
