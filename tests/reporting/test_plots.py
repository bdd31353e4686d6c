"""Tests of plots: marks stay inside the drawing, sizes are in proportion, words describe them."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reporting.charts import ChartEstimate
from reporting.extraction_section.quality_figures import ZONES
from reporting.plots.axes import Axis, amount_axis, round_step, share_axis
from reporting.plots.bars import BarRow, bar_groups
from reporting.plots.boxes import Spread, boxes
from reporting.plots.clouds import DOTS_AT_MOST, cloud
from reporting.plots.gauge import gauge
from reporting.plots.heat import HeatCell, heat_map
from reporting.plots.histogram import histogram, over_time
from reporting.plots.named_points import NamedPoint, named_points
from reporting.plots.picture import Group, Picture, drawing, fixed
from reporting.plots.radar import radar
from reporting.plots.tree_map import Box, Family, squarified, tree_map

SHARES = st.floats(0, 1)
HOSTILE_TEXT = "<script>alert(1)</script>\x00\u202e]]>&'\""


def list_numbers(picture: Picture, *names: str) -> list[float]:
    """Lists the values of some attributes in all shapes of a picture."""
    return [
        float(value)
        for group in picture.groups
        for shape in group.shapes
        for name, value in shape.attributes
        if name in names
    ]


def find_groups(picture: Picture, start: str) -> list[Group]:
    return [group for group in picture.groups if group.title.startswith(start)]


def list_texts(picture: Picture) -> list[str]:
    return [
        shape.words for group in picture.groups for shape in group.shapes if shape.tag == "text"
    ]


def are_shapes_inside(picture: Picture) -> bool:
    horizontal, vertical = (
        list_numbers(picture, "x", "x1", "x2", "cx"),
        list_numbers(picture, "y", "y1", "y2", "cy"),
    )
    return (
        all(-1 <= x <= picture.width + 1 for x in horizontal)
        and all(-1 <= y <= picture.height + 1 for y in vertical)
        and all(size >= 0 for size in list_numbers(picture, "width", "height", "r"))
    )


@given(SHARES, SHARES, SHARES)
@settings(deadline=None, max_examples=60)
def test_gauge_marks_the_zone_not_only_by_colour(a, b, c):
    low, value, high = sorted((a, b, c))
    picture = gauge(ChartEstimate(value, low, high), ZONES)
    marked_groups = [group for group in picture.groups if "here" in group.look]
    assert len(marked_groups) == 1
    zone = next(zone for zone in ZONES if marked_groups[0].title.startswith(zone.name))
    assert zone.low <= value <= zone.high
    assert zone.name in list_texts(picture)
    assert are_shapes_inside(picture)


def test_a_gauge_without_a_score_marks_nothing():
    picture = gauge(ChartEstimate(None), ZONES)
    assert not [group for group in picture.groups if "here" in group.look]
    assert "–" in list_texts(picture)


@given(st.lists(st.one_of(st.none(), SHARES), min_size=3, max_size=6))
@settings(deadline=None, max_examples=40)
def test_radar_draws_known_values_and_names_missing_ones(shares):
    picture = radar([(f"axis {n}", share) for n, share in enumerate(shares)])
    dots = [group for group in picture.groups if group.title]
    assert len(dots) == sum(share is not None for share in shares)
    assert list_texts(picture).count("–") == sum(share is None for share in shares)
    assert are_shapes_inside(picture)


def test_a_full_share_reaches_the_outer_ring():
    picture = radar([("up", 1.0), ("right", 0.5), ("down", 0.0), ("left", 1.0)])
    positions = {
        group.title.split(":")[0]: tuple(
            float(v) for n, v in group.shapes[0].attributes if n[0] == "c" and n[1] in "xy"
        )
        for group in picture.groups
        if group.title
    }
    (centre_x, top_y), (right_x, centre_y) = positions["up"], positions["right"]
    # The radar is centred at y = 102 and has a radius of 66.
    assert top_y == pytest.approx(102 - 66)
    assert right_x == pytest.approx(centre_x + 33)
    assert positions["down"] == (centre_x, centre_y)


@given(st.floats(1e-9, 1e12), st.booleans())
@settings(deadline=None)
def test_axes_end_at_a_round_number_above_the_maximum(maximum, is_integer):
    axis = amount_axis(maximum, "", whole=is_integer)
    assert axis.high >= maximum * (1 - 1e-9)
    assert axis.high <= maximum * 4 + 4
    assert 2 <= len(axis.ticks) <= 6
    if is_integer:
        assert all(value == int(value) for value, _ in axis.ticks)
    labels = [text for _, text in axis.ticks]
    assert len(set(labels)) == len(labels)


def test_axis_steps_are_round_numbers():
    assert [round_step(x) for x in (0.03, 1, 1.1, 2.2, 3, 7)] == [0.05, 1, 2, 2.5, 5, 10]
    assert amount_axis(0, "").high == 1
    assert amount_axis(float("nan"), "").high == 1


def test_histogram_heights_and_marks_are_proportional():
    picture = histogram(
        [0, 10, 20, 5],
        4.0,
        [("p50", 2.0), ("p95", 3.9), ("p99", None)],
        words="s",
        unit="s",
        noun="calls",
    )
    heights = {
        group.title.split(":")[0]: list_numbers(Picture(1, 1, (group,)), "height")
        for group in picture.groups
        if "calls" in group.title
    }
    height_of_ten, height_of_twenty, _ = (bar_heights[0] for bar_heights in heights.values())
    assert height_of_ten * 2 == pytest.approx(height_of_twenty, abs=0.2)
    assert len(heights) == 3  # an empty bin has no bar
    mark_positions = {
        group.title: list_numbers(Picture(1, 1, (group,)), "x1")[0]
        for group in find_groups(picture, "p")
    }
    assert list(mark_positions) == ["p50 2 s", "p95 3.9 s"]
    assert mark_positions["p50 2 s"] == pytest.approx(
        (40 + 388) / 2
    )  # 40 and 388: ends of the axis
    assert are_shapes_inside(picture)


@given(st.lists(st.floats(0, 50), min_size=1, max_size=6), st.floats(50, 51))
@settings(deadline=None, max_examples=40)
def test_histogram_marks_stay_inside(values, high):
    marks = [(f"p{n}", value) for n, value in enumerate(sorted(values))]
    assert are_shapes_inside(histogram([1, 2, 3], high, marks, words="s", unit="s", noun="calls"))


def test_single_point_is_a_dot_without_a_line():
    picture = over_time([(1.0, 2.0)], x_words="s", y_words="rps")
    assert not [
        group for group in picture.groups if group.shapes[0].attributes[0] == ("class", "curve")
    ]
    assert find_groups(picture, "until 1 s: 2 rps")
    assert are_shapes_inside(over_time([], x_words="s", y_words="rps"))


@given(st.lists(st.tuples(SHARES, SHARES), max_size=40))
@settings(deadline=None, max_examples=40)
def test_few_samples_are_each_drawn_as_a_dot(points):
    picture = cloud(points, share_axis("recall"), share_axis("precision"), iso_f1=True)
    dots = [group for group in picture.groups if "recall" in group.title]
    n_points = 0
    for group in dots:  # Samples at the same point share a dot, whose title states their number.
        match = re.match(r"([\d,]+) samples,", group.title)
        n_points += int(match[1].replace(",", "")) if match else 1
    assert n_points == len(points)
    assert are_shapes_inside(picture)


def test_many_samples_are_binned_without_losses():
    # Multiples of primes, modulo primes, spread the points evenly and are the same in every run.
    points = [((n * 7919 % 10_007) / 10_007, (n * 104_729 % 9_973) / 9_973) for n in range(10_000)]
    picture = cloud(points, share_axis("complexity"), share_axis("F1"))
    squares = [group for group in picture.groups if group.title.endswith(" samples")]
    assert sum(int(group.title.split()[0].replace(",", "")) for group in squares) == 10_000
    assert len(squares) < 700
    assert len(points) > DOTS_AT_MOST
    assert are_shapes_inside(picture)
    svg = drawing(picture, "c", "many", "many")
    assert len(svg) < 100_000


def test_f1_curves_have_constant_f1():
    picture = cloud([], share_axis("r"), share_axis("p"), iso_f1=True)
    for group in find_groups(picture, "F1 ="):
        f1 = float(group.title.split("=")[1])
        path = dict(group.shapes[0].attributes)["d"]
        # The plot extends from x = 40 to 388 and from y = 246 up to 30.
        corners = [
            ((float(x) - 40) / 348, (246 - float(y)) / 216)
            for x, y in re.findall(r"([\d.]+) ([\d.]+)", path)
        ]
        # The middle between two corners must be close to the curve, too.
        middles = [((a + c) / 2, (b + d) / 2) for (a, b), (c, d) in pairwise(corners)]
        for recall, precision in corners + middles:
            assert 2 * recall * precision / (recall + precision) == pytest.approx(f1, abs=0.01)


def test_frontier_joins_its_points_and_others_are_hollow():
    # Name, x, y, their intervals, tooltip, and whether the point is on the frontier.
    points = [
        NamedPoint("fast", 0.2, 0.5, None, None, "", True),
        NamedPoint("good", 0.8, 0.9, (0.7, 0.9), (0.85, 0.95), "", True),
        NamedPoint("neither", 0.9, 0.4, None, None, "", False),
    ]
    picture = named_points(points, amount_axis(1, "s"), share_axis("score"))
    assert len(find_groups(picture, "the frontier")) == 1
    assert [group.title.split(":")[0] for group in picture.groups if group.look == "open"] == [
        "neither"
    ]
    assert {"● fast", "● good", "◇ neither"} <= set(list_texts(picture))
    assert are_shapes_inside(picture)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=25))
@settings(deadline=None, max_examples=30)
def test_names_beside_the_plot_never_overlap(coordinates):
    points = [
        NamedPoint(f"system {n}", x, y, None, None, "") for n, (x, y) in enumerate(coordinates)
    ]
    picture = named_points(points, share_axis("x"), share_axis("y"))
    heights = sorted(
        float(dict(shape.attributes)["y"])
        for group in picture.groups
        for shape in group.shapes
        if shape.tag == "text" and "● system" in shape.words
    )
    assert len(heights) == len(coordinates)
    # Names are 17 pixels apart, less rounding.
    assert all(next_height - height >= 16.8 for height, next_height in pairwise(heights))


def test_bars_are_as_long_as_their_shares_and_the_best_is_marked():
    rows = [
        BarRow("a", ChartEstimate(0.5, 0.4, 0.6), "★", "a is best"),
        BarRow("b", ChartEstimate(None)),
    ]
    picture = bar_groups([("EQS", rows)])
    (bar,) = (group for group in picture.groups if group.title == "a is best")
    # The scale extends from 138 to 362, and the share is one half.
    assert list_numbers(Picture(1, 1, (bar,)), "width") == [(362 - 138) / 2]
    assert "0.500 ★" in list_texts(picture)
    assert "–" in list_texts(picture)
    assert are_shapes_inside(picture)


def test_box_plots_show_quartiles_and_name_empty_groups():
    picture = boxes([Spread("simple", 9, 0.0, 0.25, 0.5, 0.75, 1.0, 0.6), "complex"], "F1")
    (box,) = find_groups(picture, "simple: median 0.500")
    heights = list_numbers(Picture(1, 1, (box,)), "height")
    # The scale extends from y = 30 to 190; the box from 0.25 to 0.75 has half its height.
    assert heights == [pytest.approx((190 - 30) / 2)]
    assert "no samples" in list_texts(picture)
    assert are_shapes_inside(picture)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=14))
@settings(deadline=None, max_examples=60)
def test_tree_map_boxes_are_proportional_and_disjoint(sizes):
    sizes = sorted(sizes, reverse=True)
    area = Box(0, 0, 640, 300)
    tiles = squarified(sizes, area)
    for size, box in zip(sizes, tiles, strict=True):
        assert box.width * box.height == pytest.approx(640 * 300 * size / sum(sizes), rel=1e-6)
        assert box.x >= -1e-6
        assert box.x + box.width <= 640 + 1e-6
        assert box.y >= -1e-6
        assert box.y + box.height <= 300 + 1e-6
    for tile, other_tile in combinations(tiles, 2):
        shared_width = min(tile.x + tile.width, other_tile.x + other_tile.width) - max(
            tile.x, other_tile.x
        )
        shared_height = min(tile.y + tile.height, other_tile.y + other_tile.height) - max(
            tile.y, other_tile.y
        )
        assert min(shared_width, shared_height) < 1e-6


def test_tree_map_lists_every_count():
    families = [
        Family("values", "values", (("wrong value", 9_000), ("missing value", 3))),
        Family("types", "types", (("wrong type", 1), ("never", 0))),
    ]
    picture = tree_map(families)
    titles = [group.title for group in picture.groups if group.share is not None]
    assert any("values, missing value: 3, <1 % of all errors" in title for title in titles)
    assert not any("never" in title for title in titles)
    assert len(titles) == 3
    assert are_shapes_inside(picture)


def test_heat_map_shows_numbers_and_wraps_headers():
    rows = [("total fields", [HeatCell("−0.50", 0.5, "down", "told"), HeatCell("–")])]
    picture = heat_map(["provider/some-model-8b", "F1"], rows, head_lines=2)
    assert {"−0.50", "provider/", "some-model-8b"} <= set(list_texts(picture))
    (cell,) = find_groups(picture, "told")
    assert (cell.look, cell.share) == ("cell down", 0.5)
    assert are_shapes_inside(picture)


def test_hostile_words_are_escaped():
    pictures = (
        heat_map(
            [HOSTILE_TEXT], [(HOSTILE_TEXT, [HeatCell(HOSTILE_TEXT, 0.5, told=HOSTILE_TEXT)])]
        ),
        tree_map([Family(HOSTILE_TEXT, "values", ((HOSTILE_TEXT, 5),))]),
        bar_groups(
            [
                (
                    HOSTILE_TEXT,
                    [BarRow(HOSTILE_TEXT, ChartEstimate(0.5), HOSTILE_TEXT, HOSTILE_TEXT)],
                )
            ]
        ),
        named_points(
            [NamedPoint(HOSTILE_TEXT, 0.5, 0.5, None, None, HOSTILE_TEXT)],
            share_axis(HOSTILE_TEXT),
            share_axis(""),
        ),
        boxes([HOSTILE_TEXT], HOSTILE_TEXT),
        radar([(HOSTILE_TEXT, 0.5)] * 3),
    )
    for picture in pictures:
        svg = drawing(picture, "h", HOSTILE_TEXT, HOSTILE_TEXT)
        root = ElementTree.fromstring(svg)
        tags = {node.tag for node in root.iter()}
        assert tags <= {"svg", "title", "desc", "g", "line", "rect", "circle", "path", "text"}
        assert "\x00" not in svg
        assert "\u202e" not in svg


def test_coordinates_are_short_and_reproducible():
    assert [fixed(x) for x in (1.0, 1.25, -0.04, 10.06)] == ["1", "1.2", "0", "10.1"]
    axis = Axis(1.0, 1.0, (), "")
    assert axis.share(5.0) == 0.0
    picture = gauge(ChartEstimate(1 / 3, 0.3, 0.4), ZONES)
    assert drawing(picture, "g", "t", "d") == drawing(picture, "g", "t", "d")
