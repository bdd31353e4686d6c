"""Difficulty on the facts of a knowledge graph: bounded, and blind to the asked link itself."""

from __future__ import annotations

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.difficulty.fact_graph import NEIGHBOURS, FactGraph
from kg.difficulty.features import LONGEST_HOP
from kg.difficulty.score import score_of
from kg.index import Index

P, Q, VALUE, TYPE = "http://x/p", "http://x/q", "http://x/value", "http://x/type"


def index_of(*triples: tuple[str, str, str]) -> Index:
    index = Index()
    intern = index.terms.intern
    for s, p, o in triples:
        index.add(intern(s), intern(p), intern(o))
    return index


def ids(index: Index, *terms: str) -> list[int]:
    return [index.terms.intern(term) for term in terms]


def graph_of(index: Index, *predicates: str) -> FactGraph:
    return FactGraph(index, ids(index, *predicates))


def test_the_asked_link_does_not_count_as_a_path() -> None:
    with_link = index_of(("a", P, "b"), ("b", Q, "a"), ("a", Q, "m"), ("m", P, "b"))
    without = index_of(("a", Q, "m"), ("m", P, "b"))
    for index in (with_link, without):
        features = graph_of(index, P, Q).subgraph(ids(index, "a", "b")).features
        assert (features.max_path_length, features.component_count) == (2, 1)
    only = index_of(("a", P, "b"))
    features = graph_of(only, P).subgraph(ids(only, "a", "b")).features
    assert (features.max_path_length, features.component_count) == (LONGEST_HOP, 2)


def test_three_hops_are_found_and_four_are_not() -> None:
    chain = [("a", P, "b"), ("c", P, "b"), ("c", Q, "d"), ("d", P, "e")]
    index = index_of(*chain)
    graph = graph_of(index, P, Q)
    near, far = (
        graph.subgraph(ids(index, "a", "d")).features,
        graph.subgraph(ids(index, "a", "e")).features,
    )
    assert (near.max_path_length, near.component_count) == (3, 1)
    assert (far.max_path_length, far.component_count) == (LONGEST_HOP, 2)
    # a–b, c–d and d–e hang on the asked nodes; c–b is the step between.
    assert near.subgraph_edge_count == 4


def test_no_path_leads_through_another_asked_node() -> None:
    index = index_of(("a", P, "m"), ("m", P, "b"))
    graph = graph_of(index, P)
    assert graph.subgraph(ids(index, "a", "b")).features.component_count == 1
    features = graph.subgraph(ids(index, "a", "m", "b")).features
    assert features.component_count == 3


def test_values_link_nothing_but_the_asked_one() -> None:
    index = index_of(
        ("a", VALUE, '"24"'),
        ("b", VALUE, '"24"'),
        ("a", P, "m"),
        ("b", P, "m"),
        ("c", VALUE, '"7"'),
    )
    graph = graph_of(index, P, VALUE)
    a, b, value = ids(index, "a", "b", '"24"')
    p = index.terms.intern(VALUE)
    assert graph.subgraph([a, b]).features.avg_degree == 1.0
    # a – m – b – "24": the asked value is borne by b as well.
    features = graph.subgraph([a, value], p).features
    assert (features.max_path_length, features.component_count) == (3, 1)
    unheard = index.terms.intern('"99"')
    lonely = graph.subgraph([a, unheard], p).features
    assert (lonely.component_count, lonely.query_node_count) == (2, 2)


def test_predicates_that_were_not_named_link_nothing() -> None:
    index = index_of(("a", TYPE, "River"), ("b", TYPE, "River"), ("a", P, "x"))
    features = graph_of(index, P).subgraph(ids(index, "a", "b")).features
    assert features.component_count == 2


def test_a_term_without_facts_is_a_node_alone() -> None:
    index = index_of(("a", P, "b"))
    features = graph_of(index, P).subgraph(ids(index, "a", "stranger")).features
    assert features.component_count == 2
    assert features.max_path_length == LONGEST_HOP
    assert score_of(features).level == "EASY"
    assert graph_of(index, P).subgraph(ids(index, "a")).features.max_path_length == 0


def test_hubs_are_counted_to_a_limit_and_paths_over_them_are_found() -> None:
    triples = [(f"r{i}", P, "hub") for i in range(5_000)]
    triples += [(f"r{i}", Q, "other") for i in range(4_990, 9_990)]
    triples += [("s", Q, "r4999"), ("lone", Q, "x")]
    index = index_of(*triples)
    graph = graph_of(index, P, Q)
    both = graph.subgraph(ids(index, "r1", "r2")).features
    assert both.max_path_length == 2
    # Beyond the first neighbours of a hub, membership is asked of the hub itself.
    assert graph.subgraph(ids(index, "s", "hub")).features.max_path_length == 2
    assert graph.subgraph(ids(index, "s", "other")).features.max_path_length == 2
    assert graph.subgraph(ids(index, "r1", "other")).features.component_count == 1
    assert graph.subgraph(ids(index, "hub", "other")).features.max_path_length == LONGEST_HOP
    assert graph.subgraph(ids(index, "lone", "hub")).features.component_count == 2
    hub = graph.subgraph(ids(index, "hub", "r1")).features
    assert hub.max_degree == NEIGHBOURS
    assert hub.subgraph_node_count == NEIGHBOURS + 1
    score = score_of(hub)
    assert score.dimensions is not None
    assert (score.dimensions["subgraph_size"], score.dimensions["dispersion"]) == (2, 2)


triples = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([P, Q]), st.sampled_from("abcdefgh")),
    max_size=20,
)


@settings(deadline=None)
@given(triples, st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"))
def test_below_the_limits_it_is_what_networkx_finds(
    rows: list[tuple[str, str, str]], one: str, two: str
) -> None:
    if one == two:
        return
    index = index_of(*rows)
    features = graph_of(index, P, Q).subgraph(ids(index, one, two)).features
    graph = nx.Graph([(s, o) for s, _, o in rows if s != o])
    graph.add_nodes_from([one, two])
    near = {node: set(graph[node]) for node in (one, two)}
    linked = graph.has_edge(one, two)
    assert features.avg_degree == (len(near[one]) + len(near[two])) / 2
    assert features.subgraph_node_count == len({one, two} | near[one] | near[two])
    pointing = {s for s, _, o in rows if o in (one, two)} - {one, two}
    assert features.doc_count == len(pointing)
    if linked:
        graph.remove_edge(one, two)
    hops = nx.shortest_path_length(graph, one, two) if nx.has_path(graph, one, two) else 9
    assert features.component_count == (1 if hops <= 3 else 2)
    assert features.max_path_length == min(hops, LONGEST_HOP)
    middle = hops == 3
    assert features.subgraph_edge_count == len(near[one]) + len(near[two]) - linked + middle
