"""Tests of the extraction page in real Chromium: its content, its controls and its safety."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from extraction_folders import write_result_folder, write_run_folder
from extraction_outputs import Skill
from page_contrast import CONTRAST_SCRIPT
from page_structure import check_headings, check_printed_page, check_structure

from eval.extraction.blocks.comparison_page import write_comparison
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.runs.sections import write_page
from reporting.html_report import main
from reporting.visible_text import make_visible

pytestmark = pytest.mark.browser

HOSTILE_TEXTS = (
    "<script>document.title='owned';alert(1)</script>",
    "</td></tr></table></section></svg>",
    "</title></desc></text></svg><script>alert(2)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(3)>",
    "{{7*7}}{% raw %}",
    "\u202egnorw si siht\u202c",
    "nul \x00 bell \x07 line\u2028separator",
    "\"'`=&amp;<b>",
    "=HYPERLINK(1)",
    "x" * 9_000,
)
OPEN_ALL_SCRIPT = "for (const one of document.querySelectorAll('details')) one.open = true"
SAMPLES_TABLE = "#extraction-samples"
# Lists the texts that extend more than 2 pixels beyond their figure.
OVERFLOWING_TEXTS = """() => Array.from(
  document.querySelectorAll('svg.plot text')).filter((text) => {
  const box = text.getBoundingClientRect(), all = text.closest('svg').getBoundingClientRect();
  return box.width && (box.left < all.left - 2 || box.right > all.right + 2 ||
    box.top < all.top - 2 || box.bottom > all.bottom + 2);
}).map((text) => text.textContent)"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(write_run_folder(tmp_path_factory.mktemp("extraction"), count=24))[0]


def test_page_opens_without_errors_or_requests(open_report: Any, page: Path) -> None:
    reader = open_report(page)
    assert reader.problems == []
    assert reader.requests == [reader.url]
    csp = reader.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert csp.startswith("default-src 'none'")
    assert reader.page.locator(f"{SAMPLES_TABLE}-count").inner_text() == "24 samples"
    check_structure(reader.page)
    check_headings(reader.page)


def test_samples_can_be_filtered_and_opened(open_report: Any, page: Path) -> None:
    reader = open_report(page)
    # f-0 filters by the first facet of a sample, which says why it is shown.
    reader.page.locator(f"{SAMPLES_TABLE}-f-0").select_option("worst")
    tags = reader.page.locator(f"{SAMPLES_TABLE}-rows .tag").all_inner_texts()
    assert set(tags) == {"worst"}
    sample_row = reader.page.locator(f"{SAMPLES_TABLE}-rows details.row").first
    sample_row.locator("> summary").focus()
    reader.page.keyboard.press("Enter")
    answer = sample_row.locator("details.answer").nth(1)
    answer.locator("summary").focus()
    reader.page.keyboard.press("Enter")
    table = answer.locator(".compared table")
    headings = table.locator("thead th").all_inner_texts()
    assert headings == ["Verdict", "Field", "Expected", "Extracted"]
    verdicts = table.locator(".verdict").all_inner_texts()
    assert verdicts
    assert all(text[0] in "✓~✗○+" for text in verdicts)  # Colour is never the only cue.
    looks = {row.get_attribute("class") for row in table.locator("tbody tr").all()}
    assert looks <= {"t-right", "t-held", "t-wrong", "t-none"}
    assert reader.problems == []


def test_first_samples_are_shown_without_scripts(open_report: Any, page: Path) -> None:
    readers = [open_report(page), open_report(page, java_script_enabled=False)]
    selector = f"{SAMPLES_TABLE}-rows :is(.q, .proof, .o, .alone, pre, .compared th, .compared td)"
    texts = [reader.page.locator(selector).all_text_contents() for reader in readers]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 300


def test_light_and_dark_have_enough_contrast(open_report: Any, page: Path) -> None:
    for scheme in ("light", "dark"):
        reader = open_report(page, color_scheme=scheme)
        reader.page.evaluate(OPEN_ALL_SCRIPT)
        assert reader.page.evaluate(CONTRAST_SCRIPT) == []


