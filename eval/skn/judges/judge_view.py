"""Builds the judge's view of an answer, which never reveals the pipeline of the answer.

An answer may reveal its pipeline by words of a notation ("see @gaps"). They are replaced by neutral
words before judging, so that equal answers from two formats get the same prompt, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from eval.judges.rng import reorder_blocks, rng_for
from eval.model.completion import Message
from eval.model.prompts import Prompt
from kg.base.plain_text import to_one_line

MAX_TEXT_LENGTH = 20_000
"""Characters of a question, a reference or an answer; longer ones are not judged."""
MAX_SOURCES_LENGTH = 100_000
"""Characters of the sources; longer ones are not judged."""

_REPLACEMENTS = (
    # The markers of a block carry no information.
    (re.compile(r"\[/?SKN\]"), " "),
    # A fact line of the notation: remove priority and confidence, keep the text.
    (re.compile(r'(?<!\S)[!.~] "([^"\n]{1,2000})" \[[01](?:\.\d{1,6})?\]'), r"\1"),
    # A section, but not a part of an e-mail address, a path or a longer name.
    (re.compile(r"(?<![\w@./])@(?:src|facts|causal|gaps|risk)\b(?!\.\w|-\w)"), "notes"),
    (re.compile(r"\bstructured knowledge notation\b(?: \(SKN\))?", re.IGNORECASE), "notes"),
    (re.compile(r"\bSKN\b(?:[- ](?:formatted|format|notes|block|document|text)\b)*"), "notes"),
    # The question may be about JSON, so replace it only where it clearly means the extraction.
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
    # A field of @risk.
    (re.compile(r"\bmissing_context\b"), "missing context"),
)
_RANK = re.compile(r"\[Result \d+\]\n")  # the first line of a search result


def remove_notation_names(answer: str) -> str:
    """Returns an answer without the names and marks of the notations."""
    for pattern, replacement in _REPLACEMENTS:
        answer = pattern.sub(replacement, answer)
    return answer


def split_passages(sources: str) -> list[str]:
    """Splits the sources at blank lines into single search results, without their rank."""
    parts = (_RANK.sub("", part) for part in re.split(r"\n[ \t]*\n", sources))
    return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True)
class JudgeView:
    """Everything that judges may see. Build it with ``from_answer``.

    Attributes:
        question: the question.
        answer: the answer, without names and marks of a notation.
        reference: the right answer; None if accuracy is not judged.
        sources: the search results.
    """

    question: str
    answer: str
    reference: str | None
    sources: tuple[str, ...]

    @classmethod
    def from_answer(
        cls, question: str, answer: str, reference: str | None, sources: str
    ) -> JudgeView:
        """Builds the view of one answer."""
        return cls(
            question,
            to_one_line(remove_notation_names(answer)),
            reference,
            tuple(split_passages(sources)),
        )

    @property
    def excess_length(self) -> str:
        """A message that says which text is too long to be judged; empty if none is.

        Texts are never truncated, because a judge that sees half an answer judges a different
        answer.
        """
        for name, text in (
            ("question", self.question),
            ("answer", self.answer),
            ("reference", self.reference or ""),
        ):
            if len(text) > MAX_TEXT_LENGTH:
                return f"the {name} has {len(text):,} characters, more than {MAX_TEXT_LENGTH:,}"
        length = sum(map(len, self.sources))
        return f"the sources have {length:,} characters" if length > MAX_SOURCES_LENGTH else ""

    def build_messages(self, prompt: Prompt, key: str, vote: int) -> list[Message]:
        """Builds the messages for one vote.

        Votes differ in the order of the blocks and of the search results.

        Args:
            prompt: prompt of the criterion.
            key: determines the orders, together with ``vote``.
            vote: number of this vote, from 0.
        """
        ordered = reorder_blocks(prompt, key, vote)
        return ordered.build_messages(
            **{block: self._get_block_data(block, f"{key}|{vote}") for block in ordered.blocks}
        )

    def _get_block_data(self, block: str, key: str) -> str | Sequence[str]:
        if block != "search_results":
            text = {"question": self.question, "answer": self.answer, "reference": self.reference}
            return text[block] or ""
        results = list(self.sources)
        rng_for(f"{key}|results").shuffle(results)
        return results
