"""Summarises a run: counts, keywords, links between concepts, and sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING

import msgspec

from kg.base.plain_text import clean_text
from kg.text.run.layout import RunConfig
from kg.text.run.main_concepts import rank_concepts

if TYPE_CHECKING:
    from kg.text.chunks import Chunk
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.run.folder import Run
    from kg.text.sections.tree import SectionTree

PROBLEM_COUNTS = (
    "documents_skipped",
    "files_not_read",
    "keywords_invented",
    "chunks_without_reply",
    "groups_without_verdict",
)
"""Counts of a run that are shown only if they are not 0."""
MAX_SHOWN_ROWS = 15
"""Maximum number of rows of each list that ``RunReport.render_text`` shows."""
MAX_CONCEPTS = 1000
"""Maximum number of concepts that the report lists."""


class NumberSummary(msgspec.Struct, frozen=True):
    """Minimum, median, mean and maximum of some numbers; all 0 if there are none."""

    least: int
    median: float
    mean: float
    most: int


class ConceptCount(msgspec.Struct, frozen=True):
    """A concept and how often it occurs."""

    id: str
    label: str
    chunks: int
    degree: int
    """Number of concepts that it is linked to."""
    aliases: tuple[str, ...]


class DegreeBand(msgspec.Struct, frozen=True):
    """Number of concepts whose degree lies between ``least`` and ``most``, inclusive."""

    least: int
    most: int
    concepts: int


class DocumentSections(msgspec.Struct, frozen=True):
    """The sections of one document."""

    document: str
    sections: int
    depth: int
    """Number of levels; 1 if no section has subsections."""
    chunks: int


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a run, as fields; ``render_text()`` returns it as readable text."""

    sha256: str
    config: RunConfig
    versions: dict[str, str]
    documents: tuple[str, ...]
    counts: dict[str, int]
    chunk_characters: NumberSummary
    keywords_per_chunk: NumberSummary
    degree: NumberSummary
    degree_bands: tuple[DegreeBand, ...]
    """Ranges of degrees: 0, 1, 2–3, 4–7 and so on."""
    components: int
    largest_component: int
    """Number of concepts in the largest component."""
    merged: int
    """Number of normal forms that were merged into another."""
    concepts: tuple[ConceptCount, ...]
    """The main concepts first, see ``kg.text.run.main_concepts``."""
    sections: tuple[DocumentSections, ...] | None
    """None if there is no section tree."""

    def render_text(self) -> str:
        """Returns the report as text, with lists cut to ``MAX_SHOWN_ROWS`` rows."""
        return "\n".join(_render_lines(self)) + "\n"


def inspect_run(run: Run) -> RunReport:
    """Summarises a run. Reads all its files, so that a damaged file raises an error."""
    import networkx as nx

    graph = run.concepts.graph
    _ = run.canonical_embeddings  # not summarised, read only to validate the file
    sizes = sorted((len(nodes) for nodes in nx.connected_components(graph)), reverse=True)
    degrees = [degree for _, degree in graph.degree()]
    return RunReport(
        sha256=run.sha256,
        config=run.config,
        versions=run.metadata.versions,
        documents=tuple(document.filename for document in run.metadata.documents),
        counts=run.metadata.counts,
        chunk_characters=_summarise_numbers([len(chunk.text) for chunk in run.chunks]),
        keywords_per_chunk=_summarise_numbers([len(row.keywords) for row in run.keywords]),
        degree=_summarise_numbers(degrees),
        degree_bands=tuple(_count_degree_bands(degrees)),
        components=len(sizes),
        largest_component=sizes[0] if sizes else 0,
        merged=sum(len(forms) for _, forms in graph.nodes(data="forms")),
        concepts=tuple(_list_concepts(run.concepts, run.chunks)),
        sections=None if run.sections is None else tuple(_summarise_sections(run.sections)),
    )


def _summarise_numbers(numbers: Sequence[int]) -> NumberSummary:
    if not numbers:
        return NumberSummary(0, 0.0, 0.0, 0)
    return NumberSummary(min(numbers), float(median(numbers)), fmean(numbers), max(numbers))


def _count_degree_bands(degrees: Iterable[int]) -> Iterator[DegreeBand]:
    # Degrees of the same bit length form a band: 0, 1, 2–3, 4–7, …
    counts = Counter(degree.bit_length() for degree in degrees)
    for bits in range(max(counts, default=-1) + 1):
        lower = 0 if bits == 0 else 1 << (bits - 1)
        yield DegreeBand(lower, max(0, (1 << bits) - 1), counts[bits])


