"""What an extractor of keywords is, and what it says of a chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from kg.text.chunks import Chunk


class ChunkKeywords(msgspec.Struct, frozen=True, omit_defaults=True):
    """The keywords of one chunk."""

    chunk_id: str
    keywords: tuple[str, ...]
    """As written in the chunk, best first, each once."""
    invented: int = 0
    """How many more were proposed, by a model, that do not stand in the chunk."""


@runtime_checkable
class KeywordExtractor(Protocol):
    """Finds the keywords of chunks."""

    name: str
    failed: int
    """Chunks for which there is no usable answer: their keywords are none."""

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
