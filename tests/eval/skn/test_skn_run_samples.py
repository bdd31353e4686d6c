"""Tests that valid samples are read exactly, and that errors name the position of invalid ones."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.harness.predictions import rows as prediction_rows
from eval.skn.items import (
    NO_ANSWER,
    Reference,
    Sample,
    read_samples,
    sample_from_json,
    sample_to_json,
)
from kg.base.errors import DuplicateIdError, EpocheError, MissingFileError, RecordError

MINIMAL_SAMPLE = {"id": "a", "question": "Why?", "ground_truth": "Because."}
FULL_SAMPLE = {
    **MINIMAL_SAMPLE,
    "category": "diagnostic",
    "answerable": False,
    "sources": [{"title": "T", "url": "https://example.org"}],
    "technologies": ["Go"],
    "notes": "n",
    "key_facts": ["kept"],
}


def write_samples(folder: Path, text: str) -> Path:
    path = folder / "samples.json"
    path.write_text(text, "utf-8")
    return path


def test_json_array_and_json_lines_are_equal(tmp_path: Path) -> None:
    rows = [FULL_SAMPLE, {**MINIMAL_SAMPLE, "id": "b"}]
    array_samples = read_samples(write_samples(tmp_path, "\n " + json.dumps(rows)))
    json_lines_samples = read_samples(
        write_samples(tmp_path, "\n".join(map(json.dumps, rows)) + "\n")
    )
    assert array_samples == json_lines_samples
    assert array_samples[0] == Sample(
        id="a",
        question="Why?",
        ground_truth="Because.",
        category="diagnostic",
        answerable=False,
        sources=(Reference(title="T", url="https://example.org"),),
        technologies=("Go",),
        notes="n",
        extra={"key_facts": ["kept"]},
    )
    assert (array_samples[1].category, array_samples[1].answerable) == ("unknown", True)


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps([MINIMAL_SAMPLE]).encode())
    assert [sample.id for sample in read_samples(path)] == ["a"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([MINIMAL_SAMPLE, {"id": "b", "question": "Why?"}], "sample 2"),
        ([MINIMAL_SAMPLE, ["b"]], "sample 2"),
        ([{**MINIMAL_SAMPLE, "question": " \n"}], "question is empty"),
        ([{**MINIMAL_SAMPLE, "ground_truth": ""}], "ground_truth is empty"),
        (
            [{**MINIMAL_SAMPLE, "id": 1.5}],
            "its id is 1.5, neither a text nor a whole number.*sample 1",
        ),
        ([{**MINIMAL_SAMPLE, "id": True}], "its id is true"),
        ([{**MINIMAL_SAMPLE, "id": None}], "it has no id"),
        ([{**MINIMAL_SAMPLE, "category": ["a"]}], 'its category is \\["a"\\], not a text'),
        ([{**MINIMAL_SAMPLE, "answerable": "yes"}], 'its answerable is "yes", not true or false'),
        ([{"question": "Why?", "prompt": 1}], "it has no id.*This one has question, prompt"),
        ([{**MINIMAL_SAMPLE, "question": "w" * 10_001}], "longer than 10,000"),
        ([], "no samples"),
    ],
)
def test_invalid_sample_is_named(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(RecordError, match=message) as error_info:
        read_samples(write_samples(tmp_path, json.dumps(rows)))
    assert "samples.json" in error_info.value.where


@pytest.mark.parametrize("text", ["", "[", "[{]", "{'id': 1}", "[" * 100_000, "nonsense"])
def test_invalid_json_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(RecordError):
        read_samples(write_samples(tmp_path, text))


def test_duplicate_id_is_refused_with_both_positions(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError, match=r"sample 2.*sample 1"):
        read_samples(write_samples(tmp_path, json.dumps([MINIMAL_SAMPLE, MINIMAL_SAMPLE])))
    with pytest.raises(DuplicateIdError, match=r"json:3.*json:1"):
        read_samples(
            write_samples(
                tmp_path, f"{json.dumps(MINIMAL_SAMPLE)}\n\n{json.dumps(MINIMAL_SAMPLE)}\n"
            )
        )


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="sample file"):
        read_samples(tmp_path / "none.json")


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "samples.json"
    path.write_bytes(data)
    with pytest.raises(EpocheError):
        read_samples(path)


PUBLISHED_ROWS = [
    {"id": 1, "question": "Why?", "ground_truth": "Because.", "difficulty": "low"},
    {"id": "2", "category": None, "question": "Who?", "ground_truth": None, "answerable": False},
    {**MINIMAL_SAMPLE, "sources": ["https://example.org"], "notes": 3, "technologies": "Go"},
]


@pytest.mark.parametrize("form", ["array", "lines", "mark", "gzip"])
def test_foreign_rows_are_read_in_every_form_of_file(tmp_path: Path, form: str) -> None:
    lines = "\n".join(map(json.dumps, PUBLISHED_ROWS)).encode()
    data = {
        "array": json.dumps(PUBLISHED_ROWS, indent=2).encode(),
        "lines": lines,
        "mark": b"\xef\xbb\xbf\r\n" + lines.replace(b"\n", b"\r\n\r\n"),
        "gzip": gzip.compress(lines),
    }[form]
    path = tmp_path / "samples.json.gz"
    path.write_bytes(data)
    first, second, third = read_samples(path)
    assert (first.id, first.category, first.answerable) == ("1", "unknown", True)
    assert first.extra == {"difficulty": "low"}
    assert (second.id, second.category, second.ground_truth) == ("2", "unknown", NO_ANSWER)
    assert (third.sources, third.extra["sources"]) == ((), ["https://example.org"])
    for sample in (first, second, third):
        assert sample_from_json(sample_to_json(sample)) == sample


def test_number_and_text_of_one_id_are_duplicates(tmp_path: Path) -> None:
    rows = [{**MINIMAL_SAMPLE, "id": 1}, {**MINIMAL_SAMPLE, "id": "1"}]
    with pytest.raises(DuplicateIdError, match="'1' occurs twice"):
        read_samples(write_samples(tmp_path, json.dumps(rows)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{\n "version": 2,\n "samples": [{"id": 1}]\n}', "one JSON object.*under 'samples'"),
        (gzip.compress(b"[]", mtime=0)[:-3], "damaged gzip"),
        (b'[{"id": NaN}]', "NaN is not a number"),
        (b'[{"id": 1, "id": 2}]', "'id' occurs twice"),
        ('[{"id": "1"}]'.encode("utf-16"), "text in UTF-16"),
    ],
)
def test_file_that_holds_no_samples_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "samples.json"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=message) as error_info:
        read_samples(path)
    assert "samples.json" in error_info.value.where


def test_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_rows, "MAX_ARRAY_BYTES", 10_000)
    path = tmp_path / "samples.json"
    path.write_bytes(gzip.compress(b"[" + b" " * 20_000 + b"]"))
    with pytest.raises(RecordError, match="unpacks to more than 10,000 bytes"):
        read_samples(path)


def test_published_samples_load_as_they_are(public_data: Path) -> None:
    path = public_data / "foreign/claims/skn-samples/samples.json"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    samples = read_samples(path)
    rows = json.loads(path.read_bytes())
    assert [sample.id for sample in samples] == [str(number) for number in range(1, 51)]
    assert [sample.question for sample in samples] == [row["question"] for row in rows]
    assert sum(sample.answerable for sample in samples) == 42
    assert {s.ground_truth for s in samples if not s.answerable} == {NO_ANSWER}
    counts = Counter(sample.category for sample in samples)
    assert counts["diagnostic"] == 15
    assert counts["insufficient_info"] == 8
