"""Several retrievers over one corpus, made one: weighted rank fusion and weighted score fusion.

* ``rrf``: reciprocal rank fusion, ``Σ wᵢ / (k + rankᵢ(d))`` over the retrievers that found ``d``
  (G. V. Cormack, C. L. A. Clarke, S. Büttcher, Reciprocal rank fusion outperforms Condorcet and
  individual rank learning methods, SIGIR 2009; k = 60 there, unweighted). A rank is one more than
  the number of passages that score higher, so equal scores have equal ranks.
* ``linear``: ``Σ wᵢ · (sᵢ(d) - minᵢ) / (maxᵢ - minᵢ)`` over each retriever's pool; a pool of equal
  scores counts 1 throughout.

Two kinds of silence are not the same. A retriever that found *nothing* for a query is absent, not
a zero: the weights of those that found something are divided by their sum. A retriever that found
other passages adds nothing to the ones it did not find; in ``rrf`` that is less than any rank
would add, in ``linear`` as little as its last one gets.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from retrieval.protocol import Passage, Retriever
from retrieval.ranking import Searching, best_of, described, unique_ids

Method = Literal["rrf", "linear"]

RRF_K = 60
POOL = 100
"""Passages taken from each retriever before fusing."""
WEIGHT_TOLERANCE = 1e-9
"""Weights whose sum is this close to 1 are used as they are given."""


class EnsembleRanker(Searching):
    """The passages several retrievers find, in one order.

    Scores are greater than or equal to 0 and at most 1; in ``rrf`` at most ``1 / (k + 1)``.

    Args:
        passages: the corpus that all of them were built over; it settles ties.
        retrievers: at least one.
        weights: one for each retriever, not negative, not all zero; divided by their sum. Equal
            when omitted. A retriever of weight 0 is not asked.
        method: ``rrf`` or ``linear``.
        k: the constant of ``rrf``; greater than 0.
        pool: passages taken from each retriever, or more when more are asked for.
        name: of the whole.

    Raises:
        ValueError: a weight is negative or no finite number, their count is not that of the
            retrievers, all are zero, or ``k`` or ``pool`` is too small.
        DuplicateIdError: two passages bear one id.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        retrievers: Sequence[Retriever],
        weights: Sequence[float] | None = None,
        *,
        method: Method = "rrf",
        k: float = RRF_K,
        pool: int = POOL,
        name: str = "ensemble",
    ) -> None:
        if k <= 0 or pool < 1:
            raise ValueError("k must be greater than 0 and pool at least 1")
        self.name = name
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
            "retrievers": [described(retriever) for retriever in self._retrievers],
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says; passages that no retriever found are absent.

        Raises:
            ValueError: a retriever found a passage that is not in the corpus, or scored one by
                what is no finite number.
        """
        size = max(self._pool, pool_size)
        found: list[tuple[float, dict[str, float]]] = []
        for retriever, weight in zip(self._retrievers, self.weights, strict=True):
            if weight > 0:
                pool = self._checked(retriever, retriever.get_scores(query, size, chunks))
                if pool:
                    found.append((weight, pool))
        everyone = len(found) == sum(weight > 0 for weight in self.weights)
        heard = 1.0 if everyone else math.fsum(weight for weight, _ in found)
        terms: dict[str, list[float]] = {}
        for weight, pool in found:
            for passage_id, part in self._parts(pool).items():
                terms.setdefault(passage_id, []).append(weight / heard * part)
        # fsum: the order of retrievers must not decide a tie by rounding.
        scores = {passage_id: min(math.fsum(parts), 1.0) for passage_id, parts in terms.items()}
        return best_of(scores, self._place, pool_size, None)

    def _checked(self, retriever: Retriever, pool: dict[str, float]) -> dict[str, float]:
        """A retriever's pool, if it speaks of this corpus and in numbers."""
        for passage_id, score in pool.items():
            if passage_id not in self._place:
                raise ValueError(
                    f"{retriever.name} found {passage_id!r}, which is not in the corpus: "
                    "retrievers that are fused must share their passage ids"
                )
            if not math.isfinite(score):
                raise ValueError(f"{retriever.name} scores {passage_id!r} by {score}")
        return pool

    def _parts(self, pool: Mapping[str, float]) -> dict[str, float]:
        """What one retriever's pool, not empty, says of each passage in it."""
        if self._method == "rrf":
            ranks: dict[float, int] = {}
            for place, score in enumerate(sorted(pool.values(), reverse=True), start=1):
                ranks.setdefault(score, place)
            return {found: 1.0 / (self._k + ranks[score]) for found, score in pool.items()}
        # By halves: the difference of two huge scores is no float.
        halves = {found: score / 2 for found, score in pool.items()}
        least, most = min(halves.values()), max(halves.values())
        if most == least:
            return dict.fromkeys(pool, 1.0)
        return {found: (half - least) / (most - least) for found, half in halves.items()}


def normalised_weights(weights: Sequence[float], count: int) -> tuple[float, ...]:
    """Weights that sum to 1; those that do so within ``WEIGHT_TOLERANCE`` stay as they are.

    Raises:
        ValueError: as ``EnsembleRanker``.
    """
    if len(weights) != count or not count:
        raise ValueError(f"{len(weights)} weights for {count} retrievers")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise ValueError("a weight must be a finite number of at least 0")
    largest = max(weights)
    if largest == 0:
        raise ValueError("all weights are 0")
    # By the largest first: the sum of huge weights is no float.
    scaled = [weight / largest for weight in weights]
    total = math.fsum(scaled)
    if abs(total * largest - 1.0) <= WEIGHT_TOLERANCE:
        return tuple(map(float, weights))
    return tuple(weight / total for weight in scaled)
