"""Tests runs that search the web (a local server): recording, failures and replay."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers.scripted_server import ScriptedServer
from servers.search_engine import SearchEngine, render_results_page
from skn_run_parts import make_scripted_model, read_rows, remove_latency, write_inputs
from stage_calls import check_error_line, run_epoche

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
SAMPLE_COUNT = 2
RESULTS_PAGE = render_results_page(
    [("Report", "https://example.org/1", "Service 0 stalls because of a full queue.")]
)


@pytest.fixture
def engine(search_engine: SearchEngine) -> SearchEngine:
    search_engine.page = RESULTS_PAGE
    return search_engine


@pytest.fixture
def run_arguments(
    tmp_path: Path, scripted_server: ScriptedServer, scripted_model: str
) -> Callable[..., list[object]]:
    scripted_server.behave_with(make_scripted_model())
    folder = write_inputs(tmp_path, SAMPLE_COUNT)

    def build_arguments(*options: object, out: str = "out") -> list[object]:
        files = ("--dataset", folder / "samples.json", "--out", folder / out)
        settings = ("--model", scripted_model, "--no-judge", "--no-cache", "--resamples", 100)
        return ["skn", "run", *settings, *files, *options]

    return build_arguments


LIVE_OPTIONS = ("--live", "--backend", "duckduckgo")


def read_json(out: Path, name: str) -> Any:
    return json.loads((out / name).read_bytes())


def test_searches_are_recorded_and_not_repeated(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    assert run_epoche(*run_arguments(*LIVE_OPTIONS)).code == 0
    assert len(engine.requests) == SAMPLE_COUNT, "one search per sample, shared by all formats"
    rows = read_rows(tmp_path / "out")
    assert all(row["search_s"] > 0 for row in rows)
    assert read_json(tmp_path / "out", "metrics.json")["skn"]["avg_search_time_s"] > 0
    assert read_json(tmp_path / "out", "manifest.json")["search"]["backends"] == ["duckduckgo"]
    assert run_epoche(*run_arguments(*LIVE_OPTIONS)).code == 0
    assert len(engine.requests) == SAMPLE_COUNT
    replay = ("--search", tmp_path / "out" / "search.jsonl")
    assert run_epoche(*run_arguments(*replay, out="replayed")).code == 0
    assert len(engine.requests) == SAMPLE_COUNT
    replayed_rows = read_rows(tmp_path / "replayed")
    # A replayed search takes no time; everything else must be equal.
    rows_without_times = [remove_latency(row | {"search_s": None}) for row in rows]
    assert rows_without_times == remove_latency(replayed_rows)
    line = check_error_line(run_epoche(*run_arguments(*replay)), 14)
    assert "search" in line
    assert run_epoche(*run_arguments(*LIVE_OPTIONS, "--overwrite")).code == 0
    assert len(engine.requests) == 2 * SAMPLE_COUNT


def test_failed_search_is_an_error_and_repeated_on_request(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    engine.status = 500
    result = run_epoche(*run_arguments(*LIVE_OPTIONS))
    assert result.code == 27, "a run with only ERROR rows must fail"
    rows = read_rows(tmp_path / "out")
    assert {(row["outcome"], row["stage"]) for row in rows} == {("ERROR", "search")}
    assert all("duckduckgo" in row["error"] for row in rows)
    assert "--retry-errors" in result.err
    engine.status = 200
    request_count = len(engine.requests)
    assert run_epoche(*run_arguments(*LIVE_OPTIONS)).code == 27
    assert len(engine.requests) == request_count
    assert read_rows(tmp_path / "out") == rows
    assert all(search["error"] for search in read_json(tmp_path / "out", "search_results.json"))
    assert run_epoche(*run_arguments(*LIVE_OPTIONS, "--retry-errors")).code == 0
    assert len(engine.requests) == request_count + SAMPLE_COUNT
    assert "ERROR" not in {row["outcome"] for row in read_rows(tmp_path / "out")}
    assert not any(search["error"] for search in read_json(tmp_path / "out", "search_results.json"))


def test_empty_search_result_is_not_a_failure(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    engine.page = render_results_page([])
    assert run_epoche(*run_arguments(*LIVE_OPTIONS)).code == 0
    assert {row["outcome"] for row in read_rows(tmp_path / "out")} <= {"ANSWERED", "ABSTAINED"}
    assert {
        search["raw_text"] for search in read_json(tmp_path / "out", "search_results.json")
    } == {""}


def test_unknown_engine_is_refused(
    tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    line = check_error_line(run_epoche(*run_arguments("--live", "--backend", "nowhere")), 34)
    assert "nowhere" in line
