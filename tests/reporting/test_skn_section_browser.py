"""The page of SKN against JSON in real Chromium: what can be seen, done, and must never happen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from page_contrast import CONTRAST
from page_structure import check_headings, check_prints, check_structure
from skn_folders import answered, failed, samples_of, two_pipelines, write_folder

from eval.skn.agent import Response
from eval.skn.formats.extracting import Extraction
from eval.skn.judges.record import Failure, Hallucination, Verdicts
from eval.skn.running.samples import Sample
from reporting.benchmark_sections.page import write_page
from reporting.html_report import main
from reporting.skn_section.reading import read_run
from reporting.skn_section.samples_of_run import mark_of
from reporting.visible import visible

pytestmark = pytest.mark.browser

HOSTILE = (
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
    return write_page(two_pipelines(tmp_path_factory.mktemp("skn"), 24))[0]


class Table:
    """The table of samples of an open page."""

    def __init__(self, page: Any, prefix: str = "skn-samples") -> None:
        self.page, self.prefix = page, prefix

    def control(self, name: str) -> Any:
        return self.page.locator(f"#{self.prefix}-{name}")

    def rows(self) -> Any:
        return self.page.locator(f"#{self.prefix}-rows > tr:has(.c-card)")

    def wait(self, text: str) -> None:
        self.page.wait_for_function(
            "([id, text]) => document.getElementById(id).textContent === text",
            arg=[f"{self.prefix}-count", text],
            timeout=10_000,
        )


def test_opens_quietly_and_asks_nothing_of_the_network(open_report, page):
    reader = open_report(page)
    assert reader.problems == []
    assert reader.requests == [reader.url]
    table = Table(reader.page)
    assert table.control("count").inner_text() == "24 samples"
    assert table.rows().count() == 10
    csp = reader.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert csp.startswith("default-src 'none'")
    assert "script-src 'sha256-" in csp


def test_filters_search_sorts_and_turns_pages(open_report, page):
    reader = open_report(page)
    table = Table(reader.page)
    table.control("f-0").select_option("architecture")
    table.wait("12 of 24 samples")
    assert set(table.rows().locator(".tag").all_inner_texts()) == {"architecture"}
    table.control("f-1").select_option("has none")
    table.wait("6 of 24 samples")
    table.control("clear").click()
    table.wait("24 samples")
    table.control("f-system").select_option("skn")
    table.control("f-mark").select_option("ERROR")
    table.wait("1 of 24 samples")
    assert "! ERROR" in table.rows().first.inner_text()
    table.control("clear").click()
    table.control("f-disagree").check()
    rows = read_run(page.parent).rows.values()
    split = sum(len({mark_of(row) for found in one.values() for row in found}) > 1 for one in rows)
    assert 0 < split < 24
    table.wait(f"{split} of 24 samples")
    table.control("clear").click()
    reader.page.keyboard.press("Tab")
    reader.page.locator("h1").click()
    reader.page.keyboard.press("/")
    assert reader.page.evaluate("document.activeElement.id") == "skn-samples-f-q"
    reader.page.keyboard.type("JÓB 17 stall")
    table.wait("1 of 24 samples")
    reader.page.keyboard.press("Escape")
    table.wait("24 samples")
    table.control("next").focus()
    reader.page.keyboard.press("Enter")
    reader.page.keyboard.press("Enter")
    assert table.control("page-of").inner_text() == "page 3 of 3"
    assert table.rows().count() == 4
    head = reader.page.locator("#skn-samples-head [data-sort=s1]")
    head.focus()
    reader.page.keyboard.press("Enter")
    assert head.locator("..").get_attribute("aria-sort") == "ascending"
    assert "✓ right" in table.rows().first.inner_text()
    reader.page.keyboard.press("Enter")
    assert "! ERROR" in table.rows().first.inner_text()
    assert reader.problems == []


def test_a_row_opens_on_every_pipelines_way(open_report, page):
    table = Table(open_report(page).page)
    more = table.page.locator("#skn-samples-rows details.row")
    more.first.locator("> summary").focus()
    table.page.keyboard.press("Enter")
    assert "What the search found" in more.first.inner_text()
    answers = more.first.locator("details.answer")
    assert answers.count() == 2
    answers.nth(1).locator("summary").focus()
    table.page.keyboard.press("Enter")
    shown = answers.nth(1).inner_text()
    for text in ("The lock stays, says skn.", "What the judges say", "The extraction"):
        assert text in shown
    table.control("expand").click()
    assert table.page.locator("#skn-samples-rows details.row[open]").count() == 10


def test_the_address_keeps_the_choice_and_links_to_one_sample(open_report, page):
    reader = open_report(page)
    Table(reader.page).control("f-0").select_option("diagnostic")
    address = reader.page.evaluate("location.href")
    assert "f0=diagnostic" in address
    again = open_report(page)
    again.page.goto(address)
    again.page.reload()
    table = Table(again.page)
    table.wait("12 of 24 samples")
    again.page.goto(f"{again.url}#skn-samples?id=s7")
    table.wait("1 of 24 samples")
    assert "Why does job 7 stall?" in table.rows().first.inner_text()
    again.page.goto(f"{again.url}#skn-samples?id=none&page=-4&sort=zzz&size=x&f0=%3Cb%3E")
    assert again.problems == []


def test_the_first_samples_stand_there_without_scripts(open_report, page):
    readers = [open_report(page), open_report(page, java_script_enabled=False)]
    parts = "#skn-samples-rows :is(.q, .proof, .o, .alone, pre, li, h3, h4)"
    shown = [reader.page.locator(parts).all_text_contents() for reader in readers]
    assert shown[0] == shown[1]
    assert len(shown[0]) > 100
    without = readers[1].page
    assert without.locator("noscript").inner_text().startswith("Without scripts")
    assert not without.locator(".filters").is_visible()


def test_light_and_dark_have_enough_contrast(open_report, page):
    backgrounds = []
    for scheme in ("light", "dark"):
        reader = open_report(page, color_scheme=scheme)
        backgrounds.append(reader.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        reader.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = 1")
        assert reader.page.evaluate(CONTRAST) == []
    assert backgrounds[0] != backgrounds[1]


@pytest.mark.parametrize("width", [320, 400, 1280, 2200])
def test_the_page_itself_never_scrolls_sideways(open_report, page, width):
    reader = open_report(page, viewport={"width": width, "height": 800})
    reader.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width


def test_landmarks_captions_names_headings_and_visible_focus(open_report, page):
    reader = open_report(page)
    check_structure(reader.page)
    check_headings(reader.page)


def test_prints(open_report, page, tmp_path):
    printed = open_report(page, color_scheme="dark").page
    check_prints(printed, tmp_path / "report.pdf")


def test_two_runs_in_the_card_report_do_not_disturb_each_other(open_report, world, tmp_path):
    folders = [two_pipelines(tmp_path / name, count) for name, count in (("a", 6), ("b", 12))]
    out = tmp_path / "report.html"
    main(world.results, None, world.metrics, out, section=folders)
    reader = open_report(out)
    assert reader.problems == []
    check_structure(reader.page)
    assert reader.count() == "60 cards"
    first, second = Table(reader.page), Table(reader.page, "skn-2-samples")
    second.control("f-0").select_option("diagnostic")
    second.wait("6 of 12 samples")
    first.wait("6 samples")
    reader.page.select_option("#f-label", "C")
    reader.wait_count("20 of 60 cards")
    second.wait("6 of 12 samples")
    reader.page.locator("#skn-2-samples").scroll_into_view_if_needed()
    reader.page.evaluate("document.activeElement.blur()")
    reader.page.locator("#skn-2-samples-h").click()
    reader.page.keyboard.press("/")
    assert reader.page.evaluate("document.activeElement.id") == "skn-2-samples-f-q"
    for scheme in ("light", "dark"):
        shown = open_report(out, color_scheme=scheme)
        assert shown.page.evaluate(CONTRAST) == []


def hostile_rows(sample: Sample, text: str) -> list[Any]:
    extraction = Extraction(
        pipeline="json", context=text, validity="tolerant", problem=text, raw=text
    )
    said = Response(answer=text, confidence=0.5, reasoning=text, abstained=False, readable=True)
    judged = Verdicts(
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
        answered(sample, "json", extraction=extraction, response=said, verdicts=judged),
        failed(sample, "skn", error=text),
    ]


def test_hostile_text_is_shown_as_text_and_never_runs(open_report, tmp_path):
    plain = samples_of(len(HOSTILE))
    samples = [
        Sample(
            id=f"{number} {text[:200]}",
            question=text,
            ground_truth=text,
            category=text[:300],
            answerable=one.answerable,
        )
        for number, (one, text) in enumerate(zip(plain, HOSTILE, strict=True))
    ]
    rows = [
        row
        for sample, text in zip(samples, HOSTILE, strict=True)
        for row in hostile_rows(sample, text)
    ]
    folder = write_folder(
        tmp_path, samples, rows, found=HOSTILE[0], model=HOSTILE[2], judge_model=HOSTILE[4]
    )
    written = write_page(folder)
    source = written[0].read_text("utf-8")
    assert source.count("<script") == source.count("</script>") == 2
    assert "\x00" not in source
    for scripts in (True, False):
        reader = open_report(written[0], java_script_enabled=scripts)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert reader.page.title() == "Does it matter how knowledge is written down?"
        shown = reader.page.locator("#skn-samples-rows .q").all_text_contents()
        assert shown == [visible(text) for text in HOSTILE[:10]]
        assert HOSTILE[0] in reader.page.locator("#skn-samples-rows .alone").all_text_contents()
        assert reader.page.locator("#skn-samples-rows img, #skn-samples-rows script").count() == 0
    markdown = (folder / "report.md").read_text("utf-8")
    assert "<" not in re.sub(r"^(`{3,})$.*?^\1$", "", markdown, flags=re.S | re.M)
    assert "\n=HYPERLINK" not in (folder / "report.samples.csv").read_text("utf-8")
    reader = open_report(written[0])
    table = Table(reader.page)
    table.control("f-size").select_option("25")
    assert table.rows().count() == len(HOSTILE)
    table.control("f-0").select_option(visible(HOSTILE[4]))
    table.wait(f"1 of {len(HOSTILE)} samples")
    assert reader.problems == []
