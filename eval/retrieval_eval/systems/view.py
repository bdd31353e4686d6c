"""Defines what a retriever under test sees of a question, and reads the ranking it returns."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from numbers import Real
from typing import Final

import msgspec

from eval.harness.reply import Reply
from eval.harness.systems.system_options import SystemOptions
from eval.model.foreign_values import make_storable
from retrieval.ensemble import POOL_SIZE

RANKING_DEPTH: Final = POOL_SIZE
"""Number of passages of each ranking that are evaluated; lower ranks count as not found. A fusion
takes the same number from each retriever, so exactly what a system gets is evaluated."""

_MAX_SHOWN_CHARS = 100
"""Maximum length of an invalid id or value in a message."""


class RetrievalView(msgspec.Struct, frozen=True):
    """What a retriever sees of a question; kind, gold and answer are not in it."""

    query: str
    k: int = RANKING_DEPTH
    """Number of passages that are evaluated."""


_decode_view = msgspec.json.Decoder(RetrievalView).decode


def make_view(question: str) -> RetrievalView:
    """Returns what a retriever sees; a copy, so that identity does not lead back to the item."""
    return _decode_view(msgspec.json.encode(RetrievalView(question)))


class RetrievalOptions(SystemOptions, frozen=True, kw_only=True):
    """What the factory of a retriever gets."""

    passages: dict[str, str]
    """Passage id → text, in the order of the corpus."""
    k: int = RANKING_DEPTH
    """Number of passages of each ranking that are evaluated."""


class _RankingError(ValueError):
    """A ranking that cannot be evaluated; the text says why."""


def read_ranking(returned: object, passage_ids: Collection[str] | None = None) -> Reply:
    """Converts what a retriever returned to a reply whose value is a list of [id, score].

    Args:
        returned: passage ids, best first; or pairs of id and score; or id → score. It may also be
            a text that consists of such JSON. Ids without scores get the score 1/rank. Of more than
            ``RANKING_DEPTH`` passages, only the first are kept.
        passage_ids: the ids of the corpus; None if they are not known, so that they are not
            checked.
    """
    try:
        value = _parse_json(returned) if isinstance(returned, str) else returned
        entries = _list_entries(value)
        pairs = list(_iter_pairs(entries[:RANKING_DEPTH]))
        _check_pairs(pairs, passage_ids)
    except _RankingError as error:
        return Reply(
            status="invalid",
            raw=make_storable(returned) if isinstance(returned, str) else "",
            problem=make_storable(str(error)),
        )
    notes: tuple[str, ...] = ()
    if len(entries) > RANKING_DEPTH:
        notes = (f"{len(entries)} passages were returned; the first {RANKING_DEPTH} are kept",)
    return Reply(value=[list(pair) for pair in pairs], notes=notes)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _RankingError(f"the reply is a text that is not JSON: {error}") from None


def _list_entries(value: object) -> Sequence[object]:
    """Returns what stands for each passage: an id, or an id with its score."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple):
        return value
    raise _RankingError(
        "a ranking must be a list of passage ids, or of pairs of id and score, or map ids to "
        f"scores; this is {type(value).__name__}"
    )


def _iter_pairs(entries: Sequence[object]) -> Iterator[tuple[str, float]]:
    """Yields id and score of each passage."""
    has_scores = bool(entries) and not isinstance(entries[0], str)
    for rank, entry in enumerate(entries, start=1):
        passage_id, score = entry, 1.0 / rank
        if has_scores:
            if not isinstance(entry, list | tuple) or len(entry) != 2:
                raise _RankingError(f"at rank {rank} is {_show(entry)}, not a pair of id and score")
            passage_id, score = entry[0], _read_score(entry[1], rank)
        if not isinstance(passage_id, str):
            raise _RankingError(f"at rank {rank} is {_show(passage_id)}, which is not a passage id")
        yield passage_id, score


def _read_score(score: object, rank: int) -> float:
    if isinstance(score, Real) and not isinstance(score, bool):
        try:
            number = float(score)
        except (OverflowError, ValueError):
            number = math.inf
        if math.isfinite(number):
            return number
    raise _RankingError(f"the score at rank {rank} is {_show(score)}, not a finite number")


def _check_pairs(pairs: Sequence[tuple[str, float]], passage_ids: Collection[str] | None) -> None:
    rank_of: dict[str, int] = {}
    for rank, (passage_id, score) in enumerate(pairs, start=1):
        if passage_ids is not None and passage_id not in passage_ids:
            raise _RankingError(
                f"{_show(passage_id)} at rank {rank} is not a passage of the corpus"
            )
        if passage_id in rank_of:
            raise _RankingError(
                f"{_show(passage_id)} is at rank {rank_of[passage_id]} and again at rank {rank}"
            )
        rank_of[passage_id] = rank
        if rank > 1 and score > pairs[rank - 2][1]:
            raise _RankingError(
                f"the scores are not in descending order: {score:g} at rank {rank} is above "
                f"{pairs[rank - 2][1]:g}"
            )


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
