"""What a section is made of: paragraphs, tables, figures, folds, definitions, samples.

A benchmark says with these what it has to show, once; ``templates/_section.html.j2`` and
``reporting/benchmark_sections/section_words.py`` turn the same blocks into HTML and Markdown. All
text here is raw: it is made visible and escaped where it is written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from markupsafe import Markup

from reporting.benchmark_sections.samples import Samples
from reporting.charts import ChartEstimate

Tone = Literal["", "up", "down", "muted", "best"]
"""How a cell is meant: good, bad, beside the point, shown to be best. Words or a sign always say
the same, since colour alone says nothing to many readers."""


@dataclass(frozen=True)
class Prose:
    """Paragraphs. ``notice`` is for what must be read before the numbers, ``list`` for points."""

    paragraphs: tuple[str, ...]
    kind: Literal["intro", "note", "notice", "list"] = "intro"


@dataclass(frozen=True)
class Head:
    """A column's head: its name, what stands small below, what it means (on hovering)."""

    name: str
    below: str = ""
    meaning: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: what it says.
        below: smaller lines under it.
        tone: how it is meant.
        shade: share in [0, 1] by which a cell of a heat table is filled; ``None`` for none.
    """

    text: str
    below: tuple[str, ...] = ()
    tone: Tone = ""
    shade: float | None = None


@dataclass(frozen=True)
class Line:
    """One line: its name, what stands small under it, a cell for each column but the first.

    Lines with the same ``group``, next to each other, stand under that heading.
    """

    name: str
    cells: tuple[Cell, ...]
    below: str = ""
    group: str = ""


@dataclass(frozen=True)
class Grid:
    """A table. The first head is that of the lines' names.

    Attributes:
        title: what it shows, in a few words; also its name for screen readers.
        about: how to read it.
        heads: one more than a line has cells.
        lines: from top to bottom; may be none.
        look: ``shares`` fills cells by their shade; ``metrics`` sets numbers close together.
    """

    title: str
    about: str
    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    look: Literal["metrics", "shares", "pairs", "plain"] = "metrics"

    @property
    def groups(self) -> list[tuple[str, list[Line]]]:
        """The lines under their headings, in order."""
        groups: list[tuple[str, list[Line]]] = []
        for line in self.lines:
            if not groups or groups[-1][0] != line.group:
                groups.append((line.group, []))
            groups[-1][1].append(line)
        return groups


@dataclass(frozen=True)
class Figure:
    """A drawing with its words.

    Attributes:
        title: what it shows.
        about: how to read it.
        drawing: SVG from one of our own templates; its numbers stand in a table nearby.
        finding: whether ``about`` is a finding that deserves notice.
    """

    title: str
    about: str
    drawing: Markup
    finding: bool = False


@dataclass(frozen=True)
class Figures:
    """Drawings: ``wide`` ones below each other, others side by side, two or more in a row."""

    figures: tuple[Figure, ...]
    size: Literal["small", "half", "wide"] = "half"


@dataclass(frozen=True)
class Terms:
    """Words and what they mean."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Verbatim:
    """Text exactly as it stands somewhere: a signature, a manifest."""

    text: str


@dataclass(frozen=True)
class Fold:
    """Blocks that are opened when asked for."""

    summary: str
    blocks: tuple[Block, ...]


Block: TypeAlias = Prose | Grid | Figures | Terms | Verbatim | Fold | Samples


@dataclass(frozen=True)
class Part:
    """One heading of a section and what stands under it.

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
    def drawn_only(self) -> bool:
        """Whether it only draws what stands in another part's tables: nothing for Markdown."""
        drawn = [one for one in self.blocks if isinstance(one, Figures)]
        said = [one for one in self.blocks if not isinstance(one, Figures | Prose)]
        return bool(drawn) and not said and not any(f.finding for d in drawn for f in d.figures)


def estimate_cell(value: ChartEstimate, *more: str, tone: Tone = "") -> Cell:
    """A number with its interval and, where they say more, its worst-case bounds."""
    below = [value.interval_text] if value.interval_text else []
    if value.worst_text:
        below.append(f"bounds {value.worst_text}")
    return Cell(value.text, (*below, *more), tone)
