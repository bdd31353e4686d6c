"""Tests that what a schema or a document has as a field is no column of gold, and stays a field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.extraction.samples.envelopes import open_record
from eval.extraction.samples.gold import load_gold
from eval.extraction.samples.loader import LoadedSamples
from eval.extraction.samples.prediction_files import read_system
from eval.extraction.samples.sample_names import SampleNames
from eval.extraction.scorer import score_sample
from eval.extraction.view import read_extraction
from eval.harness.predictions.reader import PredictionFile, PredictionFormat

ADA, EVE = {"name": "Ada"}, {"name": "Eve"}


def make_schema(**fields: Any) -> dict[str, Any]:
    types = {
        name: {"type": kind} if isinstance(kind, str) else kind for name, kind in fields.items()
    }
    return {"type": "object", "properties": types}


NAMED = make_schema(name="string")


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_rows(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def read(loaded: LoadedSamples, gold: Path, path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the extractions of a file or folder by sample, and the notes."""
    form = PredictionFormat(
        value="value", noun="sample", read_value=read_extraction, has_confidences=True
    )
    names = SampleNames(loaded.samples, source=gold)
    system = read_system(PredictionFile("s", path), names, form)
    return {reply.id: reply.value for reply in system.predictions.replies}, system.notes


def check_against_itself(loaded: LoadedSamples, gold: Path) -> None:
    found, _ = read(loaded, gold, gold)
    assert all(score_sample(one, found[one.id]).score.exact_match for one in loaded.samples), found


@pytest.mark.parametrize("name", ["results.jsonl", "runs/results.jsonl"])
@pytest.mark.parametrize("has_schema", [True, False])
def test_a_log_beside_documents_with_gold_is_left_out(
    tmp_path: Path, name: str, has_schema: bool
) -> None:
    folder = tmp_path / "gold"
    write(folder / "a.json", ADA)
    write(folder / "b.json", EVE)
    (folder / "a.txt").write_text("Ada was here")
    if has_schema:
        write(folder / "schema.json", NAMED)
    write_rows(folder / name, {"doc": "a", "ground_truth": ADA, "prediction": EVE})
    loaded = load_gold(str(folder))
    assert {one.id: (one.expected, one.text) for one in loaded.samples} == {
        "a": (ADA, "Ada was here"),
        "b": (EVE, ""),
    }
    assert any(note.startswith(f"{name} beside documents") for note in loaded.notes)


@pytest.mark.parametrize(
    ("documents", "item"),
    [
        (
            {
                "a": [{"reference": {"no": 1}, "price": 3}, {"reference": {"no": 2}, "price": 4}],
                "b": [{"reference": {"no": 1}, "price": 3}],
            },
            make_schema(reference="object", price="number"),
        ),
        (
            {"a": [{"labels": ["x"], "price": 3}], "b": [{"labels": ["y"], "price": 3}]},
            make_schema(labels="array", price="number"),
        ),
        ({"a": [{"text": "Ada", "labels": ["P"]}]}, make_schema(text="string", labels="array")),
        ({"a": [{"test": "Hb", "expected_values": [12, 16]}], "b": [{"test": "K"}]}, None),
        ({"a": [{"Ground Truth": [1], "key": "k"}]}, None),
    ],
)
@pytest.mark.parametrize("place", ["option", "folder"])
def test_documents_that_are_arrays_stay_whole(
    tmp_path: Path, documents: dict[str, Any], item: Any, place: str
) -> None:
    folder = tmp_path / "gold"
    for name, value in documents.items():
        write(folder / f"{name}.json", value)
    schema = None
    if item is not None:
        at = tmp_path if place == "option" else folder
        schema = write(at / "schema.json", {"type": "array", "items": item})
    loaded = load_gold(str(folder), schema=schema if place == "option" else None)
    assert {one.id: one.expected for one in loaded.samples} == documents
    check_against_itself(loaded, folder)


def test_an_array_of_rows_with_ids_is_read_as_rows(tmp_path: Path) -> None:
    rows = [{"id": "q", "labels": ADA, "n": 1}, {"id": "r", "labels": EVE, "n": 2}]
    write(tmp_path / "gold" / "all.json", rows)
    schema = write(tmp_path / "schema.json", NAMED)
    loaded = load_gold(str(tmp_path / "gold"), schema=schema)
    assert {one.id: one.expected for one in loaded.samples} == {"q": ADA, "r": EVE}


