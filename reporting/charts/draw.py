"""Draws any chart as inline SVG."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from markupsafe import Markup

from eval.blocks import axis_charts, charts
from eval.blocks.charts import Chart
from eval.blocks.text_format import ChartEstimate
from reporting.charts.bars import draw_bars
from reporting.charts.boxes import draw_boxes
from reporting.charts.confidence import draw_reliability, draw_risk
from reporting.charts.coverage import draw_coverage
from reporting.charts.curves import draw_curves
from reporting.charts.dots import draw_dots, draw_outcomes
from reporting.charts.forest import draw_forest
from reporting.charts.gauge import draw_gauge
from reporting.charts.heat_map import draw_heat_map
from reporting.charts.histogram import draw_histogram, draw_line
from reporting.charts.picture import Picture
from reporting.charts.radar import draw_radar
from reporting.charts.scatter import draw_scatter
from reporting.charts.small_bar import draw_small_bar
from reporting.charts.strips import draw_strips
from reporting.charts.system_scatter import draw_system_scatter
from reporting.charts.tree_map import draw_tree_map
from reporting.page_templates import get_environment


@singledispatch
def build_picture(chart: Chart) -> Picture:
    """Builds the shapes of a chart."""
    raise TypeError(f"not a chart: {type(chart).__name__}")


build_picture.register(charts.BarChart, draw_bars)
build_picture.register(axis_charts.BoxPlot, draw_boxes)
build_picture.register(charts.CoverageChart, draw_coverage)
build_picture.register(axis_charts.CurveChart, draw_curves)
build_picture.register(charts.DotChart, draw_dots)
build_picture.register(charts.ForestChart, draw_forest)
build_picture.register(charts.GaugeChart, draw_gauge)
build_picture.register(charts.HeatMap, draw_heat_map)
build_picture.register(axis_charts.Histogram, draw_histogram)
build_picture.register(axis_charts.LineChart, draw_line)
build_picture.register(charts.OutcomeBars, draw_outcomes)
build_picture.register(charts.RadarChart, draw_radar)
build_picture.register(charts.ReliabilityChart, draw_reliability)
build_picture.register(charts.RiskChart, draw_risk)
build_picture.register(axis_charts.ScatterChart, draw_scatter)
build_picture.register(charts.StripChart, draw_strips)
build_picture.register(axis_charts.SystemScatterChart, draw_system_scatter)
build_picture.register(charts.TreeMap, draw_tree_map)


def draw_chart(chart: Chart, id_: str, title: str, alt: str) -> Markup:
    """Draws a chart as inline SVG.

    Args:
        chart: what is drawn.
        id_: unique on the page.
        title: its name.
        alt: what can be seen, and where the numbers are.
    """
    drawn: Markup = _get_macros().picture(build_picture(chart), id_, title, alt)
    return drawn


def draw_bar(estimate: ChartEstimate) -> Markup:
    """Draws a small bar for a cell of a table, which has the number as text."""
    drawn: Markup = _get_macros().decoration(draw_small_bar(estimate))
    return drawn


def _get_macros() -> Any:
    return get_environment().get_template("_charts.svg.j2").module
