"""Tests of the difficulty of a question: features, the five dimensions and the levels."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.difficulty.features import UNCONNECTED_HOPS, QueryFeatures, compute_features, find_subgraph
from kg.difficulty.paths import find_shortest_paths
from kg.difficulty.score import SEED_PRESET, score_features


def make_features(
    path: int, components: int, nodes: int, degree: float, docs: int
) -> QueryFeatures:
    return QueryFeatures(
        query_node_count=2,
        max_path_length=path,
        avg_path_length=float(path),
        component_count=components,
        avg_degree=degree,
        max_degree=round(degree),
        subgraph_node_count=nodes,
        subgraph_edge_count=round(nodes * degree / 2),
        doc_count=docs,
    )


# The preset "seed" has the thresholds of the published code, which docs/reference/documents.md
# describes.
@pytest.mark.parametrize(
    ("feature_values", "total", "level"),
    [
        ((0, 1, 5, 1.0, 1), 0, "EASY"),
        ((2, 2, 21, 4.0, 1), 4, "MEDIUM"),
        ((3, 3, 61, 7.0, 5), 10, "HARD"),
    ],
)
def test_scores_equal_the_published_ones(
    feature_values: tuple[int, int, int, float, int], total: int, level: str
) -> None:
    score = score_features(make_features(*feature_values))
    assert (score.total, score.level, score.preset) == (total, level, "seed")


# For each dimension: the position of its feature in the arguments of make_features, and the highest
# values that give 0 points and 1 point.
THRESHOLDS = {
    "multihop": (0, 1, 2),
    "fragmentation": (1, 1, 2),
    "subgraph_size": (2, 20, 60),
    "branching": (3, 3, 6),
    "dispersion": (4, 2, 4),
}


@pytest.mark.parametrize("dimension", THRESHOLDS)
def test_dimension_scores_change_at_their_thresholds(dimension: str) -> None:
    index, lower, upper = THRESHOLDS[dimension]
    for value, points in ((lower, 0), (lower + 1, 1), (upper, 1), (upper + 1, 2)):
        feature_values = [0, 1, 1, 0.0, 1]
        feature_values[index] = value
        dimensions = score_features(make_features(*feature_values)).dimensions  # type: ignore[arg-type]
        assert dimensions is not None
        assert dimensions[dimension] == points  # type: ignore[index]
        assert sum(dimensions.values()) == points


@pytest.mark.parametrize(
    ("total", "level"), [(3, "EASY"), (4, "MEDIUM"), (7, "MEDIUM"), (8, "HARD")]
)
def test_levels_change_at_their_thresholds(total: int, level: str) -> None:
    rows = itertools.product((0, 2, 3), (1, 2, 3), (1, 21, 61), (0.0, 4.0, 7.0), (1, 3, 5))
    levels = {
        score.level for row in rows if (score := score_features(make_features(*row))).total == total
    }
    assert levels == {level}


def test_question_without_matches_is_unanswerable() -> None:
    graph = nx.path_graph(["a", "b"])
    for nodes in ([], ["nobody"]):
        features = compute_features(graph, nodes, {})
        assert features == QueryFeatures(
            query_node_count=0, max_path_length=0, avg_path_length=0.0, component_count=0,
            avg_degree=0.0, max_degree=0, subgraph_node_count=0, subgraph_edge_count=0,
            doc_count=0,
        )  # fmt: skip
        score = score_features(features)
        assert (score.level, score.total, score.dimensions) == ("UNANSWERABLE", None, None)


def test_unconnected_pair_counts_as_the_longest_hop() -> None:
    graph = nx.Graph([("a", "b"), ("c", "d")])
    features = compute_features(graph, ["a", "c"], {})
    assert features.max_path_length == UNCONNECTED_HOPS
    assert features.component_count == 2
    dimensions = score_features(features).dimensions
    assert dimensions is not None
    assert (dimensions["multihop"], dimensions["fragmentation"]) == (2, 1)
    # An unconnected pair never counts as shorter than the path of another pair.
    long_path = nx.path_graph(6)
    long_path.add_node("alone")
    features = compute_features(long_path, [0, 5, "alone"], {})
    assert features.max_path_length == 5
    assert features.avg_path_length == 5.0


def test_features_of_a_small_graph() -> None:
    graph = nx.Graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "x"), ("x", "c"), ("b", "x")])
    docs = {"a": ["1", "2"], "b": ["2"], "c": ["3"], "d": ["9"]}
    features = compute_features(graph, ["a", "c", "a", "unknown"], docs)
    # Of the equally short paths through b and x, the first is used: the subgraph is a-b-c.
    assert features == QueryFeatures(
        query_node_count=2, max_path_length=2, avg_path_length=2.0, component_count=1,
        avg_degree=4 / 3, max_degree=2, subgraph_node_count=3, subgraph_edge_count=2, doc_count=3,
    )  # fmt: skip
    assert compute_features(graph, ["a", "c"], lambda node: docs.get(node, [])) == features


def test_one_node_has_no_path() -> None:
    features = compute_features(nx.Graph([("a", "b")]), ["a"], {"a": ["1"]})
    assert (features.max_path_length, features.component_count) == (0, 1)
    assert score_features(features).level == "EASY"


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)


@settings(deadline=None)
@given(edges, st.lists(st.integers(0, 12), max_size=5), st.integers(0, 1000))
def test_features_agree_with_networkx_for_any_edge_order(
    pairs: list[tuple[int, int]], query_nodes: list[int], seed: int
) -> None:
    graph = nx.Graph(pairs)
    shuffled_pairs = pairs[:]
    random.Random(seed).shuffle(shuffled_pairs)
    neighbours = {n: set(graph[n]) for n in sorted(graph, reverse=True)}
    docs = {n: [n % 3] for n in range(10)}
    features = compute_features(graph, query_nodes, docs)
    assert (
        compute_features(nx.Graph([(b, a) for a, b in shuffled_pairs]), query_nodes, docs)
        == features
    )
    assert compute_features(neighbours, query_nodes, docs) == features

    nodes = [n for n in dict.fromkeys(query_nodes) if n in graph]
    subgraph = find_subgraph(graph, nodes)
    induced = graph.subgraph(subgraph)
    assert features.subgraph_edge_count == sum(a != b for a, b in induced.edges)
    assert features.component_count == nx.number_connected_components(induced)
    lengths = [
        nx.shortest_path_length(graph, a, b) if nx.has_path(graph, a, b) else None
        for a, b in itertools.combinations(nodes, 2)
    ]
    longest = max([UNCONNECTED_HOPS, *(n for n in lengths if n is not None)])
    hops = [longest if n is None else n for n in lengths]
    assert features.max_path_length == max(hops, default=0)
    score = score_features(features)
    if nodes:
        assert score.total is not None
        assert 0 <= score.total <= 10
    else:
        assert score.level == "UNANSWERABLE"


@settings(deadline=None)
@given(edges, st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4))
def test_paths_are_shortest_and_start_to_end(
    pairs: list[tuple[int, int]], start: int, targets: list[int]
) -> None:
    graph = nx.Graph(pairs)
    graph.add_node(start)
    for target, path in find_shortest_paths(graph, start, targets).items():
        assert (path[0], path[-1]) == (start, target)
        assert all(graph.has_edge(a, b) for a, b in itertools.pairwise(path))
        assert len(path) - 1 == nx.shortest_path_length(graph, start, target)
    unreachable = [t for t in targets if t not in graph or not nx.has_path(graph, start, t)]
    assert not find_shortest_paths(graph, start, targets).keys() & set(unreachable)


def test_preset_equals_the_published_table() -> None:
    assert (SEED_PRESET.multihop, SEED_PRESET.fragmentation, SEED_PRESET.subgraph_size) == (
        (1, 2),
        (1, 2),
        (20, 60),
    )
    assert (
        SEED_PRESET.branching,
        SEED_PRESET.dispersion,
        SEED_PRESET.easy,
        SEED_PRESET.medium,
    ) == ((3, 6), (2, 4), 3, 7)
