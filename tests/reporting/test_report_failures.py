"""Tests of the table that shows the failures of systems side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.abstention.result import PREDS, Pred
from kg.claims import GOLD_OF_LABEL, Label
from reporting.card_report.card_data import CardAnswer, CardRow
from reporting.card_report.failures import count_failures, list_failures
from reporting.card_report.inputs import read_inputs
from reporting.html_report import main
from reporting.outcomes import classify_answer


def make_row(number: int, label: Label, preds: list[Pred | None]) -> CardRow:
    gold = GOLD_OF_LABEL[label]
    names = [("a", False), ("b", False), ("always-YES", True)]
    answers = tuple(
        CardAnswer(name, control, pred, classify_answer(gold, pred) if pred else None, "")
        for (name, control), pred in zip(names, preds, strict=True)
    )
    return CardRow(f"c{number}", label, gold, "k", "", "p", "q?", (), (), "", "", answers)


some_preds = st.one_of(st.none(), st.sampled_from(PREDS))
some_rows = st.lists(
    st.tuples(st.sampled_from(("E", "C", "U")), st.lists(some_preds, min_size=3, max_size=3)),
    max_size=12,
)


@given(some_rows)
def test_every_failure_is_listed_once_and_false_answers_first(drawn):
    rows = [make_row(number, label, preds) for number, (label, preds) in enumerate(drawn)]
    positions = list_failures(rows)
    failed = {
        position
        for position, (label, preds) in enumerate(drawn)
        if any(pred and pred != GOLD_OF_LABEL[label] for pred in preds[:2])
    }
    assert set(positions) == failed
    assert len(positions) == len(failed)
    has_false_answer = [
        any(pred in ("YES", "NO") and pred != rows[at].gold for pred in drawn[at][1][:2])
        for at in positions
    ]
    assert has_false_answer == sorted(has_false_answer, reverse=True)
    counts = {item.system: sum(n for *_, n in item.counts) for item in count_failures(rows)}
    for place, name in enumerate("ab"):
        answers = [(preds[place], GOLD_OF_LABEL[label]) for label, preds in drawn if preds[place]]
        if answers:
            assert counts[name] == sum(pred != gold for pred, gold in answers)
    assert "always-YES" not in counts


@pytest.fixture(scope="module")
def report(finished_run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("failures") / "report.html"
    main(finished_run.results, None, finished_run.metrics, out)
    return out


def list_wrong(finished_run: Any, system: str) -> list[str]:
    replies = read_inputs(finished_run.results, finished_run.metrics).replies[system]
    return [
        card.question
        for card in finished_run.cards
        if replies[card.id].pred in ("YES", "NO") and replies[card.id].pred != card.gold
    ]


@pytest.mark.browser
def test_number_of_failures_opens_them_with_all_replies(open_report, report, finished_run):
    reader = open_report(report).page
    wrong = list_wrong(finished_run, "hasty")
    reader.click(f"#failures a:text-is('{len(wrong)} wrong') >> nth=-1")
    # The page acts on the new address a little later; a choice before that would replace it.
    reader.wait_for_function("document.getElementById('x-f-system').value === 'hasty'")
    reader.select_option("#x-f-size", "50")
    total = reader.locator("#failure-rows tr").count()
    assert total == len(wrong)
    assert sorted(reader.locator("#failure-rows .q").all_inner_texts()) == sorted(wrong)
    marks = reader.locator("#failure-rows td[data-head=hasty] .o").all_text_contents()
    assert set(marks) <= {"✗ YES, wrong", "✗ NO, wrong"}
    first = reader.locator("#failure-rows tr").first
    said = first.locator(".said").all_inner_texts()
    assert len(said) == 3  # kg, careful and hasty, not the controls
    assert all(text.startswith("I read the facts and say") for text in said)
    first.locator("summary").click()
    details = first.locator("details").inner_text()
    assert "Proof" in details
    assert "A river has at most one mouth." in details
    assert "system=hasty" in reader.evaluate("location.href")


@pytest.mark.browser
def test_a_system_alone_shows_only_its_failures(open_report, report, finished_run):
    reader = open_report(report)
    replies = read_inputs(finished_run.results, finished_run.metrics).replies
    failed = {
        name: sum(replies[name][card.id].pred != card.gold for card in finished_run.cards)
        for name in ("careful", "hasty")
    }
    page = reader.page
    for name, n in failed.items():
        page.select_option("#x-f-system", name)
        page.wait_for_function(
            "(text) => document.getElementById('x-count').textContent.startsWith(text)",
            arg=f"{n} of ",
        )
    page.click("#x-clear")
    either = sum(
        any(replies[name][card.id].pred != card.gold for name in failed)
        for card in finished_run.cards
    )
    assert page.inner_text("#x-count") == f"{either} cards"
    # The table of all cards has filters of its own.
    assert reader.get_count_text() == "60 cards"
    assert reader.problems == []


def test_report_without_failures_has_no_such_section(report_kit, tmp_path):
    run = report_kit.build_finished_run(tmp_path, None, {"kg": (1.0, 0.0, 0.0)})
    main(run.results, None, run.metrics, tmp_path / "r.html", formats="html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="failures"' not in page
    assert 'href="#failures"' not in page
    assert "kg never fails on the" in page
