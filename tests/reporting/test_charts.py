"""Tests of charts: marks stay inside the chart, sizes are in proportion, texts describe them."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.blocks.axis_charts import (
    MAX_DOTS,
    Axis,
    BoxPlot,
    Histogram,
    LineChart,
    NamedPoint,
    Quartiles,
    ScatterChart,
    SystemScatterChart,
    make_amount_axis,
    make_share_axis,
    round_up_step,
)
from eval.blocks.charts import (
    Bar,
    BarChart,
    BarGroup,
    ConfidenceBin,
    CountFamily,
    CoverageChart,
    CoveragePoint,
    DotChart,
    ForestChart,
    GaugeChart,
    HeatCell,
    HeatMap,
    NamedEstimate,
    OutcomeBars,
    OutcomeCount,
    OutcomeRow,
    PlottedDifference,
    RadarChart,
    ReliabilityChart,
    RiskChart,
    Strip,
    StripChart,
    StripField,
    TreeMap,
    Zone,
)
from eval.blocks.text_format import ChartEstimate
from reporting.card_report.confidence_view import choose_risk_ceiling
from reporting.charts.draw import build_picture, draw_bar, draw_chart
from reporting.charts.picture import Group, Picture, fixed
from reporting.charts.tree_map import Box, lay_out_squares

ZONES = (
    Zone(0.0, 0.6, "Not recommended", "wrong"),
    Zone(0.6, 0.8, "Review", "held"),
    Zone(0.8, 1.0, "Good", "right"),
)
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
    picture = build_picture(GaugeChart(ChartEstimate(value, low, high), ZONES))
    marked_groups = [group for group in picture.groups if "here" in group.look]
    assert len(marked_groups) == 1
    zone = next(zone for zone in ZONES if marked_groups[0].title.startswith(zone.name))
    assert zone.low <= value <= zone.high
    assert zone.name in list_texts(picture)
    assert are_shapes_inside(picture)


def test_a_gauge_without_a_score_marks_nothing():
    picture = build_picture(GaugeChart(ChartEstimate(None), ZONES))
    assert not [group for group in picture.groups if "here" in group.look]
    assert "–" in list_texts(picture)


@given(st.lists(st.one_of(st.none(), SHARES), min_size=3, max_size=6))
@settings(deadline=None, max_examples=40)
def test_radar_draws_known_values_and_names_missing_ones(shares):
    picture = build_picture(
        RadarChart(tuple((f"axis {n}", share) for n, share in enumerate(shares)))
    )
    dots = [group for group in picture.groups if group.title]
    assert len(dots) == sum(share is not None for share in shares)
    assert list_texts(picture).count("–") == sum(share is None for share in shares)
    assert are_shapes_inside(picture)


def test_a_full_share_reaches_the_outer_ring():
    picture = build_picture(RadarChart((("up", 1.0), ("right", 0.5), ("down", 0.0), ("left", 1.0))))
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
    axis = make_amount_axis(maximum, "", whole=is_integer)
    assert axis.high >= maximum * (1 - 1e-9)
    assert axis.high <= maximum * 4 + 4
    assert 2 <= len(axis.ticks) <= 6
    if is_integer:
        assert all(value == int(value) for value, _ in axis.ticks)
    labels = [text for _, text in axis.ticks]
    assert len(set(labels)) == len(labels)


def test_axis_steps_are_round_numbers():
    assert [round_up_step(x) for x in (0.03, 1, 1.1, 2.2, 3, 7)] == [0.05, 1, 2, 2.5, 5, 10]
    assert make_amount_axis(0, "").high == 1
    assert make_amount_axis(float("nan"), "").high == 1


def test_histogram_heights_and_marks_are_proportional():
    marks = (("p50", 2.0), ("p95", 3.9), ("p99", None))
    picture = build_picture(Histogram((0, 10, 20, 5), 4.0, marks, "s", "s", "calls"))
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
    marks = tuple((f"p{n}", value) for n, value in enumerate(sorted(values)))
    assert are_shapes_inside(build_picture(Histogram((1, 2, 3), high, marks, "s", "s", "calls")))


def test_single_point_is_a_dot_without_a_line():
    axes = (make_amount_axis(1, "s"), make_amount_axis(2, "rps"))
    picture = build_picture(LineChart(((1.0, 2.0),), *axes, texts=("until 1 s: 2 rps",)))
    assert not [
        group for group in picture.groups if group.shapes[0].attributes[0] == ("class", "curve")
    ]
    assert find_groups(picture, "until 1 s: 2 rps")
    assert are_shapes_inside(build_picture(LineChart((), *axes)))


def test_a_marked_value_is_a_line_at_its_place():
    axes = (make_share_axis("F1"), make_share_axis("IE"))
    points = ((0.0, 0.2), (1.0, 0.9))
    picture = build_picture(LineChart(points, *axes, mark=(0.5, "chosen")))
    (mark,) = find_groups(picture, "chosen")
    # The plot extends from x = 40 to 388.
    assert list_numbers(Picture(1, 1, (mark,)), "x1", "x2") == [(40 + 388) / 2] * 2


@given(st.lists(st.tuples(SHARES, SHARES), max_size=40))
@settings(deadline=None, max_examples=40)
def test_few_samples_are_each_drawn_as_a_dot(points):
    picture = build_picture(
        ScatterChart(
            tuple(points), make_share_axis("recall"), make_share_axis("precision"), iso_f1=True
        )
    )
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
    chart = ScatterChart(tuple(points), make_share_axis("complexity"), make_share_axis("F1"))
    picture = build_picture(chart)
    squares = [group for group in picture.groups if group.title.endswith(" samples")]
    assert sum(int(group.title.split()[0].replace(",", "")) for group in squares) == 10_000
    assert len(squares) < 700
    assert len(points) > MAX_DOTS
    assert are_shapes_inside(picture)
    svg = draw_chart(chart, "c", "many", "many")
    assert len(svg) < 100_000


def test_f1_curves_have_constant_f1():
    picture = build_picture(
        ScatterChart((), make_share_axis("r"), make_share_axis("p"), iso_f1=True)
    )
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
    points = (
        NamedPoint("fast", 0.2, 0.5, None, None, "", True),
        NamedPoint("good", 0.8, 0.9, (0.7, 0.9), (0.85, 0.95), "", True),
        NamedPoint("neither", 0.9, 0.4, None, None, "", False),
    )
    axes = (make_amount_axis(1, "s"), make_share_axis("score"))
    picture = build_picture(SystemScatterChart(points, *axes))
    assert len(find_groups(picture, "the frontier")) == 1
    assert [group.title.split(":")[0] for group in picture.groups if group.look == "open"] == [
        "neither"
    ]
    assert {"● fast", "● good", "◇ neither"} <= set(list_texts(picture))
    assert are_shapes_inside(picture)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=25))
@settings(deadline=None, max_examples=30)
def test_names_beside_the_plot_never_overlap(coordinates):
    points = tuple(
        NamedPoint(f"system {n}", x, y, None, None, "") for n, (x, y) in enumerate(coordinates)
    )
    chart = SystemScatterChart(points, make_share_axis("x"), make_share_axis("y"))
    picture = build_picture(chart)
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
    bars = (
        Bar("a", ChartEstimate(0.5, 0.4, 0.6), "★", "a is best"),
        Bar("b", ChartEstimate(None)),
    )
    picture = build_picture(BarChart((BarGroup("EQS", bars),)))
    (bar,) = (group for group in picture.groups if group.title == "a is best")
    # The scale extends from 138 to 362, and the share is one half.
    assert list_numbers(Picture(1, 1, (bar,)), "width") == [(362 - 138) / 2]
    assert "0.500 ★" in list_texts(picture)
    assert "–" in list_texts(picture)
    assert are_shapes_inside(picture)


def test_box_plots_show_quartiles_and_name_empty_groups():
    quartiles = Quartiles("simple", 9, 0.0, 0.25, 0.5, 0.75, 1.0, 0.6)
    picture = build_picture(BoxPlot((quartiles, "complex"), "F1"))
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
    tiles = lay_out_squares(sizes, area)
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
    families = (
        CountFamily("values", "values", (("wrong value", 9_000), ("missing value", 3))),
        CountFamily("types", "types", (("wrong type", 1), ("never", 0))),
    )
    picture = build_picture(TreeMap(families))
    titles = [group.title for group in picture.groups if group.share is not None]
    assert any("values, missing value: 3, <1 % of all errors" in title for title in titles)
    assert not any("never" in title for title in titles)
    assert len(titles) == 3
    assert are_shapes_inside(picture)


def test_heat_map_shows_numbers_and_wraps_headers():
    rows = (("total fields", (HeatCell("−0.50", 0.5, "down", "told"), HeatCell("–"))),)
    picture = build_picture(HeatMap(("provider/some-model-8b", "F1"), rows, head_lines=2))
    assert {"−0.50", "provider/", "some-model-8b"} <= set(list_texts(picture))
    (cell,) = find_groups(picture, "told")
    assert (cell.look, cell.share) == ("cell down", 0.5)
    assert are_shapes_inside(picture)


HOSTILE_DIFFERENCE = PlottedDifference(
    HOSTILE_TEXT, HOSTILE_TEXT, 0.1, 0.0, 0.2, 0.05, True, HOSTILE_TEXT
)
ANY_CHARTS = (
    HeatMap(
        (HOSTILE_TEXT,),
        ((HOSTILE_TEXT, (HeatCell(HOSTILE_TEXT, 0.5, tooltip=HOSTILE_TEXT),)),),
    ),
    TreeMap((CountFamily(HOSTILE_TEXT, "values", ((HOSTILE_TEXT, 5),)),)),
    BarChart(
        (BarGroup(HOSTILE_TEXT, (Bar(HOSTILE_TEXT, ChartEstimate(0.5), HOSTILE_TEXT),)),),
    ),
    SystemScatterChart(
        (NamedPoint(HOSTILE_TEXT, 0.5, 0.5, None, None, HOSTILE_TEXT),),
        make_share_axis(HOSTILE_TEXT),
        make_share_axis(""),
    ),
    BoxPlot((HOSTILE_TEXT,), HOSTILE_TEXT),
    RadarChart(((HOSTILE_TEXT, 0.5),) * 3),
    DotChart((NamedEstimate(HOSTILE_TEXT, False, ChartEstimate(0.5, 0.4, 0.6, 0.3, 0.7)),)),
    OutcomeBars((OutcomeRow(HOSTILE_TEXT, False, (OutcomeCount("right", "✓", HOSTILE_TEXT, 2),)),)),
    ForestChart((HOSTILE_DIFFERENCE,), HOSTILE_TEXT, sides=(HOSTILE_TEXT, HOSTILE_TEXT)),
    ReliabilityChart(HOSTILE_TEXT, (ConfidenceBin(0.2, 0.3, 10, 4, 0.25, 0.4, 0.2, 0.6),)),
    RiskChart(((0.5, 0.1), (1.0, 0.2)), 0.2, 0.2, "1", ("2",)),
    CoverageChart((CoveragePoint(HOSTILE_TEXT, True, 0.5, 0.5),), 0.5),
    StripChart(
        (Strip(HOSTILE_TEXT, "0.5", "", (StripField(HOSTILE_TEXT, 1.0, 0.5, HOSTILE_TEXT),)),)
    ),
)


@pytest.mark.parametrize("chart", ANY_CHARTS, ids=lambda chart: type(chart).__name__)
def test_any_chart_escapes_hostile_texts_and_stays_inside(chart):
    svg = draw_chart(chart, "h", HOSTILE_TEXT, HOSTILE_TEXT)
    tags = {node.tag for node in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "desc", "g", "line", "rect", "circle", "path", "text", "use"}
    assert "\x00" not in svg
    assert "\u202e" not in svg
    assert svg == draw_chart(chart, "h", HOSTILE_TEXT, HOSTILE_TEXT)
    assert are_shapes_inside(build_picture(chart))


def test_coordinates_are_short():
    assert [fixed(x) for x in (1.0, 1.25, -0.04, 10.06)] == ["1", "1.2", "0", "10.1"]
    assert Axis(1.0, 1.0, (), "").to_share(5.0) == 0.0


# -- dots, outcomes, coverage -------------------------------------------------------------------

MAYBE_SHARES = st.none() | SHARES


@given(st.lists(st.tuples(st.text(max_size=30), st.booleans(), SHARES, SHARES), max_size=12))
@settings(deadline=None, max_examples=40)
def test_names_beside_the_coverage_chart_never_overlap(entries):
    chart = CoverageChart(tuple(CoveragePoint(*entry) for entry in entries), 0.5)
    picture = build_picture(chart)
    rows = [group for group in picture.groups if group.look.startswith("row")]
    heights = sorted(list_numbers(Picture(1, 1, (row,)), "y")[-1] for row in rows)
    assert len(rows) == len(entries)
    # Names are 19 pixels apart, less rounding.
    assert all(b - a >= 18.8 for a, b in pairwise(heights))
    assert are_shapes_inside(picture)


@given(st.lists(st.tuples(st.text(max_size=30), st.booleans(), MAYBE_SHARES), max_size=10))
@settings(deadline=None, max_examples=40)
def test_dot_charts_have_controls_last_and_values_placed(entries):
    rows = tuple(NamedEstimate(name, control, ChartEstimate(v)) for name, control, v in entries)
    picture = build_picture(DotChart(rows))
    drawn = [group for group in picture.groups if group.look.startswith("row")]
    looks = [group.look for group in drawn]
    assert looks == sorted(looks)
    n_marks = sum(shape.tag in {"circle", "path"} for group in drawn for shape in group.shapes)
    assert n_marks == sum(value is not None for _, _, value in entries)
    dividers = [
        shape
        for g in picture.groups
        for shape in g.shapes
        if ("class", "divider") in shape.attributes
    ]
    assert len(dividers) == (len(set(looks)) == 2)
    assert are_shapes_inside(picture)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6).filter(any))
@settings(deadline=None, max_examples=40)
def test_segments_leave_no_gaps(counts):
    outcomes = tuple(OutcomeCount("right", "✓", f"outcome {n}", c) for n, c in enumerate(counts))
    picture = build_picture(OutcomeBars((OutcomeRow("a", False, outcomes),)))
    rects = [shape for group in picture.groups for shape in group.shapes if shape.tag == "rect"]
    places = [{name: float(value) for name, value in rect.attributes} for rect in rects]
    assert len(places) == sum(count > 0 for count in counts)
    assert places[0]["x"] == 128
    for left, right in pairwise(places):
        assert left["x"] + left["width"] == pytest.approx(right["x"], abs=0.01)
    assert places[-1]["x"] + places[-1]["width"] == pytest.approx(420, abs=0.01)


def test_small_bars_show_share_and_interval():
    assert "fill" not in draw_bar(ChartEstimate(None))
    svg = draw_bar(ChartEstimate(0.5, 0.25, 0.75))
    assert 'class="fill" x="0" y="4" width="48"' in svg
    assert 'x1="24"' in svg
    assert 'x1="72"' in svg


# -- the forest plot ----------------------------------------------------------------------------


def make_difference(value, low=0.0, high=0.0):
    return PlottedDifference("a", "b", value, low, high, 0.05, True, f"difference {value}")


def list_forest_places(chart):
    """Returns, per row, the x coordinates of its interval's ends and of its dot."""
    rows = [group for group in build_picture(chart).groups if group.look.startswith("row")]
    return [list_numbers(Picture(1, 1, (row,)), "x1", "x2", "cx") for row in rows]


