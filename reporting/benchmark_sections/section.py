"""A section: what one benchmark's finished run has to show, wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from reporting.benchmark_sections.blocks import Block, Figure, Fold, Part
from reporting.benchmark_sections.samples import Samples, sample_data
from reporting.benchmark_sections.section_words import block_markdown
from reporting.escaped_text import escape_markdown
from reporting.page_templates import get_environment
from reporting.visible_text import embed_json, make_visible

PAGE_LEVEL, REPORT_LEVEL = 2, 3
"""Level of the parts' headings on the section's own page, and within another report."""


@dataclass(frozen=True)
class Section:
    """One benchmark's run, ready to be shown.

    Attributes:
        id: begins the ids of everything in it: a letter, then letters, digits and hyphens.
        name: for the navigation, a word or two.
        title: the heading.
        about: what it is about, in a few words.
        verdict: what the data say, and what they cannot.
        caveats: what must be held against the headline numbers.
        notices: what must be read before the numbers.
        stats: (value, what it counts) in a row under the verdict.
        parts: in order.
        overview: the drawing beside the verdict.
        tables: name → CSV; the files are called ``<stem>.<name>.csv``.
        parquet: the same tables as Parquet, for the section's own page; none where the
            benchmark has none or they cannot be written.
        made_from: files that it was made from, which no report may overwrite.
        data: everything for programs, as JSON can hold it.
        version: of Epoché, that made the run.
    """

    id: str
    name: str
    title: str
    about: str
    verdict: tuple[str, ...]
    parts: tuple[Part, ...]
    version: str
    overview: Figure | None = None
    caveats: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    stats: tuple[tuple[str, str], ...] = ()
    tables: dict[str, str] = field(default_factory=dict)
    parquet: dict[str, bytes] = field(default_factory=dict)
    made_from: tuple[Path, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def html(self) -> Markup:
        """The section as it stands in another report, headings below that report's own."""
        return _macro("whole", self, REPORT_LEVEL)

    @property
    def parts_html(self) -> Markup:
        """The parts alone, as they stand on the section's own page."""
        return _macro("parts", self, PAGE_LEVEL)

    @property
    def markdown(self) -> str:
        """The section as Markdown within another report, from its second-level heading on."""
        return self.markdown_at(REPORT_LEVEL)

    def markdown_at(self, level: int) -> str:
        """The section as Markdown.

        Args:
            level: of the parts' headings; the section's own is one above.
        """
        signs = "#" * level
        said = [
            f"{signs[1:]} {escape_markdown(self.title)}",
            f"*{escape_markdown(self.about)}*",
            escape_markdown(" ".join(self.verdict)),
        ]
        said += [escape_markdown(text) for text in self.caveats]
        said += [f"> {escape_markdown(text)}" for text in self.notices]
        for part in self.parts:
            if not part.drawn_only:
                blocks = [text for block in part.blocks for text in block_markdown(block)]
                said += [f"{signs} {escape_markdown(part.title)}", *blocks]
        return "\n\n".join(text for text in said if text) + "\n"

    @property
    def has_samples(self) -> bool:
        """Whether the page needs the script for sample tables."""
        return any(True for _ in self._samples())

    def document(self) -> dict[str, Any]:
        """The section for programs: what it says, and its data."""
        return {
            "id": self.id,
            "title": make_visible(self.title),
            "about": make_visible(self.about),
            "verdict": [make_visible(text) for text in self.verdict],
            "caveats": [make_visible(text) for text in self.caveats],
            "notices": [make_visible(text) for text in self.notices],
            **self.data,
        }

    def embedded(self) -> Markup:
        """The data of its sample tables, for the script."""
        scripts = (
            Markup('<script type="application/json" id="{}-data">{}</script>').format(
                f"{self.id}-{id_}",
                Markup(embed_json(sample_data(samples))),  # noqa: S704  escaped by `embed`
            )
            for id_, samples in self._samples()
        )
        return Markup("\n").join(scripts)

    def _samples(self) -> Iterator[tuple[str, Samples]]:
        for part in self.parts:
            for block in _leaves(part.blocks):
                if isinstance(block, Samples):
                    yield part.id, block


def _leaves(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Fold):
            yield from _leaves(block.blocks)
        else:
            yield block


def _macro(name: str, section: Section, level: int) -> Markup:
    """One of the macros of ``templates/_section.html.j2``, which escapes what it is given."""
    macro = getattr(get_environment().get_template("_section.html.j2").module, name)
    html: Markup = macro(section, level)
    return html
