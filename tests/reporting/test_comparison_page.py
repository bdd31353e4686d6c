"""Tests of the comparison page: geometry of its charts, its text, and its look in a browser."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from eval.abstention.comparison.report import ComparisonReport, SharedCards
from eval.abstention.metrics.record import CardComparison
from eval.blocks.text_format import format_signed, shorten_names
from eval.stats.paired_tests import Discordant
from reporting.commands.compare_runs import main
from reporting.comparison_page import render_comparison
from reporting.comparison_view import ComparisonView, swap_pair

GOLD_ANSWERS = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
HOSTILE_NAMES = (
    "raw:<script>document.title='owned'</script>",
    "rag:</title></table><img src=x onerror=alert(1)>",
    "graph:{{7*7}}\u202egnorw\u202c \x00\x1b[31m",
    "nli:" + "x" * 500,
)


def write_runs(path: Path, systems: dict[str, float], count: int = 120) -> Path:
    """Writes ``count`` results of each system, which answers right with the given probability."""
    with path.open("w", encoding="utf-8") as file:
        for system, accuracy in systems.items():
            rng = random.Random(system)
            for n in range(count):
                label = "ECU"[n % 3]
                wrong_answers = [
                    pred for pred in GOLD_ANSWERS.values() if pred != GOLD_ANSWERS[label]
                ]
                pred = GOLD_ANSWERS[label] if rng.random() < accuracy else rng.choice(wrong_answers)
                row = {
                    "id": f"{n:04}",
                    "system": system,
                    "gold": GOLD_ANSWERS[label],
                    "label": label,
                }
                row |= {"pred": pred, "cluster": f"c{n // 2}", "cards": "0123456789ab"}
                file.write(json.dumps(row) + "\n")
    return path


def write_comparison(folder: Path, systems: dict[str, float], **flags: Any) -> Path:
    runs = write_runs(folder / "r.jsonl", systems)
    main(runs=[runs], out=folder / "comparison.json", resamples=200, **flags)
    return folder / "comparison.html"


def test_differences_have_a_sign() -> None:
    texts = [format_signed(value) for value in (0.5, -0.5, 0.0, 0.0001, None)]
    assert texts == ["+0.500", "−0.500", "0.000", "0.000", "–"]


def test_cut_names_stay_distinct() -> None:
    names = [f"raw:openrouter/lab/model-{n}-instruct-2026" for n in range(30)]
    for width in (17, 20, 24):
        short_names = shorten_names([*names, "rag"], width)
        assert len(set(short_names.values())) == 31
        assert all(len(short_name) <= width for short_name in short_names.values())
    assert shorten_names(["rag", "kg"], 17) == {"rag": "rag", "kg": "kg"}


# -- the view -----------------------------------------------------------------------------------


def make_pair(
    a: str, b: str, difference: float, better: str | None, **changes: Any
) -> CardComparison:
    fields: dict[str, Any] = {
        "candidate": a,
        "baseline": b,
        "policy": "licensed",
        "metric": "accuracy",
        "value_candidate": 0.5 + difference,
        "value_baseline": 0.5,
        "difference": difference,
        "low": difference - 0.1,
        "high": difference + 0.1,
        "p": 0.01,
        "p_holm": 0.02,
        "better": better,
        "discordant": Discordant(1, 2, 3, 4),
        "test": "mcnemar-exact",
        "cohens_d": 0.3,
    }
    return CardComparison(**(fields | changes))


def make_report(*pairs: CardComparison, **changes: Any) -> ComparisonReport:
    system_names = tuple(
        dict.fromkeys(name for pair in pairs for name in (pair.candidate, pair.baseline))
    )
    fields: dict[str, Any] = {
        "version": "0",
        "cards": "c",
        "shared": SharedCards(n=10),
        "n_cards": 10,
        "n_clusters": 5,
        "systems": system_names,
        "confidence": 0.95,
        "resamples": 100,
        "seed": 1,
    }
    return ComparisonReport(**(fields | changes), comparisons=pairs)


def test_swapping_a_pair_mirrors_its_values_and_undoes_itself() -> None:
    pair = make_pair("a", "b", 0.2, "a")
    swapped_pair = swap_pair(pair)
    assert (swapped_pair.candidate, swapped_pair.baseline, swapped_pair.better) == ("b", "a", "a")
    # −(0.2 + 0.1) in floating point is −0.30000000000000004.
    assert (swapped_pair.difference, swapped_pair.low, swapped_pair.high) == (
        -0.2,
        -0.30000000000000004,
        -0.1,
    )
    assert swapped_pair.discordant == Discordant(1, 3, 2, 4)
    assert swapped_pair.cohens_d == -0.3
    assert swap_pair(swapped_pair) == pair


def test_standings_count_significant_differences() -> None:
    view = ComparisonView(
        make_report(
            make_pair("a", "b", -0.3, "b", value_candidate=0.5, value_baseline=0.8),
            make_pair("a", "c", -0.4, "c", value_candidate=0.5, value_baseline=0.9),
            make_pair(
                "b", "c", -0.1, None, value_candidate=0.8, value_baseline=0.9, low=-0.2, high=0.01
            ),
        )
    )
    assert view.systems == ["c", "b", "a"]
    standings = {name: cells[0] for name, cells in view.build_standings("licensed")}
    counts = [(s.better, s.worse, s.undecided, s.is_best) for s in standings.values()]
    assert counts == [(1, 0, 1, True), (1, 0, 1, True), (0, 2, 0, False)]
    # The higher-ranked system comes first in each pair, for any order of the files.
    pairs = [(pair.candidate, pair.baseline) for pair in view.list_pairs("licensed", "accuracy")]
    assert pairs == [("c", "b"), ("c", "a"), ("b", "a")]


def test_descriptive_metrics_are_never_called_better() -> None:
    pair = make_pair("a", "b", 0.3, None, metric="coverage", low=0.1, high=0.5)
    view = ComparisonView(make_report(pair))
    (_, (standing,)), _ = view.build_standings("licensed")
    assert (standing.better, standing.differs, standing.undecided, standing.is_best) == (
        0,
        1,
        0,
        False,
    )
    assert view.build_parts("coverage")[0].rows[0].finding == "they differ"


def test_empty_comparison_has_a_page() -> None:
    page = render_comparison(make_report(), output_names=[])
    assert "<h1>Which system is better, and is the difference significant?</h1>" in page


# -- the page -----------------------------------------------------------------------------------


class HtmlOutline(HTMLParser):
    """The tags, ids and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value for key, value in attrs if key == "id" and value]
        self.links += [value for key, value in attrs if key in ("href", "src") and value]


