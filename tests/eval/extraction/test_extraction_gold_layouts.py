"""Tests that gold and predictions are read in the layouts of public benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest
from stage_calls import check_error_line, run_epoche

from eval.extraction.matchers.schema_nodes import get_schema_plan
from eval.extraction.samples.annotated_values import (
    list_number_places,
    list_value_places,
    split_annotations,
)
from eval.extraction.samples.envelopes import open_record
from eval.extraction.samples.gold import load_gold
from eval.extraction.samples.sample import MARKS
from eval.extraction.samples.sample_names import SampleNames
from kg.base.errors import MissingFileError, RecordError

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}
GOLD = {"a1": {"name": "Ada", "age": 36}, "b2": {"name": "Bob", "age": 7}}


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_paired_folders(root: Path) -> Path:
    """Writes gold, schemas and predictions in folders, as DocuBench does, under other names."""
    for id_, gold in GOLD.items():
        write_json(root / "truth" / f"{id_}.json", gold)
        write_json(root / "forms" / f"{id_}.json", SCHEMA)
        write_json(root / "runs" / "one" / f"{id_}.json", {"status": "ok", "data": gold})
        write_json(root / "runs" / "two" / f"{id_}.json", {"name": "Eve", "age": 1})
    write_json(root / "sources.json", [{"doc_id": "a1"}])
    write_json(root / "summary.json", {"aggregates": {"one": 1.0}})
    return root


def read_scores(out: Path) -> dict[str, float]:
    systems = json.loads((out / "metrics.json").read_bytes())["report"]["systems"]
    return {name: system["metrics"]["field_f1_strict"]["value"] for name, system in systems.items()}


def score(out: Path, gold: Path, *predictions: object, more: tuple[object, ...] = ()) -> Any:
    flags = [flag for name in predictions for flag in ("--predictions", name)]
    return run_epoche(
        *("extract", "score", "--gold", gold, *flags, "--out", out, "--no-report"), *more
    )


# Gold.


def test_gold_and_schemas_of_the_same_stem_are_paired_whatever_their_folders_are_called(
    tmp_path: Path,
) -> None:
    root = write_paired_folders(tmp_path / "set")
    for loaded in (
        load_gold(str(root / "truth")),
        load_gold(str(root), predictions=[root / "runs"]),
    ):
        assert {sample.id: sample.expected for sample in loaded.samples} == GOLD
        assert all(sample.schema == SCHEMA for sample in loaded.samples)
        assert all(sample.text == "" for sample in loaded.samples)
        assert "2 of 2 samples without a text" in loaded.notes[-1]


def test_a_folder_with_several_candidates_is_refused_with_their_names(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    with pytest.raises(RecordError, match=r"several folders: runs/one, runs/two and truth"):
        load_gold(str(root))
    (root / "truth").rename(root / "labels")
    assert {sample.id for sample in load_gold(str(root)).samples} == set(GOLD)


def test_other_json_files_in_the_folder_are_not_taken_for_gold(tmp_path: Path) -> None:
    write_json(tmp_path / "schema.json", SCHEMA)
    write_json(tmp_path / "package.json", {"version": "1", "license": "MIT"})
    write_json(tmp_path / "list.json", [{"label": "x", "n": 1}])
    for id_, gold in GOLD.items():
        write_json(tmp_path / "any" / f"{id_}.json", gold)
    (tmp_path / "any" / "dead.json").symlink_to(tmp_path / "nowhere.json")
    assert {sample.id: sample.expected for sample in load_gold(str(tmp_path)).samples} == GOLD


def test_gold_that_names_its_schema_is_no_schema(tmp_path: Path) -> None:
    """JSON Resume's documents have ``$schema``; other extractions have ``type`` or ``items``."""
    fields = {"name": {"type": "string"}, "type": {"type": "string"}}
    schema = {"type": "object", "properties": fields}
    gold: dict[str, Any] = {
        **GOLD,
        "c3": {"$schema": "https://example.com/person.json", "name": "Cy"},
        "d4": {"type": "object", "name": "Vase"},
        "e5": {"$schema": "https://example.com/person.json", "name": "Eve", "items": ["x"]},
    }
    folder = tmp_path / "set"
    for id_, value in gold.items():
        write_json(folder / "gold" / f"{id_}.json", value)
    path = write_json(tmp_path / "elsewhere" / "schema.json", schema)
    loaded = [load_gold(str(one), schema=path) for one in (folder, folder / "gold")]
    write_json(folder / "schema.json", schema)
    loaded += [load_gold(str(one)) for one in (folder, folder / "gold")]
    fields_of = {
        id_: {key: part for key, part in value.items() if key != "$schema"}
        for id_, value in gold.items()
    }
    for one in loaded:
        assert {sample.id: sample.expected for sample in one.samples} == fields_of
        assert all(sample.schema == schema for sample in one.samples)
        assert [note for note in one.notes if "left out" in note] == [
            "2 of 5 samples with keys in their gold that begin with _ or $ and are no fields, left "
            "out: $schema"
        ]


def test_each_document_that_is_left_out_beside_gold_is_named(tmp_path: Path) -> None:
    for id_, value in GOLD.items():
        write_json(tmp_path / "gold" / f"{id_}.json", value)
    write_json(tmp_path / "gold" / "text.json", {"type": "string", "minLength": 1})
    write_json(tmp_path / "gold" / "sources.json", {"pages": 3})
    write_json(tmp_path / "schema.json", SCHEMA)
    loaded = load_gold(str(tmp_path), schema=tmp_path / "schema.json")
    assert [sample.id for sample in loaded.samples] == list(GOLD)
    beside = "in the folder with the gold is left out"
    assert [note for note in loaded.notes if "left out" in note] == [
        f"sources.json {beside}: it has no field of the schema",
        f"text.json {beside}: it is taken for a schema",
    ]


def test_one_wrapped_schema_serves_all_documents_below_it(tmp_path: Path) -> None:
    """The layout of extract-bench."""
    folder = tmp_path / "hiring" / "resume"
    wrapper = {"name": "Resume", "description": "", "schema_definition": SCHEMA}
    write_json(folder / "resume-schema.json", wrapper)
    for id_, gold in GOLD.items():
        write_json(folder / "pdf+gold" / f"[{id_}] page.gold.json", gold)
        (folder / "pdf+gold" / f"[{id_}] page.txt").write_text(f"About {gold['name']}.")
    loaded = load_gold(str(tmp_path))
    assert [sample.id for sample in loaded.samples] == ["[a1] page", "[b2] page"]
    assert loaded.samples[0].text == "About Ada."
    assert loaded.samples[0].schema == SCHEMA
    assert "taken out of a wrapper" in loaded.notes[0]


def test_cases_with_schema_and_gold_together_are_read_with_their_quotes(tmp_path: Path) -> None:
    """The layout of ExtractBench (``llama-extract-bench``) after its download, and before it."""
    rules = {"name": {"evidence": [{"page": 1, "quote": "Ms Ada", "value": "Ada"}]}}
    case = {
        "tags": ["short"],
        "data_schema": SCHEMA,
        "expected_output": GOLD["a1"],
        "_field_rules": rules,
    }
    write_json(tmp_path / "data" / "short" / "a1.test.json", case)
    write_json(tmp_path / "data" / "manifest.json", {"cases": 1})
    (tmp_path / "data" / "short" / "a1.pdf").write_bytes(b"%PDF")
    row = {
        "id": "x-17",
        "pdf": "docs/short/a1.pdf",
        "category": "short",
        "data_schema": json.dumps(SCHEMA),
        "expected_output": json.dumps(GOLD["a1"]),
        "field_rules": json.dumps(rules),
    }
    write_json(tmp_path / "raw" / "short.jsonl", row)
    for folder, id_ in (("data", "a1"), ("raw", "x-17")):
        (sample,) = load_gold(str(tmp_path / folder)).samples
        assert (sample.id, sample.expected, sample.schema) == (id_, GOLD["a1"], SCHEMA)
        assert [list(quote) for quote in sample.meta["quotes"]] == [["name", "Ms Ada"]]
    result = {
        "request": {"example_id": "short/a1"},
        "pipeline_name": "p",
        "raw_output": {"anything": 1},
        "output": {
            "task_type": "extract",
            "extracted_data": GOLD["a1"],
            "field_citations": [{"field_path": "name", "page": 1, "reference_text": "Ms Ada"}],
        },
    }
    write_json(tmp_path / "output" / "p" / "short" / "a1.result.json", result)
    for folder in ("data", "raw"):
        out = tmp_path / f"run-{folder}"
        assert score(out, tmp_path / folder, f"p={tmp_path / 'output' / 'p'}").code == 0
        assert read_scores(out) == {"p": 1.0}


