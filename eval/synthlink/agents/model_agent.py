"""The agent ``agent``: a model that searches, reads, takes notes and answers, in up to five rounds.

In each round the model is shown the question, its notes so far, and the passages found by its last
query. It replies with new notes, its current answer, and the next query. Passages of earlier
rounds are not shown again: only the notes carry over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from eval.model.foreign_values import describe_failure
from eval.synthlink.agents.model_replies import record_reply
from eval.synthlink.agents.prompts import AGENT_PROMPT, AgentReply, Learned
from eval.synthlink.agents.trail import MAX_ROUNDS, CitedPage, Link, Round, Trail
from eval.synthlink.predictions import is_blank
from kg.base.errors import ModelCallError, SearchError
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.completion import Reply
    from eval.synthlink.agents.library import Hit, Library

PASSAGES_PER_ROUND: Final = 6
"""Passages read in one round."""
MAX_PASSAGE_LENGTH: Final = 1_500
"""Maximum number of characters shown of a passage; web pages can be of any length."""
MAX_LINK_LENGTH: Final = 600
"""Maximum number of characters of a link; a longer one is cut."""
MAX_QUERY_LENGTH: Final = 300
"""Maximum number of characters of a query; a longer one is cut."""


class ModelAgent:
    """Asks a model, round by round.

    Args:
        client: client of the model.
        library: the library that is searched.
        rounds: maximum number of rounds.
    """

    name = "agent"

    def __init__(self, client: ModelClient, library: Library, *, rounds: int = MAX_ROUNDS) -> None:
        self.client = client
        self._library = library
        self._rounds = rounds

    def params(self) -> dict[str, Any]:
        """Returns the settings of prompt and model, and the limits on what is read."""
        return {
            "prompt": AGENT_PROMPT.params(),
            "rounds": self._rounds,
            "passages": PASSAGES_PER_ROUND,
            "longest_passage": MAX_PASSAGE_LENGTH,
            "longest_link": MAX_LINK_LENGTH,
            "longest_query": MAX_QUERY_LENGTH,
            **self.client.params(),
        }

    async def answer(self, question: str) -> Trail:
        """Answers a question.

        A reply that cannot be parsed, a failed call or a failed search ends the run of this
        question; none of these is an abstention. The trail contains the rounds up to the failure.

        Raises:
            ModelAccessError: no call can succeed.
        """
        notebook = _Notebook(question)
        for round_number in range(1, self._rounds + 1):
            try:
                reply = await self._run_round(notebook, self._rounds - round_number)
            except (ModelCallError, SearchError) as error:
                notebook.finish_round()
                return notebook.build_broken_trail(describe_failure(error), failed=True)
            raw, problem = record_reply(reply)
            value = reply.value
            if value is not None and value.done and is_blank(value.answer) and not value.abstained:
                problem = "done, with neither an answer nor an abstention"
            if value is None or problem:
                notebook.finish_round(raw=raw)
                return notebook.build_broken_trail(f"round {round_number}: {problem}")
            notebook.finish_round(raw=raw, reply=value)
            # A reply without a query ends the rounds, even if its field `done` is false.
            if value.done or not notebook.next_query:
                break
        return notebook.build_trail()

    async def _run_round(self, notebook: _Notebook, rounds_left: int) -> Reply[AgentReply]:
        """Searches, and asks the model with the passages found.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed.
            SearchError: the search failed.
        """
        # Passages of earlier rounds may be found again, so request enough that new ones remain.
        limit = PASSAGES_PER_ROUND + notebook.passages_read
        notebook.start_round(await self._library.search(notebook.next_query, limit))
        messages = AGENT_PROMPT.build_messages(
            question=notebook.question,
            notes=[_render_note(link, notebook.titles) for link in notebook.links],
            searched=[*notebook.queries, notebook.next_query],
            passages=[_render_passage(hit) for hit in notebook.passages],
            rounds_left=str(rounds_left),
        )
        return await self.client.ask(messages, AgentReply)


class _Notebook:
    """The record of one question: what the model has searched for, found, read and noted."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.next_query = clean_text(question, MAX_QUERY_LENGTH)
        self.queries: list[str] = []
        self.links: list[Link] = []
        self.titles: dict[str, str] = {}
        """Address → title, of all pages found."""
        self._rounds: list[Round] = []
        self._found_pages: tuple[CitedPage, ...] = ()
        self.passages: list[Hit] = []
        """The passages of this round; the model refers to them by their number in this list."""
        self._read_passages: dict[tuple[str, str], None] = {}
        """Keys of all passages shown so far, as an ordered set."""
        self._cited_passages: dict[tuple[str, str], None] = {}
        """Keys of the passages that a link cites, as an ordered set."""
        self._abstained = False

    @property
    def passages_read(self) -> int:
        """Number of passages shown so far."""
        return len(self._read_passages)

    def start_round(self, hits: Sequence[Hit]) -> None:
        """Starts a round with the best passages found that were not shown before."""
        self._found_pages = _cite_pages(hits)
        for page in self._found_pages:
            self.titles.setdefault(page.url, page.title)
        new_hits: dict[tuple[str, str], Hit] = {}
        for hit in hits:
            if _passage_key(hit) not in self._read_passages:
                new_hits.setdefault(_passage_key(hit), hit)
        self.passages = list(new_hits.values())[:PASSAGES_PER_ROUND]

    def finish_round(self, *, raw: str = "", reply: AgentReply | None = None) -> None:
        """Finishes the round that was started, and records it.

        Args:
            raw: the model's reply; empty if there is none.
            reply: the parsed reply; None if it could not be parsed.
        """
        links = (
            () if reply is None else tuple(_make_link(fact, self.passages) for fact in reply.links)
        )
        self._rounds.append(
            Round(
                query=self.next_query,
                found=self._found_pages,
                read=_cite_pages(self.passages),
                links=links,
                answer="" if reply is None else reply.answer.strip(),
                done=reply is not None and reply.done,
                raw=raw,
            )
        )
        self.queries.append(self.next_query)
        self.links.extend(links)
        self._read_passages.update(dict.fromkeys(map(_passage_key, self.passages)))
        if reply is not None:
            cited_hits = (_find_cited_passage(fact, self.passages) for fact in reply.links)
            self._cited_passages.update(
                dict.fromkeys(_passage_key(hit) for hit in cited_hits if hit is not None)
            )
            self.next_query = "" if reply.done else clean_text(reply.query, MAX_QUERY_LENGTH)
            self._abstained = reply.done and reply.abstained
        self._found_pages, self.passages = (), []

    @property
    def docs(self) -> tuple[CitedPage, ...]:
        """All pages found, in the order in which they were found, those with most links first."""
        n_links = Counter(link.page for link in self.links if link.page)
        pages = {
            page.url: page
            for past_round in self._rounds
            for page in (*past_round.read, *past_round.found)
        }
        # Sorting is stable: pages with equally many links stay in the order they were found.
        return tuple(sorted(pages.values(), key=lambda page: -n_links[page.url]))

    def build_broken_trail(self, why: str, *, failed: bool = False) -> Trail:
        """Builds the trail of a question whose last round failed.

        Args:
            why: what went wrong.
            failed: whether a call or a search failed; False for a reply that cannot be parsed.
        """
        return Trail(
            readable=failed, failed=failed, rounds=tuple(self._rounds), docs=self.docs, why=why
        )

    def build_trail(self) -> Trail:
        """Builds the trail of a question whose last round succeeded."""
        last_round = self._rounds[-1]
        no_answer = is_blank(last_round.answer)
        why = ""
        if self._abstained:
            why = "the model says that what was found holds no answer"
        elif no_answer:
            why = f"no answer by round {len(self._rounds)}"
        return Trail(
            answer="" if self._abstained else last_round.answer,
            abstained=self._abstained or no_answer,
            rounds=tuple(self._rounds),
            docs=self.docs,
            verified=tuple(text for _, text in self._cited_passages),
            why=why,
        )


def _cite_pages(hits: Iterable[Hit]) -> tuple[CitedPage, ...]:
    """Lists the pages of passages in order, each once."""
    return tuple(dict.fromkeys(CitedPage(hit.page.url, hit.page.title) for hit in hits))


def _passage_key(hit: Hit) -> tuple[str, str]:
    """Returns address and text of a passage, which identify it."""
    return hit.page.url, hit.passage


def _find_cited_passage(learned: Learned, passages: Sequence[Hit]) -> Hit | None:
    """Finds the passage that a link cites; None if no passage of that number was shown."""
    return passages[learned.passage - 1] if 1 <= learned.passage <= len(passages) else None


def _make_link(learned: Learned, passages: Sequence[Hit]) -> Link:
    hit = _find_cited_passage(learned, passages)
    page = "" if hit is None else hit.page.url
    return Link(text=clean_text(learned.statement, MAX_LINK_LENGTH), page=page)


def _render_note(link: Link, titles: dict[str, str]) -> str:
    title = clean_text(titles.get(link.page, ""))
    return f"{link.text} [{title or 'no page'}]"


def _render_passage(hit: Hit) -> str:
    return f"{clean_text(hit.page.title)}: {clean_text(hit.passage, MAX_PASSAGE_LENGTH)}"
