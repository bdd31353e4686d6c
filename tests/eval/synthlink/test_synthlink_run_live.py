"""A run that searches the web, which is a server on this machine: recorded, failed, replayed."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from servers.search_engine import SearchEngine, page_of
from stage_calls import epoche, error_line
from synthlink_run_parts import asking, ended, manifest_of, predictions_of, rows_of, shop_of

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
COUNT = 3
FOUND = "https://example.org/found"
PAGE = page_of([("Alcor", FOUND, "The founder was born in Tarn.")])
LIVE = ("--live", "--backend", "duckduckgo", "--no-score")


@pytest.fixture
def engine(search_engine: SearchEngine) -> SearchEngine:
    search_engine.page = PAGE
    return search_engine


@pytest.fixture
def searching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[object]]:
    shop = shop_of(tmp_path, COUNT)
    monkeypatch.chdir(shop)
    monkeypatch.syspath_prepend(shop)

    def arguments(*more: object, out: str = "out") -> list[object]:
        all_of_it = asking(shop, *more, out=out)
        place = all_of_it.index("--pages")
        return [*all_of_it[:place], *all_of_it[place + 2 :]]

    return arguments


def test_searches_are_recorded_and_never_made_twice(
    engine: SearchEngine, tmp_path: Path, searching: Callable[..., list[object]]
) -> None:
    out = tmp_path / "out"
    rows = ended(epoche(*searching(*LIVE)), out)
    assert len(engine.requests) == COUNT
    assert {row["outcome"] for row in rows} == {"ANSWERED"}
    assert all(one["retrieved_docs"] == [FOUND] for one in predictions_of(out))
    assert manifest_of(out)["library"]["backends"] == ["duckduckgo"]
    assert ended(epoche(*searching(*LIVE)), out) == rows
    assert len(engine.requests) == COUNT
    replay = ("--search", out / "search.jsonl", "--no-score")
    assert ended(epoche(*searching(*replay, out="replayed")), tmp_path / "replayed") == rows
    assert len(engine.requests) == COUNT
    library = manifest_of(tmp_path / "replayed")["library"]
    assert (library["frozen"], library["queries"], len(library["sha256"])) == (True, COUNT, 64)
    assert "library" in error_line(epoche(*searching(*replay)), 14)
    assert ended(epoche(*searching(*LIVE, "--overwrite")), out) == rows
    assert len(engine.requests) == 2 * COUNT, "a recording is replaced too"


def test_a_search_that_fails_is_an_error_and_made_again_when_told(
    engine: SearchEngine, tmp_path: Path, searching: Callable[..., list[object]]
) -> None:
    engine.status = 500
    line = error_line(epoche(*searching(*LIVE)), 27)
    assert "3 of 3 rows are ERROR" in line
    rows = rows_of(tmp_path / "out")
    assert {row["outcome"] for row in rows} == {"ERROR"}
    assert all(row["error"].startswith("SearchError: the search failed") for row in rows)
    engine.status = 200
    rows = ended(epoche(*searching(*LIVE, "--retry-errors")), tmp_path / "out")
    assert {row["outcome"] for row in rows} == {"ANSWERED"}


def test_what_was_not_recorded_cannot_be_replayed(
    engine: SearchEngine, tmp_path: Path, searching: Callable[..., list[object]]
) -> None:
    ended(epoche(*searching(*LIVE, "--limit", 1)), tmp_path / "out")
    replay = ("--search", tmp_path / "out" / "search.jsonl", "--no-score")
    rows = ended(epoche(*searching(*replay, out="replayed")), tmp_path / "replayed")
    assert [row["outcome"] for row in rows] == ["ANSWERED", "ERROR", "ERROR"]
    assert all("was recorded" in row["error"] for row in rows[1:])
    assert not any(str(tmp_path) in row["error"] for row in rows[1:]), "a path of this machine"


def test_an_engine_nobody_knows(searching: Callable[..., list[object]]) -> None:
    line = error_line(epoche(*searching("--live", "--backend", "nowhere", "--no-score")), 34)
    assert "nowhere" in line
