"""Samples from files of every kind: the same from each, malformed rows told and left out."""

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

from eval.extraction.samples import loading, row_files
from eval.extraction.samples.loading import load, shipped
from eval.extraction.samples.sample import Sample
from kg.base.errors import EpocheError, MissingExtraError, MissingFileError, RecordError

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}


def row(number: int, **others: Any) -> dict[str, Any]:
    return {
        "text": f"Person {number} is {number} years old.",
        "schema": SCHEMA,
        "expected_output": {"name": f"Person {number}", "age": number},
        **others,
    }


def hub_row(number: int) -> dict[str, Any]:
    """The same in the columns of ``paraloq/json_data_extraction``."""
    seeds = row(number)
    return {
        "title": f"A title {number}",
        "topic": "people",
        "medium": "note",
        "schema": json.dumps(SCHEMA),
        "text": seeds["text"],
        "item": json.dumps(seeds["expected_output"]),
    }


def jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")


def array(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows, indent=2), encoding="utf-8")


def packed_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))


def packed_array(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))


def parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


WRITERS = [jsonl, array, packed_jsonl, packed_array, parquet]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes lines, each a text or a row, to a file."""

    def written(*lines: Any, name: str = "set.jsonl") -> Path:
        path = tmp_path / name
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text("\n".join(texts) + "\n", encoding="utf-8", errors="surrogatepass")
        return path

    return written


# Every kind of file, every shape.


@pytest.mark.parametrize("writer", WRITERS)
def test_every_kind_of_file_gives_the_same_samples(tmp_path: Path, writer: Any) -> None:
    path = tmp_path / "whatever.its.name"
    writer(path, [row(number) for number in range(1, 200)])
    loaded = load(path)
    assert loaded.rejected == []
    assert loaded.samples[6] == Sample(
        id="7",
        text="Person 7 is 7 years old.",
        schema=SCHEMA,
        expected={"name": "Person 7", "age": 7},
    )
    assert [sample.id for sample in loaded.samples] == [str(n) for n in range(1, 200)]


@pytest.mark.parametrize("writer", WRITERS)
def test_the_hubs_columns_are_read_too(tmp_path: Path, writer: Any) -> None:
    path = tmp_path / "set"
    writer(path, [hub_row(1), hub_row(2)])
    first, second = load(path).samples
    assert first.schema == SCHEMA
    assert second.expected == {"name": "Person 2", "age": 2}
    assert first.domain == "people"
    assert first.meta == {"title": "A title 1", "medium": "note"}


def test_named_columns_and_unknown_ones(write: Any) -> None:
    path = write(
        row(1, id="x-1", domain="law", language="de", meta={"a": 1}, page=7, topic="ignored"),
        row(2, id=17, meta='{"b": [null]}'),
    )
    first, second = load(path).samples
    assert (first.id, first.domain, first.language) == ("x-1", "law", "de")
    assert first.meta == {"a": 1, "page": 7, "topic": "ignored"}
    assert (second.id, second.domain, second.language) == ("17", "", "en")
    assert second.meta == {"b": [None]}


def test_typed_columns_keep_what_the_schema_says(tmp_path: Path) -> None:
    # Parquet gives every schema the keys of all others, null where they were not.
    other = {"type": "object", "properties": {"when": {"type": "string"}}, "minProperties": 1}
    rows = [row(1), {**row(2), "schema": other, "expected_output": {"when": "noon"}}]
    for one in rows:
        one["expected_output"] = json.dumps(one["expected_output"])
        one["seen"] = datetime.date(2026, 5, 1)
    parquet(tmp_path / "set.parquet", rows)
    first, second = load(tmp_path / "set.parquet").samples
    assert first.schema == SCHEMA
    assert second.schema == other
    assert second.meta == {"seen": "2026-05-01"}


def test_equal_schemas_are_held_once(write: Any) -> None:
    first, second = load(write(row(1), row(2))).samples
    assert first.schema is second.schema


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    jsonl(tmp_path / "b.jsonl", [row(1), {"text": "no schema"}])
    parquet(tmp_path / "a.parquet", [row(2, id="own")])
    packed_jsonl(tmp_path / "c.jsonl.gz", [row(3)])
    (tmp_path / "README.md").write_text("not data")
    loaded = load(tmp_path)
    assert [sample.id for sample in loaded.samples] == ["own", "b-1", "c-1"]
    assert [str(one) for one in loaded.rejected] == ["b.jsonl row 2: its schema is missing"]


def test_blank_lines_and_a_byte_order_mark_are_passed_by(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    lines = ["", "  ", json.dumps(row(1)), "", json.dumps(row(2))]
    path.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    loaded = load(path)
    assert [sample.id for sample in loaded.samples] == ["3", "5"]  # the lines they stand on
    array(path, [row(1)])
    path.write_bytes(b"\xef\xbb\xbf\n\n " + path.read_bytes())
    assert len(load(path).samples) == 1


def test_expected_texts_for_schemas_of_texts(write: Any) -> None:
    def of(kind: str, expected: Any) -> dict[str, Any]:
        return {"text": "t", "schema": {"type": kind}, "expected_output": expected}

    path = write(of("string", "abc"), of("string", "12"), of("integer", "12"), of("string", '"x"'))
    assert [sample.expected for sample in load(path).samples] == ["abc", "12", 12, "x"]


def test_null_may_be_what_is_expected(write: Any) -> None:
    path = write({"text": "t", "schema": {"type": "null"}, "expected_output": None})
    assert load(path).samples[0].expected is None


# Malformed rows.


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("{", "no JSON: Expecting property name.* at column 2"),
        ("[1]", "no JSON object"),
        ("7", "no JSON object"),
        ('{"text": NaN}', "NaN is no number"),
        ('{"text": "a", "text": "b"}', "the key 'text' occurs twice"),
        ('{"text": "\\ud800"}', "half a character"),
        ("[" * 200_000, "nested too deeply"),
        ('{"n": ' + "9" * 5000 + "}", "too large"),
        ('{"n": 1e999}', "too large"),
        ({**row(1), "text": "  "}, "its text is missing, empty or no text"),
        ({**row(1), "text": 7}, "its text is missing, empty or no text"),
        ({"schema": SCHEMA, "expected_output": {}}, "its text is missing, empty or no text"),
        ({**row(1), "text": "x" * 1_000_001}, "longer than 1,000,000 characters"),
        ({"text": "a", "expected_output": {}}, "its schema is missing"),
        ({**row(1), "schema": "{"}, "its schema is no JSON"),
        ({**row(1), "schema": 7}, "its schema cannot be used: a schema must be a JSON object"),
        ({**row(1), "schema": {"type": "x"}}, "its schema cannot be used.*ill-formed"),
        ({**row(1), "schema": {"$ref": "http://127.0.0.1:1/"}}, "leads out of the schema"),
        ({**row(1), "schema": {"x-match": "nearly"}}, "cannot be used.*nearly"),
        ({"text": "a", "schema": SCHEMA}, "its expected_output is missing"),
        ({**row(1), "expected_output": "{"}, "its expected_output is no JSON"),
        ({**row(1), "expected_output": {"age": 1}}, r'not valid under its schema: .*"name"'),
        ({**row(1), "expected_output": {"name": "a", "age": "1"}}, "/age: "),
        ({**hub_row(1), "item": "[]"}, "its item is not valid under its schema"),
        ({**row(1), "id": 1.5}, "its id is neither"),
        ({**row(1), "id": True}, "its id is neither"),
        ({**row(1), "language": 3}, "its language is no text"),
        ({**row(1), "meta": []}, "its meta is no object"),
    ],
)
def test_a_malformed_row_is_told_and_left_out(write: Any, bad: Any, why: str) -> None:
    path = write(row(5), bad, row(6))
    loaded = load(path)
    assert [sample.id for sample in loaded.samples] == ["1", "3"]
    (rejected,) = loaded.rejected
    assert rejected.row == 2
    assert len(rejected.why) <= 300
    assert re.search(why, rejected.why), rejected.why
    with pytest.raises(RecordError, match="row 2") as raised:
        load(path, strict=True)
    assert raised.value.exit_code == 12


def test_a_torn_last_line_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    jsonl(path, [row(1), row(2)])
    path.write_bytes(path.read_bytes()[:-20])
    assert [str(one) for one in load(path).rejected] == ["row 2: the last line is torn"]


def test_bytes_that_are_no_text_cost_one_row(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(json.dumps(row(1)).encode() + b'\n{"text": "\xff"}\n')
    assert [str(one) for one in load(path).rejected] == ["row 2: no JSON: byte 11 is not UTF-8"]


def test_a_line_too_long_costs_one_row(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(row_files, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "set.jsonl"
    jsonl(path, [row(1), row(2, page="x" * 5000), row(3)])
    loaded = load(path)
    assert [sample.id for sample in loaded.samples] == ["1", "3"]
    assert "longer than 1,000 bytes" in loaded.rejected[0].why
    jsonl(path, [row(1, page="x" * 5000), row(2)])
    assert [sample.id for sample in load(path).samples] == ["2"]


def test_an_id_that_stands_twice_costs_the_second(write: Any) -> None:
    loaded = load(write(row(1, id="a"), row(2, id="b"), row(3, id="a")))
    assert [sample.id for sample in loaded.samples] == ["a", "b"]
    assert [str(one) for one in loaded.rejected] == ["row 3: its id 'a' is that of row 1"]


def test_rejections_in_words(write: Any) -> None:
    assert load(write(row(1))).rejections_in_words() == ""
    assert load(write(row(1), "{}")).rejections_in_words() == (
        "1 malformed row is left out: row 2: its text is missing, empty or no text"
    )
    said = load(write(row(1), *["7"] * 5)).rejections_in_words(most=2)
    assert said == (
        "5 malformed rows are left out: row 2: no JSON object; row 3: no JSON object; and 3 more"
    )


def test_nothing_usable_is_an_error_with_the_first_reason(write: Any, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no usable samples; row 1: no JSON object"):
        load(write("7", "8"))
    for empty in ("", "\n\n", "[]"):
        (tmp_path / "empty").write_text(empty)
        with pytest.raises(RecordError, match="no usable samples"):
            load(tmp_path / "empty")


def test_a_file_of_something_else_is_given_up(write: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(loading, "MAX_REJECTED", 50)
    with pytest.raises(RecordError, match="50 rows are malformed, the first being row 1"):
        load(write(*["a,b,c"] * 60, row(1)))


# Formats.


def test_formats_of_expected_outputs_are_a_setting(write: Any) -> None:
    schema = {"type": "object", "properties": {"on": {"type": "string", "format": "date"}}}
    path = write(row(1), {"text": "t", "schema": schema, "expected_output": {"on": "May"}})
    assert [one.row for one in load(path).rejected] == [2]
    assert load(path, formats=False).rejected == []


# Sampling and limits.


def test_sampling_is_by_seed_and_keeps_the_order(write: Any) -> None:
    path = write(*(row(number) for number in range(50)))
    drawn = [int(sample.id) for sample in load(path, sample=10, seed=7).samples]
    assert drawn == [int(sample.id) for sample in load(path, sample=10, seed=7).samples]
    assert drawn == sorted(drawn)
    assert len(set(drawn)) == 10
    assert drawn != [int(sample.id) for sample in load(path, sample=10, seed=8).samples]
    assert load(path, sample=10, seed=7).notes == ["10 of 50 samples, drawn with seed 7"]


def test_a_sample_of_more_than_there_is_is_all_and_said(write: Any) -> None:
    loaded = load(write(row(1), row(2)), sample=5)
    assert len(loaded.samples) == 2
    assert loaded.notes == ["5 samples were asked for; there are 2"]


def test_a_limit_takes_the_first_usable_rows(write: Any) -> None:
    path = write("7", row(2), row(3), "8", row(5))
    loaded = load(path, limit=2)
    assert [sample.id for sample in loaded.samples] == ["2", "3"]
    assert [one.row for one in loaded.rejected] == [1]  # what comes later was not looked at
    assert len(load(path, limit=3, sample=1).samples) == 1


# Files that cannot be read.


@pytest.mark.parametrize(
    "name", ["no.jsonl", "./no", "no/such/file.json", "owner/set.jsonl", "x" * 5000, "a\0b"]
)
def test_a_file_that_is_not_there(tmp_path: Path, name: str, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingFileError):
        load(name)


def test_a_folder_without_data(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="holds no data file"):
        load(tmp_path)


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "set"
    packed_jsonl(path, [row(number) for number in range(100)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordError, match="damaged gzip file"):
        load(path)
    parquet(path, [row(1)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordError, match="damaged Parquet file"):
        load(path)
    array(path, [row(1)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordError, match="no JSON array"):
        load(path)


def test_sizes_are_bounded_after_unpacking(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(row_files, "MAX_ROWS_BYTES", 100_000)
    monkeypatch.setattr(row_files, "MAX_WHOLE_BYTES", 1_000)
    path = tmp_path / "bomb"
    packed_jsonl(path, [row(number) for number in range(1000)])
    with pytest.raises(RecordError, match="larger than 100,000 bytes once unpacked"):
        load(path)
    packed_array(path, [row(number) for number in range(100)])
    with pytest.raises(RecordError, match="larger than 1,000 bytes once unpacked"):
        load(path)
    parquet(path, [row(number) for number in range(1000)])
    with pytest.raises(RecordError, match="larger than 1,000 bytes once unpacked"):
        load(path)


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: Any) -> None:
    parquet(tmp_path / "set.parquet", [row(1)])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"epoche\[parquet\]") as raised:
        load(tmp_path / "set.parquet")
    assert raised.value.exit_code == 18


def test_a_hub_without_datasets_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"epoche\[hub\]"):
        load("paraloq/json_data_extraction")


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
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "any").write_bytes(data)
    try:
        load(tmp_path / "any")
    except EpocheError as error:
        assert error.exit_code == 12  # noqa: PT017  # hypothesis gives many files


# The shipped set.


def test_the_shipped_set_is_loaded_whole() -> None:
    loaded = load("shipped", strict=True)
    assert loaded.rejected == []
    assert len(loaded.samples) == len({sample.id for sample in loaded.samples}) > 0
    assert load(shipped()).samples == loaded.samples


def test_loading_needs_no_optional_package(monkeypatch: Any) -> None:
    taken: list[str] = []
    real = builtins.__import__

    def watching(name: str, *others: Any) -> Any:
        taken.append(name.split(".")[0])
        return real(name, *others)

    monkeypatch.setattr(builtins, "__import__", watching)
    load("shipped", limit=1)
    assert not {"datasets", "pyarrow", "pandas"} & set(taken)
