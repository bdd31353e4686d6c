"""Tests that card labels are proved on graph and card, no surface leaks, and bytes reproducible."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pyoxigraph
import pytest
from card_triples import read_card_triples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stage_calls import PRODUCT, run_epoche

from cards.audit_labels import main as audit_main
from cards.card import Card, read_cards
from cards.card_set import CardSet
from cards.generation.card_maker import choose_shares
from cards.generation.card_plan import CardPlan
from cards.generation.entity_sampler import EntitySampler
from cards.generation.kinds import FAITHFULNESS_KINDS
from cards.generation.set_aside import share_equally
from cards.generator import make_cards
from cards.leakage.audit import audit_cards
from cards.leakage.surface import FEATURE_NAMES, compute_features, read_surface
from cards.make_context_cards import main
from kg.base.errors import (
    AuditFailedError,
    DomainError,
    InvalidGraphError,
    QuotaError,
    UnknownPredicateError,
)
from kg.base.provenance import manifest_path
from kg.claims import Claim
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.oracle import Oracle
from kg.terms import RDF_TYPE, RDFS

ROOT = Path(__file__).parents[2]
EX = "https://example.org/"

SHAPES = f"""
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ex: <{EX}> .
ex:OneBoss a sh:PropertyShape ; sh:targetSubjectsOf ex:worksFor ; sh:path ex:worksFor ;
    sh:maxCount 1 ; sh:message "A person works for one firm." .
ex:AgeShape a sh:PropertyShape ; sh:targetSubjectsOf ex:joined ; sh:path ex:joined ;
    sh:lessThan ex:left ; sh:message "Who leaves has joined before." .
