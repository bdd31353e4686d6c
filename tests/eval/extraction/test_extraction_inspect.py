"""``epoche extract inspect``: inspects samples and schemas from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from epoche.cli import app
from eval.extraction.schemas.complexity import FEATURES

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
GOOD = json.dumps({"text": "a is b", "schema": SCHEMA, "expected_output": {"a": "b"}})


def run_inspect(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["extract", "inspect", *map(str, arguments)])


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join([GOOD, "{}", GOOD, "[]"]) + "\n")
    return path


def test_samples_are_described_and_malformed_rows_reported(samples: Path) -> None:
    found = run_inspect(samples)
    assert found.exit_code == 0
    assert "2 samples of 1 schema, 2 rows left out" in found.stdout
    assert all(name.replace("_", " ") in found.stdout for name in FEATURES)
    assert found.stderr == (
        "warning: 2 malformed rows are left out: "
        "row 2: its text is missing, empty or not a string; row 4: not a JSON object\n"
    )


def test_json_output_has_the_same_content(samples: Path) -> None:
    found = json.loads(run_inspect(samples, "--json", "--limit", 1).stdout)
    assert (found["samples"], found["rejected"]) == (1, 0)
    assert found["bins"] == {"simple": 1, "medium": 0, "complex": 0}


def test_strict_stops_at_the_first_malformed_row(samples: Path) -> None:
    found = run_inspect(samples, "--strict")
    assert found.exit_code == 12
    assert "row 2: its text is missing" in found.stderr


def test_shipped_samples_are_inspected_by_default() -> None:
    found = run_inspect("--json", "--sample", 5, "--seed", 1)
    assert json.loads(found.stdout)["samples"] == 5
    assert "sampled with seed 1" in found.stderr


def test_single_schema_is_inspected(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SCHEMA).encode())
    found = json.loads(run_inspect("--schema", path).stdout)
    assert found["draft"] == "2020-12"
    assert found["complexity"]["bin"] == "simple"
    assert found["complexity"]["total_fields"] == 1
