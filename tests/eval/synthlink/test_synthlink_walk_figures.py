"""Tests the scores of the offline agents on development and on held-out questions.

They must be the figures of docs/reference/synthlink.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from eval.synthlink.agents.extractive import Extractive
from eval.synthlink.agents.graph_walk import GraphWalk
from eval.synthlink.agents.library import CorpusLibrary
from eval.synthlink.agents.trail import Agent, Round, Trail
from eval.synthlink.agents.walker.fact_map import FactMap
from eval.synthlink.agents.walker.sentence_writer import SentenceWriter
from eval.synthlink.catalog import read_catalog
from eval.synthlink.metrics import Mode
from eval.synthlink.scoring.scores import score_predictions
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from retrieval.corpus import read_corpus

pytestmark = pytest.mark.usefixtures("kept_readers")

ROOT = Path(__file__).parents[3]
DEVELOPMENT_CATEGORIES = ("HIA", "STE", "SFT")
HELD_OUT_CATEGORIES = ("EIS", "EEC", "PSM")
CATALOG = read_catalog()
KNOWLEDGE = KnowledgeBase.open_cached("synthlink")


@cache
def shipped_library() -> CorpusLibrary:
    """The shipped pages."""
    return CorpusLibrary(read_corpus())


def collect_trails(agent: Agent) -> list[Trail]:
    """Returns an agent's trails for all questions."""

    async def ask_each() -> list[Trail]:
        return [await agent.answer(question.question) for question in CATALOG.questions]

    return asyncio.run(ask_each())


def make_connected_fact_trails() -> list[Trail]:
    """Returns the answers of ``graph_walk``, each extended to all facts connected with it."""
    facts = FactMap(KNOWLEDGE)
    writer = SentenceWriter(KNOWLEDGE)
    claims_by_text = {KNOWLEDGE.verbaliser.render_fact(claim): claim for claim in facts.claims}
    extended_trails = []
    for trail in collect_trails(GraphWalk(shipped_library())):
        links = [link.text for search_round in trail.rounds for link in search_round.links]
        if trail.answer:
            connected_claims = _find_connected_facts(facts, claims_by_text[links[-1]].subj)
            opened = tuple(page for search_round in trail.rounds for page in search_round.read)
            extended_trails.append(
                Trail(
                    answer=" ".join(writer.write_sentences(connected_claims)),
                    docs=trail.docs,
                    rounds=(Round(read=opened),),
                )
            )
        else:
            extended_trails.append(trail)
    return extended_trails


def _find_connected_facts(facts: FactMap, node: str) -> list[Claim]:
    """Returns the facts of a node and of all nodes that path steps connect with it."""
    visited, queue, fact_indices = {node}, [node], set[int]()
    while queue:
        current = queue.pop()
        incoming_steps = [
            index
            for index in facts.facts_to_node(current)
            if facts.can_be_path_step(facts.claims[index])
        ]
        for index in (*facts.facts_from_node(current), *incoming_steps):
            fact_indices.add(index)
            claim = facts.claims[index]
            new_nodes = (
                {claim.subj, claim.obj} - visited if facts.can_be_path_step(claim) else set[str]()
            )
            queue += sorted(new_nodes)
            visited |= new_nodes
    return [facts.claims[index] for index in sorted(fact_indices)]


SYSTEMS: dict[str, Callable[[], list[Trail]]] = {
    "graph_walk": lambda: collect_trails(GraphWalk(shipped_library())),
    "… each step borne by a page": lambda: collect_trails(
        GraphWalk(shipped_library(), pages="required")
    ),
    "… no pages at all": lambda: collect_trails(GraphWalk(None, pages="withheld")),
    "… everything that hangs together": make_connected_fact_trails,
    "extractive": lambda: collect_trails(Extractive(shipped_library())),
}