"""


def write_graph(
    folder: Path, people: int, seed: int, *, employed_share: float = 0.7
) -> tuple[Path, Path]:
    """Writes a graph of people, firms and towns, and its shapes; some people have no known firm."""
    rng = random.Random(seed)
    lines = [f"@prefix ex: <{EX}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    names = ["Ada", "Bo", "Cy", "Di", "Eve", "Fay", "Gus", "Hal"]
    for n in range(people):
        lines.append(
            f'ex:p{n} a ex:Person ; rdfs:label "{rng.choice(names)} {chr(65 + n % 26)}{n}" .'
        )
        if rng.random() < employed_share:
            lines.append(f"ex:p{n} ex:worksFor ex:f{rng.randrange(6)} .")
        lines.append(f"ex:p{n} ex:livesIn ex:t{rng.randrange(5)} .")
        lines.append(f"ex:p{n} ex:knows ex:t{rng.randrange(5)} .")
    lines += [f'ex:f{n} a ex:Firm ; rdfs:label "Firm {n}" .' for n in range(6)]
    lines += [f'ex:t{n} a ex:Town ; rdfs:label "Town {n}" .' for n in range(5)]
    graph, shapes = folder / "graph.ttl", folder / "shapes.ttl"
    graph.write_text("\n".join(lines), encoding="utf-8")
    shapes.write_text(SHAPES, encoding="utf-8")
    return graph, shapes


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return KnowledgeBase.open("rivers")


@pytest.fixture(scope="module")
def card_set(rivers: KnowledgeBase) -> CardSet:
    return make_cards(rivers, CardPlan(per_label=90, seed=7))


def check_invariants(kb: KnowledgeBase, cards: list[Card]) -> None:
    """Checks what holds for every card set of three labels."""
    cards_by_context: dict[str, list[Card]] = defaultdict(list)
    for card in cards:
        cards_by_context[card.meta["context"]].append(card)
        assert re.fullmatch(r"[0-9a-f]{16}", card.id)
        assert card.cluster == card.claim.subj
        verdict = kb.oracle.license(card.claim)
        assert verdict.label == card.label
        assert kb.oracle.closure.has_claim(card.claim) == (card.label == "E")
    assert len({card.id for card in cards}) == len(cards)
    assert len({card.question for card in cards}) == len(cards)
    assert len({card.claim for card in cards}) == len(cards)
    for siblings in cards_by_context.values():
        assert sorted(card.label for card in siblings) == ["C", "E", "U"]
        assert len({tuple(sorted(card.facts)) for card in siblings}) == 1
        assert len({card.rules for card in siblings}) == 1
        # The three claims share a subject or an object.
        subjects_and_objects = [Counter((c.claim.subj, c.claim.obj)) for c in siblings]
        assert subjects_and_objects[0] & subjects_and_objects[1] & subjects_and_objects[2]


def prove_on_card(card: Card, kb: KnowledgeBase, engine: str = "incremental") -> str:
    """Returns the label by an oracle that has only the triples and rules of the card."""
    rules = kb.verbaliser.get_rules(card.claim.pred)
    triples = read_card_triples(card.meta["triples"])
    axioms = [axiom for rule in rules for axiom in rule.axioms]
    shapes = kb.shapes.select_shapes([shape for rule in rules for shape in rule.shapes])
    graph = Graph.from_claims([*triples, *axioms])
    return Oracle(graph, shapes, regime=kb.domain.regime, engine=engine).license(card.claim).label  # type: ignore[arg-type]


def test_rivers_fill_the_quota_with_many_kinds(card_set: CardSet) -> None:
    assert not card_set.missing
    assert Counter(card.label for card in card_set.cards) == {"E": 90, "C": 90, "U": 90}
    kinds = {card.kind for card in card_set.cards}
    assert {"asserted", "inferred", "functional", "denied", "numeric", "absent"} <= kinds
    assert kinds & {"asymmetric", "cycle"}
    assert len({card.claim.pred for card in card_set.cards}) >= 5
    assert {card.difficulty for card in card_set.cards} == {"easy", "medium", "hard"}


def check_set_aside(kb: KnowledgeBase, card_set: CardSet) -> None:
    """Checks what holds for the facts that were set aside, and for the U cards about them."""
    rest = set(card_set.kb.graph.iter_claims())
    assert rest.isdisjoint(card_set.set_aside)
    assert rest | set(card_set.set_aside) == set(kb.graph.iter_claims())
    assert not {fact.pred for fact in card_set.set_aside} & {RDF_TYPE, RDFS + "label"}
    subjects = {term for fact in card_set.set_aside for term in (fact.subj, fact.obj)}
    for card in card_set.cards:
        if card.label == "U" and card.kind not in FAITHFULNESS_KINDS:
            full_label = kb.oracle.license(card.claim).label
            assert card.meta["full_label"] == full_label
            assert {card.claim.subj, card.claim.obj} & subjects
        else:
            assert "full_label" not in card.meta
    for pred in kb.predicates:
        n_facts = sum(1 for _ in kb.graph.iter_claims(pred))
        if n_facts > 1000:
            assert sum(fact.pred == pred for fact in card_set.set_aside) <= n_facts / 10


def test_half_of_the_unknown_claims_are_true_where_values_are_shared(tmp_path: Path) -> None:
    graph, shapes = write_graph(tmp_path, 200, 5, employed_share=1.0)
    kb = KnowledgeBase.open(None, [graph], [shapes])
    card_set = make_cards(kb, CardPlan(per_label=21, predicates=(EX + "worksFor",)))
    assert not card_set.missing
    counts = Counter(c.meta["full_label"] for c in card_set.cards if c.label == "U")
    assert counts == {"E": 11, "C": 10}
    check_invariants(card_set.kb, list(card_set.cards))
    check_set_aside(kb, card_set)
    # A few more than needed, because not every proof succeeds; never the third part of all.
    assert 21 <= len(card_set.set_aside) <= 21 + 8


ONE_TOWN = (
    "ex:S a sh:PropertyShape ; sh:targetSubjectsOf ex:town ; sh:path ex:town ; sh:maxCount 1 ."
)


def open_graph(folder: Path, lines: list[str], shape: str) -> KnowledgeBase:
    """Writes a graph and a shape in Turtle, with the prefixes that they use, and opens them."""
    prefixes = (
        "@prefix ex: <https://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    )
    graph, shapes = folder / "g.ttl", folder / "s.ttl"
    graph.write_text(prefixes + "\n".join(lines), "utf-8")
    shapes.write_text(prefixes + shape, "utf-8")
    return KnowledgeBase.open(None, [graph], [shapes])


def to_letters(number: int) -> str:
    """Writes a number in letters: names made of digits are not readable."""
    return "".join(chr(97 + int(digit)) for digit in str(number))


def test_true_and_false_unknown_claims_ask_about_the_same_values(tmp_path: Path) -> None:
    """Half of the people have a town of their own, which no true claim could ask about."""
    lines = []
    for n in range(240):
        town = n if n % 2 else n // 2 % 12 * 2
        lines.append(
            f'ex:p{n} a ex:Person ; rdfs:label "P{to_letters(n)}" ; ex:town ex:t{town} ; '
            f"ex:age {n * 7 % 41 + 20} ."
        )
        lines.append(f'ex:t{town} a ex:Town ; rdfs:label "T{to_letters(town)}" .')
    kb = open_graph(tmp_path, lines, ONE_TOWN)
    for seed in (1, 2, 3):
        card_set = make_cards(kb, CardPlan(per_label=20, seed=seed, predicates=(EX + "town",)))
        assert not card_set.missing
        values = {fact.obj for fact in card_set.set_aside}
        assert {card.claim.obj for card in card_set.cards} <= values
        assert all(int(value.rpartition("t")[2]) % 2 == 0 for value in values)


def test_at_most_a_tenth_of_a_large_predicate_is_set_aside_for_both_sides(tmp_path: Path) -> None:
    lines = []
    for n in range(1101):
        part_of = f" ; ex:partOf ex:p{(n - 1) // 3}" if n else ""
        lines.append(
            f'ex:p{n} a ex:Part ; rdfs:label "P{to_letters(n)}"{part_of} ; ex:size {n % 97} .'
        )
    kb = open_graph(
        tmp_path,
        lines,
        "ex:S a sh:NodeShape ; sh:targetSubjectsOf ex:partOf ; sh:property\n"
        " [ sh:path [ sh:zeroOrMorePath [ sh:inversePath ex:partOf ] ] ; sh:disjoint ex:partOf ] .",
    )
    card_set = make_cards(kb, CardPlan(per_label=200, predicates=(EX + "partOf",)))
    check_set_aside(kb, card_set)
    assert len(card_set.set_aside) > 80


def test_facts_from_which_a_value_follows_are_set_aside_with_it(tmp_path: Path) -> None:
    graph, shapes = write_graph(tmp_path, 60, 5, employed_share=1.0)
    text = graph.read_text("utf-8")
    # The employer follows from the inverse, from a part of the property, and from a team's firm.
    text = re.sub(
        r"(ex:p\d+) ex:worksFor (ex:f\d+) \.", lambda m: _state_differently(*m.groups()), text
    )
    text += """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:employs owl:inverseOf ex:worksFor . ex:manages rdfs:subPropertyOf ex:worksFor .