ZERO_X = (178 + 520) / 2
"""The scale extends from 178 to 520, and zero is in its middle."""


def test_differences_are_placed_by_their_values():
    chart = ForestChart(
        (make_difference(0.1, 0.05, 0.2), make_difference(-0.2, -0.3, 0.0)), higher_is_better=True
    )
    (low, high, dot), (other_low, other_high, other_dot) = list_forest_places(chart)
    assert ZERO_X < low < dot < high <= 520
    # Equal lengths on the scale are equal lengths on the page, on both sides of zero.
    assert dot - ZERO_X == pytest.approx((high - ZERO_X) / 2, abs=0.1)
    assert ZERO_X - other_dot == pytest.approx(high - ZERO_X, abs=0.1)
    assert other_high == ZERO_X
    assert other_low < other_dot
    labels = " ".join(text for text in list_texts(build_picture(chart)) if text[-1].isdigit())
    assert labels.startswith("−0.3 −0.2 −0.1 0 +0.1 +0.2 +0.3")


@pytest.mark.parametrize(
    ("chart", "sides"),
    [
        (ForestChart((), higher_is_better=True), ("← second is better", "first is better →")),
        (ForestChart((), higher_is_better=False), ("← first is better", "second is better →")),
        (ForestChart((), "base", higher_is_better=False), ("← row is better", "base is better →")),
        (ForestChart((), higher_is_better=None), ("← second is higher", "first is higher →")),
        (ForestChart((), sides=("left", "right")), ("left", "right")),
    ],
)
def test_sides_name_the_better_system(chart, sides):
    assert tuple(list_texts(build_picture(chart))[:2]) == sides


