"""Tests gold in records with metadata, and in objects of id → gold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.extraction.samples.gold import load_gold
from eval.extraction.samples.gold_records import list_gold_rows
from eval.extraction.samples.prediction_files import read_system
from eval.extraction.samples.sample_names import SampleNames
from eval.extraction.scorer import score_sample
from eval.extraction.view import read_extraction
from eval.harness.predictions.reader import PredictionFile, PredictionFormat

ADA, EVE, BOB = ({"name": name, "age": age} for name, age in (("Ada", 36), ("Eve", 1), ("Bob", 7)))
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}


def write_gold(folder: Path, documents: dict[str, Any]) -> Path:
    folder.mkdir()
    for name, value in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return folder


@pytest.mark.parametrize("has_schema", [True, False])
def test_gold_is_taken_out_of_records_with_metadata(tmp_path: Path, has_schema: bool) -> None:
    about = {"category": "easy", "currency": "EUR", "file": "scan.pdf", "tags": []}
    documents = {
        name: {"doc_id": name, **about, "expected": gold} for name, gold in (("a", ADA), ("b", EVE))
    }
    folder = write_gold(tmp_path / "gold", documents)
    schema_path = tmp_path / "schema.json"
    schema_path.write_text(json.dumps(SCHEMA), encoding="utf-8")
    loaded = load_gold(str(folder), schema=schema_path if has_schema else None)
    assert [(one.id, one.expected, one.domain) for one in loaded.samples] == [
        ("a", ADA, "easy"),
        ("b", EVE, "easy"),
    ]
    assert "gold of 2 documents of 2 is taken from under 'expected' of its record" in loaded.notes
    one = load_gold(str(folder / "a.json"))
    assert one.samples[0].expected == ADA
    assert "gold of 1 document of 1 is taken from under 'expected' of its record" in one.notes


@pytest.mark.parametrize("has_schema", [True, False])
def test_an_object_of_id_and_gold_has_several_samples(tmp_path: Path, has_schema: bool) -> None:
    folder = write_gold(tmp_path / "gold", {"all": {"a": ADA, "b": EVE, "c": BOB}})
    schema_path = tmp_path / "schema.json"
    schema_path.write_text(json.dumps(SCHEMA), encoding="utf-8")
    schema = schema_path if has_schema else None
    for source in (folder, folder / "all.json"):
        loaded = load_gold(str(source), schema=schema)
        assert {one.id: one.expected for one in loaded.samples} == {"a": ADA, "b": EVE, "c": BOB}
        assert "gold of 1 document of 1 is taken from an object of id → gold" in loaded.notes


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        # A field may be called like a column, and gold may have the key of a record.
        ({"test": "T1", "expected": {"x": 1}, "measured": {"x": 2}}, ()),
        ({"name": "Ada", "data": {"x": 1}}, ()),
        ({"item": {"sku": "A"}, "total": 3}, ("item", "total")),
        ({"name": "Ada", "expected": {"x": 1}}, ("name", "age")),
        ({"gold": {"karat": 1}, "silver": {"karat": 2}}, ()),
        ({"id": "i1", "item": {"sku": 1}, "price": 4}, ()),
        ({"path": "a/b", "label": {"text": "x"}, "amount": 2}, ()),
        # Two objects alike may be fields; others are not alike.
        ({"buyer": ADA, "seller": EVE}, ()),
        ({"a": ADA, "b": EVE, "total": 3}, ()),
        ({"a": ADA, "b": {"name": "Eve"}, "c": BOB}, ()),
        ({"name": {"first": "Ada"}, "age": {"years": 3}}, ("name", "age")),
        ({}, ("name",)),
    ],
)
def test_other_gold_is_taken_whole(value: Any, declared: tuple[str, ...]) -> None:
    found = list_gold_rows(value, "a", frozenset(declared))
    assert (found.rows, found.place) == ([{"id": "a", "expected_output": value}], "")


def test_an_explicit_null_in_gold_says_without_a_schema_that_there_is_no_value(
    tmp_path: Path,
) -> None:
    gold = {"a": "x", "b": None, "c": None, "d": {"e": None}, "f": []}
    folder = write_gold(tmp_path / "gold", {"1": gold})
    (sample,) = load_gold(str(folder)).samples
    left_out = score_sample(sample, {"a": "x", "b": None}).score.tally
    assert (left_out.left_out, left_out.absent, left_out.spurious) == (4, 4, 0)
    invented = score_sample(sample, {"a": "x", "c": "made up", "f": [], "g": None}).score
    assert (invented.tally.left_out, invented.tally.absent, invented.tally.spurious) == (3, 4, 1)
    assert invented.by["name"]["b"].left_out == 1


@pytest.mark.parametrize("source", [".", "gold"])
def test_gold_of_the_same_name_in_two_folders_is_scored_together(
    tmp_path: Path, source: str
) -> None:
    for kind in ("gold", "runs"):
        for group, value in (("x", ADA), ("y", EVE)):
            path = tmp_path / kind / group / "bill.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(value))
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    samples = load_gold(
        str(tmp_path / source), schema=tmp_path / "schema.json", predictions=[tmp_path / "runs"]
    ).samples
    assert {one.id: one.expected for one in samples} == {"x/bill": ADA, "y/bill": EVE}
    form = PredictionFormat(value="value", noun="sample", read_value=read_extraction)
    file = PredictionFile("s", tmp_path / "runs")
    replies = read_system(file, SampleNames(samples), form).predictions.replies
    assert {reply.id: reply.value for reply in replies} == {"x/bill": ADA, "y/bill": EVE}


@pytest.mark.parametrize(
    "other",
    [
        {"model": {"name": "gpt"}, "dataset": {"name": "x"}},
        {"run": {"name": "gpt"}},
        {"a": {"name": "Ada", "url": "x"}},
    ],
)
def test_an_object_with_a_field_in_its_objects_is_no_gold_beside_gold(
    tmp_path: Path, other: Any
) -> None:
    folder = write_gold(tmp_path / "gold", {"0other": other, "a": ADA, "b": EVE, "schema": SCHEMA})
    loaded = load_gold(str(folder))
    assert {one.id: one.expected for one in loaded.samples} == {"a": ADA, "b": EVE}
    assert not loaded.rejected
    assert any("0other.json" in note and "left out" in note for note in loaded.notes)


def test_an_object_of_id_and_whole_gold_is_read_beside_gold(tmp_path: Path) -> None:
    folder = write_gold(tmp_path / "gold", {"a": ADA, "more": {"b": EVE, "c": BOB}})
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    samples = load_gold(str(folder)).samples
    assert {one.id: one.expected for one in samples} == {"a": ADA, "b": EVE, "c": BOB}


def test_parts_alike_of_several_documents_without_a_schema_are_fields(tmp_path: Path) -> None:
    balance = {key: {"current": 1, "prior": 2} for key in ("assets", "debt", "equity")}
    folder = write_gold(tmp_path / "gold", {"a": balance, "b": balance})
    samples = load_gold(str(folder)).samples
    assert {one.id: one.expected for one in samples} == {"a": balance, "b": balance}


@pytest.mark.parametrize("source", [".", "gold"])
def test_predictions_below_gold_of_the_same_name_are_no_gold(tmp_path: Path, source: str) -> None:
    folder = write_gold(tmp_path / "gold", {"a": ADA})
    write_gold(folder / "gpt", {"a": EVE})
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (sample,) = load_gold(str(tmp_path / source), schema=tmp_path / "schema.json").samples
    assert (sample.id, sample.expected) == ("a", ADA)