ex:worksFor owl:propertyChainAxiom ( ex:inTeam ex:teamOf ) .
"""
    text += "".join(f"ex:team{n} ex:teamOf ex:f{n} ." for n in range(6))
    graph.write_text(text, "utf-8")
    kb = KnowledgeBase.open(None, [graph], [shapes])
    card_set = make_cards(kb, CardPlan(per_label=10, predicates=(EX + "worksFor",)))
    assert not card_set.missing
    check_invariants(card_set.kb, list(card_set.cards))
    check_set_aside(kb, card_set)
    predicates = {fact.pred.removeprefix(EX) for fact in card_set.set_aside}
    assert predicates >= {"employs", "manages", "inTeam"}


def _state_differently(person: str, firm: str) -> str:
    team = firm.replace("ex:f", "ex:team")
    return (
        f"{person} ex:worksFor {firm} .",
        f"{firm} ex:employs {person} . {person} ex:worksFor {firm} .",
        f"{person} ex:manages {firm} .",
        f"{person} ex:inTeam {team} .",
    )[int(person.removeprefix("ex:p")) % 4]


def test_rivers_cards_satisfy_the_invariants(rivers: KnowledgeBase, card_set: CardSet) -> None:
    check_invariants(card_set.kb, list(card_set.cards))
    check_set_aside(rivers, card_set)


def test_every_card_alone_proves_its_label(rivers: KnowledgeBase, card_set: CardSet) -> None:
    for card in card_set.cards:
        assert prove_on_card(card, rivers) == card.label, card.question


def test_pyshacl_reaches_the_same_labels(rivers: KnowledgeBase, card_set: CardSet) -> None:
    for card in card_set.cards[:12]:
        assert prove_on_card(card, rivers, "pyshacl") == card.label, card.question


def test_cards_are_not_sorted_by_label(card_set: CardSet) -> None:
    labels = [card.label for card in card_set.cards]
    label_changes = sum(label != next_label for label, next_label in itertools.pairwise(labels))
    assert label_changes > len(labels) / 2


def test_labels_have_equal_counts_of_facts_words_and_objects(card_set: CardSet) -> None:
    tables: dict[str, list[list[float]]] = {"E": [], "C": [], "U": []}
    for card in card_set.cards:
        tables[card.label].append(compute_features(card, read_surface(card)))
    for name in ("facts", "rules", "negated facts", "words in facts", "digits in facts"):
        column = FEATURE_NAMES.index(name)
        rows = [sorted(row[column] for row in tables[label]) for label in ("E", "C", "U")]
        assert rows[0] == rows[1] == rows[2], name
    objects_by_label = {
        label: Counter(
            card.claim.obj
            for card in card_set.cards
            if card.label == label and card.claim.pred.endswith("flowsInto")
        )
        for label in ("E", "C", "U")
    }
    assert objects_by_label["E"] == objects_by_label["C"] == objects_by_label["U"]


@pytest.mark.slow
def test_no_baseline_beats_chance_on_rivers(rivers: KnowledgeBase) -> None:
    seeds = range(1, 9)
    audits = [audit_cards(make_cards(rivers, CardPlan(seed=s)).cards, seed=s) for s in seeds]
    assert all(audit.labels == {"E": 200, "C": 200, "U": 200} for audit in audits)
    # By chance, one audit in twenty reports a leak; two of eight would mean a real leak.
    leaks = [[(b.name, b.accuracy, b.low) for b in audit.leaks] for audit in audits]
    assert sum(map(bool, leaks)) <= 1, leaks
    # The average over the sets reveals a bias that is too small to be seen in a single set.
    for baselines in zip(*(audit.baselines for audit in audits), strict=True):
        excess = sum(b.accuracy - b.chance for b in baselines) / len(baselines)
        # The strongest baseline, with all words and letters, is right 3 % more often than chance.
        assert excess <= 0.035, (baselines[0].name, excess)


def test_more_cards_need_a_derived_fact_if_asked_for(rivers: KnowledgeBase) -> None:
    needed: dict[float, Counter[str]] = {}
    for share in (0.0, 0.5):
        card_set = make_cards(rivers, CardPlan(per_label=60, derived_share=share))
        for card in card_set.cards:
            # Without a regime nothing is derived from the card's facts.
            graph = Graph.from_claims(read_card_triples(card.meta["triples"]))
            rules = rivers.verbaliser.get_rules(card.claim.pred)
            names = dict.fromkeys(shape for rule in rules for shape in rule.shapes)
            shapes = rivers.shapes.select_shapes(list(names))
            oracle = Oracle(graph, shapes, regime="none")
            is_derived = card.label != "U" and oracle.license(card.claim).label != card.label
            assert is_derived == card.meta.get("derived", False), card
        needed[share] = Counter(c.label for c in card_set.cards if "derived" in c.meta)
    assert needed[0.5]["E"] >= 1.4 * needed[0.0]["E"]
    assert needed[0.5]["C"] >= 1.2 * needed[0.0]["C"]
    # Half of them do, within a tolerance.
    assert min(needed[0.5]["E"], needed[0.5]["C"]) >= 25


@given(
    st.integers(1, 200),
    st.lists(st.tuples(st.integers(0, 300), st.floats(0, 1)), min_size=1, max_size=8),
    st.sampled_from([0.0, 0.25, 0.5]),
)
def test_shares_give_derived_claims_if_predicates_have_them(
    total: int, parts: list[tuple[int, float]], derived_share: float
) -> None:
    limits, derived = [n for n, _ in parts], [share for _, share in parts]
    plan = CardPlan(per_label=total, derived_share=derived_share)
    equal = share_equally(total, limits)
    shares = choose_shares(plan, limits, derived)
    assert sum(shares) == sum(equal)
    assert all(n <= limit for n, limit in zip(shares, limits, strict=True))
    rich = [share >= derived_share for share in derived]
    if not derived_share:
        assert shares == equal
    for n, old, is_rich in zip(shares, equal, rich, strict=True):
        assert is_rich or n <= old + 1  # Others give no more than before, but for rounding.
    n_rich, n_before = (
        sum(n for n, is_rich in zip(part, rich, strict=True) if is_rich) for part in (shares, equal)
    )
    assert n_rich >= n_before
    assert n_rich <= max(n_before, 2 / 3 * sum(shares))


@given(
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 3)), min_size=1, max_size=6),
)
def test_shares_are_as_equal_as_limits_and_weights_allow(
    total: int, parts: list[tuple[int, int]]
) -> None:
    limits, weights = [n for n, _ in parts], [weight for _, weight in parts]
    shares = share_equally(total, limits, weights)
    assert sum(shares) == min(total, sum(limits))
    assert all(0 <= share <= limit for share, limit in zip(shares, limits, strict=True))
    free = [
        share / weight
        for share, limit, weight in zip(shares, limits, weights, strict=True)
        if share < limit
    ]
    # Each part that its limit does not hold back has had the same number of turns, or one more.
    assert not free or max(free) - min(free) <= 2
    assert share_equally(total, limits) == share_equally(total, limits, [1] * len(limits))


def test_faithfulness_cards_are_separate(rivers: KnowledgeBase) -> None:
    result = make_cards(rivers, CardPlan(per_label=15, faithfulness=True))
    cards_by_kind: dict[str, list[Card]] = defaultdict(list)
    for card in result.cards:
        cards_by_kind[card.kind].append(card)
    assert 10 <= len(cards_by_kind["withheld"]) <= 15
    assert cards_by_kind["counterfactual"]
    kb = result.kb
    for card in cards_by_kind["withheld"]:
        assert (card.gold, card.meta["graph_label"]) == ("UNKNOWN", "E")
        assert kb.oracle.license(card.claim).label == "E"
        assert prove_on_card(card, kb) == "U"
    for card in cards_by_kind["counterfactual"]:
        assert card.meta["graph_label"] == {"YES": "C", "NO": "E"}[card.gold]
        assert kb.oracle.license(card.claim).label == card.meta["graph_label"]
        assert prove_on_card(card, kb) == card.label
    check_invariants(kb, [c for c in result.cards if c.kind not in FAITHFULNESS_KINDS])


def test_faithfulness_cards_leave_the_others_as_they_are(rivers: KnowledgeBase) -> None:
    plain = make_cards(rivers, CardPlan(per_label=15))
    both = make_cards(rivers, CardPlan(per_label=15, faithfulness=True, num_faithfulness=4))
    counts = Counter(card.kind for card in both.cards)
    assert [counts[kind] for kind in sorted(FAITHFULNESS_KINDS)] == [4, 4]
    others = [card for card in both.cards if card.kind not in FAITHFULNESS_KINDS]
    assert others == list(plain.cards)
    # An upper bound that is not reached is no shortage.
    many = make_cards(rivers, CardPlan(per_label=15, faithfulness=True, num_faithfulness=10_000))
    assert not many.missing


def test_written_graph_is_valid_though_the_given_one_has_malformed_iris(tmp_path: Path) -> None:
    graph, shapes = write_graph(tmp_path, 120, 3)
    malformed = ["<http://e/a#b#c>", "<http://e/a b>", '"x"^^<http://e/d#d#d>', "<http://e/%>"]
    lines = [f"<{EX}p{n}> <{EX}knows> {malformed[n % 4]} .\n" for n in range(120)]
    given = tmp_path / "given.nt"
    given.write_bytes(Graph.load(graph).to_ntriples() + "".join(lines).encode())
    main(out=tmp_path / "c.jsonl", kg=[given], shapes=[shapes], pred=["worksFor"], num_per_type=20)
    cards = read_cards(tmp_path / "c.jsonl")
    assert Counter(card.label for card in cards) == {"E": 20, "C": 20, "U": 20}
    assert not [card for card in cards if "#" in str(card.facts)]
    written = (tmp_path / "c.graph.nt").read_bytes()
    kept = {str(quad.subject) for quad in pyoxigraph.parse(written, pyoxigraph.RdfFormat.N_TRIPLES)}
    assert f"<{EX}p119>" in kept
    assert b"http://e/" not in written
    check_invariants(KnowledgeBase.open(None, [tmp_path / "c.graph.nt"], [shapes]), cards)
    manifest = json.loads(manifest_path(tmp_path / "c.jsonl").read_text())
    assert manifest["graph_sha256"] == Graph.load(tmp_path / "c.graph.nt").sha256


def test_plain_graph_and_shapes_need_no_domain(tmp_path: Path) -> None:
    graph, shapes = write_graph(tmp_path, 120, 3)
    main(out=tmp_path / "c.jsonl", kg=[graph], shapes=[shapes], pred=["worksFor"], num_per_type=20)
    cards = read_cards(tmp_path / "c.jsonl")
    assert Counter(card.label for card in cards) == {"E": 20, "C": 20, "U": 20}
    assert {card.kind for card in cards} == {"asserted", "functional", "absent"}
    check_invariants(KnowledgeBase.open(None, [tmp_path / "c.graph.nt"], [shapes]), cards)
    manifest = json.loads(manifest_path(tmp_path / "c.jsonl").read_text())
    assert manifest["graph_files"] == ["c.graph.nt"]
    assert manifest["graph_sha256"] == Graph.load(tmp_path / "c.graph.nt").sha256
    assert manifest["full_graph_sha256"] == Graph.load(graph).sha256
    assert manifest["counts"]["cards"] == 60
    assert str(tmp_path) not in json.dumps(manifest)


@given(people=st.integers(20, 60), seed=st.integers(0, 10_000), employed_share=st.floats(0.3, 0.9))
@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_labels_are_proved_on_random_small_graphs(
    tmp_path: Path, people: int, seed: int, employed_share: float
) -> None:
    graph, shapes = write_graph(tmp_path, people, seed, employed_share=employed_share)
    kb = KnowledgeBase.open(None, [graph], [shapes])
    result = make_cards(kb, CardPlan(per_label=6, seed=seed, predicates=(EX + "worksFor",)))
    if not result.cards:
        assert result.missing
        return
    labels = Counter(card.label for card in result.cards)
    if set(labels) == {"E", "C", "U"}:
        assert len(set(labels.values())) == 1
        check_invariants(result.kb, list(result.cards))
    check_set_aside(kb, result)
    for card in result.cards:
        assert prove_on_card(card, kb, "pyshacl") == card.label


def test_hash_seed_does_not_change_the_bytes(tmp_path: Path) -> None:
    digests = []
    for hash_seed in ("0", "4242"):
        out = tmp_path / hash_seed / "c.jsonl"
        subprocess.run(
            [
                sys.executable,
                PRODUCT / "cards/make_context_cards.py",
                *("--out", str(out), "--num-per-type", "25", "--faithfulness"),
            ],
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        digests.append((out.read_bytes(), manifest_path(out).read_bytes()))
    assert digests[0] == digests[1]


def test_another_seed_gives_other_cards(rivers: KnowledgeBase) -> None:
    first_set, second_set = (
        make_cards(rivers, CardPlan(per_label=10, seed=seed)) for seed in (1, 2)
    )
    assert {c.question for c in first_set.cards} != {c.question for c in second_set.cards}


def test_complete_graph_gives_three_labels(tmp_path: Path) -> None:
    graph, shapes = write_graph(tmp_path, 40, 5, employed_share=1.0)
    kb = KnowledgeBase.open(None, [graph], [shapes])
    result = make_cards(kb, CardPlan(per_label=8, predicates=(EX + "worksFor",)))
    assert Counter(card.label for card in result.cards) == {"E": 8, "C": 8, "U": 8}


def write_two_employees(folder: Path) -> tuple[Path, Path]:
    """Writes a graph in which only two people have a firm: too few to set one's aside."""
    graph, shapes = write_graph(folder, 40, 5, employed_share=0.0)
    graph.write_text(
        graph.read_text("utf-8") + "\nex:p1 ex:worksFor ex:f1 .\nex:p2 ex:worksFor ex:f2 .", "utf-8"
    )
    return graph, shapes


