"""Tests in real Chromium of the page that compares SKN with JSON: content, controls, safety."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from page_contrast import CONTRAST_SCRIPT
from page_structure import check_headings, check_printed_page, check_structure
from skn_folders import (
    answered_row,
    failed_row,
    make_samples,
    write_run_folder,
    write_two_pipelines,
)

from eval.runs.sections import write_page
from eval.skn.agent import Response
from eval.skn.blocks.run_data import read_run
from eval.skn.blocks.samples import find_mark
from eval.skn.formats.extraction import Extraction
from eval.skn.items import Sample
from eval.skn.judges.record import Failure, Hallucination, Verdicts
from reporting.html_report import main
from reporting.visible_text import make_visible

pytestmark = pytest.mark.browser

HOSTILE_TEXTS = (
    "<script>document.title='owned';alert(1)</script>",
    "</td></tr></table></section>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(3)>",
    "{{7*7}}{% raw %}",
    "javascript:alert(4)",
    "\u202egnorw si siht\u202c",
    "nul \x00 bell \x07 line\u2028separator",
    "🏞️👩‍🔬 café",
    "\"'`=&amp;<b>",
    "=HYPERLINK(1)",
    "x" * 9_000,
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(write_two_pipelines(tmp_path_factory.mktemp("skn"), 24))[0]


class SampleTable:
    """The table of samples of an open page."""

    def __init__(self, page: Any, prefix: str = "skn-samples") -> None:
        self.page, self.prefix = page, prefix

    def find_control(self, name: str) -> Any:
        """Finds a control by its name, such as ``f-0``, the filter of the first facet."""
        return self.page.locator(f"#{self.prefix}-{name}")

    def find_rows(self) -> Any:
        return self.page.locator(f"#{self.prefix}-rows > tr:has(.c-card)")

    def wait_for_count(self, text: str) -> None:
        self.page.wait_for_function(
            "([id, text]) => document.getElementById(id).textContent === text",
            arg=[f"{self.prefix}-count", text],
            timeout=10_000,
        )


def test_page_opens_without_errors_or_requests(open_report, page):
    reader = open_report(page)
    assert reader.problems == []
    assert reader.requests == [reader.url]
    table = SampleTable(reader.page)
    assert table.find_control("count").inner_text() == "24 samples"
    assert table.find_rows().count() == 10  # the first page of the table
    csp = reader.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert csp.startswith("default-src 'none'")
    assert "script-src 'sha256-" in csp


def test_table_can_be_filtered_searched_sorted_and_paged(open_report, page):
    reader = open_report(page)
    table = SampleTable(reader.page)
    table.find_control("f-0").select_option("architecture")
    table.wait_for_count("12 of 24 samples")
    assert set(table.find_rows().locator(".tag").all_inner_texts()) == {"architecture"}
    table.find_control("f-1").select_option("has none")
    table.wait_for_count("6 of 24 samples")
    table.find_control("clear").click()
    table.wait_for_count("24 samples")
    table.find_control("f-system").select_option("skn")
    table.find_control("f-mark").select_option("ERROR")
    table.wait_for_count("1 of 24 samples")
    assert "! ERROR" in table.find_rows().first.inner_text()
    table.find_control("clear").click()
    table.find_control("f-disagree").check()
    rows = read_run(page.parent).rows.values()
    n_disagreements = sum(
        len({find_mark(row) for system_rows in rows_by_system.values() for row in system_rows}) > 1
        for rows_by_system in rows
    )
    assert 0 < n_disagreements < 24
    table.wait_for_count(f"{n_disagreements} of 24 samples")
    table.find_control("clear").click()
    reader.page.keyboard.press("Tab")
    reader.page.locator("h1").click()
    reader.page.keyboard.press("/")
    assert reader.page.evaluate("document.activeElement.id") == "skn-samples-f-q"
    reader.page.keyboard.type("JÓB 17 stall")  # The search ignores capitals and accents.
    table.wait_for_count("1 of 24 samples")
    reader.page.keyboard.press("Escape")
    table.wait_for_count("24 samples")
    table.find_control("next").focus()
    reader.page.keyboard.press("Enter")
    reader.page.keyboard.press("Enter")
    assert table.find_control("page-of").inner_text() == "page 3 of 3"
    assert table.find_rows().count() == 4  # the rest of 24 samples after two pages of 10
    head = reader.page.locator("#skn-samples-head [data-sort=s1]")
    head.focus()
    reader.page.keyboard.press("Enter")
    assert head.locator("..").get_attribute("aria-sort") == "ascending"
    assert "✓ right" in table.find_rows().first.inner_text()
    reader.page.keyboard.press("Enter")
    assert "! ERROR" in table.find_rows().first.inner_text()
    assert reader.problems == []


def test_row_opens_with_every_pipeline(open_report, page):
    table = SampleTable(open_report(page).page)
    sample_rows = table.page.locator("#skn-samples-rows details.row")
    sample_rows.first.locator("> summary").focus()
    table.page.keyboard.press("Enter")
    assert "Search results" in sample_rows.first.inner_text()
    answers = sample_rows.first.locator("details.answer")
    assert answers.count() == 2
    answers.nth(1).locator("summary").focus()
    table.page.keyboard.press("Enter")
    answer_text = answers.nth(1).inner_text()
    for text in ("The lock stays, says skn.", "Verdicts", "The extraction"):
        assert text in answer_text
    table.find_control("expand").click()
    assert table.page.locator("#skn-samples-rows details.row[open]").count() == 10


def test_address_stores_filters_and_links_to_a_sample(open_report, page):
    reader = open_report(page)
    SampleTable(reader.page).find_control("f-0").select_option("diagnostic")
    address = reader.page.evaluate("location.href")
    assert "f0=diagnostic" in address
    second_reader = open_report(page)
    second_reader.page.goto(address)
    second_reader.page.reload()
    table = SampleTable(second_reader.page)
    table.wait_for_count("12 of 24 samples")
    second_reader.page.goto(f"{second_reader.url}#skn-samples?id=s7")
    table.wait_for_count("1 of 24 samples")
    assert "Why does job 7 stall?" in table.find_rows().first.inner_text()
    second_reader.page.goto(
        f"{second_reader.url}#skn-samples?id=none&page=-4&sort=zzz&size=x&f0=%3Cb%3E"
    )
    assert second_reader.problems == []


def test_first_samples_are_shown_without_scripts(open_report, page):
    readers = [open_report(page), open_report(page, java_script_enabled=False)]
    selector = "#skn-samples-rows :is(.q, .proof, .o, .alone, pre, li, h3, h4)"
    texts = [reader.page.locator(selector).all_text_contents() for reader in readers]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 100
    plain_page = readers[1].page
    assert plain_page.locator("noscript").inner_text().startswith("Without scripts")
    assert not plain_page.locator(".filters").is_visible()


def test_light_and_dark_have_enough_contrast(open_report, page):
    backgrounds = []
    for scheme in ("light", "dark"):
        reader = open_report(page, color_scheme=scheme)
        backgrounds.append(reader.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        reader.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = 1")
        assert reader.page.evaluate(CONTRAST_SCRIPT) == []
    assert backgrounds[0] != backgrounds[1]


@pytest.mark.parametrize("width", [320, 400, 1280, 2200])
def test_the_page_itself_never_scrolls_sideways(open_report, page, width):
    reader = open_report(page, viewport={"width": width, "height": 800})
    reader.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_has_landmarks_captions_names_headings_and_visible_focus(open_report, page):
    reader = open_report(page)
    check_structure(reader.page)
    check_headings(reader.page)


def test_page_can_be_printed(open_report, page, tmp_path):
    dark_page = open_report(page, color_scheme="dark").page
    check_printed_page(dark_page, tmp_path / "report.pdf")


def test_two_runs_in_one_report_are_independent(open_report, finished_run, tmp_path):
    folders = [write_two_pipelines(tmp_path / name, count) for name, count in (("a", 6), ("b", 12))]
    out = tmp_path / "report.html"
    main(finished_run.results, None, finished_run.metrics, out, section=folders)
    reader = open_report(out)
    assert reader.problems == []
    check_structure(reader.page)
    assert reader.get_count_text() == "60 cards"
    first_table, second_table = SampleTable(reader.page), SampleTable(reader.page, "skn-2-samples")
    second_table.find_control("f-0").select_option("diagnostic")
    second_table.wait_for_count("6 of 12 samples")
    first_table.wait_for_count("6 samples")
    reader.page.select_option("#f-label", "C")
    reader.wait_for_count("20 of 60 cards")
    second_table.wait_for_count("6 of 12 samples")
    reader.page.locator("#skn-2-samples").scroll_into_view_if_needed()
    reader.page.evaluate("document.activeElement.blur()")
    reader.page.locator("#skn-2-samples-h").click()
    reader.page.keyboard.press("/")
    assert reader.page.evaluate("document.activeElement.id") == "skn-2-samples-f-q"
    for scheme in ("light", "dark"):
        scheme_reader = open_report(out, color_scheme=scheme)
        assert scheme_reader.page.evaluate(CONTRAST_SCRIPT) == []


def make_hostile_rows(sample: Sample, text: str) -> list[Any]:
    extraction = Extraction(
        pipeline="json", context=text, validity="tolerant", problem=text, raw=text
    )
    response = Response(answer=text, confidence=0.5, reasoning=text, abstained=False, readable=True)
    verdicts = Verdicts(
        correct=False,
        correct_votes=(False,),
        hallucination=Hallucination(
            total_claims=1.0, fabricated=1.0, fabricated_claims=(text,), severity=1.0, detected=True
        ),
        groundedness=0.0,
        unsupported_fraction=1.0,
        failures={"groundedness": 1},
        problems=(Failure("groundedness", 0, "unreadable", text, text),),
    )
    return [
        answered_row(sample, "json", extraction=extraction, response=response, verdicts=verdicts),
        failed_row(sample, "skn", error=text),
    ]


def test_hostile_text_is_shown_as_text_and_never_runs(open_report, tmp_path):
    plain_samples = make_samples(len(HOSTILE_TEXTS))
    samples = [
        Sample(
            id=f"{number} {text[:200]}",
            question=text,
            ground_truth=text,
            category=text[:300],
            answerable=plain_sample.answerable,
        )
        for number, (plain_sample, text) in enumerate(
            zip(plain_samples, HOSTILE_TEXTS, strict=True)
        )
    ]
    rows = [
        row
        for sample, text in zip(samples, HOSTILE_TEXTS, strict=True)
        for row in make_hostile_rows(sample, text)
    ]
    folder = write_run_folder(
        tmp_path,
        samples,
        rows,
        search_text=HOSTILE_TEXTS[0],
        model=HOSTILE_TEXTS[2],
        judge_model=HOSTILE_TEXTS[4],
    )
    paths = write_page(folder)
    source = paths[0].read_text("utf-8")
    assert source.count("<script") == source.count("</script>") == 2
    assert "\x00" not in source
    for scripts in (True, False):
        reader = open_report(paths[0], java_script_enabled=scripts)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert reader.page.title() == "Does it matter how knowledge is written down?"
        questions = reader.page.locator("#skn-samples-rows .q").all_text_contents()
        # The first page of the table has ten rows.
        assert questions == [make_visible(text) for text in HOSTILE_TEXTS[:10]]
        assert (
            HOSTILE_TEXTS[0] in reader.page.locator("#skn-samples-rows .alone").all_text_contents()
        )
        assert reader.page.locator("#skn-samples-rows img, #skn-samples-rows script").count() == 0
    markdown = (folder / "report.md").read_text("utf-8")
    assert "<" not in re.sub(r"^(`{3,})$.*?^\1$", "", markdown, flags=re.S | re.M)
    assert "\n=HYPERLINK" not in (folder / "report.samples.csv").read_text("utf-8")
    reader = open_report(paths[0])
    table = SampleTable(reader.page)
    table.find_control("f-size").select_option("25")
    assert table.find_rows().count() == len(HOSTILE_TEXTS)
    table.find_control("f-0").select_option(make_visible(HOSTILE_TEXTS[4]))
    table.wait_for_count(f"1 of {len(HOSTILE_TEXTS)} samples")
    assert reader.problems == []
