"""What a page is made of: tables and charts as plain records, filled by ``reporting/view.py``."""

from __future__ import annotations

from dataclasses import dataclass

from eval.metrics.record import PairedComparison
from reporting.card_data import Outcome
from reporting.charts import Bar, DotPanel, Estimate
from reporting.glossary import MetricWords


@dataclass(frozen=True)
class Column:
    """One metric's column: what it is called and which way is better."""

    key: str
    words: MetricWords
    direction: str
    won_by: tuple[str, ...]
    """Controls that no system beats on it; empty when some system does."""


@dataclass(frozen=True)
class Cell:
    """One number of a table."""

    estimate: Estimate
    beaten_by_control: bool


@dataclass(frozen=True)
class Row:
    """One system's line of a table."""

    name: str
    note: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Metrics of all systems under one policy, controls apart."""

    policy: str
    policy_words: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    controls: tuple[Row, ...]


@dataclass(frozen=True)
class Panel:
    """A dot-and-interval chart and its words."""

    column: Column
    chart: DotPanel


@dataclass(frozen=True)
class HeatCell:
    """One of the fifteen outcomes."""

    pred: str
    count: str
    share: float | None
    outcome: Outcome


@dataclass(frozen=True)
class HeatMap:
    """The 3×5 table of one system."""

    name: str
    control: bool
    rows: tuple[tuple[str, str, str, tuple[HeatCell, ...]], ...]
    """Label, its name, cards (or replies), cells."""
    unit: str = "cards"
    """``replies`` where each card was asked several times."""


@dataclass(frozen=True)
class GroupCell:
    """One system's share of right answers in one group of cards."""

    estimate: Estimate
    bar: Bar


@dataclass(frozen=True)
class GroupLine:
    """One group of cards: a kind, a difficulty."""

    name: str
    n: str
    cells: tuple[GroupCell, ...]


@dataclass(frozen=True)
class GroupTable:
    """Groups of cards × systems, in sections."""

    systems: tuple[str, ...]
    sections: tuple[tuple[str, tuple[GroupLine, ...]], ...]


@dataclass(frozen=True)
class TroubleRow:
    """What went wrong for one system, as counts."""

    name: str
    control: bool
    counts: tuple[tuple[str, str], ...]
    """Count and share, one pair a column."""


@dataclass(frozen=True)
class PairRow:
    """One paired comparison."""

    pair: PairedComparison
    difference: str
    interval: str
    p: str
    discordant: str
    effect: str
    smallest: str
    finding: str