def test_graph_with_too_few_values_gives_two_labels(tmp_path: Path) -> None:
    graph, shapes = write_two_employees(tmp_path)
    kb = KnowledgeBase.open(None, [graph], [shapes])
    result = make_cards(kb, CardPlan(per_label=1, predicates=(EX + "worksFor",)))
    assert Counter(card.label for card in result.cards) == {"E": 1, "C": 1}
    assert result.missing == {"U": 1}
    assert any("UNKNOWN" in note for note in result.notes)
    assert any("2 can be asked about, and a triplet needs 3" in note for note in result.notes)
    assert not result.set_aside


@pytest.mark.parametrize(("own", "n_cards"), [("30.5", 2), ("24.9", 0), ("24.60", 0)])
def test_pairs_without_unknown_cards_have_the_guards_of_triplets(
    tmp_path: Path, own: str, n_cards: int
) -> None:
    graph, shapes = write_graph(tmp_path, 40, 5, employed_share=0.0)
    lengths = f"\nex:p1 ex:worksFor 24.6 .\nex:p2 ex:worksFor {own} ."
    graph.write_text(graph.read_text("utf-8") + lengths, "utf-8")
    kb = KnowledgeBase.open(None, [graph], [shapes])
    result = make_cards(kb, CardPlan(per_label=1, predicates=(EX + "worksFor",)))
    assert len(result.cards) == n_cards


