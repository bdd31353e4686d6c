"""Writes the concept graph as networkx's node-link JSON, and reads and validates it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from kg.base.errors import RunFolderError
from kg.base.files import to_json_bytes
from kg.text.concepts.association import compute_npmi
from kg.text.concepts.concept_graph import ConceptGraph
from kg.triples.loader import pause_garbage_collection
from kg.words.normaliser import normalise_phrase

if TYPE_CHECKING:
    import networkx as nx

MAX_NODES = 5_000_000
"""Maximum number of nodes."""
MAX_EDGES = 50_000_000
"""Maximum number of edges. No collection of documents that fits in memory gives a larger graph."""

_REBUILD_HINT = "Build the run again with `epoche kg build`."


class _Node(msgspec.Struct):
    id: str
    label: str = ""
    aliases: list[str] = []
    forms: list[str] | None = None
    chunk_ids: list[str] = []
    count: int | None = None


class _Edge(msgspec.Struct):
    source: str
    target: str
    weight: int = 1
    npmi: float | None = None
    """Only in files of other programs; ours has the counts that it is computed from."""


class _NodeLink(msgspec.Struct):
    """Node-link data; networkx writes edges under ``links`` before 3.4 and ``edges`` since."""

    nodes: list[_Node]
    edges: list[_Edge] | None = None
    links: list[_Edge] | None = None
    directed: bool = False
    multigraph: bool = False
    graph: dict[str, Any] = {}


def encode_graph(concepts: ConceptGraph) -> bytes:
    """Returns the graph as node-link JSON that ``networkx.node_link_graph`` reads by default.

    NPMI is left out: it follows from the weights and counts, and would double the size.
    """
    return b"".join(iter_encoded(concepts))


def iter_encoded(concepts: ConceptGraph) -> Iterator[bytes]:
    """Yields what ``encode_graph`` returns in small pieces, which need not be held together."""
    head = to_json_bytes({"directed": False, "multigraph": False, "graph": concepts.totals})
    yield head.removesuffix(b"}") + b',"nodes":['
    yield from _join_rows({"id": node, **data} for node, data in concepts.attributes.items())
    yield b'],"edges":['
    yield from _join_rows(
        {"source": first, "target": second, "weight": weight}
        for first, second, weight in concepts.iter_links()
    )
    yield b"]}"


def _join_rows(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    separator = b""
    for row in rows:
        yield separator + to_json_bytes(row)
        separator = b","


def decode_graph(data: bytes, where: str) -> ConceptGraph:
    """Reads node-link JSON with edges under ``edges`` or ``links``.

    Args:
        data: the file's bytes.
        where: the file, for messages.

    Raises:
        RunFolderError: other JSON, a directed graph or multigraph, a duplicate node or edge, a
            self-loop, an edge to an unknown node, or a graph that is too large.
    """
    try:
        with pause_garbage_collection():
            raw = msgspec.json.decode(data, type=_NodeLink)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunFolderError(
            f"not a graph in node-link JSON: {error}", where=where, hint=_REBUILD_HINT
        ) from error
    edges = raw.edges if raw.edges is not None else raw.links
    if edges is None:
        raise RunFolderError(
            "the graph has neither edges nor links", where=where, hint=_REBUILD_HINT
        )
    if raw.directed or raw.multigraph:
        raise RunFolderError(
            "a directed graph or multigraph, not a concept graph", where=where, hint=_REBUILD_HINT
        )
    if len(raw.nodes) > MAX_NODES or len(edges) > MAX_EDGES:
        raise RunFolderError("the graph is too large", where=where, hint="Split the documents.")
    with pause_garbage_collection():
        return ConceptGraph(_build_graph(raw, edges, where))


def _build_graph(raw: _NodeLink, edges: list[_Edge], where: str) -> nx.Graph:
    import networkx as nx

    graph = nx.Graph()
    graph.graph.update(raw.graph)
    # Saves memory: one string object per chunk id, instead of one per mention.
    unique_ids: dict[str, str] = {}
    for node in sorted(raw.nodes, key=lambda node: node.id):
        if node.id in graph:
            raise RunFolderError(f"duplicate node {node.id!r}", where=where, hint=_REBUILD_HINT)
        label = node.label or node.id
        forms = node.forms
        if forms is None:
            forms = sorted(
                {normalise_phrase(text) for text in (label, *node.aliases)} - {node.id, ""}
            )
        graph.add_node(
            node.id,
            label=label,
            aliases=node.aliases,
            forms=forms,
            chunk_ids=[unique_ids.setdefault(chunk, chunk) for chunk in node.chunk_ids],
            count=len(node.chunk_ids) if node.count is None else node.count,
        )
    for edge in sorted(edges, key=_sort_ends):
        first, second = _sort_ends(edge)
        if first == second:
            raise RunFolderError(
                f"node {first!r} is linked to itself", where=where, hint=_REBUILD_HINT
            )
        for end in (first, second):
            if end not in graph:
                raise RunFolderError(
                    f"an edge refers to {end!r}, which is not a node",
                    where=where,
                    hint=_REBUILD_HINT,
                )
        if graph.has_edge(first, second):
            raise RunFolderError(
                f"{first!r} and {second!r} are linked twice", where=where, hint=_REBUILD_HINT
            )
        if edge.weight < 1:
            raise RunFolderError(
                f"the edge of {first!r} and {second!r} has weight {edge.weight}, not 1 or more",
                where=where,
                hint=_REBUILD_HINT,
            )
        graph.add_edge(
            first,
            second,
            weight=edge.weight,
            npmi=_compute_npmi(graph, first, second, edge),
        )
    return graph


def _compute_npmi(graph: nx.Graph, first: str, second: str, edge: _Edge) -> float:
    """Returns the NPMI of an edge; 0 if it is neither given nor follows from the counts."""
    if edge.npmi is not None:
        return edge.npmi
    counts = (graph.nodes[first]["count"], graph.nodes[second]["count"], graph.graph.get("chunks"))
    try:
        return compute_npmi(edge.weight, *counts)
    except (ValueError, TypeError):  # a graph of another program, which counts in another way
        return 0.0


def _sort_ends(edge: _Edge) -> tuple[str, str]:
    return (edge.source, edge.target) if edge.source < edge.target else (edge.target, edge.source)
