"""A sample of triplets from joined card files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from stage_calls import check_error_line, run_epoche

from cards.card import Card, read_cards
from cards.joiner import sample_triplets
from kg.base.errors import QuotaError
from kg.claims import GOLD_OF_LABEL, LABELS, Claim


@pytest.fixture(scope="module")
def card_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cards") / "cards.jsonl"
    done = run_epoche(
        "cards", "--domain", "mayors", "--num-per-type", 12, "--faithfulness",
        "--num-faithfulness", 3, "--out", path,
    )  # fmt: skip
    assert done.code == 0, done.err
    return path


def draw_sample(files: list[Path], number: int, out: Path) -> list[Card]:
    done = run_epoche("join", *files, "--triplets", number, "--out", out)
    assert done.code == 0, done.err
    return list(read_cards(out))


def test_a_sample_has_whole_triplets_and_only_those(card_file: Path, tmp_path: Path) -> None:
    cards = list(read_cards(card_file))
    sample = draw_sample([card_file], 5, tmp_path / "sample.jsonl")
    labels = Counter((card.triplet, card.label) for card in sample)
    assert len(labels) == 15
    assert set(labels.values()) == {1}
    assert sample == [card for card in cards if card in sample]
    larger = draw_sample([card_file], 6, tmp_path / "larger.jsonl")
    assert {card.id for card in sample} < {card.id for card in larger}


def test_a_sample_does_not_depend_on_the_order_of_cards(card_file: Path, tmp_path: Path) -> None:
    lines = card_file.read_bytes().splitlines(keepends=True)
    turned = tmp_path / "turned.jsonl"
    turned.write_bytes(b"".join(reversed(lines)))
    sample = draw_sample([card_file], 5, tmp_path / "sample.jsonl")
    other = draw_sample([turned], 5, tmp_path / "other.jsonl")
    assert {card.id for card in sample} == {card.id for card in other}


def test_near_misses_with_true_claims_are_no_triplets() -> None:
    kinds = {"t1": "functional", "t2": "near-miss/sibling"}
    claim = Claim("http://e/s", "http://e/p", "http://e/o")
    cards = [
        Card(
            id=f"{triplet}{label}", facts=(), question="?", gold=GOLD_OF_LABEL[label],
            label=label, claim=claim, kind=kind, meta={"context": triplet},
        )
        for triplet, kind in kinds.items()
        for label in LABELS
    ]  # fmt: skip
    assert {card.triplet for card in sample_triplets(cards, 1)} == {"t1"}
    with pytest.raises(QuotaError, match="1 triplet, not 2"):
        sample_triplets(cards, 2)


def test_too_few_triplets_are_an_error(card_file: Path, tmp_path: Path) -> None:
    done = run_epoche("join", card_file, "--triplets", 99, "--out", tmp_path / "sample.jsonl")
    assert "not 99" in check_error_line(done, done.code)
    assert done.code == 11
    assert not (tmp_path / "sample.jsonl").exists()
