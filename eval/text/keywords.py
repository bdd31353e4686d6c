"""Extracts keywords with a model and drops those that do not occur in the chunk."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from eval.text.batch_client import BatchClient
from eval.text.prompts import KEYWORDS, FoundKeywords
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.normaliser import repair_text

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from kg.text.chunks import Chunk

MAX_REPLY_TOKENS = 1024
MAX_KEYWORD_CHARS = 100


class ModelKeywords:
    """Asks a model for the keywords of every chunk.

    A keyword that does not occur in its chunk (cleaned, ignoring case) is dropped and counted as
    invented. A chunk whose call failed or whose reply is invalid gets no keywords and counts as
    failed. ``on_done`` is not called for it, so that it is not cached and the next build tries
    again.

    Args:
        options: the model and how it is called.
        top_n: maximum number of keywords per chunk; None: the square root of its length in
            characters.

    Attributes:
        failed: number of chunks without a usable reply.

    Raises:
        EpocheError: as ``BatchClient``.
    """

    name = "model"

    def __init__(self, options: ClientOptions, top_n: int | None = None) -> None:
        self._client = BatchClient(options, FoundKeywords, MAX_REPLY_TOKENS)
        self._top_n = top_n
        self.failed = 0

    def params(self) -> dict[str, Any]:
        """Returns the model, prompt and maximum number of keywords."""
        return {"top_n": self._top_n, "prompt": KEYWORDS.params(), **self._client.params()}

    def extract_keywords(
        self, chunks: Sequence[Chunk], on_done: Callable[[ChunkKeywords], None]
    ) -> list[ChunkKeywords]:
        """Returns the keywords of each chunk; see ``KeywordExtractor``.

        Raises:
            ModelAccessError: no call can succeed, for instance because the key is refused.
        """
        results = [ChunkKeywords(chunk.id, ()) for chunk in chunks]

        def store_reply(number: int, reply: FoundKeywords | None) -> None:
            if reply is None:
                self.failed += 1
                return
            results[number] = _filter_keywords(
                chunks[number], reply.keywords, self._get_limit(chunks[number])
            )
            on_done(results[number])

        prompts = [
            KEYWORDS.build_messages(
                limit=str(self._get_limit(chunk)),
                section=str(chunk.metadata.get("section", "")),
                passage=repair_text(chunk.text),
            )
            for chunk in chunks
        ]
        self._client.send_prompts(prompts, store_reply)
        return results

    def _get_limit(self, chunk: Chunk) -> int:
        return max(1, math.isqrt(len(chunk.text))) if self._top_n is None else self._top_n


def _filter_keywords(chunk: Chunk, proposed: Sequence[str], limit: int) -> ChunkKeywords:
    """Returns the proposed keywords that occur in the chunk and counts the others."""
    text = repair_text(chunk.text).casefold()
    keyword_by_form: dict[str, str] = {}
    invented = 0
    for keyword in map(repair_text, proposed):
        key = keyword.casefold()
        if not key or key not in text or len(key) > MAX_KEYWORD_CHARS:
            invented += 1
        else:
            keyword_by_form.setdefault(key, keyword)
    return ChunkKeywords(chunk.id, tuple(keyword_by_form.values())[:limit], invented)
