"""Confidence, cost and repeats in the report: charted if present, named if missing."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from cards.card import Card
from eval.result import Pred, Usage
from eval.running.totals import CallTotals
from reporting.confidence_charts import (
    ConfidenceBin,
    build_reliability_diagram,
    build_risk_curve,
    choose_risk_ceiling,
    scale_x,
    scale_y,
)
from reporting.confidence_view import ConfidenceView
from reporting.html_report import main
from reporting.inputs import read_inputs
from reporting.report_view import ReportView
from reporting.usage import RowCalls, UsageTally, build_usage_table, compute_quantile

SYSTEMS = {
    "kg": (1.0, 0.0, 0.0),
    "raw:openai/gpt-4o-mini": (0.6, 0.2, 0.05),
    "raw:<b>&\"'\u202e": (0.7, 0.2, 0.0),
    "nli": (0.5, 0.3, 0.0),
}


def call_fields(system: str, card: Card, pred: Pred, rng: random.Random) -> dict[str, Any]:
    """Call fields of a row: overconfident when wrong; ``kg`` and ``nli`` without confidence."""
    if not system.startswith("raw"):
        return {"latency_s": 0.25} if system == "nli" else {}
    found: dict[str, Any] = {"usage": Usage(100, 20, 0.001), "latency_s": rng.uniform(0.5, 1.5)}
    if pred not in ("INVALID", "ERROR"):
        found["confidence"] = round(rng.uniform(0.8, 1.0) if pred == card.gold else 0.75, 3)
    if rng.random() < 0.2:
        found["extra"] = {"calls": {"repairs": 1, "fallbacks": ["json_schema <b>"]}}
    return found


@pytest.fixture(scope="module")
def world_and_page(report_kit: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    folder = tmp_path_factory.mktemp("sure")
    world = report_kit.build_world(
        folder,
        report_kit.some_cards(150),
        SYSTEMS,
        more=call_fields,
        calls=CallTotals(replies=200, cached=50, retries=7),
    )
    main(world.results, None, world.metrics, folder / "report.html")
    return world, folder / "report.html"


def section_html(page: Path, name: str) -> str:
    text = page.read_text("utf-8")
    start = text.index(f'<section id="{name}"')
    return text[start : text.index("</section>", start)]


# -- geometry -----------------------------------------------------------------------------------


def test_bins_are_placed_by_their_values() -> None:
    one = ConfidenceBin(0.2, 0.3, 10, 4, 0.25, 0.4, 0.2, 0.6)
    two = ConfidenceBin(0.9, 1.0, 40, 38, 0.95, 0.95, 0.8, 0.99)
    first, second = build_reliability_diagram([one, two]).marks
    assert (first.x, first.y) == (scale_x(0.25), scale_y(0.4))
    assert first.expected == scale_y(0.25)
    assert first.low > first.y > first.high  # up is towards 0
    assert second.y == second.expected
    assert second.column_height == pytest.approx(4 * first.column_height, abs=0.1)
    assert first.text.startswith("Confidence 0.20 to 0.30: 4 of 10 right, 0.400 (0.200 to 0.600)")
    assert build_reliability_diagram([]).marks == ()


def test_curve_is_cut_at_the_end_of_its_axis() -> None:
    points = [(0.01, 1.0), (0.5, 0.1), (1.0, 0.2)]
    ceiling = choose_risk_ceiling([points])
    assert ceiling == 0.2
    one = build_risk_curve(points, 0.2, ceiling)
    assert one.path.startswith(
        f"M{scale_x(0.01):g} {scale_y(1):g}L{scale_x(0.5):g} {scale_y(0.5):g}"
    )
    assert one.random_y == scale_y(1.0)
    assert one.text.endswith("10 % at 25 %, 10 % at 50 %, 20 % at 75 %, 20 % at 100 %")
    assert choose_risk_ceiling([[(1.0, 0.9)]]) == 1.0
    assert choose_risk_ceiling([]) == 0.05


# -- the sections -------------------------------------------------------------------------------


def test_systems_without_confidence_are_named_but_not_drawn(
    world_and_page: tuple[Any, Path],
) -> None:
    world, page = world_and_page
    text = section_html(page, "confidence")
    assert "Without confidences: kg and nli." in text
    assert text.count("<figure>") == 2
    assert text.count("<svg") == 4
    metrics = read_inputs(world.results, world.metrics).metrics
    view = ConfidenceView(ReportView(metrics))
    assert {line.name for line in view.lines} == {"raw:openai/gpt-4o-mini", "raw:<b>&\"'⟨U+202E⟩"}
    about = next(line.about for line in view.lines if "<b>" in line.name)
    assert about == f"{metrics.n_cards} replies with a confidence"


def test_numbers_equal_the_metrics(world_and_page: tuple[Any, Path]) -> None:
    world, page = world_and_page
    metrics = json.loads(world.metrics.read_text("utf-8"))
    system = metrics["policies"]["licensed"]["systems"]["raw:openai/gpt-4o-mini"]
    calibration, selective = system["calibration"], system["selective"]
    text = section_html(page, "confidence")
    for value in (
        calibration["ece"]["value"],
        calibration["ece_expected"]["high"],
        calibration["brier"]["low"],
        selective["aurc"]["value"],
        selective["augrc"]["high"],
    ):
        assert f"{value:.3f}" in text
    counts = system["confidence"]
    assert counts["unreadable"] > 0
    assert f"{calibration['n']:,} replies with a confidence; {counts['unreadable']} INVALID" in text
    for one in calibration["bins"]:
        assert f"{one['n_right']} of {one['n']} right" in text
    with (page.with_suffix(".csv")).open(encoding="utf-8") as lines:
        rows = [line for line in lines if ",ECE," in line and line.startswith("licensed")]
    assert len(rows) == 2
    assert f"{calibration['ece']['value']}" in "".join(rows)
    assert "| raw:openai/gpt-4o-mini | 0." in page.with_suffix(".md").read_text("utf-8")


def test_section_says_when_no_confidence_is_given(world: Any, tmp_path: Path) -> None:
    main(world.results, None, world.metrics, tmp_path / "r.html")
    text = section_html(tmp_path / "r.html", "confidence")
    assert "No system states confidences (kg, careful and hasty)" in text
    assert "<svg" not in text
    assert "<table" not in text
    text = section_html(tmp_path / "r.html", "usage")
    assert "No system called a remote model: kg, careful, hasty ran on this machine only." in text
    markdown = (tmp_path / "r.md").read_text("utf-8")
    assert "No system states confidences: kg, careful and hasty." in markdown
    assert "Cost of the answers" not in markdown


def test_costs_are_summed_from_the_rows(world_and_page: tuple[Any, Path]) -> None:
    _, page = world_and_page
    text = section_html(page, "usage")
    assert "No remote model was called by kg." in text
    assert "15,000 + 3,000" in text
    assert "0.15 USD" in text
    assert "1.00 USD per 1,000 replies" in text
    assert "0.250 s" in text
    assert "25 % from the cache" in text
    usage = json.loads(page.with_suffix(".json").read_text("utf-8"))["usage"]
    mine = usage["raw:openai/gpt-4o-mini"]
    assert mine["cost_usd"] == pytest.approx(0.15)
    assert 0.5 <= mine["latency_median_s"] <= mine["latency_95_s"] <= 1.5
    assert mine["repairs"] == mine["fallbacks"]["json_schema <b>"] > 0
    assert f"json_schema &lt;b&gt; ({mine['repairs']})" in text
    assert usage["kg"]["cost_usd"] is None


def test_unknown_price_is_not_zero() -> None:
    tally = UsageTally()
    tally.add_row(Usage(1, 1, 0.5), 1.0, None)
    assert tally.cost_usd == 0.5
    tally.add_row(Usage(1, 1, None), 3.0, RowCalls(2, ("text", "text")))
    assert tally.cost_usd is None
    assert (tally.repairs, tally.fallbacks) == (2, {"text": 1})
    (line,) = build_usage_table({"s": tally}, ["s"], []).lines
    assert (line.cost, line.per_thousand, line.retries) == ("–", "no known price", "–")
    assert (line.median, line.percentile_95) == ("1.00 s", "3.00 s")


def test_quantiles_are_observed_values() -> None:
    assert compute_quantile([3, 1, 2], 0.5) == 2
    assert compute_quantile(range(1, 101), 0.95) == 95
    assert compute_quantile([7], 0.95) == 7
    assert compute_quantile([], 0.5) is None


def test_foreign_rows_may_have_any_cost_fields(world: Any, tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"usage": "many tokens", "latency_s": "slow", "calls": []},
        {"usage": {"prompt_tokens": "x"}, "latency_s": -1, "calls": {"repairs": "no"}},
        {"usage": None, "latency_s": [1], "calls": {"fallbacks": 3}},
    ]
    path = tmp_path / "kg.jsonl"
    rows = [json.loads(line) for line in world.results[0].read_text("utf-8").splitlines()]
    path.write_text(
        "".join(json.dumps(row | odd[n % 3]) + "\n" for n, row in enumerate(rows)), "utf-8"
    )
    inputs = read_inputs([path, *world.results[1:]], world.metrics, [world.deck])
    assert not inputs.usage["kg"].is_remote


def test_repeats_are_counted_and_the_first_reply_is_shown(report_kit: Any, tmp_path: Path) -> None:
    world = report_kit.build_world(
        tmp_path, report_kit.some_cards(30), {"a": (0.6, 0.2, 0.1), "b": (1.0, 0, 0)}, repeats=3
    )
    main(world.results, None, world.metrics, tmp_path / "report.html")
    text = section_html(tmp_path / "report.html", "usage")
    assert "<h3>Repeats</h3>" in text
    metrics = json.loads(world.metrics.read_text("utf-8"))
    system = metrics["policies"]["licensed"]["systems"]["a"]
    assert f"{system['self_consistency']['value']:.3f}" in text
    page = (tmp_path / "report.html").read_text("utf-8")
    assert re.search(r"<small>\d+ replies</small>", page)
    inputs = read_inputs(world.results, world.metrics)
    card = world.cards[0]
    reply = inputs.replies["a"][card.id]
    assert len(reply.repeat_preds) == 2
    assert "Asked 3 times: " in page
    # Whatever the order of the rows, the first repeat is shown.
    lines = world.results[0].read_text("utf-8").splitlines(keepends=True)
    world.results[0].write_text("".join(reversed(lines)), "utf-8")
    again = read_inputs(world.results, world.metrics).replies["a"][card.id]
    assert (again.pred, again.repeat) == (reply.pred, 0)
    assert sorted(again.repeat_preds) == sorted(reply.repeat_preds)


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
def test_confidence_sections_open_in_a_browser(
    open_report: Any, world_and_page: tuple[Any, Path], width: int
) -> None:
    _, path = world_and_page
    for scheme in ("light", "dark"):
        reader = open_report(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = reader.page
        assert reader.problems == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Every curve is really drawn, also where it is only a reference to one drawn before.
        for mark in page.locator(".square .own").all():
            box = mark.bounding_box()
            assert box is not None
            assert box["width"] > 50
        name = page.locator("#confidence figcaption bdi", has_text="<b>").first
        assert name.inner_text() == "raw:<b>&\"'⟨U+202E⟩"
        assert page.locator("#confidence b:not(.down)").count() == 1  # the caption's own
