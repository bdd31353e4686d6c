"""Classifies a model's reply in free text as YES, NO, UNKNOWN, or INVALID if it is unclear.

The parser is conservative. YES and NO count only as a whole clause, never as a part of a word or of
a longer phrase. UNKNOWN counts only if the reply says so explicitly. Anything unclear is
``INVALID``, which is never an abstention. The rules are in ``docs/replies.md``.
"""

from __future__ import annotations

from typing import NamedTuple

from eval.replies.cleaner import (
    normalise_text,
    remove_latex,
    remove_markup,
    remove_quotations,
    remove_thoughts,
)
from eval.replies.marked_answers import (
    RANK_FINAL,
    MarkedAnswer,
    find_boxed_answers,
    find_json_answers,
    find_worded_answers,
)
from eval.replies.prose import Pred, classify_signs, find_signs

MAX_REPLY_CHARS = 1_000_000
"""A reply with more characters is INVALID."""


class ParsedReply(NamedTuple):
    """The answer of a reply, and how it was found or why there is none."""

    pred: Pred
    reason: str


def read_reply(text: str) -> ParsedReply:
    """Reads a reply to a yes-no question.

    Takes time linear in the length of the text.

    Args:
        text: the reply as the model wrote it, in any of the languages of ``languages.toml``.

    Returns:
        YES, NO or UNKNOWN if the reply clearly says so, else INVALID; with the reason in words.
    """
    if len(text) > MAX_REPLY_CHARS:
        return ParsedReply("INVALID", "too long to be a reply")
    reply = remove_latex(remove_thoughts(normalise_text(text)))
    if not reply.strip():
        return ParsedReply("INVALID", "empty, or only a chain of thought")
    for marked, where in ((find_json_answers(reply), "JSON"), (find_boxed_answers(reply), "box")):
        if marked:
            return _combine_marks(marked, reply, where)
    unquoted = remove_markup(remove_quotations(reply))
    marked = find_worded_answers(unquoted)
    if marked:
        return _combine_marks(marked, unquoted, "marked answer")
    return ParsedReply(*classify_signs(find_signs(unquoted)))


def _combine_marks(marked: list[MarkedAnswer], text: str, where: str) -> ParsedReply:
    """Returns the last answer among those with the highest-ranked mark.

    The reply is INVALID if these answers disagree; only of several "final answers" in words the
    last one counts. It is also INVALID if the text after the last answer contradicts it.
    """
    rank = max(mark.rank for mark in marked)
    strongest = [mark for mark in marked if mark.rank == rank]
    last = strongest[-1]
    agree = len({mark.pred for mark in strongest}) == 1
    if not agree and (rank < RANK_FINAL or where != "marked answer"):
        return ParsedReply("INVALID", f"{where}: two answers that disagree")
    after = find_signs(remove_markup(remove_quotations(text[last.end :])))
    opposed = (
        (after.yes and last.pred != "YES")
        or (after.no and last.pred != "NO")
        or (after.abstains and last.pred != "UNKNOWN")
    )
    if opposed:
        return ParsedReply("INVALID", f"{where}: contradicted by the text after it")
    return ParsedReply(last.pred, f"{where}: {last.pred}")
