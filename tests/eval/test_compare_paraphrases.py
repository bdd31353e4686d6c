"""Tests what `epoche compare --paraphrases` says a system loses on questions in other words."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import typer
from scipy.stats import binomtest

from cards.card import Card, hash_card_set, read_cards, write_cards
from cards.make_context_cards import main as make_card_file
from cards.paraphrase_cards import main as paraphrase
from cards.paraphraser import TEMPLATE_ID
from eval.abstention.comparison.paraphrases import SUFFIX, read_paraphrase_pairs
from eval.abstention.metrics.cluster_samples import Plan
from eval.abstention.metrics.observations import read_observations
from eval.abstention.metrics.report import measure
from kg.base.errors import CardSetMismatchError, RecordError, SystemNotFoundError
from reporting.commands.compare_runs import main

PREDS = ("YES", "NO", "UNKNOWN")
SYSTEMS = {"steady": (0.9, 0.9), "brittle": (0.95, 0.5)}
"""System → share of right answers to the cards and to their paraphrases."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes cards, their paraphrases, and answers of two systems to both."""
    folder = tmp_path_factory.mktemp("runs")
    make_card_file(folder / "cards.jsonl", domain="rivers", num_per_type=40, seed=5)
    paraphrase(folder / "cards.jsonl", out=folder / "reworded.jsonl", seed=5)
    for place, name in enumerate(("cards", "reworded")):
        cards = read_cards(folder / f"{name}.jsonl")
        for system, shares in SYSTEMS.items():
            write_answers(folder / f"{name}_{system}.jsonl", cards, system, shares[place])
    return folder


