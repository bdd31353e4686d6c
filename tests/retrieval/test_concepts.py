"""Retrieval over the concept graph: the published fixture, the formulas of the walk, its bounds."""

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
    """A concept graph: node → its chunks, and weighted edges."""
    graph = nx.Graph()
    for node in sorted(chunks):
        ids = list(chunks[node])
        graph.add_node(node, label=node, aliases=[], forms=[], chunk_ids=ids, count=len(ids))
    for one, other, weight in edges:
        graph.add_edge(one, other, weight=weight, npmi=0.0, chunk_ids=[])
    return ConceptGraph(graph)


def make_passages(*ids: str) -> list[Passage]:
    return [Passage(chunk_id, chunk_id) for chunk_id in ids]


FIXTURE = make_concept_graph(
    {"data": ["c1", "c2"], "structure": ["c3"], "algorithm": ["c4"]},
    [("data", "structure", 2), ("structure", "algorithm", 1)],
)
CHUNKS = make_passages("c1", "c2", "c3", "c4", "c5")


def test_published_fixture_is_reproduced() -> None:
    one = ConceptRetriever(CHUNKS, FIXTURE).get_scores("data", 9)
    assert one == {"c1": 1.0, "c2": 1.0, "c3": 0.5}
    two = ConceptRetriever(CHUNKS, FIXTURE, num_hops=2).get_scores("What are Data?", 9)
    assert two == {"c1": 1.0, "c2": 1.0, "c3": 0.5, "c4": 0.125}
    none = ConceptRetriever(CHUNKS, FIXTURE, num_hops=0).get_scores("data", 9)
    assert none == {"c1": 1.0, "c2": 1.0}


def test_matched_concepts_are_summed_and_scaled_to_one() -> None:
    graph = make_concept_graph({"data": ["c1", "c2"], "index": ["c1"], "tree": ["c3"]}, [])
    scores = ConceptRetriever(CHUNKS, graph).get_scores("index of data, data tree", 9)
    assert scores == {"c1": 1.0, "c2": 0.5, "c3": 0.5}


def test_node_reached_by_many_paths_counts_once() -> None:
    """Four named concepts link to one other, which scores no more than with one link."""
    named = ["alpha", "beta", "gamma", "delta"]
    chunks = {name: [f"n{place}"] for place, name in enumerate(named)} | {"hub": ["h"], "far": []}
    ids = make_passages("h", *(f"n{place}" for place in range(4)))
    crowd = make_concept_graph(chunks, [(name, "hub", 1) for name in named] + [("hub", "far", 1)])
    single = make_concept_graph(chunks, [("alpha", "hub", 1), ("hub", "far", 1)])
    query = " ".join(named)
    from_all = ConceptRetriever(ids, crowd).get_scores(query, 9)
    from_one = ConceptRetriever(ids, single).get_scores(query, 9)
    assert from_all == from_one == {"n0": 1.0, "n1": 1.0, "n2": 1.0, "n3": 1.0, "h": 0.5}
    # Nor does a named concept count again as the neighbour of another one.
    linked = make_concept_graph(
        chunks, [(one, other, 1) for one, other in itertools.pairwise(named)]
    )
    assert ConceptRetriever(ids, linked).get_scores("alpha beta", 9) == {
        "n0": 1.0,
        "n1": 1.0,
        "n2": 0.5,
    }


def test_two_hop_score_uses_the_whole_path() -> None:
    """A weak link weakens all that follows; of two paths of equal length the stronger counts."""
    chunks = {"start": ["s"], "weak": ["w"], "strong": ["t"], "end": ["e"], "other": ["o"]}
    ids = make_passages("s", "w", "t", "e", "o")
    edges = [("start", "weak", 1), ("weak", "end", 4), ("weak", "other", 4)]
    two = ConceptRetriever(ids, make_concept_graph(chunks, edges), num_hops=2).get_scores(
        "start", 9
    )
    assert two == {"s": 1.0, "w": 0.5 / 4, "e": 0.25 / 4, "o": 0.25 / 4}
    edges += [("start", "strong", 4), ("strong", "end", 2)]
    both = ConceptRetriever(ids, make_concept_graph(chunks, edges), num_hops=2).get_scores(
        "start", 9
    )
    assert both["e"] == 0.25 * (4 / 4) * (2 / 4), "not the sum of both ways"
    assert both["o"] == 0.25 / 4


