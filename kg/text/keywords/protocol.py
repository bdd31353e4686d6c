"""The protocol of keyword extractors and the record they return for a chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from kg.text.chunks import Chunk


class ChunkKeywords(msgspec.Struct, frozen=True, omit_defaults=True):
    """The keywords of one chunk."""

    chunk_id: str
    keywords: tuple[str, ...]
    """As spelled in the chunk, best first, each once."""
    invented: int = 0
    """Number of keywords that were dropped, because a model proposed them but they do not occur in
    the chunk."""


@runtime_checkable
class KeywordExtractor(Protocol):
    """Finds the keywords of chunks."""

    name: str
    failed: int
    """Number of chunks without a usable reply; they get no keywords."""

    def params(self) -> dict[str, object]:
        """Returns every parameter that affects the keywords, for caches and manifests."""
        ...

    def extract_keywords(
        self, chunks: Sequence[Chunk], on_done: Callable[[ChunkKeywords], None]
    ) -> list[ChunkKeywords]:
        """Returns the keywords of each chunk, in the chunks' order.

        Args:
            chunks: the chunks.
            on_done: called with each chunk's keywords as soon as they are known, in any order.
        """
        ...
