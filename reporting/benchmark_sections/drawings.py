"""The charts of the house drawn for a section: the same geometry, templates and colours."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from reporting.charts import DotPanel, Stack
from reporting.confidence_charts import ChartFrame, ReliabilityDiagram
from reporting.forest_plot import ForestPlot
from reporting.page_templates import get_environment


def _draw(template: str, macro: str, *arguments: object) -> Markup:
    drawn: Markup = getattr(get_environment().get_template(template).module, macro)(*arguments)
    return drawn


def dots_drawing(panel: DotPanel, id_: str, title: str, described: str) -> Markup:
    """Values and intervals of one metric; ``id_`` is unique on the page."""
    return _draw("_charts.svg.j2", "dots", panel, id_, title, described)


def stack_drawing(plot: Stack, id_: str, title: str, described: str) -> Markup:
    """What all answers of each system amount to."""
    return _draw("_charts.svg.j2", "stack", plot, id_, title, described)


def forest_drawing(plot: ForestPlot, id_: str, title: str, described: str) -> Markup:
    """Paired differences about a line at zero."""
    return _draw("_forest.svg.j2", "forest", plot, id_, title, described)


class _Reliable(NamedTuple):
    name: str
    diagram: ReliabilityDiagram


def reliability_drawing(diagram: ReliabilityDiagram, id_: str, name: str) -> Markup:
    """Share of right answers by stated confidence."""
    line = _Reliable(name, diagram)
    return _draw("_confidence.svg.j2", "reliability", ChartFrame(), line, id_)
