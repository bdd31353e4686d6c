"""Writes a section as a page of its own, with its exports."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from markupsafe import Markup

from eval.blocks.page import PAGE_FORMATS, PAGE_STEM, PageFormat
from eval.blocks.section import Section
from kg.base.errors import SettingError
from kg.base.files import check_output, to_json_bytes, write_files_atomic
from kg.base.plain_text import join_list
from reporting.page_templates import (
    compute_script_hash,
    get_environment,
    read_scripts,
    render_style,
)
from reporting.section_renderer import (
    PAGE_LEVEL,
    SectionView,
    build_section_document,
    render_section_markdown,
)
from reporting.visible_text import make_visible

JSON_SCHEMA = "epoche.section/1"

SCRIPTS = ("table.js", "samples.js")


def render_page(section: Section, *, beside: list[str]) -> str:
    """Renders the section as one HTML document.

    Args:
        section: what it shows.
        beside: names of the files written beside the page.
    """
    view = SectionView(section)
    code = read_scripts(*SCRIPTS) if view.has_samples else ""
    context = {
        "section": view,
        "version": section.version,
        "script_hash": compute_script_hash(code) if code else "",
        "script": Markup(code),  # noqa: S704  our own files
        "title": make_visible(section.title),
        "subtitle": make_visible(section.about),
        "notices": [make_visible(text) for text in section.notices],
        "stats": [(make_visible(value), make_visible(name)) for value, name in section.stats],
        "sections": [
            (f"{section.id}-{part.id}", make_visible(part.name)) for part in section.parts
        ],
        "beside": join_list([make_visible(name) for name in beside]) or "nothing",
        "css": render_style(),
    }
    return get_environment().get_template("section.html.j2").render(context) + "\n"


def build_page_files(
    section: Section, stem: str = PAGE_STEM, formats: Collection[PageFormat] = PAGE_FORMATS
) -> dict[str, bytes]:
    """The files of a section's page: name → bytes, the page first.

    ``report.html`` has ``report.md``, ``report.json`` and one ``report.<table>.csv`` a table
    beside it, and ``report.<table>.parquet`` where the section has them. The same section gives
    the same bytes.
    """
    beside: dict[str, bytes] = {}
    if "md" in formats:
        beside[f"{stem}.md"] = render_section_markdown(section, PAGE_LEVEL).encode()
    if "json" in formats:
        document = {
            "schema": JSON_SCHEMA,
            "version": section.version,
            **build_section_document(section),
        }
        beside[f"{stem}.json"] = to_json_bytes(document, indent=2) + b"\n"
    if "csv" in formats:
        beside |= {f"{stem}.{name}.csv": one.encode() for name, one in section.tables.items()}
    if "parquet" in formats:
        beside |= {f"{stem}.{name}.parquet": one for name, one in section.parquet.items()}
    if "html" not in formats:
        return beside
    page = render_page(section, beside=list(beside))
    return {f"{stem}.html": page.encode(), **beside}


def write_section(
    section: Section, out: Path, formats: Collection[PageFormat] = PAGE_FORMATS
) -> list[Path]:
    """Writes a section as a page, with its exports beside it.

    Raises:
        SettingError, WriteError: as ``write_page``.
    """
    check_output(out)
    made = build_page_files(section, out.stem, formats)
    # The page itself is called what it was asked to be called, ``.htm`` too.
    files = {
        out if name == f"{out.stem}.html" else out.parent / name: data
        for name, data in made.items()
    }
    sources = {path.resolve() for path in section.sources}
    for path in files:
        if path.resolve() in sources:
            raise SettingError(
                "the page would overwrite a file it is made from",
                where=str(path),
                hint="Choose another name for the page.",
            )
    write_files_atomic(files)
    return list(files)
