"""Where agents look things up: a corpus of pages, or recorded or live searches of the web.

What a page says was written by strangers. Nothing here follows or executes any of it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from retrieval.corpus import Corpus, CorpusPage
from retrieval.opening import open_text_retriever
from retrieval.ranking import described

if TYPE_CHECKING:
    from retrieval.web import FrozenSearch, Recording


class Hit(msgspec.Struct, frozen=True):
    """A passage that was found, and the page it stands on."""

    page: CorpusPage
    passage: str
    """The text of the passage."""
    score: float
    """Higher is better; comparable within one search only."""


class Library(Protocol):
    """Finds passages of pages."""

    def params(self) -> dict[str, Any]:
        """Everything that decides what is found, as JSON values, for the manifest."""
        ...

    async def search(self, query: str, k: int) -> list[Hit]:
        """The ``k`` best passages, best first; several may be of one page.

        Raises:
            SearchError: the search failed, which is not the same as having found nothing.
        """
        ...


class CorpusLibrary:
    """Searches a corpus; the same finds every time, and no network.

    Args:
        corpus: the pages.
        retriever: one of ``retrieval.opening.TEXT_NAMES``.
        embedder: of ``dense`` and ``hybrid``: a folder or hub name, ``lexical``, or empty for the
            default model.

    Raises:
        ValueError, SettingError, EpocheError: as ``open_text_retriever``.
    """

    def __init__(
        self,
        corpus: Corpus,
        retriever: str = "bm25",
        *,
        embedder: str = "",
    ) -> None:
        passages = corpus.passages()
        self._corpus = corpus
        self._texts = {passage.id: passage.text for passage in passages}
        self._retriever = open_text_retriever(retriever, passages, embedder=embedder)

    def params(self) -> dict[str, Any]:
        """The corpus by name and hash, and how it is searched."""
        return {
            "name": "corpus",
            "corpus": self._corpus.name,
            "sha256": self._corpus.sha256,
            "retriever": described(self._retriever),
        }

    async def search(self, query: str, k: int) -> list[Hit]:
        """As the protocol says; never fails."""
        return [
            Hit(self._corpus.page_of(found), self._texts[found], score)
            for found, score in self._retriever.search(query, k)
        ]


class WebLibrary:
    """What searches of the web find, replayed or live; a result is a page of one passage.

    Args:
        searches: replays a file, or asks the web and records what it said.
    """

    def __init__(self, searches: FrozenSearch | Recording) -> None:
        self._searches = searches
        self._turn = asyncio.Lock()

    def params(self) -> dict[str, Any]:
        """What is replayed or asked."""
        return dict(self._searches.params())

    async def search(self, query: str, k: int) -> list[Hit]:
        """The first ``k`` results; the n-th scores 1/n.

        Raises:
            SearchError: the search failed, or was not recorded.
            WriteError: what was found cannot be recorded.
        """
        # One at a time: engines are asked politely, and a recording has one writer.
        async with self._turn:
            row = await asyncio.to_thread(self._searches.ask, query)
        return [
            Hit(CorpusPage(one.href, one.title, one.body), one.body, 1.0 / rank)
            for rank, one in enumerate(row.results[:k], start=1)
        ]
