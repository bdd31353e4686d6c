"""Defines the trail of an answer: what an agent searched, found and concluded in each round.

An agent gets only the text of a question, not its id, category, steps or sources. The trail shows
in which round an answer went wrong.
"""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol

import msgspec

MAX_ROUNDS: Final = 5
"""Maximum number of rounds of an agent; the specification gives no credit for later ones."""

LinkVerdict = Literal["licensed", "contradicted", "unknown", ""]
"""The graph's verdict on a sentence; empty if the graph was not asked."""


class CitedPage(msgspec.Struct, frozen=True):
    """A page, identified by address and title."""

    url: str
    title: str

    @property
    def name(self) -> str:
        """Its name in predictions: the address, or else the title."""
        return self.url or self.title


class Link(msgspec.Struct, frozen=True):
    """A fact that was learned, as a sentence."""

    text: str
    page: str = ""
    """Address of the page that states it; empty for none."""
    verdict: LinkVerdict = ""
    """The graph's verdict on the sentence."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round of an agent.

    Attributes:
        query: the search query; empty if nothing was searched for.
        found: the pages found, best first.
        read: the pages read; a subset of ``found``.
        links: facts learned in this round.
        answer: the answer after this round; empty if there is none yet.
        done: whether the agent declared this answer final.
        raw: the model's reply as received; empty for an agent without a model.
    """

    query: str = ""
    found: tuple[CitedPage, ...] = ()
    read: tuple[CitedPage, ...] = ()
    links: tuple[Link, ...] = ()
    answer: str = ""
    done: bool = False
    raw: str = ""


class Trail(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's answer to one question, and how it got there.

    Attributes:
        answer: the final answer; empty for none.
        abstained: whether the agent declines to answer.
        readable: false if a model's reply could not be parsed; that is not an abstention.
        failed: whether a call or a search failed, so that asking again may succeed; the rounds
            before the failure are kept. Instead of setting this, an agent may raise the error.
        rounds: the rounds in order, at most ``MAX_ROUNDS``; empty if the agent did nothing.
        docs: the pages found, each once; those that support the answer come first.
        verified: the texts that support the answer.
        why: why the agent abstained or failed, or why a reply is unusable; otherwise empty.
        records_read: false if ``read`` of the rounds is not known, as in predictions
            from elsewhere.
    """

    answer: str = ""
    abstained: bool = False
    readable: bool = True
    failed: bool = False
    rounds: tuple[Round, ...] = ()
    docs: tuple[CitedPage, ...] = ()
    verified: tuple[str, ...] = ()
    why: str = ""
    records_read: bool = True


class Agent(Protocol):
    """Answers questions."""

    @property
    def name(self) -> str:
        """Its name in results."""
        ...

    def params(self) -> dict[str, Any]:
        """Returns all settings that influence answers, as JSON values, for the manifest."""
        ...

    async def answer(self, question: str) -> Trail:
        """Answers a question, given its text only.

        Raises:
            ModelAccessError: no call can succeed; the run stops.
            Exception: this question failed; its row records the error, and the run goes on.
        """
        ...