def write_cases(folder: Path) -> tuple[Path, Path]:
    """Writes a graph of cases whose names all consist of words that other names have, too."""
    surnames = ["Smith", "Jones", "Brown", "Green", "White", "Adams", "Baker", "Clark", "Davis"]
    lines = [f"@prefix ex: <{EX}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    lines += [
        f'ex:f{n} rdfs:label "Court {n}" .\nex:t{n} rdfs:label "Judge {n}" .' for n in range(5)
    ]
    for n, pair in enumerate(itertools.combinations(surnames, 2)):
        lines.append(
            f'ex:c{n} a ex:Case ; rdfs:label "{" v ".join(pair)}" ; ex:judge ex:t{n % 5} .'
        )
        if n % 3:
            lines.append(f"ex:c{n} ex:worksFor ex:f{n % 5} .")
    graph, shapes = folder / "graph.ttl", folder / "shapes.ttl"
    graph.write_text("\n".join(lines), encoding="utf-8")
    shapes.write_text(SHAPES, encoding="utf-8")
    return graph, shapes


TARGETS = {
    "class": "sh:targetClass ex:Person",
    "implicit class": "a rdfs:Class",
    "superclass": "sh:targetClass ex:Agent",
    "second class": "sh:targetClass ex:Adult",
}


@pytest.mark.parametrize("employed_share", [0.7, 1.0], ids=["incomplete", "complete"])
@pytest.mark.parametrize("inverse", [False, True], ids=["subject", "object"])
@pytest.mark.parametrize("target", TARGETS)
def test_class_targets_give_as_many_cards_as_targets_by_predicate(
    tmp_path: Path, target: str, inverse: bool, employed_share: float
) -> None:
    graph, shapes = write_graph(tmp_path, 150, 3, employed_share=employed_share)
    text = graph.read_text("utf-8")
    if inverse:
        text = re.sub(r"(ex:p\d+) ex:worksFor (ex:f\d+)", r"\2 ex:employs \1", text)
    text += "\nex:Person rdfs:subClassOf ex:Agent . ex:Firm rdfs:subClassOf ex:Agent ."
    text = re.sub(r"(ex:[pf]\d+) a (ex:Person|ex:Firm)", r"\1 a \2, ex:Adult", text)
    graph.write_text(text, "utf-8")
    pred = "employs" if inverse else "worksFor"
    body = (
        "sh:property [ sh:path [ sh:inversePath ex:employs ] ; sh:maxCount 1 ]"
        if inverse
        else "sh:property [ sh:path ex:worksFor ; sh:maxCount 1 ]"
    )
    by_predicate = "sh:targetObjectsOf ex:employs" if inverse else "sh:targetSubjectsOf ex:worksFor"
    counts = []
    for declaration in (by_predicate, TARGETS[target]):
        shapes.write_text(
            f"@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <{EX}> . "
            "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
            f"ex:Person a sh:NodeShape ; {declaration} ; {body} .",
            "utf-8",
        )
        kb = KnowledgeBase.open(graph=[graph], shapes=[shapes])
        cards = make_cards(kb, CardPlan(predicates=(EX + pred,), per_label=10)).cards
        counts.append(Counter(card.label for card in cards))
        for card in cards:
            assert prove_on_card(card, kb) == card.label
    assert counts[1] == counts[0]
    assert counts[0]["C"] == 10


