"""The agent ``graph_walk``: searches, reads, and answers with licensed facts of a graph.

In each round:

1. **Search**: for the question first; later for the nodes around the path found so far.
2. **Read**: find the nodes of the graph that the best passages mention.
3. **Link**: choose the path through the graph that question and pages mention most, and further
   facts about its nodes that a page supports. Paths may be one step longer in each round.
4. **Answer**: state these facts in the domain's wording, in the order of the path.

The agent states only facts that the licence oracle licenses. If the facts found are not about the
question, it abstains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eval.synthlink.agents.trail import MAX_ROUNDS, Trail
from eval.synthlink.agents.walker import coverage, page_reader, paths, question_analysis, walk
from eval.synthlink.agents.walker.fact_map import FactMap
from eval.synthlink.agents.walker.node_names import NodeNames
from eval.synthlink.agents.walker.question_analysis import QuestionAnalyser
from eval.synthlink.agents.walker.sentence_writer import SentenceWriter
from eval.synthlink.agents.walker.walk import PageUse, Walk

if TYPE_CHECKING:
    from eval.synthlink.agents.library import Library
    from kg.knowledge import KnowledgeBase

DOMAIN: Final = "synthlink"


class GraphWalk:
    """Answers from licensed paths of a graph.

    Args:
        library: the library that is searched; may be None with ``pages="withheld"``.
        rounds: maximum number of rounds.
        knowledge: the graph; by default SynthLink's shipped graph.
        pages: how pages are used; see ``PageUse``.

    Raises:
        ValueError: fewer than one round, more than ``MAX_ROUNDS``, or no library although pages
            are used.
    """

    name = "graph_walk"

    def __init__(
        self,
        library: Library | None,
        rounds: int = MAX_ROUNDS,
        *,
        knowledge: KnowledgeBase | None = None,
        pages: PageUse = "weighed",
    ) -> None:
        if not 1 <= rounds <= MAX_ROUNDS:
            raise ValueError(f"rounds must be 1 to {MAX_ROUNDS}, not {rounds}")
        if library is None and pages != "withheld":
            raise ValueError(f"pages={pages!r} needs a library to read pages from")
        if knowledge is None:
            from kg.knowledge import KnowledgeBase

            knowledge = KnowledgeBase.open_cached(DOMAIN)
        self.knowledge = knowledge
        self._rounds = rounds
        self._pages: PageUse = pages
        self._library = library if pages != "withheld" else None
        self._fact_map = FactMap(knowledge)
        self._node_names = NodeNames(self._fact_map.collect_names(knowledge))
        self._writer = SentenceWriter(knowledge)
        self._analyser = QuestionAnalyser(knowledge, self._fact_map, self._node_names)

    def params(self) -> dict[str, Any]:
        """Returns graph, library and all settings that decide which facts are stated."""
        return {
            "graph_sha256": self.knowledge.graph.sha256,
            "shapes_sha256": self.knowledge.shapes.sha256,
            "library": self._library.params() if self._library is not None else None,
            "pages": self._pages,
            "rounds": self._rounds,
            "passages": walk.PASSAGES_PER_ROUND,
            "pool": walk.RELEVANCE_POOL,
            "first_hops": walk.FIRST_HOPS,
            "names": walk.NAMES_PER_QUERY,
            "evidence": walk.MAX_EVIDENCE_PAGES,
            "asked": walk.QUESTION_WEIGHT,
            "least_asked": question_analysis.MIN_ASKED_SHARE,
            "least_named": page_reader.MIN_NAMED_SHARE,
            "most_read": page_reader.MAX_READ_LENGTH,
            "step": paths.STEP_COST,
            "borne": paths.SUPPORT_GAIN,
            "cued": paths.CUE_GAIN,
            "least_borne": paths.MIN_SUPPORT,
            "beam": paths.BEAM_WIDTH,
            "ways": paths.MAX_PATHS,
            "most_facts": paths.MAX_FACTS,
            "least_accounted": coverage.MIN_COVERAGE,
            "least_whole": walk.MIN_WHOLE_NAME_SHARE,
            "least_near": walk.MIN_PAGE_RELEVANCE,
        }

    async def answer(self, question: str) -> Trail:
        """Answers one question.

        Raises:
            SearchError: a search failed.
        """
        state = Walk(
            question,
            kb=self.knowledge,
            writer=self._writer,
            fact_map=self._fact_map,
            node_names=self._node_names,
            analysis=self._analyser.analyse_question(question),
            pages=self._pages,
        )
        for round_index in range(self._rounds):
            query = state.query
            # After the first round, an empty query means that there is nothing left to search for.
            if round_index and self._library is not None and not query:
                break
            hits = []
            if self._library is not None:
                # The first search also determines how relevant pages are to the question, so it
                # requests more passages than are read.
                hits = await self._library.search(
                    query, walk.PASSAGES_PER_ROUND if round_index else walk.RELEVANCE_POOL
                )
            state.process_hits(hits)
        return state.build_trail()
