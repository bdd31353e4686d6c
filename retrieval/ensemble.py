"""Combines several retrievers over one corpus by weighted rank fusion or weighted score fusion.

* ``rrf``: reciprocal rank fusion, ``Σ wᵢ / (k + rankᵢ(d))`` over the retrievers that found ``d``
  (G. V. Cormack, C. L. A. Clarke, S. Büttcher, Reciprocal rank fusion outperforms Condorcet and
  individual rank learning methods, SIGIR 2009; k = 60 there, unweighted). A rank is one more than
  the number of passages that score higher, so equal scores have equal ranks.
* ``linear``: ``Σ wᵢ · (sᵢ(d) - minᵢ) / (maxᵢ - minᵢ)`` over each retriever's pool; in a pool of
  equal scores every passage counts 1.

A retriever that found *nothing* for a query is ignored, and the weights of the others are divided
by their sum. A retriever that found some passages adds 0 to the passages that it did not find. In
``rrf`` this is less than it adds to any passage that it found; in ``linear`` it is as much as it
adds to its last one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from retrieval.base import BaseRetriever, collect_unique_ids, describe_retriever, rank_passages
from retrieval.protocol import Passage, Retriever

Method = Literal["rrf", "linear"]

RRF_K = 60
"""The constant of reciprocal rank fusion in the paper of Cormack et al."""
POOL_SIZE = 100
"""Number of passages taken from each retriever before fusion."""
WEIGHT_TOLERANCE = 1e-9
"""Weights whose sum is this close to 1 are not rescaled."""


class EnsembleRanker(BaseRetriever):
    """Fuses the results of several retrievers into one ranking.

    Scores are at least 0 and at most 1; in ``rrf`` at most ``1 / (k + 1)``.

    Args:
        passages: the corpus of all retrievers; its order breaks ties.
        retrievers: at least one.
        weights: one weight for each retriever, at least 0 and not all 0. They are divided by their
            sum. By default all are equal. A retriever of weight 0 is not queried.
        method: ``rrf`` or ``linear``.
        k: the constant of ``rrf``; greater than 0.
        pool: number of passages taken from each retriever; more if the caller requests more.
        name: name of the ensemble.

    Raises:
        ValueError: a weight is negative or not finite, their number is not that of the retrievers,
            all are zero, or ``k`` or ``pool`` is too small.
        DuplicateIdError: two passages have the same id.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        retrievers: Sequence[Retriever],
        weights: Sequence[float] | None = None,
        *,
        method: Method = "rrf",
        k: float = RRF_K,
        pool: int = POOL_SIZE,
        name: str = "ensemble",
    ) -> None:
        if k <= 0 or pool < 1:
            raise ValueError("k must be greater than 0 and pool at least 1")
        self.name = name
        self._position = {
            passage_id: n for n, passage_id in enumerate(collect_unique_ids(passages))
        }
        self._retrievers = tuple(retrievers)
        self.weights = normalise_weights(
            [1.0] * len(self._retrievers) if weights is None else weights, len(self._retrievers)
        )
        self._method: Method = method
        self._k = k
        self._pool = pool

    def params(self) -> dict[str, object]:
        """Returns the parameters that determine the scores."""
        rrf_params = {"k": self._k} if self._method == "rrf" else {}
        return {
            "name": self.name,
            "method": self._method,
            **rrf_params,
            "pool": self._pool,
            "weights": list(self.weights),
            "retrievers": [describe_retriever(retriever) for retriever in self._retrievers],
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``; passages that no retriever found are absent.

        Raises:
            ValueError: a retriever returned a passage that is not in the corpus, or a score that
                is not finite.
        """
        size = max(self._pool, pool_size)
        weighted_pools: list[tuple[float, dict[str, float]]] = []
        for retriever, weight in zip(self._retrievers, self.weights, strict=True):
            if weight > 0:
                pool = self._check_pool(retriever, retriever.get_scores(query, size, chunks))
                if pool:
                    weighted_pools.append((weight, pool))
        all_contribute = len(weighted_pools) == sum(weight > 0 for weight in self.weights)
        total = 1.0 if all_contribute else math.fsum(weight for weight, _ in weighted_pools)
        terms: dict[str, list[float]] = {}
        for weight, pool in weighted_pools:
            for passage_id, term in self._compute_terms(pool).items():
                terms.setdefault(passage_id, []).append(weight / total * term)
        # fsum is exact in any order, so the order of retrievers cannot break a tie by rounding.
        scores = {
            passage_id: min(math.fsum(passage_terms), 1.0)
            for passage_id, passage_terms in terms.items()
        }
        return rank_passages(scores, self._position, pool_size, None)

    def _check_pool(self, retriever: Retriever, pool: dict[str, float]) -> dict[str, float]:
        """Returns a retriever's pool if its passages are in the corpus and its scores finite."""
        for passage_id, score in pool.items():
            if passage_id not in self._position:
                raise ValueError(
                    f"{retriever.name} returned {passage_id!r}, which is not in the corpus: "
                    "retrievers can only be fused if they share passage ids"
                )
            if not math.isfinite(score):
                raise ValueError(f"{retriever.name} gives {passage_id!r} the score {score}")
        return pool

    def _compute_terms(self, pool: Mapping[str, float]) -> dict[str, float]:
        """Computes each passage's unweighted term of the fused score, for a non-empty pool."""
        if self._method == "rrf":
            ranks: dict[float, int] = {}
            for rank, score in enumerate(sorted(pool.values(), reverse=True), start=1):
                ranks.setdefault(score, rank)
            return {
                passage_id: 1.0 / (self._k + ranks[score]) for passage_id, score in pool.items()
            }
        # Scores are halved, because the difference of two huge scores may overflow.
        halves = {passage_id: score / 2 for passage_id, score in pool.items()}
        lowest, highest = min(halves.values()), max(halves.values())
        if highest == lowest:
            return dict.fromkeys(pool, 1.0)
        return {
            passage_id: (half - lowest) / (highest - lowest) for passage_id, half in halves.items()
        }


def normalise_weights(weights: Sequence[float], count: int) -> tuple[float, ...]:
    """Scales weights to the sum 1, unless their sum is 1 within ``WEIGHT_TOLERANCE``.

    Raises:
        ValueError: as for ``EnsembleRanker``.
    """
    if len(weights) != count or not count:
        raise ValueError(f"{len(weights)} weights for {count} retrievers")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise ValueError("a weight must be a finite number of at least 0")
    largest = max(weights)
    if largest == 0:
        raise ValueError("all weights are 0")
    # Weights are divided by the largest first, because the sum of huge weights may overflow.
    scaled_weights = [weight / largest for weight in weights]
    total = math.fsum(scaled_weights)
    if abs(total * largest - 1.0) <= WEIGHT_TOLERANCE:
        return tuple(map(float, weights))
    return tuple(weight / total for weight in scaled_weights)
