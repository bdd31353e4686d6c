"""``graph_walk``: searches, reads, links what it read to a graph, and tells licensed facts only.

Round by round:

1. **Search**: for the question first; later for what lies around the way found so far.
2. **Read**: the best passages, for the nodes of the graph that they speak of.
3. **Link**: of all ways through the graph the one that question and pages speak of most, farther
   in each round; and the facts beside it that a page bears.
4. **Answer**: these facts in the domain's own words, in the order of the way.

Nothing is told that the licence oracle does not license, and nothing where what was found is not
about what was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eval.synthlink.agents.trail import MOST_ROUNDS, Trail
from eval.synthlink.agents.walking import accounting, asking, paths, reading, walk
from eval.synthlink.agents.walking.asking import Asking
from eval.synthlink.agents.walking.facts import FactMap
from eval.synthlink.agents.walking.naming import Naming
from eval.synthlink.agents.walking.telling import Teller
from eval.synthlink.agents.walking.walk import Pages, Walk

if TYPE_CHECKING:
    from eval.synthlink.agents.library import Library
    from kg.knowledge import KnowledgeBase

DOMAIN: Final = "synthlink"


class GraphWalk:
    """Answers from licensed paths of a graph.

    Args:
        library: where pages are looked for; may be None where they are withheld.
        rounds: iterations at most.
        knowledge: the graph; by default the shipped one of SynthLink.
        pages: what pages are for.

    Raises:
        ValueError: fewer than one round, more than ``MOST_ROUNDS``, or no library.
    """

    name = "graph_walk"

    def __init__(
        self,
        library: Library | None,
        rounds: int = MOST_ROUNDS,
        *,
        knowledge: KnowledgeBase | None = None,
        pages: Pages = "weighed",
    ) -> None:
        if not 1 <= rounds <= MOST_ROUNDS:
            raise ValueError(f"rounds must be 1 to {MOST_ROUNDS}, not {rounds}")
        if library is None and pages != "withheld":
            raise ValueError("pages cannot be read without a library")
        if knowledge is None:
            from kg.knowledge import KnowledgeBase

            knowledge = KnowledgeBase.shared(DOMAIN)
        self.knowledge = knowledge
        self._rounds = rounds
        self._pages: Pages = pages
        self._library = library if pages != "withheld" else None
        self._facts = FactMap(knowledge)
        self._naming = Naming(self._facts.names(knowledge))
        self._teller = Teller(knowledge)
        self._asking = Asking(knowledge, self._facts, self._naming)

    def params(self) -> dict[str, Any]:
        """Graph, library and whatever else decides which facts are told."""
        return {
            "graph_sha256": self.knowledge.graph.sha256,
            "shapes_sha256": self.knowledge.shapes.sha256,
            "library": self._library.params() if self._library is not None else None,
            "pages": self._pages,
            "rounds": self._rounds,
            "passages": walk.PASSAGES,
            "pool": walk.POOL,
            "first_hops": walk.FIRST_HOPS,
            "names": walk.NAMES,
            "evidence": walk.EVIDENCE,
            "asked": walk.ASKED,
            "least_asked": asking.LEAST_ASKED,
            "least_named": reading.LEAST_NAMED,
            "most_read": reading.MOST_READ,
            "step": paths.STEP,
            "borne": paths.BORNE,
            "cued": paths.CUED,
            "least_borne": paths.LEAST_BORNE,
            "beam": paths.BEAM,
            "ways": paths.WAYS,
            "most_facts": paths.MOST_FACTS,
            "least_accounted": accounting.LEAST,
            "least_whole": walk.LEAST_WHOLE,
            "least_near": walk.LEAST_NEAR,
        }

    async def answer(self, question: str) -> Trail:
        """Walks the graph for one question.

        Raises:
            SearchError: the library failed.
        """
        one = Walk(
            question,
            kb=self.knowledge,
            teller=self._teller,
            facts=self._facts,
            naming=self._naming,
            asked=self._asking.understand(question),
            pages=self._pages,
        )
        for number in range(self._rounds):
            query = one.query
            if number and self._library is not None and not query:
                break
            hits = []
            if self._library is not None:
                hits = await self._library.search(query, walk.PASSAGES if number else walk.POOL)
            one.take(hits)
        return one.trail()
