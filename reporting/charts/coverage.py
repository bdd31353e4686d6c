"""Draws systems by their coverage and the accuracy of their answers."""

from __future__ import annotations

from eval.blocks.charts import CoverageChart
from eval.blocks.text_format import format_number, shorten_names
from reporting.charts.dots import draw_mark
from reporting.charts.picture import (
    Group,
    Picture,
    Shape,
    circle,
    group,
    line,
    path,
    place_labels,
    text,
    track,
)

_WIDTH = 600.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 420.0, 14.0, 290.0
_LABEL_X = _RIGHT + 34
_LABEL_HEIGHT = 19.0
_MAX_NAME_LENGTH = 17
_TICKS = ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))


def draw_coverage(chart: CoverageChart) -> Picture:
    """Draws a point per system, with the names in a column at the right.

    Names are ordered by the height of their points and moved apart, so that they never overlap;
    a leader line connects each name with its point.
    """
    points = chart.points
    names = shorten_names((point.name for point in points), _MAX_NAME_LENGTH)
    places = [(_scale_x(point.coverage), _scale_y(point.accuracy)) for point in points]
    label_y = place_labels(places, _TOP + 4, _BOTTOM - 4, _LABEL_HEIGHT)
    groups: list[Group] = [_draw_grid()]
    if chart.answerable_share is not None:
        x = _scale_x(chart.answerable_share)
        groups.append(group(line(x, _TOP, x, _BOTTOM, "ideal"), circle(x, _TOP, 9, "ideal-ring")))
    for at, (x, y) in enumerate(places):
        leader = [(x, y), (_RIGHT + 12, label_y[at]), (_LABEL_X - 6, label_y[at])]
        groups.append(group(path(track(leader), "leader")))
    for at, (point, (x, y)) in enumerate(zip(points, places, strict=True)):
        tooltip = (
            f"{point.name}: coverage {format_number(point.coverage)}, "
            f"right {format_number(point.accuracy)}"
        )
        groups.append(
            group(
                draw_mark(x, y, 5.5, is_control=point.is_control),
                text(_LABEL_X, label_y[at] + 4, names[point.name], "name"),
                look="row control" if point.is_control else "row",
                title=tooltip,
            )
        )
    height = max(_BOTTOM + 42, max([_BOTTOM, *label_y]) + 14)
    return Picture(_WIDTH, height, tuple(groups), "scatter")


def _draw_grid() -> Group:
    shapes: list[Shape] = []
    for share, label in _TICKS:
        x, y = _scale_x(share), _scale_y(share)
        shapes += [line(x, _TOP, x, _BOTTOM), text(x, _BOTTOM + 16, label, anchor="middle")]
        shapes += [line(_LEFT, y, _RIGHT, y), text(_LEFT - 8, y + 4, label, anchor="end")]
    shapes += [
        text(
            (_LEFT + _RIGHT) / 2,
            _BOTTOM + 36,
            "coverage: share of cards answered YES or NO",
            "axis",
            "middle",
        ),
        text(
            12,
            (_TOP + _BOTTOM) / 2,
            "accuracy: share of those answers that are right",
            "axis",
            "middle",
            turned=True,
        ),
    ]
    return group(*shapes, look="grid")


def _scale_x(share: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * min(max(share, 0.0), 1.0)


def _scale_y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * min(max(share, 0.0), 1.0)
