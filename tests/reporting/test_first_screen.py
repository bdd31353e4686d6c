"""Tests of the first screen of the report: five answers, a picture and an example card.

They are measured in real Chromium: what is not within the window is not on the first screen.
"""

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
from eval.model.usage import Usage
from reporting.card_report.buyer_answers import QUESTIONS
from reporting.html_report import main

# The text of all lines that lie wholly within the first `height` pixels, as they are drawn.
READ_LINES_ABOVE = """(height) => {
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = Array.from(range.getClientRects());
    if (!boxes.length || !node.textContent.trim()) continue;
    const inside = boxes.every((box) => box.top >= 0 && box.bottom <= height
      && box.left >= 0 && box.right <= innerWidth && box.width > 1);
    if (inside) lines.push(node.textContent.trim());
  }
  return lines.join('\\n').replaceAll('\\u00a0', ' '); }"""
GET_BOTTOM = "(selector) => document.querySelector(selector).getBoundingClientRect().bottom"

HOSTILE_NAME = "raw:<b>openai</b>/" + "very-long-name-" * 9


def add_usage(system: str, card: Card, pred: Pred, rng: random.Random) -> dict[str, Any]:
    if not system.startswith("raw:"):
        return {}
    usage = Usage(prompt_tokens=200, completion_tokens=10, cost_usd=0.0005)
    return {"usage": usage, "latency_s": 0.25 + rng.random()}


