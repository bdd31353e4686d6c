"""One question's walk: what was read and found so far, round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from eval.synthlink.agents.trail import Cited, Link, Round, Trail
from eval.synthlink.agents.walking.accounting import LEAST, accounted, demands, named_subjects
from eval.synthlink.agents.walking.asking import Asked
from eval.synthlink.agents.walking.facts import FactMap
from eval.synthlink.agents.walking.naming import Keys, Naming, keys_of
from eval.synthlink.agents.walking.paths import LEAST_BORNE, Chosen, Signs, choose
from eval.synthlink.agents.walking.reading import LEAST_NAMED, Reading, ReadPage
from eval.synthlink.agents.walking.telling import Teller, in_order
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from eval.synthlink.agents.library import Hit
    from kg.claims import Claim
    from kg.knowledge import KnowledgeBase

Pages = Literal["weighed", "required", "withheld"]
"""What pages are for.

``weighed``: they speak for nodes and steps. ``required``: besides, no step is taken that none of
them bears. ``withheld``: nothing is searched for, and the question alone chooses. The last two are
there to be compared with the first.
"""

PASSAGES: Final = 8
"""Passages that are read in one round."""
POOL: Final = 50
"""Passages whose relevance to the question is asked for; of other passages it is 0."""
FIRST_HOPS: Final = 3
"""Steps of a way in the first round; each further round goes one step farther."""
NAMES: Final = 6
"""Names that are looked for in one round."""
EVIDENCE: Final = 4
"""Pages that account for a question: of many, some have its words by chance."""
LEAST_WHOLE: Final = 0.9
"""Share of a name from which a page is about its node, though it bears nothing of what is told."""
LEAST_NEAR: Final = 0.75
"""Relevance that some page must have that speaks of what is told. Where the pages that the question
itself finds best speak of other things, the question is about those."""
ASKED: Final = 1.5
"""What it counts that a question speaks of a node, where 1 is that the best passage does."""


class _Found(NamedTuple):
    """What a round came to."""

    chosen: Chosen = Chosen()
    told: tuple[Claim, ...] = ()
    """The facts of it that are licensed, in the order they are told."""
    pages: tuple[ReadPage, ...] = ()
    """What speaks of them, best first."""
    share: float = 0.0
    """Of the question's words that facts and pages account for."""
    near: bool = False
    """Whether a page that speaks of it is among those that the question itself finds, and it names
    what the question names."""
    why: str = "neither the question nor a page that was read names anything of the graph"
    """Why there is nothing to answer; empty where there is."""


