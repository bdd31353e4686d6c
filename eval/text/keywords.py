"""Extracts keywords with a model and drops those that do not occur in the chunk."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from eval.text.batch_client import BatchClient
from eval.text.prompts import KEYWORDS, FoundKeywords
from kg.text.keywords.protocol import ChunkKeywords
from kg.words.normaliser import repair_text

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from kg.text.chunks import Chunk

MAX_REPLY_TOKENS = 1024
"""Maximum number of tokens in a reply."""
MAX_KEYWORD_CHARS = 100
"""Maximum length of a keyword in characters; longer ones are dropped and counted as invented."""


class ModelKeywords:
    """Asks a model for the keywords of every chunk.

    A keyword that does not occur in the cleaned text of its chunk, ignoring case, is dropped and
    counted as invented. A chunk whose call failed or whose reply is invalid gets no keywords and
    counts as failed. ``on_done`` is not called for such a chunk, so that it is not cached and the
    next build tries again.

    Args:
        options: the model and how it is called.
        top_n: maximum number of keywords per chunk; if None, the square root of the chunk's length
            in characters.

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

        def store_reply(chunk_index: int, reply: FoundKeywords | None) -> None:
            if reply is None:
                self.failed += 1
                return
            results[chunk_index] = _filter_keywords(
                chunks[chunk_index], reply.keywords, self._get_max_keywords(chunks[chunk_index])
            )
            on_done(results[chunk_index])

        prompts = [
            KEYWORDS.build_messages(
                limit=str(self._get_max_keywords(chunk)),
                section=str(chunk.metadata.get("section", "")),
                passage=repair_text(chunk.text),
            )
            for chunk in chunks
        ]
        self._client.send_prompts(prompts, store_reply)
        return results

    def _get_max_keywords(self, chunk: Chunk) -> int:
        return max(1, math.isqrt(len(chunk.text))) if self._top_n is None else self._top_n


def _filter_keywords(
    chunk: Chunk, proposed_keywords: Sequence[str], max_keywords: int
) -> ChunkKeywords:
    """Returns the proposed keywords that occur in the chunk, and the number of the others."""
    text = repair_text(chunk.text).casefold()
    keyword_by_folded: dict[str, str] = {}
    invented_count = 0
    for keyword in map(repair_text, proposed_keywords):
        folded_keyword = keyword.casefold()
        if (
            not folded_keyword
            or folded_keyword not in text
            or len(folded_keyword) > MAX_KEYWORD_CHARS
        ):
            invented_count += 1
        else:
            keyword_by_folded.setdefault(folded_keyword, keyword)
    return ChunkKeywords(chunk.id, tuple(keyword_by_folded.values())[:max_keywords], invented_count)
