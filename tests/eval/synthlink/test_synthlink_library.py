"""Tests the agents' libraries: page search with each retriever, and recorded web searches."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
from synthlink_run_parts import page_address, write_inputs

from eval.synthlink.agents.library import CorpusLibrary, Hit, WebLibrary
from kg.base.errors import SearchError
from kg.base.files import to_json_bytes
from retrieval.corpus import Corpus, CorpusPage, read_corpus
from retrieval.factory import open_text_retriever
from retrieval.web import FrozenSearch
from retrieval.web_results import FrozenQuery, WebResult, hash_query


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return read_corpus(write_inputs(tmp_path_factory.mktemp("shop"), 6) / "pages.jsonl")


def search_library(library: CorpusLibrary | WebLibrary, query: str, k: int) -> list[Hit]:
    return asyncio.run(library.search(query, k))


@pytest.mark.parametrize("retriever", ["bm25", "hybrid"])
def test_corpus_search_matches_its_retriever(corpus: Corpus, retriever: str) -> None:
    library = CorpusLibrary(corpus, retriever, embedder="lexical")
    reference = open_text_retriever(retriever, corpus.list_passages(), embedder="lexical")
    for k in (1, 4, 100):
        hits = search_library(library, "Who founded observatory Alcor3?", k)
        passages = {passage.id: passage.text for passage in corpus.list_passages()}
        expected = reference.search("Who founded observatory Alcor3?", k)
        assert [(hit.passage, hit.score) for hit in hits] == [
            (passages[name], score) for name, score in expected
        ]
        assert len(hits) <= k
    assert search_library(library, "Who founded observatory Alcor3?", 1)[
        0
    ].page == corpus.get_page_of_passage(f"{page_address(3)}#1")


def test_each_passage_names_its_page(corpus: Corpus) -> None:
    hits = search_library(CorpusLibrary(corpus), "hill", 50)
    assert len(hits) == 6, "one paragraph of every observatory"
    assert all(hit.passage in hit.page.text for hit in hits)
    assert {hit.passage for hit in hits} == {"It stands on a hill."}
    assert search_library(CorpusLibrary(corpus), "xylophone", 5) == []


def test_params_name_all_settings_without_paths(corpus: Corpus, tmp_path: Path) -> None:
    params = CorpusLibrary(corpus).params()
    assert params["sha256"] == corpus.sha256
    assert params["retriever"]["name"] == "bm25"
    assert str(tmp_path.parent) not in str(params)
    other = Corpus((*corpus.pages, CorpusPage("https://example.org/x", "X", "x")), "pages.jsonl")
    assert CorpusLibrary(other).params() != params


def record_search(path: Path, *queries: str) -> Path:
    results = tuple(
        WebResult(f"Title {n}", f"https://example.org/{n}", f"Body {n}") for n in range(7)
    )
    rows = [
        FrozenQuery(query, hash_query(query), "2026-01-01T00:00:00+00:00", ("by-hand",), results)
        for query in queries
    ]
    path.write_bytes(b"".join(to_json_bytes(row) + b"\n" for row in rows))
    return path


def test_only_recorded_searches_are_replayed(tmp_path: Path) -> None:
    library = WebLibrary(FrozenSearch(record_search(tmp_path / "search.jsonl", "towns")))
    hits = search_library(library, "towns", 3)
    assert [(hit.page.title, hit.passage, hit.score) for hit in hits] == [
        ("Title 0", "Body 0", 1.0),
        ("Title 1", "Body 1", 0.5),
        ("Title 2", "Body 2", 1 / 3),
    ]
    assert hits[0].page.url == "https://example.org/0"
    with pytest.raises(SearchError, match="no search for 'rivers' was recorded"):
        search_library(library, "rivers", 3)
    assert library.params()["frozen"] is True


class CountingReplay(FrozenSearch):
    """A slow replay that records how many requests run at the same time."""

    active_count = 0
    max_active = 0
    lock = threading.Lock()

    def run_query(self, query: str) -> FrozenQuery:
        with self.lock:
            self.active_count += 1
            self.max_active = max(self.max_active, self.active_count)
        time.sleep(0.005)
        with self.lock:
            self.active_count -= 1
        return super().run_query(query)


def test_searches_are_sequential_and_do_not_block_the_loop(tmp_path: Path) -> None:
    queries = [f"town {number}" for number in range(8)]
    searches = CountingReplay(record_search(tmp_path / "search.jsonl", *queries))
    library = WebLibrary(searches)
    loop_turns = 0

    async def search_concurrently() -> None:
        nonlocal loop_turns
        pending = asyncio.gather(*(library.search(query, 2) for query in queries))
        while not pending.done():
            await asyncio.sleep(0.001)
            loop_turns += 1
        assert all(len(hits) == 2 for hits in await pending)

    asyncio.run(search_concurrently())
    assert searches.max_active == 1
    # Eight searches of 5 ms leave time for many more turns unless they block the loop.
    assert loop_turns > 5, "the event loop must not be blocked"
