"""What is in a run: counts, how the concepts are linked, what the sections look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING

import msgspec

from kg.text.run.form import RunConfig
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.run.folder import Run
    from kg.text.sections.tree import SectionTree

SHOWN = 15
"""Rows of each list that ``text`` shows; the report itself holds up to ``KEPT``."""
KEPT = 1000


class Spread(msgspec.Struct, frozen=True):
    """Some numbers in short; all 0 for none."""

    least: int
    median: float
    mean: float
    most: int


class ConceptCount(msgspec.Struct, frozen=True):
    """A concept and how much the text speaks of it."""

    id: str
    label: str
    chunks: int
    degree: int
    """Concepts that it is linked to."""
    aliases: tuple[str, ...]


class DegreeBand(msgspec.Struct, frozen=True):
    """How many concepts have so many links."""

    least: int
    most: int
    concepts: int


class DocumentSections(msgspec.Struct, frozen=True):
    """The sections of one document."""

    document: str
    sections: int
    depth: int
    """Levels, 1 where no section lies in another."""
    chunks: int


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """The findings; ``text()`` for people, the fields for programs."""

    sha256: str
    config: RunConfig
    versions: dict[str, str]
    documents: tuple[str, ...]
    counts: dict[str, int]
    chunk_characters: Spread
    keywords_per_chunk: Spread
    degree: Spread
    degree_bands: tuple[DegreeBand, ...]
    """By doublings; 0 on its own."""
    components: int
    largest_component: int
    """Its concepts."""
    merged: int
    """Other ways to write a concept that were found to be it."""
    concepts: tuple[ConceptCount, ...]
    """Those of most chunks first."""
    sections: tuple[DocumentSections, ...] | None
    """None where there is no section tree."""

    def text(self) -> str:
        """The report in lines, lists cut at ``SHOWN`` rows."""
        return "\n".join(_lines(self)) + "\n"


def inspect_run(run: Run) -> RunReport:
    """Looks a run over; reads, and so checks, every part of it."""
    import networkx as nx

    graph = run.concepts.graph
    _ = run.canonical_embeddings
    sizes = sorted((len(found) for found in nx.connected_components(graph)), reverse=True)
    degrees = [degree for _, degree in graph.degree()]
    return RunReport(
        sha256=run.sha256,
        config=run.config,
        versions=run.metadata.versions,
        documents=tuple(document.filename for document in run.metadata.documents),
        counts=run.metadata.counts,
        chunk_characters=_spread([len(chunk.text) for chunk in run.chunks]),
        keywords_per_chunk=_spread([len(row.keywords) for row in run.keywords]),
        degree=_spread(degrees),
        degree_bands=tuple(_bands(degrees)),
        components=len(sizes),
        largest_component=sizes[0] if sizes else 0,
        merged=sum(len(forms) for _, forms in graph.nodes(data="forms")),
        concepts=tuple(_concepts(run.concepts)),
        sections=None if run.sections is None else tuple(_sections(run.sections)),
    )


def _spread(numbers: Sequence[int]) -> Spread:
    if not numbers:
        return Spread(0, 0.0, 0.0, 0)
    return Spread(min(numbers), float(median(numbers)), fmean(numbers), max(numbers))


def _bands(degrees: Iterable[int]) -> Iterator[DegreeBand]:
    counted = Counter(degree.bit_length() for degree in degrees)
    for bits in range(max(counted, default=-1) + 1):
        least = 0 if bits == 0 else 1 << (bits - 1)
        yield DegreeBand(least, max(0, (1 << bits) - 1), counted[bits])


def _concepts(concepts: ConceptGraph) -> Iterator[ConceptCount]:
    graph = concepts.graph
    ranked = sorted(graph, key=lambda node: (-len(graph.nodes[node]["chunk_ids"]), node))
    for node in ranked[:KEPT]:
        data = graph.nodes[node]
        yield ConceptCount(
            node, data["label"], len(data["chunk_ids"]), graph.degree(node), tuple(data["aliases"])
        )


def _sections(tree: SectionTree) -> Iterator[DocumentSections]:
    rows: dict[str, list[int]] = {}
    depth: dict[str, int] = {}
    for section, node in tree.nodes.items():
        depth[section] = 1 + (0 if node.parent is None else depth[node.parent])
        row = rows.setdefault(section.split("#", 1)[0], [0, 0, 0])
        row[0] += 1
        row[1] = max(row[1], depth[section])
        row[2] += len(node.chunk_ids)
    for document, (count, deepest, chunks) in rows.items():
        yield DocumentSections(document, count, deepest, chunks)


def _lines(report: RunReport) -> Iterator[str]:
    counts, config = report.counts, report.config
    yield f"run         sha256 {report.sha256}"
    yield f"documents   {counts['documents']:,}: {_listed(report.documents)}"
    yield f"chunks      {counts['chunks']:,}, characters {_in_words(report.chunk_characters)}"
    yield (
        f"keywords    {counts['keywords']:,} by {config.keywords.get('name')}, "
        f"a chunk {_in_words(report.keywords_per_chunk)}"
    )
    merging = "spellings only"
    if config.canonical is not None:
        merging = (
            f"{report.merged:,} forms merged, {config.canonical.verifier.get('name')} over "
            f"{plain(config.canonical.embedder.name)} at {config.canonical.threshold:g}"
        )
    yield f"canonical   {merging}"
    yield (
        f"concepts    {counts['concepts']:,}, {counts['links']:,} links, "
        f"{report.components:,} components, the largest of {report.largest_component:,}"
    )
    yield f"degree      {_in_words(report.degree)}"
    for name in ("keywords_invented", "chunks_without_reply", "groups_without_verdict"):
        if counts.get(name):
            yield f"lost        {name.replace('_', ' ')}: {counts[name]:,}"
    yield ""
    yield "DEGREES"
    most = max((band.concepts for band in report.degree_bands), default=0)
    for band in report.degree_bands:
        reach = f"{band.least:,}" if band.least == band.most else f"{band.least:,}–{band.most:,}"
        bar = "█" * round(40 * band.concepts / most)
        yield f"{reach:>13} {band.concepts:>9,}  {bar}".rstrip()
    yield ""
    yield f"CONCEPTS OF MOST CHUNKS ({len(report.concepts):,})"
    yield f"{'chunks':>8} {'degree':>8}"
    for row in report.concepts[:SHOWN]:
        also = f"  ({_listed(row.aliases)})" if row.aliases else ""
        yield f"{row.chunks:>8,} {row.degree:>8,}  {plain(row.label)}{also}"
    yield ""
    if report.sections is None:
        yield "SECTIONS: no tree was built"
        return
    yield f"SECTIONS ({sum(row.sections for row in report.sections):,})"
    yield f"{'sections':>8} {'levels':>8} {'chunks':>8}"
    for part in report.sections[:SHOWN]:
        yield f"{part.sections:>8,} {part.depth:>8,} {part.chunks:>8,}  {plain(part.document)}"
    if len(report.sections) > SHOWN:
        yield f"  … and {len(report.sections) - SHOWN:,} more documents (--json lists them)"


def _in_words(spread: Spread) -> str:
    return (
        f"{spread.least:,} to {spread.most:,}, median {spread.median:,.0f}, mean {spread.mean:,.1f}"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(plain, names[:4]))
    return shown + (f" and {len(names) - 4:,} more" if len(names) > 4 else "")
