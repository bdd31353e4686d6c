"""Questions with slots in place of names, and the kinds of question that must not be parsed."""

from __future__ import annotations

from typing import NamedTuple

from eval.questions.cues import SLOT
from eval.questions.mentions import Mention, Token
from kg.base.plain_text import list_words

_NEGATIONS = frozenset(
    list_words(
        "not never neither nor no none nothing without hardly cannot isn aren wasn weren "
        "doesn don didn hasn haven hadn won wouldn couldn"
    )
)
_COMPARISONS = frozenset(
    list_words(
        "longer shorter higher lower greater larger bigger smaller less fewer under over exceed "
        "exceeds least about around approximately roughly nearly almost circa between"
    )
)
_QUANTIFIERS = frozenset(
    list_words(
        "only solely exclusively just all every each both either most many few several some any "
        "besides except apart other another else exactly first last ever always still once"
    )
)
_WH_WORDS = frozenset(list_words("what where which who whom when why how"))


class Question(NamedTuple):
    """A question as tokens, with the mentions found in it."""

    tokens: list[Token]
    mentions: list[Mention]
    keys: tuple[str, ...]
    """Folded tokens with one ``SLOT`` for each mention, including articles."""
    slots: tuple[int, ...]
    """Positions of the slots in ``keys``."""


def replace_mentions(tokens: list[Token], mentions: list[Mention]) -> Question:
    """Replaces each mention of a question by a slot."""
    keys: list[str] = []
    slots: list[int] = []
    starts = {mention.start: mention for mention in mentions}
    position = 0
    while position < len(tokens):
        mention = starts.get(position)
        if mention is None:
            keys.append(tokens[position].key)
            position += 1
        else:
            slots.append(len(keys))
            keys.append(SLOT)
            position = mention.end
    return Question(tokens, mentions, tuple(keys), tuple(slots))


def explain_refusal(question: Question) -> str:
    """Explains why a question that matches no sentence of the domain must not be parsed by cues.

    Returns an empty string if it may be parsed.
    """
    keys = question.keys
    entities = [m for m in question.mentions if m.entities]
    if not entities:
        return "nothing the question mentions is known to the graph"
    if _NEGATIONS.intersection(keys):
        return "the question is negated, and a yes or no to it could mean either"
    if any(m.number for m in question.mentions) and _COMPARISONS.intersection(keys):
        return "the question asks for a comparison or an estimate, not for a stated value"
    if "or" in keys and len(entities) > 2:
        return "the question offers alternatives"
    if "than" in keys:
        return "the question compares, and the graph states no comparisons"
    if keys[0] in _WH_WORDS:
        return "not a yes-no question"
    return ""


def explain_qualification(question: Question) -> str:
    """Explains why no single claim can answer a question that could not be parsed.

    A word such as "only" changes the question: the fact that the Rhine flows into the North Sea
    does not answer whether *only* the Rhine does.

    Returns:
        The reason; an empty string if there is none.
    """
    if reason := explain_refusal(question):
        return reason
    quantifiers = [key for key in question.keys if key in _QUANTIFIERS]
    return (
        f"the question says “{quantifiers[0]}”, which no claim accounts for" if quantifiers else ""
    )
