"""One question's walk: what was read and found so far, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from eval.synthlink.agents.trail import Cited, Link, Round, Trail
from eval.synthlink.agents.walking.accounting import LEAST, accounted, demands
from eval.synthlink.agents.walking.asking import Asked
from eval.synthlink.agents.walking.facts import FactMap
from eval.synthlink.agents.walking.naming import Keys, Naming, keys_of
from eval.synthlink.agents.walking.paths import Chosen, Signs, choose
from eval.synthlink.agents.walking.reading import LEAST_NAMED, Passage, Reading
from eval.synthlink.agents.walking.telling import in_order, tell
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
ASKED: Final = 1.5
"""What it counts that a question speaks of a node, where 1 is that the best passage does."""


class Walk:
    """The state of one question's walk.

    Args:
        question: its text.
        kb: the graph.
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
        facts: FactMap,
        naming: Naming,
        asked: Asked,
        pages: Pages,
    ) -> None:
        self.query = question
        """What to search for next; empty where nothing is left to look for."""
        self._kb, self._facts, self._asked, self._pages = kb, facts, asked, pages
        self._demanded = demands(question)
        self._reading = Reading(naming)
        self._relevance: dict[tuple[str, str], float] = {}
        self._looked_for: set[str] = set()
        self._chosen = Chosen()
        self._told: tuple[Claim, ...] = ()
        self._rounds: list[Round] = []
        self._why = ""

    def take(self, hits: Sequence[Hit]) -> None:
        """Reads what ``query`` found, and answers as far as one can by now.

        Args:
            hits: best first; of the first round up to ``POOL``, of which the best are read.
        """
        if not self._rounds:
            best = max((hit.score for hit in hits), default=0.0)
            for hit in hits if best > 0 else ():
                relevance = max(0.0, hit.score / best)
                self._relevance.setdefault((hit.page.url, hit.passage), relevance)
        hits = hits[:PASSAGES]
        read = self._reading.read(
            hits, lambda hit: self._relevance.get((hit.page.url, hit.passage), 0.0)
        )
        before = frozenset(self._told)
        self._chosen = choose(self._facts, self._signs(), FIRST_HOPS + len(self._rounds))
        verdicts = self._kb.oracle.license_many(in_order(self._facts, self._chosen))
        self._told = tuple(verdict.claim for verdict in verdicts if verdict.label == "E")
        self._why = self._doubt()
        self._rounds.append(
            Round(
                query="" if self._pages == "withheld" else self.query,
                found=tuple(dict.fromkeys(Cited(hit.page.url, hit.page.title) for hit in hits)),
                read=tuple(dict.fromkeys(passage.page for passage in read)),
                links=tuple(self._link(claim) for claim in self._told if claim not in before),
                answer="" if self._why else " ".join(tell(self._kb, self._told)),
            )
        )
        self.query = self._next_query()

    def trail(self) -> Trail:
        """What became of the question, after at least one round."""
        *others, last = self._rounds
        found = [page for one in self._rounds for page in one.found]
        resting = self._resting() if not self._why else []
        return Trail(
            answer=last.answer,
            abstained=bool(self._why),
            rounds=(*others, msgspec.structs.replace(last, done=True)),
            docs=tuple(dict.fromkeys([passage.page for passage in resting] + found)),
            verified=tuple(passage.text for passage in resting),
            why=self._why,
        )

    def _signs(self) -> Signs:
        nodes = self._reading.nodes
        for node, share in self._asked.nodes.items():
            nodes[node] = nodes.get(node, 0.0) + ASKED * share * share
        return Signs(
            nodes,
            self._reading.support,
            self._asked.predicates,
            least=LEAST_NAMED if self._pages == "required" else 0.0,
        )

    def _doubt(self) -> str:
        """Why there is nothing to answer, in one clause; empty where there is."""
        if not self._chosen.nodes:
            return "neither the question nor a page that was read names anything of the graph"
        if not self._told:
            name = plain(self._kb.words.name(self._chosen.nodes[0]))
            return f"the graph licenses nothing about {name} that was asked for"
        share = accounted(self._demanded, self._evidence())
        if share < LEAST:
            name = plain(self._kb.words.name(self._chosen.nodes[0]))
            return f"what was found, about {name}, has {share:.0%} of the question's words"
        return ""

    def _evidence(self) -> Keys:
        """All words of the facts told and of the passages that they rest on."""
        texts = (keys_of(self._kb.words.fact(claim)) for claim in self._told)
        return frozenset().union(*texts, *(passage.keys for passage in self._resting()))

    def _resting(self) -> list[Passage]:
        """The passages that speak of what is told, the one that bears most of it first."""
        nodes = dict.fromkeys(self._chosen.nodes)
        worth: dict[int, float] = {}
        for place, passage in enumerate(self._reading.passages):
            borne = sum(passage.bears(claim) for claim in self._told)
            named = sum(passage.named.get(node, 0.0) for node in nodes)
            if borne + named > 0:
                worth[place] = borne + named + passage.weight
        ordered = sorted(worth, key=lambda place: (-worth[place], place))
        return [self._reading.passages[place] for place in ordered]

    def _link(self, claim: Claim) -> Link:
        """A fact told, and the page that bears it best."""
        page, most = "", 0.0
        for passage in self._reading.passages:
            borne = passage.bears(claim)
            if borne > most:
                page, most = passage.page.url, borne
        return Link(self._kb.words.fact(claim), page, "licensed")

    def _next_query(self) -> str:
        """Names of what lies on and around the way, farther off in each round.

        What no page has spoken of comes first. Nothing is looked for twice.
        """
        if self._pages == "withheld":
            return ""
        met = self._reading.nodes
        unmet = [node for node in self._chosen.nodes if node not in met]
        around = self._facts.around(self._chosen.nodes, len(self._rounds), NAMES)
        new = [node for node in (*unmet, *around) if node not in self._looked_for][:NAMES]
        self._looked_for.update(new)
        return "; ".join(plain(self._kb.words.name(node)) for node in new)
