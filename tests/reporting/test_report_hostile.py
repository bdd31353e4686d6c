"""Tests in real Chromium that hostile text never runs and that 10,000 cards stay usable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cards.card import Card
from eval.blocks.text_format import format_name
from kg.claims import Claim
from reporting.card_report.inputs import read_inputs
from reporting.card_report.proofs import describe_proof
from reporting.card_report.report_files import ProofSource, write_report
from reporting.html_report import main
from reporting.visible_text import make_visible

pytestmark = pytest.mark.browser

HOSTILE_TEXTS = (
    "<script>document.title='owned';alert(1)</script>",
    "</td></tr></table>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(3)>",
    "{{7*7}}",
    "{% raw %}{%raw%}",
    "javascript:alert(4)",
    "\u202egnorw si siht\u202c",
    "nul \x00 bell \x07 line\u2028separator",
    "🏞️👩‍🔬 café",
    "\"'`=&amp;<b>",
    "x" * 10_000,
)


def make_hostile_cards(report_kit: Any) -> list[Card]:
    """Makes one card for each hostile text, with the text in all of its text fields."""
    cards = []
    for number, (card, text) in enumerate(
        zip(report_kit.make_cards(len(HOSTILE_TEXTS)), HOSTILE_TEXTS, strict=True)
    ):
        claim = Claim(card.claim.subj + text, card.claim.pred + text, card.claim.obj + text)
        cards.append(
            msgspec.structs.replace(
                card,
                id=f"{number} {text}",
                question=text,
                facts=(text, f"{text} flows into {text}."),
                rules=(text,),
                kind=text,
                claim=claim,
                proof=report_kit.make_proof(card.label, claim),
                cluster=text,
            )
        )
    return cards


def test_hostile_text_is_shown_as_text_and_never_runs(open_report, report_kit, tmp_path):
    shares = (0.6, 0.2, 0.1)
    finished_run = report_kit.build_finished_run(
        tmp_path,
        make_hostile_cards(report_kit),
        dict.fromkeys(HOSTILE_TEXTS, shares),
        make_raw=lambda card, pred: card.question,
        controls=False,
    )
    inputs = read_inputs(finished_run.results, finished_run.metrics)
    out = tmp_path / "report.html"
    write_report(
        inputs, out, ProofSource(describe_proof, HOSTILE_TEXTS[0], HOSTILE_TEXTS[4]), ["html"]
    )
    source = out.read_text(encoding="utf-8")
    assert source.count("<script") == source.count("</script>") == 2
    assert "\x00" not in source
    for scripts in (True, False):
        reader = open_report(out, java_script_enabled=scripts)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        page = reader.page
        assert page.title() == f"{HOSTILE_TEXTS[0]}: who knows when not to answer?"
        assert page.locator("#card-rows .q").all_text_contents() == [
            make_visible(t) for t in HOSTILE_TEXTS
        ]
        assert page.locator("#card-rows li").first.text_content() == HOSTILE_TEXTS[0]
        assert page.locator("main img, main iframe, main b > script, td script").count() == 0
        kinds = page.locator("#card-rows .kind").all_text_contents()
        assert kinds == [make_visible(text) for text in HOSTILE_TEXTS]
        names = page.locator("#headline tbody:not(.controls) th bdi").all_text_contents()
        assert {format_name(text) for text in HOSTILE_TEXTS} <= set(names)
        if scripts:
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            for text in HOSTILE_TEXTS[:-1]:  # all but the text of 10,000 letters
                page.fill("#f-q", make_visible(text))
                reader.wait_for_count(f"1 of {len(HOSTILE_TEXTS)} cards")
            assert reader.problems == []


def test_bidi_overrides_are_escaped_and_names_isolated(open_report, report_kit, tmp_path):
    cards = report_kit.make_cards(3)
    cards[0] = msgspec.structs.replace(cards[0], question="\u202eevil\u202c \u05e0\u05d4\u05e8?")
    finished_run = report_kit.build_finished_run(
        tmp_path, cards, {"\u202ekg": (1.0, 0.0, 0.0)}, controls=False
    )
    main(finished_run.results, None, finished_run.metrics, tmp_path / "report.html")
    page = open_report(tmp_path / "report.html").page
    text = page.locator("body").inner_text()
    assert "\u202e" not in text
    assert "⟨U+202E⟩evil⟨U+202C⟩ \u05e0\u05d4\u05e8?" in text
    get_bidi = "node => getComputedStyle(node).unicodeBidi"
    assert page.locator("#headline tbody bdi").first.evaluate(get_bidi) == "isolate"


@pytest.fixture(scope="module")
def large_report(report_kit: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    systems = {f"system-{n}": (0.5 + n / 10, 0.2, 0.01) for n in range(5)}
    finished_run = report_kit.build_finished_run(
        folder, report_kit.make_cards(10_000), systems, controls=False, resamples=5
    )
    main(finished_run.results, None, finished_run.metrics, folder / "report.html", formats="html")
    return folder / "report.html"


@pytest.mark.slow
def test_ten_thousand_cards_of_five_systems_stay_usable(open_report, large_report):
    assert large_report.stat().st_size < 8_000_000
    reader = open_report(large_report)
    page = reader.page
    assert reader.get_count_text() == "10,000 cards"
    assert page.inner_text("#page-of") == "page 1 of 400"
    assert page.evaluate("document.getElementsByTagName('*').length") < 9_000
    page.focus("#f-q")
    page.keyboard.type("orinoco")
    page.wait_for_function("() => document.getElementById('count').textContent.includes(' of ')")
    n_matching, total = reader.get_count_text().removesuffix(" cards").split(" of ")
    assert total == "10,000"
    assert 0 < int(n_matching.replace(",", "")) < 10_000
    page.select_option("#f-system", "system-0")
    page.select_option("#f-outcome", "wrong")
    page.select_option("#f-size", "250")
    assert reader.count_rows() == 250
    assert set(page.locator("#card-rows td[data-head='system-0']").all_text_contents()) <= {
        "✗ YES, wrong",
        "✗ NO, wrong",
    }
    page.locator("#card-head [data-sort=s4]").click()
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("system-")
    assert reader.problems == []
