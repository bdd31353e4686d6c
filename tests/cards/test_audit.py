"""Tests that the audit finds planted leaks, reports none without them, and accepts tiny files."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stage_calls import run_epoche, write_edited_manifest

from cards.audit_labels import main
from cards.card import Card, read_cards, write_cards
from cards.leakage.audit import audit_cards, select_unknowns
from cards.leakage.baselines import DEGREES, FULL_DEGREES, PAIRS
from cards.leakage.degrees import DegreeCounter, Degrees
from cards.leakage.measures import (
    Groups,
    group_cards,
    grouped_wilson_interval,
    measure_accuracy,
    measure_auc,
)
from cards.leakage.surface import (
    FEATURE_NAMES,
    compute_features,
    get_readable_name,
    has_negation,
    read_surface,
)
from kg.base.errors import AuditFailedError, GraphSyntaxError
from kg.claims import GOLD_OF_LABEL, Claim, Label
from kg.domain import load_domain
from kg.graph import Graph

BASE = "https://example.org/"


def make_card(n: int, label: Label, facts: tuple[str, ...], question: str = "") -> Card:
    return Card(
        id=f"{n:05d}",
        facts=facts,
        question=question or f"Does A{n} flow into B{n}?",
        gold=GOLD_OF_LABEL[label],
        label=label,
        claim=Claim(f"{BASE}A{n}", f"{BASE}flows", f"{BASE}B{n}"),
        cluster=f"{BASE}A{n}",
    )


def make_random_cards(count: int, seed: int = 0) -> list[Card]:
    """Makes cards whose surface is independent of their labels."""
    rng = random.Random(seed)
    labels: list[Label] = ["E", "C", "U"] * (count // 3)
    rng.shuffle(labels)
    words = ["red", "blue", "green", "cold", "warm"]
    return [
        make_card(
            n, label, tuple(f"X{n} is {rng.choice(words)}." for _ in range(rng.randint(1, 4)))
        )
        for n, label in enumerate(labels)
    ]


def test_random_cards_are_at_chance() -> None:
    report = audit_cards(make_random_cards(300))
    assert report.labels == {"E": 100, "C": 100, "U": 100}
    assert not report.leaks
    assert report.tests == len(report.baselines) == 12


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_word_of_the_subject_that_goes_with_the_object_is_found(is_swapped: bool) -> None:
    """Neither the word nor the object alone says anything."""
    cards = []
    for n, card in enumerate(make_random_cards(180)):
        word, other = ("Trig", "Turtle") if n % 2 else ("Turtle", "Trig")
        name = {"E": word, "C": other, "U": ("Trig", "Turtle")[n // 2 % 2]}[card.label]
        sea = {"Trig": "Red Sea", "Turtle": "Dead Sea"}[word]
        sides = [f"{name} Test{n}", sea][:: -1 if is_swapped else 1]
        question = f"Does {sides[0]} flow into {sides[1]}?"
        claim = Claim(BASE + sides[0], f"{BASE}flows", BASE + sides[1])
        cards.append(msgspec.structs.replace(card, claim=claim, question=question))
    baselines = {b.name: b for b in audit_cards(cards).baselines}
    assert baselines[PAIRS].verdict == "LEAKS"
    assert baselines["question, bag of words"].verdict != "LEAKS"


def test_a_planted_fact_count_is_found() -> None:
    fact_counts = {"E": 1, "C": 2, "U": 3}
    cards = [
        make_card(int(c.id), c.label, ("Something is so.",) * fact_counts[c.label])
        for c in make_random_cards(150)
    ]
    report = audit_cards(cards)
    baselines_by_name = {b.name: b for b in report.baselines}
    assert baselines_by_name["number of facts"].verdict == "LEAKS"
    assert baselines_by_name["number of facts"].accuracy > 0.95
    assert baselines_by_name["question, bag of words"].verdict == "at chance"


def test_a_planted_word_is_found() -> None:
    cards = [
        make_card(int(c.id), c.label, c.facts, f"Does A{c.id} {c.label}mouth B?")
        for c in make_random_cards(150)
    ]
    names = {b.name for b in audit_cards(cards).leaks}
    assert "question, bag of words" in names
    assert "number of facts" not in names


def test_sorted_file_leaks_its_order() -> None:
    cards = sorted(make_random_cards(150), key=lambda c: c.label)
    assert "position in the file" in {b.name for b in audit_cards(cards).leaks}


def test_baselines_gain_nothing_from_sibling_cards() -> None:
    """Three cards, one of each label, share their facts: two of them would reveal the third."""
    cards = []
    for n in range(0, 180, 3):
        facts = (f"Fact number {n} holds.",)
        cards += [make_card(n + i, label, facts) for i, label in enumerate(("E", "C", "U"))]
    baselines_by_name = {b.name: b for b in audit_cards(cards).baselines}
    assert baselines_by_name["facts, bag of words"].verdict == "at chance"
    assert baselines_by_name["facts, bag of words"].accuracy > 0.2


def test_one_label_only_and_tiny_sets_get_a_note() -> None:
    single_label_report = audit_cards([make_card(n, "E", ("A is.",)) for n in range(5)])
    assert not single_label_report.baselines
    assert "only one label" in single_label_report.notes[0]
    tiny_report = audit_cards([make_card(0, "E", ("A.",)), make_card(1, "C", ("B.",))])
    assert not tiny_report.baselines
    assert "too few" in tiny_report.notes[0]
    # Of 60 cards, 57 have the label E and 3 the label C, so that only 3 folds are possible.
    unequal_cards = [
        make_card(n, "C" if n % 20 == 0 else "E", (f"A{n} is so.",)) for n in range(60)
    ]
    unequal_report = audit_cards(unequal_cards)
    assert unequal_report.baselines
    assert any("folds" in note for note in unequal_report.notes)


def test_note_on_unknown_names_advises_what_is_still_possible() -> None:
    cards = make_random_cards(12)
    (note,) = (n for n in audit_cards(cards, get_name=lambda term: "?").notes if "terms" in n)
    assert "was another graph given?" in note
    assert "--kg" not in note


def test_unbalanced_labels_raise_chance() -> None:
    cards = make_random_cards(150)
    # Most cards with the label U are left out.
    unbalanced_cards = [c for n, c in enumerate(cards) if c.label != "U" or n % 5 == 0]
    report = audit_cards(unbalanced_cards)
    assert report.baselines[0].chance == pytest.approx(
        max(report.labels.values()) / sum(report.labels.values())
    )


def test_wilson_matches_scipy_for_independent_cards() -> None:
    from scipy.stats import binomtest

    is_correct = np.array([1.0] * 30 + [0.0] * 70)
    cards = [make_card(n, "E", (str(n),)) for n in range(100)]
    low, high = grouped_wilson_interval(is_correct, group_cards(cards), 0.05)
    expected = binomtest(30, 100).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-3)


def test_wilson_widens_with_clusters() -> None:
    is_correct = np.array([1.0, 1.0, 0.0, 0.0] * 25)
    separate_groups = group_cards([make_card(n, "E", (str(n),)) for n in range(100)])
    paired_groups = group_cards([make_card(n // 2, "E", (str(n // 2),)) for n in range(100)])
    assert (
        grouped_wilson_interval(is_correct, paired_groups, 0.05)[0]
        < grouped_wilson_interval(is_correct, separate_groups, 0.05)[0]
    )


def group_separately(n: int) -> Groups:
    return Groups(np.arange(n), np.arange(n))


@pytest.mark.parametrize("labels", [("C", "U"), ("C", "E", "U")])
def test_measures_are_those_of_scikit_learn(labels: tuple[str, ...]) -> None:
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    rng = np.random.default_rng(3)
    # Labels of unequal frequency, and scores with ties.
    gold = rng.choice(labels, 200, p=np.arange(1, len(labels) + 1) / sum(range(len(labels) + 1)))
    scores = rng.integers(0, 6, (200, len(labels))) + 2.0 * (gold[:, None] == np.array(labels))
    predicted = np.array(labels)[scores.argmax(1)]
    groups = group_separately(200)
    balanced = measure_accuracy(predicted == gold, gold, groups, 0.05, balanced=True)
    assert balanced.value == pytest.approx(balanced_accuracy_score(gold, predicted))
    assert balanced.chance == 1 / len(labels)
    auc = measure_auc(scores, gold, groups, 0.05)
    expected = [roc_auc_score(gold == label, scores[:, i]) for i, label in enumerate(labels)]
    assert auc.value == pytest.approx(np.mean(expected))
    if len(labels) > 2:
        probabilities = scores / scores.sum(1, keepdims=True)
        assert measure_auc(probabilities, gold, groups, 0.05).value == pytest.approx(
            roc_auc_score(gold, probabilities, multi_class="ovr", labels=labels)
        )


def test_equal_labels_make_both_accuracies_equal() -> None:
    is_correct = np.arange(90) % 4 == 0
    gold = np.array(["C", "E", "U"] * 30)
    groups = Groups(np.arange(90) // 2, np.arange(90))
    plain = measure_accuracy(is_correct, gold, groups, 0.01)
    balanced = measure_accuracy(is_correct, gold, groups, 0.01, balanced=True)
    assert (balanced.value, balanced.low, balanced.high, balanced.chance) == pytest.approx(
        (plain.value, plain.low, plain.high, plain.chance)
    )


def test_intervals_cover_and_widen_with_clusters() -> None:
    """The intervals of 95 % contain the true value in about 95 % of samples; here at least 90 %."""
    rng = np.random.default_rng(1)
    covered = {"balanced": 0, "auc": 0}
    for _ in range(200):
        # Clusters of two cards with the same label, score and luck; P(score of C > of U) = 1/2.
        gold = np.repeat(rng.permutation(["C"] * 20 + ["U"] * 40), 2)
        luck = np.repeat(rng.random(60), 2)
        groups = Groups(np.repeat(np.arange(60), 2), np.arange(120))
        auc = measure_auc(np.column_stack([luck, -luck]), gold, groups, 0.05)
        balanced = measure_accuracy(luck < 0.7, gold, groups, 0.05, balanced=True)
        covered["auc"] += auc.low <= 0.5 <= auc.high
        covered["balanced"] += balanced.low <= 0.7 <= balanced.high
        alone = measure_auc(np.column_stack([luck, -luck]), gold, group_separately(120), 0.05)
        assert auc.high - auc.low > alone.high - alone.low
    assert min(covered.values()) >= 180, covered


def test_constant_scores_prove_nothing() -> None:
    gold = np.array(["C"] * 5 + ["U"] * 5)
    auc = measure_auc(np.zeros((10, 2)), gold, group_separately(10), 0.05)
    assert auc.value == 0.5
    assert auc.low < 0.3
    assert auc.high > 0.7


def test_unequal_labels_hide_a_leak_from_accuracy_only() -> None:
    """A rare label is always predicted as the frequent one, so accuracy is at chance."""
    rng = random.Random(2)
    labels: list[Label] = ["U"] * 25 + ["C"] * 275
    cards = [
        # U cards have two facts more, on average.
        make_card(
            n, label, tuple(f"X{n} {i}." for i in range(rng.randint(1, 4) + 2 * (label == "U")))
        )
        for n, label in enumerate(labels)
    ]
    rng.shuffle(cards)
    baseline = next(b for b in audit_cards(cards).baselines if b.name == "number of facts")
    assert baseline.verdict == "LEAKS"
    assert baseline.low <= baseline.chance
    assert baseline.auc is not None
    assert baseline.auc.is_above_chance


def test_degrees_are_an_attack_only_with_a_graph() -> None:
    cards = make_random_cards(300)
    report = audit_cards(cards)
    assert DEGREES not in {b.name for b in report.baselines}
    assert report.not_tried == (DEGREES,)
    n_links = {"E": 2, "C": 4, "U": 6}
    label_of = {card.claim: card.label for card in cards}
    report = audit_cards(
        cards, count_degrees=lambda claim: Degrees(1, n_links[label_of[claim]], 1, 0)
    )
    assert [b.name for b in report.leaks] == [DEGREES]
    assert report.not_tried == ()
    assert report.tests == 13


def make_truth_cards(n_cards: int) -> tuple[list[Card], dict[Claim, bool]]:
    """Makes cards; most claims of U cards are true in the full graph, of each predicate others."""
    cards = []
    truth = {}
    for number, card in enumerate(make_random_cards(n_cards)):
        if card.label == "U":
            pred = f"{BASE}{'pq'[number % 2]}"
            is_true = number % 7 > (1 if pred.endswith("p") else 2)
            claim = Claim(card.claim.subj, pred, card.claim.obj)
            truth[claim] = is_true
            meta = {"full_label": "E" if is_true else ("C", "U")[number % 2]}
            card = msgspec.structs.replace(card, claim=claim, meta=meta)
        cards.append(card)
    return cards, truth


def test_the_full_graph_is_an_attack_on_labels_and_on_the_truth_of_unknown_claims() -> None:
    cards, truth = make_truth_cards(600)
    label_of = {card.claim: card.label for card in cards}

    def count_labels(claim: Claim) -> Degrees:
        return Degrees(1, {"E": 2, "C": 4, "U": 6}[label_of[claim]], 0, 0)

    def count_truth(claim: Claim) -> Degrees:
        number = int(claim.subj.removeprefix(f"{BASE}A"))
        return Degrees(1, 2 + truth.get(claim, number % 7 > 1), 0, 0)

    def count_nothing(claim: Claim) -> Degrees:
        return Degrees(1, 1, len(claim.subj), 0)

    report = audit_cards(cards, count_degrees=count_nothing, count_full_degrees=count_labels)
    assert [b.name for b in report.leaks] == [FULL_DEGREES]
    assert report.tests == 14
    assert not [b for b in report.truth_baselines if b.verdict == "LEAKS"]
    # Half of the claims tried are true, of each predicate: else its name would tell.
    assert {b.chance for b in report.truth_baselines} == {0.5}
    chosen = [cards[number] for number in select_unknowns(cards)]
    assert report.n_truth == len(chosen) > 100
    counts = Counter((card.claim.pred, truth[card.claim]) for card in chosen)
    for pred in (f"{BASE}p", f"{BASE}q"):
        assert counts[pred, True] == counts[pred, False] > 0

    report = audit_cards(cards, count_degrees=count_nothing, count_full_degrees=count_truth)
    assert not report.leaks
    assert [b.name for b in report.truth_baselines if b.verdict == "LEAKS"] == [FULL_DEGREES]
    report = audit_cards(cards, count_degrees=count_nothing)
    assert report.not_tried == (FULL_DEGREES,)
    assert not audit_cards(make_random_cards(300)).truth_baselines


def test_command_finds_the_full_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a domain by its name, of other cards by the manifest, also where files were joined."""
    domain = load_domain("rivers")
    graph = tmp_path / "g.ttl"
    shutil.copy(domain.graph_files[0], graph)
    own_files = ["--kg", graph, "--shapes", domain.shapes_files[0]]
    pred = next(iri for iri, wording in domain.predicates.items() if wording.label == "mouth")
    for number, source in enumerate((["--domain", "rivers"], own_files)):
        cards, joined = tmp_path / f"c{number}.jsonl", tmp_path / f"j{number}.jsonl"
        done = run_epoche("cards", *source, "--pred", pred, "--num-per-type", 30, "--out", cards)
        assert done.code == 0, done.err
        assert run_epoche("join", cards, "--out", joined).code == 0
        done = run_epoche("audit", joined)
        assert f"{FULL_DEGREES}: not tried" not in done.out
        assert "of 14 baselines" in done.out
        assert "tells no label" in done.out
    manifest = json.loads((tmp_path / "c1.manifest.json").read_text("utf-8"))
    assert manifest["full_graph_files"] == ["g.ttl"]
    graph.unlink()
    assert f"{FULL_DEGREES}: not tried" in run_epoche("audit", tmp_path / "c1.jsonl").out


