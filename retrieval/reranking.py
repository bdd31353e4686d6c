"""Re-ranking: a cross-encoder reads the question with each passage that a retriever found.

A cross-encoder sees both texts at once, so it tells answers from mere resemblance better than
embeddings do, and is too slow for more than the best of a pool. Extra ``dense``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kg.base.errors import WeightsError
from retrieval.protocol import Passage, Retriever
from retrieval.ranking import Searching, best_of, described, unique_ids

if TYPE_CHECKING:
    from kg.embedding.cross_encoder import CrossEncoder

POOL = 50
"""Passages that are read with the question."""
BATCH = 32

_INSTEAD = "Name a folder that holds a CrossEncoder with one output, or such a model of the hub."


class Reranked(Searching):
    """The passages of another retriever, in the order a cross-encoder puts them in.

    Scores are the model's output through the logistic function, so they are from 0 to 1. What the
    other retriever did not find stays unfound. Passages that the model scores alike keep the other
    retriever's order.

    Args:
        passages: the corpus.
        retriever: finds the passages that are read.
        encoder: reads them; ``load_reranker`` loads one.
        pool: passages taken from the retriever, or more when more are asked for.

    Raises:
        ValueError: ``pool`` is too small.
        DuplicateIdError: two passages bear one id.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        retriever: Retriever,
        encoder: CrossEncoder,
        *,
        pool: int = POOL,
    ) -> None:
        if pool < 1:
            raise ValueError("pool must be at least 1")
        unique_ids(passages)
        self.name = f"{retriever.name}+rerank"
        self._texts = {passage.id: passage.text for passage in passages}
        self._retriever, self._encoder, self._pool = retriever, encoder, pool

    def params(self) -> dict[str, object]:
        """What decides the scores."""
        return {
            "name": self.name,
            "model": self._encoder.name,
            "weights_sha256": self._encoder.sha256,
            "pool": self._pool,
            "retriever": described(self._retriever),
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says."""
        found = self._retriever.get_scores(query, max(self._pool, pool_size), chunks)
        if not found:
            return {}
        pairs = [(query, self._texts[passage_id]) for passage_id in found]
        scores = dict(zip(found, self._read(pairs), strict=True))
        return best_of(scores, {one: n for n, one in enumerate(found)}, pool_size, chunks)

    def _read(self, pairs: list[tuple[str, str]]) -> list[float]:
        import torch

        outputs = self._encoder.model.predict(
            pairs,
            batch_size=BATCH,
            show_progress_bar=False,
            # The model's own activation differs from model to model; this one keeps the order.
            activation_fn=torch.nn.Sigmoid(),
            convert_to_numpy=True,
        )
        return [float(output) for output in outputs.reshape(len(pairs))]


def load_reranker(model: str) -> CrossEncoder:
    """Loads a cross-encoder that gives one figure for a question and a passage.

    Args:
        model: a folder or a name on the hub, such as ``cross-encoder/ms-marco-MiniLM-L6-v2``.

    Raises:
        MissingExtraError, MissingFileError: as ``load_cross_encoder``.
        WeightsError: it cannot be loaded, or has more outputs than one.
    """
    from kg.embedding.cross_encoder import load_cross_encoder

    encoder = load_cross_encoder(model, wanted_by="re-ranking", instead=_INSTEAD)
    outputs = int(getattr(encoder.model.config, "num_labels", 0))
    if outputs != 1:
        raise WeightsError(
            f"the model has {outputs} outputs, and which of them means relevance it does not say",
            where=model,
            hint=_INSTEAD,
        )
    return encoder
