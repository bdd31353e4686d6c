"""Near-misses: labels are proved, strategies balanced, and the bytes reproducible."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from adversarial.hardness import WEIGHTS, compute_hardness
from adversarial.make_near_miss import main
from adversarial.near_miss import NearMisses, NearMissPlan, make_near_misses
from adversarial.strategies import STRATEGIES, TruePairs
from cards.card import read_cards
from cards.facts import parse_meta_triples
from cards.graph_lookup import GraphLookup
from cards.rng import rng_for
from kg.base.errors import DomainError, QuotaError
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.oracle import Oracle

ROOT = Path(__file__).parents[2]
WM = "https://epoche.example/rivers#"


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
    sizes = [sum(found.values()) for found in near_misses.counts.values()]
    assert min(sizes) > 0
    assert Counter(card.kind for card in near_misses.cards) == {
        f"near-miss/{name}": sum(found.values()) for name, found in near_misses.counts.items()
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
        graph = Graph.from_claims([*parse_meta_triples(card.meta["triples"]), *axioms])
        local = Oracle(graph, shapes, regime=rivers.domain.regime)
        assert local.license(card.claim).label == card.label, card.question


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
    world = GraphLookup(rivers)
    p = world.intern_term(WM + "flowsInto")
    ground = TruePairs(world, p, rng_for(1))
    base = "https://epoche.example/rivers/"
    s, o = next(
        pair
        for pair in world.graph_index.iter_pairs(p)
        if len(world.closure_index.find_objects(pair[1], p)) == 1
    )
    down = [c.wrong for c in STRATEGIES["downstream"](ground, s, o)]
    assert down == list(world.closure_index.find_objects(o, p))
    back = next(STRATEGIES["inverse"](ground, s, o))
    assert (back.subject, back.wrong) == (o, s)
    for name in ("swapped-subjects", "similar-name", "popularity", "sibling"):
        for candidate in STRATEGIES[name](ground, s, o):
            assert candidate.subject == s
            assert candidate.wrong != o
    assert not list(STRATEGIES["numeric"](ground, s, o))
    twin, _ = compute_hardness(world, p, o, o)
    far, _ = compute_hardness(world, p, world.intern_term(base + "germany"), o)
    assert twin > far


def test_unknown_near_misses_make_sense(rivers: KnowledgeBase) -> None:
    # "The Inn has its source in the Alps" inverted is no contradiction, only nonsense.
    made = make_near_misses(rivers, NearMissPlan(strategies=("inverse",), num=60, seed=3))
    world = GraphLookup(rivers)
    river = world.intern_term(WM + "River")
    assert made.counts["inverse"]["C"] > 50
    for card in made.cards:
        assert card.label == "C" or river in world.get_types(world.intern_term(card.claim.subj)), (
            card.question
        )


def test_numeric_takes_the_nearest_values(rivers: KnowledgeBase) -> None:
    world = GraphLookup(rivers)
    p = world.intern_term(WM + "length")
    ground = TruePairs(world, p, rng_for(1))
    s, o = next(iter(world.graph_index.iter_pairs(p)))
    values = [value for value, _ in ground.numeric_objects]
    assert values == sorted(values)
    wrong = [c.wrong for c in STRATEGIES["numeric"](ground, s, o)]
    assert wrong
    assert o not in wrong


def test_with_entailed_adds_true_partners(rivers: KnowledgeBase) -> None:
    flows = (WM + "flowsInto",)
    made = make_near_misses(rivers, NearMissPlan(predicates=flows, num=40, with_entailed=True))
    contexts: dict[str, set[str]] = defaultdict(set)
    for card in made.cards:
        contexts[card.meta["context"]].add(card.label)
    entailed = [card for card in made.cards if card.label == "E"]
    assert len(entailed) >= 20
    assert all("E" in contexts[card.meta["context"]] for card in entailed)
    assert all(rivers.oracle.closure.has_claim(card.claim) for card in entailed)


def test_restricting_to_a_strategy_and_errors(tmp_path: Path) -> None:
    out = tmp_path / "n.jsonl"
    main(out=out, domain="rivers", pred=["flowsInto"], num=10, strategy=["downstream"])
    assert {card.kind for card in read_cards(out)} == {"near-miss/downstream"}
    with pytest.raises(DomainError, match="unknown strategy"):
        main(out=out, domain="rivers", num=3, strategy=["downhill"])
    with pytest.raises(QuotaError, match="near-misses"):
        main(out=out, domain="rivers", pred=["flowsInto"], num=10, strategy=["numeric"])


def test_mayors_give_near_misses(tmp_path: Path) -> None:
    out = tmp_path / "n.jsonl"
    main(out=out, domain="mayors", num=6)
    assert len(read_cards(out)) == 6


def test_hash_seed_does_not_change_the_bytes(tmp_path: Path) -> None:
    found = []
    for hash_seed in ("0", "99"):
        out = tmp_path / hash_seed / "n.jsonl"
        subprocess.run(
            [sys.executable, "adversarial/make_near_miss.py", "--out", str(out), "--num", "40"],
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        found.append(out.read_bytes())
    assert found[0] == found[1]


def test_help_names_every_strategy() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "epoche", "near-miss", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "400"},
    ).stdout
    assert all(name in said for name in STRATEGIES)