def test_degrees_leave_out_what_is_asked() -> None:
    name = BASE + "{}"
    links = [("a", "in", "b"), ("a", "in", "c"), ("b", "has", "a"), ("d", "near", "a")]
    links += [("a", "near", "d"), ("e", "in", "b")]
    graph = Graph.from_claims([Claim(*map(name.format, link)) for link in links])
    count = DegreeCounter(graph.index, graph.index).count

    def ask(s: str, p: str, o: str) -> Degrees:
        return count(Claim(name.format(s), name.format(p), name.format(o)))

    # Neither the values b and c of "in" count for a, nor the reverse link of b; nor do the links
    # of b with a and e, which have it.
    assert ask("a", "in", "b") == Degrees(1, 1, 0, 0)
    # The same for the false claim about another object, so that this predicts nothing.
    assert ask("a", "in", "d")[:2] == (1, 1)
    assert ask("a", "near", "b")[:2] == (1, 2)
    assert ask("unknown", "in", "b") == Degrees(0, 0, 0, 0)
    # Of another predicate they count, so that the object is compared with others as it is.
    assert ask("d", "near", "b") == Degrees(0, 0, 2, 1)
    assert ask("a", "unknown", "b")[:2] == (2, 3)


@given(st.lists(st.tuples(*[st.integers(0, 5)] * 2, st.integers(0, 2)), max_size=25), st.data())
def test_degrees_of_objects_leave_out_links_with_their_subjects(
    links: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    claims = {Claim(f"{BASE}n{s}", f"{BASE}p{p}", f"{BASE}n{o}") for s, o, p in links}
    graph = Graph.from_claims(claims)
    asked = Claim(f"{BASE}n0", f"{BASE}p0", f"{BASE}n{data.draw(st.integers(0, 5))}")
    subjects = {c.subj for c in claims if (c.pred, c.obj) == (asked.pred, asked.obj)}
    degrees = DegreeCounter(graph.index, graph.index).count(asked)
    assert degrees.object_in == sum(c.obj == asked.obj and c.subj not in subjects for c in claims)
    assert degrees.object_out == sum(c.subj == asked.obj and c.obj not in subjects for c in claims)


def test_surface_features_are_read_from_the_card() -> None:
    assert get_readable_name('"1,5"^^<http://www.w3.org/2001/XMLSchema#decimal>') == "1,5"
    assert has_negation("It does not flow.")
    assert has_negation("It doesn't.")
    assert has_negation("It flows neither through Chad nor along its border.")
    assert not has_negation("The Notting Hill flows.")
    card = make_card(7, "C", ("A7 flows into C9.", "D flows into B7."))
    surface = read_surface(card)
    assert surface.has_other_value
    assert surface.has_object_elsewhere
    assert not surface.has_pair


@pytest.mark.parametrize(
    ("fact", "names_class"),
    [
        ("A7 is a river.", True),
        ("A7 is a body of water.", True),
        ("A7 is an Artist.", True),
        (f"A7 is a {'Deoxyribonucleic' * 4} Binding Protein (Human).", False),
        # A place is another fact; cards that ask who governs a city may need no other.
        ("A7 is a city in Poland.", False),
        ("A7 is a tributary of B7.", False),
        ("D is a river.", False),
    ],
)
def test_what_a_subject_is_differs_from_where_it_is(fact: str, names_class: bool) -> None:
    card = make_card(7, "C", (fact, "A7 flows into C9."))
    features = dict(zip(FEATURE_NAMES, compute_features(card, read_surface(card)), strict=True))
    assert features["facts that say what the subject is"] == names_class


def test_command_fails_only_with_the_fail_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fact_counts = {"E": 1, "C": 2, "U": 3}
    cards = [
        make_card(int(c.id), c.label, ("So.",) * fact_counts[c.label])
        for c in make_random_cards(90)
    ]
    write_cards(tmp_path / "x.jsonl", cards)
    main(tmp_path / "x.jsonl")
    assert "LEAKS" in capsys.readouterr().out
    main(tmp_path / "x.jsonl", max_leak=0.9)
    with pytest.raises(AuditFailedError, match="predicted from the surface"):
        main(tmp_path / "x.jsonl", fail=True)
    capsys.readouterr()
    main(tmp_path / "x.jsonl", as_json=True)
    baselines = json.loads(capsys.readouterr().out)["audit"]["baselines"]
    assert baselines[0]["verdict"] == "LEAKS"
    for measure in (baselines[0]["balanced_accuracy"], baselines[0]["auc"]):
        assert measure["low"] > measure["chance"]


def test_command_names_the_attack_that_was_not_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cards(tmp_path / "x.jsonl", make_random_cards(60))
    main(tmp_path / "x.jsonl")
    printed = capsys.readouterr().out
    assert f"{DEGREES}: not tried" in printed
    assert "of 12 baselines" in printed
    main(tmp_path / "x.jsonl", domain="mayors")
    printed = capsys.readouterr().out
    assert "not tried" not in printed
    assert "of 13 baselines" in printed


def test_graph_that_cannot_be_opened_is_a_warning_unless_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cards = tmp_path / "x.jsonl"
    write_cards(cards, make_random_cards(60))
    (tmp_path / "g.ttl").write_text("no turtle", "utf-8")
    (tmp_path / "s.ttl").write_text("no turtle", "utf-8")
    manifest = {"graph_files": ["g.ttl"], "shapes_files": ["s.ttl"]}
    write_edited_manifest(tmp_path / "x.manifest.json", manifest)
    main(cards)
    captured = capsys.readouterr()
    assert "cannot be opened" in captured.err
    assert f"{DEGREES}: not tried" in captured.out
    with pytest.raises(GraphSyntaxError):
        main(cards, kg=[tmp_path / "g.ttl"], shapes=[tmp_path / "s.ttl"])


def test_audit_finds_the_leaks_of_the_published_cards(published_data: Path) -> None:
    report = audit_cards(read_cards(published_data / "epistemic" / "context_cards.jsonl"))
    accuracy_by_rule = {r.name: r.accuracy for r in report.rules}
    assert max(accuracy_by_rule.values()) > 0.99
    assert len(report.leaks) >= 4
    state = next(s for s in report.states if s.state.startswith("another value"))
    assert state.counts["U"] == 200
    assert state.counts["C"] > 390
