"""Tests web search: the real client with a local server, recording, and replay."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers.search_engine import SearchEngine, make_certificates, render_results_page

from kg.base.errors import DuplicateIdError, MissingFileError, RecordError, SearchError, WriteError
from retrieval.bm25 import BM25
from retrieval.ensemble import EnsembleRanker
from retrieval.protocol import Retriever
from retrieval.web import CA_FILE_VARIABLE, PROXY_VARIABLE, FrozenSearch, RecordingSearch, WebSearch
from retrieval.web_results import (
    MAX_BODY_LENGTH,
    MAX_QUERY_LENGTH,
    MAX_RESULTS,
    FrozenQuery,
    WebResult,
    append_frozen_query,
    clean_results,
    hash_query,
    normalise_query,
    read_frozen_queries,
)

needs_live_search = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
RHINE = ("The Rhine", "https://example.org/rhine", "The Rhine flows into the North Sea.")
MAIN = ("The Main", "https://example.org/main", "The Main flows into the Rhine.")
QUERY = "Where does the Rhine end?"


def make_frozen_query(query: str, *results: tuple[str, str, str]) -> FrozenQuery:
    return FrozenQuery(
        query, hash_query(query), "2026-01-02T03:04:05+00:00", ("x",), clean_results(results)
    )


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, "html.duckduckgo.com")
    return folder


@pytest.fixture
def engine(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchEngine]:
    with SearchEngine(certificates) as server:
        monkeypatch.setenv(PROXY_VARIABLE, server.address)
        monkeypatch.setenv(CA_FILE_VARIABLE, str(certificates / "ca.pem"))
        yield server


@needs_live_search
def test_results_keep_order_scores_and_texts(engine: SearchEngine) -> None:
    engine.page = render_results_page([RHINE, MAIN, RHINE, ("Bad", "javascript:alert(1)", "x")])
    web = WebSearch(("duckduckgo",))
    assert isinstance(web, Retriever)
    assert engine.requests == [], "no request before the first question"
    scores = web.get_scores(f"  {QUERY}\n", 9)
    assert list(scores.values()) == [1.0, 0.5]
    texts = {passage.id: passage.text for passage in web.passages}
    # A passage is the title and the text of a result, without its address.
    assert [texts[result_id] for result_id in scores] == [
        "\n".join(RHINE[::2]),
        "\n".join(MAIN[::2]),
    ]
    assert web.search(QUERY, 1) == list(scores.items())[:1]
    assert web.get_scores(QUERY, 9, {list(scores)[1]}) == {list(scores)[1]: 0.5}
    host, request_line, body = engine.requests[0]
    assert (host, request_line) == ("html.duckduckgo.com:443", "POST /html/ HTTP/1.1")
    assert "q=Where+does+the+Rhine+end%3F" in body


@needs_live_search
@pytest.mark.parametrize("status", [202, 403, 429, 500])
def test_refusal_is_a_failure_not_an_empty_result(engine: SearchEngine, status: int) -> None:
    engine.status = status
    with pytest.raises(SearchError, match="duckduckgo: refused"):
        WebSearch(("duckduckgo",)).search(QUERY, 3)


@needs_live_search
def test_answer_without_results_is_an_empty_result(engine: SearchEngine) -> None:
    assert WebSearch(("duckduckgo",)).search(QUERY, 3) == []


@needs_live_search
def test_empty_result_needs_answers_of_all_engines(
    engine: SearchEngine,
) -> None:
    """The server has no certificate for the second engine, so requests to it fail."""
    web = WebSearch(("duckduckgo", "mojeek"))
    with pytest.raises(SearchError, match="mojeek: "):
        web.search(QUERY, 3)
    engine.page = render_results_page([RHINE])
    assert len(web.search(QUERY, 3)) == 1, "the first engine has a result, so no other is asked"
    reversed_web = WebSearch(("mojeek", "duckduckgo"))
    assert len(reversed_web.search(QUERY, 3)) == 1, "if an engine fails, the next one is asked"
    assert reversed_web.run_query(QUERY).backends == ("mojeek", "duckduckgo")


@needs_live_search
def test_no_network_unknown_engine_and_empty_query_are_failures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(PROXY_VARIABLE, "http://127.0.0.1:9")  # a port on which nothing listens
    web = WebSearch(("duckduckgo",), timeout_s=2)
    with pytest.raises(SearchError, match="search failed: duckduckgo") as error:
        RecordingSearch(web, tmp_path / "web.jsonl").search(QUERY, 3)
    assert error.value.exit_code == 34
    assert not (tmp_path / "web.jsonl").exists(), "a failure is not recorded"
    with pytest.raises(SearchError, match="unknown search engine 'altavista'"):
        WebSearch(("altavista",))
    with pytest.raises(SearchError, match="the query is empty"):
        web.search(" \x00 ", 3)


@needs_live_search
@pytest.mark.parametrize(
    "page", ["", "<", "\x00\x01", "<div class='body'>" * 3000, "\ufeff{}", "<html></html>"]
)
def test_damaged_pages_give_an_empty_result_or_a_failure(engine: SearchEngine, page: str) -> None:
    engine.page = page
    try:
        results = WebSearch(("duckduckgo",)).search(QUERY, 3)
    except SearchError:
        results = []
    assert results == []


@needs_live_search
def test_recorded_searches_are_replayed_without_a_request(
    engine: SearchEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen_file = tmp_path / "made" / "web.jsonl"
    engine.page = render_results_page([RHINE, MAIN])
    recording = RecordingSearch(WebSearch(("duckduckgo",)), frozen_file)
    assert isinstance(recording, Retriever)
    results = recording.search(QUERY, 5)
    engine.page = render_results_page([])
    assert recording.search(QUERY, 5) == results
    assert recording.search("Zzyzx?", 5) == []
    assert len(engine.requests) == 2
    # A file cut in the middle of a line: the next recording follows the last complete line.
    recorded_bytes = frozen_file.read_bytes()
    frozen_file.write_bytes(recorded_bytes + b'{"query":"torn')
    second_recording = RecordingSearch(WebSearch(("duckduckgo",)), frozen_file)
    assert second_recording.is_recorded(QUERY)
    assert not second_recording.is_recorded("torn")
    second_recording.search("A third?", 5)
    assert frozen_file.read_bytes().startswith(recorded_bytes)
    assert [json.loads(line)["query"] for line in frozen_file.read_bytes().splitlines()] == [
        QUERY,
        "Zzyzx?",
        "A third?",
    ]
    monkeypatch.setenv(PROXY_VARIABLE, "http://127.0.0.1:9")
    replay = FrozenSearch(frozen_file)
    assert replay.search(QUERY, 5) == results
    assert replay.search("Zzyzx?", 5) == []
    assert replay.passages == recording.passages
    with pytest.raises(SearchError, match="no search for 'Never asked' was recorded"):
        replay.search("Never asked", 5)


def test_replay_needs_neither_network_nor_extra(tmp_path: Path) -> None:
    frozen_file = tmp_path / "web.jsonl"
    append_frozen_query(frozen_file, make_frozen_query(QUERY, RHINE, MAIN))
    append_frozen_query(frozen_file, make_frozen_query("nothing?"))
    replay = FrozenSearch(frozen_file)
    assert isinstance(replay, Retriever)
    scores = replay.get_scores(QUERY.replace(" ", "\n "), 9)
    assert list(scores.values()) == [1.0, 0.5]
    assert replay.get_scores(QUERY, 0) == {}
    assert replay.get_scores(QUERY, 9, set()) == {}
    assert replay.get_scores("nothing?", 9) == {}
    params = replay.params()
    assert (params["queries"], params["first"]) == (2, "2026-01-02T03:04:05+00:00")
    # The recorded passages can be searched like any other corpus.
    assert BM25(replay.passages).search("Main", 1)[0][0] == list(scores)[1]
    ensemble = EnsembleRanker(replay.passages, (BM25(replay.passages), replay))
    assert set(ensemble.get_scores(QUERY, 5)) == set(scores)


def test_invalid_recordings_are_refused(tmp_path: Path) -> None:
    frozen_file = tmp_path / "web.jsonl"
    with pytest.raises(MissingFileError):
        FrozenSearch(frozen_file)
    append_frozen_query(frozen_file, make_frozen_query(QUERY, RHINE))
    recorded_bytes = frozen_file.read_bytes()
    for damaged_bytes, error, message in (
        (recorded_bytes + recorded_bytes, DuplicateIdError, "occurs twice"),
        (recorded_bytes[:-9], RecordError, "cut off"),
        (b"[]\n", RecordError, "not a valid frozen search"),
        (
            recorded_bytes.replace(b"Rhine end", b"Elbe end"),
            RecordError,
            "hash does not match the query",
        ),
        (b"[" * 100_000 + b"\n", RecordError, "frozen search|nested"),
    ):
        frozen_file.write_bytes(damaged_bytes)
        with pytest.raises(error, match=message):
            FrozenSearch(frozen_file)
    with pytest.raises(WriteError):
        append_frozen_query(tmp_path / "web.jsonl" / "in a file", make_frozen_query(QUERY))


def test_results_are_cut_and_cleaned(tmp_path: Path) -> None:
    hostile_text = "\x1b[31m<script>\u202e{{7*7}}\n" + "x" * 10_000
    (result,) = clean_results([(hostile_text, "https://e.org/\x1b[2J", hostile_text)])
    assert "\x1b" not in result.title + result.href + result.body
    assert "\u202e" not in result.body
    assert len(result.body) <= MAX_BODY_LENGTH
    assert "<script>" in result.body, "text is stored unescaped"
    for href in ("javascript:x", "data:text/html,x", "file:///etc/passwd", "", "//x", "x" * 9999):
        assert clean_results([("t", href, "b")]) == ()
    assert clean_results([("", "https://e.org", " \x00 ")]) == ()
    assert len(clean_results((f"t{n}", "https://e.org", "") for n in range(999))) == MAX_RESULTS
    # A recording may come from anywhere, so its texts are cleaned when it is read.
    frozen_file = tmp_path / "web.jsonl"
    row = FrozenQuery(QUERY, hash_query(QUERY), "", (), (WebResult(*RHINE[:2], hostile_text),))
    append_frozen_query(frozen_file, row)
    (frozen_query,) = read_frozen_queries(frozen_file).values()
    assert frozen_query.results == clean_results([(*RHINE[:2], hostile_text)])


@given(st.text(max_size=40).flatmap(lambda text: st.sampled_from([text, text * 200])))
def test_queries_are_normalised_once(text: str) -> None:
    query = normalise_query(text)
    assert normalise_query(query) == query
    assert len(query) <= MAX_QUERY_LENGTH
    assert hash_query(text) == hash_query(query)
