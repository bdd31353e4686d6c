"""Tests ``epoche power``: cards needed for an effect, and the effect that cards can detect."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from stage_calls import run_epoche
from typer.testing import CliRunner

from epoche.cli import app
from eval.stats.paired_tests import mcnemar_minimum_effect
from eval.stats.power import compute_cards_needed, mcnemar_power

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def run_analysis(*flags: str) -> str:
    result = CliRunner().invoke(app, ["power", *flags])
    assert result.exit_code == 0, result.output
    return result.output


def get_refusal_message(*flags: str) -> str:
    result = CliRunner().invoke(app, ["power", *flags])
    assert result.exit_code == 2
    return result.output


def test_requested_effect_names_the_cards_needed() -> None:
    printed = run_analysis("--effect", ".05")
    assert f"{compute_cards_needed(0.05, 0.2):,}" in printed
    (chosen_row,) = re.findall(r"0\.2 +([\d,]+) +([\d,]+)  <- --discordant", printed)
    needed, total = (int(number.replace(",", "")) for number in chosen_row)
    assert total == 3 * -(-needed // 3)  # rounded up to whole triplets
    assert f"epoche cards --num-per-type {total // 3}\n" in printed
    assert mcnemar_power(needed, 0.05, 0.2) >= 0.8


def test_documented_example_is_printed() -> None:
    example = DOCS.read_text("utf-8").split("$ epoche power --effect .05\n")[1].split("```")[0]
    assert run_analysis("--effect", ".05") == example


def test_metrics_of_one_label_need_more_cards_in_all() -> None:
    totals = []
    for metric in ("accuracy", "FAR-NE", "LA"):
        printed = run_analysis("--effect", ".1", "--metric", metric)
        totals.append(int(re.findall(r"--num-per-type (\d+)", printed)[0]))
    assert totals[0] < totals[1] < totals[2]
    assert totals[2] == pytest.approx(3 * totals[0], abs=3)


def test_clusters_and_more_pairs_need_more_cards() -> None:
    independent_output = run_analysis("--effect", ".1")
    clustered_output = run_analysis("--effect", ".1", "--cluster-size", "3", "--icc", ".5")
    six_pair_output = run_analysis("--effect", ".1", "--comparisons", "6")
    needed = [
        int(re.findall(r"--num-per-type (\d+)", printed)[0])
        for printed in (independent_output, clustered_output, six_pair_output)
    ]
    assert needed[1] == pytest.approx(2 * needed[0], abs=2)
    assert needed[2] > needed[0]
    assert "design effect 2" in clustered_output


def test_given_cards_report_the_detectable_effect() -> None:
    printed = run_analysis("--n", "600", "--half-width", ".03")
    assert "differences from 0.052  <- --discordant" in printed
    assert "1,064 cards" in printed
    assert "detects no difference" in run_analysis("--n", "5")
    assert "no difference can be detected" in run_analysis("--n", "2", "--metric", "LA")


def test_unanswerable_requests_are_refused() -> None:
    assert "--half-width" in get_refusal_message()
    assert "discordant" in get_refusal_message("--effect", ".5")
    assert "give a larger" in get_refusal_message("--effect", ".0001")
    get_refusal_message("--effect", "2")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of two systems on thirty cards."""
    folder = tmp_path_factory.mktemp("results")
    cards = folder / "set" / "cards.jsonl"
    made = run_epoche("cards", "--domain", "mayors", "--num-per-type", 10, "--out", cards)
    assert made.code == 0, made.err
    for system in ("kg", "rag"):
        out = ("--cards", cards, "--domain", "mayors", "--out", folder / f"{system}.jsonl")
        assert run_epoche("eval", "--system", system, *out).code == 0
    return folder


def test_results_of_cards_tell_the_dispersion(results: Path, tmp_path: Path) -> None:
    files = (results / "rag.jsonl", results / "kg.jsonl")
    printed = run_analysis(*map(str, files), "--effect", ".1")
    assert printed == run_analysis(*map(str, files), "--effect", ".1", "--metric", "accuracy")
    assert "accuracy, rag − kg, standard error" in printed
    needed = re.findall(r"a difference of 0\.1 needs ([\d,]+) cards", printed)[0]
    again = run_analysis(*map(str, files), "--n", needed.replace(",", ""))
    detectable = float(re.findall(r"cards detect differences from ([\d.]+)", again)[0])
    assert detectable == pytest.approx(0.1, rel=0.05)
    # As the comparison itself states; where that is the least that McNemar's test detects, the
    # error follows from the interval, which is asymmetric.
    record = tmp_path / "comparison.json"
    assert run_epoche("compare", *files, "--out", record).code == 0
    (accuracy,) = [
        pair
        for pair in json.loads(record.read_bytes())["comparisons"]
        if pair["metric"] == "accuracy" and pair["policy"] == "licensed"
    ]
    own = float(re.findall(r"  30 cards detect differences from ([\d.]+)", printed)[0])
    assert own == pytest.approx(accuracy["minimum_detectable_effect"], rel=0.05)
    folder = run_analysis(str(results), "--effect", ".1")
    assert f"needs {needed} cards" in folder


def test_the_least_that_mcnemar_detects_is_not_taken_for_dispersion(tmp_path: Path) -> None:
    golds = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
    rows = [
        {"id": f"{n:03}", "system": system, "gold": golds[label], "label": label, "pred": pred}
        for system, n_wrong in (("a", 0), ("b", 4))
        for n in range(300)
        for label in ("ECU"[n % 3],)
        for pred in ("INVALID" if n < n_wrong else golds[label],)
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    floor = mcnemar_minimum_effect(300)
    printed = run_analysis(str(path), "--effect", ".02")
    error = float(re.findall(r"standard error ([\d.]+) on 300 cards", printed)[0])
    # Four of 300 cards differ.
    assert error == pytest.approx((4 / 300 - (4 / 300) ** 2) ** 0.5 / 300**0.5, rel=0.25)
    assert 2.8 * error < floor
    assert f"300 cards detect differences from {floor:.3g}" in printed
    needed = compute_cards_needed(0.02, 0.02)
    assert f"a difference of 0.02 needs {needed:,} cards" in printed
    # Of LA, McNemar's test is about the 100 E cards; of these two differ.
    printed = run_analysis(str(path), "--metric", "LA", "--n", "600")
    floor = mcnemar_minimum_effect(200)
    assert f"600 cards detect differences from {floor:.3g}" in printed
    assert "12 cards detect no difference" in run_analysis(str(path), "--metric", "LA", "--n", "12")


def test_one_system_on_cards_is_planned_from_its_interval(results: Path) -> None:
    file, out = results / "rag.jsonl", results / "set" / "metrics.json"
    assert run_epoche("metrics", file, "--out", out).code == 0
    system = json.loads(out.read_bytes())["policies"]["licensed"]["systems"]["rag"]
    value = system["metrics"]["LA"]
    width = (value["high"] - value["low"]) / 2
    printed = run_analysis(str(file), "--metric", "LA", "--half-width", str(width))
    # This half-width is that of the thirty cards.
    assert re.search(r"LA of rag to ± [\d.]+ \(95%\): (30|31) cards", printed), printed


def test_options_of_plans_without_runs_are_refused_with_results(results: Path) -> None:
    message = get_refusal_message(str(results / "kg.jsonl"), "--icc", "0.2")
    assert "only for plans without runs" in message
