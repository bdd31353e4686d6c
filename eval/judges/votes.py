"""Votes of judges: which ones are lost, and how many are enough for a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from eval.answers import describe_error
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from eval.model.completion import Completion
    from kg.base.errors import ModelCallError

FailureKind = Literal["unreadable", "refused", "call", "too long"]
"""``unreadable``: no verdict in the form asked for, or one that contradicts itself. ``refused``:
the model or a filter would not. ``call``: the call failed for good. ``too long``: the texts are
longer than a judge is shown."""

LONGEST_PROBLEM: Final = 300
"""Characters of a reason that are kept."""


class Void(NamedTuple):
    """Why a vote is none."""

    kind: FailureKind
    problem: str
    """In words, on one line."""


def void_reply(completion: Completion, read: Any, problem: str | None) -> Void | None:
    """Why a reply that came is no vote; None where it is one.

    Args:
        completion: the reply.
        read: what was read of it, or None.
        problem: why nothing was.
    """
    if completion.refused:
        return _void("refused", completion.refusal or "a filter held the reply back")
    if read is None:
        return _void("unreadable", problem or "no verdict")
    if completion.text.lstrip().startswith("["):
        # The client finds the one object in any text around it, and a list is such a text.
        return _void("unreadable", "a list, not a verdict")
    return None


def void_call(error: ModelCallError) -> Void:
    """Why there is no reply."""
    return _void("call", describe_error(error))


def _void(kind: FailureKind, problem: str) -> Void:
    return Void(kind, plain(problem, LONGEST_PROBLEM))


def enough(readable: int, planned: int) -> bool:
    """Whether so few votes may speak: at least half of those that were planned.

    Args:
        readable: votes that could be read.
        planned: votes that were asked for, deciding ones not counted.
    """
    return readable > 0 and 2 * readable >= planned
