"""What retrievers found for each question, kept so that it can be measured and fused again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eval.ranking.questions import Question
from retrieval.ensemble import POOL
from retrieval.protocol import Retriever
from retrieval.ranking import described

DEPTH = POOL
"""Chunks taken of each ranking. As many as a fusion takes of each retriever, so that what is
measured is what a system gets; what stands below counts as not found."""

Scores = Mapping[str, float]


@dataclass(frozen=True)
class Rankings:
    """One retriever's rankings.

    Attributes:
        name: of the retriever, or of what was varied.
        params: everything that decides them.
        by_question: question id → score by chunk id, best first.
    """

    name: str
    params: object
    by_question: Mapping[str, Scores]

    def best_scores(self, questions: Sequence[Question]) -> list[float]:
        """The greatest score of each question; -inf where nothing was found."""
        return [
            next(iter(self.by_question[question.id].values()), -math.inf) for question in questions
        ]


def rank(
    retriever: Retriever,
    questions: Iterable[Question],
    chunk_ids: Collection[str],
    *,
    name: str = "",
    depth: int = DEPTH,
) -> Rankings:
    """Asks a retriever every question.

    Args:
        retriever: what is measured.
        questions: in the order asked.
        chunk_ids: every chunk of the corpus.
        name: what to call it; its own name when empty.
        depth: chunks taken of each ranking.

    Raises:
        ValueError: a ranking is none: too long, not best first, a score that is no finite number
            or a chunk that does not exist. It would be measured as something it is not.
    """
    known = frozenset(chunk_ids)
    name = name or retriever.name
    rankings: dict[str, Scores] = {}
    for question in questions:
        found = retriever.get_scores(question.question, depth)
        if wrong := _wrong(found, known, depth):
            raise ValueError(f"{name}, question {question.id!r}: {wrong}")
        rankings[question.id] = found
    return Rankings(name, described(retriever), rankings)


def _wrong(found: Scores, known: frozenset[str], depth: int) -> str:
    """Why a ranking is none; empty where it is one."""
    scores = list(found.values())
    if len(found) > depth:
        return f"{len(found)} chunks where {depth} were asked for"
    if not all(map(math.isfinite, scores)):
        return "a score that is no finite number"
    if any(first < second for first, second in itertools.pairwise(scores)):
        return "not best first"
    strange = [chunk_id for chunk_id in found if chunk_id not in known]
    return f"{strange[0]!r} is no chunk of the corpus" if strange else ""


class Recorded:
    """A retriever that says again what one said: fusing it costs no second search.

    Args:
        rankings: what was said.
        questions: the questions, by whose wording it is asked.
    """

    def __init__(self, rankings: Rankings, questions: Sequence[Question]) -> None:
        self.name = rankings.name
        self._params = rankings.params
        self._said = {one.question: rankings.by_question[one.id] for one in questions}

    def params(self) -> object:
        """What decides the scores: as the retriever said."""
        return self._params

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says.

        Raises:
            KeyError: the question was never asked.
        """
        said = self._said[query].items()
        kept = [(found, score) for found, score in said if chunks is None or found in chunks]
        return dict(kept[:pool_size])

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """As the protocol says."""
        return list(self.get_scores(query, k).items())
