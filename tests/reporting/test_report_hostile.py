"""Hostile text and very many cards in real Chromium: shown as text, never run, still usable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cards.card import Card
from kg.claims import Claim
from reporting.html_report import main
from reporting.inputs import read_inputs
from reporting.proofs import describe_proof
from reporting.report_files import ProofSource, write_report
from reporting.visible_text import format_name, make_visible

pytestmark = pytest.mark.browser

HOSTILE = (
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
    """One card per hostile text, which is in all of its text fields."""
    cards = []
    for number, (card, text) in enumerate(
        zip(report_kit.some_cards(len(HOSTILE)), HOSTILE, strict=True)
    ):
        asked = Claim(card.claim.subj + text, card.claim.pred + text, card.claim.obj + text)
        cards.append(
            msgspec.structs.replace(
                card,
                id=f"{number} {text}",
                question=text,
                facts=(text, f"{text} flows into {text}."),
                rules=(text,),
                kind=text,
                claim=asked,
                proof=report_kit.proof_of(card.label, asked),
                cluster=text,
            )
        )
    return cards


def test_hostile_text_is_shown_as_text_and_never_runs(open_report, report_kit, tmp_path):
    shares = (0.6, 0.2, 0.1)
    world = report_kit.build_world(
        tmp_path,
        make_hostile_cards(report_kit),
        dict.fromkeys(HOSTILE, shares),
        raw=lambda card, pred: card.question,
        controls=False,
    )
    inputs = read_inputs(world.results, world.metrics)
    out = tmp_path / "report.html"
    write_report(inputs, out, ProofSource(describe_proof, HOSTILE[0], HOSTILE[4]), ["html"])
    source = out.read_text(encoding="utf-8")
    assert source.count("<script") == source.count("</script>") == 2
    assert "\x00" not in source
    for scripts in (True, False):
        reader = open_report(out, java_script_enabled=scripts)
        assert reader.problems == []
        assert reader.requests == [reader.url]
        page = reader.page
        assert page.title() == f"{HOSTILE[0]}: who knows when not to answer?"
        assert page.locator("#card-rows .q").all_text_contents() == [
            make_visible(t) for t in HOSTILE
        ]
        assert page.locator("#card-rows li").first.text_content() == HOSTILE[0]
        assert page.locator("main img, main iframe, main b > script, td script").count() == 0
        kinds = page.locator("#card-rows .kind").all_text_contents()
        assert kinds == [make_visible(text) for text in HOSTILE]
        names = page.locator("#headline tbody:not(.controls) th bdi").all_text_contents()
        assert {format_name(text) for text in HOSTILE} <= set(names)
        if scripts:
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            for text in HOSTILE[:-1]:
                page.fill("#f-q", make_visible(text))
                reader.wait_count(f"1 of {len(HOSTILE)} cards")
            assert reader.problems == []


def test_bidi_overrides_are_escaped_and_names_isolated(open_report, report_kit, tmp_path):
    cards = report_kit.some_cards(3)
    cards[0] = msgspec.structs.replace(cards[0], question="\u202eevil\u202c \u05e0\u05d4\u05e8?")
    world = report_kit.build_world(tmp_path, cards, {"\u202ekg": (1.0, 0.0, 0.0)}, controls=False)
    main(world.results, None, world.metrics, tmp_path / "report.html")
    page = open_report(tmp_path / "report.html").page
    text = page.locator("body").inner_text()
    assert "\u202e" not in text
    assert "⟨U+202E⟩evil⟨U+202C⟩ \u05e0\u05d4\u05e8?" in text
    direction = "node => getComputedStyle(node).unicodeBidi"
    assert page.locator("#headline tbody bdi").first.evaluate(direction) == "isolate"


@pytest.fixture(scope="module")
def large_report(report_kit: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    systems = {f"system-{n}": (0.5 + n / 10, 0.2, 0.01) for n in range(5)}
    world = report_kit.build_world(
        folder, report_kit.some_cards(10_000), systems, controls=False, resamples=5
    )
    main(world.results, None, world.metrics, folder / "report.html", formats="html")
    return folder / "report.html"


@pytest.mark.slow
def test_ten_thousand_cards_of_five_systems_stay_usable(open_report, large_report):
    assert large_report.stat().st_size < 8_000_000
    reader = open_report(large_report)
    page = reader.page
    assert reader.count() == "10,000 cards"
    assert page.inner_text("#page-of") == "page 1 of 400"
    assert page.evaluate("document.getElementsByTagName('*').length") < 8_000
    page.focus("#f-q")
    page.keyboard.type("orinoco")
    page.wait_for_function("() => document.getElementById('count').textContent.includes(' of ')")
    shown, total = reader.count().removesuffix(" cards").split(" of ")
    assert total == "10,000"
    assert 0 < int(shown.replace(",", "")) < 10_000
    page.select_option("#f-system", "system-0")
    page.select_option("#f-outcome", "wrong")
    page.select_option("#f-size", "250")
    assert reader.rows() == 250
    assert set(page.locator("#card-rows td[data-head='system-0']").all_text_contents()) <= {
        "✗ YES, wrong",
        "✗ NO, wrong",
    }
    page.locator("#card-head [data-sort=s4]").click()
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("system-")
    assert reader.problems == []
