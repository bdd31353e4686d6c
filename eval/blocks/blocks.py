"""The blocks of which a section of a report is made. ``reporting`` renders them.

All text is raw: it is made visible and escaped where it is rendered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from eval.blocks.charts import Chart
from eval.blocks.samples import Samples
from eval.blocks.text_format import ChartEstimate

Tone = Literal["", "up", "down", "muted", "best"]
"""Whether a cell is good, bad, incidental or shown to be best. Its text or a sign says the same,
because many readers do not see colours."""


@dataclass(frozen=True)
class Paragraphs:
    """Paragraphs; ``notice`` is for what must be read before the numbers, ``list`` for points."""

    paragraphs: tuple[str, ...]
    kind: Literal["intro", "note", "notice", "list"] = "intro"


@dataclass(frozen=True)
class Column:
    """A column's head: its name, small text below, and its meaning (a tooltip)."""

    name: str
    below: str = ""
    meaning: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: its text.
        below: smaller lines under it.
        tone: how it is meant.
        shade: share in [0, 1] by which a cell of a heat table is filled; ``None`` for none.
    """

    text: str
    below: tuple[str, ...] = ()
    tone: Tone = ""
    shade: float | None = None


@dataclass(frozen=True)
class TableRow:
    """A row: its name, small text under it, and a cell for each column but the first.

    Adjacent rows with the same ``group`` are shown under that heading.
    """

    name: str
    cells: tuple[Cell, ...]
    below: str = ""
    group: str = ""


@dataclass(frozen=True)
class Table:
    """A table. The first column has the names of the rows.

    Attributes:
        title: what it shows, in a few words; also its name for screen readers.
        about: how to read it.
        columns: one more than a row has cells.
        rows: from top to bottom; may be none.
        look: ``shares`` fills cells by their shade; ``metrics`` sets numbers close together.
    """

    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    look: Literal["metrics", "shares", "pairs", "plain"] = "metrics"

    @property
    def groups(self) -> list[tuple[str, list[TableRow]]]:
        """The rows under their headings, in order."""
        groups: list[tuple[str, list[TableRow]]] = []
        for row in self.rows:
            if not groups or groups[-1][0] != row.group:
                groups.append((row.group, []))
            groups[-1][1].append(row)
        return groups


@dataclass(frozen=True)
class Figure:
    """A chart with its texts.

    Attributes:
        title: what it shows.
        about: how to read it.
        chart: what is drawn; a table nearby has its numbers.
        alt: what can be seen and where the numbers are, for readers who do not see the chart.
        finding: whether ``about`` is a finding that deserves notice.
    """

    title: str
    about: str
    chart: Chart
    alt: str
    finding: bool = False


@dataclass(frozen=True)
class Figures:
    """Figures: ``wide`` ones below each other, others side by side, two or more in a row."""

    figures: tuple[Figure, ...]
    size: Literal["small", "half", "wide"] = "half"


@dataclass(frozen=True)
class Definitions:
    """Terms and what they mean."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Verbatim:
    """Text exactly as it is elsewhere: a signature, a manifest."""

    text: str


@dataclass(frozen=True)
class Fold:
    """Blocks that the reader unfolds."""

    summary: str
    blocks: tuple[Block, ...]


Block: TypeAlias = Paragraphs | Table | Figures | Definitions | Verbatim | Fold | Samples


@dataclass(frozen=True)
class Part:
    """A heading of a section and the blocks under it.

    Attributes:
        id: unique in its section; a letter, then letters, digits and hyphens.
        name: for the navigation, a word or two.
        title: the heading.
        blocks: in order.
    """

    id: str
    name: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def has_only_charts(self) -> bool:
        """Whether it only draws what is in the tables of another part: nothing for Markdown."""
        figures = [
            figure
            for block in self.blocks
            if isinstance(block, Figures)
            for figure in block.figures
        ]
        others = [b for b in self.blocks if not isinstance(b, Figures | Paragraphs)]
        return bool(figures) and not others and not any(figure.finding for figure in figures)


def make_estimate_cell(value: ChartEstimate, *more: str, tone: Tone = "") -> Cell:
    """Makes a cell of a number with its interval and, if they differ, its worst-case bounds."""
    below = [value.interval_text] if value.interval_text else []
    if value.worst_text:
        below.append(f"bounds {value.worst_text}")
    return Cell(value.text, (*below, *more), tone)
