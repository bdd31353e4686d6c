"""Tests measured difficulty against a recount by hand, and its place in compare and report."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from scipy import stats
from stage_calls import check_error_line, run_epoche

from eval.abstention.comparison.card_answers import read_card_answers, select_judging_systems
from eval.abstention.comparison.difficulty import (
    CardDifficulty,
    DifficultyMeasurement,
    DifficultyReport,
)
from eval.abstention.comparison.difficulty_section import describe_difficulty
from eval.metrics.measurement import ResamplingPlan
from kg.base.errors import SystemNotFoundError

GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
PREDS = ("YES", "NO", "UNKNOWN", "INVALID", "ERROR")
LEVELS = ("easy", "medium", "hard")
PLAN = ResamplingPlan(100, 1, 0.95)


def make_row(number: int, system: str, pred: str, **more: Any) -> dict[str, Any]:
    """Makes a row of a card; three cards are a triplet, whose cards have one level and subject."""
    label, triplet = "ECU"[number % 3], number // 3
    return {
        "id": f"card-{number:03}",
        "system": system,
        "gold": GOLD[label],
        "label": label,
        "pred": pred,
        "kind": f"kind-{label}{number % 2}",
        "difficulty": LEVELS[triplet % 3],
        "cluster": f"subject-{triplet}",
        "triplet": f"triplet-{triplet}",
        "cards": "0123456789ab",
        **more,
    }


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def measure(path: Path, systems: list[str]) -> tuple[DifficultyReport, dict[str, CardDifficulty]]:
    measurement = DifficultyMeasurement(read_card_answers([path], systems), PLAN)
    return measurement.build_report(), {card.id: card for card in measurement.list_cards()}


# By system and card: the answers of two repeats, or None where a row is missing.
answer_tables = st.integers(1, 12).flatmap(
    lambda n_cards: st.lists(
        st.lists(
            st.tuples(*[st.sampled_from((*PREDS, None))] * 2), min_size=n_cards, max_size=n_cards
        ),
        min_size=2,
        max_size=4,
    )
)


@settings(max_examples=60, deadline=None)
@given(table=answer_tables)
def test_counts_are_those_of_a_recount(
    table: list[list[tuple[str | None, str | None]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [
        make_row(number, f"s{system}", pred, repeat=repeat)
        for system, cards in enumerate(table)
        for number, answers in enumerate(cards)
        for repeat, pred in enumerate(answers)
        if pred is not None
    ]
    random.Random(len(rows)).shuffle(rows)
    systems = [f"s{n}" for n in range(len(table))]
    with_rows = [name for name in systems if any(row["system"] == name for row in rows)]
    if not with_rows:
        return
    report, cards = measure(write_rows(tmp_path_factory.mktemp("d") / "r.jsonl", rows), with_rows)

    found = {row["id"]: row for row in rows}
    preds = {(row["system"], row["id"], row["repeat"]): row["pred"] for row in rows}
    repeats = {
        name: sorted({row["repeat"] for row in rows if row["system"] == name}) for name in with_rows
    }

    def share(system: str, ids: list[str], wanted: str) -> float:
        """The share of a system's repeats that fail on one of the cards, or that are errors."""
        bad = 0
        for repeat in repeats[system]:
            answers = [preds.get((system, id_, repeat), "ERROR") for id_ in ids]
            if wanted == "errors":
                bad += answers[0] == "ERROR"
            else:
                bad += any(a != found[i]["gold"] for a, i in zip(answers, ids, strict=True))
        return bad / len(repeats[system])

    assert sorted(cards) == sorted(found)
    triplets = defaultdict(list)
    for id_, row in found.items():
        triplets[row["triplet"]].append(id_)
    for id_, row in found.items():
        card = cards[id_]
        failures = sum(share(system, [id_], "failures") for system in with_rows)
        assert card.systems == len(with_rows)
        assert card.failures == pytest.approx(failures)
        assert card.errors == pytest.approx(sum(share(s, [id_], "errors") for s in with_rows))
        assert card.errors <= card.failures
        assert card.share == pytest.approx(failures / len(with_rows))
        if math.isclose(failures, round(failures), abs_tol=1e-9):
            wilson = stats.binomtest(round(failures), len(with_rows)).proportion_ci(method="wilson")
            assert (card.low, card.high) == pytest.approx((wilson.low, wilson.high), abs=1e-9)
        whole = triplets[row["triplet"]]
        if len(whole) == 3:
            assert card.triplet is not None
            assert card.triplet.failures == pytest.approx(
                sum(share(system, whole, "failures") for system in with_rows)
            )
        else:
            assert card.triplet is None

    for groups, key in ((report.kinds, "kind"), (report.levels, "difficulty")):
        names = {row[key] for row in found.values()}
        assert {group.name for group in groups} == names
        for group in groups:
            members = [cards[id_] for id_, row in found.items() if row[key] == group.name]
            assert group.n_cards == len(members)
            assert group.failures.value == pytest.approx(
                sum(card.share for card in members) / len(members)
            )
            assert group.error_share == pytest.approx(
                sum(card.errors for card in members) / len(members) / len(with_rows)
            )
    assert report.n_all_right == sum(card.failures == 0 for card in cards.values())
    assert report.n_all_failed == sum(card.share == 1 for card in cards.values())