def _list_concepts(concepts: ConceptGraph, chunks: Sequence[Chunk]) -> Iterator[ConceptCount]:
    """Yields the main concepts, see ``rank_concepts``."""
    graph = concepts.graph
    for node in rank_concepts(concepts, chunks)[:MAX_CONCEPTS]:
        data = graph.nodes[node]
        yield ConceptCount(
            node, data["label"], len(data["chunk_ids"]), graph.degree(node), tuple(data["aliases"])
        )


def _summarise_sections(tree: SectionTree) -> Iterator[DocumentSections]:
    rows: dict[str, list[int]] = {}
    depth: dict[str, int] = {}
    for section, node in tree.nodes.items():
        depth[section] = 1 + (0 if node.parent is None else depth[node.parent])
        # Three numbers per document: sections, levels, chunks.
        row = rows.setdefault(section.split("#", 1)[0], [0, 0, 0])
        row[0] += 1
        row[1] = max(row[1], depth[section])
        row[2] += len(node.chunk_ids)
    for document, (count, levels, chunks) in rows.items():
        yield DocumentSections(document, count, levels, chunks)


def _render_lines(report: RunReport) -> Iterator[str]:
    counts, config = report.counts, report.config
    yield f"run         sha256 {report.sha256}"
    yield f"documents   {counts['documents']:,}: {_join_names(report.documents)}"
    yield (
        f"chunks      {counts['chunks']:,}, characters {_describe_summary(report.chunk_characters)}"
    )
    yield (
        f"keywords    {counts['keywords']:,} by {config.keywords.get('name')}, "
        f"per chunk {_describe_summary(report.keywords_per_chunk)}"
    )
    merge_summary = "only spelling variants were merged"
    if config.canonical is not None:
        merge_summary = (
            f"{report.merged:,} forms merged; "
            f"verifier {config.canonical.verifier.get('name')}, "
            f"embedder {clean_text(config.canonical.embedder.name)}, "
            f"threshold {config.canonical.threshold:g}"
        )
    yield f"canonical   {merge_summary}"
    yield (
        f"concepts    {counts['concepts']:,}, {counts['links']:,} links, "
        f"{report.components:,} components, the largest with {report.largest_component:,}"
    )
    yield f"degree      {_describe_summary(report.degree)}"
    for problem in PROBLEM_COUNTS:
        if counts.get(problem):
            yield f"problems    {problem.replace('_', ' ')}: {counts[problem]:,}"
    yield ""
    yield "DEGREES"
    largest_band = max((band.concepts for band in report.degree_bands), default=0)
    for band in report.degree_bands:
        degrees = f"{band.least:,}" if band.least == band.most else f"{band.least:,}–{band.most:,}"
        bar = "█" * round(40 * band.concepts / largest_band)
        yield f"{degrees:>13} {band.concepts:>9,}  {bar}".rstrip()
    yield ""
    yield f"MAIN CONCEPTS ({len(report.concepts):,})"
    yield f"{'chunks':>8} {'degree':>8}"
    for row in report.concepts[:MAX_SHOWN_ROWS]:
        aliases = f"  ({_join_names(row.aliases)})" if row.aliases else ""
        yield f"{row.chunks:>8,} {row.degree:>8,}  {clean_text(row.label)}{aliases}"
    yield ""
    if report.sections is None:
        yield "SECTIONS: no tree was built"
        return
    yield f"SECTIONS ({sum(row.sections for row in report.sections):,})"
    yield f"{'sections':>8} {'levels':>8} {'chunks':>8}"
    for summary in report.sections[:MAX_SHOWN_ROWS]:
        name = clean_text(summary.document)
        yield f"{summary.sections:>8,} {summary.depth:>8,} {summary.chunks:>8,}  {name}"
    if len(report.sections) > MAX_SHOWN_ROWS:
        yield (
            f"  … and {len(report.sections) - MAX_SHOWN_ROWS:,} more documents (--json lists them)"
        )


def _describe_summary(summary: NumberSummary) -> str:
    return (
        f"{summary.least:,} to {summary.most:,}, median {summary.median:,.0f}, mean "
        f"{summary.mean:,.1f}"
    )


def _join_names(names: Sequence[str]) -> str:
    first_names = ", ".join(map(clean_text, names[:4]))
    return first_names + (f" and {len(names) - 4:,} more" if len(names) > 4 else "")