def write_answers(path: Path, cards: list[Card], system: str, share: float) -> None:
    rng, card_set = random.Random(path.stem), hash_card_set(cards)[:12]
    rows = []
    for card in cards:
        wrong = [pred for pred in PREDS if pred != card.gold]
        pred = card.gold if rng.random() < share else rng.choice(wrong)
        rows.append({
            "id": card.id, "system": system, "gold": card.gold, "label": card.label, "pred": pred,
            "pass": pred == card.gold, "kind": card.kind, "cluster": card.cluster,
            "difficulty": card.difficulty, "cards": card_set, "triplet": card.triplet,
        })  # fmt: skip
    rng.shuffle(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def list_results(folder: Path) -> list[Path]:
    return [
        folder / f"{name}_{system}.jsonl" for name in ("reworded", "cards") for system in SYSTEMS
    ]


def compare(folder: Path, out: Path, **options: Any) -> dict[tuple[str, str], dict[str, Any]]:
    main(
        list_results(folder), out=out, paraphrases=folder / "reworded.jsonl", resamples=300,
        **options,
    )  # fmt: skip
    report = json.loads(out.read_text(encoding="utf-8"))
    return {(pair["baseline"], pair["metric"]): pair for pair in report["comparisons"]}


def test_gap_is_the_difference_of_the_metrics_on_either_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = compare(folder, tmp_path / "gap.json", cards=[folder / "cards.jsonl"])
    plan = Plan(("licensed",), 20)
    for system in SYSTEMS:
        reports = [
            measure(read_observations([folder / f"{name}_{system}.jsonl"]), plan)
            .policies["licensed"].systems[system].metrics
            for name in ("cards", "reworded")
        ]  # fmt: skip
        for metric in ("skill@.5", "all-three", "accuracy", "LA"):
            pair = pairs[system, metric]
            assert pair["candidate"] == system + SUFFIX
            assert pair["value_baseline"] == pytest.approx(reports[0][metric].value, abs=1e-9)
            assert pair["value_candidate"] == pytest.approx(reports[1][metric].value, abs=1e-9)
            gap = pair["value_candidate"] - pair["value_baseline"]
            assert pair["difference"] == pytest.approx(gap, abs=1e-9)
            assert pair["low"] <= pair["difference"] <= pair["high"]
    assert pairs["brittle", "skill@.5"]["high"] < 0
    assert pairs["brittle", "accuracy"]["better"] == "brittle"
    assert pairs["steady", "accuracy"]["better"] is None
    assert "brittle has 0." in capsys.readouterr().out
    assert "paraphrases" in (tmp_path / "gap.md").read_text(encoding="utf-8")


def test_answers_are_paired_by_the_original_card(folder: Path, tmp_path: Path) -> None:
    """The rows of all files are shuffled, so that only the ids can pair them."""
    pairs = compare(folder, tmp_path / "gap.json")
    original_of = {
        card.id: card.meta[TEMPLATE_ID] for card in read_cards(folder / "reworded.jsonl")
    }
    for system in SYSTEMS:
        passed: list[dict[str, bool]] = []
        for name in ("cards", "reworded"):
            rows = map(json.loads, (folder / f"{name}_{system}.jsonl").read_text().splitlines())
            passed.append({original_of.get(row["id"], row["id"]): row["pass"] for row in rows})
        lost = sum(passed[0][key] and not passed[1][key] for key in passed[0])
        won = sum(passed[1][key] and not passed[0][key] for key in passed[0])
        pair = pairs[system, "accuracy"]
        assert pair["test"] == "mcnemar-exact"
        assert pair["discordant"]["only_candidate"] == won
        assert pair["discordant"]["only_baseline"] == lost
        assert pair["p"] == pytest.approx(binomtest(lost, lost + won).pvalue, rel=1e-3)


def test_signature_names_the_paraphrases(folder: Path, tmp_path: Path) -> None:
    pair = compare(folder, tmp_path / "gap.json")["steady", "skill@.5"]
    for file, key in (("cards", "cards"), ("reworded", "paraphrases")):
        digest = hash_card_set(read_cards(folder / f"{file}.jsonl"))[:12]
        assert f"|{key}:{digest}|" in pair["signature"]


def test_the_same_answers_lose_nothing(folder: Path, tmp_path: Path) -> None:
    cards = read_cards(folder / "cards.jsonl")
    reworded = read_cards(folder / "reworded.jsonl")
    write_answers(tmp_path / "a.jsonl", cards, "s", 1)
    write_answers(tmp_path / "b.jsonl", reworded, "s", 1)
    observations, pairs = read_paraphrase_pairs(
        [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], folder / "reworded.jsonl"
    )
    assert pairs == [("s" + SUFFIX, "s")]
    assert len(observations.ids) == len(cards)
    assert (observations.preds["s"] == observations.preds["s" + SUFFIX]).all()


def test_cards_without_a_paraphrase_are_left_out_with_a_note(folder: Path, tmp_path: Path) -> None:
    reworded = read_cards(folder / "reworded.jsonl")[:60]
    write_cards(tmp_path / "reworded.jsonl", reworded)
    write_answers(tmp_path / "b.jsonl", reworded, "steady", 0.9)
    observations, _ = read_paraphrase_pairs(
        [folder / "cards_steady.jsonl", tmp_path / "b.jsonl"], tmp_path / "reworded.jsonl"
    )
    assert set(observations.ids) == {card.meta[TEMPLATE_ID] for card in reworded}
    assert "60 cards have no answered paraphrase and are left out." in observations.notes
    assert set(observations.clusters.tolist()) == set(range(observations.n_clusters))


def test_what_cannot_be_paired_is_refused(folder: Path, tmp_path: Path) -> None:
    reworded, originals = folder / "reworded.jsonl", folder / "cards_steady.jsonl"
    with pytest.raises(CardSetMismatchError, match="no results on the paraphrased cards"):
        read_paraphrase_pairs([originals], reworded)
    with pytest.raises(CardSetMismatchError, match="no results on the original cards"):
        read_paraphrase_pairs([folder / "reworded_steady.jsonl"], reworded)
    with pytest.raises(SystemNotFoundError, match="no system answered both"):
        read_paraphrase_pairs([originals, folder / "reworded_brittle.jsonl"], reworded)
    with pytest.raises(CardSetMismatchError, match="of which card"):
        read_paraphrase_pairs([*list_results(folder)], folder / "cards.jsonl")
    # Results instead of cards.
    with pytest.raises(RecordError, match="not a valid card") as caught:
        read_paraphrase_pairs([originals], folder / "reworded_steady.jsonl")
    assert "--paraphrases takes the card file" in caught.value.hint
    with pytest.raises(typer.BadParameter, match="neither --baseline"):
        compare(folder, tmp_path / "gap.json", baseline="steady")
    # Paraphrases of other cards: made with another seed.
    make_card_file(tmp_path / "cards.jsonl", domain="rivers", num_per_type=20, seed=6)
    paraphrase(tmp_path / "cards.jsonl", out=tmp_path / "reworded.jsonl", seed=6)
    write_answers(tmp_path / "b.jsonl", read_cards(tmp_path / "reworded.jsonl"), "steady", 0.9)
    with pytest.raises(CardSetMismatchError, match="of other cards"):
        read_paraphrase_pairs([originals, tmp_path / "b.jsonl"], tmp_path / "reworded.jsonl")
