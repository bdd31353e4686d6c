"""Tests that the predicate asked about does not tell which claims of U cards were set aside."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from cards import generator
from cards.card import Card
from cards.card_set import CardSet
from cards.generation.card_plan import CardPlan
from cards.generator import _draw_cards, make_cards
from kg.claims import Claim
from kg.knowledge import KnowledgeBase

EX = "https://example.org/"
NAMES = ("capital", "currency", "zone")
PREFIXES = """@prefix ex: <https://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


SAME = "; <http://www.w3.org/2002/07/owl#sameAs> <http://o.example/t{0}>"
OTHER_NAMES = [
    "",
    SAME,
    f"{SAME} . <http://o.example/t{{0}}> a ex:Town ; ex:zone ex:z3 ; rdfs:label 'Old T{{0}}'",
]


def to_name(number: int) -> str:
    """Writes a number as a name that can be read."""
    return "".join("bdfgklmnpr"[int(digit)] + "a" for digit in f"{number:03}").capitalize()


def open_lands(folder: Path, n_currencies: int, *derived: str) -> KnowledgeBase:
    """Opens a graph of lands, each with a capital of its own and a zone that others share.

    Args:
        folder: where the files are written.
        n_currencies: how many lands have a currency, which others share.
        derived: names of predicates whose facts follow from those of a sub-property.
    """
    lines = [PREFIXES, *(f"ex:{name}Now rdfs:subPropertyOf ex:{name} ." for name in derived)]
    capital, currency, zone = (
        f"ex:{name}Now" if name in derived else f"ex:{name}" for name in NAMES
    )
    for n in range(160):
        money = f"{currency} ex:m{n % 20} ; " if n < n_currencies else ""
        lines.append(
            f'ex:l{n} a ex:Land ; rdfs:label "{to_name(n)}land" ; {capital} ex:c{n} ; '
            f"{money}{zone} ex:z{n * 7 % 16} ."
        )
        lines.append(f'ex:c{n} a ex:City ; rdfs:label "{to_name(n)} City" .')
    lines += [f'ex:m{n} a ex:Money ; rdfs:label "{to_name(n + 200)} coin" .' for n in range(20)]
    lines += [f'ex:z{n} a ex:Zone ; rdfs:label "{to_name(n + 300)} time" .' for n in range(16)]
    shapes = [
        f"ex:{name}Shape a sh:NodeShape ; sh:targetSubjectsOf ex:{name} ; "
        f"sh:property [ sh:path ex:{name} ; sh:maxCount 1 ] ."
        for name in NAMES
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


@pytest.fixture
def drawings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, CardSet]]:
    """Collects each drawing, and whether it was for balance."""
    collected: list[tuple[bool, CardSet]] = []

    def draw_cards(makers: Any, plan: CardPlan, *rest: Any) -> CardSet:
        card_set = _draw_cards(makers, plan, *rest)
        collected.append((plan.balances_truth, card_set))
        return card_set

    monkeypatch.setattr(generator, "_draw_cards", draw_cards)
    return collected


def count_unbalanced(card_set: CardSet) -> int:
    return card_set.count_unbalanced_unknowns().total()


@pytest.mark.parametrize("n_currencies", [30, 60, 100])
def test_nothing_is_drawn_again_where_the_others_can_give_no_more(
    tmp_path: Path, n_currencies: int, drawings: list[tuple[bool, CardSet]]
) -> None:
    card_set = draw(open_lands(tmp_path, n_currencies), "capital", "currency")
    assert card_set.count_triplets() == 40
    assert card_set.lacks_balance()
    assert len(drawings) <= 2
    assert not any(is_for_balance for is_for_balance, _ in drawings)


@pytest.mark.parametrize("n_currencies", [111, 117, 126])
def test_one_more_drawing_gives_the_balance_that_the_others_can_give(
    tmp_path: Path, n_currencies: int, drawings: list[tuple[bool, CardSet]]
) -> None:
    """Where some cards stay without a counterpart, another number set aside would not help."""
    card_set = draw(open_lands(tmp_path, n_currencies), "capital", "currency")
    (_, usual), (is_for_balance, balanced) = drawings
    assert is_for_balance
    assert card_set.cards == balanced.cards
    assert not card_set.missing
    assert usual.count_triplets() == card_set.count_triplets() == 40
    assert count_unbalanced(usual) == 12
    assert 0 < count_unbalanced(card_set) <= 8


