"""Tests the page of SynthLink scores in Chromium: display, interaction, and hostile text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from page_contrast import CONTRAST_SCRIPT
from page_structure import check_headings, check_printed_page, check_structure
from stage_calls import write_edited_manifest
from synthlink_section_folders import (
    answer_catalogue,
    run_and_score,
    score_honest_answers,
    score_incomplete_answers,
    score_shipped_predictions,
    write_catalogue,
)

from eval.runs.sections import write_page
from reporting.html_report import main
from reporting.visible_text import make_visible

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
    "x" * 3_000,
)
OPEN_ALL_SCRIPT = "for (const element of document.querySelectorAll('details')) element.open = true"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of six answers that are compared with six other answers."""
    return write_page(score_honest_answers(tmp_path_factory.mktemp("synthlink")))[0]


@pytest.fixture(scope="module")
def run_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run with every possible outcome of a question."""
    return write_page(run_and_score(tmp_path_factory.mktemp("ran")))[0]


class SampleTable:
    """The table of questions of an open page."""

    def __init__(self, page: Any, prefix: str = "synthlink-samples") -> None:
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


def test_page_opens_without_errors_or_requests(open_report, page, run_page):
    for path in (page, run_page):
        reader = open_report(path)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert SampleTable(reader.page).find_control("count").inner_text() == "6 questions"
        csp = reader.page.locator("meta[http-equiv=Content-Security-Policy]")
        assert csp.get_attribute("content").startswith("default-src 'none'")


def test_verdict_is_visible_without_scrolling(open_report, page):
    reader = open_report(page)
    lede = reader.page.locator(".lede")
    assert "There is no corrected score" in lede.inner_text()
    assert "The published formulas give 0." in lede.inner_text()
    box = reader.page.locator("figure.overview svg").bounding_box()
    assert box["y"] + box["height"] < 900
    strips = reader.page.locator("figure.overview svg .title").all_text_contents()
    assert strips == ["literal"], "only literal has a score"
    selection = "document.querySelectorAll('.strips rect.worst')"
    widths_script = f"Array.from({selection}, (field) => +field.getAttribute('width') + 2)"
    # Each part of a strip of 420 pixels is as wide as its weight: 0.3, 0.3, 0.2, 0.1 and 0.1. The
    # script adds the gap of 2 pixels between the parts.
    assert reader.page.evaluate(widths_script) == pytest.approx([126, 126, 84, 42, 42], abs=0.2)


def test_filters_search_and_links_select_questions(open_report, run_page):
    reader = open_report(run_page)
    table = SampleTable(reader.page)
    table.find_control("f-mark").select_option("ERROR")
    table.wait_for_count("1 of 6 questions")
    assert "! ERROR" in table.find_rows().first.inner_text()
    table.find_control("clear").click()
    table.find_control("f-0").select_option("Economic and Industrial Shifts")
    table.wait_for_count("1 of 6 questions")
    table.find_control("clear").click()
    table.find_control("f-1").select_option("no claim")
    table.wait_for_count("3 of 6 questions")
    table.find_control("clear").click()
    reader.page.locator("h1").click()
    reader.page.keyboard.press("/")
    assert reader.page.evaluate("document.activeElement.id") == "synthlink-samples-f-q"
    reader.page.keyboard.type("SHIRTWAIST")
    table.wait_for_count("1 of 6 questions")
    reader.page.goto(f"{reader.url}#synthlink-samples?id=HIA-01")
    reader.page.reload()
    table.wait_for_count("1 of 6 questions")
    assert "cotton" in table.find_rows().first.inner_text()
    assert reader.problems == []


def test_open_row_shows_the_rounds(open_report, run_page):
    table = SampleTable(open_report(run_page).page)
    row_details = table.page.locator("#synthlink-samples-rows details.row").first
    row_details.locator("> summary").focus()
    table.page.keyboard.press("Enter")
    assert "Steps to the answer" in row_details.inner_text()
    assert "In 1794 Eli Whitney patented" not in row_details.inner_text()
    row_details.locator("details.answer > summary").focus()
    table.page.keyboard.press("Enter")
    row_text = row_details.inner_text()
    for text in ("In 1794 Eli Whitney patented", "What it claims", "Round 1, searching: HIA first"):
        assert text in row_text
    verdicts = row_details.locator(".compared tr[class^=t-] .verdict").all_inner_texts()
    assert any(text.startswith("! unjudged") for text in verdicts)


def test_first_questions_are_shown_without_scripts(open_report, page):
    readers = [open_report(page), open_report(page, java_script_enabled=False)]
    selector = "#synthlink-samples-rows :is(.q, .proof, .o, .alone, .verdict, pre, li, h3, h4)"
    texts = [reader.page.locator(selector).all_text_contents() for reader in readers]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 100
    assert readers[1].page.locator("noscript").inner_text().startswith("Without scripts")


def test_light_and_dark_have_enough_contrast(open_report, page, run_page):
    for path in (page, run_page):
        backgrounds = []
        for scheme in ("light", "dark"):
            reader = open_report(path, color_scheme=scheme)
            color_script = "getComputedStyle(document.body).backgroundColor"
            backgrounds.append(reader.page.evaluate(color_script))
            reader.page.evaluate(OPEN_ALL_SCRIPT)
            assert reader.page.evaluate(CONTRAST_SCRIPT) == []
        assert backgrounds[0] != backgrounds[1]


@pytest.mark.parametrize("width", [320, 390, 1280, 2200])
def test_the_page_itself_never_scrolls_sideways(open_report, page, run_page, width):
    for path in (page, run_page):
        reader = open_report(path, viewport={"width": width, "height": 800})
        reader.page.evaluate(OPEN_ALL_SCRIPT)
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= width


def test_row_names_are_not_broken_on_narrow_screens(open_report, page, run_page):
    for path in (page, run_page):
        reader = open_report(path, viewport={"width": 390, "height": 800})
        reader.page.evaluate(OPEN_ALL_SCRIPT)
        selection = "document.querySelectorAll('main .scroller tbody th[scope=row]')"
        widths = reader.page.evaluate(f"Array.from({selection}, (name) => name.offsetWidth)")
        assert len(widths) > 20
        assert min(widths) > 90


def test_structure_and_headings_are_accessible(open_report, page, run_page):
    for path in (page, run_page):
        reader = open_report(path)
        check_structure(reader.page)
        check_headings(reader.page)


def test_page_can_be_printed(open_report, page, tmp_path):
    dark_page = open_report(page, color_scheme="dark").page
    check_printed_page(dark_page, tmp_path / "report.pdf")


def test_two_folders_in_one_report_are_independent(open_report, finished_run, tmp_path):
    folders = [score_honest_answers(tmp_path / "a"), score_incomplete_answers(tmp_path / "b")]
    out = tmp_path / "report.html"
    main(finished_run.results, None, finished_run.metrics, out, section=folders)
    reader = open_report(out)
    assert reader.problems == []
    check_structure(reader.page)
    first_table, second_table = (
        SampleTable(reader.page),
        SampleTable(reader.page, "synthlink-2-samples"),
    )
    second_table.find_control("f-mark").select_option("abstained")
    second_table.wait_for_count("1 of 6 questions")
    first_table.wait_for_count("6 questions")
    for scheme in ("light", "dark"):
        assert open_report(out, color_scheme=scheme).page.evaluate(CONTRAST_SCRIPT) == []


def write_hostile_scores(folder: Path) -> Path:
    """Writes scores with hostile text in every text field, names and notes included."""
    path = write_catalogue(folder / "hostile.jsonl", HOSTILE)
    rows: list[Any] = [*answer_catalogue(HOSTILE)]
    rows += [{"question_id": text[:200], "predicted_answer": "?"} for text in HOSTILE]
    out = score_shipped_predictions(folder, rows, {"other": []}, catalog=path, domain="none")
    record = out / "synthlink_scores.json"
    document = json.loads(record.read_bytes())
    report = document["report"]
    report["notes"] = [*report["notes"], *HOSTILE]
    report["graph"] = HOSTILE[0]
    document["name"] = HOSTILE[4]
    for comparison in document["comparisons"]:
        comparison["name"] = HOSTILE[2]
        for difference in comparison["differences"]:
            difference["candidate"], difference["baseline"] = HOSTILE[4], HOSTILE[2]
            difference["better"] = difference["better"] and HOSTILE[4]
    for scores in report["modes"].values():
        scores["categories"] = {HOSTILE[1]: scores["categories"]["HIA"]}
        for row in scores["questions"]:
            row["category"] = HOSTILE[1]
        for value in scores["overall"]["measures"].values():
            value["why"] = HOSTILE[5]
    record.write_text(json.dumps(document), encoding="utf-8")
    forget_hashes(out / "manifest.json")
    return out


def forget_hashes(path: Path) -> None:
    """Takes the hashes out of a manifest, so that changed files are not refused."""
    manifest = json.loads(path.read_bytes())
    write_edited_manifest(path, {**manifest, "files_sha256": {}})


def test_hostile_text_is_shown_as_text_and_never_runs(open_report, tmp_path):
    folder = write_hostile_scores(tmp_path)
    paths = write_page(folder)
    html = paths[0].read_text("utf-8")
    assert html.count("<script") == html.count("</script>") == 2
    assert "\x00" not in html
    for scripts in (True, False):
        reader = open_report(paths[0], java_script_enabled=scripts)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert reader.page.title() == "Can it answer questions that need several pages?"
        questions = reader.page.locator("#synthlink-samples-rows .q").all_text_contents()
        # The first page of the table has ten rows.
        assert questions == [
            make_visible(f"{position} {text}") for position, text in enumerate(HOSTILE[:10])
        ]
        assert reader.page.locator("main img, main script:not([type])").count() == 0
        assert HOSTILE[0] in "".join(reader.page.locator(".points li").all_text_contents())
        reader.page.set_viewport_size({"width": 390, "height": 800})
        if scripts:
            reader.page.evaluate(OPEN_ALL_SCRIPT)
            assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
            check_structure(reader.page)
    markdown = (folder / "report.md").read_text("utf-8")
    assert "<" not in re.sub(r"^(`{3,})$.*?^\1$", "", markdown, flags=re.S | re.M)
    csv_text = (folder / "report.questions.csv").read_text("utf-8")
    assert ",=HYPERLINK" not in csv_text
    assert "\n=HYPERLINK" not in csv_text
    table = SampleTable(open_report(paths[0]).page)
    table.find_control("f-size").select_option("25")
    assert table.find_rows().count() == len(HOSTILE)


def test_hostile_text_of_a_run_is_shown_as_text(open_report, tmp_path):
    folder = run_and_score(tmp_path)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text("utf-8").splitlines()]
    texts = iter(HOSTILE * 10)
    for row in rows:
        row["note"] = next(texts)
        row["error"] = row["error"] and HOSTILE[0]
        trail = row["trail"]
        if trail is None:
            continue
        trail["why"] = trail["why"] and HOSTILE[2]
        for round_record in trail["rounds"]:
            round_record["query"] = next(texts)
            round_record["answer"] = next(texts)
            pages = [{"url": next(texts), "title": next(texts)} for _ in range(3)]
            round_record["found"], round_record["read"] = pages, pages
            round_record["links"] = [
                {"text": next(texts), "page": next(texts), "verdict": verdict}
                for verdict in ("licensed", "contradicted", "unknown", "")
            ]
        trail["docs"] = [{"url": next(texts), "title": next(texts)}]
    (folder / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    manifest = json.loads((folder / "run_manifest.json").read_bytes())
    manifest |= {"name": HOSTILE[2], "model": HOSTILE[4], "files_sha256": {}}
    write_edited_manifest(folder / "run_manifest.json", manifest)
    page = write_page(folder)[0]
    assert page.read_text("utf-8").count("<script") == 2
    for scripts in (True, False):
        reader = open_report(
            page, java_script_enabled=scripts, viewport={"width": 390, "height": 800}
        )
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert reader.page.locator("main img, main script:not([type])").count() == 0
        outcomes = reader.page.locator(".alone").all_text_contents()
        assert f"It failed: {HOSTILE[0]}" in outcomes
        assert f"It abstains: {HOSTILE[2]}" in outcomes
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
