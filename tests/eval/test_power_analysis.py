from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from epoche.cli import app
from eval.stats.power import compute_cards_needed, mcnemar_power

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


def analysis_output(*flags: str) -> str:
    done = CliRunner().invoke(app, ["power", *flags])
    assert done.exit_code == 0, done.output
    return done.output


def refusal_message(*flags: str) -> str:
    done = CliRunner().invoke(app, ["power", *flags])
    assert done.exit_code == 2
    return done.output


def test_requested_effect_names_the_cards_needed() -> None:
    said = analysis_output("--effect", ".05")
    assert f"{compute_cards_needed(0.05, 0.2):,}" in said
    (chosen,) = re.findall(r"0\.2 +([\d,]+) +([\d,]+)  <- --discordant", said)
    counted, total = (int(number.replace(",", "")) for number in chosen)
    assert total == 3 * -(-counted // 3)
    assert f"epoche cards --num-per-type {total // 3}\n" in said
    assert mcnemar_power(counted, 0.05, 0.2) >= 0.8


def test_documented_example_is_printed() -> None:
    shown = DOCS.read_text("utf-8").split("$ epoche power --effect .05\n")[1].split("```")[0]
    assert analysis_output("--effect", ".05") == shown


def test_metrics_of_one_label_need_more_cards_in_all() -> None:
    totals = []
    for metric in ("accuracy", "FAR-NE", "LA"):
        said = analysis_output("--effect", ".1", "--metric", metric)
        totals.append(int(re.findall(r"--num-per-type (\d+)", said)[0]))
    assert totals[0] < totals[1] < totals[2]
    assert totals[2] == pytest.approx(3 * totals[0], abs=3)


def test_clusters_and_more_pairs_need_more_cards() -> None:
    plain = analysis_output("--effect", ".1")
    clustered = analysis_output("--effect", ".1", "--cluster-size", "3", "--icc", ".5")
    several = analysis_output("--effect", ".1", "--comparisons", "6")
    needed = [
        int(re.findall(r"--num-per-type (\d+)", said)[0]) for said in (plain, clustered, several)
    ]
    assert needed[1] == pytest.approx(2 * needed[0], abs=2)
    assert needed[2] > needed[0]
    assert "design effect 2" in clustered


def test_given_cards_report_the_detectable_effect() -> None:
    said = analysis_output("--n", "600", "--half-width", ".03")
    assert "differences from 0.052  <- --discordant" in said
    assert "1,064 cards" in said
    assert "detects no difference" in analysis_output("--n", "5")
    assert "no difference can be detected" in analysis_output("--n", "2", "--metric", "LA")


def test_unanswerable_requests_are_refused() -> None:
    assert "--half-width" in refusal_message()
    assert "discordant" in refusal_message("--effect", ".5")
    assert "give a larger" in refusal_message("--effect", ".0001")
    refusal_message("--effect", "2")
