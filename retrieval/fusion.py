"""Several retrievers over one corpus, made one: weighted rank fusion and weighted score fusion.

* ``rrf``: reciprocal rank fusion, ``Σ wᵢ / (k + rankᵢ(d))`` over the retrievers that found ``d``
  (G. V. Cormack, C. L. A. Clarke, S. Büttcher, Reciprocal rank fusion outperforms Condorcet and
  individual rank learning methods, SIGIR 2009; k = 60 there, unweighted).
* ``linear``: ``Σ wᵢ · (sᵢ(d) − minᵢ) / (maxᵢ − minᵢ)`` over each retriever's pool; a pool of equal
  scores counts 1 throughout.

Either way a retriever that did not find a passage adds nothing to it. In ``rrf`` that is less than
any rank would add, so that being found last is still better than not being found.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

from retrieval.protocol import Passage, Retriever
from retrieval.ranking import unique_ids

Method = Literal["rrf", "linear"]

RRF_K = 60
POOL = 100
"""Passages taken from each retriever before fusing."""
WEIGHT_TOLERANCE = 1e-9
"""Weights whose sum is this close to 1 are used as they are given."""


class Fusion:
    """The passages several retrievers find, in one order.

    Args:
        passages: the corpus that all of them were built over; it settles ties.
        retrievers: at least one.
        weights: one for each retriever, not negative, not all zero; divided by their sum. Equal
            when omitted. A retriever of weight 0 is not asked.
        method: ``rrf`` or ``linear``.
        k: the constant of ``rrf``; greater than 0.
        pool: passages taken from each retriever, or more when more are asked for.

    Raises:
        ValueError: a weight is negative or no finite number, their count is not that of the
            retrievers, all are zero, or ``k`` or ``pool`` is too small.
        DuplicateIdError: two passages bear one id.
    """

    name = "hybrid"

    def __init__(
        self,
        passages: Sequence[Passage],
        retrievers: Sequence[Retriever],
        weights: Sequence[float] | None = None,
        *,
        method: Method = "rrf",
        k: float = RRF_K,
        pool: int = POOL,
    ) -> None:
        if k <= 0 or pool < 1:
            raise ValueError("k must be greater than 0 and pool at least 1")
        self._place = {passage_id: n for n, passage_id in enumerate(unique_ids(passages))}
        self._retrievers = tuple(retrievers)
        self.weights = normalised_weights(
            [1.0] * len(self._retrievers) if weights is None else weights, len(self._retrievers)
        )
        self._method: Method = method
        self._k = k
        self._pool = pool

    def params(self) -> dict[str, object]:
        """What decides the order."""
        of_rrf = {"k": self._k} if self._method == "rrf" else {}
        return {
            "name": self.name,
            "method": self._method,
            **of_rrf,
            "pool": self._pool,
            "weights": list(self.weights),
            "retrievers": [_described(retriever) for retriever in self._retrievers],
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says; passages that no retriever found are absent."""
        terms: dict[str, list[float]] = {}
        for retriever, weight in zip(self._retrievers, self.weights, strict=True):
            if weight > 0:
                pool = retriever.get_scores(query, max(self._pool, pool_size), chunks)
                for passage_id, part in self._parts(pool).items():
                    terms.setdefault(passage_id, []).append(weight * part)
        # fsum: the order of retrievers must not decide a tie by rounding.
        scores = {passage_id: math.fsum(parts) for passage_id, parts in terms.items()}
        best = sorted(scores, key=lambda found: (-scores[found], self._place[found]))
        return {passage_id: scores[passage_id] for passage_id in best[:pool_size]}

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """As the protocol says."""
        return list(self.get_scores(query, k).items())

    def _parts(self, pool: dict[str, float]) -> dict[str, float]:
        """What one retriever's pool, best first, says of each passage in it."""
        if self._method == "rrf":
            return {found: 1.0 / (self._k + rank) for rank, found in enumerate(pool, start=1)}
        least, most = min(pool.values(), default=0.0), max(pool.values(), default=0.0)
        if most == least:
            return dict.fromkeys(pool, 1.0)
        return {found: (score - least) / (most - least) for found, score in pool.items()}


def normalised_weights(weights: Sequence[float], count: int) -> tuple[float, ...]:
    """Weights that sum to 1; those that do so within ``WEIGHT_TOLERANCE`` stay as they are.

    Raises:
        ValueError: as ``Fusion``.
    """
    if len(weights) != count or not count:
        raise ValueError(f"{len(weights)} weights for {count} retrievers")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise ValueError("a weight must be a finite number of at least 0")
    largest = max(weights)
    if largest == 0:
        raise ValueError("all weights are 0")
    if abs(sum(weights) - 1.0) <= WEIGHT_TOLERANCE:
        return tuple(map(float, weights))
    # By the largest first: the sum of huge weights is no float.
    scaled = [weight / largest for weight in weights]
    total = math.fsum(scaled)
    return tuple(weight / total for weight in scaled)


def _described(retriever: Retriever) -> object:
    params = getattr(retriever, "params", None)
    return params() if callable(params) else {"name": retriever.name}
