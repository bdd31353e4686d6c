"""Records of the tables and charts of the report page, which ``report_view.py`` fills."""

from __future__ import annotations

from dataclasses import dataclass

from eval.abstention.metrics.record import CardComparison
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