@cache
def score_system(system: str) -> dict[Mode, dict[str, Any]]:
    """Returns the bounds of metrics by category in both modes, and the number of answers."""
    rows = [
        {
            "question_id": question.id,
            "predicted_answer": trail.answer,
            "retrieved_docs": [page.url for page in trail.docs],
            "iterations": [
                {
                    "answers": [search_round.answer],
                    "docs": [page.url for page in search_round.found],
                    "opened": [page.url for page in search_round.read],
                }
                for search_round in trail.rounds
            ],
            "sources_verified": list(trail.verified),
        }
        for question, trail in zip(CATALOG.questions, SYSTEMS[system](), strict=True)
    ]
    report = score_predictions(
        rows, CATALOG, "both", knowledge=KNOWLEDGE, pages=read_corpus(), resamples=100
    )
    return {
        mode: {
            category: {
                "answered": group.answered,
                **{
                    name: (mean.value or 0.0, mean.value or 0.0)
                    if mean.lowest is None or mean.highest is None
                    else (mean.lowest, mean.highest)
                    if mean.value is None
                    else (mean.value, mean.value)
                    for name, mean in group.measures.items()
                },
            }
            for category, group in scores.categories.items()
        }
        for mode, scores in report.modes.items()
    }


def mean_over_categories(
    system: str, categories: tuple[str, ...], mode: Mode = "corrected", measure: str = "f1"
) -> tuple[float, float]:
    """Returns the lowest and highest possible mean of a metric over categories of equal size.

    Both are equal where the metric has a value.
    """
    bounds = [score_system(system)[mode][category][measure] for category in categories]
    lowest, highest = (sum(ends) / len(bounds) for ends in zip(*bounds, strict=True))
    return lowest, highest


@pytest.mark.slow
@pytest.mark.parametrize("categories", [DEVELOPMENT_CATEGORIES, HELD_OUT_CATEGORIES])
def test_graph_walk_beats_extractive_and_gains_from_pages(
    categories: tuple[str, ...],
) -> None:
    lowest, _ = mean_over_categories("graph_walk", categories)
    _, highest = mean_over_categories("… no pages at all", categories)
    assert lowest > 1.5 * highest, "whatever is unjudged"
    # Of extractive, which quotes pages, too much is unjudged for its highest value.
    assert lowest > 1.5 * mean_over_categories("extractive", categories)[0]
    assert mean_over_categories(
        "graph_walk", categories, "literal", "aggregate"
    ) > mean_over_categories("extractive", categories, "literal", "aggregate")


def read_documented_figures() -> dict[tuple[str, str], list[str]]:
    """Returns the table in docs/reference/synthlink.md: (system, questions) → figures."""
    _, _, text = (
        (ROOT / "docs" / "reference" / "synthlink.md")
        .read_text("utf-8")
        .partition("| `corrected` |")
    )
    rows: dict[tuple[str, str], list[str]] = {}
    system = ""
    for line in text.splitlines()[2:]:
        if not line.startswith("|"):
            break
        name, questions, *figures = (cell.strip(" `*") for cell in line.strip("|").split("|"))
        system = name or system
        rows[system.replace("no pages", "no pages at all"), questions] = figures
    return rows


def format_figure(bounds: tuple[float, float]) -> str:
    """Formats a value, or its lowest and highest possible value."""
    ends = [f"{value:.3f}".lstrip("0") if value else "0" for value in dict.fromkeys(bounds)]
    return "–".join(ends)


def test_documented_figures_are_those_of_the_agents() -> None:
    measures = ("f1", "p_at_5", "fcs", "ie")
    figures = {
        (system, questions): [
            str(sum(int(score_system(system)["corrected"][c]["answered"]) for c in categories)),
            *(
                format_figure(mean_over_categories(system, categories, "corrected", measure))
                for measure in measures
            ),
            format_figure(mean_over_categories(system, categories, "literal", "aggregate")),
        ]
        for system in SYSTEMS
        for questions, categories in (
            ("developed on", DEVELOPMENT_CATEGORIES),
            ("held out", HELD_OUT_CATEGORIES),
        )
    }
    assert figures == read_documented_figures()