def test_a_manifest_with_paths_is_followed_inside_its_folder_only(tmp_path: Path) -> None:
    """The layout of omni-extract-bench."""
    root = tmp_path / "set"
    columns = {"suite": "forms", "schema": json.dumps(SCHEMA), "doc_path": "pdfs/a1.pdf"}
    rows = [{"doc_id": id_, "gt_path": f"gold/{id_}.json", **columns} for id_ in GOLD]
    rows.append({"doc_id": "c3", "gt_path": "../secret.json", **columns})
    for id_, gold in GOLD.items():
        write_json(root / "gold" / f"{id_}.json", gold)
    write_json(tmp_path / "secret.json", {"name": "secret"})
    (root / "manifests").mkdir(parents=True)
    for path in (root / "manifest.parquet", root / "manifests" / "sample.parquet"):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    loaded = load_gold(str(root))
    assert {sample.id: sample.expected for sample in loaded.samples} == GOLD
    assert loaded.samples[0].domain == "forms"
    (rejected,) = loaded.rejected
    assert "names no file in the folder" in rejected.why
    run = tmp_path / "runs" / "datalab-1"
    for id_, gold in GOLD.items():
        write_json(run / "predictions" / f"{id_}.json", gold)
        write_json(run / "records" / f"{id_}.json", {"output": {"name": "?"}, "raw": {}, "cost": 1})
    assert score(tmp_path / "out", root, f"datalab={run}").code == 0
    assert read_scores(tmp_path / "out") == {"datalab": 1.0}


def test_workbooks_and_lines_of_deepjsoneval_are_read(tmp_path: Path) -> None:
    header = ["schema", "text", "json", "category", "true_depth"]
    rows = [
        [json.dumps(SCHEMA), f"About {gold['name']}.", json.dumps(gold), "people", 3]
        for gold in GOLD.values()
    ]
    lines = "".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows)
    (tmp_path / "set.jsonl").write_text(lines)
    outputs = ["```json\n" + json.dumps(GOLD["a1"]) + "\n```", "Need Retry"]
    # The scripts of the benchmark write with pandas, whose index is a first column without a name.
    columns = [None, *header, "model_output", "prompt_tokens", "completion_tokens"]
    numbered = list(zip(rows, outputs, strict=True))
    for name, sheet in (
        ("set", [header, *rows]),
        ("model", [columns, *([n, *row, out, 9, 5] for n, (row, out) in enumerate(numbered))]),
    ):
        workbook = openpyxl.Workbook()
        for row in sheet:
            workbook.active.append(row)
        workbook.save(tmp_path / f"{name}.xlsx")
    for name in ("set.jsonl", "set.xlsx"):
        samples = load_gold(str(tmp_path / name)).samples
        assert [sample.expected for sample in samples] == list(GOLD.values())
        assert [sample.text for sample in samples] == ["About Ada.", "About Bob."]
        assert samples[0].domain == "people"
        out = tmp_path / f"run-{name}"
        assert score(out, tmp_path / name, tmp_path / "model.xlsx").code == 0
        rows_written = (out / "rows.jsonl").read_text().splitlines()
        # "Need Retry" is what its scripts write for a request that failed.
        assert [json.loads(line)["outcome"] for line in rows_written] == ["OK", "ERROR"]
    models = tmp_path / "models"
    models.mkdir()
    for name in ("gpt", "qwen"):
        (models / f"{name}.xlsx").write_bytes((tmp_path / "model.xlsx").read_bytes())
    scored = score(tmp_path / "both", tmp_path / "set.xlsx", models)
    assert scored.code == 0
    assert "gpt: 2 rows" in scored.out
    assert "qwen: 2 rows" in scored.out


def test_a_run_of_extract_bench_is_read_without_what_lies_beside_its_results(
    tmp_path: Path,
) -> None:
    write_case = {"data_schema": SCHEMA}
    for id_, gold in GOLD.items():
        write_json(
            tmp_path / "data" / "short" / f"{id_}.test.json",
            {**write_case, "expected_output": gold, "_field_rules": {}},
        )
    run = tmp_path / "output" / "p"
    # Its runner writes these beside each result; a parser may leave results of images.
    for id_, gold in GOLD.items():
        for ending in ("raw", "jobLogs", "error.raw"):
            write_json(run / "short" / f"{id_}.{ending}.json", {"raw_output": {"name": "wrong"}})
        images = run / "short" / f"{id_}.images"
        write_json(images / f"{id_}.result.json", {"output": {"extracted_data": {}}})
        pages = [{key: value} for key, value in gold.items()]  # one object per page
        output = {"task_type": "extract", "extracted_data": pages, "field_citations": []}
        write_json(run / "short" / f"{id_}.result.json", {"request": {}, "output": output})
    for name in ("_summary", "_errors", "_metadata"):
        write_json(run / f"{name}.json", [])
    scored = score(tmp_path / "out", tmp_path / "data", f"p={run}")
    assert scored.code == 0
    assert "under 'output.extracted_data[]' of its record" in scored.out + scored.err
    assert "are left out, because" not in scored.out + scored.err
    assert set(read_scores(tmp_path / "out").values()) == {1.0}


def test_a_failed_call_and_a_further_manifest_of_omni_extract_bench(tmp_path: Path) -> None:
    rows = []
    for id_, gold in GOLD.items():
        write_json(tmp_path / "set" / "gold" / f"{id_}.json", gold)
        row = {"doc_id": id_, "gt_path": f"gold/{id_}.json", "schema": json.dumps(SCHEMA)}
        rows.append(json.dumps(row))
    (tmp_path / "set" / "manifests").mkdir()
    manifest = tmp_path / "set" / "manifests" / "sample.jsonl"
    manifest.write_text("\n".join(rows))
    run = tmp_path / "runs" / "vendor__mode"
    first, second = GOLD
    for folder in ("predictions", "records"):
        write_json(run / folder / f"{second}.json", {"__error__": "HTTP 500"})
    write_json(run / "predictions" / f"{first}.json", GOLD[first])
    write_json(run / "records" / f"{first}.json", {"result": GOLD[first], "error": None})
    scored = score(tmp_path / "out", manifest, f"v={run}")
    assert scored.code == 0
    lines = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    assert {row["id"]: row["outcome"] for row in map(json.loads, lines)} == {
        first: "OK",
        second: "ERROR",
    }


def test_a_folder_with_a_file_per_system_on_one_document(tmp_path: Path) -> None:
    first = next(iter(GOLD.values()))
    write_json(tmp_path / "gold.json", first)
    write_json(tmp_path / "schema.json", SCHEMA)
    for name, value in (("gemini-flash", first), ("gpt-5", {"name": "wrong"})):
        write_json(tmp_path / "outputs" / f"{name}.json", value)
    scored = score(
        tmp_path / "out",
        tmp_path / "gold.json",
        tmp_path / "outputs",
        more=("--schema", tmp_path / "schema.json"),
    )
    assert scored.code == 0
    values = read_scores(tmp_path / "out")
    assert values["gemini-flash"] == 1
    assert values["gpt-5"] < 1


