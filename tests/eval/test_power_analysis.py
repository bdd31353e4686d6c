"""Tests ``epoche power``: cards needed for an effect, and the effect that cards can detect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from epoche.cli import app
from eval.stats.power import compute_cards_needed, mcnemar_power

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


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
