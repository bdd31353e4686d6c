"""The page of SynthLink scores in real Chromium: what a reader sees and does, and its safety."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from page_contrast import CONTRAST_SCRIPT
from page_structure import check_headings, check_prints, check_structure
from synthlink_section_folders import (
    answer_catalogue,
    run_and_score,
    score_honest_answers,
    score_incomplete_answers,
    score_shipped_predictions,
    write_catalogue,
)

from reporting.benchmark_sections.page import write_page
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
OPEN_ALL_SCRIPT = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six answers against six others."""
    return write_page(score_honest_answers(tmp_path_factory.mktemp("synthlink")))[0]


@pytest.fixture(scope="module")
def ran_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every possible outcome of a question."""
    return write_page(run_and_score(tmp_path_factory.mktemp("ran")))[0]


class SampleTable:
    """The table of questions of an open page."""

    def __init__(self, page: Any, prefix: str = "synthlink-samples") -> None:
        self.page, self.prefix = page, prefix

    def find_control(self, name: str) -> Any:
        return self.page.locator(f"#{self.prefix}-{name}")

    def find_rows(self) -> Any:
        return self.page.locator(f"#{self.prefix}-rows > tr:has(.c-card)")

    def wait_for_count(self, text: str) -> None:
        self.page.wait_for_function(
            "([id, text]) => document.getElementById(id).textContent === text",
            arg=[f"{self.prefix}-count", text],
            timeout=10_000,
        )


def test_page_opens_without_errors_or_requests(open_report, page, ran_page):
    for path in (page, ran_page):
        reader = open_report(path)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert SampleTable(reader.page).find_control("count").inner_text() == "6 questions"
        csp = reader.page.locator("meta[http-equiv=Content-Security-Policy]")
        assert csp.get_attribute("content").startswith("default-src 'none'")


def test_verdict_is_visible_without_scrolling(open_report, page):
    reader = open_report(page)
    lede = reader.page.locator(".lede")
    assert "The score is 0." in lede.inner_text()
    assert "The formulas as published would say 0." in lede.inner_text()
    box = reader.page.locator("figure.overview svg").bounding_box()
    assert box["y"] + box["height"] < 900
    strips = reader.page.locator("figure.overview svg .title").all_text_contents()
    assert strips == ["corrected", "literal"]
    fields = "document.querySelectorAll('.strips rect.worst')"
    wide = f"Array.from({fields}, (field) => +field.getAttribute('width') + 2)"
    assert reader.page.evaluate(wide) == pytest.approx([126, 126, 84, 42, 42] * 2, abs=0.2)


def test_filters_search_and_a_linked_question(open_report, ran_page):
    reader = open_report(ran_page)
    table = SampleTable(reader.page)
    table.find_control("f-mark").select_option("ERROR")
    table.wait_for_count("1 of 6 questions")
    assert "! ERROR" in table.find_rows().first.inner_text()
    table.find_control("clear").click()
    table.find_control("f-0").select_option("Economic and Industrial Shifts")
    table.wait_for_count("1 of 6 questions")
    table.find_control("clear").click()
    table.find_control("f-1").select_option("no step")
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


def test_row_opens_with_the_rounds(open_report, ran_page):
    table = SampleTable(open_report(ran_page).page)
    more = table.page.locator("#synthlink-samples-rows details.row").first
    more.locator("> summary").focus()
    table.page.keyboard.press("Enter")
    assert "Steps to the answer" in more.inner_text()
    assert "In 1794 Eli Whitney patented" not in more.inner_text()
    more.locator("details.answer > summary").focus()
    table.page.keyboard.press("Enter")
    shown = more.inner_text()
    for text in ("In 1794 Eli Whitney patented", "What it claims", "Round 1, searching: HIA first"):
        assert text in shown
    verdicts = more.locator(".compared tr[class^=t-] .verdict").all_inner_texts()
    assert any(text.startswith("✓ borne out") for text in verdicts)


def test_first_questions_are_shown_without_scripts(open_report, page):
    readers = [open_report(page), open_report(page, java_script_enabled=False)]
    parts = "#synthlink-samples-rows :is(.q, .proof, .o, .alone, .verdict, pre, li, h3, h4)"
    shown = [reader.page.locator(parts).all_text_contents() for reader in readers]
    assert shown[0] == shown[1]
    assert len(shown[0]) > 100
    assert readers[1].page.locator("noscript").inner_text().startswith("Without scripts")


def test_light_and_dark_have_enough_contrast(open_report, page, ran_page):
    for path in (page, ran_page):
        backgrounds = []
        for scheme in ("light", "dark"):
            reader = open_report(path, color_scheme=scheme)
            body = "getComputedStyle(document.body).backgroundColor"
            backgrounds.append(reader.page.evaluate(body))
            reader.page.evaluate(OPEN_ALL_SCRIPT)
            assert reader.page.evaluate(CONTRAST_SCRIPT) == []
        assert backgrounds[0] != backgrounds[1]


@pytest.mark.parametrize("width", [320, 390, 1280, 2200])
def test_the_page_itself_never_scrolls_sideways(open_report, page, ran_page, width):
    for path in (page, ran_page):
        reader = open_report(path, viewport={"width": width, "height": 800})
        reader.page.evaluate(OPEN_ALL_SCRIPT)
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= width


def test_row_names_are_not_broken_on_narrow_screens(open_report, page, ran_page):
    for path in (page, ran_page):
        reader = open_report(path, viewport={"width": 390, "height": 800})
        reader.page.evaluate(OPEN_ALL_SCRIPT)
        names = "document.querySelectorAll('main .scroller tbody th[scope=row]')"
        found = reader.page.evaluate(f"Array.from({names}, (name) => name.offsetWidth)")
        assert len(found) > 20
        assert min(found) > 90


def test_landmarks_captions_names_headings_and_visible_focus(open_report, page, ran_page):
    for path in (page, ran_page):
        reader = open_report(path)
        check_structure(reader.page)
        check_headings(reader.page)


def test_page_can_be_printed(open_report, page, tmp_path):
    printed = open_report(page, color_scheme="dark").page
    check_prints(printed, tmp_path / "report.pdf")


def test_two_folders_in_one_report_are_independent(open_report, world, tmp_path):
    folders = [score_honest_answers(tmp_path / "a"), score_incomplete_answers(tmp_path / "b")]
    out = tmp_path / "report.html"
    main(world.results, None, world.metrics, out, section=folders)
    reader = open_report(out)
    assert reader.problems == []
    check_structure(reader.page)
    first, second = SampleTable(reader.page), SampleTable(reader.page, "synthlink-2-samples")
    second.find_control("f-mark").select_option("abstained")
    second.wait_for_count("1 of 6 questions")
    first.wait_for_count("6 questions")
    for scheme in ("light", "dark"):
        assert open_report(out, color_scheme=scheme).page.evaluate(CONTRAST_SCRIPT) == []


def write_hostile_scores(folder: Path) -> Path:
    """Scores with hostile text in every text field, names and notes included."""
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
    for compared in document["comparisons"]:
        compared["name"] = HOSTILE[2]
        for one in compared["differences"]:
            one["first"], one["second"] = HOSTILE[4], HOSTILE[2]
            one["better"] = one["better"] and HOSTILE[4]
    for scores in report["modes"].values():
        scores["categories"] = {HOSTILE[1]: scores["categories"]["HIA"]}
        for row in scores["questions"]:
            row["category"] = HOSTILE[1]
        for value in scores["overall"]["measures"].values():
            value["why"] = HOSTILE[5]
    record.write_text(json.dumps(document), encoding="utf-8")
    return out


def test_hostile_text_is_shown_as_text_and_never_runs(open_report, tmp_path):
    folder = write_hostile_scores(tmp_path)
    written = write_page(folder)
    source = written[0].read_text("utf-8")
    assert source.count("<script") == source.count("</script>") == 2
    assert "\x00" not in source
    for scripts in (True, False):
        reader = open_report(written[0], java_script_enabled=scripts)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert reader.page.title() == "Can it link what no single page tells?"
        shown = reader.page.locator("#synthlink-samples-rows .q").all_text_contents()
        assert shown == [make_visible(f"{at} {text}") for at, text in enumerate(HOSTILE[:10])]
        assert reader.page.locator("main img, main script:not([type])").count() == 0
        assert HOSTILE[0] in "".join(reader.page.locator(".points li").all_text_contents())
        reader.page.set_viewport_size({"width": 390, "height": 800})
        if scripts:
            reader.page.evaluate(OPEN_ALL_SCRIPT)
            assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
            check_structure(reader.page)
    markdown = (folder / "report.md").read_text("utf-8")
    assert "<" not in re.sub(r"^(`{3,})$.*?^\1$", "", markdown, flags=re.S | re.M)
    table = (folder / "report.questions.csv").read_text("utf-8")
    assert ",=HYPERLINK" not in table
    assert "\n=HYPERLINK" not in table
    table = SampleTable(open_report(written[0]).page)
    table.find_control("f-size").select_option("25")
    assert table.find_rows().count() == len(HOSTILE)


def test_hostile_text_of_a_run_is_shown_as_text_too(open_report, tmp_path):
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
        for turn in trail["rounds"]:
            turn["query"] = next(texts)
            turn["answer"] = next(texts)
            pages = [{"url": next(texts), "title": next(texts)} for _ in range(3)]
            turn["found"], turn["read"] = pages, pages
            turn["links"] = [
                {"text": next(texts), "page": next(texts), "verdict": verdict}
                for verdict in ("licensed", "contradicted", "unknown", "")
            ]
        trail["docs"] = [{"url": next(texts), "title": next(texts)}]
    (folder / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    manifest = json.loads((folder / "run_manifest.json").read_bytes())
    manifest |= {"name": HOSTILE[2], "model": HOSTILE[4]}
    (folder / "run_manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    page = write_page(folder)[0]
    assert page.read_text("utf-8").count("<script") == 2
    for scripts in (True, False):
        reader = open_report(
            page, java_script_enabled=scripts, viewport={"width": 390, "height": 800}
        )
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert reader.page.locator("main img, main script:not([type])").count() == 0
        failed = reader.page.locator(".alone").all_text_contents()
        assert f"It failed: {HOSTILE[0]}" in failed
        assert f"It abstains: {HOSTILE[2]}" in failed
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
