"""Tests that all file formats load to equal samples and that malformed rows are reported."""

from __future__ import annotations

import builtins
import datetime
import gzip
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.extraction.samples import loader, row_files
from eval.extraction.samples.loader import load_samples, shipped_folder
from eval.extraction.samples.sample import Sample
from kg.base.errors import EpocheError, MissingExtraError, MissingFileError, RecordError

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}


def make_row(number: int, **columns: Any) -> dict[str, Any]:
    return {
        "text": f"Person {number} is {number} years old.",
        "schema": SCHEMA,
        "expected_output": {"name": f"Person {number}", "age": number},
        **columns,
    }


def make_hub_row(number: int) -> dict[str, Any]:
    """Returns the same row in the columns of ``paraloq/json_data_extraction``."""
    row = make_row(number)
    return {
        "title": f"A title {number}",
        "topic": "people",
        "medium": "note",
        "schema": json.dumps(SCHEMA),
        "text": row["text"],
        "item": json.dumps(row["expected_output"]),
    }


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_array(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows, indent=2), encoding="utf-8")


def write_gzip_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))


def write_gzip_array(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


WRITERS = [write_jsonl, write_array, write_gzip_jsonl, write_gzip_array, write_parquet]


@pytest.fixture
def write_rows(tmp_path: Path) -> Callable[..., Path]:
    """Returns a function that writes lines, each a text or a row, to a file."""

    def write_file(*lines: Any, name: str = "set.jsonl") -> Path:
        path = tmp_path / name
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text("\n".join(texts) + "\n", encoding="utf-8", errors="surrogatepass")
        return path

    return write_file


# File formats and layouts.


@pytest.mark.parametrize("writer", WRITERS)
def test_every_kind_of_file_gives_the_same_samples(tmp_path: Path, writer: Any) -> None:
    path = tmp_path / "whatever.its.name"
    writer(path, [make_row(number) for number in range(1, 200)])
    load_result = load_samples(path)
    assert load_result.rejected == []
    assert load_result.samples[6] == Sample(
        id="7",
        text="Person 7 is 7 years old.",
        schema=SCHEMA,
        expected={"name": "Person 7", "age": 7},
    )
    assert [sample.id for sample in load_result.samples] == [str(n) for n in range(1, 200)]


@pytest.mark.parametrize("writer", WRITERS)
def test_hub_columns_are_read(tmp_path: Path, writer: Any) -> None:
    path = tmp_path / "set"
    writer(path, [make_hub_row(1), make_hub_row(2)])
    first_sample, second_sample = load_samples(path).samples
    assert first_sample.schema == SCHEMA
    assert second_sample.expected == {"name": "Person 2", "age": 2}
    assert first_sample.domain == "people"
    assert first_sample.meta == {"title": "A title 1", "medium": "note"}


def test_columns_can_be_named_and_unknown_ones_are_kept(write_rows: Any) -> None:
    path = write_rows(
        make_row(1, id="x-1", domain="law", language="de", meta={"a": 1}, page=7, topic="ignored"),
        make_row(2, id=17, meta='{"b": [null]}'),
    )
    first_sample, second_sample = load_samples(path).samples
    assert (first_sample.id, first_sample.domain, first_sample.language) == ("x-1", "law", "de")
    assert first_sample.meta == {"a": 1, "page": 7, "topic": "ignored"}
    assert (second_sample.id, second_sample.domain, second_sample.language) == ("17", "", "en")
    assert second_sample.meta == {"b": [None]}


def test_a_schema_is_taken_out_of_its_wrapper_and_that_is_said(write_rows: Any) -> None:
    wrapper = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}
    loaded = load_samples(write_rows(make_row(1, schema=wrapper), make_row(2)))
    assert [sample.schema for sample in loaded.samples] == [SCHEMA, SCHEMA]
    assert loaded.notes == [
        "1 of 2 samples with a schema that was taken out of a wrapper; the first: 1: "
        "json_schema.schema"
    ]


def test_typed_columns_follow_the_schema(tmp_path: Path) -> None:
    # Parquet gives every schema the keys of all schemas, with null for missing ones.
    other_schema = {
        "type": "object",
        "properties": {"when": {"type": "string"}},
        "minProperties": 1,
    }
    rows = [
        make_row(1),
        {**make_row(2), "schema": other_schema, "expected_output": {"when": "noon"}},
    ]
    for row in rows:
        row["expected_output"] = json.dumps(row["expected_output"])
        row["seen"] = datetime.date(2026, 5, 1)
    write_parquet(tmp_path / "set.parquet", rows)
    first_sample, second_sample = load_samples(tmp_path / "set.parquet").samples
    assert first_sample.schema == SCHEMA
    assert second_sample.schema == other_schema
    assert second_sample.meta == {"seen": "2026-05-01"}


