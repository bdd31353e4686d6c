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
from eval.harness.predictions.reader import CONFIDENCES, PredictionFile, PredictionFormat
from kg.base.errors import MissingFileError, RecordError

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
        ({"Path": "a/b", "Labels": {"text": "x"}, "amount": 2}, ()),
        ({"name": "Ada", "Target": {"x": 1}}, ()),
        ({"doc_id": "d", "annotations": [{"x": 1}]}, ()),
        ({"Expected": {"x": 1}, "name": "Ada"}, ("Expected", "name")),
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


def read_replies(samples: list[Any], path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    form = PredictionFormat(value="value", noun="sample", read_value=read_extraction)
    system = read_system(PredictionFile("s", path), SampleNames(samples), form)
    return {reply.id: reply.value for reply in system.predictions.replies}, system.notes


@pytest.mark.parametrize(
    ("schema_key", "gold_key", "id_key"),
    [
        ("jsonSchema", "trueJsonOutput", "docId"),
        ("Data Schema", "Ground Truth", "ID"),
        ("schema-definition", "Expected-JSON", "Document ID"),
        ("JSON_SCHEMA", "goldJson", "sampleID"),
        ("schema", "GT", "uid"),
        ("schema", "annotations", "id"),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_columns_are_known_in_any_spelling(
    tmp_path: Path, schema_key: str, gold_key: str, id_key: str, as_text: bool
) -> None:
    def write(value: Any) -> Any:
        return json.dumps(value) if as_text else value

    rows = [
        {id_key: name, "Category": "easy", schema_key: write(SCHEMA), gold_key: write(gold)}
        for name, gold in (("a1", ADA), ("b2", EVE))
    ]
    folder = write_gold(tmp_path / "cases", {row[id_key]: row for row in rows})
    lines = tmp_path / "rows" / "data.jsonl"
    lines.parent.mkdir()
    lines.write_text("\n".join(map(json.dumps, rows)))
    for source in (folder, lines, lines.parent):
        samples = load_gold(str(source)).samples
        assert {one.id: one.expected for one in samples} == {"a1": ADA, "b2": EVE}
        assert all((one.schema, one.domain) == (SCHEMA, "easy") for one in samples)


def test_gold_beside_metadata_may_have_any_spelling_and_be_a_text(tmp_path: Path) -> None:
    record = {"docId": "x", "imageUrl": "https://example.com/scan-1.png", "labels": ["x"]}
    folder = write_gold(tmp_path / "gold", {"a": {**record, "groundTruth": json.dumps(ADA)}})
    loaded = load_gold(str(folder))
    assert [one.expected for one in loaded.samples] == [ADA]
    assert "gold of 1 document of 1 is taken from under 'groundTruth' of its record" in loaded.notes
    found, _ = read_replies(loaded.samples, write_gold(tmp_path / "runs", {"scan-1": ADA}))
    assert found == {"a": ADA}


@pytest.mark.parametrize("value_key", ["Predicted JSON", "extractedData", "Model-Output"])
@pytest.mark.parametrize("id_key", ["DocID", "fileName"])
def test_columns_of_predictions_are_known_in_any_spelling(
    tmp_path: Path, id_key: str, value_key: str
) -> None:
    rows = [{"file_name": f"{name}.png", "ground_truth": ADA} for name in ("r0", "r1")]
    gold = tmp_path / "metadata.jsonl"
    gold.write_text("\n".join(map(json.dumps, rows)))
    samples = load_gold(str(gold)).samples
    predictions = tmp_path / "p.jsonl"
    lines = [{id_key: f"r{number}.png", value_key: ADA} for number in (1, 0)]
    predictions.write_text("\n".join(map(json.dumps, lines)))
    found, _ = read_replies(samples, predictions)
    assert found == {one.id: ADA for one in samples}


@pytest.mark.parametrize("has_schema", [True, False])
def test_keys_of_metadata_are_no_fields(tmp_path: Path, has_schema: bool) -> None:
    about = {"__meta__": {"difficulty": "hard"}, "$schema": "x.json", "_comment": "checked"}
    folder = write_gold(tmp_path / "gold", {"a": {**ADA, **about}, "b": EVE})
    schema = {**SCHEMA, "additionalProperties": False}
    schema_path = tmp_path / "schema.json"
    schema_path.write_text(json.dumps(schema))
    loaded = load_gold(str(folder), schema=schema_path if has_schema else None)
    assert {one.id: one.expected for one in loaded.samples} == {"a": ADA, "b": EVE}
    assert any(
        note.startswith("1 of 2 samples with keys in their gold that begin with _ or $")
        and note.endswith("left out: $schema, __meta__, _comment")
        for note in loaded.notes
    )
    # Gold against itself; what only a prediction has is no key of gold.
    assert read_replies(loaded.samples, folder)[0] == {"a": ADA, "b": EVE}
    other = write_gold(tmp_path / "runs", {"b": {**EVE, "_comment": "x"}})
    assert read_replies(loaded.samples, other)[0] == {"b": {**EVE, "_comment": "x"}}


def test_declared_and_lone_keys_with_a_sign_are_fields(tmp_path: Path) -> None:
    properties = {"_id": {"type": "string"}, "name": {"type": "string"}}
    schema_path = tmp_path / "schema.json"
    schema_path.write_text(json.dumps({"type": "object", "properties": properties}))
    gold = {"_id": "7", "name": "Ada"}
    folder = write_gold(tmp_path / "gold", {"a": gold})
    (sample,) = load_gold(str(folder), schema=schema_path).samples
    assert sample.expected == gold
    lone = write_gold(tmp_path / "lone", {"a": {"_a": 1, "_b": 2}, "b": {"$any": [ADA, EVE]}})
    expected = [one.expected for one in load_gold(str(lone)).samples]
    assert expected == [{"_a": 1, "_b": 2}, {"$any": [ADA, EVE]}]


def test_an_array_of_one_object_is_that_object_where_no_schema_decides(tmp_path: Path) -> None:
    folder = write_gold(tmp_path / "gold", {"a": [ADA], "b": EVE, "c": [{"data": {"x": 1}}]})
    runs = write_gold(tmp_path / "runs", {"a": ADA, "b": [EVE], "c": {"data": {"x": 1}}})
    for source in (folder, folder / "a.json"):
        samples = load_gold(str(source)).samples
        found, notes = read_replies(samples, runs)
        for sample in samples:
            assert score_sample(sample, found[sample.id]).score.exact_match
        assert any("are an object where gold is an array of one: the same" in one for one in notes)
    # Another element is one too many.
    more = write_gold(tmp_path / "more", {"a": [ADA, EVE], "b": EVE, "c": [{"data": {"x": 1}}]})
    samples = load_gold(str(folder)).samples
    found, notes = read_replies(samples, more)
    assert found["a"] == [ADA, EVE]
    assert not notes
    # A schema decides.
    schema_path = tmp_path / "schema.json"
    schema_path.write_text(json.dumps({"type": "array", "items": SCHEMA}))
    array = write_gold(tmp_path / "array", {"a": [ADA]})
    samples = load_gold(str(array), schema=schema_path).samples
    assert read_replies(samples, runs)[0]["a"] == ADA


def test_gold_of_donut_is_under_gt_parse(tmp_path: Path) -> None:
    about = {"meta": {"version": "2"}, "valid_line": [{"words": []}]}
    texts = [
        {"gt_parse": ADA, **about},
        {"gt_parse": EVE, **about},
        # Answers to several questions, as in DocVQA, are no parses of one document.
        {"gt_parses": [ADA, BOB]},
    ]
    rows = [
        {"file_name": f"r{number}.png", "ground_truth": json.dumps(text)}
        for number, text in enumerate(texts)
    ]
    folder = tmp_path / "set"
    folder.mkdir()
    path = folder / "metadata.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    (folder / "dataset_infos.json").write_text(json.dumps({"version": "1"}))
    expected = [ADA, EVE, texts[2]]
    for source in (path, folder):
        samples = load_gold(str(source), predictions=[folder]).samples
        assert [one.expected for one in samples] == expected
    runs = write_gold(tmp_path / "runs", {"r0": ADA, "r2": texts[2]})
    found, _ = read_replies(samples, runs)
    assert [score_sample(one, found[one.id]).score.exact_match for one in samples[::2]] == [
        True
    ] * 2
    document = write_gold(tmp_path / "one", {"a": texts[0], "b": {"id": "b", "gt": texts[1]}})
    assert [one.expected for one in load_gold(str(document)).samples] == [ADA, EVE]


def test_results_beside_gold_are_no_gold(tmp_path: Path) -> None:
    """A file of results may repeat the gold; the one with schemas or texts is the data set."""
    rows = [{"id": "a", "schema": SCHEMA, "ground_truth": ADA}]
    (tmp_path / "data.jsonl").write_text(json.dumps(rows[0]))
    (tmp_path / "results.jsonl").write_text(json.dumps({"id": "a", "ground_truth": ADA, "p": EVE}))
    loaded = load_gold(str(tmp_path))
    assert [one.expected for one in loaded.samples] == [ADA]
    assert not loaded.rejected


def test_rows_with_the_fields_of_a_common_schema_are_gold(tmp_path: Path) -> None:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "reference": {"type": "string"}}}
    schema_path = tmp_path / "schema.json"
    schema_path.write_text(json.dumps(schema))
    rows = [{"id": "a", "path": "a.pdf", **ADA, "reference": "R1"}, {"id": "b", **EVE}]
    path = tmp_path / "gold.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    samples = load_gold(str(path), schema=schema_path).samples
    assert {one.id: one.expected for one in samples} == {"a": {**ADA, "reference": "R1"}, "b": EVE}
    assert samples[0].meta["path"] == "a.pdf"


@pytest.mark.parametrize("key", ["expectations", "ideal", "outputs", "referenceOutputs"])
def test_rows_of_evaluation_tools_have_gold(tmp_path: Path, key: str) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps({"id": "a", "inputs": {"text": "x"}, key: ADA}))
    assert [one.expected for one in load_gold(str(path)).samples] == [ADA]


