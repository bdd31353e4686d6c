"""Keywords by a model: terms of each chunk as the model sees them, the invented ones dropped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from eval.text.asking import BatchAsker
from eval.text.prompts import KEYWORDS, FoundKeywords
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.normaliser import mend

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from kg.text.chunks import Chunk

MAX_TOKENS = 1024
MAX_KEYWORD_CHARS = 100


class ModelKeywords:
    """Asks a model for the keywords of every chunk.

    A keyword that does not stand in its chunk (mended, whatever the case) is dropped and counted
    as invented. A chunk whose call failed or whose reply cannot be read has no keywords, counts
    as failed and is not handed to ``on_done``: so no cache keeps it, and the next build asks again.

    Args:
        options: which model, and how it is called.
        top_n: keywords a chunk may have; None: the square root of its length in characters.

    Attributes:
        failed: chunks without a usable reply.

    Raises:
        EpocheError: as ``BatchAsker``.
    """

    name = "model"

    def __init__(self, options: ClientOptions, top_n: int | None = None) -> None:
        self._asker = BatchAsker(options, FoundKeywords, MAX_TOKENS)
        self._top_n = top_n
        self.failed = 0

    def params(self) -> dict[str, Any]:
        """Model, prompt and number of keywords."""
        return {"top_n": self._top_n, "prompt": KEYWORDS.params(), **self._asker.params()}

    def extract(
        self, chunks: Sequence[Chunk], on_done: Callable[[ChunkKeywords], None]
    ) -> list[ChunkKeywords]:
        """As the protocol says.

        Raises:
            ModelAccessError: no call can succeed.
        """
        found = [ChunkKeywords(chunk.id, ()) for chunk in chunks]

        def keep(number: int, reply: FoundKeywords | None) -> None:
            if reply is None:
                self.failed += 1
                return
            found[number] = _kept(chunks[number], reply.keywords, self._limit(chunks[number]))
            on_done(found[number])

        prompts = [
            KEYWORDS.messages(
                limit=str(self._limit(chunk)),
                section=str(chunk.metadata.get("section", "")),
                passage=mend(chunk.text),
            )
            for chunk in chunks
        ]
        self._asker.ask(prompts, keep)
        return found

    def _limit(self, chunk: Chunk) -> int:
        return max(1, math.isqrt(len(chunk.text))) if self._top_n is None else self._top_n


def _kept(chunk: Chunk, proposed: Sequence[str], limit: int) -> ChunkKeywords:
    """Those of the proposed keywords that stand in the chunk."""
    text = mend(chunk.text).casefold()
    kept: dict[str, str] = {}
    invented = 0
    for keyword in map(mend, proposed):
        key = keyword.casefold()
        if not key or key not in text or len(key) > MAX_KEYWORD_CHARS:
            invented += 1
        else:
            kept.setdefault(key, keyword)
    return ChunkKeywords(chunk.id, tuple(kept.values())[:limit], invented)
