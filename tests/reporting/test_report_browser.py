"""Tests of the report in real Chromium: its content, its controls and its safety."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_contrast import CONTRAST_SCRIPT
from page_structure import check_printed_page, check_structure

from reporting.card_report.inputs import read_inputs
from reporting.html_report import main

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(finished_run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    main(finished_run.results, None, finished_run.metrics, out)
    return out


def test_page_opens_without_errors_or_requests(open_report, report):
    reader = open_report(report)
    assert reader.get_count_text() == "60 cards"
    assert reader.count_rows() == 25  # the first page of the table
    assert reader.problems == []
    assert reader.requests == [reader.url]
    csp = reader.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert csp.startswith("default-src 'none'")
    assert "script-src 'sha256-" in csp


def test_content_policy_blocks_other_scripts(open_report, report, tmp_path):
    page = report.read_text(encoding="utf-8")
    changed_page = tmp_path / "intruder.html"
    changed_page.write_text(
        page.replace("</main>", "<script>window.broken = 1</script><img src=x onerror='broken=1'>"),
        encoding="utf-8",
    )
    reader = open_report(changed_page)
    assert reader.page.evaluate("window.broken") is None
    assert reader.problems  # Chromium reports each script that it blocked.


def test_filters_select_cards(open_report, report, finished_run):
    reader = open_report(report)
    page = reader.page
    contradictory = [card for card in finished_run.cards if card.label == "C"]
    page.select_option("#f-label", "C")
    reader.wait_for_count(f"{len(contradictory)} of 60 cards")
    assert set(page.locator("#card-rows .tag").all_inner_texts()) == {"C contradictory"}
    functional = [card for card in contradictory if card.kind == "functional"]
    page.select_option("#f-kind", "functional")
    reader.wait_for_count(f"{len(functional)} of 60 cards")
    page.click("#clear")
    reader.wait_for_count("60 cards")


def test_filters_by_a_systems_outcome_and_by_disagreement(open_report, report, finished_run):
    reader = open_report(report)
    answers = read_inputs(finished_run.results, finished_run.metrics).replies
    wrong = [
        card
        for card in finished_run.cards
        if answers["hasty"][card.id].pred in ("YES", "NO")
        and answers["hasty"][card.id].pred != card.gold
    ]
    reader.page.select_option("#f-system", "hasty")
    reader.page.select_option("#f-outcome", "wrong")
    reader.wait_for_count(f"{len(wrong)} of 60 cards")
    assert "✗" in reader.page.inner_text("#card-rows")
    reader.page.click("#clear")
    systems = ("kg", "careful", "hasty")
    disagreements = [
        card
        for card in finished_run.cards
        if len({answers[system][card.id].pred for system in systems}) > 1
    ]
    reader.page.check("#f-disagree")
    reader.wait_for_count(f"{len(disagreements)} of 60 cards")
    reader.page.select_option("#f-outcome", "ERROR")
    cards_with_errors = [
        card
        for card in disagreements
        if any(answers[system][card.id].pred == "ERROR" for system in systems)
    ]
    reader.wait_for_count(f"{len(cards_with_errors)} of 60 cards")


def test_search_ignores_accents(open_report, report, finished_run):
    reader = open_report(report)
    reader.page.keyboard.press("/")
    assert reader.page.evaluate("document.activeElement.id") == "f-q"
    reader.page.keyboard.type("RHONE")
    matching_cards = [
        c
        for c in finished_run.cards
        if "Rhône" in c.question or any("Rhône" in fact for fact in c.facts)
    ]
    assert 0 < len(matching_cards) < 60
    reader.wait_for_count(f"{len(matching_cards)} of 60 cards")
    reader.page.keyboard.press("Escape")
    reader.wait_for_count("60 cards")
    reader.page.fill("#f-q", "no such river anywhere")
    reader.wait_for_count("0 of 60 cards")
    assert "No card matches all filters" in reader.page.inner_text("#card-rows")


def test_columns_can_be_sorted_with_the_keyboard(open_report, report):
    reader = open_report(report)
    page = reader.page
    button = page.locator("#card-head [data-sort=question]")
    button.focus()
    page.keyboard.press("Enter")
    head = page.locator("#card-head th", has=page.locator("[data-sort=question]"))
    assert head.get_attribute("aria-sort") == "ascending"
    ascending = page.locator("#card-rows .q").all_inner_texts()
    assert ascending == sorted(ascending)
    assert page.evaluate("document.activeElement.dataset.sort") == "question"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    descending = page.locator("#card-rows .q").all_inner_texts()
    assert descending == sorted(descending, reverse=True)
    assert descending[0] != ascending[0]
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "none"


def test_cards_can_be_paged_and_opened_with_the_keyboard(open_report, report):
    reader = open_report(report)
    page = reader.page
    first_question = page.locator("#card-rows .q").first.inner_text()
    page.locator("#next").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.inner_text("#page-of") == "page 3 of 3"
    assert reader.count_rows() == 10  # the rest of 60 cards after two pages of 25
    assert page.locator("#next").is_disabled()
    page.locator("#prev").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.locator("#card-rows .q").first.inner_text() == first_question
    page.locator("#card-rows summary").first.focus()
    page.keyboard.press("Enter")
    assert "A river has at most one mouth." in page.locator("#card-rows details").first.inner_text()
    page.click("#expand")
    assert page.locator("#card-rows details[open]").count() == 25


def test_address_stores_the_filters(open_report, report, finished_run):
    reader = open_report(report)
    page = reader.page
    page.select_option("#f-label", "U")
    page.check("#f-controls")
    address = page.evaluate("location.href")
    assert "label=U" in address
    second_reader = open_report(report)
    second_reader.page.goto(address)
    second_reader.page.reload()
    n_unknown = sum(card.label == "U" for card in finished_run.cards)
    assert second_reader.get_count_text() == f"{n_unknown} of 60 cards"
    assert "always-YES" in second_reader.page.inner_text("#card-head")
    card = finished_run.cards[33]
    second_reader.page.goto(f"{second_reader.url}#cards?card={card.id}")
    second_reader.wait_for_count("1 of 60 cards")
    assert card.id in second_reader.page.locator("#card-rows").text_content()
    second_reader.page.goto(
        f"{second_reader.url}#cards?card=nonsense&page=-4&sort=zzz&size=x&label=%3Cb%3E"
    )
    assert second_reader.problems == []


def test_first_cards_are_shown_without_scripts(open_report, report):
    script_reader = open_report(report)
    plain_reader = open_report(report, java_script_enabled=False)
    texts = [
        reader.page.locator(
            ":is(#card-rows, #failure-rows) :is(.q, .proof, .alone, .o, .said, .tag, summary)"
        ).all_text_contents()
        for reader in (script_reader, plain_reader)
    ]
    assert texts[0] == texts[1]
    for table in ("#failures", "#cards"):
        text = plain_reader.page.locator(f"{table} noscript").inner_text()
        assert text.startswith("Without scripts")
        assert not plain_reader.page.locator(f"{table} .filters").is_visible()
    plain_reader.page.locator("#card-rows summary").first.click()
    assert "A river has at most one mouth." in plain_reader.page.inner_text("#card-rows")


def test_light_and_dark_mode_have_enough_contrast(open_report, report):
    backgrounds = []
    for scheme in ("light", "dark"):
        reader = open_report(report, color_scheme=scheme)
        backgrounds.append(reader.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        for details in reader.page.locator("details").all()[:3]:
            details.evaluate("node => { node.open = true; }")
        low_contrast_texts = reader.page.evaluate(CONTRAST_SCRIPT)
        assert low_contrast_texts == []
    assert backgrounds[0] != backgrounds[1]


def test_page_has_landmarks_captions_names_and_visible_focus(open_report, report):
    page = open_report(report).page
    check_structure(page)


@pytest.mark.parametrize("width", [320, 400, 1280, 2200])
def test_the_page_itself_never_scrolls_sideways(open_report, report, width):
    page = open_report(report, viewport={"width": width, "height": 800}).page
    page.check("#f-controls")
    page.click("#expand")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280])
def test_links_of_the_navigation_land_on_their_headings(open_report, report, width):
    page = open_report(report, viewport={"width": width, "height": 900}).page
    page.emulate_media(reduced_motion="reduce")
    for link in page.locator("nav.toc a").all():
        link.click()
        top, nav, is_end = page.evaluate(
            """(id) => {
              const heading = document.querySelector(id + ' h2').getBoundingClientRect().top
              const nav = document.querySelector('nav.toc').getBoundingClientRect().bottom
              const end = document.documentElement.scrollHeight - scrollY - innerHeight < 1
              return [heading, nav, end]
            }""",
            link.get_attribute("href"),
        )
        assert top >= nav
        assert top <= nav + 40 or is_end  # the last section may be shorter than the window


def test_page_can_be_printed(open_report, report, tmp_path):
    dark_page = open_report(report, color_scheme="dark").page
    check_printed_page(dark_page, tmp_path / "report.pdf")