def test_names_may_differ_in_frequent_words_where_nothing_is_left_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, shapes = write_cases(tmp_path)
    kb = KnowledgeBase.open(None, [graph], [shapes])
    plan = CardPlan(per_label=4, predicates=(EX + "worksFor",))
    result = make_cards(kb, plan)
    assert not result.missing
    check_invariants(result.kb, list(result.cards))
    monkeypatch.setattr(
        EntitySampler, "matches_words", property(lambda _: True, lambda *_: None), raising=False
    )
    result = make_cards(kb, plan)
    assert result.missing
    (reason,) = (note for note in result.notes if note.startswith("works for: "))
    assert "no unused entity has a fitting name" in reason
    assert "“adams”, “baker”, “brown” …" in reason
    assert "proved false" not in reason


@pytest.mark.parametrize("domain", [(), ("--domain", "rivers")])
def test_a_graph_without_facts_to_ask_about_is_an_error(
    tmp_path: Path, domain: tuple[str, ...]
) -> None:
    graph = tmp_path / "g.ttl"
    graph.write_text(
        f'<{EX}a> a <{EX}P> ; <http://www.w3.org/2000/01/rdf-schema#label> "Ann" .', "utf-8"
    )
    shapes = tmp_path / "s.ttl"
    shapes.write_text(SHAPES, encoding="utf-8")
    files = ("--kg", graph, *domain, *(() if domain else ("--shapes", shapes)))
    done = run_epoche("cards", *files, "--out", tmp_path / "cards.jsonl")
    assert done.code == 5
    assert "no fact that cards could ask about" in done.err