def test_gold_that_is_only_among_the_predictions_is_no_gold(tmp_path: Path) -> None:
    write_json(tmp_path / "set" / "schema.json", SCHEMA)
    for id_, gold in GOLD.items():
        write_json(tmp_path / "set" / "gold" / f"{id_}.json", gold)
    refused = score(tmp_path / "out", tmp_path / "set", f"x={tmp_path / 'set' / 'gold'}")
    assert "--gold and --predictions the same path" in refused.err
    assert score(tmp_path / "out", tmp_path / "set", f"x={tmp_path / 'set'}").code == 0
    assert set(read_scores(tmp_path / "out").values()) == {1.0}


def test_gold_with_problems_is_kept_and_marked(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "wrong", "schema": SCHEMA, "gold": {"name": "Z", "age": [3]}},
        {"id": "remote", "schema": {"$ref": "http://127.0.0.1:9/s.json"}, "gold": {"name": "A"}},
        {"id": "fields", "schema": {"name": "string"}, "gold": {"name": "B"}},
        {"id": "none", "gold": {"name": "C"}},
        {"id": "tool", "schema": {"name": "t", "parameters": SCHEMA}, "gold": {"name": "D"}},
    ]
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded = load_gold(str(path))
    marks = {sample.id: set(sample.meta[MARKS]) for sample in loaded.samples}
    assert marks == {
        "wrong": {"gold", "text"},
        "remote": {"schema", "text"},
        "fields": {"schema", "text"},
        "none": {"schema", "text"},
        "tool": {"wrapper", "text"},
    }
    assert "leads out of the schema" in loaded.samples[1].meta[MARKS]["schema"]
    assert "any value would be valid" in loaded.samples[2].meta[MARKS]["schema"]
    schema = write_json(tmp_path / "schema.json", {"schema": SCHEMA})
    with_schema = load_gold(str(path), schema=schema).samples[3]
    assert with_schema.schema == SCHEMA


def test_hostile_gold_ends_in_messages(tmp_path: Path) -> None:
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    folder = tmp_path / "set"
    write_json(folder / "gold" / "ok.json", {"name": "Ada"})
    (folder / "gold" / "deep.json").write_text(deep)
    (folder / "gold" / "twice.json").write_text('{"name": 1, "name": 2}')
    (folder / "gold" / "binary.json").write_bytes(b"\x00\xff" * 100)
    write_json(folder / "schema.json", SCHEMA)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    loaded = load_gold(str(folder))
    assert [sample.id for sample in loaded.samples] == ["ok"]
    assert len(loaded.rejected) == 3
    endless = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "$ref": "#/$defs/a",
    }
    write_json(folder / "schema.json", endless)
    (sample,) = load_gold(str(folder)).samples
    assert "leads back to itself" in sample.meta[MARKS]["schema"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingFileError, match="no gold"):
        load_gold(str(tmp_path / "empty"))


@pytest.mark.parametrize("name", ["gld", "set/gld", "set/gld.jsonl", "./set/gld", "set/a/gld"])
def test_a_path_that_does_not_exist_is_no_data_set_on_the_hub(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_paired_folders(Path("set"))
    result = run_epoche(*("extract", "score", "--gold", name, "--predictions", "set/runs"))
    assert "no such file or folder" in check_error_line(result, 3)


# Predictions.


def test_a_folder_of_systems_gives_them_all_and_missing_predictions_fail(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    (root / "runs" / "two" / "b2.json").unlink()
    write_json(root / "runs" / "two" / "zz.json", {"name": "extra"})
    (root / "runs" / "one" / "b2.json").write_text("no JSON at all")
    result = score(tmp_path / "out", root / "truth", root / "runs")
    assert result.code == 0, result.err
    assert (
        "two: 1 of 2 predictions are left out, because there is no such sample: 'zz'" in result.err
    )
    assert "two: 1 of 2 predictions are missing and count as errors" in result.err
    assert "one: 1 extraction of 2 taken from under 'data' of its record" in result.err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["systems"] == ["one", "two"]
    assert manifest["counts"] == {
        **{"OK": 2, "INVALID": 0, "UNPARSABLE": 1},
        **{"ERROR": 1, "NULLS": 0},
    }


def test_a_system_that_answered_only_one_document_does_not_lead(tmp_path: Path) -> None:
    fields = {"name": {"type": "string"}, "age": {"type": "integer"}, "city": {"type": "string"}}
    schema = write_json(tmp_path / "schema.json", {"type": "object", "properties": fields})
    gold = {f"d{n}": {"name": f"N{n}", "age": n, "city": "Bern"} for n in range(1, 7)}
    for id_, value in gold.items():
        write_json(tmp_path / "gold" / f"{id_}.json", value)
        nearly = {**value, "city": "Rome", "more": 1} if id_ == "d6" else value
        write_json(tmp_path / "runs" / "complete" / f"{id_}.json", nearly)
    write_json(tmp_path / "runs" / "sparse" / "d1.json", gold["d1"])
    write_json(tmp_path / "runs" / "sparse" / "d2.json", {"status": "error"})
    out = tmp_path / "out"
    result = score(out, tmp_path / "gold", tmp_path / "runs", more=("--schema", schema))
    assert result.code == 0, result.err
    report = json.loads((out / "metrics.json").read_bytes())["report"]
    sparse = report["systems"]["sparse"]["metrics"]
    for metric in ("field_accuracy_macro", "right_rate", "exact_match", "field_f1_partial"):
        assert sparse[metric]["value"] <= 0.4, metric
    assert sparse["field_accuracy_macro"]["value"] == pytest.approx(1 / 6)
    assert sparse["field_accuracy_macro"]["n"] == 6
    assert sparse["success_rate"]["value"] == pytest.approx(1 / 6)
    comparison = json.loads((out / "comparison.json").read_bytes())
    assert [entry["system"] for entry in comparison["ranking"]] == ["complete", "sparse"]
    bests = comparison["best_by_metric"]
    assert {bests[f"highest_{one}"] for one in ("eqs", "f1_partial", "exact_match")} == {"complete"}
    assert bests["lowest_hallucination"] is None  # of one document, none is invented
    (pair,) = (one for one in comparison["pairs"] if one["metric"] == "field_accuracy_macro")
    assert pair["n"] == 6
    assert "5 failed calls" in result.out
    assert "failed:zero" in report["signature"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "lines.jsonl",
            "".join(json.dumps({"doc_id": k, "output": v}) + "\n" for k, v in GOLD.items()),
        ),
        (
            "texts.jsonl",
            "".join(
                json.dumps({"id": k, "response": json.dumps(v)}) + "\n" for k, v in GOLD.items()
            ),
        ),
        ("object.json", json.dumps(GOLD, indent=2)),
        ("records.json", json.dumps([{"id": k, "value": {"result": v}} for k, v in GOLD.items()])),
        ("flat.jsonl", "".join(json.dumps({"id": k, **v}) + "\n" for k, v in GOLD.items())),
        ("flat.json", json.dumps([{"id": k, "repeat": 0, **v} for k, v in GOLD.items()])),
    ],
)
def test_files_of_predictions_are_read_in_any_of_their_forms(
    tmp_path: Path, name: str, content: str
) -> None:
    root = write_paired_folders(tmp_path / "set")
    (tmp_path / name).write_text(content)
    result = score(tmp_path / "out", root / "truth", f"s={tmp_path / name}")
    assert result.code == 0, result.err
    assert read_scores(tmp_path / "out") == {"s": 1.0}


