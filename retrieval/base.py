"""Base classes and helpers of retrievers: choose the best passages by score, with stable ties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kg.base.errors import DuplicateIdError, RunFolderError
from retrieval.protocol import Passage, Retriever

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class BaseRetriever(ABC):
    """A retriever that implements ``search`` by ``get_scores``."""

    name: str

    @abstractmethod
    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``."""

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """See ``Retriever``."""
        return list(self.get_scores(query, k).items())


class CorpusRetriever(BaseRetriever):
    """A retriever that scores all passages of its corpus as one array.

    Attributes:
        ids: passage ids in corpus order.
    """

    ids: list[str]

    def rank_scores(
        self,
        scores: npt.NDArray[np.floating[Any]],
        pool_size: int,
        chunks: Collection[str] | None,
        *,
        above: float | None = None,
    ) -> dict[str, float]:
        """Returns the ``pool_size`` best of ``scores``, best first; equal ones in corpus order.

        Args:
            scores: shape (passages,).
            pool_size: maximum number of passages.
            chunks: ids to choose from; all if omitted.
            above: scores must be greater than this.
        """
        import numpy as np

        positions = np.arange(len(scores)) if above is None else np.flatnonzero(scores > above)
        if chunks is not None:
            allowed_ids = frozenset(chunks)
            in_chunks = [n for n in positions.tolist() if self.ids[n] in allowed_ids]
            positions = np.array(in_chunks, dtype=int)
        best = positions[np.argsort(-scores[positions], kind="stable")][: max(pool_size, 0)]
        return {self.ids[position]: float(scores[position]) for position in best.tolist()}


def rank_passages(
    scores: Mapping[str, float],
    positions: Mapping[str, int],
    pool_size: int,
    chunks: Collection[str] | None,
) -> dict[str, float]:
    """Returns the ``pool_size`` best passages, best first; equal scores are ordered by position.

    Args:
        scores: passage id → score, only for the passages found.
        positions: passage id → its position, usually that in the corpus.
        pool_size: maximum number of passages.
        chunks: ids to choose from; all if omitted.
    """
    allowed_ids = None if chunks is None else frozenset(chunks)
    candidates = scores if allowed_ids is None else allowed_ids.intersection(scores)
    sorted_ids = sorted(
        candidates, key=lambda passage_id: (-scores[passage_id], positions[passage_id])
    )
    return {passage_id: scores[passage_id] for passage_id in sorted_ids[: max(pool_size, 0)]}


def find_positions(
    chunk_ids: Iterable[str], positions: Mapping[str, int], source: str
) -> list[int]:
    """Returns the corpus positions of chunks.

    Args:
        chunk_ids: ids of the chunks, as named by a part of a run.
        positions: passage id → its position in the corpus.
        source: the part of the run that names them, for the error message.

    Raises:
        RunFolderError: a chunk is not in the corpus.
    """
    chunk_positions = []
    for chunk_id in chunk_ids:
        if chunk_id not in positions:
            raise RunFolderError(
                f"{source} names the chunk {chunk_id!r}, which is not among the chunks",
                hint="The parts are from different runs; build again with `epoche kg build`.",
            )
        chunk_positions.append(positions[chunk_id])
    return chunk_positions


def describe_retriever(retriever: Retriever) -> object:
    """Returns a retriever's ``params()``; if it has none, its name."""
    params = getattr(retriever, "params", None)
    return params() if callable(params) else {"name": retriever.name}


def collect_unique_ids(passages: Sequence[Passage]) -> list[str]:
    """Returns the passages' ids in order.

    Raises:
        DuplicateIdError: two passages have the same id.
    """
    ids = [passage.id for passage in passages]
    if len(set(ids)) < len(ids):
        previous: set[str] = set()
        for passage_id in ids:
            if passage_id in previous:
                raise DuplicateIdError(
                    f"passage id {passage_id!r} occurs twice",
                    hint="Ids must be unique within a corpus.",
                )
            previous.add(passage_id)
    return ids
