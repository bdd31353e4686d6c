"""Tests of the synthlink domain, whose graph has the facts behind the SynthLink questions."""

from __future__ import annotations

import re
from functools import cache

import pytest

from cards.generation.card_plan import CardPlan
from cards.generator import make_cards
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.terms import XSD, write_literal

VOCABULARY = "https://epoche.example/synthlink#"
ENTITIES = "https://epoche.example/synthlink/"


@cache
def open_domain() -> KnowledgeBase:
    return KnowledgeBase.open("synthlink")


def get_label(subj: str, pred: str, obj: str) -> str:
    value = write_literal(obj, XSD + "integer") if obj.isdigit() else ENTITIES + obj
    return open_domain().oracle.license(Claim(ENTITIES + subj, VOCABULARY + pred, value)).label


def test_loads_without_violations() -> None:
    assert open_domain().oracle.find_violations() == ()


@pytest.mark.parametrize(
    ("subj", "pred", "obj", "label"),
    [
        ("haitian-revolution", "ledTo", "defeat-of-the-french-expedition-to-saint-domingue", "E"),
        ("haitian-revolution", "ledTo", "peasants-revolt", "U"),
        ("haitian-revolution", "ledTo", "toussaint-louverture", "C"),  # a person
        ("haitian-revolution", "ledTo", "haitian-revolution", "C"),  # itself
        ("lewis-and-clark-expedition", "ledTo", "louisiana-purchase", "C"),  # its cause
        ("lewis-and-clark-expedition", "ledTo", "haitian-revolution", "C"),  # an earlier cause
        ("transistor", "enabled", "integrated-circuit", "E"),
        ("intel-4004", "enabled", "transistor", "C"),  # its cause, two steps back
        ("transistor", "enabled", "united-states", "C"),  # a country
        ("transistor", "cameThrough", "walter-brattain", "E"),
        ("transistor", "cameThrough", "peter-shor", "U"),  # the list of inventors may be incomplete
        ("transistor", "cameThrough", "integrated-circuit", "C"),
        ("transistor", "appearedIn", "1947", "E"),
        ("transistor", "appearedIn", "1948", "C"),
        ("statute-of-labourers", "adoptedIn", "1350", "C"),
        ("new-york-s-factory-safety-laws", "adoptedIn", "1913", "U"),
        ("british-raj", "endedIn", "1947", "E"),
        ("british-raj", "endedIn", "1857", "C"),
        ("haitian-revolution", "endedIn", "1780", "C"),  # before it began
        ("haitian-revolution", "endedIn", "1804", "U"),
        ("perry-expedition", "ledBy", "matthew-perry", "E"),
        ("perry-expedition", "ledBy", "japan", "C"),
        ("meiji-restoration", "country", "japan", "E"),
        ("meiji-restoration", "country", "poland", "C"),
        ("perry-expedition", "country", "japan", "U"),
        ("americans-with-disabilities-act", "signedBy", "jimmy-carter", "C"),
        ("haber-process", "earned", "nobel-prize-in-chemistry-1918", "E"),
        ("haber-process", "earned", "basf", "C"),
        ("dutch-exports-of-natural-gas", "reduced", "exchange-rate-of-the-guilder", "C"),
        ("natural-indigo", "replaced", "synthetic-indigo", "C"),
    ],
)  # fmt: skip
def test_claims_have_the_expected_labels(subj: str, pred: str, obj: str, label: str) -> None:
    assert get_label(subj, pred, obj) == label


def test_rules_cite_every_shape() -> None:
    kb = open_domain()
    assert {shape for rule in kb.domain.rules for shape in rule.shapes} == set(
        kb.shapes.list_iris()
    )


def test_every_predicate_has_a_rule_and_a_claim() -> None:
    kb = open_domain()
    predicates_with_rule = {pred for rule in kb.domain.rules for pred in rule.predicates}
    assert predicates_with_rule == set(kb.domain.predicates)
    for pred in kb.domain.predicates:
        assert next(iter(kb.graph.iter_claims(pred)), None) is not None, pred


def test_every_entity_has_one_class() -> None:
    """The classes are disjoint, so every entity in a claim must have exactly one."""
    kb = open_domain()
    classes_by_entity: dict[str, list[str]] = {}
    for claim in kb.graph.iter_claims("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"):
        if claim.subj.startswith(ENTITIES):
            classes_by_entity.setdefault(claim.subj, []).append(claim.obj)
    entities_in_claims = {
        claim.subj for pred in kb.domain.predicates for claim in kb.graph.iter_claims(pred)
    }
    entities_in_claims |= {
        claim.obj
        for pred in kb.domain.predicates
        for claim in kb.graph.iter_claims(pred)
        if claim.obj.startswith(ENTITIES)
    }
    assert set(classes_by_entity) == entities_in_claims
    assert all(len(classes) == 1 for classes in classes_by_entity.values())


def test_sentences_are_well_formed() -> None:
    kb = open_domain()
    for pred in kb.domain.predicates:
        for claim in kb.graph.iter_claims(pred):
            fact = kb.verbaliser.render_fact(claim)
            for sentence in [
                fact,
                kb.verbaliser.render_denial(claim),
                *kb.verbaliser.render_questions(claim),
            ]:
                # The term "p-type" keeps its small letter.
                assert sentence[0].isupper() or sentence.startswith("p-type"), sentence
                assert re.search(r"[^ .?][.?]$", sentence), sentence
                assert "the the " not in sentence.casefold()
            assert not re.search(r"\d,\d{3}\b", fact), f"a year with a separator: {fact}"


def test_cards_of_all_three_labels_with_proofs() -> None:
    card_set = make_cards(open_domain(), CardPlan(per_label=10, seed=42))
    labels = [card.label for card in card_set.cards]
    assert {label: labels.count(label) for label in ("E", "C", "U")} == {"E": 10, "C": 10, "U": 10}
    for card in card_set.cards:
        assert card.proof is not None
        verdict = card_set.kb.oracle.license(card.claim)
        assert verdict.label == card.label
    second_set = make_cards(open_domain(), CardPlan(per_label=10, seed=42))
    assert [card.id for card in second_set.cards] == [card.id for card in card_set.cards]
