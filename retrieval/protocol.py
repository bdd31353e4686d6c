"""What a retriever is: passages in, scores out, under ids that all retrievers share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

import msgspec


class Passage(msgspec.Struct, frozen=True):
    """A piece of text that can be retrieved."""

    id: str
    """Unique in its corpus and the same for every retriever over that corpus."""
    text: str


@runtime_checkable
class Retriever(Protocol):
    """Scores the passages of the corpus it was built over.

    Scores are comparable within one call only. A passage the retriever has nothing to say about is
    absent rather than zero, so that rank fusion can tell the two apart. Equal scores are ordered
    as the corpus is.
    """

    name: str

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """Scores of the best passages.

        Args:
            query: the question.
            pool_size: at most so many scores are returned.
            chunks: passage ids to choose from; all when omitted.

        Returns:
            Score by passage id, best first.
        """
        ...

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """The ``k`` best passages as (id, score), best first."""
        ...
