"""What the offline agents are worth, on questions they were developed on and on others.

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
from eval.synthlink.agents.walking.facts import FactMap
from eval.synthlink.agents.walking.telling import Teller
from eval.synthlink.catalog import read_catalog
from eval.synthlink.measures import Mode
from eval.synthlink.scores import score
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from retrieval.corpus import read_corpus

DEVELOPED_ON = ("HIA", "STE", "SFT")
HELD_OUT = ("EIS", "EEC", "PSM")
CATALOG = read_catalog()
KNOWLEDGE = KnowledgeBase.shared("synthlink")


@cache
def library() -> CorpusLibrary:
    """The shipped pages."""
    return CorpusLibrary(read_corpus())


def trails(agent: Agent) -> list[Trail]:
    """What an agent makes of all questions."""

    async def each() -> list[Trail]:
        return [await agent.answer(one.question) for one in CATALOG.questions]

    return asyncio.run(each())


def everything() -> list[Trail]:
    """The walk's answers, each blown up to all facts that hang together with it."""
    facts = FactMap(KNOWLEDGE)
    teller = Teller(KNOWLEDGE)
    of_fact = {KNOWLEDGE.words.fact(claim): claim for claim in facts.claims}
    blown = []
    for trail in trails(GraphWalk(library())):
        links = [link.text for one in trail.rounds for link in one.links]
        if trail.answer:
            told = _together(facts, of_fact[links[-1]].subj)
            blown.append(Trail(answer=" ".join(teller.tell(told)), docs=trail.docs))
        else:
            blown.append(trail)
    return blown


def _together(facts: FactMap, node: str) -> list[Claim]:
    met, todo, held = {node}, [node], set[int]()
    while todo:
        one = todo.pop()
        ways = [place for place in facts.arriving(one) if facts.is_way(facts.claims[place])]
        for place in (*facts.leaving(one), *ways):
            held.add(place)
            claim = facts.claims[place]
            new = {claim.subj, claim.obj} - met if facts.is_way(claim) else set[str]()
            todo += sorted(new)
            met |= new
    return [facts.claims[place] for place in sorted(held)]


SYSTEMS: dict[str, Callable[[], list[Trail]]] = {
    "graph_walk": lambda: trails(GraphWalk(library())),
    "… each step borne by a page": lambda: trails(GraphWalk(library(), pages="required")),
    "… no pages at all": lambda: trails(GraphWalk(None, pages="withheld")),
    "… everything that hangs together": everything,
    "extractive": lambda: trails(Extractive(library())),
}


@cache
def found(system: str) -> dict[Mode, dict[str, Any]]:
    """Measures by category, in both modes, and answers given."""
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
    report = score(rows, CATALOG, "both", knowledge=KNOWLEDGE, pages=read_corpus(), resamples=100)
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


def mean(
    system: str, categories: tuple[str, ...], mode: Mode = "corrected", measure: str = "aggregate"
) -> float:
    """A measure over categories of equal size."""
    values = [found(system)[mode][category][measure] or 0.0 for category in categories]
    return sum(values) / len(values)


@pytest.mark.parametrize("categories", [DEVELOPED_ON, HELD_OUT])
def test_the_walk_is_worth_more_than_sentences_and_pages_are_what_it_is_worth(
    categories: tuple[str, ...],
) -> None:
    walk = mean("graph_walk", categories)
    assert walk > mean("extractive", categories) > 0
    assert walk > 2 * mean("… no pages at all", categories)
    assert mean("graph_walk", categories, "literal") > mean("extractive", categories, "literal")


def test_print_the_figures() -> None:
    measures = ("f1", "p_at_5", "rqs", "fcs", "ie", "aggregate")
    for mode in ("corrected", "literal"):
        print(f"\n{mode}: answered", *measures)
        for system in SYSTEMS:
            for name, categories in (("developed on", DEVELOPED_ON), ("held out", HELD_OUT)):
                values = [f"{mean(system, categories, mode, one):.3f}" for one in measures]
                answered = sum(int(found(system)[mode][one]["answered"]) for one in categories)
                print(f"{system:34} {name:14}", answered, *values)
        for category in (*DEVELOPED_ON, *HELD_OUT):
            values = [f"{mean(system, (category,), mode):.3f}" for system in SYSTEMS]
            print(category, *values)
    assert all(found(system)["corrected"] for system in SYSTEMS)
