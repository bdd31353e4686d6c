"""What a judge is shown of an answer, and in which order; never where the answer came from.

An answer may give its pipeline away by the words of a notation ("see @gaps"). Those are made
neutral before anyone judges, so that two formats with the same answer get the same prompt, byte
for byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from eval.judges.drawing import drawn_by
from eval.model.completion import Message
from eval.prompts import Prompt
from kg.words.plain_text import one_line

MAX_QUESTION = 20_000
"""Characters of a question, a reference or an answer that a judge is shown."""
MAX_SOURCES = 100_000
"""Characters of the sources."""

_NEUTRAL = (
    # The block's own marks say nothing.
    (re.compile(r"\[/?SKN\]"), " "),
    # A line of the notation: its mark and its score go, what it says stays.
    (re.compile(r'(?<!\S)[!.~] "([^"\n]{1,2000})" \[[01](?:\.\d{1,6})?\]'), r"\1"),
    (re.compile(r"(?<![\w@./])@(?:src|facts|causal|gaps|risk)\b(?!\.\w|-\w)"), "notes"),
    (re.compile(r"\bstructured knowledge notation\b(?: \(SKN\))?", re.IGNORECASE), "notes"),
    (re.compile(r"\bSKN\b(?:[- ](?:formatted|format|notes|block|document|text)\b)*"), "notes"),
    # JSON may be what the question is about, so only where it plainly is the form of the notes.
    (re.compile(r"\b(provided|given|extracted|supplied) JSON\b", re.IGNORECASE), r"\1 notes"),
    (re.compile(r"\bJSON (?:context|extraction|notes)\b", re.IGNORECASE), "notes"),
    (
        re.compile(
            r"\b(according to|based on|as per|per) the JSON\b(?: (?:data|object|input)\b)?",
            re.IGNORECASE,
        ),
        r"\1 the notes",
    ),
    (
        re.compile(
            r"\bthe JSON(?: (?:data|object|input))? (says|states|mentions|indicates|notes|lists"
            r"|does not (?:say|state|mention|contain|include|specify))\b",
            re.IGNORECASE,
        ),
        r"the notes \1",
    ),
    (re.compile(r"\bmissing_context\b"), "missing context"),
)
_RANK = re.compile(r"\[Result \d+\]\n")


def neutral(answer: str) -> str:
    """An answer without the names and marks of the notations."""
    for pattern, instead in _NEUTRAL:
        answer = pattern.sub(instead, answer)
    return answer


def passages(sources: str) -> list[str]:
    """The search results one by one, without their rank: parts between blank lines."""
    parts = (_RANK.sub("", part) for part in re.split(r"\n[ \t]*\n", sources))
    return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True)
class Shown:
    """All that judges may be shown. Made with ``of``.

    Attributes:
        question: what was asked.
        answer: what was answered, made neutral.
        reference: the right answer; null where accuracy is not judged.
        sources: the search results.
    """

    question: str
    answer: str
    reference: str | None
    sources: tuple[str, ...]

    @classmethod
    def of(cls, question: str, answer: str, reference: str | None, sources: str) -> Shown:
        """Makes ready what is shown."""
        return cls(question, one_line(neutral(answer)), reference, tuple(passages(sources)))

    @property
    def excess(self) -> str:
        """What is too long to be shown whole, in words; empty if nothing is.

        Nothing is ever cut: a judge that sees half an answer judges another answer.
        """
        for name, text in (
            ("question", self.question),
            ("answer", self.answer),
            ("reference", self.reference or ""),
        ):
            if len(text) > MAX_QUESTION:
                return f"the {name} has {len(text):,} characters, more than {MAX_QUESTION:,}"
        length = sum(map(len, self.sources))
        return f"the sources have {length:,} characters" if length > MAX_SOURCES else ""

    def messages(self, prompt: Prompt, key: str, vote: int) -> list[Message]:
        """The conversation for one vote.

        Votes differ in the order of the blocks (six votes in six ways) and of the search results,
        so that a judge who goes by position disagrees with himself.

        Args:
            prompt: what is judged.
            key: decides on the orders, with ``vote``.
            vote: which vote this is, from 0.
        """
        orders = list(permutations(prompt.blocks))
        drawn_by(f"{key}|blocks").shuffle(orders)
        order = orders[vote % len(orders)]
        return replace(prompt, blocks=order).messages(
            **{block: self._data(block, f"{key}|{vote}") for block in order}
        )

    def _data(self, block: str, key: str) -> str | Sequence[str]:
        if block != "search_results":
            text = {"question": self.question, "answer": self.answer, "reference": self.reference}
            return text[block] or ""
        results = list(self.sources)
        drawn_by(f"{key}|results").shuffle(results)
        return results