@pytest.mark.parametrize(
    "document",
    [
        {"title": "dev", "Expectations": ["rust"], "salary": 1},
        {"id": 4, "title": "dev", "expectations": {"x": "rust"}},
        {"title": "dev", "ideal": {"x": "rust"}, "salary": 1},
        {"test": "Hb", "expected_values": [1, 2], "unit": "g"},
        {"test": "Hb", "expected_result": {"low": 1}, "unit": "g"},
        {"True Output": {"lat": 1}, "pred": {"lat": 2}},
        {"Ground Truth": {"lat": 1}, "gt": {"lat": 2}},
        {"ground_truth": [1, 2], "measured": [1, 3]},
        {"Target": {"q": 1}},
        {"gt_parse": {"q": 1}, "x": "y"},
        {"id": "a", "annotation": {"x": 1}, "category": {"y": 2}},
    ],
)
def test_a_document_with_a_field_named_like_gold_stays_whole(tmp_path: Path, document: Any) -> None:
    write(tmp_path / "gold" / "a.json", document)
    loaded = load_gold(str(tmp_path / "gold"))
    assert [one.expected for one in loaded.samples] == [document]
    check_against_itself(loaded, tmp_path / "gold")


@pytest.mark.parametrize(
    "columns",
    [
        {"gold_label": "invoice", "gold": ADA},
        {"ideal": "yes", "item": ADA},
        {"expectations": ["it says n"], "expected": ADA},
        {"labels": ["x"], "target": ADA},
        {"annotations": [{"bbox": [1]}], "reference": ADA},
        {"ground_truth": "a text", "expected": ADA},
        {"json": {"ocr": "n"}, "labels": ADA},
        {"item": {"x": "n"}, "gold": json.dumps(ADA)},
        {"gold": ADA, "Meta": "m"},
        {"gold": ADA, "Language": {"x": 1}},
        {"gold": ADA, "Domain": 4},
        {"groundTruth": "", "Ground_Truth": ADA},
        {"Ground Truth": EVE, "ground_truth": ADA},
        {"Ground Truth": ADA, "groundTruth": EVE},
    ],
)
def test_gold_is_the_first_column_that_fits_the_schema(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    path = write_rows(tmp_path / "gold.jsonl", {"id": "a", "schema": NAMED, **columns})
    loaded = load_gold(str(path))
    assert [one.expected for one in loaded.samples] == [ADA]
    check_against_itself(loaded, path)
    has_rivals = sum(key.lower().startswith("ground") for key in columns) > 1
    assert any("another spelling" in note for note in loaded.notes) == has_rivals


def test_gold_is_an_array_where_the_schema_asks_for_one(tmp_path: Path) -> None:
    schema = {"type": "array", "items": NAMED}
    row = {"id": "a", "schema": schema, "gold": {"class": "list"}, "labels": [ADA]}
    path = write_rows(tmp_path / "gold.jsonl", row)
    loaded = load_gold(str(path))
    assert [one.expected for one in loaded.samples] == [[ADA]]
    check_against_itself(loaded, path)


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ({"id": "1", "Category": "R1", "Language": "de", "Total": 3}, ()),
        ({"id": "1", "Path": "R1", "Reference": "x", "label": "y", "expected": "z"}, ()),
        ({"ID": "a7", "Reference": {"no": 1}, "Total": 4}, ("ID",)),
        ({"id": "a7", "reference": "R1", "total": 3}, ("id",)),
        ({"id": "a", "schema": "S1", "total": 3}, ()),
        ({"id": "a", "gold": 18, "karat": 3, "items": {"sku": 1}}, ()),
    ],
)
def test_declared_properties_named_like_columns_are_fields(
    tmp_path: Path, row: dict[str, Any], fields: tuple[str, ...]
) -> None:
    kinds = {str: "string", int: "number", dict: "object"}
    expected = {key: value for key, value in row.items() if key != "id" or key in fields}
    declared = {key: kinds[type(value)] for key, value in expected.items()}
    schema = write(tmp_path / "schema.json", make_schema(**declared))
    path = write_rows(tmp_path / "gold.jsonl", row)
    loaded = load_gold(str(path), schema=schema)
    assert [(one.id, one.expected) for one in loaded.samples] == [
        (row.get("id", row.get("ID")), expected)
    ]
    check_against_itself(loaded, path)


@pytest.mark.parametrize("key", ["gt", "Ground Truth", "label", "expected", "expected_output"])
def test_a_declared_name_is_gold_if_it_has_more_fields_than_the_row(
    tmp_path: Path, key: str
) -> None:
    schema = write(tmp_path / "schema.json", make_schema(**{key: "string", "name": "string"}))
    gold = {key: "x", "name": "Ada"}
    path = write_rows(tmp_path / "gold.jsonl", {"id": "a", key: gold, "labels": ["q"]})
    loaded = load_gold(str(path), schema=schema)
    assert [one.expected for one in loaded.samples] == [gold]
    check_against_itself(loaded, path)


