"""Tests that the predicate asked about does not tell which claims of U cards were set aside."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from cards.card_set import CardSet
from cards.generation.card_plan import CardPlan
from cards.generator import make_cards
from kg.knowledge import KnowledgeBase

EX = "https://example.org/"
PREFIXES = """@prefix ex: <https://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def to_name(number: int) -> str:
    """Writes a number as a name that can be read."""
    return "".join("bdfgklmnpr"[int(digit)] + "a" for digit in f"{number:03}").capitalize()


def open_lands(folder: Path, n_currencies: int) -> KnowledgeBase:
    """Opens a graph of lands, each with a capital of its own and a zone that others share.

    Args:
        folder: where the files are written.
        n_currencies: how many lands have a currency, which others share.
    """
    lines = [PREFIXES]
    for n in range(160):
        currency = f"ex:currency ex:m{n % 20} ; " if n < n_currencies else ""
        lines.append(
            f'ex:l{n} a ex:Land ; rdfs:label "{to_name(n)}land" ; ex:capital ex:c{n} ; '
            f"{currency}ex:zone ex:z{n * 7 % 16} ."
        )
        lines.append(f'ex:c{n} a ex:City ; rdfs:label "{to_name(n)} City" .')
    lines += [f'ex:m{n} a ex:Money ; rdfs:label "{to_name(n + 200)} coin" .' for n in range(20)]
    lines += [f'ex:z{n} a ex:Zone ; rdfs:label "{to_name(n + 300)} time" .' for n in range(16)]
    shapes = [
        f"ex:{name}Shape a sh:NodeShape ; sh:targetSubjectsOf ex:{name} ; "
        f"sh:property [ sh:path ex:{name} ; sh:maxCount 1 ] ."
        for name in ("capital", "currency", "zone")
    ]
    graph, rules = folder / "g.ttl", folder / "s.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    rules.write_text("\n".join([PREFIXES, *shapes]), "utf-8")
    return KnowledgeBase.open(None, [graph], [rules])


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return open_lands(tmp_path_factory.mktemp("lands"), 160)


def draw(kb: KnowledgeBase, *names: str, per_label: int = 40, seed: int = 1) -> CardSet:
    """Draws cards about these predicates."""
    preds = tuple(EX + name for name in names)
    return make_cards(kb, CardPlan(per_label=per_label, seed=seed, predicates=preds))


def count_unknowns(card_set: CardSet) -> Counter[tuple[str, str]]:
    """Counts U cards by predicate and by the label over the full graph."""
    return Counter(
        (card.claim.pred.removeprefix(EX), card.meta["full_label"])
        for card in card_set.cards
        if card.label == "U"
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_predicates_without_true_claims_leave_their_share_to_others(
    kb: KnowledgeBase, seed: int
) -> None:
    """Nobody else has a capital that was set aside, so that no claim about it can be true."""
    card_set = draw(kb, "capital", "currency", "zone", seed=seed)
    assert not card_set.missing
    counts = count_unknowns(card_set)
    assert counts.total() == 40
    assert counts["capital", "E"] == 0
    assert counts["capital", "C"] <= 3
    for name in ("currency", "zone"):
        assert abs(counts[name, "E"] - counts[name, "C"]) <= 1, counts
        assert counts[name, "E"] >= 6
    assert not card_set.lacks_balance()


def test_a_predicate_without_true_claims_is_asked_about_alone(kb: KnowledgeBase) -> None:
    assert count_unknowns(draw(kb, "capital", per_label=20)) == {("capital", "C"): 20}


@pytest.mark.parametrize("n_currencies", [30, 60])
def test_no_card_is_lost_where_the_others_can_give_no_more(
    tmp_path: Path, n_currencies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = open_lands(tmp_path, n_currencies)
    card_set = draw(kb, "capital", "currency")
    monkeypatch.setattr(CardSet, "lacks_balance", lambda _: False)
    usual = draw(kb, "capital", "currency")
    assert card_set.count_triplets() == usual.count_triplets() == 40
    n_unbalanced, n_before = (one.count_unbalanced_unknowns().total() for one in (card_set, usual))
    assert 0 < n_unbalanced <= n_before


@pytest.mark.parametrize("derived", ["capital", "currency"])
def test_cards_that_need_a_derived_fact_are_kept(
    kb: KnowledgeBase, derived: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If all of them are of the predicate that does not balance, it keeps its share."""
    with monkeypatch.context() as patch:
        patch.setattr(CardSet, "lacks_balance", lambda _: False)
        usual = draw(kb, "capital", "currency", "zone")
    assert usual.lacks_balance()
    cards = tuple(
        msgspec.structs.replace(card, meta={**card.meta, "derived": True})
        if card.claim.pred == EX + derived and card.label != "U"
        else card
        for card in usual.cards
    )
    card_set = msgspec.structs.replace(usual, cards=cards)
    assert card_set.needs_unbalanced() == (derived == "capital")
    assert not usual.needs_unbalanced()


def test_sets_that_balance_are_drawn_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    rivers = KnowledgeBase.open("rivers")
    card_set = make_cards(rivers, CardPlan(per_label=60, seed=12345))
    assert not card_set.lacks_balance()
    monkeypatch.setattr(CardSet, "lacks_balance", lambda _: False)
    assert make_cards(rivers, CardPlan(per_label=60, seed=12345)).cards == card_set.cards
