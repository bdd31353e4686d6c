"""Decides which votes of judges are void, and which verdict the others give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from eval.model.foreign_values import describe_error
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from eval.model.completion import Completion
    from kg.base.errors import ModelCallError

FailureKind = Literal["unreadable", "refused", "call", "too long"]
"""``unreadable``: no verdict in the requested form, or one that contradicts itself. ``refused``:
the model or a filter refused. ``call``: the call failed. ``too long``: the texts are longer than
what a judge may be shown."""

MAX_PROBLEM_LENGTH: Final = 300
"""Maximum length of a stored reason, in characters."""

V = TypeVar("V", bound=Hashable)


class LostVote(msgspec.Struct, frozen=True):
    """A vote that failed: it gives no verdict, but is counted and reported."""

    vote: int
    """Number of the vote, from 0."""
    kind: FailureKind
    problem: str
    """What went wrong."""
    model: str
    """``provider/model`` that was asked."""


class VoidVote(NamedTuple):
    """The reason why a vote is void."""

    kind: FailureKind
    problem: str
    """The reason in words, on one line."""


def explain_void_reply(
    completion: Completion, verdict: Any, problem: str | None
) -> VoidVote | None:
    """Returns the reason why a reply is not a valid vote, or None if it is valid.

    Args:
        completion: the reply.
        verdict: the verdict parsed from it, or None.
        problem: why it could not be parsed.
    """
    if completion.is_refused:
        return _make_void("refused", completion.refusal or "a filter held the reply back")
    if verdict is None:
        return _make_void("unreadable", problem or "no verdict")
    if completion.text.lstrip().startswith("["):
        # The client accepts one JSON object amid other text, so it would accept a list of one.
        return _make_void("unreadable", "a list, not a verdict")
    return None


def explain_failed_call(error: ModelCallError) -> VoidVote:
    """Returns the reason why a failed call gave no vote."""
    return _make_void("call", describe_error(error))


def _make_void(kind: FailureKind, problem: str) -> VoidVote:
    return VoidVote(kind, clean_text(problem, MAX_PROBLEM_LENGTH))


def has_enough_votes(readable: int, planned: int) -> bool:
    """Returns whether at least half of the planned votes are readable, as a verdict needs.

    Args:
        readable: number of votes that could be read.
        planned: number of requested votes, without tie-breaking votes.
    """
    return readable > 0 and 2 * readable >= planned


def find_majority(votes: Sequence[V | None], planned: int) -> V | None:
    """Returns the verdict that more than half of the readable votes give.

    Args:
        votes: the votes; None for a lost one.
        planned: number of requested votes, without a deciding vote.

    Returns:
        None if fewer than half of the planned votes are readable, or if no verdict has a majority.
    """
    readable = [vote for vote in votes if vote is not None]
    if not has_enough_votes(len(readable), planned):
        return None
    (most_common, count), *_ = Counter(readable).most_common(1)
    return most_common if 2 * count > len(readable) else None


def is_undecided(votes: Sequence[Hashable | None], planned: int) -> bool:
    """Returns whether enough votes are readable but none has a majority, so one more must decide.

    A deciding vote is never a replacement for lost ones.
    """
    n_readable = len(votes) - votes.count(None)
    return has_enough_votes(n_readable, planned) and find_majority(votes, planned) is None
