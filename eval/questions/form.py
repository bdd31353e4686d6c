"""A question with its names cut out, and the kinds of question that are better left alone."""

from __future__ import annotations

from typing import NamedTuple

from eval.questions.cues import SLOT
from eval.questions.linking import Mention, Token
from kg.words.plain_text import words_of

_NEGATIONS = frozenset(
    words_of(
        "not never neither nor no none nothing without hardly cannot isn aren wasn weren "
        "doesn don didn hasn haven hadn won wouldn couldn"
    )
)
_COMPARISONS = frozenset(
    words_of(
        "longer shorter higher lower greater larger bigger smaller less fewer under over exceed "
        "exceeds least about around approximately roughly nearly almost circa between"
    )
)
_QUANTIFIERS = frozenset(
    words_of(
        "only solely exclusively just all every each both either most many few several some any "
        "besides except apart other another else exactly first last ever always still once"
    )
)
_WH_ANSWERS = frozenset(words_of("what where which who whom when why how"))


class Question(NamedTuple):
    """A question as tokens, with the mentions found in it."""

    tokens: list[Token]
    mentions: list[Mention]
    keys: tuple[str, ...]
    """Folded tokens with one ``SLOT`` for each mention, articles kept."""
    slots: tuple[int, ...]
    """Positions of the slots in ``keys``."""


def cut_out(tokens: list[Token], mentions: list[Mention]) -> Question:
    """The question with each mention replaced by a slot."""
    keys: list[str] = []
    slots: list[int] = []
    starts = {mention.start: mention for mention in mentions}
    at = 0
    while at < len(tokens):
        mention = starts.get(at)
        if mention is None:
            keys.append(tokens[at].key)
            at += 1
        else:
            slots.append(len(keys))
            keys.append(SLOT)
            at = mention.end
    return Question(tokens, mentions, tuple(keys), tuple(slots))


def refusal(question: Question) -> str:
    """Why a question that matches no known sentence is better left alone; empty when it is not."""
    keys = question.keys
    found = [m for m in question.mentions if m.entities]
    if not found:
        return "nothing the question mentions is known to the graph"
    if _NEGATIONS.intersection(keys):
        return "the question is negated, and a yes or no to it could mean either"
    if any(m.number for m in question.mentions) and _COMPARISONS.intersection(keys):
        return "the question asks for a comparison or an estimate, not for a stated value"
    if "or" in keys and len(found) > 2:
        return "the question offers alternatives"
    if "than" in keys:
        return "the question compares, and the graph states no comparisons"
    if keys[0] in _WH_ANSWERS:
        return "not a yes-no question"
    return ""


def twist(question: Question) -> str:
    """What a question that could not be read may say beyond a plain claim; empty when nothing.

    A true claim beside such a word answers another question: that the Rhine flows into the North
    Sea says nothing of whether *only* the Rhine does.
    """
    if reason := refusal(question):
        return reason
    found = [key for key in question.keys if key in _QUANTIFIERS]
    return f"the question says “{found[0]}”, which no claim accounts for" if found else ""
