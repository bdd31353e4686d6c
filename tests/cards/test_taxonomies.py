"""Tests cards about taxonomies: unknown claims stay in one branch, and places tell no label."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from stage_calls import run_epoche

from cards.card import Card
from cards.card_set import CardSet
from cards.generation.card_plan import CardPlan
from cards.generation.graph_lookup import GraphLookup
from cards.generation.kinds import IRREFLEXIVE, is_reflexive
from cards.generation.taxonomies.taxonomy import Taxonomy, is_taxonomy
from cards.generator import make_cards
from kg.knowledge import KnowledgeBase

N_LEVELS, N_CHILDREN = 5, 3
KIND_OF = "urn:epoche:kind-of"


def write_ontology(path: Path) -> Path:
    """Writes a tree of classes with pronounceable names, three below each."""
    lines = [
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .",
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
        "@prefix : <http://example.org/> .",
    ]
    level = [""]
    for _ in range(N_LEVELS):
        following = []
        for parent in level:
            for number in range(N_CHILDREN):
                code = f"{parent}{number}"
                lines.append(f':c{code} a owl:Class ; rdfs:label "{make_name(code)}"@en .')
                if parent:
                    lines.append(f":c{code} rdfs:subClassOf :c{parent} .")
                following.append(code)
        level = following
    path.write_text("\n".join(lines), "utf-8")
    return path


def make_name(code: str) -> str:
    """Makes one word of equal length for each code."""
    number = int(code, N_CHILDREN) + N_CHILDREN ** len(code)
    syllables = []
    for _ in range(3):
        number, rest = divmod(number, 20)
        syllables.append("bcdfghjklmnprstvwxyz"[rest] + "aeiou"[(rest + number) % 5])
    return "".join(syllables)


@pytest.fixture(scope="module")
def ontology(tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, CardSet]:
    """Cards about a tree of classes."""
    folder = tmp_path_factory.mktemp("ontology")
    run_epoche("kg", "init", write_ontology(folder / "classes.ttl"), "--out", folder / "domain")
    kb = KnowledgeBase.open(str(folder / "domain"))
    return kb, make_cards(kb, CardPlan(per_label=8))


def group_triplets(cards: CardSet) -> list[dict[str, Card]]:
    """Groups the cards that share their facts by label."""
    triplets: dict[tuple[str, ...], dict[str, Card]] = defaultdict(dict)
    for card in cards.cards:
        triplets[tuple(sorted(card.facts))][card.label] = card
    return list(triplets.values())


def test_unknown_claims_are_about_one_branch(ontology: tuple[KnowledgeBase, CardSet]) -> None:
    kb, cards = ontology
    lookup = GraphLookup(kb)
    p = lookup.intern_term(KIND_OF)
    taxonomy = Taxonomy(lookup, p, "subj")
    unknown = [card for card in cards.cards if card.label == "U"]
    assert unknown
    for card in unknown:
        s, o = lookup.intern_term(card.claim.subj), lookup.intern_term(card.claim.obj)
        is_true = taxonomy.is_true(s, o)
        assert is_true == (card.meta["full_label"] == "E")
        assert is_true or o in taxonomy.list_relatives(s) or s in taxonomy.list_relatives(o)
        assert not lookup.closure_index.has_triple(o, p, s)


def test_claims_of_a_triplet_share_a_side_and_links(
    ontology: tuple[KnowledgeBase, CardSet],
) -> None:
    for triplet in group_triplets(ontology[1]):
        assert set(triplet) == {"E", "C", "U"}
        subjects = {card.claim.subj for card in triplet.values()}
        objects = {card.claim.obj for card in triplet.values()}
        assert 1 in (len(subjects), len(objects))
        if len(subjects) > 1:
            # As much is above and below each of them on the card.
            name = ontology[0].verbaliser.render_term
            kind_of = " is a kind of "
            facts = [f[:-1].casefold().split(kind_of) for f in triplet["E"].facts if kind_of in f]
            places = {
                tuple(sum(fact[side] == name(s).casefold() for fact in facts) for side in (0, 1))
                for s in subjects
            }
            assert len(places) == 1


def test_no_class_is_said_to_be_no_kind_of_itself(
    ontology: tuple[KnowledgeBase, CardSet],
) -> None:
    kb, cards = ontology
    lookup = GraphLookup(kb)
    assert is_reflexive(lookup, lookup.intern_term(KIND_OF))
    assert not is_reflexive(lookup, lookup.intern_term("http://example.org/partOf"))
    kinds = Counter(card.kind for card in cards.cards)
    assert kinds[IRREFLEXIVE] == 0
    assert all(card.claim.subj != card.claim.obj for card in cards.cards)


def test_rivers_are_no_taxonomy() -> None:
    lookup = GraphLookup(KnowledgeBase.open("rivers"))
    assert not any(is_taxonomy(lookup, p) for p in lookup.fact_predicates)


def test_relatives_are_neither_above_nor_below(ontology: tuple[KnowledgeBase, CardSet]) -> None:
    lookup = GraphLookup(ontology[0])
    p = lookup.intern_term(KIND_OF)
    taxonomy = Taxonomy(lookup, p, "subj")
    term = lookup.intern_term("http://example.org/c0000")
    relatives = taxonomy.list_relatives(term)
    names = {lookup.terms.get_text(x).rpartition("/")[2] for x in relatives}
    assert {"c0001", "c001", "c0010"} <= names
    assert names.isdisjoint({"c0000", "c000", "c00", "c00000", "c1", "c0100"})
