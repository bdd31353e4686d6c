"""Charts as data: what a chart shows. ``reporting/charts`` draws them.

Texts are raw: they are made visible and escaped when the chart is drawn. Shares are in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from eval.blocks.axis_charts import (
    BoxPlot,
    CurveChart,
    Histogram,
    LineChart,
    ScatterChart,
    SystemScatterChart,
)
from eval.blocks.text_format import ChartEstimate, format_number


class NamedEstimate(NamedTuple):
    """A system's value; adjacent rows with the same ``group`` stand below that heading."""

    name: str
    is_control: bool
    estimate: ChartEstimate
    group: str = ""


@dataclass(frozen=True)
class DotChart:
    """Values with intervals of one metric, one row per system, controls last.

    The axis goes from ``low`` (0 or −1) to 1; what lies outside is drawn at its end.
    """

    rows: tuple[NamedEstimate, ...]
    low: float = 0.0


class OutcomeCount(NamedTuple):
    """How often an outcome occurred; ``look`` is its colour, ``symbol`` stands in its segment."""

    look: str
    symbol: str
    text: str
    n: float


class OutcomeRow(NamedTuple):
    """All outcomes of one system."""

    name: str
    is_control: bool
    counts: tuple[OutcomeCount, ...]


@dataclass(frozen=True)
class OutcomeBars:
    """Shares of the outcomes as segments of bars of equal length, controls last."""

    rows: tuple[OutcomeRow, ...]


@dataclass(frozen=True)
class PlottedDifference:
    """One pair to plot; numbers are on the metric's scale.

    Attributes:
        first, second: display names.
        value: first − second; ``None`` if one of them has no value.
        low, high: interval of the difference.
        minimum_detectable_effect: true difference that is found with a power of 80 %.
        is_significant: whether test and interval both show a difference.
        text: the tooltip, with the systems and the finding.
    """

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    minimum_detectable_effect: float | None
    is_significant: bool
    text: str


@dataclass(frozen=True)
class ForestChart:
    """Differences with intervals around a line at zero, one per row.

    Attributes:
        differences: in the order of the rows.
        reference: the second system if it is the same in all rows; rows then do not repeat it.
        higher_is_better: direction of the metric, for the labels of the two sides.
        sides: labels of the negative and the positive side, if not those.
    """

    differences: tuple[PlottedDifference, ...]
    reference: str = ""
    higher_is_better: bool | None = None
    sides: tuple[str, str] | None = None


@dataclass(frozen=True)
class ConfidenceBin:
    """One bin of confidence.

    Attributes:
        low, high: edges of the bin.
        n: number of replies in the bin.
        n_right: number of right replies in the bin.
        confidence: mean confidence of its replies.
        accuracy: ``n_right / n``.
        accuracy_low, accuracy_high: interval of the accuracy.
    """

    low: float
    high: float
    n: int
    n_right: int
    confidence: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float

    @property
    def text(self) -> str:
        """The tooltip of the bin."""
        return (
            f"Confidence {format_number(self.low, 2)} to {format_number(self.high, 2)}: "
            f"{self.n_right:,} of {self.n:,} right, {format_number(self.accuracy)} "
            f"({format_number(self.accuracy_low)} to {format_number(self.accuracy_high)}); mean "
            f"confidence {format_number(self.confidence)}"
        )


@dataclass(frozen=True)
class ReliabilityChart:
    """Share of right answers of one system by stated confidence, in ascending order."""

    name: str
    bins: tuple[ConfidenceBin, ...]


@dataclass(frozen=True)
class RiskChart:
    """One system's share of wrong replies by the share accepted, others' in grey.

    Attributes:
        points: (coverage, risk) in ascending order of coverage; not empty.
        error_rate: risk at full coverage.
        ceiling: risk at the top of the chart.
        key: names the curve, unique on the page.
        other_keys: keys of the other systems' curves.
    """

    points: tuple[tuple[float, float], ...]
    error_rate: float
    ceiling: float
    key: str
    other_keys: tuple[str, ...] = ()