@pytest.mark.parametrize("field", ["result", "data", "error", "id"])
def test_a_row_with_the_fields_of_its_schema_is_the_extraction(tmp_path: Path, field: str) -> None:
    """Also if a field is called as those that contain extractions elsewhere."""
    value: Any = {"x": "1"} if field == "data" else "pass"
    expected = {"name": "A", field: "d1" if field == "id" else value}
    schema = {"type": "object", "properties": {key: {} for key in expected}}
    gold = {"id": "d1", "schema": schema, "expected": expected}
    found = write_json(tmp_path / "found.json", [{"id": "d1"} | expected])
    path = write_json(tmp_path / "gold.json", [gold])
    assert score(tmp_path / "out", path, f"s={found}").code == 0
    assert read_scores(tmp_path / "out") == {"s": 1.0}


def test_a_table_with_a_column_for_each_field_is_read(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    (tmp_path / "own.csv").write_text("id,name,age\na1,Ada,36\nb2,Bob,8\n")
    result = score(tmp_path / "out", root / "truth", f"s={tmp_path / 'own.csv'}")
    assert result.code == 0
    assert "s: rows are extractions themselves; their ids are in 'id'" in result.err
    report = json.loads((tmp_path / "out" / "metrics.json").read_bytes())["report"]
    assert report["systems"]["s"]["metrics"]["field_f1_lenient"]["value"] == 0.75


@pytest.mark.parametrize("stray", ["nobody", "b2"])
def test_the_column_with_the_ids_of_most_rows_names_the_samples(tmp_path: Path, stray: str) -> None:
    """Its first row may be on no sample, and another column may have a sample's id by chance."""
    root = write_paired_folders(tmp_path / "set")
    rows = [
        {"id": stray, "custom_id": "warm-up", "value": {"name": "?"}},
        *({"id": f"req_{key}", "custom_id": key, "value": value} for key, value in GOLD.items()),
    ]
    path = write_json(tmp_path / "p.json", rows)
    result = score(tmp_path / "out", root / "truth", f"s={path}")
    assert result.code == 0, result.err
    assert read_scores(tmp_path / "out") == {"s": 1.0}
    assert "extractions themselves" not in result.err


@pytest.mark.parametrize(
    ("schema", "cell", "value"),
    [
        (
            {"properties": {"age": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}},
            "36",
            36,
        ),
        ({"properties": {"age": {"type": ["integer", "null"]}}}, "36", 36),
        ({"properties": {"age": {"type": ["integer", "string"]}}}, "36", "36"),
        ({"properties": {"age": {"type": "integer"}}}, "many", "many"),
        ({"properties": ["age"]}, "36", "36"),  # unusable
    ],
)
def test_cells_are_read_by_the_types_of_the_schema(
    tmp_path: Path, schema: Any, cell: str, value: Any
) -> None:
    row = {"id": "d1", "schema": {"type": "object"} | schema, "expected": {"age": 36}}
    samples = load_gold(str(write_json(tmp_path / "gold.json", [row]))).samples
    assert SampleNames(samples).read_cells("d1", {"age": cell}) == {"age": value}


@pytest.mark.parametrize("order", [1, -1])
def test_a_row_without_an_extraction_is_a_failed_call_wherever_it_stands(
    tmp_path: Path, order: int
) -> None:
    root = write_paired_folders(tmp_path / "set")
    for number, failed in enumerate(({"error": "timeout"}, {"status": "failed"}, {"cost": 1})):
        rows = [{"id": "a1", **failed}, {"id": "b2", "output": GOLD["b2"]}]
        found = write_lines(tmp_path / f"{number}.jsonl", rows[::order])
        out = tmp_path / f"out{number}"
        assert score(out, root / "truth", f"s={found}").code == 0
        scored = map(json.loads, (out / "rows.jsonl").read_text().splitlines())
        assert {row["id"]: row["outcome"] for row in scored} == {"a1": "ERROR", "b2": "OK"}


def test_a_configuration_says_how_fields_are_compared(tmp_path: Path) -> None:
    row = {"id": "1", "schema": {"type": "object", "properties": {"day": {"type": "string"}}}}
    gold = write_json(tmp_path / "gold.json", [row | {"expected": {"day": "2024-02-01"}}])
    found = write_json(tmp_path / "found.json", [{"id": "1", "value": {"day": "01/02/2024"}}])
    config = tmp_path / "config.yaml"
    config.write_text("metrics:\n  field_matching:\n    date_order: day_first\n", "utf-8")
    for name, flags in (("plain", ()), ("configured", ("--config", config))):
        assert score(tmp_path / name, gold, f"a={found}", more=flags).code == 0
    values = [read_scores(tmp_path / name)["a"] for name in ("plain", "configured")]
    assert values == [0.0, 1.0]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_predictions_without_a_column_of_extractions_are_refused(
    tmp_path: Path, ending: str
) -> None:
    root = write_paired_folders(tmp_path / "set")
    rows = [["id", "invoice_number", "total"], ["a1", "I-1", "3"], ["b2", "I-2", "4"]]
    delimiter = {"csv": ",", "tsv": "\t"}.get(ending)
    lines = [
        json.dumps(dict(zip(rows[0], row, strict=True)))
        if delimiter is None
        else delimiter.join(row)
        for row in rows[delimiter is None :]
    ]
    (tmp_path / f"own.{ending}").write_text("\n".join(lines) + "\n")
    result = score(tmp_path / "out", root / "truth", f"s={tmp_path / f'own.{ending}'}")
    line = check_error_line(result, 12)
    assert "a prediction has no 'value'" in line
    assert "It has the fields id, invoice_number, total" in line


def test_an_empty_cell_of_a_column_of_extractions_is_an_unreadable_reply(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    (tmp_path / "own.csv").write_text('doc_id,output\na1,\nb2,"{""name"": ""Bob"", ""age"": 7}"\n')
    assert score(tmp_path / "out", root / "truth", f"s={tmp_path / 'own.csv'}").code == 0
    rows = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in rows] == ["UNPARSABLE", "OK"]


def test_an_array_of_scalars_amid_prose_is_read_for_schemas_of_arrays_only(tmp_path: Path) -> None:
    texts = {"list": 'They are ["x", "y"].', "open": "Sorry, not in [1]."}
    for id_, schema, gold in (
        ("list", {"type": "array", "items": {"type": "string"}}, ["x", "y"]),
        ("open", {"properties": {"name": {"type": "string"}}}, {"name": "Ada"}),
    ):
        write_json(tmp_path / "set" / "gold" / f"{id_}.json", gold)
        write_json(tmp_path / "set" / "forms" / f"{id_}.json", schema)
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own" / f"{id_}.json").write_text(texts[id_])
    write_json(tmp_path / "own.json", texts)
    rows = [{"id": id_, "value": text} for id_, text in texts.items()]
    write_json(tmp_path / "rows.json", rows)
    for name in ("own", "own.json", "rows.json"):
        out = tmp_path / "out" / name
        assert score(out, tmp_path / "set" / "gold", f"s={tmp_path / name}").code == 0
        lines = (out / "rows.jsonl").read_text().splitlines()
        assert [json.loads(line)["outcome"] for line in lines] == ["OK", "UNPARSABLE"], name


def write_lines(path: Path, rows: list[Any]) -> Path:
    """Writes JSON lines; None becomes an empty line."""
    lines = ("" if row is None else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


NAMES = ("Ada", "Bob", "Cy", "Di")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("Ada", "Bob", "Cy", "Di"), ""),
        (("Ada", "Bob", "Cy", "Di", None), ""),
        (("Ada", None, "Cy", "Di"), "3 rows without ids for 4 samples: give ids"),
        (("Ada", "Bob", "Cy"), "3 rows without ids for 4 samples: give ids"),
        (("Ada", "Bob", "Cy", "Di", "Eve"), "5 rows without ids for 4 samples: give ids"),
        (("Ada", None, "Bob", "Cy", "Di"), "a line before this one is empty"),
    ],
)
def test_rows_without_ids_are_not_matched_with_other_samples(
    tmp_path: Path, names: tuple[str | None, ...], message: str
) -> None:
    gold = write_lines(
        tmp_path / "gold.jsonl",
        [{"text": "", "schema": SCHEMA, "expected_output": {"name": name}} for name in NAMES],
    )
    rows = [None if name is None else {"value": {"name": name}} for name in names]
    done = score(tmp_path / "out", gold, write_lines(tmp_path / "p.jsonl", rows))
    if message:
        assert message in check_error_line(done, 12)
    else:
        assert read_scores(tmp_path / "out") == {"p": 1.0}


