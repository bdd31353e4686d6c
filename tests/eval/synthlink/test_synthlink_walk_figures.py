"""Scores of the offline agents on development questions and on held-out ones.

With ``pytest -s`` it prints the figures of docs/synthlink.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from eval.synthlink.agents.extractive import Extractive
from eval.synthlink.agents.graph_walk import GraphWalk
from eval.synthlink.agents.library import CorpusLibrary
from eval.synthlink.agents.trail import Agent, Trail
from eval.synthlink.agents.walker.fact_map import FactMap
from eval.synthlink.agents.walker.sentence_writer import SentenceWriter
from eval.synthlink.catalog import read_catalog
from eval.synthlink.metrics import Mode
from eval.synthlink.scores import score_predictions
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from retrieval.corpus import read_corpus

DEVELOPED_ON = ("HIA", "STE", "SFT")
HELD_OUT = ("EIS", "EEC", "PSM")
CATALOG = read_catalog()
KNOWLEDGE = KnowledgeBase.open_cached("synthlink")


@cache
def shipped_library() -> CorpusLibrary:
    """The shipped pages."""
    return CorpusLibrary(read_corpus())


def collect_trails(agent: Agent) -> list[Trail]:
    """Returns an agent's trails for all questions."""

    async def ask_each() -> list[Trail]:
        return [await agent.answer(one.question) for one in CATALOG.questions]

    return asyncio.run(ask_each())


def connected_fact_trails() -> list[Trail]:
    """Returns the answers of the walk, each extended to all facts connected with it."""
    facts = FactMap(KNOWLEDGE)
    teller = SentenceWriter(KNOWLEDGE)
    of_fact = {KNOWLEDGE.verbaliser.render_fact(claim): claim for claim in facts.claims}
    blown = []
    for trail in collect_trails(GraphWalk(shipped_library())):
        links = [link.text for one in trail.rounds for link in one.links]
        if trail.answer:
            told = _connected_facts(facts, of_fact[links[-1]].subj)
            blown.append(Trail(answer=" ".join(teller.write_sentences(told)), docs=trail.docs))
        else:
            blown.append(trail)
    return blown


def _connected_facts(facts: FactMap, node: str) -> list[Claim]:
    met, todo, held = {node}, [node], set[int]()
    while todo:
        one = todo.pop()
        ways = [
            place for place in facts.facts_to_node(one) if facts.is_path_step(facts.claims[place])
        ]
        for place in (*facts.facts_from_node(one), *ways):
            held.add(place)
            claim = facts.claims[place]
            new = {claim.subj, claim.obj} - met if facts.is_path_step(claim) else set[str]()
            todo += sorted(new)
            met |= new
    return [facts.claims[place] for place in sorted(held)]


SYSTEMS: dict[str, Callable[[], list[Trail]]] = {
    "graph_walk": lambda: collect_trails(GraphWalk(shipped_library())),
    "… each step borne by a page": lambda: collect_trails(
        GraphWalk(shipped_library(), pages="required")
    ),
    "… no pages at all": lambda: collect_trails(GraphWalk(None, pages="withheld")),
    "… everything that hangs together": connected_fact_trails,
    "extractive": lambda: collect_trails(Extractive(shipped_library())),
}


@cache
def score_system(system: str) -> dict[Mode, dict[str, Any]]:
    """Returns metrics by category in both modes, and the number of answers."""
    rows = [
        {
            "question_id": question.id,
            "predicted_answer": trail.answer,
            "retrieved_docs": [page.url for page in trail.docs],
            "iterations": [
                {"answers": [one.answer], "docs": [page.url for page in one.found]}
                for one in trail.rounds
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
                **{name: held.value for name, held in group.measures.items()},
            }
            for category, group in scores.categories.items()
        }
        for mode, scores in report.modes.items()
    }


def mean_over_categories(
    system: str, categories: tuple[str, ...], mode: Mode = "corrected", measure: str = "aggregate"
) -> float:
    """Returns the mean of a metric over categories of equal size."""
    values = [score_system(system)[mode][category][measure] or 0.0 for category in categories]
    return sum(values) / len(values)


@pytest.mark.parametrize("categories", [DEVELOPED_ON, HELD_OUT])
def test_graph_walk_beats_extractive_and_gains_from_pages(
    categories: tuple[str, ...],
) -> None:
    walk = mean_over_categories("graph_walk", categories)
    assert walk > mean_over_categories("extractive", categories) > 0
    assert walk > 2 * mean_over_categories("… no pages at all", categories)
    assert mean_over_categories("graph_walk", categories, "literal") > mean_over_categories(
        "extractive", categories, "literal"
    )


def test_print_the_figures() -> None:
    measures = ("f1", "p_at_5", "rqs", "fcs", "ie", "aggregate")
    for mode in ("corrected", "literal"):
        print(f"\n{mode}: answered", *measures)
        for system in SYSTEMS:
            for name, categories in (("developed on", DEVELOPED_ON), ("held out", HELD_OUT)):
                values = [
                    f"{mean_over_categories(system, categories, mode, one):.3f}" for one in measures
                ]
                answered = sum(
                    int(score_system(system)[mode][one]["answered"]) for one in categories
                )
                print(f"{system:34} {name:14}", answered, *values)
        for category in (*DEVELOPED_ON, *HELD_OUT):
            values = [
                f"{mean_over_categories(system, (category,), mode):.3f}" for system in SYSTEMS
            ]
            print(category, *values)
    assert all(score_system(system)["corrected"] for system in SYSTEMS)
