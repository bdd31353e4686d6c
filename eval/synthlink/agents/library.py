"""Libraries that agents search: a corpus of pages, or recorded or live searches of the web.

The text of pages is untrusted input: nothing here follows its links or executes any of it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from retrieval.base import describe_retriever
from retrieval.corpus import Corpus, CorpusPage
from retrieval.factory import open_text_retriever

if TYPE_CHECKING:
    from retrieval.web import FrozenSearch, RecordingSearch


class Hit(msgspec.Struct, frozen=True):
    """A passage found by a search, and its page."""

    page: CorpusPage
    passage: str
    """The text of the passage."""
    score: float
    """Higher is better; comparable within one search only."""


class Library(Protocol):
    """Finds passages of pages."""

    def params(self) -> dict[str, Any]:
        """Returns all settings that influence search results, as JSON values, for the manifest."""
        ...

    async def search(self, query: str, k: int) -> list[Hit]:
        """Returns at most ``k`` passages, best first; several may be of one page.

        Raises:
            SearchError: the search failed. A search that finds nothing returns an empty list.
        """
        ...


class CorpusLibrary:
    """Searches a corpus. Results are deterministic, and no network is used.

    Args:
        corpus: the pages.
        retriever: one of ``retrieval.factory.TEXT_RETRIEVERS``.
        embedder: for ``dense`` and ``hybrid``: a folder or hub name, ``lexical``, or empty for the
            default model.

    Raises:
        ValueError, SettingError, EpocheError: in the cases that ``open_text_retriever`` names.
    """

    def __init__(
        self,
        corpus: Corpus,
        retriever: str = "bm25",
        *,
        embedder: str = "",
    ) -> None:
        passages = corpus.list_passages()
        self._corpus = corpus
        self._texts = {passage.id: passage.text for passage in passages}
        self._retriever = open_text_retriever(retriever, passages, embedder=embedder)

    def params(self) -> dict[str, Any]:
        """Returns name and hash of the corpus, and the settings of the retriever."""
        return {
            "name": "corpus",
            "corpus": self._corpus.name,
            "sha256": self._corpus.sha256,
            "retriever": describe_retriever(self._retriever),
        }

    async def search(self, query: str, k: int) -> list[Hit]:
        """Implements ``Library.search``; never fails."""
        return [
            Hit(self._corpus.get_page_of_passage(passage_id), self._texts[passage_id], score)
            for passage_id, score in self._retriever.search(query, k)
        ]


class WebLibrary:
    """Searches the web, live or replayed; each result is treated as a page of one passage.

    Args:
        searches: replays recorded searches from a file, or searches the web and records results.
    """

    def __init__(self, searches: FrozenSearch | RecordingSearch) -> None:
        self._searches = searches
        self._lock = asyncio.Lock()

    def params(self) -> dict[str, Any]:
        """Returns the settings of the recorded or live searches."""
        return dict(self._searches.params())

    async def search(self, query: str, k: int) -> list[Hit]:
        """Returns the first ``k`` results; the n-th result has the score 1/n.

        Raises:
            SearchError: the search failed, or was not recorded.
            WriteError: the results cannot be recorded.
        """
        # One search at a time: this limits the load on search engines, and the file of recorded
        # searches has a single writer.
        async with self._lock:
            row = await asyncio.to_thread(self._searches.run_query, query)
        return [
            Hit(CorpusPage(result.href, result.title, result.body), result.body, 1.0 / rank)
            for rank, result in enumerate(row.results[:k], start=1)
        ]