weighted = st.dictionaries(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] < pair[1]),
    st.integers(1, 9),
    max_size=20,
)
seed_sets = st.sets(st.integers(0, 8), min_size=1, max_size=4)


def edge_rows(edges: dict[tuple[int, int], int]) -> list[tuple[int, int, float]]:
    return [(one, other, float(weight)) for (one, other), weight in edges.items()]


@given(weighted, seed_sets, st.integers(0, 3), st.sampled_from([0.5, 0.9, 1.0]))
@settings(deadline=None)
def test_walk_score_is_the_best_shortest_path(
    edges: dict[tuple[int, int], int], seeds: set[int], hops: int, decay: float
) -> None:
    """Compared with all shortest paths, listed by networkx."""
    graph = nx.Graph()
    graph.add_nodes_from(range(9))
    graph.add_weighted_edges_from(edge_rows(edges))
    heaviest = max(edges.values(), default=1)
    distance = nx.multi_source_dijkstra_path_length(graph, seeds, weight=None)
    expected = {}
    for node, far in distance.items():
        if far <= hops:
            expected[node] = max(
                math.prod(
                    decay * graph[a][b]["weight"] / heaviest for a, b in itertools.pairwise(path)
                )
                for seed in seeds
                if nx.has_path(graph, seed, node)
                for path in nx.all_shortest_paths(graph, seed, node)
                if len(path) - 1 == far
            )
    found = {}
    walk = Adjacency(9, edge_rows(edges)).spread_by_hops(np.array(sorted(seeds)), hops, decay)
    for far, (nodes, strengths) in enumerate(walk):
        for node, strength in zip(nodes.tolist(), strengths.tolist(), strict=True):
            assert node not in found
            assert distance[node] == far
            found[node] = strength
    assert found == pytest.approx(expected)


@given(weighted, seed_sets, st.sampled_from([0.0, 0.5, 0.85]))
@settings(deadline=None)
def test_pagerank_agrees_with_networkx(
    edges: dict[tuple[int, int], int], seeds: set[int], damping: float
) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(range(9))
    graph.add_weighted_edges_from(edge_rows(edges))
    start = {node: float(node in seeds) for node in graph}
    exact = nx.pagerank(graph, damping, start, tol=1e-14, max_iter=2000, weight="weight")
    adjacency = Adjacency(9, edge_rows(edges))
    nodes, shares = adjacency.compute_pagerank(np.array(sorted(seeds)), damping)
    found = dict(zip(nodes.tolist(), shares.tolist(), strict=True))
    tolerance = max(PRECISION / max(adjacency.degrees.sum(), 1), MIN_TOLERANCE)
    for node in graph:
        short = exact[node] - found.get(node, 0.0)
        assert -1e-12 <= short <= tolerance * adjacency.degrees[node] + 1e-12
    assert sum(exact.values()) - sum(found.values()) <= PRECISION + 1e-9


def test_pagerank_of_a_wide_graph_uses_the_whole_matrix() -> None:
    """Steps over most edges use the full matrix, others only rows; the walk is the same."""
    graph = nx.complete_graph(40)
    nx.set_edge_attributes(graph, 1.0, "weight")
    exact = nx.pagerank(graph, 0.5, {0: 1.0, 7: 1.0}, tol=1e-14)
    adjacency = Adjacency(40, list(graph.edges.data("weight")))
    nodes, shares = adjacency.compute_pagerank(np.array([0, 7]), 0.5)
    assert len(nodes) == 40
    assert shares == pytest.approx([exact[node] for node in nodes], abs=1e-4)


def test_pagerank_reaches_any_distance() -> None:
    walk = ConceptRetriever(CHUNKS, FIXTURE, mode="ppr")
    scores = walk.get_scores("data", 9)
    assert list(scores) == ["c1", "c2", "c3", "c4"]
    assert scores["c1"] == scores["c2"] == 1.0
    assert 1 > scores["c3"] > scores["c4"] > 0
    assert walk.params()["damping"] == 0.5
    alone = make_concept_graph({"data": ["c1"], "tree": ["c2"]}, [])
    assert ConceptRetriever(CHUNKS, alone, mode="ppr").get_scores("data", 9) == {"c1": 1.0}


