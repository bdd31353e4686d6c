"""Difficulty on the facts of a knowledge graph: bounded, and independent of the asked link."""

from __future__ import annotations

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.difficulty.fact_graph import MAX_NEIGHBOURS, FactGraph
from kg.difficulty.features import UNCONNECTED_HOPS
from kg.difficulty.score import score_features
from kg.index import Index

P, Q, VALUE, TYPE = "http://x/p", "http://x/q", "http://x/value", "http://x/type"


def make_index(*triples: tuple[str, str, str]) -> Index:
    index = Index()
    intern = index.terms.intern
    for s, p, o in triples:
        index.add_triple(intern(s), intern(p), intern(o))
    return index


def intern_terms(index: Index, *terms: str) -> list[int]:
    return [index.terms.intern(term) for term in terms]


def make_fact_graph(index: Index, *predicates: str) -> FactGraph:
    return FactGraph(index, intern_terms(index, *predicates))


def test_asked_link_does_not_count_as_a_path() -> None:
    with_link = make_index(("a", P, "b"), ("b", Q, "a"), ("a", Q, "m"), ("m", P, "b"))
    without = make_index(("a", Q, "m"), ("m", P, "b"))
    for index in (with_link, without):
        features = (
            make_fact_graph(index, P, Q).find_subgraph(intern_terms(index, "a", "b")).features
        )
        assert (features.max_path_length, features.component_count) == (2, 1)
    only = make_index(("a", P, "b"))
    features = make_fact_graph(only, P).find_subgraph(intern_terms(only, "a", "b")).features
    assert (features.max_path_length, features.component_count) == (UNCONNECTED_HOPS, 2)


def test_paths_of_at_most_three_hops_are_found() -> None:
    chain = [("a", P, "b"), ("c", P, "b"), ("c", Q, "d"), ("d", P, "e")]
    index = make_index(*chain)
    graph = make_fact_graph(index, P, Q)
    near, far = (
        graph.find_subgraph(intern_terms(index, "a", "d")).features,
        graph.find_subgraph(intern_terms(index, "a", "e")).features,
    )
    assert (near.max_path_length, near.component_count) == (3, 1)
    assert (far.max_path_length, far.component_count) == (UNCONNECTED_HOPS, 2)
    # a–b, c–d and d–e are links of the asked nodes; c–b is the link between them.
    assert near.subgraph_edge_count == 4


def test_no_path_leads_through_another_asked_node() -> None:
    index = make_index(("a", P, "m"), ("m", P, "b"))
    graph = make_fact_graph(index, P)
    assert graph.find_subgraph(intern_terms(index, "a", "b")).features.component_count == 1
    features = graph.find_subgraph(intern_terms(index, "a", "m", "b")).features
    assert features.component_count == 3


def test_literals_link_nothing_but_the_asked_one() -> None:
    index = make_index(
        ("a", VALUE, '"24"'),
        ("b", VALUE, '"24"'),
        ("a", P, "m"),
        ("b", P, "m"),
        ("c", VALUE, '"7"'),
    )
    graph = make_fact_graph(index, P, VALUE)
    a, b, value = intern_terms(index, "a", "b", '"24"')
    p = index.terms.intern(VALUE)
    assert graph.find_subgraph([a, b]).features.avg_degree == 1.0
    # a – m – b – "24": b has the asked value as well.
    features = graph.find_subgraph([a, value], p).features
    assert (features.max_path_length, features.component_count) == (3, 1)
    unheard = index.terms.intern('"99"')
    lonely = graph.find_subgraph([a, unheard], p).features
    assert (lonely.component_count, lonely.query_node_count) == (2, 2)


def test_unnamed_predicates_link_nothing() -> None:
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
    triples = [(f"r{i}", P, "hub") for i in range(5_000)]
    triples += [(f"r{i}", Q, "other") for i in range(4_990, 9_990)]
    triples += [("s", Q, "r4999"), ("lone", Q, "x")]
    index = make_index(*triples)
    graph = make_fact_graph(index, P, Q)
    both = graph.find_subgraph(intern_terms(index, "r1", "r2")).features
    assert both.max_path_length == 2
    # Beyond the counted neighbours of a hub, links are looked up in the hub itself.
    assert graph.find_subgraph(intern_terms(index, "s", "hub")).features.max_path_length == 2
    assert graph.find_subgraph(intern_terms(index, "s", "other")).features.max_path_length == 2
    assert graph.find_subgraph(intern_terms(index, "r1", "other")).features.component_count == 1
    assert (
        graph.find_subgraph(intern_terms(index, "hub", "other")).features.max_path_length
        == UNCONNECTED_HOPS
    )
    assert graph.find_subgraph(intern_terms(index, "lone", "hub")).features.component_count == 2
    hub = graph.find_subgraph(intern_terms(index, "hub", "r1")).features
    assert hub.max_degree == MAX_NEIGHBOURS
    assert hub.subgraph_node_count == MAX_NEIGHBOURS + 1
    score = score_features(hub)
    assert score.dimensions is not None
    assert (score.dimensions["subgraph_size"], score.dimensions["dispersion"]) == (2, 2)


triples = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([P, Q]), st.sampled_from("abcdefgh")),
    max_size=20,
)


@settings(deadline=None)
@given(triples, st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"))
def test_paths_agree_with_networkx_below_the_limits(
    rows: list[tuple[str, str, str]], one: str, two: str
) -> None:
    if one == two:
        return
    index = make_index(*rows)
    features = make_fact_graph(index, P, Q).find_subgraph(intern_terms(index, one, two)).features
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
    assert features.max_path_length == min(hops, UNCONNECTED_HOPS)
    middle = hops == 3
    assert features.subgraph_edge_count == len(near[one]) + len(near[two]) - linked + middle
