"""Records the rankings of retrievers, so that they can be evaluated and fused again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eval.ranking.questions import Question
from retrieval.base import describe_retriever
from retrieval.ensemble import POOL_SIZE
from retrieval.protocol import Retriever

RANKING_DEPTH = POOL_SIZE
"""Number of chunks of each ranking that are evaluated; lower ranks count as not found. A fusion
takes the same number from each retriever, so exactly what a system gets is evaluated."""

Scores = Mapping[str, float]
"""Chunk id → score, best first."""


@dataclass(frozen=True)
class Rankings:
    """One retriever's rankings.

    Attributes:
        name: name of the retriever or variant.
        params: everything that determines the rankings.
        by_question: question id → chunk id → score, best first.
    """

    name: str
    params: object
    by_question: Mapping[str, Scores]

    def get_best_scores(self, questions: Sequence[Question]) -> list[float]:
        """Returns the best score of each question; -inf if nothing was found."""
        return [
            next(iter(self.by_question[question.id].values()), -math.inf) for question in questions
        ]


def rank_questions(
    retriever: Retriever,
    questions: Iterable[Question],
    chunk_ids: Collection[str],
    *,
    name: str = "",
    depth: int = RANKING_DEPTH,
) -> Rankings:
    """Queries a retriever with every question.

    Args:
        retriever: the retriever.
        questions: the questions, in order.
        chunk_ids: the ids of all chunks of the corpus.
        name: name of the rankings; empty for the retriever's own name.
        depth: number of chunks requested for each question.

    Raises:
        ValueError: a ranking is too long or not best first, or contains a score that is not finite
            or an unknown chunk, so that its metrics would be wrong.
    """
    valid_ids = frozenset(chunk_ids)
    name = name or retriever.name
    rankings: dict[str, Scores] = {}
    for question in questions:
        ranking = retriever.get_scores(question.question, depth)
        if fault := _describe_fault(ranking, valid_ids, depth):
            raise ValueError(f"{name}, question {question.id!r}: {fault}")
        rankings[question.id] = ranking
    return Rankings(name, describe_retriever(retriever), rankings)


def _describe_fault(ranking: Scores, valid_ids: frozenset[str], depth: int) -> str:
    """Returns why a ranking is not valid; empty if it is valid."""
    scores = list(ranking.values())
    if len(ranking) > depth:
        return f"{len(ranking)} chunks where {depth} were requested"
    if not all(map(math.isfinite, scores)):
        return "a score is not finite"
    if any(first < second for first, second in itertools.pairwise(scores)):
        return "the scores are not in descending order"
    unknown = [chunk_id for chunk_id in ranking if chunk_id not in valid_ids]
    return f"{unknown[0]!r} is not a chunk of the corpus" if unknown else ""


class RecordedRetriever:
    """A retriever that replays recorded rankings, so that fusing them needs no second search.

    Args:
        rankings: the recorded rankings.
        questions: the questions, whose texts are the queries.
    """

    def __init__(self, rankings: Rankings, questions: Sequence[Question]) -> None:
        self.name = rankings.name
        self._params = rankings.params
        self._scores_by_query = {
            question.question: rankings.by_question[question.id] for question in questions
        }

    def params(self) -> object:
        """Returns the recorded retriever's parameters."""
        return self._params

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``.

        Raises:
            KeyError: the question was not recorded.
        """
        recorded = self._scores_by_query[query].items()
        allowed = [
            (chunk_id, score)
            for chunk_id, score in recorded
            if chunks is None or chunk_id in chunks
        ]
        return dict(allowed[:pool_size])

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """See ``Retriever``."""
        return list(self.get_scores(query, k).items())
