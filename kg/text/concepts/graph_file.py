"""The concept graph as a file: networkx's node-link JSON, read with suspicion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kg.base.errors import RunFolderError
from kg.base.files import to_json_bytes
from kg.loading import no_garbage_collection
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.normaliser import normalise

if TYPE_CHECKING:
    import networkx as nx

MAX_NODES = 5_000_000
MAX_EDGES = 50_000_000
"""A larger graph is refused: no collection of documents that fits in memory makes one."""

_HINT = "Build the run again with `epoche kg build`."


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
    npmi: float = 0.0
    chunk_ids: list[str] = []


class _NodeLink(msgspec.Struct):
    """Node-link data; networkx wrote edges under ``links`` before 3.4 and ``edges`` since."""

    nodes: list[_Node]
    edges: list[_Edge] | None = None
    links: list[_Edge] | None = None
    directed: bool = False
    multigraph: bool = False
    graph: dict[str, Any] = {}


def encode_graph(concepts: ConceptGraph) -> bytes:
    """The graph as node-link JSON that ``networkx.node_link_graph`` reads by default."""
    graph = concepts.graph
    return to_json_bytes(
        {
            "directed": False,
            "multigraph": False,
            "graph": dict(graph.graph),
            "nodes": [{"id": node, **data} for node, data in graph.nodes(data=True)],
            "edges": [
                {"source": one, "target": other, **data} for one, other, data in graph.edges.data()
            ],
        }
    )


def decode_graph(data: bytes, where: str) -> ConceptGraph:
    """Reads node-link JSON, its edges under ``edges`` or ``links``.

    Args:
        data: the file's bytes.
        where: the file, for messages.

    Raises:
        RunFolderError: not such JSON, a directed graph or multigraph, an id twice, an edge from a
            node to itself or to a node that is not there, or more than anyone needs.
    """
    try:
        with no_garbage_collection():
            raw = msgspec.json.decode(data, type=_NodeLink)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunFolderError(
            f"not a graph in node-link JSON: {error}", where=where, hint=_HINT
        ) from error
    edges = raw.edges if raw.edges is not None else raw.links
    if edges is None:
        raise RunFolderError("neither edges nor links", where=where, hint=_HINT)
    if raw.directed or raw.multigraph:
        raise RunFolderError(
            "a directed graph or multigraph, not a concept graph", where=where, hint=_HINT
        )
    if len(raw.nodes) > MAX_NODES or len(edges) > MAX_EDGES:
        raise RunFolderError("the graph is too large", where=where, hint="Split the documents.")
    with no_garbage_collection():
        return ConceptGraph(_built(raw, edges, where))


def _built(raw: _NodeLink, edges: list[_Edge], where: str) -> nx.Graph:
    import networkx as nx

    graph = nx.Graph()
    graph.graph.update(raw.graph)
    # One text object for each chunk id, not one for each time it is mentioned.
    known: dict[str, str] = {}
    for node in sorted(raw.nodes, key=lambda node: node.id):
        if node.id in graph:
            raise RunFolderError(f"node {node.id!r} stands twice", where=where, hint=_HINT)
        label = node.label or node.id
        forms = node.forms
        if forms is None:
            forms = sorted({normalise(text) for text in (label, *node.aliases)} - {node.id, ""})
        graph.add_node(
            node.id,
            label=label,
            aliases=node.aliases,
            forms=forms,
            chunk_ids=[known.setdefault(chunk, chunk) for chunk in node.chunk_ids],
            count=len(node.chunk_ids) if node.count is None else node.count,
        )
    for edge in sorted(edges, key=_ends):
        one, other = _ends(edge)
        if one == other:
            raise RunFolderError(f"node {one!r} is linked to itself", where=where, hint=_HINT)
        for end in (one, other):
            if end not in graph:
                raise RunFolderError(
                    f"an edge names {end!r}, which is no node", where=where, hint=_HINT
                )
        if graph.has_edge(one, other):
            raise RunFolderError(f"{one!r} and {other!r} are linked twice", where=where, hint=_HINT)
        if edge.weight < 1:
            raise RunFolderError(
                f"{one!r} and {other!r} are linked by {edge.weight} chunks", where=where, hint=_HINT
            )
        graph.add_edge(
            one,
            other,
            weight=edge.weight,
            npmi=edge.npmi,
            chunk_ids=[known.setdefault(chunk, chunk) for chunk in edge.chunk_ids],
        )
    return graph


def _ends(edge: _Edge) -> tuple[str, str]:
    return (edge.source, edge.target) if edge.source < edge.target else (edge.target, edge.source)