@pytest.mark.parametrize("as_row", [True, False])
def test_a_declared_field_confidence_is_a_field(tmp_path: Path, as_row: bool) -> None:
    gold = {"confidence": {"level": "hi"}, "name": "Ada"}
    schema = make_schema(confidence=make_schema(level="string"), name="string")
    path = write_rows(tmp_path / "gold.jsonl", {"id": "a", "schema": schema, "gold": gold})
    said = {"id": "a", **gold} if as_row else {"id": "a", "output": gold}
    found, notes = read(load_gold(str(path)), path, write_rows(tmp_path / "runs.jsonl", said))
    assert found == {"a": gold}
    assert not any("confidences" in note for note in notes)


@pytest.mark.parametrize(
    "more",
    [
        {"required": ["name", "_id"]},
        {"patternProperties": {"^_": {"type": "string"}}},
        {"additionalProperties": {"type": "string"}},
    ],
)
def test_keys_that_the_schema_means_are_fields(tmp_path: Path, more: dict[str, Any]) -> None:
    gold = {"_id": "X1", "name": "Ada"}
    row = {"id": "a", "schema": {**NAMED, **more}, "gold": gold}
    loaded = load_gold(str(write_rows(tmp_path / "gold.jsonl", row)))
    assert [one.expected for one in loaded.samples] == [gold]


@pytest.mark.parametrize(
    ("gold", "expected", "schema"),
    [
        ([{"_meta": 1, **ADA}], [ADA], None),
        ([{"_meta": 1, **ADA}], [ADA], {"type": "array", "items": NAMED}),
        ({"$any": [{"_meta": 1, **ADA}, {"_meta": 2, **EVE}]}, {"$any": [ADA, EVE]}, NAMED),
        ({"_meta": 1, "$any": [ADA, EVE]}, {"$any": [ADA, EVE]}, NAMED),
    ],
)
def test_metadata_is_left_out_of_an_array_of_one_and_of_alternatives(
    tmp_path: Path, gold: Any, expected: Any, schema: Any
) -> None:
    row = {"id": "a", "gold": gold, **({} if schema is None else {"schema": schema})}
    path = write_rows(tmp_path / "gold.jsonl", row)
    loaded = load_gold(str(path))
    assert [one.expected for one in loaded.samples] == [expected]
    assert any("begin with _ or $" in note for note in loaded.notes)
    said = gold["$any"][1] if isinstance(gold, dict) else gold
    found, _ = read(loaded, path, write(tmp_path / "runs" / "a.json", said).parent)
    assert score_sample(loaded.samples[0], found["a"]).score.exact_match


