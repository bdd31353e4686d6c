"""Reads a model's reply in free text: YES, NO, UNKNOWN, or INVALID when it cannot be told.

The principle is exact and conservative. A verdict counts only where it is all that a clause says,
never inside a word or a longer phrase; an abstention only where it is said; and whatever stays
unclear is ``INVALID``, which is never an abstention. The rules are in ``docs/replies.md``.
"""

from __future__ import annotations

from typing import NamedTuple

from eval.replies.cleaning import (
    normalised,
    without_latex,
    without_markup,
    without_quotations,
    without_thoughts,
)
from eval.replies.marked import FINAL, Marked, boxed_answers, json_answers, worded_answers
from eval.replies.prose import Pred, heard, signs_of

MAX_REPLY = 1_000_000
"""Characters of a reply that is read; a longer one is INVALID."""


class ReadReply(NamedTuple):
    """What a reply says, and by which rule it was read."""

    pred: Pred
    how: str


def read_reply(text: str) -> ReadReply:
    """Reads a reply to a question that can be affirmed, denied or left open.

    Args:
        text: the reply as the model wrote it, in any of the languages of ``languages.toml``.

    Returns:
        YES, NO or UNKNOWN when the reply says so, else INVALID; and why. Takes time linear in the
        length of the text.
    """
    if len(text) > MAX_REPLY:
        return ReadReply("INVALID", "too long to be a reply")
    reply = without_latex(without_thoughts(normalised(text)))
    if not reply.strip():
        return ReadReply("INVALID", "empty, or nothing but thoughts")
    for marked, where in ((json_answers(reply), "JSON"), (boxed_answers(reply), "box")):
        if marked:
            return _decided(marked, reply, where)
    own = without_markup(without_quotations(reply))
    marked = worded_answers(own)
    if marked:
        return _decided(marked, own, "marked answer")
    return ReadReply(*heard(signs_of(own)))


def _decided(marked: list[Marked], text: str, where: str) -> ReadReply:
    """What the strongest marks say, unless they or the words behind them disagree."""
    rank = max(mark.rank for mark in marked)
    strongest = [mark for mark in marked if mark.rank == rank]
    last = strongest[-1]
    agree = len({mark.pred for mark in strongest}) == 1
    if not agree and (rank < FINAL or where != "marked answer"):
        return ReadReply("INVALID", f"{where}: two that disagree")
    after = signs_of(without_markup(without_quotations(text[last.end :])))
    opposed = (
        (after.yes and last.pred != "YES")
        or (after.no and last.pred != "NO")
        or (after.abstains and last.pred != "UNKNOWN")
    )
    if opposed:
        return ReadReply("INVALID", f"{where}: taken back by what follows")
    return ReadReply(last.pred, f"{where}: {last.pred}")
