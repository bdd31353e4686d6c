"""Tests how what an extractor returned, or a file of predictions says, becomes a reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stage_calls import run_epoche

from eval.extraction.view import read_extraction
from eval.harness.predictions.rows import MAX_DEPTH


def nest(levels: int) -> list[Any]:
    """Returns an array within arrays."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 200, 300, 900, 100_000])
def test_deep_answers_are_invalid(levels: int) -> None:
    for returned in (nest(levels), "[" * levels + "]" * levels):
        reply = read_extraction(returned)
        assert (reply.status, reply.value) == ("invalid", None)
        assert reply.problem


def test_answers_of_the_maximum_depth_are_read() -> None:
    deepest = nest(MAX_DEPTH)
    for returned in (deepest, json.dumps(deepest)):
        assert read_extraction(returned).value == deepest


def test_deep_predictions_are_scored_as_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    schema = {"type": "object", "properties": {"city": {}}}
    sample = {"text": "It is Ulm.", "schema": schema, "expected_output": {"city": "Ulm"}}
    # One text is too deep, one value is as deep as a row of a file may be.
    values = {"deep": "[" * 250 + "]" * 250, "deepest": {"city": nest(MAX_DEPTH - 2)}}
    for path, rows in (
        ("samples.jsonl", [{"id": name, **sample} for name in values]),
        ("own.jsonl", [{"id": name, "value": value} for name, value in values.items()]),
    ):
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    score = ("extract", "score", "--dataset", "samples.jsonl", "--predictions", "own.jsonl")
    done = run_epoche(*score, "--resamples", 100, "--no-report", "--out", "out")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in Path("out/rows.jsonl").read_text("utf-8").splitlines()]
    assert [row["outcome"] for row in rows] == ["UNPARSABLE", "OK"]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"city": "Ulm"}\n```',
        'Here it is:\n```\n{"city": "Ulm"}\n```\nAnything else?',
        'The answer is {"city": "Ulm"}.',
        '<think>{"city": "Bonn"}?</think>\n{"city": "Ulm"}',
    ],
)
def test_texts_are_read_as_replies_of_models_are(text: str) -> None:
    reply = read_extraction(text)
    assert (reply.status, reply.value, reply.raw) == ("ok", {"city": "Ulm"}, text)


def test_texts_that_are_json_are_not_kept() -> None:
    assert read_extraction('{"city": "Ulm"}').raw == ""


@pytest.mark.parametrize(
    "returned",
    [
        *("", "It is Ulm.", '{"a": 1} {"b": 2}', '{"a": 1, "a": 2}', "NaN", "[1e999]"),
        *({"a": float("nan")}, {"a": "\ud800"}, {1, 2}, b"{}"),
    ],
)
def test_what_is_not_strict_json_is_invalid(returned: object) -> None:
    reply = read_extraction(returned)
    assert (reply.status, reply.value) == ("invalid", None)
    reply.raw.encode()