@pytest.mark.parametrize("is_estimated", [True, False])
@pytest.mark.parametrize(
    ("derived", "is_balanced"),
    [
        (("capital",), False),
        (("capital", "zone"), False),
        (("zone",), True),
        (("currency", "zone"), True),
        (NAMES, True),
    ],
)
def test_of_twenty_cards_that_need_a_derived_fact_at_most_one_is_lost(
    tmp_path: Path,
    derived: tuple[str, ...],
    is_balanced: bool,
    is_estimated: bool,
    drawings: list[tuple[bool, CardSet]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So it is also without the estimate, which only saves a drawing."""
    if not is_estimated:
        monkeypatch.setattr(CardSet, "would_lose_derived_cards", lambda _: False)
    card_set = draw(open_lands(tmp_path, 160, *derived), *NAMES)
    usual_sets = [one for is_for_balance, one in drawings if not is_for_balance]
    usual = max(usual_sets, key=CardSet.count_derived_cards)
    assert usual.lacks_balance()
    assert usual.count_derived_cards() >= 12
    assert card_set.count_derived_cards() >= 0.95 * usual.count_derived_cards()
    assert card_set.count_triplets() == 40
    assert card_set.lacks_balance() != is_balanced
    is_redrawn = len(usual_sets) < len(drawings)
    assert is_redrawn == (is_balanced or not is_estimated)


def make_unknowns(**counts: tuple[int, int]) -> CardSet:
    """Makes a set of U cards: predicate → how many ask for the truth, and how many do not."""
    cards = tuple(
        Card(
            id="",
            facts=(),
            question="",
            gold="UNKNOWN",
            label="U",
            claim=Claim(f"{EX}s{n}", EX + name, EX),
            meta={"full_label": label},
        )
        for name, (n_true, n_others) in counts.items()
        for n, label in enumerate("E" * n_true + "C" * n_others)
    )
    return CardSet(cards, {}, (), cast("KnowledgeBase", None), ())


def test_unknowns_without_a_counterpart_are_counted() -> None:
    card_set = make_unknowns(a=(0, 8), b=(6, 4), c=(6, 3), d=(5, 5), e=(5, 4), f=(1, 0))
    surplus = {"a": 8, "b": 2, "c": 2, "d": 0, "e": 0, "f": 0}
    assert card_set.count_unbalanced_unknowns() == {EX + k: n for k, n in surplus.items()}
    balanced = {"a": 1, "b": 8, "c": 7, "d": 10, "e": 9, "f": 1}
    assert card_set.count_balanced_unknowns() == {EX + k: n for k, n in balanced.items()}


def test_twenty_predicates_at_eleven_to_nine_do_not_balance() -> None:
    card_set = make_unknowns(**{f"p{n}": (11, 9) for n in range(20)})
    assert count_unbalanced(card_set) == 40  # 10 % of 400


def test_sets_that_balance_are_drawn_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    rivers = KnowledgeBase.open("rivers")
    card_set = make_cards(rivers, CardPlan(per_label=60, seed=12345))
    assert not card_set.lacks_balance()
    monkeypatch.setattr(CardSet, "lacks_balance", lambda _: False)
    assert make_cards(rivers, CardPlan(per_label=60, seed=12345)).cards == card_set.cards


@pytest.mark.parametrize("other_name", OTHER_NAMES)
def test_who_shares_a_value_is_asked_about_with_each_label_equally_often(
    tmp_path: Path, other_name: str
) -> None:
    # Half of the cities are the only one of their country: nobody else keeps it if it is set aside.
    # A town shares nothing with itself under another name.
    lines = [PREFIXES]
    for n in range(160):
        country = n % 10 if n % 2 else 100 + n
        lines.append(
            f'ex:t{n} a ex:Town ; rdfs:label "{to_name(n)} Town" ; ex:country ex:l{country} ; '
            f"ex:zone ex:z{n % 7} {other_name.format(n)} ."
        )
        lines.append(f'ex:l{country} a ex:Land ; rdfs:label "{to_name(country)}land" .')
    lines += [f'ex:z{n} a ex:Zone ; rdfs:label "{to_name(n + 300)} time" .' for n in range(7)]
    graph, rules = tmp_path / "g.ttl", tmp_path / "s.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    rules.write_text(
        f"{PREFIXES} ex:One a sh:NodeShape ; sh:targetSubjectsOf ex:country ; "
        "sh:property [ sh:path ex:country ; sh:maxCount 1 ] .",
        "utf-8",
    )
    kb = KnowledgeBase.open(None, [graph], [rules])
    labels: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for seed in range(6):
        for card in draw(kb, "country", per_label=15, seed=seed).cards:
            labels[int(card.claim.subj.removeprefix(f"{EX}t")) % 2 == 1][card.label] += 1
    assert all(len(set(counts.values())) <= 1 for counts in labels.values()), labels
    assert labels[True]["U"] == 90 or "label" in other_name
