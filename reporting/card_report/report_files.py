"""Writes the files of a report: chooses the wording of proofs, renders the page and its exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cards.card_origin import list_graph_hashes
from eval.blocks.section import Section
from eval.blocks.text_format import format_name
from kg.base.errors import EpocheError, SettingError
from kg.base.files import check_output, write_files_atomic
from reporting.card_report.card_data import build_card_rows
from reporting.card_report.exports import (
    render_cards_csv,
    render_json,
    render_markdown,
    render_metrics_csv,
)
from reporting.card_report.inputs import ReportInputs
from reporting.card_report.proofs import ProofRenderer, describe_proof
from reporting.card_report.report_page import render_report
from reporting.card_report.report_view import ReportView
from reporting.visible_text import make_visible

Format = Literal["html", "csv", "md", "json"]
FORMATS: tuple[Format, ...] = ("html", "csv", "md", "json")

TITLE = "Who knows when not to answer?"


def parse_formats(text: str) -> list[Format]:
    """Parses a comma-separated list of formats; returns each once, in the order of ``FORMATS``.

    Raises:
        SettingError: a format is unknown, or the list is empty.
    """
    requested = {part.strip().lower() for part in text.split(",") if part.strip()}
    unknown = sorted(requested.difference(FORMATS))
    if unknown or not requested:
        raise SettingError(
            f"unknown format {make_visible(unknown[0])!r}" if unknown else "no format is given",
            where="--formats",
            hint=f"Use any of {', '.join(FORMATS)}, comma-separated.",
        )
    return [output_format for output_format in FORMATS if output_format in requested]


@dataclass(frozen=True)
class ProofSource:
    """How the proofs of a report are worded."""

    render_proof: ProofRenderer
    domain_title: str = ""
    notice: str = ""
    """Tells the reader why the domain's wording is not used; empty if it is used."""


def open_proof_source(
    domain: str | None,
    graph: Sequence[Path] = (),
    shapes: Sequence[Path] = (),
    *,
    cards: Sequence[Path] = (),
    is_required: bool,
) -> ProofSource:
    """Opens the knowledge base whose labels and templates word the proofs.

    Args:
        domain: shipped name, folder or file of a domain.
        graph: graph files, instead of the domain's or in addition to them.
        shapes: shapes files.
        cards: the card files. A notice says if they were made from another graph.
        is_required: whether failing to open the source is an error, because the user named it. A
            domain that only a manifest names may not exist on this machine. If it does not, proofs
            are worded from their records, and the report says so.

    Raises:
        EpocheError: ``is_required``, and the knowledge base cannot be opened.
    """
    if domain is None and not graph:
        return ProofSource(
            describe_proof,
            notice="Proofs are worded from their records, since no manifest names a graph that is "
            "still there. Pass --domain, or --kg with --shapes, for the graph's own wording.",
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
    notice = ""
    if base.graph.sha256 not in (known := list_graph_hashes(cards)) and known:
        notice = (
            "Proofs are worded by another graph than the one that the cards were made from; names "
            "in them may be wrong."
        )
    return ProofSource(base.verbaliser.render_proof, base.domain.title or base.domain.name, notice)


def list_output_files(out: Path, sections: Sequence[Section] = ()) -> dict[Format, list[Path]]:
    """Lists the files of each format of a report at ``out``, with the tables of its sections."""
    tables = [f".{section.id}.{name}.csv" for section in sections for name in section.tables]
    return {
        "html": [out],
        "csv": [out.with_suffix(suffix) for suffix in (".csv", ".cards.csv", *tables)],
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
        SettingError: a file would be overwritten; for example, ``--out metrics.html`` also writes
            ``metrics.json``.
        WriteError: ``out`` is a folder or a device.
    """
    check_output(out)
    paths_by_format = list_output_files(out, sections)
    sources = {path.resolve() for path in inputs}
    for path in (path for output_format in formats for path in paths_by_format[output_format]):
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
    left_out: Sequence[str] = (),
) -> list[Path]:
    """Writes the report and its exports into one folder; returns the files written.

    Next to ``report.html`` are ``report.csv`` (metrics), ``report.cards.csv``, ``report.md``,
    ``report.json`` and, for sections of other benchmarks, ``report.<section>.<table>.csv``. Each
    file is written atomically. ``left_out`` has sentences on what is not shown, and why.

    Raises:
        WriteError: a file cannot be written.
    """
    view = ReportView(inputs.metrics)
    # Cards list the systems in the order of the report's tables, controls last.
    system_order = [*view.systems, *(name for name in inputs.systems if name in inputs.controls)]
    inputs = replace(inputs, systems=tuple(system_order))
    rows = list(build_card_rows(inputs, source.render_proof))
    notices = [*left_out, *([source.notice] if source.notice else [])]
    if inputs.n_unproved:
        notices.append(
            f"{inputs.n_unproved:,} of {len(inputs.cards):,} cards have no proof: their gold "
            "answers could not be checked."
        )
    paths_by_format = list_output_files(out, sections)
    contents: dict[Path, bytes] = {}
    subject = format_name(source.domain_title or inputs.domain or "")
    title = f"{subject}: who knows when not to answer?" if subject else TITLE
    for output_format in FORMATS:
        if output_format not in formats:
            continue
        if output_format == "html":
            page = render_report(
                inputs,
                rows,
                title=title,
                subtitle=f"card set {make_visible(inputs.metrics.cards)}",
                notices=notices,
                output_names=[
                    p.name for f in FORMATS[1:] if f in formats for p in paths_by_format[f]
                ],
                benchmarks=sections,
            )
            contents[out] = page.encode()
        elif output_format == "csv":
            systems = [format_name(name) for name in inputs.systems]
            contents[paths_by_format["csv"][0]] = render_metrics_csv(view).encode()
            contents[paths_by_format["csv"][1]] = render_cards_csv(rows, systems).encode()
            tables = [table for section in sections for table in section.tables.values()]
            contents |= zip(
                paths_by_format["csv"][2:], (table.encode() for table in tables), strict=True
            )
        elif output_format == "md":
            contents[paths_by_format["md"][0]] = render_markdown(
                inputs, title, notices, sections
            ).encode()
        else:
            contents[paths_by_format["json"][0]] = render_json(
                inputs, rows, title, notices, sections
            )
    write_files_atomic(contents)
    return [
        path
        for output_format in FORMATS
        if output_format in formats
        for path in paths_by_format[output_format]
    ]