class CoveragePoint(NamedTuple):
    """One system's coverage and the accuracy of its answers."""

    name: str
    is_control: bool
    coverage: float
    accuracy: float


@dataclass(frozen=True)
class CoverageChart:
    """Systems by coverage and accuracy of their answers.

    Attributes:
        points: the systems that ever answer.
        answerable_share: coverage of a system that answers exactly the cards with a provable
            answer; ``None`` if unknown.
    """

    points: tuple[CoveragePoint, ...]
    answerable_share: float | None = None


@dataclass(frozen=True)
class Bar:
    """One horizontal bar.

    Attributes:
        name: display name.
        value: a share, with its interval.
        sign: follows the number; ★ where tests show it to be best.
        text: the tooltip; by default name, value and interval.
    """

    name: str
    value: ChartEstimate
    sign: str = ""
    text: str = ""


class BarGroup(NamedTuple):
    """Bars under a heading; without a heading no room is left for one."""

    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class BarChart:
    """Horizontal bars in groups."""

    groups: tuple[BarGroup, ...]


@dataclass(frozen=True)
class Zone:
    """A part of a gauge's scale.

    Attributes:
        low, high: its ends.
        name: what it is called.
        look: its colour: ``wrong``, ``held``, ``fair`` or ``right``.
    """

    low: float
    high: float
    name: str
    look: str


@dataclass(frozen=True)
class GaugeChart:
    """One score with its interval on a half circle of zones."""

    score: ChartEstimate
    zones: tuple[Zone, ...]


@dataclass(frozen=True)
class HeatCell:
    """One cell of a heat map.

    Attributes:
        text: what is written in it, short.
        share: how full its colour is.
        look: ``up``, ``down`` or ``plain``.
        tooltip: by default the row's name, the column's head and ``text``.
    """

    text: str
    share: float = 0.0
    look: str = "plain"
    tooltip: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A number in every cell, and a colour that shows the same.

    Attributes:
        heads: of the columns; each is broken at blanks into ``head_lines`` lines.
        rows: name, and a cell for each head.
        name_width: room for the rows' names, in CSS pixels.
        cell_width: likewise for a cell.
        head_lines: maximum number of lines of a head.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    name_width: float = 170.0
    cell_width: float = 62.0
    head_lines: int = 1


@dataclass(frozen=True)
class RadarChart:
    """Shares on three or more axes around a centre; an unknown share leaves a gap."""

    axes: tuple[tuple[str, float | None], ...]


@dataclass(frozen=True)
class CountFamily:
    """Counts that belong together; ``look`` is their colour."""

    name: str
    look: str
    parts: tuple[tuple[str, int], ...]
    """Name and count; counts of 0 are not drawn."""

    @property
    def count(self) -> int:
        """The sum of its counts."""
        return sum(count for _, count in self.parts)


@dataclass(frozen=True)
class TreeMap:
    """Areas in proportion to counts, those of one family next to each other."""

    families: tuple[CountFamily, ...]


class StripField(NamedTuple):
    """A part of a score: as wide as its weight, filled as far as its share."""

    name: str
    weight: float
    share: float
    text: str


class Strip(NamedTuple):
    """A score made of weighted parts."""

    name: str
    value: str
    text: str
    fields: tuple[StripField, ...]


@dataclass(frozen=True)
class StripChart:
    """Scores as strips of their weighted parts."""

    strips: tuple[Strip, ...]


Chart: TypeAlias = (
    DotChart
    | OutcomeBars
    | ForestChart
    | ReliabilityChart
    | RiskChart
    | CoverageChart
    | BarChart
    | BoxPlot
    | CurveChart
    | ScatterChart
    | SystemScatterChart
    | GaugeChart
    | HeatMap
    | Histogram
    | LineChart
    | RadarChart
    | TreeMap
    | StripChart
)
