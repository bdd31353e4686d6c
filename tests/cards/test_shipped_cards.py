"""The card sets that Epoché ships: they stay as they are, and their labels hold today."""

from __future__ import annotations

import lzma
import shutil
from collections import Counter
from pathlib import Path

import pytest
from stage_calls import check_error_line, run_epoche

from cards import shipped_cards
from cards.card import hash_card_set, read_cards
from cards.card_integrity import are_as_made
from cards.label_check import check_labels
from cards.shipped_cards import (
    SHIPPED_FOLDER,
    ShippedSet,
    find_shipped_set,
    list_shipped_sets,
    unpack_shipped_set,
)
from kg.graph import Graph
from kg.knowledge import KnowledgeBase

NAME = "rivers-1"
CARD_SET = "4d917dded4bead67a55643aaef77d14e1499fe6e6fbf06392bcae06fb29f7e4f"
"""Models were asked these cards (``eval/model/recordings``). Others need another name."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> ShippedSet:
    return unpack_shipped_set(NAME, tmp_path_factory.mktemp("shipped"))


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped files, to be damaged."""
    folder = tmp_path / "shipped"
    shutil.copytree(SHIPPED_FOLDER, folder)
    monkeypatch.setattr(shipped_cards, "SHIPPED_FOLDER", folder)
    return folder


def test_the_cards_are_those_that_models_were_asked(unpacked: ShippedSet) -> None:
    cards = read_cards(unpacked.cards)
    assert are_as_made(unpacked.cards)
    assert Counter(card.label for card in cards) == {"E": 100, "C": 100, "U": 100}
    assert hash_card_set(cards) == CARD_SET
    assert find_shipped_set(CARD_SET) == NAME
    assert find_shipped_set(CARD_SET[:-1] + "0") is None
    assert list(list_shipped_sets()) == [NAME]


def test_the_labels_are_proved_over_the_graph_of_today(unpacked: ShippedSet) -> None:
    """If the graph, its shapes or the oracle changed so that a label is wrong, this fails."""
    cards = read_cards(unpacked.cards)
    (graph_file,) = unpacked.cards.parent.glob("*.nt")
    check = check_labels(cards, KnowledgeBase.open("rivers", [graph_file]).oracle)
    assert (check.checked, check.disagreements) == (300, ())
    today = KnowledgeBase.open("rivers")
    claims = set(today.graph.iter_claims())
    assert set(unpacked.graph.iter_claims()) <= claims
    set_aside = claims - set(unpacked.graph.iter_claims())
    assert {card.claim for card in cards if card.full_label == "E"} & set_aside
    for card in cards:
        verdict = today.oracle.license(card.claim)
        assert verdict.label == (card.full_label or card.label), card.question


def test_a_shipped_set_is_written_with_its_graph(unpacked: ShippedSet, tmp_path: Path) -> None:
    done = run_epoche("join", "--shipped", NAME, "--out", tmp_path / "cards.jsonl")
    assert done.code == 0, done.err
    assert (tmp_path / "cards.jsonl").read_bytes() == unpacked.cards.read_bytes()
    assert are_as_made(tmp_path / "cards.jsonl")
    assert Graph.load(tmp_path / "cards.graph.nt").sha256 == unpacked.graph.sha256
    # Systems find the graph beside the cards; of a sample, too.
    done = run_epoche(
        "join", "--shipped", NAME, "--triplets", 2, "--out", tmp_path / "few" / "cards.jsonl"
    )
    assert done.code == 0, done.err
    few = read_cards(tmp_path / "few" / "cards.jsonl")
    assert len(few) == 6
    assert {card.id for card in few} < {card.id for card in read_cards(unpacked.cards)}
    done = run_epoche(
        *("eval", "--cards", tmp_path / "few" / "cards.jsonl", "--system", "kg"),
        *("--out", tmp_path / "results.jsonl"),
    )
    assert done.code == 0, done.err
    assert run_epoche("verify", tmp_path / "results.jsonl").code == 0


def test_either_files_or_a_shipped_set_are_joined(unpacked: ShippedSet, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "cards.jsonl")
    assert run_epoche("join", *out).code == 2
    assert run_epoche("join", unpacked.cards, "--shipped", NAME, *out).code == 2
    assert "There are: rivers-1" in check_error_line(
        run_epoche("join", "--shipped", "../rivers", *out), 3
    )
    assert not list(tmp_path.iterdir())


def test_a_changed_or_damaged_set_is_refused(
    own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "cards.jsonl"

    def join_with(name: str, content: bytes, code: int) -> str:
        before = (own_folder / name).read_bytes()
        (own_folder / name).write_bytes(content)
        line = check_error_line(run_epoche("join", "--shipped", NAME, "--out", out), code)
        (own_folder / name).write_bytes(before)
        assert not out.exists()
        return line

    packed = own_folder / f"{NAME}.jsonl.xz"
    cards = lzma.decompress(packed.read_bytes())
    changed = lzma.compress(cards.replace(b'"kind":"absent"', b'"kind":"silent"', 1))
    assert "its manifest is of" in join_with(packed.name, changed, 40)
    assert "cannot be unpacked" in join_with(packed.name, packed.read_bytes()[:-20], 12)
    manifest = own_folder / f"{NAME}.manifest.json"
    edited = manifest.read_bytes().replace(b'"seed": 12345', b'"seed": 12346')
    assert "was changed" in join_with(manifest.name, edited, 40)
    (graph,) = own_folder.glob("*.nt.xz")
    less = lzma.decompress(graph.read_bytes()).split(b"\n", 1)[1]
    assert "not that of the cards" in join_with(graph.name, lzma.compress(less), 12)
    monkeypatch.setattr(shipped_cards, "_MAX_BYTES", 1000)
    assert "unpacks to more than" in join_with(packed.name, packed.read_bytes(), 12)
