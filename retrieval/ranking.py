"""What retrievers have in common: from one score per passage to the best ones, ties settled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kg.base.errors import DuplicateIdError, RunFolderError
from retrieval.protocol import Passage, Retriever

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Searching(ABC):
    """A retriever whose search is its best scores."""

    name: str

    @abstractmethod
    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says."""

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """As the protocol says."""
        return list(self.get_scores(query, k).items())


class Ranked(Searching):
    """A retriever that can score every passage of its corpus at once.

    Attributes:
        ids: passage ids in corpus order.
    """

    ids: list[str]

    def best(
        self,
        scores: npt.NDArray[np.floating[Any]],
        pool_size: int,
        chunks: Collection[str] | None,
        *,
        above: float | None = None,
    ) -> dict[str, float]:
        """The ``pool_size`` best of ``scores``, equal ones in corpus order.

        Args:
            scores: shape (passages,).
            pool_size: at most so many.
            chunks: ids to choose from; all when omitted.
            above: scores must be greater than this.
        """
        import numpy as np

        places = np.arange(len(scores)) if above is None else np.flatnonzero(scores > above)
        if chunks is not None:
            allowed = frozenset(chunks)
            places = np.array([n for n in places.tolist() if self.ids[n] in allowed], dtype=int)
        best = places[np.argsort(-scores[places], kind="stable")][: max(pool_size, 0)]
        return {self.ids[place]: float(scores[place]) for place in best.tolist()}


def best_of(
    scores: Mapping[str, float],
    place: Mapping[str, int],
    pool_size: int,
    chunks: Collection[str] | None,
) -> dict[str, float]:
    """The ``pool_size`` best of the passages that a retriever found, equal ones in corpus order.

    Args:
        scores: of the passages found.
        place: passage id → its place in the corpus.
        pool_size: at most so many.
        chunks: ids to choose from; all when omitted.
    """
    allowed = None if chunks is None else frozenset(chunks)
    found = scores if allowed is None else allowed.intersection(scores)
    ordered = sorted(found, key=lambda one: (-scores[one], place[one]))
    return {one: scores[one] for one in ordered[: max(pool_size, 0)]}


def places_of(chunk_ids: Iterable[str], place: Mapping[str, int], holder: str) -> list[int]:
    """Where in the corpus the chunks stand that a part of a run names.

    Args:
        chunk_ids: what is named.
        place: passage id → its place in the corpus.
        holder: what names them, for the message.

    Raises:
        RunFolderError: a chunk is not in the corpus.
    """
    found = []
    for chunk_id in chunk_ids:
        if chunk_id not in place:
            raise RunFolderError(
                f"{holder} names the chunk {chunk_id!r}, which is not among the chunks",
                hint="All parts must be of one run; build it again with `epoche kg build`.",
            )
        found.append(place[chunk_id])
    return found


def described(retriever: Retriever) -> object:
    """What decides a retriever's scores, as far as it says so."""
    params = getattr(retriever, "params", None)
    return params() if callable(params) else {"name": retriever.name}


def unique_ids(passages: Sequence[Passage]) -> list[str]:
    """The ids in order.

    Raises:
        DuplicateIdError: two passages bear one id.
    """
    ids = [passage.id for passage in passages]
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        for passage_id in ids:
            if passage_id in seen:
                raise DuplicateIdError(
                    f"passage id {passage_id!r} occurs twice",
                    hint="Ids must be unique within a corpus.",
                )
            seen.add(passage_id)
    return ids
