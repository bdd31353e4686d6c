"""The state of the agent ``graph_walk`` for one question, updated round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from eval.synthlink.agents.trail import CitedPage, Link, Round, Trail
from eval.synthlink.agents.walker.coverage import (
    MIN_COVERAGE,
    find_named_subjects,
    question_coverage,
    weigh_question_words,
)
from eval.synthlink.agents.walker.fact_map import FactMap
from eval.synthlink.agents.walker.node_names import Keys, NodeNames, extract_keys
from eval.synthlink.agents.walker.page_reader import MIN_NAMED_SHARE, PageReader, ReadPage
from eval.synthlink.agents.walker.paths import MIN_SUPPORT, ChosenPath, PathEvidence, choose_paths
from eval.synthlink.agents.walker.question_analysis import QuestionAnalysis
from eval.synthlink.agents.walker.sentence_writer import SentenceWriter, order_facts
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from eval.synthlink.agents.library import Hit
    from kg.claims import Claim
    from kg.knowledge import KnowledgeBase

PageUse = Literal["weighed", "required", "withheld"]
"""How pages are used.

``weighed``: pages count as evidence for nodes and steps. ``required``: in addition, every step must
be supported by a page. ``withheld``: no pages are searched for, and paths are chosen by the
question alone. The last two serve as ablations.
"""

PASSAGES_PER_ROUND: Final = 8
"""Passages read in one round."""
RELEVANCE_POOL: Final = 50
"""Number of passages of the first search that give pages a relevance; other pages have 0."""
FIRST_HOPS: Final = 3
"""Maximum number of steps of a path in the first round; each round allows one step more."""
NAMES_PER_QUERY: Final = 6
"""Maximum number of names in one query."""
MAX_EVIDENCE_PAGES: Final = 4
"""Maximum number of pages that count towards the coverage of a question: among many pages, some
contain its words by chance."""
MIN_WHOLE_NAME_SHARE: Final = 0.9
"""Minimum share of a node's name that a page must contain to be about the node, if it supports no
fact of the answer."""
MIN_PAGE_RELEVANCE: Final = 0.75
"""Minimum relevance to the question of at least one page about the answer. If there is no such
page, the question is about something else."""
QUESTION_WEIGHT: Final = 1.5
"""Weight of a node that the question mentions, relative to one that the best passage mentions."""


class _RoundResult(NamedTuple):
    """The best path of a round, its licensed facts, and how well they fit the question."""

    path: ChosenPath = ChosenPath()
    facts: tuple[Claim, ...] = ()
    """The licensed facts of the path, in the order they are stated."""
    pages: tuple[ReadPage, ...] = ()
    """The pages that mention the path or its facts, best first."""
    coverage: float = 0.0
    """Share of the question's words, by weight, that facts and pages contain."""
    is_about_question: bool = False
    """Whether a page about the path is relevant to the question, and the facts contain the names in
    every page title that the question contains."""
    why: str = "neither the question nor a page that was read names anything of the graph"
    """Why there is no answer; empty if there is one."""


