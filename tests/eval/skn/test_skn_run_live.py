"""A run that searches the web, which is a server on this machine: recorded, failed, replayed."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers.search_engine import SearchEngine, page_of
from skn_run_parts import rows_of, shop_of
from stage_calls import epoche, error_line

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
COUNT = 2
PAGE = page_of([("Report", "https://example.org/1", "Service 0 stalls because of a full queue.")])


@pytest.fixture
def engine(search_engine: SearchEngine) -> SearchEngine:
    search_engine.page = PAGE
    return search_engine


@pytest.fixture
def asking(tmp_path: Path) -> Callable[..., list[object]]:
    shop = shop_of(tmp_path, COUNT)

    def arguments(*more: object, out: str = "out") -> list[object]:
        files = ("--dataset", shop / "samples.json", "--out", shop / out)
        return ["skn", "run", "--offline", *files, "--resamples", 100, *more]

    return arguments


LIVE = ("--live", "--backend", "duckduckgo")


def read(out: Path, name: str) -> Any:
    return json.loads((out / name).read_bytes())


def test_searches_are_recorded_and_never_made_twice(
    engine: SearchEngine, tmp_path: Path, asking: Callable[..., list[object]]
) -> None:
    assert epoche(*asking(*LIVE)).code == 0
    assert len(engine.requests) == COUNT, "one search a sample, for all formats"
    rows = rows_of(tmp_path / "out")
    assert all(row["search_s"] > 0 for row in rows)
    assert read(tmp_path / "out", "metrics.json")["skn"]["avg_search_time_s"] > 0
    assert read(tmp_path / "out", "manifest.json")["search"]["backends"] == ["duckduckgo"]
    assert epoche(*asking(*LIVE)).code == 0
    assert len(engine.requests) == COUNT
    replay = ("--search", tmp_path / "out" / "search.jsonl")
    assert epoche(*asking(*replay, out="replayed")).code == 0
    assert len(engine.requests) == COUNT
    again = rows_of(tmp_path / "replayed")
    assert [row | {"search_s": None} for row in rows] == again
    line = error_line(epoche(*asking(*replay)), 14)
    assert "search" in line
    assert epoche(*asking(*LIVE, "--overwrite")).code == 0
    assert len(engine.requests) == 2 * COUNT


def test_a_search_that_fails_is_an_error_and_made_again_when_told(
    engine: SearchEngine, tmp_path: Path, asking: Callable[..., list[object]]
) -> None:
    engine.status = 500
    done = epoche(*asking(*LIVE))
    assert done.code == 27, "a run of nothing but ERROR is no success"
    rows = rows_of(tmp_path / "out")
    assert {(row["outcome"], row["stage"]) for row in rows} == {("ERROR", "search")}
    assert all("duckduckgo" in row["error"] for row in rows)
    assert "--retry-errors" in done.err
    engine.status = 200
    asked = len(engine.requests)
    assert epoche(*asking(*LIVE)).code == 27
    assert len(engine.requests) == asked
    assert rows_of(tmp_path / "out") == rows
    assert all(one["error"] for one in read(tmp_path / "out", "search_results.json"))
    assert epoche(*asking(*LIVE, "--retry-errors")).code == 0
    assert len(engine.requests) == asked + COUNT
    assert "ERROR" not in {row["outcome"] for row in rows_of(tmp_path / "out")}
    assert not any(one["error"] for one in read(tmp_path / "out", "search_results.json"))


def test_a_search_that_finds_nothing_is_no_failure(
    engine: SearchEngine, tmp_path: Path, asking: Callable[..., list[object]]
) -> None:
    engine.page = page_of([])
    assert epoche(*asking(*LIVE)).code == 0
    assert {row["outcome"] for row in rows_of(tmp_path / "out")} == {"ABSTAINED"}
    assert {one["raw_text"] for one in read(tmp_path / "out", "search_results.json")} == {""}


def test_an_engine_nobody_knows(tmp_path: Path, asking: Callable[..., list[object]]) -> None:
    line = error_line(epoche(*asking("--live", "--backend", "nowhere")), 34)
    assert "nowhere" in line
