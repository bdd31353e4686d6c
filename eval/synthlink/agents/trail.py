"""The trail: how an agent came to its answer, every iteration of it.

An agent is given the text of a question and nothing else: no id, no category, no steps, no
sources. What it looked for, found, read and concluded is told round by round, so that whoever
reads a run can see where it went astray.
"""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol

import msgspec

MOST_ROUNDS: Final = 5
"""Iterations that an agent has; more earn nothing in the specification either."""

Verdict = Literal["licensed", "contradicted", "unknown", ""]
"""What the graph says of a sentence; empty where nobody asked it."""


class Cited(msgspec.Struct, frozen=True):
    """A page by its address and title."""

    url: str
    title: str

    @property
    def name(self) -> str:
        """What a prediction calls it by."""
        return self.url or self.title


class Link(msgspec.Struct, frozen=True):
    """Something learned, as a sentence."""

    text: str
    page: str = ""
    """Address of the page it was read on; empty for none."""
    verdict: Verdict = ""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration.

    Attributes:
        query: what was searched for; empty where nothing was.
        found: the pages that were found, best first.
        read: those of them that were read.
        links: what was learned in this round.
        answer: the answer as it stood after this round; empty for none yet.
        done: whether the agent took it for its last word.
        raw: a model's reply before it was read; empty without a model.
    """

    query: str = ""
    found: tuple[Cited, ...] = ()
    read: tuple[Cited, ...] = ()
    links: tuple[Link, ...] = ()
    answer: str = ""
    done: bool = False
    raw: str = ""


class Trail(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a question.

    Attributes:
        answer: the last word; empty where there is none.
        abstained: whether the agent says that it does not answer.
        readable: false where a model's reply could not be read; that is no abstention.
        failed: whether a call or a search failed, so that it is worth asking again; what was found
            before that is kept. An agent may as well raise what made it fail.
        rounds: at least one wherever anything was tried, at most ``MOST_ROUNDS``.
        docs: the pages found, those that the answer rests on first, each once.
        verified: the texts the answer rests on.
        why: why it abstained or failed, or what could not be read; empty else.
    """

    answer: str = ""
    abstained: bool = False
    readable: bool = True
    failed: bool = False
    rounds: tuple[Round, ...] = ()
    docs: tuple[Cited, ...] = ()
    verified: tuple[str, ...] = ()
    why: str = ""


class Agent(Protocol):
    """Answers questions."""

    @property
    def name(self) -> str:
        """How results name it."""
        ...

    def params(self) -> dict[str, Any]:
        """Everything that decides its answers, as JSON values, for the manifest."""
        ...

    async def answer(self, question: str) -> Trail:
        """Answers a question of which it is told the text alone.

        Raises:
            ModelAccessError: no call can succeed, so no question is worth asking.
            Exception: this question failed; its row says so, and no other is touched.
        """
        ...