def test_missing_cards_are_explained_by_constraints_that_forbid_nothing(tmp_path: Path) -> None:
    graph, shapes = write_graph(tmp_path, 40, 5)
    kb = KnowledgeBase.open(None, [graph], [shapes])
    result = make_cards(kb, CardPlan(per_label=8, predicates=(EX + "livesIn",)))
    (reason,) = (note for note in result.notes if note.startswith("lives in: "))
    assert re.search(
        r"no claim could be proved false on both graph and card \(\d+ attempts\)", reason
    )


EXCLUSIVE_SHAPES = """
@prefix ex: <https://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
ex:S a sh:NodeShape ; sh:targetClass ex:Person ; sh:property [ sh:path ex:friend ; BODY ] .
"""


def test_as_many_claims_of_unknown_cards_are_true_as_false(tmp_path: Path) -> None:
    """Only entities of unlike degree share a town here, so only a later phase finds true claims."""
    lines = []
    for n in range(160):
        extra = " ; ex:hobby 1, 2, 3, 4, 5, 6, 7, 8" if n % 2 else ""
        name, town = f"{chr(65 + n % 26)}{chr(97 + n // 26)}x", n // 2 % 20 + 20 * (n % 2)
        lines.append(
            f'ex:p{n} a ex:Person ; rdfs:label "{name}" ; ex:town ex:t{town} ; '
            f"ex:age {n * 7 % 41 + 20}{extra} ."
        )
        lines.append(f'ex:t{n % 40} a ex:Town ; rdfs:label "Town{chr(65 + n % 20)}{n % 40}" .')
    kb = open_graph(tmp_path, lines, ONE_TOWN)
    for seed in (1, 2, 3):
        result = make_cards(kb, CardPlan(per_label=20, seed=seed, predicates=(EX + "town",)))
        labels = Counter(card.meta["full_label"] for card in result.cards if card.label == "U")
        assert labels == {"E": 10, "C": 10}


def test_a_thing_can_be_known_from_what_others_say_about_it(tmp_path: Path) -> None:
    """Nothing is known of the people without their town, except that letters are about them."""
    lines = []
    for n in range(60):
        name = to_letters(n)
        lines.append(f'ex:p{n} a ex:Person ; rdfs:label "P{name}" ; ex:town ex:t{n % 6} .')
        lines.append(f'ex:t{n % 6} a ex:Town ; rdfs:label "T{to_letters(n % 6)}" .')
        lines.append(f'ex:l{n} a ex:Letter ; rdfs:label "L{name}" ; ex:about ex:p{n} .')
    kb = open_graph(tmp_path, lines, ONE_TOWN)
    result = make_cards(kb, CardPlan(per_label=15, predicates=(EX + "town",)))
    assert not result.missing
    for card in result.cards:
        if card.label == "U":
            triples = [(t["pred"], t["obj"]) for t in card.meta["triples"]]
            assert (EX + "about", card.claim.subj) in triples
    check_invariants(result.kb, list(result.cards))


@pytest.mark.parametrize(
    ("body", "kind"), [("sh:disjoint ex:rival", "exclusive"), ("sh:maxCount 2", "functional")]
)
def test_components_that_chance_rarely_breaks_give_contradictions(
    tmp_path: Path, body: str, kind: str
) -> None:
    """What one person's other links exclude is asked about, and what two values together do."""
    rng = random.Random(3)
    lines = ["@prefix ex: <https://example.org/> ."]
    lines.append("@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .")
    starts = ("Ka", "Lo", "Mi", "Ru", "Se", "To", "Va", "Zu", "Ne", "Po")
    ends = ("ran", "lin", "dor", "mek", "sal", "tun", "vik", "wen", "bar", "gis", "hol", "jat")
    for n in range(120):
        others = rng.sample(range(120), 4)
        lines.append(
            f'ex:p{n} a ex:Person ; rdfs:label "{starts[n // 12]}{ends[n % 12]}" ; '
            f"ex:friend ex:p{others[0]}, ex:p{others[1]} ; "
            f"ex:rival ex:p{others[2]}, ex:p{others[3]} ; ex:age {rng.randrange(20, 60)} ."
        )
    graph, shapes = tmp_path / "g.ttl", tmp_path / "s.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    shapes.write_text(EXCLUSIVE_SHAPES.replace("BODY", body), "utf-8")
    kb = KnowledgeBase.open(None, [graph], [shapes])
    result = make_cards(kb, CardPlan(per_label=8, predicates=(EX + "friend",)))
    assert not result.missing
    check_invariants(result.kb, list(result.cards))
    assert {card.kind for card in result.cards if card.label == "C"} == {kind}


