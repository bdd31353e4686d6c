"""Records of the tables and charts of the report page, which ``report_view.py`` fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from eval.abstention.metrics.record import CardComparison
from eval.blocks.axis_charts import Axis, LineChart, make_share_axis
from eval.blocks.charts import DotChart
from eval.blocks.comparison_text import describe_finding
from eval.blocks.glossary import MetricDescription
from eval.blocks.text_format import ChartEstimate, format_number, format_p_value, format_signed
from reporting.outcomes import Outcome


@dataclass(frozen=True)
class Column:
    """The head of one metric's column: its description and its better direction."""

    key: str
    description: MetricDescription
    direction: str
    unbeaten_controls: tuple[str, ...]
    """Controls that match or beat every system on this metric."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    estimate: ChartEstimate
    beaten_by_control: bool


@dataclass(frozen=True)
class Row:
    """One system's row of a table."""

    name: str
    note: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Metrics of all systems under one policy, with the controls as separate rows."""

    policy: str
    policy_description: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    controls: tuple[Row, ...]


@dataclass(frozen=True)
class Panel:
    """A dot-and-interval chart and the metric that it shows."""

    column: Column
    chart: DotChart


@dataclass(frozen=True)
class HeatCell:
    """One of the fifteen cells of a heat map: the count of one answer to the cards of one label."""

    pred: str
    count: str
    share: float | None
    outcome: Outcome


@dataclass(frozen=True)
class HeatMap:
    """The 3×5 outcome table of one system: labels × answers."""

    name: str
    control: bool
    rows: tuple[tuple[str, str, str, tuple[HeatCell, ...]], ...]
    """For each label: the label, its name, the number of cards (or replies), and the cells."""
    unit: str = "cards"
    """``replies`` if each card was asked several times."""


@dataclass(frozen=True)
class GroupCell:
    """One system's accuracy on one group of cards."""

    estimate: ChartEstimate


@dataclass(frozen=True)
class GroupLine:
    """One row: a group of cards, such as a kind or a difficulty."""

    name: str
    n: str
    cells: tuple[GroupCell, ...]


@dataclass(frozen=True)
class GroupTable:
    """Groups of cards × systems, in sections."""

    systems: tuple[str, ...]
    sections: tuple[tuple[str, tuple[GroupLine, ...]], ...]


@dataclass(frozen=True)
class ErrorRow:
    """One system's errors, counted by type."""

    name: str
    control: bool
    counts: tuple[tuple[str, str], ...]
    """Count and share, one pair per column."""


@dataclass(frozen=True)
class PairRow:
    """One paired comparison."""

    pair: CardComparison
    difference: str
    interval: str
    p: str
    discordant: str
    effect_size: str
    minimum_detectable_effect: str
    finding: str


def build_pair_row(pair: CardComparison) -> PairRow:
    """Builds one row of a comparison table."""
    interval = ""
    if pair.low is not None and pair.high is not None:
        interval = f"{format_signed(pair.low)} to {format_signed(pair.high)}"
    counts = ""
    if pair.discordant is not None:
        counts = f"{pair.discordant.only_candidate} : {pair.discordant.only_baseline}"
    return PairRow(
        pair=pair,
        difference=format_signed(pair.difference),
        interval=interval,
        p=format_p_value(pair.p_holm if pair.p_holm is not None else pair.p),
        discordant=counts,
        effect_size=format_signed(pair.cohens_d, 2),
        minimum_detectable_effect=format_number(pair.minimum_detectable_effect),
        finding=describe_finding(pair),
    )


class PenaltyPoint(NamedTuple):
    """What a system did when it was told the penalty t."""

    penalty: float
    answered: ChartEstimate
    right: ChartEstimate
    """Share of its answers that are right."""
    skill: ChartEstimate
    """The skill score with that penalty; without value if it is none that is computed."""


class PenaltyChart(NamedTuple):
    """A system that was told several penalties."""

    name: str
    points: tuple[PenaltyPoint, ...]

    @property
    def chart(self) -> LineChart:
        """The share answered against the penalty."""
        ticks = tuple((t, f"{t:g}") for t in (0.0, 0.25, 0.5, 0.75, 1.0))
        shown = [point for point in self.points if point.answered.value is not None]
        return LineChart(
            points=tuple((p.penalty, p.answered.value or 0.0) for p in shown),
            x=Axis(0.0, 1.0, ticks, "announced penalty t"),
            y=make_share_axis("share answered"),
            texts=tuple(f"t = {p.penalty:g}: answered {p.answered.text}" for p in shown),
        )


class MemoryRow(NamedTuple):
    """How often a system says YES to unknown claims: those set aside, and the others."""

    name: str
    true: tuple[int, ChartEstimate]
    """Number of cards, and share of YES."""
    others: tuple[int, ChartEstimate]
    difference: ChartEstimate
    finding: tuple[str, str]
    """What the tests found, and the adjusted p-value."""
