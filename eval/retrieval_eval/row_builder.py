"""Builds the row of a reply: the metrics of one ranking."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from eval.harness.reply import STATUSES, Reply, Vote
from eval.retrieval_eval.manifest import RetrievalManifest
from eval.retrieval_eval.metrics import METRIC_NAMES, score_questions
from eval.retrieval_eval.questions import Question
from eval.retrieval_eval.row import OUTCOMES, RetrievalRow
from eval.retrieval_eval.systems.view import read_ranking

MAX_LISTED_CHUNKS: Final = 10
"""Maximum number of chunks listed in a row; replies and TREC run files have all of them."""


def score_reply(
    question: Question, reply: Reply, _vote: Vote | None, _manifest: RetrievalManifest
) -> RetrievalRow:
    """Builds the row of a run; see ``build_row``."""
    return build_row(question, reply)


def build_row(question: Question, reply: Reply) -> RetrievalRow:
    """Computes the metrics of a reply.

    Args:
        question: the question, with its gold.
        reply: the reply of a retriever.
    """
    reply = check_value(reply)
    ranking = get_ranking(reply, question)
    rank_of = {chunk_id: rank for rank, (chunk_id, _) in enumerate(ranking, start=1)}
    measures: dict[str, float] | None = None
    if question.answerable:
        values = score_questions({question.id: list(rank_of)}, [question])[0]
        measures = dict(zip(METRIC_NAMES, values.tolist(), strict=True))
    return RetrievalRow(
        id=question.id,
        system=reply.system,
        repeat=reply.repeat,
        outcome=OUTCOMES[STATUSES.index(reply.status)],
        kind=question.kind,
        gold=question.gold,
        measures=measures,
        best_score=ranking[0][1] if ranking else None,
        ranks={chunk_id: rank_of.get(chunk_id) for chunk_id in question.gold},
        found=tuple(ranking[:MAX_LISTED_CHUNKS]),
        problem=reply.problem,
        notes=reply.notes,
        latency_s=reply.latency_s,
        usage=reply.usage,
    )


def check_value(reply: Reply) -> Reply:
    """Returns a recorded reply, which is invalid if its value is not a ranking.

    The harness has read the replies of systems, but a system may return a ``Reply`` of its own, and
    files can be changed.
    """
    if reply.status != "ok":
        return reply
    read = read_ranking(reply.value)
    return replace(reply, status=read.status, value=read.value, problem=read.problem)


def get_ranking(reply: Reply, question: Question) -> list[tuple[str, float]]:
    """Returns the ranking of a checked reply without the chunks that the question excludes.

    It is empty if the reply is not usable.
    """
    return [
        (chunk_id, score)
        for chunk_id, score in reply.value or ()
        if not question.is_excluded(chunk_id)
    ]
