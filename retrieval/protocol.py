"""Defines the protocol of retrievers, which score passages identified by shared ids."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

import msgspec


class Passage(msgspec.Struct, frozen=True):
    """A piece of text that can be retrieved."""

    id: str
    """Unique in its corpus, and the same for every retriever over that corpus."""
    text: str


@runtime_checkable
class Retriever(Protocol):
    """Scores the passages of its corpus.

    Scores are comparable within one call only. A passage that was not found is absent from the
    result; it does not get the score 0, so that rank fusion can distinguish the two. Passages with
    equal scores are in corpus order.
    """

    name: str

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """Returns the scores of the best passages.

        Args:
            query: the question.
            pool_size: maximum number of scores.
            chunks: passage ids to choose from; all if omitted.

        Returns:
            Score by passage id, best first.
        """
        ...

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """Returns the ``k`` best passages as (id, score), best first."""
        ...
