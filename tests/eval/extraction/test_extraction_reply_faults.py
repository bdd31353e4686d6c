"""Tests what is said of replies that are not JSON, and texts that are read all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.extraction.samples.gold import load_gold
from eval.extraction.samples.prediction_files import PredictedSystem, read_system
from eval.extraction.samples.sample_names import SampleNames
from eval.extraction.verdicts.reply_faults import describe_fault
from eval.extraction.view import read_extraction
from eval.harness.predictions.reader import PredictionFile, PredictionFormat
from eval.harness.predictions.rows import iter_rows
from kg.base.errors import RecordError
from kg.base.strict_json import NotJsonError, parse_json

GOLD = {"name": "Ada", "address": {"city": "Bonn", "number": 3}}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "number": {"type": "integer"}},
        },
    },
}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a": 1,\n "b": "x', "it is cut off: the text ends before the JSON does"),
        ('Here:\n```json\n{"a": [1, 2', "it is cut off: the text ends before the JSON does"),
        ('{"a": [1, 2]', "it is cut off: the text ends before the JSON does"),
        ('{"a": 1,\n}', "a comma before the closing bracket at line 2, column 1"),
        ('Here: {"a": [1,]}', "a comma before the closing bracket at line 1, column 16"),
        ('{"a": "x\ny"}', "Invalid control character at line 1, column 9"),
        ("{'a': 1}", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ("{a: 1}", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ("I cannot extract that.", "only words, “I cannot extract that.”"),
        ("name: Ada", "only words, “name: Ada”"),
        (
            '```\n{"a": 1}\n```\nor\n```\n{"a": 2}\n```',
            "it has several JSON values, and nothing says which one is meant",
        ),
        ('<think>{"a": 1}</think>\n{"a": 2,}', "a comma before the closing bracket at line 2, co"),
    ],
)
def test_the_fault_of_a_reply_is_named_with_its_place(text: str, fault: str) -> None:
    problem = read_extraction(text).problem
    assert problem.startswith("not JSON")
    assert describe_fault(text, problem).startswith(f"not JSON: {fault}")
    # What was said before stays.
    assert describe_fault(text, f"cut off at max_tokens; {problem}").startswith("cut off at max_")


@pytest.mark.parametrize("text", ["", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 300 + "]" * 300])
def test_other_faults_keep_their_words(text: str) -> None:
    problem = read_extraction(text).problem
    assert describe_fault(text, problem) == problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n"b', "Unterminated string starting at line 2"),
        ('{"a": "\n"}', "Invalid control character at column 8"),
        ("[1", "Expecting ',' delimiter at column 3"),
    ],
)
def test_a_reason_that_ends_with_a_place_has_one(text: str, message: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        parse_json(text)
    assert str(caught.value) == message


def test_a_broken_line_has_one_number(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text('{"id": "1",\n{"id": "2"}\n')
    with pytest.raises(RecordError) as caught:
        list(iter_rows(path))
    assert caught.value.where.endswith("broken.jsonl:1")
    assert "line" not in caught.value.what


def read(tmp_path: Path, name: str, text: str) -> PredictedSystem:
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "a.json").write_text(json.dumps(GOLD))
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    samples = load_gold(str(tmp_path / "gold"), schema=schema).samples
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    form = PredictionFormat(value="value", noun="sample", read_value=read_extraction)
    file = PredictionFile("s", path.parent if name.startswith("runs/") else path)
    return read_system(file, SampleNames(samples), form)


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        (
            "p.csv",
            "id,name,address.city,address.number\na,Ada,Bonn,3\n",
            "address.city and address.number",
        ),
        ("p.jsonl", json.dumps({"id": "a", "raw": json.dumps(GOLD)}), "from the field 'raw'"),
        (
            "p.jsonl",
            json.dumps({"id": "a", "value": json.dumps(json.dumps(GOLD))}),
            "of 1 of 1, its JSON is a text with JSON, which was read",
        ),
        ("runs/a.json", json.dumps(json.dumps(GOLD)), "of 1 of 1, its JSON is a text with JSON"),
    ],
)
def test_what_is_unwrapped_is_read_and_named(
    tmp_path: Path, name: str, text: str, note: str
) -> None:
    system = read(tmp_path, name, text)
    (reply,) = system.predictions.replies
    assert reply.value == GOLD
    assert any(note in one for one in system.notes)


def test_a_column_with_a_point_beside_its_object_stays_one(tmp_path: Path) -> None:
    system = read(tmp_path, "p.csv", "id,name,address,address.city\na,Ada,Bonn,Bonn\n")
    value: Any = system.predictions.replies[0].value
    assert value == {"name": "Ada", "address": "Bonn", "address.city": "Bonn"}


def test_a_column_below_another_that_is_split_stays_one(tmp_path: Path) -> None:
    system = read(tmp_path, "p.csv", "id,name,address.city,address.city.zip\na,Ada,Bonn,531\n")
    value: Any = system.predictions.replies[0].value
    assert value == {"name": "Ada", "address": {"city": "Bonn"}, "address.city.zip": "531"}


def test_a_text_that_can_be_parsed_keeps_its_problem() -> None:
    assert describe_fault('{"a": "\ud800"}', "not JSON: no character") == "not JSON: no character"