def test_page_contains_the_comparison(tmp_path: Path) -> None:
    page = write_comparison(tmp_path, {"good": 0.95, "fair": 0.9, "poor": 0.4}).read_text("utf-8")
    report = json.loads((tmp_path / "comparison.json").read_text("utf-8"))
    outline = HtmlOutline(page)
    assert outline.tags.count("svg") == len({c["metric"] for c in report["comparisons"]}) == 10
    assert len(outline.ids) == len(set(outline.ids))
    assert all(link.startswith("#") and link[1:] in outline.ids for link in outline.links)
    assert "script" not in outline.tags
    assert "script-src 'none'" in page
    assert "more skill in fair than in poor (by" in page
    for comparison in report["comparisons"]:
        # The tooltip of each mark states the difference as the console does.
        assert f"{abs(comparison['difference']):.3f}" in page
    assert "good is better" in page
    assert not re.search(r"https?://", page)


def test_page_is_optional(tmp_path: Path) -> None:
    page = write_comparison(tmp_path, {"a": 0.9, "b": 0.5}, html=False)
    assert not page.exists()
    assert page.with_suffix(".md").is_file()


def test_baseline_is_named_and_used_in_the_chart(tmp_path: Path) -> None:
    page = write_comparison(tmp_path, {"a": 0.95, "b": 0.5, "c": 0.5}, baseline="c").read_text(
        "utf-8"
    )
    assert "more skill in a than in c (by" in page
    assert "They find no difference in skill between c and b." in page
    assert "← c is better" in page


def test_many_systems_are_charted_against_the_first(
    tmp_path: Path,
) -> None:
    systems = {f"raw:openrouter/lab/model-{n}": 0.5 + n / 50 for n in range(20)}
    path = write_comparison(tmp_path, systems)
    page = path.read_text("utf-8")
    assert page.count("All 190 pairs as a table") == 10
    assert "has the highest skill: paired tests show it to be better than" in page
    assert page.count('<g class="row') == 10 * 19  # 10 metrics; the first system against 19 others
    assert "No bootstrap test of 190 by 200 resamples can have a p below 1 after Holm" in page
    assert path.stat().st_size < 1_500_000


def test_hash_seed_does_not_change_the_bytes(tmp_path: Path) -> None:
    runs = write_runs(tmp_path / "r.jsonl", dict.fromkeys(HOSTILE_NAMES, 0.7))
    program = "from epoche.cli import main; main()"
    outputs = []
    for seed in ("0", "77"):
        out = tmp_path / seed / "comparison.json"
        subprocess.run(
            [sys.executable, "-c", program, "compare", str(runs), "--out", str(out)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        outputs.append([out.with_suffix(s).read_bytes() for s in (".json", ".md", ".html")])
    assert outputs[0] == outputs[1]


@pytest.mark.browser
def test_hostile_names_are_text_and_no_request_is_sent(open_report: Any, tmp_path: Path) -> None:
    page = write_comparison(tmp_path, dict(zip(HOSTILE_NAMES, (0.9, 0.7, 0.5, 0.4), strict=True)))
    reader = open_report(page)
    assert reader.problems == []
    assert reader.requests == [reader.url]
    assert reader.page.title() == "Which system is better, and is the difference significant?"
    assert reader.page.locator("img, script").count() == 0
    text = reader.page.inner_text("#standings")
    assert "raw:<script>document.title='owned'</script>" in text
    assert "{{7*7}}⟨U+202E⟩gnorw" in text
    assert "\u202e" not in reader.page.content()


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 400, 1280])
def test_page_fits_every_screen_in_light_and_dark(
    open_report: Any, tmp_path: Path, width: int
) -> None:
    page = write_comparison(
        tmp_path, {"raw:openrouter/lab/a-model-of-long-name": 0.9, "kg": 1.0, "rag": 0.5}
    )
    colours = []
    for scheme in ("light", "dark"):
        reader = open_report(page, viewport={"width": width, "height": 800}, color_scheme=scheme)
        reader.page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
        colours.append(reader.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        # Names in plots stay more than 9 pixels high: plots scroll instead of shrinking.
        height = "document.querySelector('.forest .name').getBoundingClientRect().height"
        assert reader.page.evaluate(height) > 9
    assert colours[0] != colours[1]


@pytest.mark.browser
def test_page_can_be_printed(open_report: Any, tmp_path: Path) -> None:
    page = open_report(write_comparison(tmp_path, {"a": 0.9, "b": 0.5}), color_scheme="dark").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav.toc").is_visible()
    # Folds cannot be opened on paper, so they are printed open.
    assert page.locator("details:not([open]) .pairs").last.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