def make_graded_rows(shares: dict[str, float], n_triplets: int = 90) -> list[dict[str, Any]]:
    """Makes rows of three systems that fail on cards of a level with a given probability."""
    rows = []
    for system in ("a", "b", "c"):
        rng = random.Random(system)
        for number in range(3 * n_triplets):
            row = make_row(number, system, "")
            fails = rng.random() < shares[row["difficulty"]]
            row["pred"] = "INVALID" if fails else row["gold"]
            rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("shares", "findings", "words"),
    [
        ((0.1, 0.4, 0.8), ["in order", "in order"], "are in the order"),
        ((0.4, 0.4, 0.8), ["not shown", "in order"], "not shown to be in the order"),
        ((0.1, 0.8, 0.4), ["in order", "reversed"], "are not in the order"),
        ((0.0, 0.0, 1.0), ["not shown", "in order"], "not shown"),
    ],
)
def test_stated_levels_are_compared_with_measured_difficulty(
    shares: tuple[float, ...], findings: list[str], words: str, tmp_path: Path
) -> None:
    rows = make_graded_rows(dict(zip(LEVELS, shares, strict=True)))
    report, _ = measure(write_rows(tmp_path / "r.jsonl", rows), ["a", "b", "c"])
    assert [group.name for group in report.levels] == list(LEVELS)
    assert [step.finding for step in report.steps] == findings
    assert words in " ".join(describe_difficulty(report))
    for step in report.steps:
        assert step.low <= step.difference <= step.high


def test_near_misses_count_only_among_kinds(tmp_path: Path) -> None:
    rows = make_graded_rows(dict.fromkeys(LEVELS, 0.5), 10)
    near = [
        {**make_row(n, system, "YES"), "kind": "near-miss/sibling", "id": f"near-{n}"}
        for system in ("a", "b", "c")
        for n in (1, 2)
    ]
    report, cards = measure(write_rows(tmp_path / "r.jsonl", rows + near), ["a", "b", "c"])
    assert report.n_cards == 30
    assert sum(group.n_cards for group in report.levels) == 30
    (group,) = [group for group in report.kinds if group.name == "near-miss/sibling"]
    assert (group.n_cards, group.failures.value) == (2, 1.0)
    assert cards["near-1"].share == 1


