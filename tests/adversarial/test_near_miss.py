"""Tests that near-miss labels are proved, strategies balanced, and output files reproducible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import msgspec
import pytest
from card_triples import read_card_triples
from stage_calls import PRODUCT, run_epoche

from adversarial.hardness import WEIGHTS, compute_hardness
from adversarial.make_near_miss import main
from adversarial.near_miss import NearMisses, NearMissPlan, make_near_misses
from adversarial.strategies import STRATEGIES, TruePairs
from cards.card import Card, read_cards
from cards.generation.graph_lookup import GraphLookup
from cards.generation.rng import rng_for
from cards.leakage.redraw import audit_new_cards, draw_without_leaks
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
    assert not near_misses.missing
    assert not near_misses.notes
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


def test_pairs_differ_in_one_entity_only(near_misses: NearMisses) -> None:
    pairs: dict[str, list[Card]] = defaultdict(list)
    for card in near_misses.cards:
        pairs[card.meta["context"]].append(card)
    assert Counter(card.label for card in near_misses.cards) == {"C": 60, "U": 60}
    for context, cards in pairs.items():
        assert Counter(card.label for card in cards)["C"] * 2 == len(cards), context
        assert len({tuple(sorted(card.facts)) for card in cards}) == 1
        assert len({(card.kind, card.claim.pred, card.meta["hardness"]) for card in cards}) <= (
            len(cards) // 2
        )
        if len(cards) == 2:
            first, second = cards
            same = first.claim.subj == second.claim.subj, first.claim.obj == second.claim.obj
            assert sorted(same) == [False, True]
            assert sum(card.meta["proposed"] for card in cards) == 1


@pytest.mark.parametrize("with_entailed", [False, True])
def test_nothing_gives_the_label_of_near_misses_away(
    rivers: KnowledgeBase, with_entailed: bool
) -> None:
    """Without pairs, words and counts predict 95 % of the labels, 81 % of which are C."""
    audit = draw_without_leaks(
        lambda number, _: make_near_misses(
            rivers, NearMissPlan(num=300, seed=12345 + number, with_entailed=with_entailed)
        ),
        lambda drawn: audit_new_cards(rivers, drawn.cards),
    ).audit
    assert audit.tests == 13
    assert not audit.leaks


@pytest.mark.parametrize("num", [1, 2, 7])
def test_odd_numbers_have_one_more_false_near_miss(rivers: KnowledgeBase, num: int) -> None:
    result = make_near_misses(rivers, NearMissPlan(num=num))
    counts = Counter(card.label for card in result.cards)
    assert (counts["C"], counts["U"]) == ((num + 1) // 2, num // 2)
    assert not result.missing


def test_inverted_claims_make_sense(rivers: KnowledgeBase) -> None:
    # "Does the course of Russia touch the Pinega?" contradicts the shapes, but is absurd: what is
    # asked about must be a river, as all subjects are.
    result = make_near_misses(rivers, NearMissPlan(strategies=("inverse",), num=60, seed=3))
    lookup = GraphLookup(rivers)
    assert len(result.cards) == 60
    for card in result.cards:
        subjects = lookup.list_subjects(lookup.intern_term(card.claim.pred), asserted_only=False)
        classes = {c for s in subjects for c in lookup.get_types(s)}
        assert classes.issuperset(lookup.get_types(lookup.intern_term(card.claim.subj)))
    spans = VOCABULARY + "traverses"
    result = make_near_misses(
        rivers, NearMissPlan(predicates=(spans,), strategies=("inverse",), num=10)
    )
    assert not result.cards
    assert result.missing == {"C": 5, "U": 5}
    assert any("make no sense to a reader" in note for note in result.notes)


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


def test_no_near_miss_repeats_an_existing_card(
    rivers: KnowledgeBase, near_misses: NearMisses
) -> None:
    plan = NearMissPlan(num=120, seed=5)
    repeated = near_misses.cards[:20]
    # Neither with the same question nor with another one about the same claim.
    existing = [
        *(msgspec.structs.replace(card, question="Another one?") for card in repeated[:10]),
        *repeated[10:],
    ]
    cards = make_near_misses(rivers, plan, existing=existing).cards
    contents = {(frozenset(card.facts), card.claim) for card in cards}
    assert not any((frozenset(card.facts), card.claim) in contents for card in repeated)
    assert len(cards) == len(near_misses.cards)


def test_with_entailed_adds_true_partners(rivers: KnowledgeBase) -> None:
    predicates = (VOCABULARY + "flowsInto",)
    result = make_near_misses(
        rivers, NearMissPlan(predicates=predicates, num=40, with_entailed=True)
    )
    labels_by_context: dict[str, set[str]] = defaultdict(set)
    for card in result.cards:
        labels_by_context[card.meta["context"]].add(card.label)
    entailed_cards = [card for card in result.cards if card.label == "E"]
    assert len(entailed_cards) >= 12
    assert all("E" in labels_by_context[card.meta["context"]] for card in entailed_cards)
    assert all(rivers.oracle.closure.has_claim(card.claim) for card in entailed_cards)
    # So they enter the headline of a joined set no more than their near-misses do.
    assert all(card.kind.startswith("near-miss/") for card in result.cards)


def test_strategy_flag_restricts_cards_and_rejects_bad_values(tmp_path: Path) -> None:
    out = tmp_path / "n.jsonl"
    main(out=out, domain="rivers", pred=["flowsInto"], num=10, strategy=["downstream"])
    assert {card.kind for card in read_cards(out)} == {"near-miss/downstream"}
    with pytest.raises(DomainError, match="unknown strategy"):
        main(out=out, domain="rivers", num=3, strategy=["downhill"])
    with pytest.raises(QuotaError, match="near-misses"):
        main(out=out, domain="rivers", pred=["flowsInto"], num=10, strategy=["numeric"])


def draw_mayors(folder: Path) -> Path:
    """Draws cards of mayors, so that something is unknown: the graph itself has every mayor."""
    cards = folder / "c.jsonl"
    done = run_epoche("cards", "--domain", "mayors", "--num-per-type", 6, "--out", cards)
    assert done.code == 0, done.err
    return cards


def test_mayors_domain_gives_near_misses(tmp_path: Path) -> None:
    out = tmp_path / "n.jsonl"
    main(out=out, domain="mayors", cards=draw_mayors(tmp_path), num=6)
    assert Counter(card.label for card in read_cards(out)) == {"C": 3, "U": 3}


def test_missing_near_misses_are_counted_by_label_with_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "n.jsonl"
    main(out=out, domain="mayors", cards=draw_mayors(tmp_path), num=2000)
    cards = read_cards(out)
    counts = Counter(card.label for card in cards)
    assert counts["C"] == counts["U"] < 1000
    missing = 1000 - counts["C"]
    printed = capsys.readouterr().err
    assert f"of 2000 near-misses, {missing} false and {missing} unknown: of the wrong" in printed
    assert "have no similar partner with the other label" in printed
    manifest = json.loads((tmp_path / "n.manifest.json").read_text("utf-8"))
    assert manifest["counts"]["missing"] == {"C": missing, "U": missing}


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