def test_set_without_a_label_says_what_it_cannot_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, shapes = write_two_employees(tmp_path)
    main(out=tmp_path / "c.jsonl", kg=[graph], shapes=[shapes], pred=["worksFor"], num_per_type=8)
    warnings = " ".join(capsys.readouterr().err.split())
    assert "this set has no UNKNOWN card, so it cannot show whether a system answers UNKNOWN" in (
        warnings
    )


def test_kinds_and_subject_hint_restrict_the_cards(rivers: KnowledgeBase) -> None:
    result = make_cards(rivers, CardPlan(per_label=10, kinds=("numeric", "asserted")))
    assert {card.kind for card in result.cards if card.label != "U"} == {"numeric", "asserted"}
    predicate = rivers.resolve_predicate("flowsInto")
    hinted_set = make_cards(
        rivers, CardPlan(per_label=4, predicates=(predicate,), subj_hint="River")
    )
    assert hinted_set.cards
    assert all("River" in rivers.labels.get_label(card.claim.subj) for card in hinted_set.cards)


def test_invalid_arguments_and_graphs_are_refused(tmp_path: Path) -> None:
    graph, shapes = write_graph(tmp_path, 40, 1)
    out = tmp_path / "c.jsonl"
    with pytest.raises(UnknownPredicateError, match="worksFor"):
        main(out=out, kg=[graph], shapes=[shapes], pred=["worksFr"])
    with pytest.raises(QuotaError, match="of 5000 cards"):
        main(
            out=out,
            kg=[graph],
            shapes=[shapes],
            pred=["worksFor"],
            num_per_type=5000,
            strict=True,
        )
    with pytest.raises(DomainError, match="regime"):
        main(out=out, kg=[graph], shapes=[shapes], regime="owl-full")
    graph.write_text(
        graph.read_text() + "\nex:p1 ex:worksFor ex:f1, ex:f2, ex:f3 .", encoding="utf-8"
    )
    with pytest.raises(InvalidGraphError, match="violates its shapes"):
        main(out=out, kg=[graph], shapes=[shapes], strict=True)
    assert not out.exists()
    main(out=out, kg=[graph], shapes=[shapes], num_per_type=3, allow_violations=True)
    assert out.exists()


def test_verification_finds_a_wrong_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, shapes = write_graph(tmp_path, 60, 2)
    out = tmp_path / "c.jsonl"
    main(out=out, kg=[graph], shapes=[shapes], pred=["worksFor"], num_per_type=8)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    wrong_row = next(row for row in rows if row["label"] == "C")
    wrong_row["label"], wrong_row["gold"] = "U", "UNKNOWN"
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    capsys.readouterr()
    audit_main(out, kg=[graph], shapes=[shapes])
    printed = capsys.readouterr().out
    assert "1 disagree" in printed
    assert "U in the file, C by the oracle" in printed
    # The manifest beside the cards names the graph, until that is moved.
    audit_main(out)
    assert "1 disagree" in capsys.readouterr().out
    moved_graph, moved_shapes = graph.rename(tmp_path / "g.ttl"), shapes.rename(tmp_path / "s.ttl")
    audit_main(out)
    assert "checked by the oracle" not in capsys.readouterr().out
    graph, shapes = moved_graph, moved_shapes
    with pytest.raises(AuditFailedError, match="what the oracle proves"):
        audit_main(out, kg=[graph], shapes=[shapes], fail=True)


def test_published_graph_gives_balanced_cards(published_data: Path, tmp_path: Path) -> None:
    graph = published_data / "epistemic" / "rivers_reconstructed_cardiri.ttl"
    shapes = tmp_path / "s.ttl"
    shapes.write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        "@prefix wm: <http://worldmind.ai/rivers-v4#> .\n"
        "wm:OneMouth a sh:PropertyShape ; sh:targetSubjectsOf wm:hasMouth ;\n"
        " sh:path wm:hasMouth ; sh:maxCount 1 .\n",
        encoding="utf-8",
    )
    out = tmp_path / "c.jsonl"
    main(
        out=out,
        kg=[graph],
        shapes=[shapes],
        pred=["hasMouth"],
        pred_label=["mouth"],
        num_per_type=20,
        allow_violations=True,
    )
    cards = read_cards(out)
    # The graph has one predicate, so only what other rivers flow into can be unknown.
    assert Counter(card.label for card in cards) == {"E": 20, "C": 20, "U": 20}
    check_invariants(KnowledgeBase.open(None, [tmp_path / "c.graph.nt"], [shapes]), cards)


def test_every_card_has_a_claim_with_a_subject(card_set: CardSet) -> None:
    assert all(isinstance(card.claim, Claim) and card.claim.subj for card in card_set.cards)


def test_mayors_give_proved_cards() -> None:
    kb = KnowledgeBase.open("mayors")
    result = make_cards(kb, CardPlan(per_label=6))
    assert result.cards
    check_invariants(result.kb, list(result.cards))
    check_set_aside(kb, result)
    for card in result.cards:
        assert prove_on_card(card, kb) == card.label
