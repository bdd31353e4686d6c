"""The page of a comparison: its charts as geometry, its words, and what a browser makes of it."""

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

from eval.comparing.comparison import ComparisonReport, SharedCards
from eval.metrics.record import PairedComparison
from eval.stats.paired import Discordant
from reporting.compare_runs import main
from reporting.comparison_page import render_comparison
from reporting.comparison_view import ComparisonView, turned
from reporting.forest import Difference, forest, signed
from reporting.visible import short_names

GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
HOSTILE = (
    "raw:<script>document.title='owned'</script>",
    "rag:</title></table><img src=x onerror=alert(1)>",
    "graph:{{7*7}}\u202egnorw\u202c \x00\x1b[31m",
    "nli:" + "x" * 500,
)


def write_runs(path: Path, systems: dict[str, float], count: int = 120) -> Path:
    with path.open("w", encoding="utf-8") as out:
        for system, right in systems.items():
            rng = random.Random(system)
            for n in range(count):
                label = "ECU"[n % 3]
                wrong = [pred for pred in GOLD.values() if pred != GOLD[label]]
                pred = GOLD[label] if rng.random() < right else rng.choice(wrong)
                row = {"id": f"{n:04}", "system": system, "gold": GOLD[label], "label": label}
                row |= {"pred": pred, "cluster": f"c{n // 2}", "cards": "0123456789ab"}
                out.write(json.dumps(row) + "\n")
    return path


def made(folder: Path, systems: dict[str, float], **flags: Any) -> Path:
    runs = write_runs(folder / "r.jsonl", systems)
    main(runs=[runs], out=folder / "comparison.json", resamples=200, **flags)
    return folder / "comparison.html"


def difference(value: float | None, low: float = 0, high: float = 0, **more: Any) -> Difference:
    fields = {"first": "a", "second": "b", "smallest": 0.05, "tells": True, "text": ""} | more
    return Difference(value=value, low=low, high=high, **fields)


# -- the forest plot ----------------------------------------------------------------------------


def test_marks_stand_where_their_numbers_say() -> None:
    plot = forest([difference(0.1, 0.05, 0.2), difference(-0.2, -0.3, 0.0)], higher_is_better=True)
    up, down = plot.rows
    assert plot.zero == (plot.left + plot.right) / 2
    assert up.low is not None
    assert up.x is not None
    assert up.high is not None
    assert plot.zero < up.low < up.x < up.high <= plot.right
    # Equal lengths on the scale are equal lengths on the page, on both sides of zero.
    assert up.x - plot.zero == pytest.approx((up.high - plot.zero) / 2, abs=0.1)
    assert down.x is not None
    assert plot.zero - down.x == pytest.approx(up.high - plot.zero, abs=0.1)
    assert down.high == plot.zero
    assert [label for _, label in plot.ticks] == [
        *("−0.3", "−0.2", "−0.1", "0", "+0.1", "+0.2", "+0.3"),
    ]
    assert (plot.negative, plot.positive) == ("← second is better", "first is better →")


def test_the_sides_say_who_is_better() -> None:
    lower = forest([difference(0.1)], higher_is_better=False)
    assert (lower.negative, lower.positive) == ("← first is better", "second is better →")
    against = forest([difference(0.1)], against="base", higher_is_better=False)
    assert (against.negative, against.positive) == ("← row is better", "base is better →")
    assert not against.rows[0].second
    neither = forest([difference(0.1)], higher_is_better=None)
    assert (neither.negative, neither.positive) == ("← second is higher", "first is higher →")


def test_a_pair_without_a_value_has_a_row_and_no_mark() -> None:
    none = Difference("a", "b", None, None, None, None, False, "AP: no value for a")
    plot = forest([none], higher_is_better=True)
    row = plot.rows[0]
    assert (row.x, row.low, row.band_left, row.interval) == (None, None, None, "")
    assert row.value == "–"
    assert forest([], higher_is_better=True).rows == ()


@pytest.mark.parametrize("furthest", [0.0, 1e-9, 0.003, 0.02, 0.07, 0.3, 0.77, 1.0])
def test_every_difference_fits_its_axis(furthest: float) -> None:
    plot = forest([difference(furthest, 0.0, furthest)], higher_is_better=True)
    assert 5 <= len(plot.ticks) <= 9
    assert len({label for _, label in plot.ticks}) == len(plot.ticks)
    row = plot.rows[0]
    assert row.high is not None
    assert row.high <= plot.right


