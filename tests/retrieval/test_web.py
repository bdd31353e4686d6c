"""Web search: the real client against a server on this machine, recording, and replay."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers.search_engine import SearchEngine, make_certificates, page_of

from kg.base.errors import DuplicateIdError, MissingFileError, RecordError, SearchError, WriteError
from retrieval.bm25 import BM25
from retrieval.ensemble import EnsembleRanker
from retrieval.protocol import Retriever
from retrieval.web import AUTHORITIES_VARIABLE, PROXY_VARIABLE, FrozenSearch, Recording, WebSearch
from retrieval.web_results import (
    MAX_BODY,
    MAX_QUERY,
    MAX_RESULTS,
    FrozenQuery,
    WebResult,
    append_frozen,
    asked_as,
    cleaned,
    query_sha256,
    read_frozen,
)

live = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
RHINE = ("The Rhine", "https://example.org/rhine", "The Rhine flows into the North Sea.")
MAIN = ("The Main", "https://example.org/main", "The Main flows into the Rhine.")
QUERY = "Where does the Rhine end?"


def frozen(query: str, *results: tuple[str, str, str]) -> FrozenQuery:
    return FrozenQuery(
        query, query_sha256(query), "2026-01-02T03:04:05+00:00", ("x",), cleaned(results)
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
        monkeypatch.setenv(AUTHORITIES_VARIABLE, str(certificates / "ca.pem"))
        yield server


@live
def test_results_in_their_order_with_scores_and_texts(engine: SearchEngine) -> None:
    engine.page = page_of([RHINE, MAIN, RHINE, ("Bad", "javascript:alert(1)", "x")])
    web = WebSearch(("duckduckgo",))
    assert isinstance(web, Retriever)
    assert engine.requests == [], "nothing is asked before a question is"
    found = web.get_scores(f"  {QUERY}\n", 9)
    assert list(found.values()) == [1.0, 0.5]
    texts = {passage.id: passage.text for passage in web.passages}
    assert [texts[one] for one in found] == ["\n".join(RHINE[::2]), "\n".join(MAIN[::2])]
    assert web.search(QUERY, 1) == list(found.items())[:1]
    assert web.get_scores(QUERY, 9, {list(found)[1]}) == {list(found)[1]: 0.5}
    host, line, body = engine.requests[0]
    assert (host, line) == ("html.duckduckgo.com:443", "POST /html/ HTTP/1.1")
    assert "q=Where+does+the+Rhine+end%3F" in body


@live
@pytest.mark.parametrize("status", [202, 403, 429, 500])
def test_a_refusal_is_a_failure_and_not_nothing_found(engine: SearchEngine, status: int) -> None:
    engine.status = status
    with pytest.raises(SearchError, match="duckduckgo: it refused"):
        WebSearch(("duckduckgo",)).search(QUERY, 3)


@live
def test_an_answer_without_results_is_nothing_found(engine: SearchEngine) -> None:
    assert WebSearch(("duckduckgo",)).search(QUERY, 3) == []


@live
def test_nothing_counts_as_found_nowhere_unless_all_engines_answered(
    engine: SearchEngine,
) -> None:
    """The server has no certificate for the second engine, so that one fails."""
    both = WebSearch(("duckduckgo", "mojeek"))
    with pytest.raises(SearchError, match="mojeek: "):
        both.search(QUERY, 3)
    engine.page = page_of([RHINE])
    assert len(both.search(QUERY, 3)) == 1, "the first has found something"
    turned = WebSearch(("mojeek", "duckduckgo"))
    assert len(turned.search(QUERY, 3)) == 1, "where one fails the next is asked"
    assert turned.ask(QUERY).backends == ("mojeek", "duckduckgo")


@live
def test_no_network_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PROXY_VARIABLE, "http://127.0.0.1:9")
    web = WebSearch(("duckduckgo",), timeout_s=2)
    with pytest.raises(SearchError, match="search failed: duckduckgo") as caught:
        Recording(web, tmp_path / "web.jsonl").search(QUERY, 3)
    assert caught.value.exit_code == 34
    assert not (tmp_path / "web.jsonl").exists(), "a failure is not recorded"
    with pytest.raises(SearchError, match="no search engine 'altavista'"):
        WebSearch(("altavista",))
    with pytest.raises(SearchError, match="nothing to search for"):
        web.search(" \x00 ", 3)


@live
@pytest.mark.parametrize(
    "page", ["", "<", "\x00\x01", "<div class='body'>" * 3000, "\ufeff{}", "<html></html>"]
)
def test_damaged_pages_end_in_nothing_or_in_a_failure(engine: SearchEngine, page: str) -> None:
    engine.page = page
    try:
        found = WebSearch(("duckduckgo",)).search(QUERY, 3)
    except SearchError:
        found = []
    assert found == []


@live
def test_what_was_recorded_is_replayed_and_not_asked_again(
    engine: SearchEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "made" / "web.jsonl"
    engine.page = page_of([RHINE, MAIN])
    recording = Recording(WebSearch(("duckduckgo",)), file)
    assert isinstance(recording, Retriever)
    first = recording.search(QUERY, 5)
    engine.page = page_of([])
    assert recording.search(QUERY, 5) == first
    assert recording.search("Zzyzx?", 5) == []
    assert len(engine.requests) == 2
    # Cut off in the middle of a line: the next recording goes on behind the last whole one.
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"query":"torn')
    again = Recording(WebSearch(("duckduckgo",)), file)
    assert (again.holds(QUERY), again.holds("torn")) == (True, False)
    again.search("A third?", 5)
    assert file.read_bytes().startswith(whole)
    assert [json.loads(line)["query"] for line in file.read_bytes().splitlines()] == [
        QUERY,
        "Zzyzx?",
        "A third?",
    ]
    monkeypatch.setenv(PROXY_VARIABLE, "http://127.0.0.1:9")
    replay = FrozenSearch(file)
    assert replay.search(QUERY, 5) == first
    assert replay.search("Zzyzx?", 5) == []
    assert replay.passages == recording.passages
    with pytest.raises(SearchError, match="no search for 'Never asked' was recorded"):
        replay.search("Never asked", 5)


def test_replay_needs_neither_network_nor_extra(tmp_path: Path) -> None:
    file = tmp_path / "web.jsonl"
    append_frozen(file, frozen(QUERY, RHINE, MAIN))
    append_frozen(file, frozen("nothing?"))
    replay = FrozenSearch(file)
    assert isinstance(replay, Retriever)
    found = replay.get_scores(QUERY.replace(" ", "\n "), 9)
    assert list(found.values()) == [1.0, 0.5]
    assert replay.get_scores(QUERY, 0) == {}
    assert replay.get_scores(QUERY, 9, set()) == {}
    assert replay.get_scores("nothing?", 9) == {}
    params = replay.params()
    assert (params["queries"], params["first"]) == (2, "2026-01-02T03:04:05+00:00")
    # Its passages are a corpus like any other.
    assert BM25(replay.passages).search("Main", 1)[0][0] == list(found)[1]
    both = EnsembleRanker(replay.passages, (BM25(replay.passages), replay))
    assert set(both.get_scores(QUERY, 5)) == set(found)


def test_files_that_prove_nothing_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "web.jsonl"
    with pytest.raises(MissingFileError):
        FrozenSearch(file)
    append_frozen(file, frozen(QUERY, RHINE))
    whole = file.read_bytes()
    for damaged, error, match in (
        (whole + whole, DuplicateIdError, "stands twice"),
        (whole[:-9], RecordError, "torn"),
        (b"[]\n", RecordError, "not a valid frozen search"),
        (whole.replace(b"Rhine end", b"Elbe end"), RecordError, "not that of the query"),
        (b"[" * 100_000 + b"\n", RecordError, "frozen search|nested"),
    ):
        file.write_bytes(damaged)
        with pytest.raises(error, match=match):
            FrozenSearch(file)
    with pytest.raises(WriteError):
        append_frozen(tmp_path / "web.jsonl" / "in a file", frozen(QUERY))


def test_what_strangers_write_is_cut_and_cleaned(tmp_path: Path) -> None:
    hostile = "\x1b[31m<script>\u202e{{7*7}}\n" + "x" * 10_000
    (one,) = cleaned([(hostile, "https://e.org/\x1b[2J", hostile)])
    assert "\x1b" not in one.title + one.href + one.body
    assert "\u202e" not in one.body
    assert len(one.body) <= MAX_BODY
    assert "<script>" in one.body, "text stays text; whoever shows it escapes it"
    for href in ("javascript:x", "data:text/html,x", "file:///etc/passwd", "", "//x", "x" * 9999):
        assert cleaned([("t", href, "b")]) == ()
    assert cleaned([("", "https://e.org", " \x00 ")]) == ()
    assert len(cleaned((f"t{n}", "https://e.org", "") for n in range(999))) == MAX_RESULTS
    # A file may come from anywhere, so what it holds is cleaned again.
    file = tmp_path / "web.jsonl"
    row = FrozenQuery(QUERY, query_sha256(QUERY), "", (), (WebResult(*RHINE[:2], hostile),))
    append_frozen(file, row)
    (read,) = read_frozen(file).values()
    assert read.results == cleaned([(*RHINE[:2], hostile)])


@given(st.text(max_size=40).flatmap(lambda text: st.sampled_from([text, text * 200])))
def test_a_query_is_sent_and_found_in_one_form(text: str) -> None:
    asked = asked_as(text)
    assert asked_as(asked) == asked
    assert len(asked) <= MAX_QUERY
    assert query_sha256(text) == query_sha256(asked)
