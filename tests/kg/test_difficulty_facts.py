"""Tests of the difficulty on the facts of a graph.

At a node with many links, the number of neighbours that count must be limited. The difficulty must
not depend on whether the link that is asked about exists.
"""

from __future__ import annotations

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.difficulty.fact_graph import MAX_NEIGHBOURS, FactGraph
from kg.difficulty.features import UNCONNECTED_HOPS
from kg.difficulty.score import score_features
from kg.triples.index import Index

P, Q, VALUE, TYPE = "http://x/p", "http://x/q", "http://x/value", "http://x/type"


def make_index(*rows: tuple[str, str, str]) -> Index:
    index = Index()
    intern = index.terms.intern
    for s, p, o in rows:
        index.add_triple(intern(s), intern(p), intern(o))
    return index


def intern_terms(index: Index, *terms: str) -> list[int]:
    return [index.terms.intern(term) for term in terms]


def make_fact_graph(index: Index, *predicates: str) -> FactGraph:
    return FactGraph(index, intern_terms(index, *predicates))


def test_asked_link_does_not_count_as_a_path() -> None:
    with_link = make_index(("a", P, "b"), ("b", Q, "a"), ("a", Q, "m"), ("m", P, "b"))
    without_link = make_index(("a", Q, "m"), ("m", P, "b"))
    for index in (with_link, without_link):
        features = (
            make_fact_graph(index, P, Q).find_subgraph(intern_terms(index, "a", "b")).features
        )
        assert (features.max_path_length, features.component_count) == (2, 1)
    single_link = make_index(("a", P, "b"))
    features = (
        make_fact_graph(single_link, P).find_subgraph(intern_terms(single_link, "a", "b")).features
    )
    assert (features.max_path_length, features.component_count) == (UNCONNECTED_HOPS, 2)


def test_paths_of_at_most_three_hops_are_found() -> None:
    chain = [("a", P, "b"), ("c", P, "b"), ("c", Q, "d"), ("d", P, "e")]
    index = make_index(*chain)
    graph = make_fact_graph(index, P, Q)
    three_hops = graph.find_subgraph(intern_terms(index, "a", "d")).features
    four_hops = graph.find_subgraph(intern_terms(index, "a", "e")).features
    assert (three_hops.max_path_length, three_hops.component_count) == (3, 1)
    assert (four_hops.max_path_length, four_hops.component_count) == (UNCONNECTED_HOPS, 2)
    # a–b, c–d and d–e are links of the asked nodes a and d; c–b connects them.
    assert three_hops.subgraph_edge_count == 4


def test_no_path_leads_through_another_asked_node() -> None:
    index = make_index(("a", P, "m"), ("m", P, "b"))
    graph = make_fact_graph(index, P)
    assert graph.find_subgraph(intern_terms(index, "a", "b")).features.component_count == 1
    features = graph.find_subgraph(intern_terms(index, "a", "m", "b")).features
    assert features.component_count == 3


def test_only_literals_asked_about_link_nodes() -> None:
    index = make_index(
        ("a", VALUE, '"24"'),
        ("b", VALUE, '"24"'),
        ("a", P, "m"),
        ("b", P, "m"),
        ("c", VALUE, '"7"'),
    )
    graph = make_fact_graph(index, P, VALUE)
    a, b, value = intern_terms(index, "a", "b", '"24"')
    value_predicate = index.terms.intern(VALUE)
    assert graph.find_subgraph([a, b]).features.avg_degree == 1.0
    # Only the literal that is asked about is a node. The path is a – m – b – "24", since b has that
    # value too.
    features = graph.find_subgraph([a, value], value_predicate).features
    assert (features.max_path_length, features.component_count) == (3, 1)
    unused_literal = index.terms.intern('"99"')
    isolated_features = graph.find_subgraph([a, unused_literal], value_predicate).features
    assert (isolated_features.component_count, isolated_features.query_node_count) == (2, 2)


