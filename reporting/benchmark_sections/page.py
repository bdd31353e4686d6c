"""A section as a page of its own, with its exports beside it."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from kg.base.files import to_json_bytes, write_files_atomic
from kg.words.plain_text import listing
from reporting.benchmark_sections.opening import section_of
from reporting.benchmark_sections.section import PAGE_LEVEL, Section
from reporting.templating import content_hash, environment, script, style
from reporting.visible import visible

JSON_SCHEMA = "epoche.section/1"
STEM = "report"
"""The page of a run's folder is ``report.html`` in it."""

SCRIPTS = ("table.js", "samples.js")


def render_page(section: Section, *, beside: list[str]) -> str:
    """The section as one HTML document.

    Args:
        section: what it shows.
        beside: names of the files written beside the page.
    """
    code = script(*SCRIPTS) if section.has_samples else ""
    context = {
        "section": section,
        "version": section.version,
        "script_hash": content_hash(code) if code else "",
        "script": Markup(code),  # noqa: S704  our own files
        "title": visible(section.title),
        "subtitle": visible(section.about),
        "notices": [visible(text) for text in section.notices],
        "stats": [(visible(value), visible(name)) for value, name in section.stats],
        "sections": [(f"{section.id}-{part.id}", visible(part.name)) for part in section.parts],
        "beside": listing([visible(name) for name in beside]) or "nothing",
        "css": style(),
    }
    return environment().get_template("section.html.j2").render(context) + "\n"


def page_files(section: Section, stem: str = STEM) -> dict[str, bytes]:
    """The files of a section's page: name → bytes, the page first.

    ``report.html`` has ``report.md``, ``report.json`` and one ``report.<table>.csv`` a table
    beside it. The same section gives the same bytes.
    """
    document = {"schema": JSON_SCHEMA, "version": section.version, **section.document()}
    beside = {
        f"{stem}.md": section.markdown_at(PAGE_LEVEL).encode(),
        f"{stem}.json": to_json_bytes(document, indent=2) + b"\n",
        **{f"{stem}.{name}.csv": table.encode() for name, table in section.tables.items()},
    }
    page = render_page(section, beside=list(beside))
    return {f"{stem}.html": page.encode(), **beside}


def write_page(folder: Path | str) -> list[Path]:
    """Writes the page of a finished run into its folder; returns what was written.

    Raises:
        MissingFileError, RecordError: the folder holds no finished run of a known kind.
        WriteError: a file cannot be written; then none is.
    """
    folder = Path(folder)
    files = {folder / name: data for name, data in page_files(section_of(folder)).items()}
    write_files_atomic(files)
    return list(files)