class Walk:
    """The state of the walk for one question.

    Args:
        question: its text.
        kb: the graph.
        writer: writes facts as sentences.
        fact_map: the facts of the graph.
        node_names: finds nodes of the graph in texts.
        analysis: the analysis of the question.
        pages: how pages are used; see ``PageUse``.
    """

    def __init__(
        self,
        question: str,
        *,
        kb: KnowledgeBase,
        writer: SentenceWriter,
        fact_map: FactMap,
        node_names: NodeNames,
        analysis: QuestionAnalysis,
        pages: PageUse,
    ) -> None:
        self.query = question
        """The next search query; empty if there is nothing left to search for."""
        self._kb, self._fact_map, self._analysis, self._pages = kb, fact_map, analysis, pages
        self._writer = writer
        self._word_weights = weigh_question_words(question)
        self._reader = PageReader(node_names)
        self._subjects: dict[str, Keys] = {}
        """Page title that the question contains → keys of the names in it."""
        self._searched_nodes: set[str] = set()
        self._result = _RoundResult()
        self._rounds: list[Round] = []

    def process_hits(self, hits: Sequence[Hit]) -> None:
        """Processes one round: reads the hits of ``query``, and updates the answer and the query.

        Args:
            hits: passages, best first; in the first round up to ``RELEVANCE_POOL``, of which only
                the best are read.
        """
        if not self._rounds:
            self._reader.record_relevance(hits)
        hits = hits[:PASSAGES_PER_ROUND]
        if not self._rounds:
            titles = dict.fromkeys(hit.page.title for hit in hits)
            self._subjects = find_named_subjects(self._word_weights, titles)
        new_pages = self._reader.read_pages(hits)
        previous_facts = frozenset(self._result.facts)
        self._result = self._choose_best_result()
        self._rounds.append(
            Round(
                query="" if self._pages == "withheld" else self.query,
                found=tuple(dict.fromkeys(CitedPage(hit.page.url, hit.page.title) for hit in hits)),
                read=tuple(page.page for page in new_pages),
                links=tuple(
                    self._make_link(fact)
                    for fact in self._result.facts
                    if fact not in previous_facts
                ),
                answer=""
                if self._result.why
                else " ".join(self._writer.write_sentences(self._result.facts)),
            )
        )
        self.query = self._make_next_query()

    def build_trail(self) -> Trail:
        """Builds the trail of the question, after at least one round."""
        *earlier_rounds, last_round = self._rounds
        found_pages = [page for past_round in self._rounds for page in past_round.found]
        supporting_pages = () if self._result.why else self._result.pages
        return Trail(
            answer=last_round.answer,
            abstained=bool(self._result.why),
            rounds=(*earlier_rounds, msgspec.structs.replace(last_round, done=True)),
            docs=tuple(dict.fromkeys([*(page.page for page in supporting_pages), *found_pages])),
            verified=tuple(page.text for page in supporting_pages),
            why=self._result.why,
        )

    def _collect_evidence(self) -> PathEvidence:
        """Collects the evidence for nodes and facts so far.

        If the question mentions a trait, such as a maker or a year, the weight of this trait is
        also divided equally among the nodes that have it.
        """
        nodes = self._reader.node_weights
        for node, share in self._analysis.node_shares.items():
            weight = QUESTION_WEIGHT * share * share
            nodes[node] = nodes.get(node, 0.0) + weight
            nodes_with_trait = self._fact_map.find_nodes_with_trait(node)
            for trait_node in nodes_with_trait:
                nodes[trait_node] = nodes.get(trait_node, 0.0) + weight / len(nodes_with_trait)
        return PathEvidence(
            nodes,
            self._reader.compute_support,
            self._analysis.predicates,
            min_support=MIN_NAMED_SHARE if self._pages == "required" else 0.0,
        )

    def _choose_best_result(self) -> _RoundResult:
        """Chooses the best result: of the paths with the highest gain, the one that fits best.

        A path that is about the question comes first, then one that covers more of the question.
        """
        best = _RoundResult()
        for path in choose_paths(
            self._fact_map, self._collect_evidence(), FIRST_HOPS + len(self._rounds)
        ):
            result = self._assess_path(path)
            if not best.path.nodes or (result.is_about_question, result.coverage) > (
                best.is_about_question,
                best.coverage,
            ):
                best = result
        return best

    def _assess_path(self, path: ChosenPath) -> _RoundResult:
        """Finds the licensed facts of a path, and decides whether they are about the question."""
        name = clean_text(self._kb.verbaliser.render_term(path.nodes[0]))
        verdicts = self._kb.oracle.license_many(order_facts(self._fact_map, path))
        licensed_facts = tuple(verdict.claim for verdict in verdicts if verdict.label == "E")
        pages = self._rank_supporting_pages(path, licensed_facts)
        if not licensed_facts:
            why = f"the graph licenses nothing about {name} that was asked for"
            return _RoundResult(path, (), pages, why=why)
        evidence_pages = [page for page in pages if _is_about_path(page, path, licensed_facts)]
        fact_keys = frozenset().union(
            *(extract_keys(self._kb.verbaliser.render_fact(claim)) for claim in licensed_facts)
        )
        evidence_keys = fact_keys.union(
            *(page.keys for page in evidence_pages[:MAX_EVIDENCE_PAGES])
        )
        coverage = question_coverage(self._word_weights, evidence_keys)
        ranks_high = any(page.relevance >= MIN_PAGE_RELEVANCE for page in evidence_pages)
        missing_titles = [
            title for title, names in self._subjects.items() if not names <= fact_keys
        ]
        why = ""
        if missing_titles:
            title = clean_text(missing_titles[0])
            why = f"the question is about {title}, what was found is about {name}"
        # Without pages there is no relevance, and too little coverage to judge by.
        elif self._pages != "withheld":
            if not ranks_high:
                why = f"what the question itself finds is not about {name}"
            elif coverage < MIN_COVERAGE:
                why = f"what was found, about {name}, has {coverage:.0%} of the question's words"
        is_about_question = ranks_high and not missing_titles
        return _RoundResult(path, licensed_facts, pages, coverage, is_about_question, why)

    def _rank_supporting_pages(
        self, path: ChosenPath, facts: Sequence[Claim]
    ) -> tuple[ReadPage, ...]:
        """Ranks the pages that mention the path or its facts by how much they mention."""
        scores: dict[int, float] = {}
        for index, page in enumerate(self._reader.pages):
            support = math.fsum(page.compute_support(claim) for claim in facts)
            mention = math.fsum(page.node_shares.get(node, 0.0) for node in path.nodes)
            if support + mention > 0:
                scores[index] = support + mention + page.relevance
        ranked = sorted(scores, key=lambda index: (-scores[index], index))
        return tuple(self._reader.pages[index] for index in ranked)

    def _make_link(self, claim: Claim) -> Link:
        """Makes the link of a fact, with the page that supports it best."""
        url, best_support = "", 0.0
        for page in self._reader.pages:
            support = page.compute_support(claim)
            if support > best_support:
                url, best_support = page.page.url, support
        return Link(self._kb.verbaliser.render_fact(claim), url, "licensed")

    def _make_next_query(self) -> str:
        """Makes the next query from names of nodes on and around the path.

        Nodes of the path that no page has mentioned come first; each round goes one step farther
        from the path. No name is searched for twice.
        """
        if self._pages == "withheld":
            return ""
        mentioned_nodes = self._reader.node_weights
        nodes = self._result.path.nodes
        unmentioned_nodes = [node for node in nodes if node not in mentioned_nodes]
        nodes_around = self._fact_map.find_nodes_around(nodes, len(self._rounds), NAMES_PER_QUERY)
        new_nodes = [
            node for node in (*unmentioned_nodes, *nodes_around) if node not in self._searched_nodes
        ][:NAMES_PER_QUERY]
        self._searched_nodes.update(new_nodes)
        return "; ".join(clean_text(self._kb.verbaliser.render_term(node)) for node in new_nodes)


def _is_about_path(page: ReadPage, path: ChosenPath, facts: Sequence[Claim]) -> bool:
    """Returns whether a page is about a path or its facts, rather than sharing some words only."""
    return any(page.compute_support(claim) >= MIN_SUPPORT for claim in facts) or any(
        page.node_shares.get(node, 0.0) >= MIN_WHOLE_NAME_SHARE for node in path.nodes
    )