def test_pair_without_a_value_has_a_row_without_a_mark():
    missing = PlottedDifference("a", "b", None, None, None, None, False, "AP: no value for a")
    chart = ForestChart((missing,))
    (row,) = (group for group in build_picture(chart).groups if group.look == "row open")
    assert {shape.tag for shape in row.shapes} == {"text"}
    assert "–" in list_texts(build_picture(chart))


@pytest.mark.parametrize("largest_difference", [0.0, 1e-9, 0.003, 0.02, 0.07, 0.3, 0.77, 1.0])
def test_every_difference_fits_its_axis(largest_difference):
    chart = ForestChart((make_difference(largest_difference, 0.0, largest_difference),))
    (grid,) = (group for group in build_picture(chart).groups if group.look == "grid")
    labels = [shape.words for shape in grid.shapes if shape.tag == "text"]
    assert 5 <= len(labels) <= 9
    assert len(set(labels)) == len(labels)
    assert max(list_forest_places(chart)[0]) <= 520


# -- confidence ---------------------------------------------------------------------------------


def test_bins_are_placed_by_their_values():
    # Edges, replies, right replies, mean confidence, accuracy and its interval.
    bins = (
        ConfidenceBin(0.2, 0.3, 10, 4, 0.25, 0.4, 0.2, 0.6),
        ConfidenceBin(0.9, 1.0, 40, 38, 0.95, 0.95, 0.8, 0.99),
    )
    picture = build_picture(ReliabilityChart("a", bins))
    lower, upper = (group for group in picture.groups if group.title)
    assert lower.title.startswith("Confidence 0.20 to 0.30: 4 of 10 right, 0.400 (0.200 to 0.600)")
    # The square extends from x = 34 to 258 and from y = 202 up to 20.
    assert list_numbers(Picture(1, 1, (lower,)), "cx", "cy") == [
        pytest.approx(34 + 224 * 0.25, abs=0.1),
        pytest.approx(202 - 182 * 0.4, abs=0.1),
    ]
    heights = [list_numbers(Picture(1, 1, (group,)), "height")[0] for group in (lower, upper)]
    assert heights[1] == pytest.approx(4 * heights[0], abs=0.2)
    assert not [g for g in build_picture(ReliabilityChart("a", ())).groups if g.title]