def test_a_row_without_gold_is_refused_with_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps({"id": "a", "messages": []}))
    with pytest.raises(RecordError, match="it has the columns id, messages"):
        load_gold(str(path))


@pytest.mark.parametrize("name", ["a.pdf", "a_extracted", "a/result", "runs/a/output", "a.png"])
def test_predictions_are_named_by_their_document(tmp_path: Path, name: str) -> None:
    samples = load_gold(str(write_gold(tmp_path / "gold", {"a": ADA, "b": EVE}))).samples
    path = tmp_path / "runs" / f"{name}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(ADA))
    assert read_replies(samples, tmp_path / "runs")[0] == {"a": ADA}
    path.unlink()
    (tmp_path / "runs" / "other.json").write_text("{}")
    with pytest.raises(MissingFileError) as caught:
        read_replies(samples, tmp_path / "runs")
    assert "as a.json; here are other.json." in str(caught.value.hint)


def test_an_object_of_confidences_is_read_where_that_of_the_reply_may_be(tmp_path: Path) -> None:
    samples = load_gold(str(write_gold(tmp_path / "gold", {"a": ADA, "b": EVE}))).samples
    path = tmp_path / "p.jsonl"
    rows = [
        {"id": "a", "value": ADA, "confidence": {"name": 0.9, "age": 0.3}},
        {"id": "b", "value": EVE, "confidence": 0.5},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    form = PredictionFormat(
        value="value", noun="sample", read_value=read_extraction, has_confidences=True
    )
    system = read_system(PredictionFile("s", path), SampleNames(samples), form)
    one, other = system.predictions.replies
    assert (one.parts[CONFIDENCES], one.confidence) == ({"name": 0.9, "age": 0.3}, None)
    assert other.confidence == 0.5
    assert system.notes == ("confidences of fields are read from the field 'confidence'",)
    assert not system.predictions.list_warnings(2, 1, "sample")


@pytest.mark.parametrize("key", ["name", "fieldName", "key"])
def test_a_list_of_names_and_values_is_an_object(tmp_path: Path, key: str) -> None:
    gold = {"total": 80, "city": "Turin"}
    samples = load_gold(str(write_gold(tmp_path / "gold", {"a": gold, "b": gold}))).samples
    parts = [
        {key: "total", "value": 80, "confidence": 0.5},
        {key: "city", "value": "Turin"},
    ]
    runs = write_gold(tmp_path / "runs", {"a": parts, "b": {"fields": parts}})
    found, notes = read_replies(samples, runs)
    assert found == {"a": gold, "b": gold}
    assert f"1 extraction of 2 taken from under '[{key}]' of its record" in notes
    other = write_gold(tmp_path / "other", {"a": [{key: "x", "value": 1}]})
    assert read_replies(samples, other)[0] == {"a": [{key: "x", "value": 1}]}
