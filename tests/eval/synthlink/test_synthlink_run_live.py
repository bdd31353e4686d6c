"""Tests runs that search the web, here a local server: recording, failure and replay."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from servers.search_engine import SearchEngine, render_results_page
from stage_calls import check_error_line, run_epoche
from synthlink_run_parts import (
    check_finished,
    load_predictions,
    make_run_command,
    read_manifest,
    read_rows,
    write_inputs,
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
QUESTION_COUNT = 3
FOUND_URL = "https://example.org/found"
RESULTS_PAGE = render_results_page([("Alcor", FOUND_URL, "The founder was born in Tarn.")])
LIVE_FLAGS = ("--live", "--backend", "duckduckgo", "--no-score")


@pytest.fixture
def engine(search_engine: SearchEngine) -> SearchEngine:
    """The local search engine, with one result for every query."""
    search_engine.page = RESULTS_PAGE
    return search_engine


@pytest.fixture
def run_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[object]]:
    workspace = write_inputs(tmp_path, QUESTION_COUNT)
    monkeypatch.chdir(workspace)
    monkeypatch.syspath_prepend(workspace)

    def build_arguments(*flags: object, out: str = "out") -> list[object]:
        """Returns the command without ``--pages`` and its value."""
        command = make_run_command(workspace, *flags, out=out)
        position = command.index("--pages")
        return [*command[:position], *command[position + 2 :]]

    return build_arguments


def test_searches_are_recorded_and_not_repeated(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    out = tmp_path / "out"
    rows = check_finished(run_epoche(*run_arguments(*LIVE_FLAGS)), out)
    assert len(engine.requests) == QUESTION_COUNT
    assert {row["outcome"] for row in rows} == {"ANSWERED"}
    assert all(prediction["retrieved_docs"] == [FOUND_URL] for prediction in load_predictions(out))
    assert read_manifest(out)["library"]["backends"] == ["duckduckgo"]
    assert check_finished(run_epoche(*run_arguments(*LIVE_FLAGS)), out) == rows
    assert len(engine.requests) == QUESTION_COUNT
    replay = ("--search", out / "search.jsonl", "--no-score")
    assert (
        check_finished(run_epoche(*run_arguments(*replay, out="replayed")), tmp_path / "replayed")
        == rows
    )
    assert len(engine.requests) == QUESTION_COUNT
    library = read_manifest(tmp_path / "replayed")["library"]
    assert (library["frozen"], library["queries"], len(library["sha256"])) == (
        True,
        QUESTION_COUNT,
        64,
    )
    assert "library" in check_error_line(run_epoche(*run_arguments(*replay)), 14)
    assert check_finished(run_epoche(*run_arguments(*LIVE_FLAGS, "--overwrite")), out) == rows
    assert len(engine.requests) == 2 * QUESTION_COUNT, "--overwrite searches again"


def test_failed_search_is_an_error_and_repeated_on_request(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    engine.status = 500
    line = check_error_line(run_epoche(*run_arguments(*LIVE_FLAGS)), 27)
    assert "3 of 3 rows are ERROR" in line
    rows = read_rows(tmp_path / "out")
    assert {row["outcome"] for row in rows} == {"ERROR"}
    assert all(row["error"].startswith("SearchError: the search failed") for row in rows)
    engine.status = 200
    rows = check_finished(
        run_epoche(*run_arguments(*LIVE_FLAGS, "--retry-errors")), tmp_path / "out"
    )
    assert {row["outcome"] for row in rows} == {"ANSWERED"}


def test_unrecorded_search_cannot_be_replayed(
    engine: SearchEngine, tmp_path: Path, run_arguments: Callable[..., list[object]]
) -> None:
    check_finished(run_epoche(*run_arguments(*LIVE_FLAGS, "--limit", 1)), tmp_path / "out")
    replay = ("--search", tmp_path / "out" / "search.jsonl", "--no-score")
    rows = check_finished(
        run_epoche(*run_arguments(*replay, out="replayed")), tmp_path / "replayed"
    )
    assert [row["outcome"] for row in rows] == ["ANSWERED", "ERROR", "ERROR"]
    assert all("was recorded" in row["error"] for row in rows[1:])
    assert not any(str(tmp_path) in row["error"] for row in rows[1:]), (
        "error messages must not contain local paths"
    )


def test_unknown_engine_is_refused(run_arguments: Callable[..., list[object]]) -> None:
    line = check_error_line(
        run_epoche(*run_arguments("--live", "--backend", "nowhere", "--no-score")), 34
    )
    assert "nowhere" in line
