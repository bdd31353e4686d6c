"""A run that searches the web (a local server): recording, failure and replay."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers.search_engine import SearchEngine, render_results_page
from skn_run_parts import read_rows, write_inputs
from stage_calls import check_error_line, run_epoche

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
COUNT = 2
PAGE = render_results_page(
    [("Report", "https://example.org/1", "Service 0 stalls because of a full queue.")]
)


@pytest.fixture
def engine(search_engine: SearchEngine) -> SearchEngine:
    search_engine.page = PAGE
    return search_engine


@pytest.fixture
def run_arguments(tmp_path: Path) -> Callable[..., list[object]]:
    shop = write_inputs(tmp_path, COUNT)

    def build_arguments(*more: object, out: str = "out") -> list[object]:
        files = ("--dataset", shop / "samples.json", "--out", shop / out)
        return ["skn", "run", "--offline", *files, "--resamples", 100, *more]

    return build_arguments


LIVE = ("--live", "--backend", "duckduckgo")


def read_json(out: Path, name: str) -> Any:
    return json.loads((out / name).read_bytes())


def test_searches_are_recorded_and_not_repeated(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    assert run_epoche(*run_arguments(*LIVE)).code == 0
    assert len(engine.requests) == COUNT, "one search per sample, shared by all formats"
    rows = read_rows(tmp_path / "out")
    assert all(row["search_s"] > 0 for row in rows)
    assert read_json(tmp_path / "out", "metrics.json")["skn"]["avg_search_time_s"] > 0
    assert read_json(tmp_path / "out", "manifest.json")["search"]["backends"] == ["duckduckgo"]
    assert run_epoche(*run_arguments(*LIVE)).code == 0
    assert len(engine.requests) == COUNT
    replay = ("--search", tmp_path / "out" / "search.jsonl")
    assert run_epoche(*run_arguments(*replay, out="replayed")).code == 0
    assert len(engine.requests) == COUNT
    again = read_rows(tmp_path / "replayed")
    assert [row | {"search_s": None} for row in rows] == again
    line = check_error_line(run_epoche(*run_arguments(*replay)), 14)
    assert "search" in line
    assert run_epoche(*run_arguments(*LIVE, "--overwrite")).code == 0
    assert len(engine.requests) == 2 * COUNT


def test_failed_search_is_an_error_and_repeated_on_request(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    engine.status = 500
    done = run_epoche(*run_arguments(*LIVE))
    assert done.code == 27, "a run with only ERROR rows must fail"
    rows = read_rows(tmp_path / "out")
    assert {(row["outcome"], row["stage"]) for row in rows} == {("ERROR", "search")}
    assert all("duckduckgo" in row["error"] for row in rows)
    assert "--retry-errors" in done.err
    engine.status = 200
    asked = len(engine.requests)
    assert run_epoche(*run_arguments(*LIVE)).code == 27
    assert len(engine.requests) == asked
    assert read_rows(tmp_path / "out") == rows
    assert all(one["error"] for one in read_json(tmp_path / "out", "search_results.json"))
    assert run_epoche(*run_arguments(*LIVE, "--retry-errors")).code == 0
    assert len(engine.requests) == asked + COUNT
    assert "ERROR" not in {row["outcome"] for row in read_rows(tmp_path / "out")}
    assert not any(one["error"] for one in read_json(tmp_path / "out", "search_results.json"))


def test_empty_search_result_is_not_a_failure(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    engine.page = render_results_page([])
    assert run_epoche(*run_arguments(*LIVE)).code == 0
    assert {row["outcome"] for row in read_rows(tmp_path / "out")} == {"ABSTAINED"}
    assert {one["raw_text"] for one in read_json(tmp_path / "out", "search_results.json")} == {""}


def test_unknown_engine_is_refused(
    tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    line = check_error_line(run_epoche(*run_arguments("--live", "--backend", "nowhere")), 34)
    assert "nowhere" in line
