"""Searches only once for each question, however many fusions use the result."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from eval.retrieval_eval.systems.view import RANKING_DEPTH
from retrieval.base import BaseRetriever, describe_retriever
from retrieval.protocol import Retriever


class CachedRetriever(BaseRetriever):
    """A retriever that keeps its results, so that fusing them needs no second search.

    Args:
        retriever: the retriever that searches.
        name: name of the cached retriever; empty for that of ``retriever``.
        depth: number of passages that are kept of each query.
    """

    def __init__(self, retriever: Retriever, name: str = "", depth: int = RANKING_DEPTH) -> None:
        self.name = name or retriever.name
        self._retriever = retriever
        self._depth = depth
        self._scores_by_query: dict[str, dict[str, float]] = {}

    def params(self) -> object:
        """Returns the parameters of the retriever that searches."""
        return describe_retriever(self._retriever)

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``; the results of a search among ``chunks`` only are not kept."""
        if chunks is not None or pool_size > self._depth:
            return self._retriever.get_scores(query, pool_size, chunks)
        if query not in self._scores_by_query:
            self._scores_by_query[query] = self._retriever.get_scores(query, self._depth)
        return dict(islice(self._scores_by_query[query].items(), max(pool_size, 0)))
