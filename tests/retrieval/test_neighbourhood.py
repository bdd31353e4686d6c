"""The facts around things: nearest first, each once, no schema, the things in turn."""

from __future__ import annotations

import pytest

from kg.knowledge import KnowledgeBase
from retrieval.neighbourhood import neighbourhood

RIVER = "https://epoche.example/rivers/"


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.shared("rivers")


def around(kb: KnowledgeBase, limit: int, *names: str) -> list[str]:
    return neighbourhood(kb.graph, kb.words, [RIVER + name for name in names], limit)


def test_what_joins_two_things_comes_first(kb: KnowledgeBase) -> None:
    assert around(kb, 1, "north-sea", "rhine") == ["The Rhine flows into the North Sea."]


def test_everything_stated_about_a_thing_and_nothing_else(kb: KnowledgeBase) -> None:
    facts = around(kb, 10_000, "rhine")
    assert len(set(facts)) == len(facts)
    assert all("Rhine" in fact for fact in facts)
    expected = {
        kb.words.fact(claim)
        for claim in kb.graph.claims()
        if f"{RIVER}rhine" in (claim.subj, claim.obj) and claim.pred in kb.domain.predicates
    }
    assert expected <= set(facts)
    assert not any("individual" in fact or "label" in fact for fact in facts)


def test_denials_are_facts_too(kb: KnowledgeBase) -> None:
    from kg.denials import stated_denials

    text = kb.graph.index.terms.text
    denial = next(iter(stated_denials(kb.graph.index)))
    facts = neighbourhood(kb.graph, kb.words, [text(denial.s)], 50)
    assert any(" not " in fact or " neither " in fact for fact in facts)


def test_no_thing_crowds_out_the_other(kb: KnowledgeBase) -> None:
    facts = around(kb, 8, "north-sea", "main-germany", "zzyzx")
    assert len(facts) == 8
    assert sum("Main" in fact for fact in facts) >= 3
    assert around(kb, 4, "north-sea", "main-germany") == facts[:4]
    assert around(kb, 5) == []
    assert around(kb, 5, "zzyzx") == []
