"""Tests of the graph page in real Chromium: its content, its controls and its safety."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_contrast import CONTRAST_SCRIPT
from page_structure import COUNT_UNNAMED_FIELDS, LIST_DUPLICATE_IDS
from plot_inputs import (
    HOSTILE_TEXTS,
    build_hostile_run,
    build_library_run,
    find_card_with_label,
    make_mayor_cards,
    write_hostile_cards,
)
from stage_calls import run_epoche

from cards.card import read_cards
from kg.text.run.folder import open_run

pytestmark = pytest.mark.browser

LIST_HIGHLIGHTED_NODES = (
    "() => Array.from(document.querySelectorAll('.n.lit'), (n) => n.getAttribute('aria-label'))"
)
COUNT_DRAWN_LINKS = """() => Array.from(document.querySelectorAll('.l'))
    .filter((line) => getComputedStyle(line).display !== 'none').length"""
FIND_NODE = "name => Array.from(document.querySelectorAll('.n')).findIndex((n) => n.ariaLabel.startsWith(name + ':'))"  # noqa: E501


def plot_page(*flags: object) -> Path:
    result = run_epoche("kg", "plot", *flags)
    assert result.code == 0, result.err
    return Path(str(flags[-1]))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library_run(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def graph_page(run: Path) -> Path:
    question = "Does a volunteer set the due date of a loan?"
    return plot_page("--run", run, "--query", question, "--hops", 2, "--out", run / "graph.html")


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_mayor_cards(tmp_path_factory.mktemp("claimed"))


@pytest.fixture(scope="module")
def claim_page(cards: Path) -> Path:
    card = find_card_with_label(cards, "C").id
    return plot_page("--cards", cards, "--card", card, "--out", cards.parent / "card.html")


def find_node(page, name: str):
    number = page.evaluate(FIND_NODE, name)
    assert number >= 0
    return page.locator(".n").nth(number)


def test_page_opens_without_errors_or_requests(open_report, graph_page, claim_page):
    for path in (graph_page, claim_page):
        reader = open_report(path)
        reader.page.wait_for_function("() => !document.querySelector('.no-js')")
        assert reader.problems == []
        assert reader.requests == [reader.url]
        csp = reader.page.locator("meta[http-equiv=Content-Security-Policy]")
        assert csp.get_attribute("content").startswith("default-src 'none'")
        assert "script-src 'sha256-" in csp.get_attribute("content")


def test_every_concept_and_link_is_in_picture_and_table(open_report, graph_page, run):
    page = open_report(graph_page).page
    concepts = open_run(run).concepts
    labels = {concepts.get_label(node) for node in concepts.nodes}
    listed_names = page.locator("#nodes tbody th > bdi").all_text_contents()
    assert set(listed_names) <= labels
    drawn_names = page.locator(".n .name").all_text_contents()
    assert len(drawn_names) == len(listed_names) == page.locator(".n").count()
    assert page.locator("#links tbody tr").count() == page.locator(".l:not(.extra)").count()


def test_search_highlights_and_opens_a_node(open_report, graph_page):
    page = open_report(graph_page).page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "f-find"
    page.keyboard.type("OVERDUE")
    highlighted = page.evaluate(LIST_HIGHLIGHTED_NODES)
    assert highlighted
    assert all("overdue" in name for name in highlighted)
    assert page.locator("#found button").count() == len(highlighted)
    page.keyboard.press("Enter")
    assert page.inner_text("#details h3").casefold().startswith("overdue")
    assert page.input_value("#f-find") == ""
    page.fill("#f-find", "zebra")
    assert "No such concept" in page.inner_text("#found")
    page.keyboard.press("Escape")
    assert page.inner_text("#found") == ""


def test_click_opens_a_concept_with_its_neighbours(open_report, graph_page, run):
    page = open_report(graph_page).page
    find_node(page, "fee").click()
    concepts = open_run(run).concepts
    assert page.inner_text("#details h3") == "fee"
    count = concepts.graph.nodes["fee"]["count"]
    assert f"{count} chunks" in page.inner_text("#details")
    marked_words = page.locator("#details mark").all_text_contents()
    assert {mark.casefold() for mark in marked_words} >= {"fee"}
    texts = {chunk.text for chunk in open_run(run).chunks}
    assert set(page.locator("#details details p").all_text_contents()) <= texts
    rows = page.locator("#details .near button")
    page.mouse.move(2, 2)  # away from all nodes
    assert len(page.evaluate(LIST_HIGHLIGHTED_NODES)) == rows.count() + 1
    for row in rows.all()[:5]:
        name, edge_text = row.locator("bdi").inner_text(), row.locator("span").inner_text()
        neighbour = next(node for node in concepts.graph["fee"] if concepts.get_label(node) == name)
        edge = concepts.graph.edges["fee", neighbour]
        assert edge_text == f"{edge['weight']} · {edge['npmi']:.2f}"
    first_name = rows.first.locator("bdi").inner_text()
    rows.first.click()
    assert page.inner_text("#details h3") == first_name
    assert re.search(r"#row-\d+$", page.url)
    page.reload()
    assert page.inner_text("#details h3") == first_name
    page.locator("#details .close").click()
    assert page.locator("#details").is_hidden()


def test_keyboard_moves_between_nodes_and_opens_them(open_report, graph_page):
    reader = open_report(graph_page)
    page = reader.page
    assert page.locator(".n[tabindex='0']").count() == 1
    page.locator(".n[tabindex='0']").focus()
    focused_name = "document.activeElement.getAttribute('aria-label')"
    visited_names = [page.evaluate(focused_name)]
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        visited_names.append(page.evaluate(focused_name))
    assert len(set(visited_names)) > 1
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Home")
    assert page.evaluate(focused_name) == page.locator(".n").first.get_attribute("aria-label")
    initial_view = page.locator("#world").get_attribute("transform")
    page.keyboard.press("+")
    assert page.locator("#world").get_attribute("transform") != initial_view
    page.keyboard.press("0")
    assert page.locator("#world").get_attribute("transform") == initial_view
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "close"
    opened_concept = page.inner_text("#details h3")
    page.keyboard.press("Escape")
    assert page.locator("#details").is_hidden()
    assert page.evaluate(focused_name).startswith(f"{opened_concept}:")
    assert page.locator(".n[tabindex='0']").count() == 1
    assert reader.problems == []


def test_zoom_pan_drag_and_reset_work(open_report, graph_page):
    page = open_report(graph_page).page
    drawing = page.locator("#world")
    initial_view = drawing.get_attribute("transform")
    page.click("#zoom-in")
    assert "scale(1.5" in drawing.get_attribute("transform")
    page.click("#zoom-reset")
    assert drawing.get_attribute("transform") == initial_view
    box = page.locator("#graph").bounding_box()
    corner = (box["x"] + 6, box["y"] + 6)
    page.mouse.move(*corner)
    page.mouse.wheel(0, -200)
    # Without Ctrl, the wheel scrolls the page and does not zoom.
    assert drawing.get_attribute("transform") == initial_view
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(
        "start => document.getElementById('world').getAttribute('transform') !== start",
        arg=initial_view,
    )
    page.click("#zoom-reset")
    page.mouse.move(*corner)
    page.mouse.down()
    page.mouse.move(corner[0] + 60, corner[1] + 40, steps=3)
    page.mouse.up()
    assert drawing.get_attribute("transform").startswith("translate(60.0 40.0)")
    page.click("#zoom-reset")
    node = find_node(page, "fee")
    node.scroll_into_view_if_needed()
    node_position = node.get_attribute("transform")
    node_box = node.locator("path").bounding_box()
    page.mouse.move(node_box["x"] + node_box["width"] / 2, node_box["y"] + node_box["height"] / 2)
    page.mouse.down()
    page.mouse.move(node_box["x"] + 70, node_box["y"] + 50, steps=4)
    page.mouse.up()
    assert node.get_attribute("transform") != node_position
    assert page.locator("#details").is_hidden()  # Dragging does not count as a click.
    page.click("#zoom-reset")
    assert node.get_attribute("transform") == node_position


def test_links_are_filtered_by_weight(open_report, graph_page):
    page = open_report(graph_page).page
    n_links = page.locator(".l").count()
    n_drawn_links = page.evaluate(COUNT_DRAWN_LINKS)
    assert n_drawn_links == page.locator(".l:not(.extra)").count() < n_links
    page.check("#f-all")
    assert page.evaluate(COUNT_DRAWN_LINKS) == n_links
    page.locator("#f-weight").focus()
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#weight-out") == "2"
    assert 0 < page.evaluate(COUNT_DRAWN_LINKS) < n_links


def test_hover_highlights_neighbours_only(open_report, graph_page):
    page = open_report(graph_page).page
    find_node(page, "fee").hover()
    highlighted = page.evaluate(LIST_HIGHLIGHTED_NODES)
    assert any(name.startswith("fee:") for name in highlighted)
    assert 1 < len(highlighted) < page.locator(".n").count()
    assert "fee" in page.inner_text("#tip")
    page.mouse.move(2, 2)  # away from all nodes
    assert page.evaluate(LIST_HIGHLIGHTED_NODES) == []


def test_legend_highlights_a_chapter(open_report, graph_page):
    page = open_report(graph_page).page
    entry = page.locator("#legend button").first
    entry.click()
    assert entry.get_attribute("aria-pressed") == "true"
    assert len(page.evaluate(LIST_HIGHLIGHTED_NODES)) == int(entry.locator(".muted").inner_text())
    entry.click()
    assert page.evaluate(LIST_HIGHLIGHTED_NODES) == []


def test_colour_is_never_the_only_cue(open_report, graph_page):
    page = open_report(graph_page).page
    codes = page.locator("#legend .swatch text").all_text_contents()
    legend_codes = [code for code in codes if code]
    assert len(set(legend_codes)) == len(legend_codes) >= 2
    assert set(page.locator(".n .code").all_text_contents()) <= set(legend_codes)


def test_a_card_shows_its_claim_dashed_and_its_facts_in_words(open_report, claim_page, cards):
    card = find_card_with_label(cards, "C")
    reader = open_report(claim_page)
    page = reader.page
    assert page.inner_text("h1") == card.question
    assert page.locator(".l.claim").count() == 1
    dashes = "getComputedStyle(document.querySelector('.l.claim')).strokeDasharray"
    assert page.evaluate(dashes) != "none"
    assert page.locator(".say-claim").text_content() == "✗ contradictory"
    assert page.locator(".n.asked").count() == 2
    assert set(card.facts) <= set(page.locator("#links tbody td bdi").all_text_contents())
    assert page.locator("#card li").all_text_contents() == [*card.facts, *card.rules]
    page.locator(".n.asked").first.click()
    assert page.locator("#details .near button").count() >= 1
    assert reader.problems == []


def test_picture_legend_and_tables_need_no_script(open_report, graph_page, claim_page):
    for path in (graph_page, claim_page):
        page = open_report(path, java_script_enabled=False).page
        assert page.locator(".n:visible").count() == page.locator("#nodes tbody tr").count()
        assert page.locator("#legend li:visible").count() >= 1
        assert not page.locator(".tools").is_visible()
        label = page.locator(".n .name:visible").first
        assert label.bounding_box()["width"] > 5
        page.locator(".n").first.click()
        assert page.url.endswith("#row-0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(open_report, graph_page, claim_page, scheme):
    for path in (graph_page, claim_page):
        reader = open_report(path, color_scheme=scheme)
        reader.page.locator(".n").first.focus()
        reader.page.keyboard.press("Enter")
        # The letters inside nodes are not on the page background; see the contrast test below.
        reader.page.evaluate(
            "document.querySelectorAll('.code, .swatch text').forEach((n) => n.remove())"
        )
        assert reader.page.evaluate(CONTRAST_SCRIPT) == []


# Lists the contrast between the page and a node of each of the eight groups, then of no group.
# Colours are painted on a canvas and read back; the formulas are those of WCAG 2.2.
LIST_NODE_CONTRASTS = """() => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const computeLuminance = (colour) => {
    context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    return Array.from(context.getImageData(0, 0, 1, 1).data).slice(0, 3).map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  };
  const page = document.getElementById('canvas');
  const pageLuminance = computeLuminance(getComputedStyle(page).backgroundColor);
  const svg = document.getElementById('graph');
  return Array.from({ length: 9 }, (_, i) => i < 8 ? `g${i}` : 'g-none').map((name) => {
    const node = svg.querySelector('.n').cloneNode(true);
    node.setAttribute('class', `n ${name}`);
    svg.append(node);
    const nodeLuminance = computeLuminance(getComputedStyle(node.querySelector('path')).fill);
    node.remove();
    const [lighter, darker] = [pageLuminance, nodeLuminance].sort((a, b) => b - a);
    return (lighter + 0.05) / (darker + 0.05);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nodes_and_the_codes_in_them_have_enough_contrast(open_report, graph_page, scheme):
    *group_contrasts, ungrouped_contrast = open_report(
        graph_page, color_scheme=scheme
    ).page.evaluate(LIST_NODE_CONTRASTS)
    assert min(group_contrasts) >= 4.5
    assert ungrouped_contrast >= 3  # These nodes contain no text, so the limit for shapes applies.


def test_page_has_landmarks_names_and_captions(open_report, graph_page, claim_page):
    for path in (graph_page, claim_page):
        page = open_report(path).page
        for landmark in ("header", "nav[aria-label]", "main", "footer"):
            assert page.locator(landmark).count() == 1
        assert page.locator("h1").count() == 1
        assert page.locator("table").count() == page.locator("table > caption").count()
        assert page.locator("section:not([aria-labelledby])").count() == 0
        assert page.evaluate(COUNT_UNNAMED_FIELDS) == 0
        assert page.evaluate(LIST_DUPLICATE_IDS) == []


@pytest.mark.parametrize("width", [320, 400, 1280, 2200])
def test_the_page_itself_never_scrolls_sideways(open_report, graph_page, claim_page, width):
    for path in (graph_page, claim_page):
        for scripts in (True, False):
            page = open_report(
                path, viewport={"width": width, "height": 800}, java_script_enabled=scripts
            ).page
            assert page.locator("html").evaluate("node => node.scrollWidth") <= width


def test_the_picture_fills_narrow_screens(open_report, graph_page):
    page = open_report(graph_page, viewport={"width": 380, "height": 800}).page
    picture = page.locator("#graph").bounding_box()
    assert picture["height"] > picture["width"]
    boxes = [node.bounding_box() for node in page.locator(".n > .f > path").all()]
    assert max(box["x"] + box["width"] for box in boxes) <= picture["x"] + picture["width"]
    tops = [box["y"] for box in boxes]
    assert max(tops) - min(tops) > picture["height"] / 2


def test_hostile_text_is_shown_as_text_and_never_runs(open_report, cards, tmp_path):
    run = build_hostile_run(tmp_path)
    pages = [plot_page("--run", run, "--out", tmp_path / "run.html")]
    hostile_cards = write_hostile_cards(tmp_path, cards)
    for number, card in enumerate(read_cards(hostile_cards)):
        out = tmp_path / f"{number}.html"
        pages.append(plot_page("--cards", hostile_cards, "--card", card.id, "--out", out))
    for path in pages:
        source = path.read_text(encoding="utf-8")
        assert source.count("<script") == source.count("</script>") == 2
        assert "\x00" not in source
        assert "\u202e" not in source
        assert max(map(len, re.findall(r'aria-label="([^"]*)"', source))) < 300
        reader = open_report(path)
        page = reader.page
        for number in range(min(page.locator(".n").count(), 4)):  # a few nodes are enough
            page.locator(".n").nth(number).focus()
            page.keyboard.press("Enter")
            for details in page.locator("#details summary").all()[:2]:
                details.click()
        page.fill("#f-find", "script")
        assert reader.problems == []
        assert reader.requests == [reader.url]
        assert page.locator("main img, main iframe, main b > script, td script").count() == 0
        assert page.title() != "owned"
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert len(pages) == len(HOSTILE_TEXTS) + 1


def test_names_are_bidi_isolated(open_report, tmp_path):
    path = plot_page("--run", build_hostile_run(tmp_path), "--out", tmp_path / "run.html")
    page = open_report(path).page
    get_bidi = "node => getComputedStyle(node).unicodeBidi"
    assert page.locator(".n .name").first.evaluate(get_bidi) == "isolate"
    assert page.locator("#nodes tbody bdi").first.evaluate(get_bidi) == "isolate"


def test_page_can_be_printed(open_report, graph_page, tmp_path):
    page = open_report(graph_page, color_scheme="dark").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".tools").is_visible()
    assert page.pdf(path=tmp_path / "graph.pdf", format="A4").startswith(b"%PDF")


def test_pages_are_measured_with_the_pinned_fonts_only(open_report, graph_page):
    page = open_report(graph_page).page
    measure_width = """font => { const canvas = document.createElement('canvas').getContext('2d');
        canvas.font = '100px ' + font; return canvas.measureText('mmm→').width; }"""
    families = ("DejaVu Sans", "sans-serif", "serif", "Inter, Arial", "Liberation Sans")
    widths = {family: page.evaluate(measure_width, family) for family in families}
    # Advances of m and → in DejaVu Sans, in units of 1/2048 em; a canvas rounds to whole pixels.
    expected = pytest.approx((3 * 1995 + 1716) / 20.48, abs=2)
    assert widths == dict.fromkeys(families, expected)
    assert page.evaluate(measure_width, "monospace") == pytest.approx(4 * 1233 / 20.48, abs=2)
