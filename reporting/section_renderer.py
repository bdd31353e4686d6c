"""Renders sections as HTML and Markdown, with the same text and numbers in both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any

from markupsafe import Markup

from eval.blocks.blocks import (
    Block,
    Cell,
    Definitions,
    Figure,
    Figures,
    Fold,
    Paragraphs,
    Table,
    TableRow,
)
from eval.blocks.escaped_text import escape_markdown, escape_markdown_cell, render_markdown_table
from eval.blocks.samples import Samples
from eval.blocks.section import Section
from reporting.charts.draw import draw_chart
from reporting.page_templates import get_environment
from reporting.sample_table import build_sample_data, list_first_rows, list_system_names
from reporting.visible_text import embed_json, make_visible

PAGE_LEVEL, REPORT_LEVEL = 2, 3
"""Level of the parts' headings on the section's own page, and within another report."""


class SectionView:
    """A section as the templates render it; attributes of the section are available too."""

    def __init__(self, section: Section) -> None:
        self.section = section
        self._figure_numbers = count(1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.section, name)

    @property
    def html(self) -> Markup:
        """The section within another report, with headings below that report's own."""
        return self._render("whole", REPORT_LEVEL)

    @property
    def parts_html(self) -> Markup:
        """The parts alone, for the section's own page."""
        return self._render("parts", PAGE_LEVEL)

    @property
    def opening_html(self) -> Markup:
        """The verdict with its chart, for the section's own page."""
        return self._render("opening")

    def draw(self, figure: Figure) -> Markup:
        """Draws a figure's chart, with an id that is unique on the page."""
        id_ = f"{self.section.id}-figure-{next(self._figure_numbers)}"
        return draw_chart(figure.chart, id_, figure.title, figure.alt)

    @property
    def has_samples(self) -> bool:
        """Whether the page needs the script for tables of samples."""
        return any(True for _ in self.section.iter_samples())

    def list_first_rows(self, samples: Samples) -> Any:
        """Returns the samples in the HTML."""
        return list_first_rows(samples)

    def list_system_names(self, samples: Samples) -> tuple[str, ...]:
        """Returns the systems' names for table heads."""
        return list_system_names(samples)

    def embed_samples(self) -> Markup:
        """Renders the data of the tables of samples, for the script."""
        scripts = (
            Markup('<script type="application/json" id="{}-data">{}</script>').format(
                f"{self.section.id}-{part_id}",
                Markup(embed_json(build_sample_data(samples))),  # noqa: S704  escaped there
            )
            for part_id, samples in self.section.iter_samples()
        )
        return Markup("\n").join(scripts)

    def _render(self, macro: str, *arguments: object) -> Markup:
        """Renders one of the macros of ``templates/_section.html.j2``, which escapes all text."""
        module = get_environment().get_template("_section.html.j2").module
        html: Markup = getattr(module, macro)(self, *arguments)
        return html


def build_section_document(section: Section) -> dict[str, Any]:
    """Builds the section for programs: its main text, and its data."""
    return {
        "id": section.id,
        "title": make_visible(section.title),
        "about": make_visible(section.about),
        "verdict": [make_visible(text) for text in section.verdict],
        "caveats": [make_visible(text) for text in section.caveats],
        "notices": [make_visible(text) for text in section.notices],
        **section.data,
    }


def render_section_markdown(section: Section, level: int) -> str:
    """Renders the section as Markdown, without charts.

    Args:
        section: the section.
        level: level of the parts' headings; the section's own heading is one above.
    """
    signs = "#" * level
    texts = [
        f"{signs[1:]} {escape_markdown(section.title)}",
        f"*{escape_markdown(section.about)}*",
        escape_markdown(" ".join(section.verdict)),
    ]
    texts += [escape_markdown(text) for text in section.caveats]
    texts += [f"> {escape_markdown(text)}" for text in section.notices]
    for part in section.parts:
        if not part.has_only_charts:
            blocks = [text for block in part.blocks for text in _render_block(block)]
            texts += [f"{signs} {escape_markdown(part.title)}", *blocks]
    return "\n\n".join(text for text in texts if text) + "\n"


def _render_block(block: Block) -> Iterator[str]:
    """Yields the paragraphs and tables of a block."""
    if isinstance(block, Paragraphs):
        mark = {"notice": "> ", "list": "- "}.get(block.kind, "")
        yield from (f"{mark}{escape_markdown(text)}" for text in block.paragraphs)
    elif isinstance(block, Table):
        about = f" {escape_markdown(block.about)}" if block.about else ""
        yield f"**{escape_markdown(block.title)}**{about}"
        if block.rows:
            heads = [escape_markdown_cell(column.name) for column in block.columns]
            rows = [[_render_name(block, row), *map(_render_cell, row.cells)] for row in block.rows]
            yield render_markdown_table(heads, rows)
    elif isinstance(block, Figures):
        # A table nearby has what a chart shows; only findings are not repeated anywhere.
        yield from (
            f"{escape_markdown(figure.title)}: {escape_markdown(figure.about)}"
            for figure in block.figures
            if figure.finding
        )
    elif isinstance(block, Fold):
        yield f"*{escape_markdown(block.summary)}*"
        for inner in block.blocks:
            yield from _render_block(inner)
    elif isinstance(block, Definitions):
        yield "\n".join(
            f"- **{escape_markdown(term)}**: {escape_markdown(meaning)}"
            for term, meaning in block.entries
        )
    elif isinstance(block, Samples):
        yield escape_markdown(f"{block.count}, all of them in {block.elsewhere}.")
    else:
        # All text is literal within a fence that is longer than any run of backquotes in it.
        text = make_visible(block.text)
        fence = "`" * max(3, *(1 + len(run) for run in re.findall("`+", text)), 3)
        yield f"{fence}\n{text}\n{fence}"


def _render_name(table: Table, row: TableRow) -> str:
    """Renders a row's name; in a table of pairs also the question that the pair answers."""
    below = f" ({row.below})" if row.below and table.look == "pairs" else ""
    return escape_markdown_cell(
        f"{row.group}: {row.name}{below}" if row.group else f"{row.name}{below}"
    )


def _render_cell(cell: Cell) -> str:
    below = f" ({escape_markdown_cell('; '.join(cell.below))})" if cell.below else ""
    return f"{escape_markdown_cell(cell.text)}{below}"
