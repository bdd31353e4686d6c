"""Tests that result files of the published benchmark, and of ours, can be replayed as searches."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from skn_reader import READER
from stage_calls import check_error_line, run_epoche

from eval.skn.items import Sample
from eval.skn.search_source import Source, SourceFinder
from eval.skn.searches.found_texts import FoundTexts, format_results
from kg.base.errors import DuplicateIdError, RecordError
from retrieval.web_results import FrozenQuery, WebResult, hash_query

RESULTS = [
    {"title": "Locks", "href": "https://example.org/1", "body": "A lock stays.\nIt is old."},
    {"title": "Rows", "url": "https://example.org/2", "snippet": "Rows wait.", "rank": 2},
]
TEXT = (
    "[Result 1]\nTitle: Locks\nURL: https://example.org/1\nContent: A lock stays.\nIt is old.\n\n"
    "[Result 2]\nTitle: Rows\nURL: https://example.org/2\nContent: Rows wait."
)
SAMPLE = Sample(id="7", question="Why does it wait?", ground_truth="A lock.")
ROW = {"id": 7, "question": SAMPLE.question}


def find_source(folder: Path, rows: Any, data: bytes | None = None) -> Source:
    path = folder / "found.json"
    path.write_bytes(json.dumps(rows).encode() if data is None else data)
    return SourceFinder.open_replay(path).find_source(SAMPLE)


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "raw_text": TEXT, "raw_text_chars": len(TEXT)},
        {"id": 7, "raw_text": TEXT, "json_answer": "as in detailed_results.json"},
        {"id": "7", "question": None, "raw_text": TEXT, "results": [], "error": None},
        {"query": f" {SAMPLE.question} ", "raw_text": TEXT},
    ],
)
def test_text_is_replayed_as_it_was_recorded(tmp_path: Path, row: dict[str, Any]) -> None:
    other = {"id": 8, "question": "Who?", "raw_text": "Nobody."}
    assert find_source(tmp_path, [other, row]).text == TEXT
    lines = "\n".join(map(json.dumps, (row, other))).encode()
    assert find_source(tmp_path, None, lines).text == TEXT
    assert find_source(tmp_path, None, b"\xef\xbb\xbf" + lines).text == TEXT
    assert find_source(tmp_path, None, gzip.compress(lines)).text == TEXT


@pytest.mark.parametrize("key", ["results", "raw_text"])
def test_results_may_be_an_array(tmp_path: Path, key: str) -> None:
    source = find_source(tmp_path, [{**ROW, key: RESULTS}])
    assert [result.href for result in source.results] == [
        "https://example.org/1",
        "https://example.org/2",
    ]
    assert source.text == TEXT.replace("\nIt", " It")
    many = [{**RESULTS[0], "href": f"https://example.org/{n}"} for n in range(9)]
    assert len(find_source(tmp_path, [{**ROW, key: many}]).results) == 5


def test_results_without_addresses_are_kept_as_text(tmp_path: Path) -> None:
    source = find_source(tmp_path, [{**ROW, "results": [{"title": "A", "body": "One\ntwo."}]}])
    assert source.text == format_results([("A", "", "One two.")])


def test_recorded_searches_may_be_an_array(tmp_path: Path) -> None:
    results = (WebResult("A", "https://example.org", "B"),)
    row = FrozenQuery(SAMPLE.question, hash_query(SAMPLE.question), "2026", ("x",), results)
    rows = [{"query": row.query, "query_sha256": row.query_sha256, "results": [{"title": "A"}]}]
    assert find_source(tmp_path, rows).text == format_results([("A", "", "")])


def test_empty_text_failed_search_and_missing_row_differ(tmp_path: Path) -> None:
    nothing = find_source(tmp_path, [{**ROW, "raw_text": ""}])
    assert (nothing.text, nothing.error) == ("", None)
    assert FoundTexts(tmp_path / "found.json").params()["empty"] == 1
    failed = find_source(tmp_path, [{**ROW, "raw_text": "", "results": [], "error": "timed out"}])
    assert failed.error == "timed out"
    missing = find_source(tmp_path, [{"id": 8, "question": "Who?", "raw_text": "x"}])
    assert "was recorded" in (missing.error or "")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW], "neither raw_text nor results.*row 1.*This one has id, question"),
        ([{"raw_text": "x"}], "neither a question nor an id"),
        ([{**ROW, "question": 5, "raw_text": "x"}], "its question is 5, not a text"),
        ([{"id": 1.5, "raw_text": "x"}], "its id is 1.5"),
        ([{**ROW, "raw_text": {"a": 1}}], "its raw_text is"),
        ([{**ROW, "results": ["text"]}], "number 1 of its results"),
        ([{**ROW, "results": [{"title": 1}]}], "number 1 of its results"),
        ([{**ROW, "results": [{}]}], "number 1 of its results"),
        ([{**ROW, "raw_text": "w" * 1_000_001}], "longer than 1,000,000"),
        ([["x"]], "not an object"),
        ({"a": [ROW]}, "neither a question nor an id"),
    ],
)
def test_bad_row_is_named(tmp_path: Path, rows: Any, message: str) -> None:
    with pytest.raises(RecordError, match=message) as error_info:
        find_source(tmp_path, rows)
    assert "found.json" in error_info.value.where


def test_repeats_agree_or_are_refused(tmp_path: Path) -> None:
    row = {**ROW, "raw_text": TEXT}
    assert find_source(tmp_path, [row, {**row, "repeat": 1}]).text == TEXT
    with pytest.raises(DuplicateIdError, match=r"differs from .*row 1 .*row 2"):
        find_source(tmp_path, [row, {**row, "raw_text": "another"}])


def test_run_replays_its_own_search_results(tmp_path: Path) -> None:
    """The texts that an agent saw are the same if a run is made from another run's files."""
    command = ("skn", "run", *READER, "--limit", 4, "--no-report", "--resamples", 100, "--out")
    assert run_epoche(*command, tmp_path / "first").code == 0
    for name in ("search_results.json", "detailed_results.json"):
        out = tmp_path / name.partition(".")[0]
        assert run_epoche(*command, out, "--search", tmp_path / "first" / name).code == 0
        rows = (out / "rows.jsonl").read_bytes()
        assert rows == (tmp_path / "first" / "rows.jsonl").read_bytes()


def test_searches_of_other_questions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "search_results.json"
    path.write_text(json.dumps([{**ROW, "raw_text": TEXT}]), "utf-8")
    command = ("skn", "run", *READER, "--search", path, "--out", tmp_path / "out")
    assert "search_results.json" in check_error_line(run_epoche(*command), 34)