# Lists the contrast of each text with the coloured shape behind it. Colours are painted on a canvas
# and read back; the formulas are those of WCAG 2.2.
CONTRAST_ON_SHAPES = """() => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext('2d', { willReadFrequently: true });
  const luminance = (colour) => {
    brush.clearRect(0, 0, 1, 1); brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1);
    return Array.from(brush.getImageData(0, 0, 1, 1).data).slice(0, 3).map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  };
  const groups = document.querySelectorAll('svg .cell, svg.stack g g');
  return Array.from(groups).flatMap((group) => {
    const rect = group.querySelector('rect');
    return Array.from(group.querySelectorAll('text')).map((text) => {
      const fills = [rect, text].map((node) => luminance(getComputedStyle(node).fill));
      const [a, b] = fills.sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    });
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_on_coloured_shapes_has_enough_contrast(
    open_report: Any, page: Path, scheme: str
) -> None:
    ratios = open_report(page, color_scheme=scheme).page.evaluate(CONTRAST_ON_SHAPES)
    assert len(ratios) > 100
    assert min(ratios) >= 4.5


@pytest.mark.parametrize("width", [320, 1280, 2200])
def test_page_never_scrolls_sideways_and_texts_fit_their_figures(
    open_report: Any, page: Path, width: int
) -> None:
    reader = open_report(page, viewport={"width": width, "height": 800})
    reader.page.evaluate(OPEN_ALL_SCRIPT)
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
    assert reader.page.evaluate(OVERFLOWING_TEXTS) == []


def test_page_can_be_printed(open_report: Any, page: Path, tmp_path: Path) -> None:
    dark_page = open_report(page, color_scheme="dark").page
    check_printed_page(dark_page, tmp_path / "report.pdf")


def test_report_contains_abstention_and_extraction(
    open_report: Any, finished_run: Any, page: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    main(finished_run.results, None, finished_run.metrics, out, section=[page.parent])
    reader = open_report(out)
    assert reader.problems == []
    check_structure(reader.page)
    assert reader.get_count_text() == "60 cards"
    assert reader.page.locator("#extraction-h").inner_text() == "How well do texts become data?"
    assert reader.page.locator("#extraction svg.gauge").count() >= 1
    reader.page.locator(f"{SAMPLES_TABLE}-f-0").select_option("best")
    reader.page.select_option("#f-label", "C")
    reader.wait_for_count("20 of 60 cards")
    assert (tmp_path / "report.extraction.samples.csv").exists()
    assert "## How well do texts become data?" in (tmp_path / "report.md").read_text("utf-8")
    assert open_report(out, color_scheme="dark").page.evaluate(CONTRAST_SCRIPT) == []


def test_comparison_of_many_systems_opens_at_every_width(open_report: Any, tmp_path: Path) -> None:
    names = ("provider/a-very-long-name-of-a-model-70b-instruct", "m1", "m2", "m3", "m4", "m5")
    first_folder = write_run_folder(
        tmp_path / "one", {n: Skill(slip=0.03 * i) for i, n in enumerate(names)}, count=10
    )
    second_folder = write_run_folder(
        tmp_path / "two", {"m1": Skill(slip=0.3, constrained=False)}, count=6
    )
    out = write_comparison([first_folder, second_folder], tmp_path / "comparison.html")[0]
    for width in (320, 1280):
        reader = open_report(out, viewport={"width": width, "height": 800})
        assert reader.problems == []
        reader.page.evaluate(OPEN_ALL_SCRIPT)
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
        assert reader.page.evaluate(OVERFLOWING_TEXTS) == []
    check_structure(reader.page)
    n_ranked_systems = (
        reader.page.locator("#extraction-comparison table").first.locator("tbody tr").count()
    )
    assert n_ranked_systems == 7  # six systems of the first run and m1 of the second


def write_hostile_folder(folder: Path) -> Path:
    samples, rows = [], []
    for number, text in enumerate(HOSTILE_TEXTS):
        name = text[:80]
        schema = {"type": "object", "properties": {name: {"type": "string"}}, "description": text}
        sample = Sample(
            id=f"{number} {name}",
            text=text,
            schema=schema,
            expected={name: text},
            domain=text[:300],
            language=name[:12],
        )
        samples.append(sample)
        predicted: dict[str, Any] = {name: text[::-1], f"more {name}": text}
        for system in (HOSTILE_TEXTS[0], HOSTILE_TEXTS[2]):
            row = ExtractionRow(
                id=sample.id,
                system=system,
                outcome="OK",
                predicted=predicted,
                raw=text,
                problem=text,
                latency_s=0.5,
                at_s=1e9 + number,
                score=score_sample(sample, predicted).score,
            )
            rows.append(row)
    failed_row = msgspec.structs.replace(rows[-1], outcome="ERROR", predicted=None)
    return write_result_folder(
        folder,
        samples,
        [*rows[:-1], failed_row],
        resamples=20,
        dataset=HOSTILE_TEXTS[4],
        prompts={"system": HOSTILE_TEXTS[0], "user": HOSTILE_TEXTS[1]},
        extractors={HOSTILE_TEXTS[0]: {HOSTILE_TEXTS[2]: HOSTILE_TEXTS[3]}},
        data_notes=(HOSTILE_TEXTS[2],),
        rejected=1,
        rejections=(HOSTILE_TEXTS[4],),
    )


def test_hostile_text_is_shown_as_text_and_never_runs(open_report: Any, tmp_path: Path) -> None:
    paths = write_page(write_hostile_folder(tmp_path / "run"))
    source = paths[0].read_text("utf-8")
    assert source.count("<script") == source.count("</script>") == 2
    assert "\x00" not in source
    assert "\u202e" not in source
    for scripts in (True, False):
        reader = open_report(paths[0], java_script_enabled=scripts)
        reader.page.evaluate(OPEN_ALL_SCRIPT)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert reader.page.title() == "How well do texts become data?"
        assert reader.page.locator("main img, main script, main iframe").count() == 0
        cells = reader.page.locator(f"{SAMPLES_TABLE}-rows .compared td").all_text_contents()
        assert any(make_visible(text) in cells for text in HOSTILE_TEXTS[:3])
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 1280
    markdown = paths[1].read_text("utf-8")
    assert "<" not in re.sub(r"^(`{3,})$.*?^\1$", "", markdown, flags=re.S | re.M)
    samples = (tmp_path / "run" / "report.samples.csv").read_text("utf-8")
    assert "\n=HYPERLINK" not in samples
    assert ",=HYPERLINK" not in samples


def test_every_table_fits_on_paper(
    open_report: Any, finished_run: Any, page: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    main(finished_run.results, None, finished_run.metrics, out, section=[page.parent])
    # A4 without the margins of 1.2 cm.
    printed = open_report(out, viewport={"width": 703, "height": 1000}).page
    printed.emulate_media(media="print")
    assert printed.locator("table").count() > 10
    assert (
        printed.evaluate(
            "[...document.querySelectorAll('table')]"
            ".filter(table => table.getBoundingClientRect().right > 703)"
            ".map(table => table.caption.textContent)"
        )
        == []
    )