def test_a_limit_leaves_out_further_rows_without_ids(tmp_path: Path) -> None:
    gold = write_lines(
        tmp_path / "gold.jsonl",
        [{"text": "", "schema": SCHEMA, "expected_output": {"name": name}} for name in NAMES],
    )
    rows = write_lines(tmp_path / "p.jsonl", [{"value": {"name": name}} for name in NAMES])
    done = score(tmp_path / "out", gold, rows, more=("--limit", "2"))
    assert done.code == 0, done.err
    assert read_scores(tmp_path / "out") == {"p": 1.0}


def test_two_names_of_one_sample_are_refused(tmp_path: Path) -> None:
    gold = write_lines(
        tmp_path / "gold.jsonl",
        [
            {"id": f"{id_}.gold", "text": "", "schema": SCHEMA, "expected_output": {"name": "Ada"}}
            for id_ in ("doc1", "doc2")
        ],
    )
    values = {"doc1": {"name": "Eve"}, "doc1.gold": {"name": "Ada"}, "doc2": {"name": "Ada"}}
    rows = [{"id": id_, "value": value} for id_, value in values.items()]
    for file in (
        write_lines(tmp_path / "lines.jsonl", rows),
        write_json(tmp_path / "object.json", values),
    ):
        line = check_error_line(score(tmp_path / "out", gold, file), 13)
        assert "'doc1' and 'doc1.gold' are both predictions on 'doc1.gold'" in line
    repeated = [{**row, "repeat": number} for number, row in enumerate(rows[:2])]
    done = score(tmp_path / "both", gold, write_lines(tmp_path / "repeats.jsonl", repeated))
    assert "both predictions" not in done.err


def test_gold_may_be_scored_against_itself(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    assert score(tmp_path / "out", root / "truth", f"gold={root / 'truth'}").code == 0
    assert read_scores(tmp_path / "out") == {"gold": 1.0}


def test_predictions_that_cannot_be_read_are_replies_without_json(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    folder = root / "runs" / "two"
    (folder / "a1.json").write_text("[" * 200_000)
    (folder / "b2.json").write_bytes(b"\xff\xfe\x00" + b"x" * (9 * 2**20))
    assert score(tmp_path / "out", root / "truth", folder).code == 0
    rows = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in rows] == ["UNPARSABLE"] * 2
    assert "larger than" in json.loads(rows[1])["problem"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('{"a": "string"}', "any value would be valid"),
        ('{"$ref": "http://127.0.0.1:9/s"}', "leads out of the schema"),
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
    ],
)
def test_an_unusable_schema_file_is_refused(tmp_path: Path, schema: str, message: str) -> None:
    root = write_paired_folders(tmp_path / "set")
    (tmp_path / "schema.json").write_text(schema)
    flags = ("--schema", tmp_path / "schema.json")
    result = score(tmp_path / "out", root / "truth", root / "runs", more=flags)
    check_error_line(result, 37)
    assert message in result.err


def test_a_folder_without_a_prediction_is_refused(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    write_json(tmp_path / "other" / "zz.json", {})
    result = score(tmp_path / "out", root / "truth", f"s={tmp_path / 'other'}")
    check_error_line(result, 3)
    assert "no prediction on a sample" in result.err


@pytest.mark.parametrize(
    ("record", "value", "keys"),
    [
        ({"status": "ok", "data": {"name": "A"}, "cost": 1}, {"name": "A"}, "data"),
        ({"output": {"extracted_data": {"name": "A"}}}, {"name": "A"}, "output.extracted_data"),
        ({"response": '{"name": "A"}'}, {"name": "A"}, "response"),
        ({"name": "A", "data": {"name": "B"}}, {"name": "A", "data": {"name": "B"}}, ""),
        ({"other": 1}, {"other": 1}, ""),
        ([{"data": 1}], [{"data": 1}], ""),
        # A declared key of a record is no extraction if an object in it has more of them.
        ({"id": "r", "output": {"name": "A", "id": "1"}}, {"name": "A", "id": "1"}, "output"),
        ({"id": "r", "output": '{"name": "A", "id": 1}'}, {"name": "A", "id": 1}, "output"),
        ({"id": "r", "output": {"id": "1"}}, {"id": "r", "output": {"id": "1"}}, ""),
    ],
)
def test_the_schema_decides_what_is_a_record(record: Any, value: Any, keys: str) -> None:
    opened = open_record(record, {"name", "id"})
    assert (opened.value, opened.keys, opened.error) == (value, keys, "")


ADA = {"name": "Ada", "age": 36}
ADA_TEXT = json.dumps(ADA)
TOOL_CALL = {"id": "call_1", "function": {"name": "f", "arguments": ADA_TEXT}}
RAW_REPLIES = {
    "chat": {"choices": [{"message": {"role": "assistant", "content": ADA_TEXT}}], "usage": {}},
    "chat in a fence": {"choices": [{"message": {"content": f"Here:\n```json\n{ADA_TEXT}\n```"}}]},
    "chat with a tool": {"choices": [{"message": {"content": None, "tool_calls": [TOOL_CALL]}}]},
    "chat with parsed": {"choices": [{"message": {"content": ADA_TEXT, "parsed": ADA}}]},
    "chat with content parts": {
        "choices": [{"message": {"content": [{"type": "text", "text": ADA_TEXT}]}}]
    },
    "chat with keys of the schema": {
        **{"id": "chat-1", "model": "m", "name": "x"},
        "choices": [{"message": {"role": "assistant", "name": "y", "content": ADA_TEXT}}],
    },
    "completion": {"choices": [{"text": ADA_TEXT}]},
    "message": {"model": "m", "message": {"role": "assistant", "content": ADA_TEXT}},
    "responses": {
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": ADA_TEXT}]},
        ]
    },
    "responses with a tool": {"output": [{"type": "function_call", "arguments": ADA_TEXT}]},
    "messages": {"content": [{"type": "text", "text": ADA_TEXT[:9]}, {"text": ADA_TEXT[9:]}]},
    "messages with a tool": {
        "content": [{"text": "Here."}, {"type": "tool_use", "name": "f", "input": ADA}]
    },
    "candidates": {
        "candidates": [
            {"content": {"parts": [{"text": "Hm.", "thought": True}, {"text": ADA_TEXT}]}}
        ]
    },
    "candidates with a function": {
        "candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": ADA}}]}}]
    },
    "parsed": {"parsed": ADA, "raw": "…"},
    "fields": {"fields": ADA, "pages": 3},
    "arguments": {"name_of_tool": "f", "arguments": ADA_TEXT},
    "list of one": [ADA],
    "list of pages": [{"name": "Ada"}, {"age": 36}],
    "values with confidences": {
        "name": {"value": "Ada", "confidence": 0.9},
        "age": {"value": 36, "confidence": 0.4},
    },
    "fields with confidences": {"fields": {"name": {"value": "Ada", "score": 0.9}, "age": 36}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "batch"),
    [
        *((form, "") for form in RAW_REPLIES),
        *(("chat", batch) for batch in ("response", "body", "result", "key")),
        ("messages with a tool", "result"),
    ],
)
def test_replies_of_model_servers_are_read_as_they_are(
    tmp_path: Path, form: str, batch: str
) -> None:
    root = write_paired_folders(tmp_path / "set")
    reply = RAW_REPLIES[form]
    row: dict[str, Any] = {
        "": {"id": "a1", "value": reply},
        "response": {"id": "a1", "response": reply},
        "body": {
            **{"id": "batch_req_7", "custom_id": "a1", "error": None},
            "response": {"status_code": 200, "body": reply},
        },
        "result": {"custom_id": "a1", "result": {"type": "succeeded", "message": reply}},
        "key": {"key": "a1", "response": reply},
    }[batch]
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    result = score(
        tmp_path / "out",
        root / "truth" / "a1.json",
        f"s={path}",
        more=(*("--schema", root / "forms" / "a1.json"),),
    )
    assert result.code == 0, result.err
    assert read_scores(tmp_path / "out") == {"s": 1.0}
    (line,) = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    has_confidences = "confidences" in form
    assert ("field_confidences" in json.loads(line)["score"]) == has_confidences
    assert "no field of their schema" not in result.err