def build_page(
    report_kit: Any, folder: Path, systems: dict[str, tuple[float, float, float]]
) -> Path:
    run = report_kit.build_finished_run(
        folder, report_kit.make_cards(300), systems, make_fields=add_usage, resamples=200
    )
    main(run.results, None, run.metrics, folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def page(report_kit: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of an oracle, a system without model calls and one with a hostile, long name."""
    systems = {
        "kg": (1.0, 0.0, 0.0),
        "careful": (0.8, 0.15, 0.0),
        HOSTILE_NAME: (0.4, 0.1, 0.1),
    }
    return build_page(report_kit, tmp_path_factory.mktemp("first_screen"), systems)


@pytest.fixture(scope="module")
def answers(page: Path) -> dict[str, str]:
    """The answers of the JSON export, by key."""
    document = json.loads(page.with_suffix(".json").read_bytes())["answers"]
    assert [entry["question"] for entry in document.values()] == list(QUESTIONS.values())
    return {key: entry["answer"] for key, entry in document.items()}


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_five_answers_and_picture_are_on_the_first_screen(
    open_report, page, answers, width, height, scheme
):
    reader = open_report(
        page, viewport={"width": width, "height": height}, color_scheme=scheme
    ).page
    text = reader.evaluate(READ_LINES_ABOVE, height)
    for key, question in QUESTIONS.items():
        assert question in text
        assert answers[key] in text
    assert reader.evaluate(GET_BOTTOM, ".opening svg") <= height
    assert reader.evaluate(GET_BOTTOM, "figure.example") <= height * (1 if width > 1000 else 2)
    assert reader.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_on_a_phone_the_chart_stands_before_the_long_answers(open_report, page):
    reader = open_report(page, viewport={"width": 390, "height": 844}).page
    tops = [
        reader.evaluate("(s) => document.querySelector(s).getBoundingClientRect().top", selector)
        for selector in (
            "dl.answers > div:nth-child(2)",
            ".opening svg",
            "dl.answers > div:nth-child(3)",
        )
    ]
    assert tops == sorted(tops)
    # A reply may be unreadable, so there are grey bands, which are explained.
    assert "Grey: what unusable replies could make of it" in reader.inner_text(
        ".opening figcaption"
    )
    assert reader.locator(".opening svg .worst").count() > 0


@pytest.mark.browser
def test_heads_of_tables_are_not_broken_on_a_phone(open_report, tmp_path):
    # Of three questions the last one has no answer.
    for name, outcomes in (("a", "right wrong abstained"), ("b", "wrong right unusable")):
        rows = [
            {"id": number, "outcome": outcomes.split()[number % 3], "answerable": number % 3 < 2}
            for number in range(30)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    out = tmp_path / "outcomes.json"
    done = run_epoche("outcomes", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--out", out)
    assert done.code == 0, done.err
    main([out], out=tmp_path / "page.html")
    reader = open_report(tmp_path / "page.html", viewport={"width": 390, "height": 844}).page
    heights = reader.evaluate(
        "[...document.querySelectorAll('#outcomes-outcomes thead bdi')].map("
        "(one) => one.getClientRects().length)"
    )
    assert heights == [1, 1, 1, 1, 1]
    table = reader.locator("#outcomes-outcomes table").bounding_box()
    assert table["width"] <= 358  # all columns are seen
    links = reader.locator("nav.toc a")
    assert links.last.bounding_box()["x"] + links.last.bounding_box()["width"] <= 390
    lede = reader.inner_text("header.top")
    assert "no significant difference in skill@.5: a − b = " in lede
    assert re.search(r"\(interval [−+]\d\.\d{3} to \+\d\.\d{3}; p = \d\.\d{3}\)", lede)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_report_of_one_system_has_all_five_too(open_report, report_kit, tmp_path, width):
    page = build_page(report_kit, tmp_path, {"only": (0.6, 0.2, 0.0)})
    reader = open_report(page, viewport={"width": width, "height": 800}).page
    text = reader.evaluate(READ_LINES_ABOVE, 800)
    assert all(question in text for question in QUESTIONS.values())
    assert "the only system compared" in text
    assert "a control that ignores the question; sure, since the interval of only" in text


def test_answers_name_the_best_system_and_how_sure_it_is(page, answers):
    metrics = json.loads(page.with_suffix(".json").read_bytes())["metrics"]
    systems = metrics["policies"]["licensed"]["systems"]
    pair = next(
        pair
        for pair in metrics["comparisons"]
        if pair["policy"] == "licensed"
        and pair["metric"] in ("skill@.5", "accuracy")
        and {pair["candidate"], pair["baseline"]} == {"careful", HOSTILE_NAME}
    )
    metric = "skill@.5" if "skill@.5" in systems["careful"]["metrics"] else "accuracy"
    value = systems["careful"]["metrics"][metric]["value"]
    assert answers["best"].startswith(f"careful with {metric.partition('@')[0]} {value:.3f}")
    assert pair["better"] == "careful"
    assert f"{abs(pair['difference']):.3f} more" in answers["difference"]
    assert "sure by a paired test, p" in answers["difference"]
    assert "not sure" not in answers["difference"]


def test_answers_say_when_systems_fail(page, answers):
    systems = json.loads(page.with_suffix(".json").read_bytes())["metrics"]["policies"]["licensed"][
        "systems"
    ]
    table = systems["careful"]["table"]
    shares = {
        (label, pred): table[label][pred] / sum(table[label].values())
        for label, pred in (("E", "NO"), ("C", "YES"), ("U", "YES"), ("U", "NO"))
    }
    label, pred = max(shares, key=lambda key: shares[key])
    truth = {"YES": "true", "NO": "false"}[pred]
    kind = {"E": "entailed", "C": "contradictory", "U": "unknown"}[label]
    expected = f"careful calls {shares[label, pred] * 100:.0f} % of {kind} claims {truth}"
    assert expected in answers["failures"]
    # It fails at random, so no kind of card is its worst.
    assert "most often" not in answers["failures"].partition(". ")[0]


def test_answers_say_what_it_cost(answers):
    assert "300 calls, 63,000 tokens, 0.15 USD, " in answers["cost"]
    assert " s per card" in answers["cost"]
    assert "No model calls by kg and careful." in answers["cost"]


def test_names_in_answers_are_short_and_escaped(page, answers):
    html = page.read_text(encoding="utf-8")
    assert "<b>openai" not in html
    assert HOSTILE_NAME not in "".join(answers.values())
    assert max(map(len, answers.values())) < 320


def test_markdown_has_the_same_answers(page, answers):
    markdown = page.with_suffix(".md").read_text(encoding="utf-8")
    for key, question in QUESTIONS.items():
        line = next(line for line in markdown.splitlines() if line.startswith(f"**{question}**"))
        words = re.findall(r"[A-Za-z]{4,}", answers[key])
        assert words == re.findall(r"[A-Za-z]{4,}", line.removeprefix(f"**{question}**"))
