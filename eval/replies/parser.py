"""Classifies a model's reply in free text as YES, NO, UNKNOWN, or INVALID if it is unclear.

The parser is conservative. YES and NO count only as a whole clause, never as a part of a word or of
a longer phrase. UNKNOWN counts only if the reply says so explicitly. Anything unclear is
``INVALID``, which is never an abstention. The rules are in ``docs/reference/replies.md``.
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
    for answers, mark_kind in (
        (find_json_answers(reply), "JSON"),
        (find_boxed_answers(reply), "box"),
    ):
        if answers:
            return _combine_marks(answers, reply, mark_kind)
    unquoted = remove_markup(remove_quotations(reply))
    answers = find_worded_answers(unquoted)
    if answers:
        return _combine_marks(answers, unquoted, "marked answer")
    return ParsedReply(*classify_signs(find_signs(unquoted)))


def _combine_marks(answers: list[MarkedAnswer], text: str, mark_kind: str) -> ParsedReply:
    """Returns the last of the answers with the highest rank.

    The reply is INVALID if these answers disagree. Final answers in words are an exception: the
    last of them counts. The reply is also INVALID if the text after the last answer contradicts it.
    """
    rank = max(answer.rank for answer in answers)
    top_answers = [answer for answer in answers if answer.rank == rank]
    last_answer = top_answers[-1]
    all_agree = len({answer.pred for answer in top_answers}) == 1
    if not all_agree and (rank < RANK_FINAL or mark_kind != "marked answer"):
        return ParsedReply("INVALID", f"{mark_kind}: two answers that disagree")
    later_signs = find_signs(remove_markup(remove_quotations(text[last_answer.end :])))
    is_contradicted = (
        (later_signs.yes and last_answer.pred != "YES")
        or (later_signs.no and last_answer.pred != "NO")
        or (later_signs.abstains and last_answer.pred != "UNKNOWN")
        or (later_signs.refuses and last_answer.pred == "NO" and mark_kind == "marked answer")
    )
    if is_contradicted:
        return ParsedReply("INVALID", f"{mark_kind}: contradicted by the text after it")
    return ParsedReply(last_answer.pred, f"{mark_kind}: {last_answer.pred}")