def test_values_with_confidences_give_risks_and_missing_values(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    low = {"name": {"value": "Eve", "confidence": 0.2}, "age": {"value": None, "confidence": 0.1}}
    path = write_json(
        tmp_path / "p.json", {"a1": RAW_REPLIES["values with confidences"], "b2": low}
    )
    result = score(tmp_path / "out", root / "truth", f"s={path}")
    assert "2 of 2 have values with confidences" in result.err
    report = json.loads((tmp_path / "out" / "metrics.json").read_bytes())["report"]
    assert report["systems"]["s"]["field_risks"].keys() == {"name", "age"}
    assert report["systems"]["s"]["metrics"]["omission_rate"]["value"] == 0.25
    # A schema with a field called "value" has such objects of its own.
    own = {"value": 7, "confidence": 0.5}
    schema = {
        "type": "object",
        "properties": {
            "m": {
                "type": "object",
                "properties": {"value": {"type": "number"}, "confidence": {"type": "number"}},
            }
        },
    }
    write_json(tmp_path / "own" / "gold" / "c.json", {"m": own})
    write_json(tmp_path / "own" / "runs" / "c.json", {"m": own})
    schema_path = write_json(tmp_path / "own" / "schema.json", schema)
    result = score(
        tmp_path / "out2",
        tmp_path / "own" / "gold",
        f"s={tmp_path / 'own' / 'runs'}",
        more=("--schema", schema_path),
    )
    assert read_scores(tmp_path / "out2") == {"s": 1.0}
    assert "values with confidences" not in result.err


def _split(value: Any, schema: Any = None, expected: Any = None) -> Any:
    root = get_schema_plan({} if schema is None else schema).root
    plain = split_annotations(value, root, list_value_places(expected))
    return None if plain is None else (plain.value, plain.confidences)


def test_values_without_a_confidence_may_stand_beside_those_with_one() -> None:
    value = {"name": {"value": "A", "confidence": 0.9}, "age": {"value": None}}
    assert _split(value) == ({"name": "A", "age": None}, {"name": 0.9, "age": None})
    assert _split({"age": {"value": None}}) is None


QUANTITY = {"type": "object", "properties": {"value": {"type": "number"}, "unit": {}}}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        # Only the node with a property "value" has objects of its own.
        (
            {"properties": {"name": {"type": "string"}, "size": QUANTITY}},
            {"name": {"value": "A", "confidence": 0.9}, "size": {"value": 5, "unit": "kg"}},
            (
                {"name": "A", "size": {"value": 5, "unit": "kg"}},
                {"name": 0.9, "size": {"value": None, "unit": None}},
            ),
        ),
        # Such an object may be in a wrapper, and be an element of a list.
        (
            {"properties": {"sizes": {"type": "array", "items": {"$ref": "#/$defs/q"}}}}
            | {"$defs": {"q": QUANTITY}},
            {"sizes": {"value": [{"value": 5}, {"value": 6, "unit": "kg"}], "page": 1}},
            ({"sizes": [{"value": 5}, {"value": 6, "unit": "kg"}]}, None),
        ),
        ({}, {"a": {"value": 1, "page": 3}, "b": {"value": "x"}}, ({"a": 1, "b": "x"}, None)),
        (
            {},
            {"a": [{"value": 1, "bounding_box": [0, 0, 1, 1]}, {"value": 2, "source_text": "2"}]},
            ({"a": [1, 2]}, None),
        ),
        # Another key shows an object of its own, unless the schema asks for something else.
        ({}, {"a": {"value": 1, "currency": "EUR", "page": 3}}, None),
        (
            {"properties": {"a": {"type": ["number", "null"]}}},
            {"a": {"value": 1, "found on": 3}},
            ({"a": 1}, None),
        ),
        ({"properties": {"a": {"type": "number"}}}, {"a": {"value": None}}, ({"a": None}, None)),
        # Keys that the schema has are no annotations.
        (
            {"properties": {"a": {"type": "object", "properties": {"page": {}}}}},
            {"a": {"value": 1, "page": 3}},
            None,
        ),
        # Values within a wrapper may have wrappers.
        (
            {},
            {"a": {"value": [{"b": {"value": 1, "confidence": 0.5}}], "page": 3}},
            ({"a": [{"b": 1}]}, {"a": [{"b": 0.5}]}),
        ),
    ],
)
def test_the_schema_decides_of_each_object_with_a_value_whether_it_annotates_one(
    schema: Any, value: Any, expected: Any
) -> None:
    assert _split(value, schema) == expected


def test_without_a_schema_gold_shows_which_objects_with_a_value_are_its_own() -> None:
    value = {"size": [{"value": 5, "score": 1}], "name": {"value": "A", "score": 0.5}}
    assert _split(value, expected={"size": [{"value": 4, "score": 1}], "name": "A"}) == (
        {"size": [{"value": 5, "score": 1}], "name": "A"},
        {"size": [{"value": None, "score": None}], "name": 0.5},
    )


@pytest.mark.parametrize(
    ("types", "value", "plain"),
    [
        ("string", {"value": 1200, "currency": "USD"}, "1200 USD"),
        (["string", "null"], {"value": 2, "unit": "kg"}, "2 kg"),
        ("string", {"value": "2.5", "unit_of_measure": "kg"}, "2.5 kg"),
        # The text has a unit, there is none, there are two, or a number is asked for.
        ("string", {"value": "2 kg", "unit": "kg"}, "2 kg"),
        ("string", {"value": 2, "unit": None}, 2),
        ("string", {"value": 2, "unit": "kg", "currency": "EUR"}, 2),
        ("number", {"value": 2, "unit": "kg"}, 2),
    ],
)
def test_a_unit_beside_a_number_is_a_part_of_the_text(types: Any, value: Any, plain: Any) -> None:
    root = get_schema_plan({"properties": {"a": {"type": types}}}).root
    found = split_annotations({"a": {**value, "page": 3}}, root)
    assert found is not None
    assert found.value == {"a": plain}
    is_joined = plain != value["value"]
    assert found.left_out == value.keys() - {"value"} - found.joined | {"page"}
    assert bool(found.joined) == is_joined


