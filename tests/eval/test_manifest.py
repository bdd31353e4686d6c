"""The manifest: what stands beside a result file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from eval.manifest import (
    RunManifest,
    library_versions,
    now,
    read_manifest,
    write_manifest,
)
from kg.base.errors import MissingFileError, RecordError
from kg.base.provenance import manifest_path, relative_name


def manifest() -> RunManifest:
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
        started=now(),
        status="running",
    )


def test_it_is_written_and_read_back(tmp_path: Path) -> None:
    path = manifest_path(tmp_path / "r.jsonl")
    assert path.name == "r.manifest.json"
    write_manifest(path, manifest())
    assert read_manifest(path) == manifest().__class__(
        **{
            **{name: getattr(manifest(), name) for name in RunManifest.__struct_fields__},
            "started": read_manifest(path).started,
        }
    )
    assert path.read_text().startswith("{\n")


@pytest.mark.parametrize(
    ("results", "beside"),
    [("a.jsonl", "a.manifest.json"), ("a", "a.manifest.json"), ("a.b", "a.b.manifest.json")],
)
def test_its_name(results: str, beside: str) -> None:
    assert manifest_path(f"x/{results}") == Path("x") / beside


@pytest.mark.parametrize("text", ["", "{", "[]", '{"results": "r"}', "\x00"])
def test_what_is_no_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(RecordError, match=r"m\.json"):
        read_manifest(tmp_path / "m.json")
    with pytest.raises(MissingFileError):
        read_manifest(tmp_path / "none.json")


def test_rows_expected() -> None:
    from msgspec.structs import replace

    assert manifest().rows_expected == 60
    assert replace(manifest(), limit=10).rows_expected == 20
    assert replace(manifest(), limit=100).rows_expected == 60


def test_time_and_versions() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", now())
    versions = library_versions()
    assert set(versions) == {"python", "epoche", "rdflib", "pyshacl", "pyoxigraph", "numpy"}
    assert "unknown" not in versions.values()


def test_names_are_relative(tmp_path: Path) -> None:
    assert relative_name(tmp_path / "c.jsonl", tmp_path / "results") == "../c.jsonl"
    assert relative_name(tmp_path / "results" / "c.jsonl", tmp_path / "results") == "c.jsonl"


def test_names_that_are_not_utf8_can_be_stored(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    assert relative_name(odd, tmp_path) == r"caf\xe9.jsonl"
    assert relative_name(tmp_path / "café.jsonl", tmp_path) == "café.jsonl"
