"""The agent ``agent``: a model that searches, reads, notes and answers, at most five times.

In each round the model is shown the question, its notes so far, and the passages that its last
query found; it replies with what they add, the answer as it stands, and what to search for next.
The notes are all it keeps of earlier pages, as a reader with a notebook would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from eval.synthlink.agents.prompts import AGENT, AgentReply, Learned
from eval.synthlink.agents.replying import described, said
from eval.synthlink.agents.trail import MOST_ROUNDS, Cited, Link, Round, Trail
from eval.synthlink.predictions import is_blank
from kg.base.errors import ModelCallError, SearchError
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.completion import Reply
    from eval.synthlink.agents.library import Hit, Library

PASSAGES: Final = 6
"""Passages read in one round."""
LONGEST_PASSAGE: Final = 1_500
"""Characters of a passage that are shown; pages of the web can be endless."""
LONGEST_LINK: Final = 600
LONGEST_QUERY: Final = 300


class ModelAgent:
    """Asks a model, round by round.

    Args:
        client: the model.
        library: where it looks things up.
        rounds: at most so many.
    """

    name = "agent"

    def __init__(self, client: ModelClient, library: Library, *, rounds: int = MOST_ROUNDS) -> None:
        self._client = client
        self._library = library
        self._rounds = rounds

    def params(self) -> dict[str, Any]:
        """Prompt, model and how much is read."""
        return {
            "prompt": AGENT.params(),
            "rounds": self._rounds,
            "passages": PASSAGES,
            "longest_passage": LONGEST_PASSAGE,
            "longest_link": LONGEST_LINK,
            "longest_query": LONGEST_QUERY,
            **self._client.params(),
        }

    async def answer(self, question: str) -> Trail:
        """Answers a question.

        A reply that cannot be read ends it, and is no abstention; so does a call or a search that
        fails. What was found by then is in the trail.

        Raises:
            ModelAccessError: no call can succeed.
        """
        notebook = _Notebook(question)
        for number in range(1, self._rounds + 1):
            try:
                reply = await self._turn(notebook, self._rounds - number)
            except (ModelCallError, SearchError) as error:
                notebook.turn()
                return notebook.broken_off(described(error), failed=True)
            raw, problem = said(reply)
            value = reply.value
            if value is not None and value.done and is_blank(value.answer) and not value.abstained:
                problem = "done, with neither an answer nor an abstention"
            if value is None or problem:
                notebook.turn(raw=raw)
                return notebook.broken_off(f"round {number}: {problem}")
            notebook.turn(raw=raw, reply=value)
            # Whoever names nothing more to look for is done, whatever else is said.
            if value.done or not notebook.next_query:
                break
        return notebook.trail()

    async def _turn(self, notebook: _Notebook, left: int) -> Reply[AgentReply]:
        """Searches, and shows the model what was found.

        Raises:
            ModelAccessError, ModelCallError, SearchError: as they say.
        """
        # More than are read, since some were read before.
        wanted = PASSAGES + notebook.passages_read
        notebook.open(await self._library.search(notebook.next_query, wanted))
        messages = AGENT.messages(
            question=notebook.question,
            notes=[_noted(link, notebook.titles) for link in notebook.links],
            searched=[*notebook.queries, notebook.next_query],
            passages=[_shown(hit) for hit in notebook.shown],
            rounds_left=str(left),
        )
        return await self._client.ask(messages, AgentReply)


class _Notebook:
    """What the model has found, read and noted about one question."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.next_query = plain(question, LONGEST_QUERY)
        self.queries: list[str] = []
        self.links: list[Link] = []
        self.titles: dict[str, str] = {}
        """Of all pages found, by address."""
        self._rounds: list[Round] = []
        self._found: tuple[Cited, ...] = ()
        self.shown: list[Hit] = []
        """The passages of this round, by the numbers that the model knows them by."""
        self._read: dict[tuple[str, str], None] = {}
        """Passages by address and text."""
        self._cited: dict[tuple[str, str], None] = {}
        """Those of them that a link names."""
        self._abstained = False

    @property
    def passages_read(self) -> int:
        """How many passages were shown so far."""
        return len(self._read)

    def open(self, hits: Sequence[Hit]) -> None:
        """Takes the best of the passages found that were not shown before."""
        self._found = _pages(hits)
        for page in self._found:
            self.titles.setdefault(page.url, page.title)
        new: dict[tuple[str, str], Hit] = {}
        for hit in hits:
            if _key(hit) not in self._read:
                new.setdefault(_key(hit), hit)
        self.shown = list(new.values())[:PASSAGES]

    def turn(self, *, raw: str = "", reply: AgentReply | None = None) -> None:
        """Enters a round, and closes what was opened for it.

        Args:
            raw: the model's reply; empty where there is none.
            reply: as it was read; null for one that could not be.
        """
        links = () if reply is None else tuple(_link(one, self.shown) for one in reply.links)
        self._rounds.append(
            Round(
                query=self.next_query,
                found=self._found,
                read=_pages(self.shown),
                links=links,
                answer="" if reply is None else reply.answer.strip(),
                done=reply is not None and reply.done,
                raw=raw,
            )
        )
        self.queries.append(self.next_query)
        self.links.extend(links)
        self._read.update(dict.fromkeys(map(_key, self.shown)))
        if reply is not None:
            named = (_named(one, self.shown) for one in reply.links)
            self._cited.update(dict.fromkeys(_key(hit) for hit in named if hit is not None))
            self.next_query = "" if reply.done else plain(reply.query, LONGEST_QUERY)
            self._abstained = reply.done and reply.abstained
        self._found, self.shown = (), []

    @property
    def docs(self) -> tuple[Cited, ...]:
        """All pages found: first those with most links, then the others as they were found."""
        votes = Counter(link.page for link in self.links if link.page)
        order = {page.url: page for one in self._rounds for page in (*one.read, *one.found)}
        # Sorting is stable: pages with as many links stay in the order they were found.
        return tuple(sorted(order.values(), key=lambda page: -votes[page.url]))

    def broken_off(self, why: str, *, failed: bool = False) -> Trail:
        """What there is where the last round came to nothing.

        Args:
            why: in words.
            failed: whether a call or a search failed, and not a reply that cannot be read.
        """
        return Trail(
            readable=failed, failed=failed, rounds=tuple(self._rounds), docs=self.docs, why=why
        )

    def trail(self) -> Trail:
        """What became of the question."""
        last = self._rounds[-1]
        silent = is_blank(last.answer)
        why = ""
        if self._abstained:
            why = "the model says that what was found holds no answer"
        elif silent:
            why = f"no answer by round {len(self._rounds)}"
        return Trail(
            answer="" if self._abstained else last.answer,
            abstained=self._abstained or silent,
            rounds=tuple(self._rounds),
            docs=self.docs,
            verified=tuple(text for _, text in self._cited),
            why=why,
        )


def _pages(hits: Iterable[Hit]) -> tuple[Cited, ...]:
    """The pages of passages, in their order, each once."""
    return tuple(dict.fromkeys(Cited(hit.page.url, hit.page.title) for hit in hits))


def _key(hit: Hit) -> tuple[str, str]:
    """What a passage is told from others by."""
    return hit.page.url, hit.passage


def _named(learned: Learned, shown: Sequence[Hit]) -> Hit | None:
    """The passage that a link names; null where none of that number was shown."""
    return shown[learned.passage - 1] if 1 <= learned.passage <= len(shown) else None


def _link(learned: Learned, shown: Sequence[Hit]) -> Link:
    hit = _named(learned, shown)
    page = "" if hit is None else hit.page.url
    return Link(text=plain(learned.statement, LONGEST_LINK), page=page)


def _noted(link: Link, titles: dict[str, str]) -> str:
    title = plain(titles.get(link.page, ""))
    return f"{link.text} [{title or 'no page'}]"


def _shown(hit: Hit) -> str:
    return f"{plain(hit.page.title)}: {plain(hit.passage, LONGEST_PASSAGE)}"
