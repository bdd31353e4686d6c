"""Tests the measurement of result files: names of systems, controls, and files of a baseline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from stage_calls import run_epoche

from cards.card import read_cards
from eval.abstention.measurement import measure_cards
from eval.commands.gate_checks import check_runs
from eval.metrics.gate import GateRequest
from eval.metrics.measurement import ResamplingPlan
from kg.base.errors import CardSetMismatchError

PLAN = ResamplingPlan(resamples=50)
GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}


def write_results(
    path: Path, *systems: str, first: int = 0, count: int = 30, slips: int = 3
) -> Path:
    """Writes results of systems that answer all but the first ``slips`` cards correctly."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for system in systems:
            for n in range(first, first + count):
                gold = GOLD["ECU"[n % 3]]
                pred = "YES" if system == "always-YES" else gold if n >= slips else "NO"
                row = {"id": f"{n:03}", "system": system, "gold": gold, "label": "ECU"[n % 3]}
                file.write(json.dumps(row | {"pred": pred, "cards": "0123456789ab"}) + "\n")
    return path


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (("one.jsonl", "two.jsonl"), ("s@one", "s@two")),
        (("a/run.jsonl", "b/run.jsonl"), ("s@a/run", "s@b/run")),
        (("a/x/run.jsonl", "b/x/run.jsonl"), ("s@a/x/run", "s@b/x/run")),
    ],
)
def test_own_names_lack_the_suffix_of_equal_names(
    tmp_path: Path, files: tuple[str, ...], names: tuple[str, ...]
) -> None:
    paths = [write_results(tmp_path / name, "s") for name in files]
    systems = measure_cards(paths, PLAN).runs.systems
    assert tuple(system.name for system in systems) == names
    assert [(system.own_name, system.run) for system in systems] == [("s", 0), ("s", 1)]


def test_own_names_keep_what_is_no_suffix(tmp_path: Path) -> None:
    path = write_results(tmp_path / "one.jsonl", "s@one")
    (system,) = measure_cards([path], PLAN).runs.systems
    assert (system.name, system.own_name) == ("s@one", "s@one")


def test_controls_are_no_systems_whatever_their_file(tmp_path: Path) -> None:
    paths = [
        write_results(tmp_path / "one.jsonl", "s", "always-YES"),
        write_results(tmp_path / "two.jsonl", "always-YES", "s"),
    ]
    measurement = measure_cards(paths, PLAN)
    assert measurement.runs.names == ("s@one", "s@two")
    assert measurement.runs.controls == ("always-YES@one", "always-YES@two")
    assert measurement.estimates("always-YES@two")["FAR-NE"].value == 1
    request = GateRequest(
        conditions=("FAR-NE<=.5",),
        runs=tuple(paths),
        max_failures=0.05,
        resampling=PLAN,
        allow_changed=True,
    )
    assert {check.system for check in check_runs(request)[0]} == {"s@one", "s@two"}


def test_all_three_is_compared_only_if_a_triplet_is_whole(tmp_path: Path) -> None:
    path = write_results(tmp_path / "one.jsonl", "s")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    headlines = []
    for n_named in (2, 3):  # the E and C cards of a triplet, then also its U card
        named = [row | ({"triplet": "t"} if n < n_named else {}) for n, row in enumerate(rows)]
        path.write_text("".join(json.dumps(row) + "\n" for row in named), "utf-8")
        headlines.append(measure_cards([path], PLAN).runs.headline)
    assert "geomean-recall" in headlines[0]
    assert "all-three" not in headlines[0]
    assert "all-three" in headlines[1]


def test_baseline_may_be_spread_over_files(tmp_path: Path) -> None:
    run = write_results(tmp_path / "now.jsonl", "s", "new (baseline)", slips=0)
    halves = [
        write_results(tmp_path / "one.jsonl", "s", count=15),
        write_results(tmp_path / "two.jsonl", "s", first=15, count=15),
    ]
    measurement = measure_cards([run], PLAN, baseline=halves)
    assert [(system.own_name, system.run) for system in measurement.runs.systems] == [
        ("new (baseline)", 0),
        ("s", 0),
        ("s", 1),
    ]
    (pair,) = measurement.compare([("s", "s (baseline)")], ["accuracy"])
    assert pair.n == 30
    assert pair.difference == pytest.approx(2 / 30)


def test_policy_and_missing_answers_are_as_requested(tmp_path: Path) -> None:
    whole = write_results(tmp_path / "whole.jsonl", "s")
    part = write_results(tmp_path / "part.jsonl", "t", count=20)
    with pytest.raises(CardSetMismatchError, match="has no answer"):
        measure_cards([whole, part], PLAN, common=False)
    measurement = measure_cards([whole, part], PLAN, policy="published")
    assert (measurement.runs.n_items, measurement.runs.n_left_out) == (20, 10)
    assert "policy:published" in measurement.signature
    licensed = measure_cards([whole, part], PLAN)
    # NO is right for a contradictory card under policy licensed only.
    assert licensed.estimates("s")["CVRR"].value == 1
    assert measurement.estimates("s")["CVRR"].value == 0


