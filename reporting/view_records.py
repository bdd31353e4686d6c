"""Records of the report page's tables and charts, which ``reporting/report_view.py`` fills."""

from __future__ import annotations

from dataclasses import dataclass

from eval.metrics.record import CardComparison
from reporting.card_data import Outcome
from reporting.charts import Bar, ChartEstimate, DotPanel
from reporting.glossary import MetricDescription


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
    chart: DotPanel


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
    bar: Bar


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