PERSON = make_schema(
    name="string", total="number", date={"type": "string", "format": "date"}, tags="array"
)


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ([{"date": "2024-01-05"}, {"date": "5 January 2024"}], {"date": "2024-01-05"}),
        ([{"total": 36}, {"total": "36"}, {"total": "$36.00"}], {"total": 36}),
        ([{"total": "N/A"}, {"total": 36}, {"total": "n/a"}], {"total": 36}),
        ([{"name": "N/A"}, {"name": ""}, {"name": None}], {"name": "N/A"}),
        ([{"name": "Ada"}, {"name": " ADA "}], {"name": "Ada"}),
        ([{"total": 0}, {"total": 36}], {"total": [0, 36]}),
        ([{"total": "$36"}, {"total": "€36"}], {"total": ["$36", "€36"]}),
        (
            [{"name": "name", "value": "Ada"}, {"name": "total", "value": 36}],
            {"name": "Ada", "total": 36},
        ),
    ],
)
def test_pages_agree_in_other_notations(
    tmp_path: Path, pages: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    row = {"id": "a", "schema": PERSON, "gold": {"name": "Ada", "total": 36}}
    path = write_rows(tmp_path / "gold.jsonl", row)
    run = write(tmp_path / "runs" / "a.json", pages).parent
    found, notes = read(load_gold(str(path)), path, run)
    assert found == {"a": expected}
    is_disputed = any(isinstance(value, list) for value in expected.values())
    assert any("several values" in note for note in notes) == is_disputed


@pytest.mark.parametrize("key", ["extracted_data", "extractedData", "Extracted Data"])
def test_the_first_page_counts_in_extracted_data_in_any_spelling(key: str) -> None:
    record = open_record({key: [{"name": "Ada"}, {"name": "Eve"}]}, {"name"})
    assert record.value == ADA


@pytest.mark.parametrize(
    "gold", [[{"name": "value", "value": 1}], [{"name": "name", "value": 1, "unit": "g"}]]
)
def test_gold_that_is_a_list_with_names_and_values_is_itself(tmp_path: Path, gold: Any) -> None:
    write(tmp_path / "gold" / "a.json", gold)
    loaded = load_gold(str(tmp_path / "gold"))
    assert [one.expected for one in loaded.samples] == [gold]
    found, notes = read(loaded, tmp_path / "gold", tmp_path / "gold")
    assert found == {"a": gold}
    assert not notes


@pytest.mark.parametrize(
    ("gold", "said", "is_noted"),
    [([ADA], ADA, True), ([ADA], [ADA], False), ([{"_m": 1, **ADA}], [{"_m": 1, **ADA}], False)],
)
def test_an_object_for_an_array_is_noted_only_where_it_is_one(
    tmp_path: Path, gold: Any, said: Any, is_noted: bool
) -> None:
    write(tmp_path / "gold" / "a.json", gold)
    run = write(tmp_path / "runs" / "a.json", said).parent
    _, notes = read(load_gold(str(tmp_path / "gold")), tmp_path / "gold", run)
    assert any("array of one" in note for note in notes) == is_noted


@pytest.mark.parametrize("names", [("db", "db_schema"), ("memo", "memo_extracted"), ("v", "v.pdf")])
@pytest.mark.parametrize("as_rows", [True, False])
def test_exact_names_come_before_stripped_ones(
    tmp_path: Path, names: tuple[str, str], as_rows: bool
) -> None:
    golds = dict(zip(names, (ADA, EVE), strict=True))
    gold = tmp_path / "gold"
    for name, value in golds.items():
        write(tmp_path / "runs" / f"{name}.json", value)
        write(gold / f"{name}.json", value)
    if as_rows:
        rows = ({"id": name, "schema": NAMED, "gold": value} for name, value in golds.items())
        gold = write_rows(tmp_path / "gold.jsonl", *rows)
    loaded = load_gold(str(gold), predictions=[tmp_path / "runs"])
    assert {one.id: one.expected for one in loaded.samples} == golds
    found, _ = read(loaded, gold, tmp_path / "runs")
    assert found == golds


def test_a_document_named_like_a_schema_is_scored_against_itself(tmp_path: Path) -> None:
    write(tmp_path / "gold" / "db_schema.json", ADA)
    write(tmp_path / "gold" / "b.json", EVE)
    loaded = load_gold(str(tmp_path / "gold"))
    assert {one.id: one.expected for one in loaded.samples} == {"db_schema": ADA, "b": EVE}
    check_against_itself(loaded, tmp_path / "gold")


def test_gold_that_is_an_array_in_a_record_is_no_object_for_an_array(tmp_path: Path) -> None:
    write(tmp_path / "gold" / "a.json", {"id": "a", "ground_truth": [ADA, EVE]})
    loaded = load_gold(str(tmp_path / "gold"))
    assert [one.expected for one in loaded.samples] == [[ADA, EVE]]
    found, notes = read(loaded, tmp_path / "gold", tmp_path / "gold")
    assert found == {"a": [ADA, EVE]}
    assert not any("array of one" in note for note in notes)


def test_rows_with_fields_of_a_common_schema_have_other_columns(tmp_path: Path) -> None:
    schema = write(tmp_path / "schema.json", NAMED)
    rows = [
        {"id": "a", **ADA, "label": "x", "annotations": [{"bbox": [1]}]},
        {"id": "b", "name": "a name", "gold": EVE},
    ]
    path = write_rows(tmp_path / "gold.jsonl", *rows)
    loaded = load_gold(str(path), schema=schema)
    assert {one.id: one.expected for one in loaded.samples} == {"a": ADA, "b": EVE}


def test_an_array_whose_first_row_has_no_gold_has_rows(tmp_path: Path) -> None:
    rows = [
        {"id": name, "text": "t", "schema": NAMED, "expected_output": gold}
        for name, gold in (("a", None), ("b", EVE))
    ]
    write(tmp_path / "gold" / "all.json", rows)
    loaded = load_gold(str(tmp_path / "gold"))
    assert {one.id: one.expected for one in loaded.samples if one.expected} == {"b": EVE}


def test_arrays_with_ids_beside_other_documents_are_documents(tmp_path: Path) -> None:
    documents = {"a": [{"id": "1", "ground_truth": [1]}], "b": [{"x": 1}, {"x": 2}]}
    for name, value in documents.items():
        write(tmp_path / "gold" / f"{name}.json", value)
    loaded = load_gold(str(tmp_path / "gold"))
    assert {one.id: one.expected for one in loaded.samples} == documents


@pytest.mark.parametrize("rows", [1, 2])
def test_a_field_named_schema_makes_no_case(tmp_path: Path, rows: int) -> None:
    document = {"schema": "S1", "annotation": ["x"], "gold": "18 karat"}
    schema = write(tmp_path / "schema.json", make_schema(schema="string", annotation="array"))
    for number in range(rows):
        write(tmp_path / "gold" / f"a{number}.json", document)
    source = tmp_path / "gold" if rows > 1 else tmp_path / "gold" / "a0.json"
    loaded = load_gold(str(source), schema=schema)
    assert [one.expected for one in loaded.samples] == [document] * rows