def test_controls_oracles_and_closed_books_do_not_count() -> None:
    names = ["kg", "rag@one", "rag@two", "always-YES@one", "random", "raw_closed_book:m", "raw:m"]
    chosen = select_judging_systems(names, {"kg"}, {"always-YES@one", "random"})
    assert chosen == ["rag@one", "rag@two", "raw:m"]
    assert select_judging_systems(names, {"kg"}, selectors=["kg", "r*:m"]) == [
        *("kg", "raw_closed_book:m", "raw:m")
    ]
    with pytest.raises(SystemNotFoundError):
        select_judging_systems(names, set(), selectors=["nobody"])
    with pytest.raises(SystemNotFoundError, match="at least two"):
        select_judging_systems(names, set(), selectors=["kg"])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of cards and the results of three systems and the controls."""
    folder = tmp_path_factory.mktemp("runs")
    cards = folder / "cards.jsonl"
    lines = [
        ("cards", "--domain", "rivers", "--num-per-type", "8", "--out", cards),
        *(
            ("eval", "--cards", cards, "--domain", "rivers", "--system", name, "--out", out)
            for name, out in (
                (name, folder / f"{name}_results.jsonl") for name in ("kg", "graph_rag", "rag")
            )
        ),
        ("eval", "--cards", cards, "--system", "controls", "--out", folder / "c_results.jsonl"),
    ]
    for line in lines:
        done = run_epoche(*line)
        assert done.code == 0, done.err
    return folder


def compare(runs: Path, out: Path, *more: object) -> dict[str, Any]:
    done = run_epoche("compare", runs, "--resamples", 200, "--out", out, *more)
    assert done.code == 0, done.err
    return json.loads(out.read_text("utf-8"))


def test_compare_writes_difficulty(runs: Path, tmp_path: Path) -> None:
    out, each = tmp_path / "comparison.json", tmp_path / "difficulty.jsonl"
    difficulty = compare(runs, out, "--difficulty", each)["difficulty"]
    assert difficulty["systems"] == ["graph_rag", "rag"]
    cards = [json.loads(line) for line in (runs / "cards.jsonl").read_text("utf-8").splitlines()]
    records = {r["id"]: r for r in map(json.loads, each.read_text("utf-8").splitlines())}
    failed = defaultdict(int)
    for name in ("graph_rag", "rag"):
        for line in (runs / f"{name}_results.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            failed[row["id"]] += not row["pass"]
    assert {id_: r["failures"] for id_, r in records.items()} == {
        card["id"]: failed[card["id"]] for card in cards
    }
    for card in cards:
        record = records[card["id"]]
        assert record["predicate"] == card["claim"]["pred"]
        assert (record["kind"], record["label"]) == (card["kind"], card["label"])
        assert record["difficulty"] == card["difficulty"]
    by_predicate = {group["name"]: group for group in difficulty["predicates"]}
    assert set(by_predicate) == {card["claim"]["pred"] for card in cards}
    page, markdown = (out.with_suffix(s).read_text("utf-8") for s in (".html", ".md"))
    assert 'id="difficulty"' in page
    assert "How hard are the cards?" in markdown


def test_missing_rows_are_failures_and_a_limit_is_not(runs: Path, tmp_path: Path) -> None:
    """A row that a run lacks is an error; a card that it was never to ask does not count."""
    for path in runs.glob("*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    limited = tmp_path / "limited_results.jsonl"
    arguments = ("--cards", tmp_path / "cards.jsonl", "--domain", "rivers", "--limit", 6)
    done = run_epoche("eval", *arguments, "--system", "graph_rag", "--out", limited)
    assert done.code == 0, done.err
    cut = tmp_path / "rag_results.jsonl"
    lines = cut.read_text("utf-8").splitlines(keepends=True)
    cut.write_text("".join(lines[:-5]), "utf-8")
    (tmp_path / "c_results.jsonl").unlink()
    out, each = tmp_path / "out" / "comparison.json", tmp_path / "out" / "difficulty.jsonl"
    record = compare(
        tmp_path, out, "--difficulty", each, "--allow-changed", "--difficulty-system", "*rag*"
    )
    assert record["shared"]["left_out"] > 0
    records = [json.loads(line) for line in each.read_text("utf-8").splitlines()]
    missing = {json.loads(line)["id"] for line in lines[-5:]}
    order = [json.loads(line)["id"] for line in lines]
    assert len(records) == len(order)
    for one in records:
        assert one["systems"] == (3 if one["id"] in order[:6] else 2)
        assert one["errors"] == (one["id"] in missing)


def test_the_report_has_a_table_of_difficulty(runs: Path, tmp_path: Path) -> None:
    metrics, page = tmp_path / "metrics.json", tmp_path / "report.html"
    files = sorted(runs.glob("*_results.jsonl"))
    for line in (
        ("metrics", *files, "--resamples", 200, "--out", metrics),
        ("report", *files, "--metrics", metrics, "--out", page),
    ):
        done = run_epoche(*line)
        assert done.code == 0, done.err
    assert 'id="difficulty"' in page.read_text("utf-8")
    document = json.loads(page.with_suffix(".json").read_text("utf-8"))
    difficulty = document["sections"]["difficulty"]["difficulty"]
    assert difficulty == compare(runs, tmp_path / "comparison.json")["difficulty"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--difficulty-system", "nobody"), "no system matches 'nobody' (--difficulty-system)"),
        (("--difficulty-system", "rag"), "at least two"),
    ],
)
def test_systems_that_cannot_measure_are_refused(
    runs: Path, tmp_path: Path, more: tuple[str, ...], message: str
) -> None:
    done = run_epoche("compare", runs, "--out", tmp_path / "c.json", *more)
    assert message in check_error_line(done, 16)
    assert not (tmp_path / "c.json").exists()


def test_one_system_beside_controls_has_no_difficulty(runs: Path, tmp_path: Path) -> None:
    files = [runs / "rag_results.jsonl", runs / "c_results.jsonl"]
    out = tmp_path / "c.json"
    done = run_epoche("compare", *files, "--resamples", 100, "--out", out)
    assert done.code == 0, done.err
    assert json.loads(out.read_text("utf-8"))["difficulty"] is None
    done = run_epoche("compare", *files, "--out", out, "--difficulty", tmp_path / "d.jsonl")
    assert "at least two systems" in check_error_line(done, 16)
