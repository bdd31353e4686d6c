"""Writes the files of a drafted domain: ``domain.toml`` and the readiness page."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kg.base.plain_text import clean_text, format_count
from kg.graph import Graph
from kg.predicate_words import PredicateWording
from kg.profile.answers import quote_toml
from kg.profile.folder import PREPARED_GRAPH, make_title
from kg.profile.names import Naming
from kg.profile.readiness import Readiness, ReadinessReport, describe_doubtful
from kg.words.qualifiers import INVERSE

HEAD = "Written by `epoche kg init`"
"""What each file of a draft says in its first line."""
MAX_PAGE_ROWS = 200
"""Maximum number of predicates on the readiness page."""
_LEFT_OUT = "it describes an ontology and its terms and not things"


class DomainTexts(NamedTuple):
    """What is known of a graph that was extracted from documents."""

    wordings: Mapping[str, PredicateWording] = MappingProxyType({})
    """IRI of the predicate → templates; the others are made from the label."""
    passages: Path | None = None
    quotes: str = ""
    """Name of the file of quotes in the folder."""


class DraftedDomain(NamedTuple):
    """What is written of a domain, beside its predicates."""

    folder: Path
    name: str
    graph: Graph
    shapes_files: Sequence[Path]
    naming: Naming
    drafted_graphs: Sequence[str]
    """Names of the files in the folder with what was changed or added."""


def render_domain(domain: DraftedDomain, rows: Sequence[Readiness], texts: DomainTexts) -> str:
    """Renders ``domain.toml``."""
    graph_files = [*domain.drafted_graphs]
    sources = [_relate(path, domain.folder) for path in domain.graph.sources]
    is_changed = PREPARED_GRAPH in graph_files
    graph_files = graph_files if is_changed else sources + graph_files
    shapes_files = ["shapes.ttl", *(_relate(path, domain.folder) for path in domain.shapes_files)]
    lines = [
        f"# {HEAD}. A predicate needs only a label; fact, denied and questions may word it",
        "# better. default = true: cards ask about it. The others are only stated as facts.",
        f"name = {quote_toml(domain.name)}",
        f"title = {quote_toml(make_title(domain.name, domain.folder, domain.graph.sources))}",
        *([f"# If {_quote_list(sources)} changes, run `epoche kg init` again."] * is_changed),
        f"graph = {_quote_list(graph_files)}",
        f"shapes = {_quote_list(shapes_files)}",
        f"languages = {_quote_list(domain.naming.languages)}",
    ]
    if texts.passages:
        lines.append(f"passages = {quote_toml(_relate(texts.passages, domain.folder))}")
        lines.append(f"quotes = {quote_toml(texts.quotes)}")
    if domain.naming.predicates:
        names = [f"<{iri}>" for iri in domain.naming.predicates]
        lines.append(f"naming_predicates = {_quote_list(names)}")
    if domain.naming.qualifiers:
        lines.append("# By what things of the same name are told apart, best first.")
        names = [
            INVERSE * text.startswith(INVERSE) + f"<{text.removeprefix(INVERSE)}>"
            for text in domain.naming.qualifiers
        ]
        lines.append(f"qualifiers = {_quote_list(names)}")
    if domain.naming.coded_names:
        example = "order 5715fe11" if domain.naming.coded_names == "all" else "order 10248"
        lines.append(f'# Things without a label are called by their class and code: "{example}".')
        lines.append(f"coded_names = {quote_toml(domain.naming.coded_names)}")
    facts = [row for row in rows if row.is_fact or row.is_asked]
    prefixes = {
        prefix: namespace
        for prefix, namespace in sorted(domain.graph.prefixes.items())
        if prefix and namespace and any(row.iri.startswith(namespace) for row in facts)
    }
    if prefixes:
        lines += ["", "[prefixes]"]
        lines += [f"{quote_toml(key)} = {quote_toml(value)}" for key, value in prefixes.items()]
    for row in facts:
        lines += [
            "",
            f"[predicates.{quote_toml(f'<{row.iri}>')}]",
            f"label = {quote_toml(row.label)}",
        ]
        wording = texts.wordings.get(row.iri)
        if wording:
            lines += [
                f"fact = {quote_toml(wording.fact)}",
                f"denied = {quote_toml(wording.denied)}",
                f"questions = {_quote_list(wording.questions)}",
            ]
        if row.is_asked:
            lines.append("default = true")
    return "\n".join(lines) + "\n"


def render_page(report: ReadinessReport) -> str:
    """Renders the readiness page in Markdown."""
    doubtful = describe_doubtful(report)
    lines = [
        f"# What can be asked about {_escape(report.domain)}",
        "",
        " ".join(filter(None, (report.summary, report.advice))),
        "",
        f"`shapes.ttl` has {format_count(report.rules, 'rule')}, confirmed by the graph's "
        f"{report.triples:,} triples.{f' {doubtful}: say so in `confirm.toml`.' * bool(doubtful)}",
        "",
        *(
            [f"Left out, because {_LEFT_OUT}: {'; '.join(map(_escape, report.left_out))}.", ""]
            * bool(report.left_out)
        ),
        *(
            [f"Reading the files: {'; '.join(map(_escape, report.skipped))}.", ""]
            * bool(report.skipped)
        ),
        "| predicate | facts | subjects | nameable | ceiling | rule, or why nothing is asked |",
        "|---|---:|---:|---:|---:|---|",
    ]
    labels = Counter(row.label for row in report.predicates)
    for row in report.predicates[:MAX_PAGE_ROWS]:
        name = f"{row.label} ({row.iri})" if labels[row.label] > 1 else row.label
        why = f"{row.rule}: {row.support}" if row.is_asked else row.reason
        if row.shares_links_with:
            why += f"; counted with “{row.shares_links_with}”, which links the same things"
        lines.append(
            f"| {_escape(name if row.label else row.iri)} | {row.facts:,} | {row.subjects:,} | "
            f"{row.nameable:,} | {row.ceiling:,} | {_escape(why)} |"
        )
    n_more = len(report.predicates) - MAX_PAGE_ROWS
    if n_more > 0:
        lines += ["", f"{n_more:,} more predicates are in the output of `epoche kg init --json`."]
    return "\n".join([*lines, "", report.formula, ""])


def _escape(text: str) -> str:
    """Returns text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", clean_text(text))


def _relate(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on Windows, there is no relative path to another drive
        return path.resolve().as_posix()


def _quote_list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(quote_toml, texts))}]"