def test_curve_is_cut_at_the_end_of_its_axis():
    points = ((0.01, 1.0), (0.5, 0.1), (1.0, 0.2))
    ceiling = choose_risk_ceiling([points])
    assert ceiling == 0.2
    picture = build_picture(RiskChart(points, 0.2, ceiling, "1", ("2",)))
    (own,) = (group for group in picture.groups if group.look == "own")
    attributes = dict(own.shapes[0].attributes)
    assert attributes["id"] == "curve-1"
    assert attributes["d"] == "M36.2 20L146 111L258 20"
    assert own.title.endswith("10 % at 25 %, 10 % at 50 %, 20 % at 75 %, 20 % at 100 %")
    (others,) = (group for group in picture.groups if group.look == "ghost")
    assert [dict(shape.attributes)["href"] for shape in others.shapes] == ["#curve-2"]
    assert choose_risk_ceiling([[(1.0, 0.9)]]) == 1.0
    assert choose_risk_ceiling([]) == 0.05


@given(st.lists(st.tuples(st.text(max_size=30), st.sampled_from(["", "a", "<b>"])), max_size=10))
@settings(deadline=None, max_examples=40)
def test_rows_of_a_group_stand_below_its_heading(entries):
    rows = tuple(NamedEstimate(name, False, ChartEstimate(0.5), g) for name, g in entries)
    picture = build_picture(DotChart(rows))
    drawn = [group for group in picture.groups if group.look == "row"]
    headings = [g.shapes[0].words for g in drawn if len(g.shapes) == 1]
    starts = [g for (_, before), (_, g) in pairwise([("", ""), *entries]) if g and g != before]
    assert headings == starts
    assert are_shapes_inside(picture)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("careful", ["careful"]),
        ("right_unreadable30", ["right_", "unreadable30"]),
        ("raw:openai/gpt-4o-mini@t.5", ["raw:openai/gpt-", "4o-mini@t.5"]),
        ("a" * 30, ["a" * 16 + "…"]),
    ],
)
def test_a_name_that_is_too_long_for_a_line_is_broken(name, lines):
    picture = build_picture(DotChart((NamedEstimate(name, False, ChartEstimate(0.5)),)))
    (row,) = [group for group in picture.groups if group.look == "row"]
    words = [shape.words for shape in row.shapes if ("class", "name") in shape.attributes]
    assert words == lines
    assert row.title.startswith(name)


@pytest.mark.parametrize(("low", "n_paths"), [(-1.4, 1), (-1.0, 0), (None, 0)])
def test_an_interval_that_goes_on_beyond_the_axis_has_an_arrow(low, n_paths):
    estimate = ChartEstimate(-0.9, low, None if low is None else -0.5)
    picture = build_picture(DotChart((NamedEstimate("a", False, estimate),), low=-1.0))
    (row,) = [group for group in picture.groups if group.look == "row"]
    assert sum(shape.tag == "path" for shape in row.shapes) == n_paths
    assert are_shapes_inside(picture)
