"""What an extractor of keywords is, and what it says of a chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from kg.text.chunk import Chunk


class ChunkKeywords(msgspec.Struct, frozen=True):
    """The keywords of one chunk."""

    chunk_id: str
    keywords: tuple[str, ...]
    """As written in the chunk, best first, each once."""


@runtime_checkable
class KeywordExtractor(Protocol):
    """Finds the keywords of chunks."""

    name: str

    def params(self) -> dict[str, object]:
        """Everything that decides the keywords, for caches and manifests."""
        ...

    def extract(
        self, chunks: Sequence[Chunk], on_done: Callable[[ChunkKeywords], None]
    ) -> list[ChunkKeywords]:
        """The keywords of each chunk, in the chunks' order.

        Args:
            chunks: what to read.
            on_done: is told of each chunk as soon as it is done, in whatever order.
        """
        ...
