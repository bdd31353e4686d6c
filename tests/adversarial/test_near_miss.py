"""Tests that near-miss labels are proved, strategies balanced, and output files reproducible."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from card_triples import read_card_triples
from stage_calls import PRODUCT, run_epoche

from adversarial.hardness import WEIGHTS, compute_hardness
from adversarial.make_near_miss import main
from adversarial.near_miss import NearMisses, NearMissPlan, make_near_misses
from adversarial.strategies import STRATEGIES, TruePairs
from cards.card import read_cards
from cards.generation.graph_lookup import GraphLookup
from cards.generation.rng import rng_for
from kg.base.errors import DomainError, QuotaError
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.oracle import Oracle

ROOT = Path(__file__).parents[2]
VOCABULARY = "https://epoche.example/rivers#"


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return KnowledgeBase.open("rivers")


@pytest.fixture(scope="module")
def near_misses(rivers: KnowledgeBase) -> NearMisses:
    return make_near_misses(rivers, NearMissPlan(num=120, seed=5))


def test_near_misses_are_spread_over_all_strategies(near_misses: NearMisses) -> None:
    assert near_misses.missing == 0
    assert len(near_misses.cards) == 120
    assert set(near_misses.counts) == set(STRATEGIES)
    sizes = [sum(label_counts.values()) for label_counts in near_misses.counts.values()]
    assert min(sizes) > 0
    assert Counter(card.kind for card in near_misses.cards) == {
        f"near-miss/{name}": sum(label_counts.values())
        for name, label_counts in near_misses.counts.items()
    }


def test_every_near_miss_is_proved_on_graph_and_card(
    rivers: KnowledgeBase, near_misses: NearMisses
) -> None:
    assert {card.label for card in near_misses.cards} == {"C", "U"}
    for card in near_misses.cards:
        assert rivers.oracle.license(card.claim).label == card.label
        rules = rivers.verbaliser.get_rules(card.claim.pred)
        shapes = rivers.shapes.select_shapes([shape for rule in rules for shape in rule.shapes])
        axioms = [axiom for rule in rules for axiom in rule.axioms]
        graph = Graph.from_claims([*read_card_triples(card.meta["triples"]), *axioms])
        card_oracle = Oracle(graph, shapes, regime=rivers.domain.regime)
        assert card_oracle.license(card.claim).label == card.label, card.question


def test_claims_are_unique_and_ids_opaque(near_misses: NearMisses) -> None:
    assert len({card.claim for card in near_misses.cards}) == len(near_misses.cards)
    assert len({card.id for card in near_misses.cards}) == len(near_misses.cards)
    assert not any("near" in card.id for card in near_misses.cards)


def test_hardness_is_the_documented_sum(near_misses: NearMisses) -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    for card in near_misses.cards:
        parts = card.meta["hardness_parts"]
        assert all(0 <= value <= 1 for value in parts.values())
        total = sum(WEIGHTS[name] * value for name, value in parts.items())
        assert card.meta["hardness"] == pytest.approx(total, abs=1e-3)
    assert len({card.meta["hardness"] for card in near_misses.cards}) > 20


def test_strategies_choose_the_documented_objects(rivers: KnowledgeBase) -> None:
    lookup = GraphLookup(rivers)
    predicate = lookup.intern_term(VOCABULARY + "flowsInto")
    true_pairs = TruePairs(lookup, predicate, rng_for(1))
    rivers_iri = "https://epoche.example/rivers/"
    # A river whose mouth itself flows into exactly one thing, the only "downstream" object.
    s, o = next(
        pair
        for pair in lookup.graph_index.iter_pairs(predicate)
        if len(lookup.closure_index.find_objects(pair[1], predicate)) == 1
    )
    downstream_objects = [c.wrong_object for c in STRATEGIES["downstream"](true_pairs, s, o)]
    assert downstream_objects == list(lookup.closure_index.find_objects(o, predicate))
    inverse = next(STRATEGIES["inverse"](true_pairs, s, o))
    assert (inverse.subject, inverse.wrong_object) == (o, s)
    for name in ("swapped-subjects", "similar-name", "popularity", "sibling"):
        for candidate in STRATEGIES[name](true_pairs, s, o):
            assert candidate.subject == s
            assert candidate.wrong_object != o
    assert not list(STRATEGIES["numeric"](true_pairs, s, o))
    identical_hardness, _ = compute_hardness(lookup, predicate, o, o)
    distant_hardness, _ = compute_hardness(
        lookup, predicate, lookup.intern_term(rivers_iri + "germany"), o
    )
    assert identical_hardness > distant_hardness


def test_unknown_near_misses_make_sense(rivers: KnowledgeBase) -> None:
    # "The Alps have their source in the Inn" contradicts nothing, but makes no sense: an unknown
    # near-miss must be about a river.
    result = make_near_misses(rivers, NearMissPlan(strategies=("inverse",), num=60, seed=3))
    lookup = GraphLookup(rivers)
    river = lookup.intern_term(VOCABULARY + "River")
    # Most of the 60 inverted claims contradict the graph.
    assert result.counts["inverse"]["C"] > 50
    for card in result.cards:
        assert card.label == "C" or river in lookup.get_types(
            lookup.intern_term(card.claim.subj)
        ), card.question


def test_numeric_strategy_never_offers_the_true_value(rivers: KnowledgeBase) -> None:
    lookup = GraphLookup(rivers)
    predicate = lookup.intern_term(VOCABULARY + "length")
    true_pairs = TruePairs(lookup, predicate, rng_for(1))
    s, o = next(iter(lookup.graph_index.iter_pairs(predicate)))
    values = [value for value, _ in true_pairs.numeric_objects]
    assert values == sorted(values)
    wrong_objects = [c.wrong_object for c in STRATEGIES["numeric"](true_pairs, s, o)]
    assert wrong_objects
    assert o not in wrong_objects


def test_with_entailed_adds_true_partners(rivers: KnowledgeBase) -> None:
    predicates = (VOCABULARY + "flowsInto",)
    result = make_near_misses(
        rivers, NearMissPlan(predicates=predicates, num=40, with_entailed=True)
    )
    labels_by_context: dict[str, set[str]] = defaultdict(set)
    for card in result.cards:
        labels_by_context[card.meta["context"]].add(card.label)
    entailed_cards = [card for card in result.cards if card.label == "E"]
    assert len(entailed_cards) >= 20
    assert all("E" in labels_by_context[card.meta["context"]] for card in entailed_cards)
    assert all(rivers.oracle.closure.has_claim(card.claim) for card in entailed_cards)


def test_strategy_flag_restricts_cards_and_rejects_bad_values(tmp_path: Path) -> None:
    out = tmp_path / "n.jsonl"
    main(out=out, domain="rivers", pred=["flowsInto"], num=10, strategy=["downstream"])
    assert {card.kind for card in read_cards(out)} == {"near-miss/downstream"}
    with pytest.raises(DomainError, match="unknown strategy"):
        main(out=out, domain="rivers", num=3, strategy=["downhill"])
    with pytest.raises(QuotaError, match="near-misses"):
        main(out=out, domain="rivers", pred=["flowsInto"], num=10, strategy=["numeric"])


def test_mayors_domain_gives_near_misses(tmp_path: Path) -> None:
    out = tmp_path / "n.jsonl"
    main(out=out, domain="mayors", num=6)
    assert len(read_cards(out)) == 6


def test_hash_seed_does_not_change_the_bytes(tmp_path: Path) -> None:
    outputs = []
    for hash_seed in ("0", "99"):
        out = tmp_path / hash_seed / "n.jsonl"
        subprocess.run(
            [
                sys.executable,
                PRODUCT / "adversarial/make_near_miss.py",
                *("--out", str(out), "--num", "40"),
            ],
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]


def test_help_names_every_strategy() -> None:
    help_text = subprocess.run(
        [sys.executable, "-m", "epoche", "near-miss", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "400"},
    ).stdout
    assert all(name in help_text for name in STRATEGIES)


def test_help_lists_every_strategy() -> None:
    printed = " ".join(run_epoche("near-miss", "--help").out.split())
    assert [name for name in STRATEGIES if name not in printed] == []
