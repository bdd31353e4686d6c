"""From checked inputs to the files of a report: the words for proofs, the page, its exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kg.base.errors import EpocheError, SettingError
from kg.base.files import check_output, write_files_atomic
from reporting.benchmark_sections.section import Section
from reporting.card_data import card_rows
from reporting.exports import cards_csv, markdown, metrics_csv, to_json
from reporting.inputs import Inputs
from reporting.proofs import ProofWords, plain_proof
from reporting.rendering import render
from reporting.view import View
from reporting.visible import shown_name, visible

Format = Literal["html", "csv", "md", "json"]
FORMATS: tuple[Format, ...] = ("html", "csv", "md", "json")

_SUFFIXES = (".html", ".htm")

TITLE = "Who knows when not to answer?"


def read_formats(text: str) -> list[Format]:
    """The formats of a comma-separated list, each once, in the order of ``FORMATS``.

    Raises:
        SettingError: an unknown format, or none.
    """
    asked = {part.strip().lower() for part in text.split(",") if part.strip()}
    unknown = sorted(asked.difference(FORMATS))
    if unknown or not asked:
        raise SettingError(
            f"unknown format {visible(unknown[0])!r}" if unknown else "no format asked for",
            where="--formats",
            hint=f"Any of {', '.join(FORMATS)}.",
        )
    return [form for form in FORMATS if form in asked]


@dataclass(frozen=True)
class ProofSource:
    """Where the words for proofs come from, and what the reader must be told about it."""

    words: ProofWords
    domain_title: str = ""
    notice: str = ""


def proof_source(
    domain: str | None,
    graph: Sequence[Path] = (),
    shapes: Sequence[Path] = (),
    *,
    asked_for: bool,
) -> ProofSource:
    """Opens the knowledge base for its words.

    Args:
        domain: shipped name, folder or file of a domain.
        graph: graph files, instead of or beside the domain's.
        shapes: shapes files.
        asked_for: whether the user named the source; then failing to open it is an error. A
            domain that only a manifest names may be out of reach on this machine: then the plain
            words are used, and the report says so.

    Raises:
        EpocheError: ``asked_for``, and the knowledge base cannot be opened.
    """
    if domain is None and not graph:
        return ProofSource(
            plain_proof,
            notice="Proofs are in plain words, since no manifest names a domain. Pass --domain or "
            "--kg for the domain's own words.",
        )
    from kg.knowledge import KnowledgeBase

    try:
        base = KnowledgeBase.open(domain, graph, shapes)
    except EpocheError as error:
        if asked_for:
            raise
        return ProofSource(
            plain_proof,
            notice=f"Proofs are in plain words, since domain {domain!r} could not be opened: "
            f"{error.one_line()}",
        )
    return ProofSource(base.words.proof, base.domain.title or base.domain.name)


def output_names(out: Path, sections: Sequence[Section] = ()) -> dict[Format, list[Path]]:
    """The files of each format for a report at ``out``, tables of its sections included."""
    tables = [f".{one.id}.{name}.csv" for one in sections for name in one.tables]
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
    """Makes sure that no file of the report would land on a file it is made from.

    Raises:
        SettingError: one would (``--out metrics.html`` writes ``metrics.json`` too).
        WriteError: ``out`` is a folder or a device.
    """
    check_output(out)
    names = output_names(out, sections)
    sources = {path.resolve() for path in inputs}
    for path in (path for form in formats for path in names[form]):
        if path.resolve() in sources:
            raise SettingError(
                "the report would overwrite a file it is made from",
                where=str(path),
                hint="Choose another --out.",
            )


def write_report(
    inputs: Inputs,
    out: Path,
    source: ProofSource,
    formats: Sequence[Format] = FORMATS,
    sections: Sequence[Section] = (),
) -> list[Path]:
    """Writes the report and its exports beside each other; returns what was written.

    ``report.html`` has ``report.csv`` (metrics), ``report.cards.csv``, ``report.md`` and
    ``report.json`` beside it, and ``report.<section>.<table>.csv`` for other benchmarks' runs.
    Each file is written all or nothing.

    Raises:
        WriteError: a file cannot be written.
    """
    view = View(inputs.metrics)
    shown = [*view.systems, *(name for name in inputs.systems if name in inputs.controls)]
    inputs = replace(inputs, systems=tuple(shown))
    rows = list(card_rows(inputs, source.words))
    notices = [source.notice] if source.notice else []
    if inputs.unproved:
        notices.append(
            f"{inputs.unproved:,} of {len(inputs.cards):,} cards came without a proof: their gold "
            "answers are taken on trust."
        )
    names = output_names(out, sections)
    contents: dict[Path, bytes] = {}
    about = shown_name(source.domain_title or inputs.domain or "")
    title = f"{about}: who knows when not to answer?" if about else TITLE
    for form in FORMATS:
        if form not in formats:
            continue
        if form == "html":
            page = render(
                inputs,
                rows,
                title=title,
                subtitle=f"card set {visible(inputs.metrics.cards)}",
                notices=notices,
                beside=[p.name for f in FORMATS[1:] if f in formats for p in names[f]],
                benchmarks=sections,
            )
            contents[out] = page.encode()
        elif form == "csv":
            systems = [shown_name(name) for name in inputs.systems]
            contents[names["csv"][0]] = metrics_csv(view).encode()
            contents[names["csv"][1]] = cards_csv(rows, systems).encode()
            tables = [table for one in sections for table in one.tables.values()]
            contents |= zip(names["csv"][2:], (table.encode() for table in tables), strict=True)
        elif form == "md":
            contents[names["md"][0]] = markdown(inputs, title, notices, sections).encode()
        else:
            contents[names["json"][0]] = to_json(inputs, rows, title, notices, sections)
    write_files_atomic(contents)
    return [path for form in FORMATS if form in formats for path in names[form]]
