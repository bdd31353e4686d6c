"""Tests that facts about entities are ordered, complete, free of schema triples, and unique."""

from __future__ import annotations

import pytest

from kg.knowledge import KnowledgeBase
from retrieval.neighbourhood import collect_nearby_facts

RIVER = "https://epoche.example/rivers/"


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open_cached("rivers")


def list_facts_around(kb: KnowledgeBase, limit: int, *names: str) -> list[str]:
    return collect_nearby_facts(kb.graph, kb.verbaliser, [RIVER + name for name in names], limit)


def test_facts_joining_two_entities_come_first(kb: KnowledgeBase) -> None:
    assert list_facts_around(kb, 1, "north-sea", "rhine") == ["The Rhine flows into the North Sea."]


def test_all_asserted_facts_of_an_entity_and_no_others(kb: KnowledgeBase) -> None:
    facts = list_facts_around(kb, 10_000, "rhine")
    assert len(set(facts)) == len(facts)
    assert all("Rhine" in fact for fact in facts)
    expected = {
        kb.verbaliser.render_fact(claim)
        for claim in kb.graph.iter_claims()
        if f"{RIVER}rhine" in (claim.subj, claim.obj) and claim.pred in kb.domain.predicates
    }
    assert expected <= set(facts)
    assert not any("individual" in fact or "label" in fact for fact in facts)


def test_denials_are_included(kb: KnowledgeBase) -> None:
    from kg.validation.denials import iter_denials

    get_text = kb.graph.index.terms.get_text
    denial = next(iter(iter_denials(kb.graph.index)))
    facts = collect_nearby_facts(kb.graph, kb.verbaliser, [get_text(denial.s)], 50)
    assert any(" not " in fact or " neither " in fact for fact in facts)


def test_facts_of_several_entities_alternate(kb: KnowledgeBase) -> None:
    facts = list_facts_around(kb, 8, "north-sea", "main-germany", "zzyzx")
    assert len(facts) == 8
    assert sum("Main" in fact for fact in facts) >= 3
    assert list_facts_around(kb, 4, "north-sea", "main-germany") == facts[:4]
    assert list_facts_around(kb, 5) == []
    assert list_facts_around(kb, 5, "zzyzx") == []
