"""Tests that a card set whose labels can be predicted is drawn again, and says so if it stays."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from stage_calls import check_error_line, run_epoche

from cards.card import Card, read_cards
from cards.card_set import CardSet
from cards.generation.card_plan import CardPlan
from cards.generator import make_cards
from cards.leakage.audit import Audit
from cards.leakage.redraw import (
    MAX_DRAWINGS,
    audit_new_cards,
    describe_leaks,
    draw_without_leaks,
)
from kg.base.provenance import manifest_path
from kg.knowledge import KnowledgeBase


@pytest.fixture(scope="module")
def fair(rivers_kb: KnowledgeBase) -> CardSet:
    return make_cards(rivers_kb, CardPlan(per_label=18))


@pytest.fixture(scope="module")
def rivers_kb() -> KnowledgeBase:
    return KnowledgeBase.open("rivers")


def make_leaky(card_set: CardSet) -> CardSet:
    """Adds a word to the question of every C card."""

    def mark(card: Card) -> Card:
        question = f"Really? {card.question}" if card.label == "C" else card.question
        return msgspec.structs.replace(card, question=question)

    return msgspec.structs.replace(card_set, cards=tuple(map(mark, card_set.cards)))


@pytest.fixture(scope="module")
def leaky(fair: CardSet) -> CardSet:
    return make_leaky(fair)


AUDITS: dict[int, Audit] = {}


def audit_set(card_set: CardSet) -> Audit:
    """Audits a set once; the fixtures live as long as the module."""
    if id(card_set) not in AUDITS:
        AUDITS[id(card_set)] = audit_new_cards(card_set.kb, card_set.cards)
    return AUDITS[id(card_set)]


def test_a_leak_is_drawn_again(
    fair: CardSet, leaky: CardSet, capsys: pytest.CaptureFixture[str]
) -> None:
    drawing = draw_without_leaks(lambda n, _: fair if n else leaky, audit_set)
    assert drawing.cards is fair
    assert not drawing.audit.leaks
    assert drawing.describe() == {"drawn": 2, "kept": 2, "leaks": 0}
    assert "drawing again, because labels can be predicted by: question, bag of words" in (
        capsys.readouterr().out
    )


def test_a_fair_set_is_drawn_once(fair: CardSet) -> None:
    numbers: list[int] = []
    drawing = draw_without_leaks(lambda n, _: numbers.append(n) or fair, audit_set)
    assert numbers == [0]
    assert drawing.describe() == {"drawn": 1, "kept": 1, "leaks": 0}


def test_a_leaky_set_is_preferred_to_a_rest(fair: CardSet, leaky: CardSet) -> None:
    rest = msgspec.structs.replace(fair, cards=fair.cards[:20])
    drawing = draw_without_leaks(lambda n, _: rest if n else leaky, audit_set)
    assert drawing.cards is leaky
    assert any("by question, bag of words: " in line for line in describe_leaks(drawing.audit))
    assert drawing.describe() == {"drawn": 2, "kept": 1, "leaks": len(drawing.audit.leaks)}


def test_the_number_of_drawings_is_limited(leaky: CardSet) -> None:
    numbers: list[int] = []
    draw_without_leaks(lambda n, _: numbers.append(n) or leaky, audit_set)
    assert numbers == list(range(MAX_DRAWINGS))


def add_truth_auc(audit: Audit, value: float, n_truth: int) -> Audit:
    """Returns an audit by which a method tells the true claims of U cards, with this AUC."""
    baseline = next(baseline for baseline in audit.baselines if baseline.auc is not None)
    auc = msgspec.structs.replace(baseline.auc, value=value)  # type: ignore[type-var]
    truth = msgspec.structs.replace(baseline, auc=auc, verdict="at chance")
    return msgspec.structs.replace(audit, truth_baselines=(truth,), n_truth=n_truth)


@pytest.mark.parametrize(("auc", "n_truth", "n_drawn"), [
    (0.63, 200, 2), (0.37, 200, 2), (0.58, 200, 1), (0.42, 200, 1), (0.63, 40, 1),
])  # fmt: skip
def test_a_set_whose_true_claims_can_be_told_is_drawn_again(
    fair: CardSet, capsys: pytest.CaptureFixture[str], auc: float, n_truth: int, n_drawn: int
) -> None:
    audits = [add_truth_auc(audit_set(fair), auc, n_truth), audit_set(fair)]
    is_strict: list[bool] = []

    def draw(number: int, strict: bool) -> CardSet:
        is_strict.append(strict)
        return fair

    drawing = draw_without_leaks(draw, lambda _: audits.pop(0))
    assert drawing.describe() == {"drawn": n_drawn, "kept": n_drawn, "leaks": 0}
    # A set is not smaller because of that.
    assert is_strict == [False] * n_drawn
    assert ("true claims of U cards can be told" in capsys.readouterr().out) == (n_drawn == 2)


def test_of_sets_whose_true_claims_can_be_told_the_best_is_kept(fair: CardSet) -> None:
    audits = [add_truth_auc(audit_set(fair), auc, 200) for auc in (0.66, 0.38, 0.61, 0.7, 0.35)]
    drawing = draw_without_leaks(lambda _number, _strict: fair, lambda _: audits.pop(0))
    assert drawing.describe() == {"drawn": 5, "kept": 3, "leaks": 0}
    assert "AUC 0.61" in drawing.describe_truth_leaks()


@pytest.mark.slow
def test_a_set_that_still_leaks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No graph is known from which cards leak in every drawing.
    monkeypatch.setattr(
        "cards.generator.make_cards", lambda kb, plan, **_: make_leaky(make_cards(kb, plan))
    )
    command = ("cards", "--domain", "rivers", "--num-per-type", 12, "--audit")
    done = run_epoche(*command, "--out", tmp_path / "c.jsonl")
    assert done.code == 0, done.err
    assert "warning: Labels can be predicted without reading the evidence" in done.err
    manifest = json.loads(manifest_path(tmp_path / "c.jsonl").read_text("utf-8"))
    assert any("by question, bag of words: " in warning for warning in manifest["warnings"])
    # Until a strict set is too small, or five times.
    assert 1 < manifest["drawings"]["drawn"] <= MAX_DRAWINGS
    assert 1 <= manifest["drawings"]["kept"] <= manifest["drawings"]["drawn"]
    assert manifest["drawings"]["leaks"] > 0
    assert len(read_cards(tmp_path / "c.jsonl")) >= 18
    done = run_epoche("join", tmp_path / "c.jsonl", "--out", tmp_path / "joined.jsonl")
    joined = json.loads(manifest_path(tmp_path / "joined.jsonl").read_text("utf-8"))
    assert joined["warnings"] == [f"c.jsonl: {warning}" for warning in manifest["warnings"]]
    done = run_epoche(*command, "--strict", "--out", tmp_path / "d.jsonl")
    assert "Labels can be predicted" in check_error_line(done, 17)
    assert not (tmp_path / "d.jsonl").exists()
