"""Tests that valid samples are read exactly, and that errors name the position of invalid ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.skn.items import Reference, Sample, read_samples
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
        ([{**MINIMAL_SAMPLE, "id": 5}], "sample 1"),
        ([{**MINIMAL_SAMPLE, "answerable": "yes"}], "answerable"),
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