def test_signs() -> None:
    assert [signed(v) for v in (0.5, -0.5, 0.0, 0.0001, None)] == [
        *("+0.500", "−0.500", "0.000", "0.000", "–"),
    ]


def test_names_that_are_cut_stay_apart() -> None:
    names = [f"raw:openrouter/lab/model-{n}-instruct-2026" for n in range(30)]
    for width in (17, 20, 24):
        short = short_names([*names, "rag"], width)
        assert len(set(short.values())) == 31
        assert all(len(cut) <= width for cut in short.values())
    assert short_names(["rag", "kg"], 17) == {"rag": "rag", "kg": "kg"}


# -- the view -----------------------------------------------------------------------------------


def pair(a: str, b: str, gap: float, better: str | None, **more: Any) -> PairedComparison:
    fields: dict[str, Any] = {
        **{"a": a, "b": b, "policy": "licensed", "metric": "accuracy"},
        **{"value_a": 0.5 + gap, "value_b": 0.5, "difference": gap},
        **{"low": gap - 0.1, "high": gap + 0.1, "p": 0.01, "p_holm": 0.02, "better": better},
        **{"discordant": Discordant(1, 2, 3, 4), "test": "mcnemar-exact", "cohens_d": 0.3},
    }
    return PairedComparison(**(fields | more))


def report_of(*pairs: PairedComparison, **more: Any) -> ComparisonReport:
    systems = tuple(dict.fromkeys(name for one in pairs for name in (one.a, one.b)))
    fields: dict[str, Any] = {
        **{"version": "0", "cards": "c", "shared": SharedCards(n=10), "n_cards": 10},
        **{"n_clusters": 5, "systems": systems, "confidence": 0.95, "resamples": 100, "seed": 1},
    }
    return ComparisonReport(**(fields | more), comparisons=pairs)


def test_a_turned_pair_tells_the_same() -> None:
    one = pair("a", "b", 0.2, "a")
    other = turned(one)
    assert (other.a, other.b, other.better) == ("b", "a", "a")
    assert (other.difference, other.low, other.high) == (-0.2, -0.30000000000000004, -0.1)
    assert other.discordant == Discordant(1, 3, 2, 4)
    assert other.cohens_d == -0.3
    assert turned(other) == one


def test_standings_count_what_the_tests_found() -> None:
    view = ComparisonView(
        report_of(
            pair("a", "b", -0.3, "b", value_a=0.5, value_b=0.8),
            pair("a", "c", -0.4, "c", value_a=0.5, value_b=0.9),
            pair("b", "c", -0.1, None, value_a=0.8, value_b=0.9, low=-0.2, high=0.01),
        )
    )
    assert view.systems == ["c", "b", "a"]
    found = {name: cells[0] for name, cells in view.standings("licensed")}
    assert [(s.better, s.worse, s.open, s.first) for s in found.values()] == [
        *((1, 0, 1, True), (1, 0, 1, True), (0, 2, 0, False)),
    ]
    # Pairs run downhill, whatever the order of the files.
    assert [(one.a, one.b) for one in view.pairs("licensed", "accuracy")] == [
        *(("c", "b"), ("c", "a"), ("b", "a")),
    ]


def test_what_only_describes_differs_and_is_never_better() -> None:
    one = pair("a", "b", 0.3, None, metric="coverage", low=0.1, high=0.5)
    view = ComparisonView(report_of(one))
    (_, (standing,)), _ = view.standings("licensed")
    assert (standing.better, standing.differs, standing.open, standing.first) == (0, 1, 0, False)
    assert view.parts("coverage")[0].rows[0].finding == "they differ"


def test_an_empty_comparison_is_a_page() -> None:
    page = render_comparison(report_of(), beside=[])
    assert "<h1>Who is better, and can the data tell?</h1>" in page


# -- the page -----------------------------------------------------------------------------------


class Outline(HTMLParser):
    """The elements of a page, and its ids."""

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