def test_unlisted_predicates_give_no_links() -> None:
    index = make_index(("a", TYPE, "River"), ("b", TYPE, "River"), ("a", P, "x"))
    features = make_fact_graph(index, P).find_subgraph(intern_terms(index, "a", "b")).features
    assert features.component_count == 2


def test_term_without_facts_is_an_isolated_node() -> None:
    index = make_index(("a", P, "b"))
    features = (
        make_fact_graph(index, P).find_subgraph(intern_terms(index, "a", "stranger")).features
    )
    assert features.component_count == 2
    assert features.max_path_length == UNCONNECTED_HOPS
    assert score_features(features).level == "EASY"
    assert (
        make_fact_graph(index, P).find_subgraph(intern_terms(index, "a")).features.max_path_length
        == 0
    )


def test_hub_degrees_are_capped_and_paths_through_hubs_found() -> None:
    hub_triples = [(f"r{i}", P, "hub") for i in range(5_000)]
    hub_triples += [(f"r{i}", Q, "other") for i in range(4_990, 9_990)]
    hub_triples += [("s", Q, "r4999"), ("lone", Q, "x")]
    index = make_index(*hub_triples)
    graph = make_fact_graph(index, P, Q)
    pair_features = graph.find_subgraph(intern_terms(index, "r1", "r2")).features
    assert pair_features.max_path_length == 2
    # A neighbour of a hub is found even if it is not among the neighbours that are counted.
    assert graph.find_subgraph(intern_terms(index, "s", "hub")).features.max_path_length == 2
    assert graph.find_subgraph(intern_terms(index, "s", "other")).features.max_path_length == 2
    assert graph.find_subgraph(intern_terms(index, "r1", "other")).features.component_count == 1
    assert (
        graph.find_subgraph(intern_terms(index, "hub", "other")).features.max_path_length
        == UNCONNECTED_HOPS
    )
    assert graph.find_subgraph(intern_terms(index, "lone", "hub")).features.component_count == 2
    hub_features = graph.find_subgraph(intern_terms(index, "hub", "r1")).features
    assert hub_features.max_degree == MAX_NEIGHBOURS
    assert hub_features.subgraph_node_count == MAX_NEIGHBOURS + 1
    score = score_features(hub_features)
    assert score.dimensions is not None
    assert (score.dimensions["subgraph_size"], score.dimensions["dispersion"]) == (2, 2)


triple_lists = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([P, Q]), st.sampled_from("abcdefgh")),
    max_size=20,
)


@settings(deadline=None)
@given(triple_lists, st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"))
def test_paths_agree_with_networkx_below_the_limits(
    rows: list[tuple[str, str, str]], start: str, end: str
) -> None:
    if start == end:
        return
    index = make_index(*rows)
    features = make_fact_graph(index, P, Q).find_subgraph(intern_terms(index, start, end)).features
    graph = nx.Graph([(s, o) for s, _, o in rows if s != o])
    graph.add_nodes_from([start, end])
    neighbours = {node: set(graph[node]) for node in (start, end)}
    has_direct_link = graph.has_edge(start, end)
    assert features.avg_degree == (len(neighbours[start]) + len(neighbours[end])) / 2
    assert features.subgraph_node_count == len({start, end} | neighbours[start] | neighbours[end])
    sources = {s for s, _, o in rows if o in (start, end)} - {start, end}
    assert features.doc_count == len(sources)
    if has_direct_link:
        graph.remove_edge(start, end)
    unreachable = 9  # any number above the limit of 3 hops
    is_connected = nx.has_path(graph, start, end)
    hops = nx.shortest_path_length(graph, start, end) if is_connected else unreachable
    assert features.component_count == (1 if hops <= 3 else 2)
    assert features.max_path_length == min(hops, UNCONNECTED_HOPS)
    has_middle_link = hops == 3
    assert (
        features.subgraph_edge_count
        == len(neighbours[start]) + len(neighbours[end]) - has_direct_link + has_middle_link
    )