def test_equal_schemas_are_stored_once(write_rows: Any) -> None:
    first_sample, second_sample = load_samples(write_rows(make_row(1), make_row(2))).samples
    assert first_sample.schema is second_sample.schema


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "b.jsonl", [make_row(1), {"text": "no schema"}])
    write_parquet(tmp_path / "a.parquet", [make_row(2, id="own")])
    write_gzip_jsonl(tmp_path / "c.jsonl.gz", [make_row(3)])
    (tmp_path / "README.md").write_text("not data")
    load_result = load_samples(tmp_path)
    assert [sample.id for sample in load_result.samples] == ["own", "b-1", "c-1"]
    assert [str(rejection) for rejection in load_result.rejected] == [
        "b.jsonl row 2: its schema is missing"
    ]


def test_blank_lines_and_a_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    lines = ["", "  ", json.dumps(make_row(1)), "", json.dumps(make_row(2))]
    path.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    load_result = load_samples(path)
    assert [sample.id for sample in load_result.samples] == ["3", "5"]  # their line numbers
    write_array(path, [make_row(1)])
    path.write_bytes(b"\xef\xbb\xbf\n\n " + path.read_bytes())
    assert len(load_samples(path).samples) == 1


def test_expected_text_is_kept_where_the_schema_is_a_string(write_rows: Any) -> None:
    def make_expected_row(kind: str, expected: Any) -> dict[str, Any]:
        return {"text": "t", "schema": {"type": kind}, "expected_output": expected}

    path = write_rows(
        make_expected_row("string", "abc"),
        make_expected_row("string", "12"),
        make_expected_row("integer", "12"),
        make_expected_row("string", '"x"'),
    )
    assert [sample.expected for sample in load_samples(path).samples] == ["abc", "12", 12, "x"]


def test_expected_output_may_be_null(write_rows: Any) -> None:
    path = write_rows({"text": "t", "schema": {"type": "null"}, "expected_output": None})
    assert load_samples(path).samples[0].expected is None


# Malformed rows.


@pytest.mark.parametrize(
    ("malformed_row", "message"),
    [
        ("{", "not JSON: Expecting property name.* at column 2"),
        ("[1]", "not a JSON object"),
        ("7", "not a JSON object"),
        ('{"text": NaN}', "NaN is not a number"),
        ('{"text": "a", "text": "b"}', "the key 'text' occurs twice"),
        ('{"text": "\\ud800"}', "half a character"),
        ("[" * 200_000, "nested too deeply"),
        ('{"n": ' + "9" * 5000 + "}", "too large"),
        ('{"n": 1e999}', "too large"),
        ({**make_row(1), "text": "  "}, "its text is missing, empty or not a string"),
        ({**make_row(1), "text": 7}, "its text is missing, empty or not a string"),
        ({"schema": SCHEMA, "expected_output": {}}, "its text is missing, empty or not a string"),
        ({**make_row(1), "text": "x" * 1_000_001}, "longer than 1,000,000 characters"),
        ({"text": "a", "expected_output": {}}, "its schema is missing"),
        ({**make_row(1), "schema": "{"}, "its schema is not JSON"),
        ({**make_row(1), "schema": 7}, "its schema cannot be used: a schema must be a JSON object"),
        ({**make_row(1), "schema": {"type": "x"}}, "its schema cannot be used.*malformed"),
        ({**make_row(1), "schema": {"$ref": "http://127.0.0.1:1/"}}, "leads out of the schema"),
        ({**make_row(1), "schema": {"x-match": "nearly"}}, "cannot be used.*nearly"),
        ({"text": "a", "schema": SCHEMA}, "its expected_output is missing"),
        ({**make_row(1), "expected_output": "{"}, "its expected_output is not JSON"),
        ({**make_row(1), "expected_output": {"age": 1}}, r'not valid under its schema: .*"name"'),
        ({**make_row(1), "expected_output": {"name": "a", "age": "1"}}, "/age: "),
        ({**make_hub_row(1), "item": "[]"}, "its item is not valid under its schema"),
        ({**make_row(1), "id": 1.5}, "its id is neither"),
        ({**make_row(1), "id": True}, "its id is neither"),
        ({**make_row(1), "language": 3}, "its language is not a string"),
        ({**make_row(1), "meta": []}, "its meta is not an object"),
    ],
)
def test_malformed_row_is_reported_and_left_out(
    write_rows: Any, malformed_row: Any, message: str
) -> None:
    path = write_rows(make_row(5), malformed_row, make_row(6))
    load_result = load_samples(path)
    assert [sample.id for sample in load_result.samples] == ["1", "3"]
    (rejection,) = load_result.rejected
    assert rejection.row == 2
    assert len(rejection.why) <= 300
    assert re.search(message, rejection.why), rejection.why
    with pytest.raises(RecordError, match="row 2") as error_info:
        load_samples(path, strict=True)
    assert error_info.value.exit_code == 12


