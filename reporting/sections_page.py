"""Writes several sections on one page, without cards, with their exports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from markupsafe import Markup

from eval.blocks.escaped_text import escape_markdown
from eval.blocks.section import Section
from kg.base.files import to_json_bytes, write_files_atomic
from kg.base.plain_text import join_list
from kg.base.provenance import package_version
from reporting.card_report.report_files import (
    FORMATS,
    Format,
    list_output_files,
    refuse_overwriting,
)
from reporting.page_templates import (
    compute_script_hash,
    get_environment,
    read_scripts,
    render_style,
)
from reporting.section_page import SCRIPTS
from reporting.section_renderer import (
    REPORT_LEVEL,
    SectionView,
    build_section_document,
    render_section_markdown,
)
from reporting.visible_text import make_visible

JSON_SCHEMA = "epoche.sections/1"
TITLE = "Results of several runs"


def write_sections(
    sections: Sequence[Section], out: Path, formats: Collection[Format] = FORMATS
) -> list[Path]:
    """Writes the page of some runs, and its exports; returns the files written.

    Next to ``report.html`` are ``report.md``, ``report.json`` and the sections' tables as
    ``report.<section>.<table>.csv``.

    Args:
        sections: at least two; ``write_section`` writes the page of one.
        out: the page.
        formats: what to write.

    Raises:
        SettingError: a file would overwrite one that the page is made from.
        WriteError: a file cannot be written; then none is.
    """
    inputs = [path for section in sections for path in section.sources]
    refuse_overwriting(out, list(formats), inputs, sections)
    paths = list_output_files(out, sections)
    # The first two tables of a report are those of cards.
    tables = paths["csv"][2:]
    contents: dict[Path, bytes] = {}
    if "csv" in formats:
        rendered = [table for section in sections for table in section.tables.values()]
        contents |= {path: table.encode() for path, table in zip(tables, rendered, strict=True)}
    if "md" in formats:
        text = f"# {escape_markdown(TITLE)}\n\n" + "\n".join(
            render_section_markdown(section, REPORT_LEVEL) for section in sections
        )
        contents[paths["md"][0]] = text.encode()
    if "json" in formats:
        document = {
            "schema": JSON_SCHEMA,
            "version": package_version(),
            "benchmarks": {section.id: build_section_document(section) for section in sections},
        }
        contents[paths["json"][0]] = to_json_bytes(document, indent=2) + b"\n"
    if "html" in formats:
        beside = [path.name for path in contents]
        contents = {out: _render_page(sections, beside).encode(), **contents}
    write_files_atomic(contents)
    return list(contents)


def _render_page(sections: Sequence[Section], beside: Sequence[str]) -> str:
    views = [SectionView(section) for section in sections]
    code = read_scripts(*SCRIPTS) if any(view.has_samples for view in views) else ""
    names = [make_visible(section.name) for section in sections]
    context = {
        "benchmarks": views,
        "version": package_version(),
        "script_hash": compute_script_hash(code) if code else "",
        "script": Markup(code),  # noqa: S704  our own files
        "title": make_visible(TITLE),
        "subtitle": join_list(names),
        "notices": [],
        "stats": [(str(len(sections)), "runs")],
        "sections": list(zip([section.id for section in sections], names, strict=True)),
        "beside": join_list([make_visible(name) for name in beside]) or "nothing",
        "css": render_style(),
    }
    return get_environment().get_template("sections.html.j2").render(context) + "\n"
