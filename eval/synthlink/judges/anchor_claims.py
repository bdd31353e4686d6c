"""Makes wrong claims from true ones, to test whether a judge finds them wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from eval.synthlink.claims.cause_chain import is_causal
from eval.synthlink.claims.words import split_text

if TYPE_CHECKING:
    from eval.synthlink.items import Question

_YEAR: Final = re.compile(r"\b1\d{3}\b|\b20\d{2}\b")
# A name of one or several words with capitals, after the first word of a sentence.
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][\w-]*(?: [A-Z][\w-]*)*")
_FIRST_NAME: Final = re.compile(
    r"(?:The |An? )?(?!(?:The|An?|In|At|On|By)\b)[A-Z][\w-]*(?: [A-Z][\w-]*)*"
)


def negate_fact(fact: str) -> str:
    """Denies a fact."""
    return f"It is not true that {_lower_first(fact)}"


def reverse_question(question: Question) -> str | None:
    """Says of the first cause and effect of a question's triples that the effect was the cause.

    Returns None if no triple says that one thing led to another.
    """
    for subject, predicate, thing in question.triples:
        if is_causal((subject, predicate, thing)):
            effect, cause = _spell_node(thing), _spell_node(subject)
            return f"{effect[:1].upper()}{effect[1:]} led to {cause}."
    return None


def reverse_fact(fact: str) -> str | None:
    """Exchanges the first name of a fact, its subject, with the last; None without two names."""
    first, names = _FIRST_NAME.match(fact), list(_NAME.finditer(fact))
    if first is None or not names or names[-1].start() < first.end():
        return None
    last = names[-1]
    between = fact[first.end() : last.start()]
    if between.strip() in ("and", "or", ""):
        return None
    return f"{last.group()}{between}{_lower_first(first.group())}{fact[last.end() :]}"


def swap_term(fact: str, other: str, evidence: Sequence[str]) -> str | None:
    """Puts a year, or else a name, of another fact in the place of one of a fact.

    Returns None if there is none that the evidence does not have.
    """
    told = " ".join(evidence)
    for pattern in (_YEAR, _NAME):
        mine, theirs = pattern.search(fact), pattern.search(other)
        if mine is not None and theirs is not None and theirs.group() not in told:
            return f"{fact[: mine.start()]}{theirs.group()}{fact[mine.end() :]}"
    return None


def _lower_first(text: str) -> str:
    """Returns a text that begins with a small letter, unless it begins with a name."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    is_article = first in ("The", "A", "An", "In", "After", "Hardly", "Most")
    is_word = bool(split_text(first)) and split_text(first)[0].kind == "light"
    return text[:1].lower() + text[1:] if is_article or is_word else text


def _spell_node(name: str) -> str:
    local = name.partition(":")[2]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", local).replace("-", " ").replace("_", " ")