def test_truncated_last_line_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    write_jsonl(path, [make_row(1), make_row(2)])
    path.write_bytes(path.read_bytes()[:-20])
    assert [str(rejection) for rejection in load_samples(path).rejected] == [
        "row 2: the last line is incomplete"
    ]


def test_invalid_utf8_rejects_one_row(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(json.dumps(make_row(1)).encode() + b'\n{"text": "\xff"}\n')
    assert [str(rejection) for rejection in load_samples(path).rejected] == [
        "row 2: not JSON: byte 11 is not UTF-8"
    ]


def test_too_long_line_rejects_one_row(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(row_files, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "set.jsonl"
    write_jsonl(path, [make_row(1), make_row(2, page="x" * 5000), make_row(3)])
    load_result = load_samples(path)
    assert [sample.id for sample in load_result.samples] == ["1", "3"]
    assert "longer than 1,000 bytes" in load_result.rejected[0].why
    write_jsonl(path, [make_row(1, page="x" * 5000), make_row(2)])
    assert [sample.id for sample in load_samples(path).samples] == ["2"]


def test_duplicate_id_rejects_the_second_row(write_rows: Any) -> None:
    load_result = load_samples(
        write_rows(make_row(1, id="a"), make_row(2, id="b"), make_row(3, id="a"))
    )
    assert [sample.id for sample in load_result.samples] == ["a", "b"]
    assert [str(rejection) for rejection in load_result.rejected] == [
        "row 3: its id 'a' is already used by row 1"
    ]


def test_rejections_are_described(write_rows: Any) -> None:
    assert load_samples(write_rows(make_row(1))).describe_rejections() == ""
    assert load_samples(write_rows(make_row(1), "{}")).describe_rejections() == (
        "1 malformed row is left out: row 2: its text is missing, empty or not a string"
    )
    description = load_samples(write_rows(make_row(1), *["7"] * 5)).describe_rejections(
        max_reasons=2
    )
    assert description == (
        "5 malformed rows are left out: row 2: not a JSON object; row 3: not a JSON object; "
        "and 3 more"
    )


def test_the_last_malformed_row_is_not_hidden_behind_a_count(write_rows: Any) -> None:
    description = load_samples(write_rows(make_row(1), *["7"] * 4)).describe_rejections()
    assert description.endswith("row 4: not a JSON object; row 5: not a JSON object")


def test_file_without_usable_rows_is_an_error_with_the_first_reason(
    write_rows: Any, tmp_path: Path
) -> None:
    with pytest.raises(RecordError, match="no usable samples; row 1: not a JSON object"):
        load_samples(write_rows("7", "8"))
    for empty in ("", "\n\n", "[]"):
        (tmp_path / "empty").write_text(empty)
        with pytest.raises(RecordError, match="no usable samples"):
            load_samples(tmp_path / "empty")


def test_file_of_another_format_is_refused(write_rows: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(loader, "MAX_REJECTED", 50)
    with pytest.raises(RecordError, match="50 rows are malformed; the first is row 1"):
        load_samples(write_rows(*["a,b,c"] * 60, make_row(1)))


# The keyword `format` of a schema.


def test_expected_output_formats_can_be_checked(write_rows: Any) -> None:
    schema = {"type": "object", "properties": {"on": {"type": "string", "format": "date"}}}
    path = write_rows(
        make_row(1), {"text": "t", "schema": schema, "expected_output": {"on": "May"}}
    )
    assert [rejection.row for rejection in load_samples(path).rejected] == [2]
    assert load_samples(path, formats=False).rejected == []


# Sampling and limits.


def test_sampling_depends_on_the_seed_and_keeps_the_order(write_rows: Any) -> None:
    path = write_rows(*(make_row(number) for number in range(50)))
    sampled_ids = [int(sample.id) for sample in load_samples(path, sample_size=10, seed=7).samples]
    assert sampled_ids == [
        int(sample.id) for sample in load_samples(path, sample_size=10, seed=7).samples
    ]
    assert sampled_ids == sorted(sampled_ids)
    assert len(set(sampled_ids)) == 10
    assert sampled_ids != [
        int(sample.id) for sample in load_samples(path, sample_size=10, seed=8).samples
    ]
    assert load_samples(path, sample_size=10, seed=7).notes == [
        "10 of 50 samples, sampled with seed 7"
    ]


def test_sample_larger_than_the_data_takes_all_with_a_note(write_rows: Any) -> None:
    load_result = load_samples(write_rows(make_row(1), make_row(2)), sample_size=5)
    assert len(load_result.samples) == 2
    assert load_result.notes == ["5 samples were requested, but there are only 2"]


def test_a_limit_takes_the_first_usable_rows(write_rows: Any) -> None:
    path = write_rows("7", make_row(2), make_row(3), "8", make_row(5))
    load_result = load_samples(path, limit=2)
    assert [sample.id for sample in load_result.samples] == ["2", "3"]
    # Rows after the second usable one are not read.
    assert [rejection.row for rejection in load_result.rejected] == [1]
    assert len(load_samples(path, limit=3, sample_size=1).samples) == 1


# Files that cannot be read.


@pytest.mark.parametrize(
    "name", ["no.jsonl", "./no", "no/such/file.json", "owner/set.jsonl", "x" * 5000, "a\0b"]
)
def test_missing_file_is_refused(tmp_path: Path, name: str, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingFileError):
        load_samples(name)


def test_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="has no data file"):
        load_samples(tmp_path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "set"
    write_gzip_jsonl(path, [make_row(number) for number in range(100)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordError, match="damaged gzip file"):
        load_samples(path)
    write_parquet(path, [make_row(1)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordError, match="damaged Parquet file"):
        load_samples(path)
    write_array(path, [make_row(1)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordError, match="not a JSON array"):
        load_samples(path)


def test_decompressed_size_is_limited(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(row_files, "MAX_ROWS_BYTES", 100_000)
    monkeypatch.setattr(row_files, "MAX_LOADED_BYTES", 1_000)
    path = tmp_path / "bomb"
    write_gzip_jsonl(path, [make_row(number) for number in range(1000)])
    with pytest.raises(RecordError, match="larger than 100,000 bytes when decompressed"):
        load_samples(path)
    write_gzip_array(path, [make_row(number) for number in range(100)])
    with pytest.raises(RecordError, match="larger than 1,000 bytes when decompressed"):
        load_samples(path)
    write_parquet(path, [make_row(number) for number in range(1000)])
    with pytest.raises(RecordError, match="larger than 1,000 bytes when decompressed"):
        load_samples(path)


def test_missing_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: Any) -> None:
    write_parquet(tmp_path / "set.parquet", [make_row(1)])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"epoche\[parquet\]") as error_info:
        load_samples(tmp_path / "set.parquet")
    assert error_info.value.exit_code == 18


def test_missing_datasets_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"epoche\[hub\]"):
        load_samples("paraloq/json_data_extraction")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=100).map(lambda data: b"PAR1" + data),
        st.binary(max_size=100).map(lambda data: b"\x1f\x8b\x08" + data),
        st.binary(max_size=100).map(gzip.compress),
        st.text(alphabet='{}[]",:0123456789\\utextschma \n', max_size=200).map(str.encode),
    )
)
def test_any_file_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "any").write_bytes(data)
    try:
        load_samples(tmp_path / "any")
    except EpocheError as error:
        assert error.exit_code == 12  # noqa: PT017  # only some of the generated files fail


# The shipped set.


def test_shipped_samples_are_loaded_completely() -> None:
    load_result = load_samples("shipped", strict=True)
    assert load_result.rejected == []
    assert len(load_result.samples) == len({sample.id for sample in load_result.samples}) > 0
    assert load_samples(shipped_folder()).samples == load_result.samples


def test_loading_needs_no_optional_package(monkeypatch: Any) -> None:
    imported: list[str] = []
    real_import = builtins.__import__

    def record_import(name: str, *arguments: Any) -> Any:
        imported.append(name.split(".")[0])
        return real_import(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", record_import)
    load_samples("shipped", limit=1)
    assert not {"datasets", "pyarrow", "pandas"} & set(imported)
