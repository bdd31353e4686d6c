"""Reranks the passages that a retriever found, with a cross-encoder (extra ``dense``).

A cross-encoder reads question and passage together, so it judges relevance better than embeddings
do. It is too slow to score a whole corpus, so it scores only the best passages of the retriever.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kg.base.errors import WeightsError
from retrieval.base import BaseRetriever, collect_unique_ids, describe_retriever, rank_passages
from retrieval.protocol import Passage, Retriever

if TYPE_CHECKING:
    from kg.embedding.cross_encoder import CrossEncoder

POOL_SIZE = 50
"""Number of passages that the cross-encoder scores for each question."""
BATCH_SIZE = 32
"""Number of passages that the cross-encoder scores at once."""

_HINT = "Name a folder that holds a CrossEncoder with one output, or such a model of the hub."


class RerankingRetriever(BaseRetriever):
    """The passages of another retriever, ordered by a cross-encoder.

    Scores are the logistic function of the model's output, between 0 and 1. Only passages that the
    other retriever found are returned. Passages with equal scores keep the order of that retriever.

    Args:
        passages: the corpus.
        retriever: finds the passages to rerank.
        encoder: the cross-encoder; ``load_reranker`` loads one.
        pool: number of passages taken from the retriever; more if the caller requests more.

    Raises:
        ValueError: ``pool`` is too small.
        DuplicateIdError: two passages have the same id.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        retriever: Retriever,
        encoder: CrossEncoder,
        *,
        pool: int = POOL_SIZE,
    ) -> None:
        if pool < 1:
            raise ValueError("pool must be at least 1")
        collect_unique_ids(passages)
        self.name = f"{retriever.name}+rerank"
        self._texts = {passage.id: passage.text for passage in passages}
        self._retriever, self._encoder, self._pool = retriever, encoder, pool

    def params(self) -> dict[str, object]:
        """Returns the parameters that determine the scores."""
        return {
            "name": self.name,
            "model": self._encoder.name,
            "weights_sha256": self._encoder.sha256,
            "pool": self._pool,
            "retriever": describe_retriever(self._retriever),
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``."""
        first_scores = self._retriever.get_scores(query, max(self._pool, pool_size), chunks)
        if not first_scores:
            return {}
        pairs = [(query, self._texts[passage_id]) for passage_id in first_scores]
        scores = dict(zip(first_scores, self._score_pairs(pairs), strict=True))
        positions = {passage_id: n for n, passage_id in enumerate(first_scores)}
        return rank_passages(scores, positions, pool_size, chunks)

    def _score_pairs(self, pairs: list[tuple[str, str]]) -> list[float]:
        import torch

        outputs = self._encoder.model.predict(
            pairs,
            batch_size=BATCH_SIZE,
            show_progress_bar=False,
            # Models differ in their default activation. The sigmoid does not change the order.
            activation_fn=torch.nn.Sigmoid(),
            convert_to_numpy=True,
        )
        return [float(output) for output in outputs.reshape(len(pairs))]


def load_reranker(model: str) -> CrossEncoder:
    """Loads a cross-encoder that returns one score for a question and a passage.

    Args:
        model: a folder or a name on the hub, such as ``cross-encoder/ms-marco-MiniLM-L6-v2``.

    Raises:
        MissingExtraError, MissingFileError: as for ``load_cross_encoder``.
        WeightsError: the model cannot be loaded, or does not have exactly one output.
    """
    from kg.embedding.cross_encoder import load_cross_encoder

    encoder = load_cross_encoder(model, required_by="re-ranking", hint=_HINT)
    outputs = int(getattr(encoder.model.config, "num_labels", 0))
    if outputs != 1:
        raise WeightsError(
            f"the model has {outputs} outputs, but a reranker needs exactly one",
            where=model,
            hint=_HINT,
        )
    return encoder
