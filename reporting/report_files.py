"""Writes the files of a report: chooses the wording of proofs, renders the page and its exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kg.base.errors import EpocheError, SettingError
from kg.base.files import check_output, write_files_atomic
from reporting.benchmark_sections.section import Section
from reporting.card_data import build_card_rows
from reporting.exports import render_cards_csv, render_json, render_markdown, render_metrics_csv
from reporting.inputs import ReportInputs
from reporting.proofs import ProofRenderer, describe_proof
from reporting.report_page import render_report
from reporting.report_view import ReportView
from reporting.visible_text import format_name, make_visible

Format = Literal["html", "csv", "md", "json"]
FORMATS: tuple[Format, ...] = ("html", "csv", "md", "json")

_SUFFIXES = (".html", ".htm")

TITLE = "Who knows when not to answer?"


def parse_formats(text: str) -> list[Format]:
    """Parses a comma-separated list of formats; returns each once, in the order of ``FORMATS``.

    Raises:
        SettingError: an unknown format, or none.
    """
    requested = {part.strip().lower() for part in text.split(",") if part.strip()}
    unknown = sorted(requested.difference(FORMATS))
    if unknown or not requested:
        raise SettingError(
            f"unknown format {make_visible(unknown[0])!r}" if unknown else "no format is given",
            where="--formats",
            hint=f"Use any of {', '.join(FORMATS)}, comma-separated.",
        )
    return [form for form in FORMATS if form in requested]


@dataclass(frozen=True)
class ProofSource:
    """How proofs are worded, and a notice about it for the reader (or an empty string)."""

    render_proof: ProofRenderer
    domain_title: str = ""
    notice: str = ""


def open_proof_source(
    domain: str | None,
    graph: Sequence[Path] = (),
    shapes: Sequence[Path] = (),
    *,
    is_required: bool,
) -> ProofSource:
    """Opens the knowledge base whose labels and templates word the proofs.

    Args:
        domain: shipped name, folder or file of a domain.
        graph: graph files, instead of the domain's or in addition to them.
        shapes: shapes files.
        is_required: whether the user named the source; then failing to open it is an error. A
            domain that only a manifest names may not exist on this machine: then proofs are worded
            from their records, and the report says so.

    Raises:
        EpocheError: ``is_required``, and the knowledge base cannot be opened.
    """
    if domain is None and not graph:
        return ProofSource(
            describe_proof,
            notice="Proofs are worded from their records, since no manifest names a domain. Pass "
            "--domain or --kg for the domain's own wording.",
        )
    from kg.knowledge import KnowledgeBase

    try:
        base = KnowledgeBase.open(domain, graph, shapes)
    except EpocheError as error:
        if is_required:
            raise
        return ProofSource(
            describe_proof,
            notice=f"Proofs are worded from their records, since domain {domain!r} could not be "
            f"opened: {error.format_line()}",
        )
    return ProofSource(base.verbaliser.render_proof, base.domain.title or base.domain.name)


def list_output_files(out: Path, sections: Sequence[Section] = ()) -> dict[Format, list[Path]]:
    """Lists the files of each format of a report at ``out``, with the tables of its sections."""
    tables = [f".{section.id}.{name}.csv" for section in sections for name in section.tables]
    return {
        "html": [out],
        "csv": [out.with_suffix(end) for end in (".csv", ".cards.csv", *tables)],
        "md": [out.with_suffix(".md")],
        "json": [out.with_suffix(".json")],
    }


def refuse_overwriting(
    out: Path,
    formats: Sequence[Format],
    inputs: Sequence[Path],
    sections: Sequence[Section] = (),
) -> None:
    """Checks that no file of the report would overwrite one of its input files.

    Raises:
        SettingError: one would (``--out metrics.html`` also writes ``metrics.json``).
        WriteError: ``out`` is a folder or a device.
    """
    check_output(out)
    names = list_output_files(out, sections)
    sources = {path.resolve() for path in inputs}
    for path in (path for form in formats for path in names[form]):
        if path.resolve() in sources:
            raise SettingError(
                "the report would overwrite a file it is made from",
                where=str(path),
                hint="Choose another --out.",
            )


def write_report(
    inputs: ReportInputs,
    out: Path,
    source: ProofSource,
    formats: Sequence[Format] = FORMATS,
    sections: Sequence[Section] = (),
) -> list[Path]:
    """Writes the report and its exports into one folder; returns the files written.

    Next to ``report.html`` are ``report.csv`` (metrics), ``report.cards.csv``, ``report.md``,
    ``report.json`` and, for sections of other benchmarks, ``report.<section>.<table>.csv``. Each
    file is written atomically.

    Raises:
        WriteError: a file cannot be written.
    """
    view = ReportView(inputs.metrics)
    # Cards list the systems in the order of the report's tables, controls last.
    ordered = [*view.systems, *(name for name in inputs.systems if name in inputs.controls)]
    inputs = replace(inputs, systems=tuple(ordered))
    rows = list(build_card_rows(inputs, source.render_proof))
    notices = [source.notice] if source.notice else []
    if inputs.n_unproved:
        notices.append(
            f"{inputs.n_unproved:,} of {len(inputs.cards):,} cards have no proof: their gold "
            "answers could not be checked."
        )
    names = list_output_files(out, sections)
    contents: dict[Path, bytes] = {}
    about = format_name(source.domain_title or inputs.domain or "")
    title = f"{about}: who knows when not to answer?" if about else TITLE
    for form in FORMATS:
        if form not in formats:
            continue
        if form == "html":
            page = render_report(
                inputs,
                rows,
                title=title,
                subtitle=f"card set {make_visible(inputs.metrics.cards)}",
                notices=notices,
                output_names=[p.name for f in FORMATS[1:] if f in formats for p in names[f]],
                benchmarks=sections,
            )
            contents[out] = page.encode()
        elif form == "csv":
            systems = [format_name(name) for name in inputs.systems]
            contents[names["csv"][0]] = render_metrics_csv(view).encode()
            contents[names["csv"][1]] = render_cards_csv(rows, systems).encode()
            tables = [table for section in sections for table in section.tables.values()]
            contents |= zip(names["csv"][2:], (table.encode() for table in tables), strict=True)
        elif form == "md":
            contents[names["md"][0]] = render_markdown(inputs, title, notices, sections).encode()
        else:
            contents[names["json"][0]] = render_json(inputs, rows, title, notices, sections)
    write_files_atomic(contents)
    return [path for form in FORMATS if form in formats for path in names[form]]