def test_card_files_give_clusters_to_both_sides(
    card_file: Callable[..., Path], tmp_path: Path
) -> None:
    cards = card_file(9)
    files = [tmp_path / "now.jsonl", tmp_path / "then.jsonl"]
    for path in files:
        rows = [
            {"id": card.id, "gold": card.gold, "label": card.label, "pred": "YES", "system": "s"}
            for card in read_cards(cards)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    measurement = measure_cards(files[:1], PLAN, baseline=files[1:], cards=[cards])
    assert any("name no clusters" in note for note in measure_cards(files, PLAN).runs.notes)
    assert not any("name no clusters" in note for note in measurement.runs.notes)
    assert measurement.runs.names == ("s", "s (baseline)")
    with pytest.raises(CardSetMismatchError, match="do not contain it"):
        measure_cards(files[:1], PLAN, baseline=files[1:], cards=[card_file(8, "other.jsonl")])


def write_foreign_rows(path: Path, *left_out: str, labels: str = "ECU") -> Path:
    """Writes rows of six triplets and as many near-misses, without some fields or labels."""
    rows = [
        {"id": f"{kind}{n}", "gold": GOLD[label], "label": label, "pred": pred, "kind": kind}
        | {"cluster": f"s{n // 6}", "triplet": f"t{n // 3}" if kind == "own" else ""}
        for kind, pred in (("own", "YES"), ("near-miss/other", "NO"))
        for n in range(18)
        for label in ("ECU"[n % 3],)
        if label in labels
    ]
    kept = [{name: row[name] for name in row if name not in left_out} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    return path


def test_fields_that_decide_what_counts_are_part_of_the_signature(tmp_path: Path) -> None:
    fields = ("", "kind", "cluster", "triplet")
    measured = {
        name: measure_cards([write_foreign_rows(tmp_path / f"{name}.jsonl", name)], PLAN)
        for name in fields
    }
    assert len({measured[name].runs.items for name in fields}) == len(fields)
    assert measured[""].runs.n_items == 18
    assert measured["kind"].runs.n_items == 36
    again = write_foreign_rows(tmp_path / "again.jsonl")
    # Names of clusters and triplets that leave the groups as they are change nothing.
    again.write_text(again.read_text().replace(': "t', ': "other-').replace(': "s', ': "o'))
    assert measure_cards([again], PLAN).signature == measured[""].signature


def test_absent_fields_are_told_until_the_cards_are_given(
    card_file: Callable[..., Path], tmp_path: Path
) -> None:
    path = write_foreign_rows(tmp_path / "bare.jsonl", "kind", "cluster", "triplet")
    out = tmp_path / "metrics.json"
    done = run_epoche("metrics", path, "--out", out, "--resamples", 100)
    assert done.code == 0, done.err
    for text in (
        "The rows name no kind, so near-misses and context-faithfulness cards, if any, count",
        "The results name no clusters: each card is resampled independently.",
        "The rows name no triplets, so geomean-recall takes the place of all-three",
    ):
        assert f"note: {text}" in done.out
        assert any(note.startswith(text) for note in json.loads(out.read_bytes())["notes"])
    rows = write_foreign_rows(tmp_path / "whole.jsonl").read_text().splitlines()
    path.write_text("\n".join([*rows[:-1], rows[-1].replace('"kind": "near-miss/other", ', "")]))
    notes = measure_cards([path], PLAN).runs.notes
    assert any("rows of 1 of 36 cards name no kind" in note for note in notes)
    cards = card_file(9)
    path.write_text(
        "".join(
            json.dumps({"id": card.id, "gold": card.gold, "pred": "YES"}) + "\n"
            for card in read_cards(cards)
        )
    )
    assert sum(" name no " in note for note in measure_cards([path], PLAN).runs.notes) == 3
    with_cards = measure_cards([path], PLAN, cards=[cards])
    assert not any(" name no " in note for note in with_cards.runs.notes)
    assert not with_cards.runs.items.startswith("ids-")


def test_triplets_that_lack_a_card_are_told(tmp_path: Path) -> None:
    whole = write_foreign_rows(tmp_path / "whole.jsonl")
    assert not any("lack" in note for note in measure_cards([whole], PLAN).runs.notes)
    some = tmp_path / "some.jsonl"
    some.write_text("".join(whole.read_text().splitlines(keepends=True)[1:]))
    measurement = measure_cards([some], PLAN)
    note = "1 triplet lacks a card: all-three is about the 5 whole ones only."
    assert note in measurement.runs.notes
    assert note in measurement.collect_notes()
    none = write_foreign_rows(tmp_path / "none.jsonl", labels="EU")
    note = "6 triplets lack a card, so geomean-recall takes the place of all-three."
    assert note in measure_cards([none], PLAN).collect_notes()
