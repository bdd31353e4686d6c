"""Tests retrieval over the concept graph: published scores, formulas of the walks, and bounds.

"Published" means: by the ``KGRetriever`` that ``ConceptRetriever`` reproduces; see
docs/reference/retrieval.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import RunFolderError
from kg.text.chunks import Chunk
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.concepts.linker import link_concepts
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.sections.builder import build_section_tree
from retrieval.adjacency import MIN_TOLERANCE, PRECISION, Adjacency
from retrieval.concepts import ConceptRetriever
from retrieval.protocol import Passage, Retriever


def make_concept_graph(
    chunks: dict[str, Iterable[str]], edges: Iterable[tuple[str, str, int]]
) -> ConceptGraph:
    """Makes a concept graph from the chunks of each node and (start, end, weight) edges."""
    graph = nx.Graph()
    for node in sorted(chunks):
        ids = list(chunks[node])
        graph.add_node(node, label=node, aliases=[], forms=[], chunk_ids=ids, count=len(ids))
    for start, end, weight in edges:
        graph.add_edge(start, end, weight=weight, npmi=0.0, chunk_ids=[])
    return ConceptGraph(graph)


def make_passages(*ids: str) -> list[Passage]:
    return [Passage(chunk_id, chunk_id) for chunk_id in ids]


CONCEPT_GRAPH = make_concept_graph(
    {"data": ["c1", "c2"], "structure": ["c3"], "algorithm": ["c4"]},
    [("data", "structure", 2), ("structure", "algorithm", 1)],
)
CHUNKS = make_passages("c1", "c2", "c3", "c4", "c5")


def test_published_scores_are_reproduced() -> None:
    one_hop = ConceptRetriever(CHUNKS, CONCEPT_GRAPH).get_scores("data", 9)
    assert one_hop == {"c1": 1.0, "c2": 1.0, "c3": 0.5}
    two_hops = ConceptRetriever(CHUNKS, CONCEPT_GRAPH, num_hops=2).get_scores("What are Data?", 9)
    assert two_hops == {"c1": 1.0, "c2": 1.0, "c3": 0.5, "c4": 0.125}
    no_hops = ConceptRetriever(CHUNKS, CONCEPT_GRAPH, num_hops=0).get_scores("data", 9)
    assert no_hops == {"c1": 1.0, "c2": 1.0}


def test_matched_concepts_are_summed_and_scaled_to_one() -> None:
    graph = make_concept_graph({"data": ["c1", "c2"], "index": ["c1"], "tree": ["c3"]}, [])
    scores = ConceptRetriever(CHUNKS, graph).get_scores("index of data, data tree", 9)
    assert scores == {"c1": 1.0, "c2": 0.5, "c3": 0.5}


def test_node_reached_by_many_paths_counts_once() -> None:
    """A node linked to four concepts of the query scores the same as with one such link."""
    concepts = ["alpha", "beta", "gamma", "delta"]
    chunks = {name: [f"n{index}"] for index, name in enumerate(concepts)} | {
        "hub": ["h"],
        "far": [],
    }
    passages = make_passages("h", *(f"n{index}" for index in range(4)))
    four_links = make_concept_graph(
        chunks, [(name, "hub", 1) for name in concepts] + [("hub", "far", 1)]
    )
    one_link = make_concept_graph(chunks, [("alpha", "hub", 1), ("hub", "far", 1)])
    query = " ".join(concepts)
    from_all = ConceptRetriever(passages, four_links).get_scores(query, 9)
    from_one = ConceptRetriever(passages, one_link).get_scores(query, 9)
    assert from_all == from_one == {"n0": 1.0, "n1": 1.0, "n2": 1.0, "n3": 1.0, "h": 0.5}
    # A concept of the query does not also count as the neighbour of another one.
    linked_concepts = make_concept_graph(
        chunks, [(start, end, 1) for start, end in itertools.pairwise(concepts)]
    )
    assert ConceptRetriever(passages, linked_concepts).get_scores("alpha beta", 9) == {
        "n0": 1.0,
        "n1": 1.0,
        "n2": 0.5,
    }


def test_two_hop_score_uses_the_whole_path() -> None:
    """A weak link lowers every later score; of two paths of equal length the stronger counts."""
    chunks = {"start": ["s"], "weak": ["w"], "strong": ["t"], "end": ["e"], "other": ["o"]}
    passages = make_passages("s", "w", "t", "e", "o")
    edges = [("start", "weak", 1), ("weak", "end", 4), ("weak", "other", 4)]
    weak_scores = ConceptRetriever(
        passages, make_concept_graph(chunks, edges), num_hops=2
    ).get_scores("start", 9)
    # Each hop multiplies by 0.5 and by the link's weight over the largest weight, here 4.
    assert weak_scores == {"s": 1.0, "w": 0.5 / 4, "e": 0.25 / 4, "o": 0.25 / 4}
    edges += [("start", "strong", 4), ("strong", "end", 2)]
    both_scores = ConceptRetriever(
        passages, make_concept_graph(chunks, edges), num_hops=2
    ).get_scores("start", 9)
    assert both_scores["e"] == 0.25 * (4 / 4) * (2 / 4), "the better path, not the sum of both"
    assert both_scores["o"] == 0.25 / 4


weighted_edges = st.dictionaries(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] < pair[1]),
    st.integers(1, 9),
    max_size=20,
)
seed_sets = st.sets(st.integers(0, 8), min_size=1, max_size=4)


def list_edge_rows(edges: dict[tuple[int, int], int]) -> list[tuple[int, int, float]]:
    return [(start, end, float(weight)) for (start, end), weight in edges.items()]


@given(weighted_edges, seed_sets, st.integers(0, 3), st.sampled_from([0.5, 0.9, 1.0]))
@settings(deadline=None)
def test_walk_score_is_the_best_shortest_path(
    edges: dict[tuple[int, int], int], seeds: set[int], hops: int, decay: float
) -> None:
    """The expected scores come from all shortest paths that networkx lists."""
    graph = nx.Graph()
    graph.add_nodes_from(range(9))
    graph.add_weighted_edges_from(list_edge_rows(edges))
    heaviest = max(edges.values(), default=1)
    distances = nx.multi_source_dijkstra_path_length(graph, seeds, weight=None)
    expected = {}
    for node, length in distances.items():
        if length <= hops:
            expected[node] = max(
                math.prod(
                    decay * graph[a][b]["weight"] / heaviest for a, b in itertools.pairwise(path)
                )
                for seed in seeds
                if nx.has_path(graph, seed, node)
                for path in nx.all_shortest_paths(graph, seed, node)
                if len(path) - 1 == length
            )
    actual = {}
    walk = Adjacency(9, list_edge_rows(edges)).spread_by_hops(np.array(sorted(seeds)), hops, decay)
    for length, (nodes, strengths) in enumerate(walk):
        for node, strength in zip(nodes.tolist(), strengths.tolist(), strict=True):
            assert node not in actual
            assert distances[node] == length
            actual[node] = strength
    assert actual == pytest.approx(expected)


@given(weighted_edges, seed_sets, st.sampled_from([0.0, 0.5, 0.85]))
@settings(deadline=None)
def test_pagerank_agrees_with_networkx(
    edges: dict[tuple[int, int], int], seeds: set[int], damping: float
) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(range(9))
    graph.add_weighted_edges_from(list_edge_rows(edges))
    start = {node: float(node in seeds) for node in graph}
    expected = nx.pagerank(graph, damping, start, tol=1e-14, max_iter=2000, weight="weight")
    adjacency = Adjacency(9, list_edge_rows(edges))
    nodes, shares = adjacency.compute_pagerank(np.array(sorted(seeds)), damping)
    actual = dict(zip(nodes.tolist(), shares.tolist(), strict=True))
    tolerance = max(PRECISION / max(adjacency.degrees.sum(), 1), MIN_TOLERANCE)
    # Adjacency stops early: each share may be too small, by at most the tolerance times the degree,
    # and all shares together by at most PRECISION. No share is too large.
    for node in graph:
        shortfall = expected[node] - actual.get(node, 0.0)
        assert -1e-12 <= shortfall <= tolerance * adjacency.degrees[node] + 1e-12
    assert sum(expected.values()) - sum(actual.values()) <= PRECISION + 1e-9


def test_pagerank_of_a_dense_graph_uses_the_whole_matrix() -> None:
    """A step that uses most edges multiplies by the whole matrix; that gives the same shares."""
    graph = nx.complete_graph(40)
    nx.set_edge_attributes(graph, 1.0, "weight")
    expected = nx.pagerank(graph, 0.5, {0: 1.0, 7: 1.0}, tol=1e-14)
    adjacency = Adjacency(40, list(graph.edges.data("weight")))
    nodes, shares = adjacency.compute_pagerank(np.array([0, 7]), 0.5)
    assert len(nodes) == 40
    assert shares == pytest.approx([expected[node] for node in nodes], abs=1e-4)


def test_pagerank_reaches_any_distance() -> None:
    retriever = ConceptRetriever(CHUNKS, CONCEPT_GRAPH, mode="ppr")
    scores = retriever.get_scores("data", 9)
    assert list(scores) == ["c1", "c2", "c3", "c4"]
    assert scores["c1"] == scores["c2"] == 1.0
    assert 1 > scores["c3"] > scores["c4"] > 0
    assert retriever.params()["damping"] == 0.5
    unlinked_graph = make_concept_graph({"data": ["c1"], "tree": ["c2"]}, [])
    assert ConceptRetriever(CHUNKS, unlinked_graph, mode="ppr").get_scores("data", 9) == {"c1": 1.0}


def test_query_without_concepts_finds_nothing() -> None:
    for mode in ("bfs", "ppr"):
        retriever = ConceptRetriever(CHUNKS, CONCEPT_GRAPH, mode=mode)
        assert isinstance(retriever, Retriever)
        for query in ("", "?", "zebra", "what is the", "\x00", "🙂"):
            assert retriever.get_scores(query, 5) == {}
        empty_retriever = ConceptRetriever([], ConceptGraph(nx.Graph()), mode=mode)
        assert empty_retriever.search("data", 3) == []


def test_sections_are_blended_in_as_published() -> None:
    chunks = [
        Chunk("d#1", "…", {"document": "d", "section": "1 Data", "section_id": "d#1"}),
        Chunk("d#2", "…", {"document": "d", "section": "2 Trees", "section_id": "d#2"}),
        Chunk("d#3", "…", {"document": "d", "section": "3 Others", "section_id": "d#3"}),
    ]
    graph = make_concept_graph({"data": ["d#2"], "other": ["d#3"]}, [("data", "other", 1)])
    tree = build_section_tree(chunks, graph)
    passages = make_passages("d#1", "d#2", "d#3")
    node_scores = ConceptRetriever(passages, graph).get_scores("data", 3)
    section_scores = tree.score_chunks("data", ["data"])
    assert set(section_scores) == {"d#1", "d#2"}
    for beta in (0.0, 0.25, 1.0):
        blended_retriever = ConceptRetriever(passages, graph, sections=tree, beta=beta)
        assert blended_retriever.get_scores("data", 3) == {
            chunk.id: pytest.approx(score)
            for chunk in chunks
            if (
                score := beta * section_scores.get(chunk.id, 0)
                + (1 - beta) * node_scores.get(chunk.id, 0)
            )
            > 0
        }
        assert blended_retriever.params()["beta"] == beta
    assert ConceptRetriever(passages, graph).params()["beta"] == 0.0, "without sections beta is 0"


def test_graph_of_other_chunks_is_refused() -> None:
    with pytest.raises(RunFolderError, match="'algorithm' names the chunk 'c4', which is not"):
        ConceptRetriever(make_passages("0", "1"), CONCEPT_GRAPH)
    tree = build_section_tree([Chunk("x", "…", {"section": "1 Data"})])
    with pytest.raises(RunFolderError, match="'x'"):
        ConceptRetriever(CHUNKS, CONCEPT_GRAPH, sections=tree)
    for options in ({"num_hops": -1}, {"neighbor_weight": 0.0}, {"damping": 1.0}, {"beta": 2.0}):
        with pytest.raises(ValueError, match="out of bounds"):
            ConceptRetriever(CHUNKS, CONCEPT_GRAPH, **options)  # type: ignore[arg-type]


vocabulary = st.sampled_from(["data", "tree", "index", "hash", "lock", "log", "page"])
keyword_rows = st.lists(st.lists(vocabulary, unique=True, max_size=4), min_size=1, max_size=8)


@given(keyword_rows, st.lists(vocabulary, max_size=4), st.sampled_from(["bfs", "ppr"]), st.data())
@settings(deadline=None, max_examples=60)
def test_scores_are_bounded_filtered_and_ordered(
    keywords: list[list[str]], query: list[str], mode: str, data: st.DataObject
) -> None:
    graph = link_concepts([ChunkKeywords(f"c{n}", tuple(row)) for n, row in enumerate(keywords)])
    ids = [f"c{n}" for n in range(len(keywords))]
    retriever = ConceptRetriever(make_passages(*ids), graph, mode=mode, num_hops=2)  # type: ignore[arg-type]
    text = " ".join(query)
    scores = retriever.get_scores(text, len(ids))
    assert all(0 < score <= 1 for score in scores.values())
    assert not scores or max(scores.values()) == 1.0
    assert list(scores) == sorted(
        scores, key=lambda chunk_id: (-scores[chunk_id], ids.index(chunk_id))
    )
    size = data.draw(st.integers(0, 9))
    assert list(retriever.get_scores(text, size)) == list(scores)[:size]
    selection = data.draw(st.sets(st.sampled_from([*ids, "elsewhere"])))
    assert retriever.get_scores(text, 9, selection) == {
        k: v for k, v in scores.items() if k in selection
    }
    # A score depends neither on the order of the corpus nor on the order of the words.
    shuffled_passages = make_passages(*data.draw(st.permutations(ids)))
    shuffled_retriever = ConceptRetriever(shuffled_passages, graph, mode=mode, num_hops=2)  # type: ignore[arg-type]
    for order in itertools.islice(itertools.permutations(query), 4):
        assert shuffled_retriever.get_scores(" ".join(order), len(ids)) == scores