def test_query_without_concepts_finds_nothing() -> None:
    for mode in ("bfs", "ppr"):
        retriever = ConceptRetriever(CHUNKS, FIXTURE, mode=mode)
        assert isinstance(retriever, Retriever)
        for query in ("", "?", "zebra", "what is the", "\x00", "🙂"):
            assert retriever.get_scores(query, 5) == {}
        empty = ConceptRetriever([], ConceptGraph(nx.Graph()), mode=mode)
        assert empty.search("data", 3) == []


def test_sections_are_blended_in_as_published() -> None:
    chunks = [
        Chunk("d#1", "…", {"document": "d", "section": "1 Data", "section_id": "d#1"}),
        Chunk("d#2", "…", {"document": "d", "section": "2 Trees", "section_id": "d#2"}),
        Chunk("d#3", "…", {"document": "d", "section": "3 Others", "section_id": "d#3"}),
    ]
    graph = make_concept_graph({"data": ["d#2"], "other": ["d#3"]}, [("data", "other", 1)])
    tree = build_section_tree(chunks, graph)
    ids = make_passages("d#1", "d#2", "d#3")
    nodes = ConceptRetriever(ids, graph).get_scores("data", 3)
    sections = tree.score_chunks("data", ["data"])
    assert set(sections) == {"d#1", "d#2"}
    for beta in (0.0, 0.25, 1.0):
        both = ConceptRetriever(ids, graph, sections=tree, beta=beta)
        assert both.get_scores("data", 3) == {
            chunk.id: pytest.approx(score)
            for chunk in chunks
            if (score := beta * sections.get(chunk.id, 0) + (1 - beta) * nodes.get(chunk.id, 0)) > 0
        }
        assert both.params()["beta"] == beta
    assert ConceptRetriever(ids, graph).params()["beta"] == 0.0, "nothing to blend in"


def test_graph_of_other_chunks_is_refused() -> None:
    with pytest.raises(RunFolderError, match="'algorithm' names the chunk 'c4', which is not"):
        ConceptRetriever(make_passages("0", "1"), FIXTURE)
    tree = build_section_tree([Chunk("x", "…", {"section": "1 Data"})])
    with pytest.raises(RunFolderError, match="'x'"):
        ConceptRetriever(CHUNKS, FIXTURE, sections=tree)
    for wrong in ({"num_hops": -1}, {"neighbor_weight": 0.0}, {"damping": 1.0}, {"beta": 2.0}):
        with pytest.raises(ValueError, match="out of bounds"):
            ConceptRetriever(CHUNKS, FIXTURE, **wrong)  # type: ignore[arg-type]


vocabulary = st.sampled_from(["data", "tree", "index", "hash", "lock", "log", "page"])
keyword_rows = st.lists(st.lists(vocabulary, unique=True, max_size=4), min_size=1, max_size=8)


@given(keyword_rows, st.lists(vocabulary, max_size=4), st.sampled_from(["bfs", "ppr"]), st.data())
@settings(deadline=None, max_examples=60)
def test_scores_are_bounded_filtered_and_ordered(
    found: list[list[str]], query: list[str], mode: str, data: st.DataObject
) -> None:
    graph = link_concepts([ChunkKeywords(f"c{n}", tuple(row)) for n, row in enumerate(found)])
    ids = [f"c{n}" for n in range(len(found))]
    retriever = ConceptRetriever(make_passages(*ids), graph, mode=mode, num_hops=2)  # type: ignore[arg-type]
    text = " ".join(query)
    scores = retriever.get_scores(text, len(ids))
    assert all(0 < score <= 1 for score in scores.values())
    assert not scores or max(scores.values()) == 1.0
    assert list(scores) == sorted(scores, key=lambda one: (-scores[one], ids.index(one)))
    size = data.draw(st.integers(0, 9))
    assert list(retriever.get_scores(text, size)) == list(scores)[:size]
    some = data.draw(st.sets(st.sampled_from([*ids, "elsewhere"])))
    assert retriever.get_scores(text, 9, some) == {k: v for k, v in scores.items() if k in some}
    # Neither the order of the corpus nor that of the words decides a score.
    shuffled = make_passages(*data.draw(st.permutations(ids)))
    again = ConceptRetriever(shuffled, graph, mode=mode, num_hops=2)  # type: ignore[arg-type]
    for order in itertools.islice(itertools.permutations(query), 4):
        assert again.get_scores(" ".join(order), len(ids)) == scores