class Walk:
    """The state of one question's walk.

    Args:
        question: its text.
        kb: the graph.
        teller: puts its facts in sentences.
        facts: its facts as a map.
        naming: finds its nodes in texts.
        asked: the question as it was understood.
        pages: what pages are for.
    """

    def __init__(
        self,
        question: str,
        *,
        kb: KnowledgeBase,
        teller: Teller,
        facts: FactMap,
        naming: Naming,
        asked: Asked,
        pages: Pages,
    ) -> None:
        self.query = question
        """What to search for next; empty where nothing is left to look for."""
        self._kb, self._facts, self._asked, self._pages = kb, facts, asked, pages
        self._teller = teller
        self._demanded = demands(question)
        self._reading = Reading(naming)
        self._subjects: dict[str, Keys] = {}
        self._looked_for: set[str] = set()
        self._found = _Found()
        self._rounds: list[Round] = []

    def take(self, hits: Sequence[Hit]) -> None:
        """Reads what ``query`` found, and answers as far as one can by now.

        Args:
            hits: best first; of the first round up to ``POOL``, of which the best are read.
        """
        if not self._rounds:
            self._reading.weigh(hits)
        hits = hits[:PASSAGES]
        if not self._rounds:
            titles = dict.fromkeys(hit.page.title for hit in hits)
            self._subjects = named_subjects(self._demanded, titles)
        read = self._reading.read(hits)
        before = frozenset(self._found.told)
        self._found = self._best()
        self._rounds.append(
            Round(
                query="" if self._pages == "withheld" else self.query,
                found=tuple(dict.fromkeys(Cited(hit.page.url, hit.page.title) for hit in hits)),
                read=tuple(page.page for page in read),
                links=tuple(self._link(one) for one in self._found.told if one not in before),
                answer="" if self._found.why else " ".join(self._teller.tell(self._found.told)),
            )
        )
        self.query = self._next_query()

    def trail(self) -> Trail:
        """What became of the question, after at least one round."""
        *others, last = self._rounds
        found = [page for one in self._rounds for page in one.found]
        resting = () if self._found.why else self._found.pages
        return Trail(
            answer=last.answer,
            abstained=bool(self._found.why),
            rounds=(*others, msgspec.structs.replace(last, done=True)),
            docs=tuple(dict.fromkeys([*(page.page for page in resting), *found])),
            verified=tuple(page.text for page in resting),
            why=self._found.why,
        )

    def _signs(self) -> Signs:
        """What speaks for nodes and facts by now.

        A maker or year that the question names speaks for what bears it, shared between all that
        do.
        """
        nodes = self._reading.nodes
        for node, share in self._asked.nodes.items():
            counts = ASKED * share * share
            nodes[node] = nodes.get(node, 0.0) + counts
            bearers = self._facts.bearers(node)
            for bearer in bearers:
                nodes[bearer] = nodes.get(bearer, 0.0) + counts / len(bearers)
        return Signs(
            nodes,
            self._reading.support,
            self._asked.predicates,
            least=LEAST_NAMED if self._pages == "required" else 0.0,
        )

    def _best(self) -> _Found:
        """Of the ways that gain most, the one that accounts for most of the question."""
        best = _Found()
        for chosen in choose(self._facts, self._signs(), FIRST_HOPS + len(self._rounds)):
            found = self._judged(chosen)
            if not best.chosen.nodes or (found.near, found.share) > (best.near, best.share):
                best = found
        return best

    def _judged(self, chosen: Chosen) -> _Found:
        """What is to be told of a way, and whether it is about what was asked."""
        name = plain(self._kb.words.name(chosen.nodes[0]))
        verdicts = self._kb.oracle.license_many(in_order(self._facts, chosen))
        told = tuple(verdict.claim for verdict in verdicts if verdict.label == "E")
        pages = self._resting(chosen, told)
        if not told:
            why = f"the graph licenses nothing about {name} that was asked for"
            return _Found(chosen, (), pages, why=why)
        evidence = [page for page in pages if _speaks(page, chosen, told)]
        facts = frozenset().union(*(keys_of(self._kb.words.fact(claim)) for claim in told))
        words = facts.union(*(page.keys for page in evidence[:EVIDENCE]))
        share = accounted(self._demanded, words)
        near = any(page.relevance >= LEAST_NEAR for page in evidence)
        left = [title for title, names in self._subjects.items() if not names <= facts]
        why = ""
        if left:
            why = f"the question is about {plain(left[0])}, what was found is about {name}"
        elif self._pages != "withheld":  # without pages nothing could be accounted for
            if not near:
                why = f"what the question itself finds is not about {name}"
            elif share < LEAST:
                why = f"what was found, about {name}, has {share:.0%} of the question's words"
        near = near and not left
        return _Found(chosen, told, pages, share, near, why)

    def _resting(self, chosen: Chosen, told: Sequence[Claim]) -> tuple[ReadPage, ...]:
        """The pages that speak of what is told, the one that speaks most of it first."""
        worth: dict[int, float] = {}
        for place, page in enumerate(self._reading.pages):
            borne = math.fsum(page.bears(claim) for claim in told)
            named = math.fsum(page.named.get(node, 0.0) for node in chosen.nodes)
            if borne + named > 0:
                worth[place] = borne + named + page.relevance
        ordered = sorted(worth, key=lambda place: (-worth[place], place))
        return tuple(self._reading.pages[place] for place in ordered)

    def _link(self, claim: Claim) -> Link:
        """A fact told, and the page that bears it best."""
        page, most = "", 0.0
        for one in self._reading.pages:
            borne = one.bears(claim)
            if borne > most:
                page, most = one.page.url, borne
        return Link(self._kb.words.fact(claim), page, "licensed")

    def _next_query(self) -> str:
        """Names of what lies on and around the way, farther off in each round.

        What no page has spoken of comes first. Nothing is looked for twice.
        """
        if self._pages == "withheld":
            return ""
        met = self._reading.nodes
        nodes = self._found.chosen.nodes
        unmet = [node for node in nodes if node not in met]
        around = self._facts.around(nodes, len(self._rounds), NAMES)
        new = [node for node in (*unmet, *around) if node not in self._looked_for][:NAMES]
        self._looked_for.update(new)
        return "; ".join(plain(self._kb.words.name(node)) for node in new)


def _speaks(page: ReadPage, chosen: Chosen, told: Sequence[Claim]) -> bool:
    """Whether a page speaks of what is told, and does not only share words with a name."""
    return any(page.bears(claim) >= LEAST_BORNE for claim in told) or any(
        page.named.get(node, 0.0) >= LEAST_WHOLE for node in chosen.nodes
    )
