"""Tests that the audit finds planted leaks, reports none without them, and accepts tiny files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from cards.audit_labels import main
from cards.card import Card, read_cards, write_cards
from cards.leakage.audit import audit_cards, compute_auc, group_cards, grouped_wilson_interval
from cards.leakage.surface import get_readable_name, has_negation, read_surface
from kg.base.errors import AuditFailedError
from kg.claims import GOLD_OF_LABEL, Claim, Label

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
    assert report.tests == len(report.baselines) == 11


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


def test_auc_counts_ties_half() -> None:
    scores = np.array([1.0, 2.0, 2.0, 3.0])
    assert compute_auc(scores, np.array([False, False, True, True])) == pytest.approx(0.875)
    assert compute_auc(scores, np.array([True] * 4)) is None


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
    assert '"baselines"' in capsys.readouterr().out


def test_audit_finds_the_leaks_of_the_published_cards(published_data: Path) -> None:
    report = audit_cards(read_cards(published_data / "epistemic" / "context_cards.jsonl"))
    accuracy_by_rule = {r.name: r.accuracy for r in report.rules}
    assert max(accuracy_by_rule.values()) > 0.99
    assert len(report.leaks) >= 4
    state = next(s for s in report.states if s.state.startswith("another value"))
    assert state.counts["U"] == 200
    assert state.counts["C"] > 390