@pytest.mark.parametrize(
    ("schema", "gold"),
    [
        ({"w": {"type": "string"}, "unit": {"type": "string"}}, None),
        ({"w": {"type": "string"}, "W_unit": {"type": "string"}}, None),
        ({"w": {"enum": ["2", "3"]}}, None),
        ({"w": {"type": "string", "pattern": r"^\d+$"}}, None),
        ({"w": {"type": "string"}}, "3"),
        ({"w": {"type": "string"}}, 3),
    ],
)
def test_a_unit_that_gold_or_the_schema_keeps_apart_stays_apart(schema: Any, gold: Any) -> None:
    root = get_schema_plan({"properties": schema}).root
    places = list_number_places({"w": gold})
    found = split_annotations({"w": {"value": "2", "unit": "kg"}}, root, (), places)
    assert found is not None
    assert found.value == {"w": "2"}
    assert (found.joined, found.left_out) == (frozenset(), frozenset({"unit"}))


def test_a_field_for_another_kind_of_unit_does_not_keep_units_apart() -> None:
    schema = {"w": {"type": "array", "items": {"type": "string"}}, "currency": {}, "x_unit": {}}
    root = get_schema_plan({"properties": schema}).root
    places = list_number_places({"w": ["3 kg"]})
    found = split_annotations({"w": [{"value": "2", "unit": "kg"}]}, root, (), places)
    assert found is not None
    assert found.value == {"w": ["2 kg"]}


def test_an_amount_in_another_currency_is_wrong_and_keys_left_out_are_named(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in "ab"}}
    schema_path = write_json(tmp_path / "schema.json", schema)
    write_json(tmp_path / "gold" / "1.json", {"a": "1200 EUR", "b": "2 kg"})
    found = {"a": {"value": 1200, "currency": "USD", "page": 1}, "b": {"value": 2, "unit": "kg"}}
    path = write_json(tmp_path / "p.json", {"1": found})
    result = score(tmp_path / "out", tmp_path / "gold", f"s={path}", more=("--schema", schema_path))
    assert read_scores(tmp_path / "out") == {"s": 0.5}
    assert "s: keys beside values are left out: page" in result.err
    assert "joined to a text with what is beside them: currency, unit" in result.err
    assert json.loads((tmp_path / "out" / "rows.jsonl").read_text())["outcome"] == "OK"


