"""Tests ``epoche extract inspect``, which describes samples and schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from epoche.cli import app
from eval.extraction.schemas.complexity import FEATURES

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
VALID_ROW = json.dumps({"text": "a is b", "schema": SCHEMA, "expected_output": {"a": "b"}})


def run_inspect(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["extract", "inspect", *map(str, arguments)])


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join([VALID_ROW, "{}", VALID_ROW, "[]"]) + "\n")
    return path


def test_samples_are_described_and_malformed_rows_reported(samples: Path) -> None:
    result = run_inspect(samples)
    assert result.exit_code == 0
    assert "2 samples of 1 schema, 2 rows left out" in result.stdout
    assert all(name.replace("_", " ") in result.stdout for name in FEATURES)
    assert result.stderr == (
        "warning: 2 malformed rows are left out: "
        "row 2: its text is missing, empty or not a string; row 4: not a JSON object\n"
    )


def test_json_output_has_the_same_content(samples: Path) -> None:
    report = json.loads(run_inspect(samples, "--json", "--limit", 1).stdout)
    assert (report["samples"], report["rejected"]) == (1, 0)
    assert report["bins"] == {"simple": 1, "medium": 0, "complex": 0}


def test_strict_stops_at_the_first_malformed_row(samples: Path) -> None:
    result = run_inspect(samples, "--strict")
    assert result.exit_code == 12
    assert "row 2: its text is missing" in result.stderr


def test_shipped_samples_are_inspected_by_default() -> None:
    result = run_inspect("--json", "--sample", 5, "--seed", 1)
    assert json.loads(result.stdout)["samples"] == 5
    assert "sampled with seed 1" in result.stderr


def test_single_schema_is_inspected(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SCHEMA).encode())
    report = json.loads(run_inspect("--schema", path).stdout)
    assert report["draft"] == "2020-12"
    assert report["complexity"]["bin"] == "simple"
    assert report["complexity"]["total_fields"] == 1
