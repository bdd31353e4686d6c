"""Tests the manifest of a result file: its path, its fields and the refusal of invalid ones."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eval.abstention.manifest import RunManifest, read_manifest, write_manifest
from kg.base.errors import MissingFileError, RecordError
from kg.base.provenance import library_versions, make_relative_name, manifest_path, utc_now


def make_manifest() -> RunManifest:
    return RunManifest(
        results="r.jsonl",
        cards_file="../cards.jsonl",
        cards_sha256="a" * 64,
        cards_file_sha256="b" * 64,
        card_count=30,
        system="controls",
        systems=("a", "b"),
        params={"a": {"k": [1, 2.5, None]}, "b": {}},
        seed=7,
        versions=library_versions(),
        started=utc_now(),
        status="running",
    )


def test_manifest_survives_a_round_trip(tmp_path: Path) -> None:
    path = manifest_path(tmp_path / "r.jsonl")
    assert path.name == "r.manifest.json"
    write_manifest(path, make_manifest())
    # Only the start time differs between two manifests that the test makes.
    assert read_manifest(path) == replace(make_manifest(), started=read_manifest(path).started)
    assert path.read_text().startswith("{\n")


@pytest.mark.parametrize(
    ("results", "manifest"),
    [("a.jsonl", "a.manifest.json"), ("a", "a.manifest.json"), ("a.b", "a.b.manifest.json")],
)
def test_manifest_path_follows_the_result_file(results: str, manifest: str) -> None:
    assert manifest_path(f"x/{results}") == Path("x") / manifest


@pytest.mark.parametrize("text", ["", "{", "[]", '{"results": "r"}', "\x00"])
def test_invalid_manifests_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(RecordError, match=r"m\.json"):
        read_manifest(tmp_path / "m.json")
    with pytest.raises(MissingFileError):
        read_manifest(tmp_path / "none.json")


@pytest.mark.parametrize(
    "changes",
    [{"repeats": 10**9}, {"repeats": 0}, {"card_count": 10**12}, {"shard": "4/3"}],
)
def test_manifests_with_impossible_numbers_are_refused(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = tmp_path / "m.json"
    write_manifest(path, replace(make_manifest(), **changes))
    with pytest.raises(RecordError, match=r"not a run manifest: .*m\.json") as caught:
        read_manifest(path)
    assert caught.value.hint


def test_expected_rows_are_computed() -> None:
    assert make_manifest().rows_expected == 60  # 30 cards, 2 systems
    assert replace(make_manifest(), limit=10).rows_expected == 20
    assert replace(make_manifest(), limit=100).rows_expected == 60


def test_time_and_versions() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", utc_now())
    versions = library_versions()
    assert set(versions) == {"python", "epoche", "rdflib", "pyshacl", "pyoxigraph", "numpy"}
    assert "unknown" not in versions.values()


def test_paths_are_relative(tmp_path: Path) -> None:
    assert make_relative_name(tmp_path / "c.jsonl", tmp_path / "results") == "../c.jsonl"
    assert make_relative_name(tmp_path / "results" / "c.jsonl", tmp_path / "results") == "c.jsonl"


def test_names_that_are_not_utf8_can_be_stored(tmp_path: Path) -> None:
    latin1_path = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    assert make_relative_name(latin1_path, tmp_path) == r"caf\xe9.jsonl"
    assert make_relative_name(tmp_path / "café.jsonl", tmp_path) == "café.jsonl"