def test_annotated_values_are_scored(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    found = {
        id_: {key: {"value": inner, "page": 3, "bbox": [1]} for key, inner in value.items()}
        for id_, value in GOLD.items()
    }
    path = write_json(tmp_path / "p.json", found)
    result = score(tmp_path / "out", root / "truth", f"s={path}")
    assert read_scores(tmp_path / "out") == {"s": 1.0}
    assert "2 of 2 have values with annotations" in result.err


def test_extractions_without_a_field_of_their_schema_are_reported(tmp_path: Path) -> None:
    root = write_paired_folders(tmp_path / "set")
    path = write_json(tmp_path / "p.json", {"a1": {"Name": "Ada", "Alter": 36}, "b2": GOLD["b2"]})
    result = score(tmp_path / "out", root / "truth", f"s={path}")
    assert (
        "s: 1 of 2 extractions have no field of their schema; their keys: Name, Alter" in result.err
    )


@pytest.mark.parametrize(
    "reply",
    [
        {"choices": [{"message": {"content": None, "refusal": "I cannot help with that."}}]},
        {"choices": [{"message": {"content": "I see no name."}}]},
    ],
)
def test_a_refusal_is_a_reply_that_cannot_be_read(tmp_path: Path, reply: Any) -> None:
    root = write_paired_folders(tmp_path / "set")
    path = write_json(tmp_path / "p.json", {"a1": reply, "b2": GOLD["b2"]})
    assert score(tmp_path / "out", root / "truth", f"s={path}").code == 0
    counts = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["counts"]
    assert (counts["UNPARSABLE"], counts["OK"]) == (1, 1)


def test_a_field_of_the_schema_called_data_is_no_record() -> None:
    assert open_record({"data": {"x": 1}}, {"data"}).keys == ""


@pytest.mark.parametrize(
    "record",
    [{"status": "failed", "data": None}, {"error": "timeout"}, {"success": False, "data": {}}],
)
def test_a_failed_call_is_an_error_and_no_empty_extraction(record: Any) -> None:
    assert open_record(record, {"name"}).error


# Public data.


@pytest.mark.parametrize(
    ("gold", "count"),
    [("docubench/labels", 25), ("docubench", 25), ("extract-bench-resume", 7)],
)
def test_public_gold_against_itself_is_right_in_every_field(
    tmp_path: Path, public_data: Path, gold: str, count: int
) -> None:
    folder = public_data / "foreign" / "extraction" / gold
    if not folder.exists():
        pytest.skip("needs foreign/ in the folder that EPOCHE_PUBLIC_DATA names")
    loaded = load_gold(str(folder))
    assert len(loaded.samples) == count
    assert not loaded.rejected
    path = write_json(tmp_path / "self.json", {s.id: s.expected for s in loaded.samples})
    assert score(tmp_path / "out", folder, f"gold={path}").code == 0
    report = json.loads((tmp_path / "out" / "metrics.json").read_bytes())["report"]
    tallies = [
        json.loads(line)["score"]["tally"]
        for line in (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    ]
    assert len(tallies) == count
    assert all(tally[0] == tally[1] == tally[2] for tally in tallies), (
        "expected = predicted = right"
    )
    assert report["n_samples"] == count


def test_the_six_systems_of_docubench_are_scored_at_once(tmp_path: Path, public_data: Path) -> None:
    folder = public_data / "foreign" / "extraction" / "docubench"
    if not folder.exists():
        pytest.skip("needs foreign/ in the folder that EPOCHE_PUBLIC_DATA names")
    result = score(tmp_path / "out", folder, folder / "results")
    assert result.code == 0, result.err
    published = json.loads((folder / "summary.json").read_bytes())["aggregates"]
    assert set(read_scores(tmp_path / "out")) == set(published)
    assert "0 not JSON, 0 failed calls" in result.out


def test_schemas_beside_gold_are_no_predictions(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    for id_, gold in GOLD.items():
        write_json(folder / f"{id_}.gold.json", gold)
        write_json(folder / f"{id_}.schema.json", SCHEMA)
    score(tmp_path / "out", folder, f"p={folder}")
    assert read_scores(tmp_path / "out") == {"p": 1.0}
    write_json(folder / "only-schema.json", SCHEMA)
    score(tmp_path / "more", folder, f"p={folder}")
    assert read_scores(tmp_path / "more") == {"p": 1.0}


def test_the_hint_to_score_gold_against_itself_is_given_only_where_it_was_not_done(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "set"
    (folder / "runs").mkdir(parents=True)
    for path, is_hint in ((folder, False), (folder / "runs", True)):
        with pytest.raises(MissingFileError) as caught:
            load_gold(str(folder), predictions=[path])
        assert ("the same path" in str(caught.value.hint)) == is_hint


@pytest.mark.parametrize("kind", ["rows", "folder of rows", "records", "cases", "with schemas"])
def test_gold_of_each_layout_scored_against_itself_is_right(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "set"
    for number, gold in enumerate(GOLD.values()):
        record = {"docId": f"d{number}", "groundTruth": json.dumps({"gt_parse": gold, "meta": {}})}
        if kind == "cases":
            record["jsonSchema"] = json.dumps(SCHEMA)
        if kind == "with schemas":
            write_json(root / "schemas" / f"d{number}.json", SCHEMA)
        write_json(root / "gold" / f"d{number}.json", gold if kind == "with schemas" else record)
    if "rows" in kind:
        rows = [json.loads(path.read_text()) for path in sorted((root / "gold").iterdir())]
        root = tmp_path / "rows"
        root.mkdir()
        (root / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
        root = root / "metadata.jsonl" if kind == "rows" else root
    score(tmp_path / "out", root, f"p={root}")
    assert read_scores(tmp_path / "out") == {"p": 1.0}


def test_a_prediction_is_not_gold_because_it_lies_in_one_file_with_it(tmp_path: Path) -> None:
    rows = [
        {"id": id_, "schema": SCHEMA, "ground_truth": gold, "output": {"name": "Eve", "age": 1}}
        for id_, gold in GOLD.items()
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    score(tmp_path / "out", path, f"p={path}")
    assert read_scores(tmp_path / "out") == {"p": 0.0}
    # A file with nothing but gold is a prediction nowhere else.
    copy = tmp_path / "copy.jsonl"
    copy.write_text("\n".join(json.dumps({**row, "output": None}) for row in rows))
    score(tmp_path / "more", path, f"p={copy}")
    assert read_scores(tmp_path / "more") == {"p": 0.0}


@pytest.mark.parametrize("n_with_schema", [0, 1])
def test_nothing_is_said_of_validity_without_a_schema(tmp_path: Path, n_with_schema: int) -> None:
    rows = [{"id": id_, "schema": None, "gold": gold} for id_, gold in GOLD.items()]
    for row in rows[:n_with_schema]:
        row["schema"] = SCHEMA
    gold = tmp_path / "gold.jsonl"
    gold.write_text("\n".join(map(json.dumps, rows)))
    predictions = write_json(tmp_path / "p.json", {"a1": {**GOLD["a1"], "age": "36"}})
    score(tmp_path / "out", gold, f"p={predictions}")
    printed = (tmp_path / "out" / "summary.txt").read_text()
    system = json.loads((tmp_path / "out" / "metrics.json").read_bytes())["report"]["systems"]["p"]
    metrics = system["metrics"]
    if n_with_schema:
        assert "p: 2 rows, 1 valid, 0 invalid, 0 not JSON" in printed
        assert metrics["schema_validity_literal"]["denominator"] == 1
        assert "strict reading, without rules: schema validity 0.000" in printed
    else:
        assert "p: 2 rows, 1 JSON without a schema to check, 0 not JSON" in printed
        assert metrics["schema_validity_literal"]["value"] is None
        assert "strict reading, without rules: field F1 0." in printed


@pytest.mark.parametrize(
    ("beside", "is_value"),
    [
        ({"negated": True}, False),
        ({"is_negated": "yes", "confidence": 0.9}, False),
        ({"status": "absent", "reasoning": "it says no"}, False),
        ({"assertion": "not_found", "page": 1}, False),
        ({"found": False, "confidence": 0.1}, False),
        ({"Present": False}, False),
        ({"scale": "thousands"}, False),
        ({"multiplier": 1000, "source": "table"}, False),
        ({"operator": "<"}, False),
        ({"sign": "-"}, False),
        ({"sign": -1}, False),
        ({"negated": 1}, False),
        ({"negated": "1"}, False),
        ({"Is-Negated": "Y"}, False),
        ({"negation": "negated"}, False),
        ({"found": 0}, False),
        ({"found": "not found"}, False),
        ({"status": "not-found"}, False),
        ({"status": "Not Found."}, False),
        ({"is_negative": True}, False),
        ({"exponent": 3}, False),
        ({"scale": "10^3"}, False),
        ({"scale": "x1000"}, False),
        ({"factor": "in millions"}, False),
        ({"comparator": "lt"}, False),
        ({"comparator": "at least"}, False),
        ({"exponent": 0}, True),
        ({"power": 0}, True),
        ({"power": "kW"}, True),
        ({"factor": "1.00"}, True),
        ({"scale": "x1", "magnitude": "actual"}, True),
        ({"comparator": "eq"}, True),
        ({"operator": "J. Smith"}, True),
        ({"operator": "Max"}, True),
        ({"found": 3, "negation": "affirmed", "missing": []}, True),
        ({"negated": False, "found": True, "status": "extracted", "scale": 1, "sign": "+"}, True),
        ({"multiplier": None, "operator": "=", "confidence": 0.9}, True),
    ],
)
@pytest.mark.parametrize("kind", ["string", "number", None])
def test_a_value_that_a_key_beside_it_denies_is_not_that_value(
    beside: dict[str, Any], is_value: bool, kind: str | None
) -> None:
    value = {"value": "5" if kind == "string" else 5, **beside}
    properties = {"a": {"type": kind} if kind else {}, "b": {"type": "string"}}
    root = get_schema_plan({"type": "object", "properties": properties}).root
    found = split_annotations({"a": value, "b": {"value": "x", "confidence": 0.5}}, root)
    assert found is not None
    assert found.value["b"] == "x"
    # Without a schema or a confidence, other keys than those of a place make it an object.
    is_wrapper = kind is not None or "confidence" in beside
    is_changed = is_wrapper and not is_value
    assert (found.value["a"] == value["value"]) == (is_wrapper and is_value)
    assert is_wrapper or found.value["a"] == value
    assert bool(found.changed) == is_changed
    # Where there is no value, nothing is denied.
    nothing = {**value, "value": None}
    none = split_annotations({"a": nothing, "b": {"value": "x", "confidence": 0.5}}, root)
    assert none is not None
    assert none.value["a"] == (None if is_wrapper else nothing)
    assert not none.changed


@pytest.mark.parametrize(
    ("value", "beside", "is_value"),
    [
        (-5, {"is_negative": True}, True),
        (-5, {"sign": "negative"}, True),
        ("(5)", {"negative": True}, True),
        (5, {"negative": True}, False),
        (False, {"present": False}, True),
        (True, {"present": False}, False),
        (False, {"correct": False}, False),
        ("N/A", {"found": False}, True),
        ("absent", {"status": "Absent"}, True),
        ("absent", {"status": "wrong", "rejected": True}, False),
        ("cancer", {"exponent": 3, "comparator": "<", "sign": "-"}, True),
        ("$5", {"scale": "thousands"}, False),
        ("cancer", {"negative": True}, False),
    ],
)
def test_a_key_that_says_what_the_value_says_does_not_deny_it(
    value: Any, beside: dict[str, Any], is_value: bool
) -> None:
    root = get_schema_plan({"type": "object", "properties": {"a": {}}}).root
    found = split_annotations({"a": {"value": value, **beside, "confidence": 0.5}}, root)
    assert found is not None
    assert (found.value == {"a": value}) == is_value
    assert bool(found.changed) != is_value


def test_several_values_of_a_field_on_pages_are_not_right(tmp_path: Path) -> None:
    address = {"type": "object", "properties": {"city": {"type": "string"}}}
    schema = {"type": "object", "properties": {**SCHEMA["properties"], "address": address}}
    gold = {"name": "Ada", "age": 36, "address": {"city": "Turin"}}
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps({"id": "a", "schema": schema, "gold": gold}))
    pages = [
        {"name": "Ada", "age": 36, "address": {"city": "Turin"}},
        {"name": " ADA", "age": None, "address": {"city": "Rome"}},
        {"name": "Ada", "age": 7, "address": {}},
    ]
    for name, part in {"more": pages, "same": pages[:1] * 2, "one": pages[:1]}.items():
        for reverse in (False, True):
            value = {"output": part[::-1] if reverse else part}
            predictions = write_json(tmp_path / f"{name}{reverse}.json", {"a": value})
            result = score(tmp_path / f"{name}{reverse}", path, f"p={predictions}")
            assert ("pages have several values of a field: age, city" in result.err) == (
                name == "more"
            )
            right = read_scores(tmp_path / f"{name}{reverse}")["p"]
            assert right == (0.0 if name == "more" else 1.0)  # an invalid reply
    # ExtractBench takes the first, and so it is read in its form; the note is the same.
    value = {"output": {"extracted_data": pages, "field_citations": []}}
    predictions = write_json(tmp_path / "bench.json", {"a": value})
    result = score(tmp_path / "bench", path, f"p={predictions}")
    assert "pages have several values of a field: address, age" in result.err
    assert read_scores(tmp_path / "bench") == {"p": 1.0}