def test_the_page_is_the_comparison(tmp_path: Path) -> None:
    page = made(tmp_path, {"good": 0.95, "fair": 0.9, "poor": 0.4}).read_text("utf-8")
    report = json.loads((tmp_path / "comparison.json").read_text("utf-8"))
    outline = Outline(page)
    assert outline.tags.count("svg") == len({c["metric"] for c in report["comparisons"]}) == 8
    assert len(outline.ids) == len(set(outline.ids))
    assert all(link.startswith("#") and link[1:] in outline.ids for link in outline.links)
    assert "script" not in outline.tags
    assert "script-src 'none'" in page
    assert "more accurate than poor by" in page
    for one in report["comparisons"]:
        # Each finding stands in the tooltip of its mark as the console prints it.
        assert f"{abs(one['difference']):.3f}" in page
    assert "good is better" in page
    assert not re.search(r"https?://", page)


def test_a_page_can_be_left_out(tmp_path: Path) -> None:
    page = made(tmp_path, {"a": 0.9, "b": 0.5}, html=False)
    assert not page.exists()
    assert page.with_suffix(".md").is_file()


def test_a_baseline_is_named_and_drawn_against(tmp_path: Path) -> None:
    page = made(tmp_path, {"a": 0.95, "b": 0.5, "c": 0.5}, baseline="c").read_text("utf-8")
    assert "a more accurate than c by" in page
    assert "cannot tell b from c" in page
    assert "← c is better" in page


def test_many_systems_are_drawn_against_the_first_and_all_stand_in_the_table(
    tmp_path: Path,
) -> None:
    systems = {f"raw:openrouter/lab/model-{n}": 0.5 + n / 50 for n in range(20)}
    path = made(tmp_path, systems)
    page = path.read_text("utf-8")
    assert page.count("All 190 pairs as a table") == 8
    assert "has the highest accuracy: paired tests show it to be more accurate than" in page
    assert page.count('<g class="row') == 8 * 19
    assert "No bootstrap test of 190 pairs by 200 resamples can reach p &lt; 0.05" in page
    assert path.stat().st_size < 1_500_000


def test_equal_inputs_give_equal_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    runs = write_runs(tmp_path / "r.jsonl", dict.fromkeys(HOSTILE, 0.7))
    start = "from epoche.cli import main; main()"
    seen = []
    for seed in ("0", "77"):
        out = tmp_path / seed / "comparison.json"
        subprocess.run(
            [sys.executable, "-c", start, "compare", str(runs), "--out", str(out)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        seen.append([out.with_suffix(s).read_bytes() for s in (".json", ".md", ".html")])
    assert seen[0] == seen[1]


@pytest.mark.browser
def test_hostile_names_are_text_and_nothing_is_asked_of_the_network(
    open_report: Any, tmp_path: Path
) -> None:
    page = made(tmp_path, dict(zip(HOSTILE, (0.9, 0.7, 0.5, 0.4), strict=True)))
    reader = open_report(page)
    assert reader.problems == []
    assert reader.requests == [reader.url]
    assert reader.page.title() == "Who is better, and can the data tell?"
    assert reader.page.locator("img, script").count() == 0
    text = reader.page.inner_text("#standings")
    assert "raw:<script>document.title='owned'</script>" in text
    assert "{{7*7}}⟨U+202E⟩gnorw" in text
    assert "\u202e" not in reader.page.content()


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 400, 1280])
def test_it_fits_every_screen_in_light_and_dark(
    open_report: Any, tmp_path: Path, width: int
) -> None:
    page = made(tmp_path, {"raw:openrouter/lab/a-model-of-long-name": 0.9, "kg": 1.0, "rag": 0.5})
    colours = []
    for scheme in ("light", "dark"):
        shown = open_report(page, viewport={"width": width, "height": 800}, color_scheme=scheme)
        shown.page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
        colours.append(shown.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        # Words in a plot stay readable: it scrolls rather than shrinks.
        height = "document.querySelector('.forest .name').getBoundingClientRect().height"
        assert shown.page.evaluate(height) > 9
    assert colours[0] != colours[1]


@pytest.mark.browser
def test_it_prints(open_report: Any, tmp_path: Path) -> None:
    page = open_report(made(tmp_path, {"a": 0.9, "b": 0.5}), color_scheme="dark").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav.toc").is_visible()
    # Nothing can be opened on paper, so nothing is folded there.
    assert page.locator("details:not([open]) .pairs").last.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
