"""Tests that the report shows confidence, cost and repeats, and says where they are missing."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from stage_calls import run_epoche

from cards.card import Card
from eval.abstention.result import Pred
from eval.harness.totals import CallTotals
from eval.model.usage import Usage
from reporting.card_report.confidence_view import ConfidenceView
from reporting.card_report.inputs import read_inputs
from reporting.card_report.report_view import ReportView
from reporting.card_report.usage import RowCalls, UsageTally, build_usage_table, compute_quantile
from reporting.html_report import main

SYSTEMS = {
    "kg": (1.0, 0.0, 0.0),
    "raw:openai/gpt-4o-mini": (0.6, 0.2, 0.05),
    "raw:<b>&\"'\u202e": (0.7, 0.2, 0.0),
    "nli": (0.5, 0.3, 0.0),
}


def make_call_fields(system: str, card: Card, pred: Pred, rng: random.Random) -> dict[str, Any]:
    """Makes the call fields of a row; only ``raw:…`` systems have a confidence."""
    if not system.startswith("raw"):
        return {"latency_s": 0.25} if system == "nli" else {}
    fields: dict[str, Any] = {"usage": Usage(100, 20, 0.001), "latency_s": rng.uniform(0.5, 1.5)}
    if pred not in ("INVALID", "ERROR"):
        fields["confidence"] = round(rng.uniform(0.8, 1.0) if pred == card.gold else 0.75, 3)
    if rng.random() < 0.2:
        fields["extra"] = {"calls": {"repairs": 1, "fallbacks": ["json_schema <b>"]}}
    return fields


@pytest.fixture(scope="module")
def run_and_page(report_kit: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    folder = tmp_path_factory.mktemp("sure")
    finished_run = report_kit.build_finished_run(
        folder,
        report_kit.make_cards(150),
        SYSTEMS,
        make_fields=make_call_fields,
        calls=CallTotals(replies=200, cached=50, retries=7),
    )
    main(finished_run.results, None, finished_run.metrics, folder / "report.html")
    return finished_run, folder / "report.html"


def read_section(page: Path, name: str) -> str:
    text = page.read_text("utf-8")
    start = text.index(f'<section id="{name}"')
    return text[start : text.index("</section>", start)]


# -- the sections -------------------------------------------------------------------------------


def test_systems_without_confidence_are_named_but_not_drawn(
    run_and_page: tuple[Any, Path],
) -> None:
    finished_run, page = run_and_page
    text = read_section(page, "confidence")
    assert "Without confidences: kg and nli." in text
    assert text.count("<figure>") == 2  # one for each of the raw systems
    assert text.count("<svg") == 4  # a reliability diagram and a risk curve in each figure
    metrics = read_inputs(finished_run.results, finished_run.metrics).metrics
    view = ConfidenceView(ReportView(metrics))
    assert {line.name for line in view.lines} == {"raw:openai/gpt-4o-mini", "raw:<b>&\"'⟨U+202E⟩"}
    about = next(line.about for line in view.lines if "<b>" in line.name)
    assert about == f"{metrics.n_cards} replies with a confidence"


def test_numbers_equal_the_metrics(run_and_page: tuple[Any, Path]) -> None:
    finished_run, page = run_and_page
    metrics = json.loads(finished_run.metrics.read_text("utf-8"))
    system = metrics["policies"]["licensed"]["systems"]["raw:openai/gpt-4o-mini"]
    calibration, selective = system["calibration"], system["selective"]
    text = read_section(page, "confidence")
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
    for bin_ in calibration["bins"]:
        assert f"{bin_['n_right']} of {bin_['n']} right" in text
    with (page.with_suffix(".csv")).open(encoding="utf-8") as file:
        rows = [line for line in file if ",ECE," in line and line.startswith("licensed")]
    assert len(rows) == 2  # one for each of the raw systems
    assert f"{calibration['ece']['value']}" in "".join(rows)
    assert "| raw:openai/gpt-4o-mini | 0." in page.with_suffix(".md").read_text("utf-8")


def test_sections_without_content_are_left_out(finished_run: Any, tmp_path: Path) -> None:
    main(finished_run.results, None, finished_run.metrics, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    markdown = (tmp_path / "r.md").read_text("utf-8")
    for name in ("confidence", "usage", "faithfulness"):
        assert f'id="{name}"' not in page
        assert f'href="#{name}"' not in page
    assert "## Confidence" not in markdown
    assert "Cost of the answers" not in markdown
    assert "No model calls: all 3 systems ran on this machine." in page
    # Near-misses and pairs have content in this run.
    assert page.count('href="#near-misses"') == page.count('href="#pairs"') == 1


def test_costs_are_summed_from_the_rows(run_and_page: tuple[Any, Path]) -> None:
    _, page = run_and_page
    text = read_section(page, "usage")
    assert "No remote model was called by kg." in text
    # 150 replies with 100 + 20 tokens and 0.001 USD each; 50 of 200 calls were cached.
    assert "15,000 + 3,000" in text
    assert "0.15 USD" in text
    assert "1.00 USD per 1,000 replies" in text
    assert "0.250 s" in text
    assert "25 % from the cache" in text
    usage = json.loads(page.with_suffix(".json").read_text("utf-8"))["usage"]
    model_usage = usage["raw:openai/gpt-4o-mini"]
    assert model_usage["cost_usd"] == pytest.approx(0.15)
    assert 0.5 <= model_usage["latency_median_s"] <= model_usage["latency_95_s"] <= 1.5
    assert model_usage["repairs"] == model_usage["fallbacks"]["json_schema <b>"] > 0
    assert f"json_schema &lt;b&gt; ({model_usage['repairs']})" in text
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


def test_foreign_rows_may_have_any_cost_fields(finished_run: Any, tmp_path: Path) -> None:
    odd_fields: list[dict[str, Any]] = [
        {"usage": "many tokens", "latency_s": "slow", "calls": []},
        {"usage": {"prompt_tokens": "x"}, "latency_s": -1, "calls": {"repairs": "no"}},
        {"usage": None, "latency_s": [1], "calls": {"fallbacks": 3}},
    ]
    path = tmp_path / "kg.jsonl"
    rows = [json.loads(line) for line in finished_run.results[0].read_text("utf-8").splitlines()]
    path.write_text(
        "".join(json.dumps(row | odd_fields[n % 3]) + "\n" for n, row in enumerate(rows)), "utf-8"
    )
    results, metrics = [path, *finished_run.results[1:]], tmp_path / "metrics.json"
    assert run_epoche("metrics", *results, "--resamples", 100, "--out", metrics).code == 0
    inputs = read_inputs(results, metrics, [finished_run.cards_file])
    assert not inputs.usage["kg"].is_remote


def test_repeats_are_counted_and_the_first_reply_is_shown(report_kit: Any, tmp_path: Path) -> None:
    finished_run = report_kit.build_finished_run(
        tmp_path, report_kit.make_cards(30), {"a": (0.6, 0.2, 0.1), "b": (1.0, 0, 0)}, repeats=3
    )
    main(finished_run.results, None, finished_run.metrics, tmp_path / "report.html")
    text = read_section(tmp_path / "report.html", "usage")
    assert "Repeated answers</h2>" in text
    metrics = json.loads(finished_run.metrics.read_text("utf-8"))
    system = metrics["policies"]["licensed"]["systems"]["a"]
    assert f"{system['self_consistency']['value']:.3f}" in text
    page = (tmp_path / "report.html").read_text("utf-8")
    assert re.search(r"<small>\d+ replies</small>", page)
    inputs = read_inputs(finished_run.results, finished_run.metrics)
    card = finished_run.cards[0]
    reply = inputs.replies["a"][card.id]
    assert len(reply.repeat_preds) == 2
    assert "Asked 3 times: " in page
    # Whatever the order of the rows, the first repeat is shown.
    lines = finished_run.results[0].read_text("utf-8").splitlines(keepends=True)
    finished_run.results[0].write_text("".join(reversed(lines)), "utf-8")
    finished_run.measure()
    reread_reply = read_inputs(finished_run.results, finished_run.metrics).replies["a"][card.id]
    assert (reread_reply.pred, reread_reply.repeat) == (reply.pred, 0)
    assert sorted(reread_reply.repeat_preds) == sorted(reply.repeat_preds)


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
def test_confidence_sections_open_in_a_browser(
    open_report: Any, run_and_page: tuple[Any, Path], width: int
) -> None:
    _, path = run_and_page
    for scheme in ("light", "dark"):
        reader = open_report(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = reader.page
        assert reader.problems == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Every curve has a visible size, even if it only refers to a curve drawn before.
        for mark in page.locator(".square .own").all():
            box = mark.bounding_box()
            assert box is not None
            assert box["width"] > 50
        name = page.locator("#confidence figcaption bdi", has_text="<b>").first
        assert name.inner_text() == "raw:<b>&\"'⟨U+202E⟩"

        # The only other bold text is in the caption itself; the name of the system adds none.
        assert page.locator("#confidence b:not(.down)").count() == 1
