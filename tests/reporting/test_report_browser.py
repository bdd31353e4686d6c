"""The report in real Chromium: what a reader sees and does, and its safety."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_contrast import CONTRAST_SCRIPT
from page_structure import check_prints, check_structure

from reporting.html_report import main
from reporting.inputs import read_inputs

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    main(world.results, None, world.metrics, out)
    return out


def test_page_opens_without_errors_or_requests(open_report, report):
    reader = open_report(report)
    assert reader.count() == "60 cards"
    assert reader.rows() == 25
    assert reader.problems == []
    assert reader.requests == [reader.url]
    csp = reader.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert csp.startswith("default-src 'none'")
    assert "script-src 'sha256-" in csp


def test_content_policy_blocks_other_scripts(open_report, report, tmp_path):
    page = report.read_text(encoding="utf-8")
    intruder = tmp_path / "intruder.html"
    intruder.write_text(
        page.replace("</main>", "<script>window.broken = 1</script><img src=x onerror='broken=1'>"),
        encoding="utf-8",
    )
    reader = open_report(intruder)
    assert reader.page.evaluate("window.broken") is None
    assert reader.problems  # Chromium reports what it blocked


def test_filters_select_cards(open_report, report, world):
    reader = open_report(report)
    page = reader.page
    contradictory = [card for card in world.cards if card.label == "C"]
    page.select_option("#f-label", "C")
    reader.wait_count(f"{len(contradictory)} of 60 cards")
    assert set(page.locator("#card-rows .tag").all_inner_texts()) == {"C contradictory"}
    kind = [card for card in contradictory if card.kind == "functional"]
    page.select_option("#f-kind", "functional")
    reader.wait_count(f"{len(kind)} of 60 cards")
    page.click("#clear")
    reader.wait_count("60 cards")


def test_filters_by_a_systems_outcome_and_by_disagreement(open_report, report, world):
    reader = open_report(report)
    answers = read_inputs(world.results, world.metrics).replies
    wrong = [
        c
        for c in world.cards
        if answers["hasty"][c.id].pred in ("YES", "NO") and answers["hasty"][c.id].pred != c.gold
    ]
    reader.page.select_option("#f-system", "hasty")
    reader.page.select_option("#f-outcome", "wrong")
    reader.wait_count(f"{len(wrong)} of 60 cards")
    assert "✗" in reader.page.inner_text("#card-rows")
    reader.page.click("#clear")
    systems = ("kg", "careful", "hasty")
    split = [c for c in world.cards if len({answers[s][c.id].pred for s in systems}) > 1]
    reader.page.check("#f-disagree")
    reader.wait_count(f"{len(split)} of 60 cards")
    reader.page.select_option("#f-outcome", "ERROR")
    failed = [c for c in split if any(answers[s][c.id].pred == "ERROR" for s in systems)]
    reader.wait_count(f"{len(failed)} of 60 cards")


def test_search_ignores_accents(open_report, report, world):
    reader = open_report(report)
    reader.page.keyboard.press("/")
    assert reader.page.evaluate("document.activeElement.id") == "f-q"
    reader.page.keyboard.type("RHONE")
    found = [
        c for c in world.cards if "Rhône" in c.question or any("Rhône" in fact for fact in c.facts)
    ]
    assert 0 < len(found) < 60
    reader.wait_count(f"{len(found)} of 60 cards")
    reader.page.keyboard.press("Escape")
    reader.wait_count("60 cards")
    reader.page.fill("#f-q", "no such river anywhere")
    reader.wait_count("0 of 60 cards")
    assert "No card matches all filters" in reader.page.inner_text("#card-rows")


def test_columns_can_be_sorted_with_the_keyboard(open_report, report):
    reader = open_report(report)
    page = reader.page
    button = page.locator("#card-head [data-sort=question]")
    button.focus()
    page.keyboard.press("Enter")
    head = page.locator("#card-head th", has=page.locator("[data-sort=question]"))
    assert head.get_attribute("aria-sort") == "ascending"
    up = page.locator("#card-rows .q").all_inner_texts()
    assert up == sorted(up)
    assert page.evaluate("document.activeElement.dataset.sort") == "question"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    down = page.locator("#card-rows .q").all_inner_texts()
    assert down == sorted(down, reverse=True)
    assert down[0] != up[0]
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "none"


def test_cards_can_be_paged_and_opened_with_the_keyboard(open_report, report):
    reader = open_report(report)
    page = reader.page
    first = page.locator("#card-rows .q").first.inner_text()
    page.locator("#next").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.inner_text("#page-of") == "page 3 of 3"
    assert reader.rows() == 10
    assert page.locator("#next").is_disabled()
    page.locator("#prev").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.locator("#card-rows .q").first.inner_text() == first
    page.locator("#card-rows summary").first.focus()
    page.keyboard.press("Enter")
    assert "A river has at most one mouth." in page.locator("#card-rows details").first.inner_text()
    page.click("#expand")
    assert page.locator("#card-rows details[open]").count() == 25


def test_address_stores_the_filters(open_report, report, world):
    reader = open_report(report)
    page = reader.page
    page.select_option("#f-label", "U")
    page.check("#f-controls")
    address = page.evaluate("location.href")
    assert "label=U" in address
    again = open_report(report)
    again.page.goto(address)
    again.page.reload()
    unknown = sum(card.label == "U" for card in world.cards)
    assert again.count() == f"{unknown} of 60 cards"
    assert "always-YES" in again.page.inner_text("#card-head")
    card = world.cards[33]
    again.page.goto(f"{again.url}#cards?card={card.id}")
    again.wait_count("1 of 60 cards")
    assert card.id in again.page.locator("#card-rows").text_content()
    again.page.goto(f"{again.url}#cards?card=nonsense&page=-4&sort=zzz&size=x&label=%3Cb%3E")
    assert again.problems == []


def test_first_cards_are_shown_without_scripts(open_report, report):
    with_script = open_report(report)
    without = open_report(report, java_script_enabled=False)
    shown = [
        reader.page.locator("#card-rows .q, #card-rows .proof, #card-rows .o").all_text_contents()
        for reader in (with_script, without)
    ]
    assert shown[0] == shown[1]
    assert without.page.locator("noscript").inner_text().startswith("Without scripts")
    assert not without.page.locator(".filters").is_visible()
    without.page.locator("#card-rows summary").first.click()
    assert "A river has at most one mouth." in without.page.inner_text("#card-rows")


def test_light_and_dark_mode_have_enough_contrast(open_report, report):
    backgrounds = []
    for scheme in ("light", "dark"):
        reader = open_report(report, color_scheme=scheme)
        backgrounds.append(reader.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        for details in reader.page.locator("details").all()[:3]:
            details.evaluate("node => { node.open = true; }")
        poor = reader.page.evaluate(CONTRAST_SCRIPT)
        assert poor == []
    assert backgrounds[0] != backgrounds[1]


def test_landmarks_captions_names_and_visible_focus(open_report, report):
    page = open_report(report).page
    check_structure(page)


@pytest.mark.parametrize("width", [320, 400, 1280, 2200])
def test_the_page_itself_never_scrolls_sideways(open_report, report, width):
    page = open_report(report, viewport={"width": width, "height": 800}).page
    page.check("#f-controls")
    page.click("#expand")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_can_be_printed(open_report, report, tmp_path):
    printed = open_report(report, color_scheme="dark").page
    check_prints(printed, tmp_path / "report.pdf")
