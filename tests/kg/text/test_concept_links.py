"""Tests of concept linking: counts and NPMI equal a recount, and queries match concepts."""

import math
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import RunFolderError
from kg.text.concepts.association import compute_npmi
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.concepts.graph_file import decode_graph, encode_graph
from kg.text.concepts.linker import MAX_LINKED_KEYWORDS, link_concepts
from kg.text.keywords.protocol import ChunkKeywords
from kg.words.normaliser import normalise_phrase

WORDS = ("lock", "Locks", "B+-tree", "b+ trees", "index", "buffer pool", "Buffer Pools", "log", "—")

chunk_keywords = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=6, unique=True), min_size=1, max_size=12
).map(lambda rows: [ChunkKeywords(f"d#{n}", tuple(row)) for n, row in enumerate(rows)])


def make_rows(*keywords: tuple[str, ...]) -> list[ChunkKeywords]:
    return [ChunkKeywords(f"d#{n}", words) for n, words in enumerate(keywords)]


@settings(deadline=None)
@given(chunk_keywords, st.integers(1, 3), st.booleans())
def test_counts_agree_with_a_recount(
    given_rows: list[ChunkKeywords], min_count: int, without_isolates: bool
) -> None:
    graph = link_concepts(
        given_rows, min_cooccurrence=min_count, drop_isolates=without_isolates
    ).graph
    keyword_sets = [{normalise_phrase(word) for word in row.keywords} - {""} for row in given_rows]
    node_counts = Counter(node for keywords in keyword_sets for node in keywords)
    pair_counts = Counter(
        pair for keywords in keyword_sets for pair in combinations(sorted(keywords), 2)
    )
    linked_pairs = {pair: n for pair, n in pair_counts.items() if n >= min_count}
    linked_nodes = {node for pair in linked_pairs for node in pair}
    assert set(graph) == (linked_nodes if without_isolates else set(node_counts))
    assert list(graph.edges) == sorted(linked_pairs)
    for node, data in graph.nodes(data=True):
        chunk_ids = [f"d#{n}" for n, keywords in enumerate(keyword_sets) if node in keywords]
        assert data["chunk_ids"] == chunk_ids
        assert data["count"] == node_counts[node]
        spelling_counts = Counter(
            w for row in given_rows for w in row.keywords if normalise_phrase(w) == node
        )
        assert spelling_counts[data["label"]] == max(spelling_counts.values())
        assert {data["label"], *data["aliases"]} == set(spelling_counts)
    for first_node, second_node, data in graph.edges(data=True):
        chunk_ids = [
            f"d#{n}"
            for n, keywords in enumerate(keyword_sets)
            if {first_node, second_node} <= keywords
        ]
        assert data["weight"] == len(chunk_ids)
        pair_share = len(chunk_ids) / len(keyword_sets)
        if pair_share < 1:
            mutual_information = math.log(
                pair_share
                / (node_counts[first_node] * node_counts[second_node] / len(keyword_sets) ** 2)
            )
            assert data["npmi"] == pytest.approx(mutual_information / -math.log(pair_share))
        else:
            assert data["npmi"] == 1


@settings(deadline=None)
@given(chunk_keywords, st.integers(1, 3), st.booleans())
def test_the_arrays_of_a_build_agree_with_the_graph(
    given_rows: list[ChunkKeywords], min_count: int, without_isolates: bool
) -> None:
    built = link_concepts(given_rows, None, min_count, drop_isolates=without_isolates)
    copy = ConceptGraph(
        link_concepts(given_rows, None, min_count, drop_isolates=without_isolates).graph
    )
    assert built.nodes == copy.nodes
    assert built.link_count == copy.link_count == len(list(built.iter_links()))
    assert encode_graph(built) == encode_graph(copy)
    assert all(
        built.get_chunk_nodes(row.chunk_id) == copy.get_chunk_nodes(row.chunk_id)
        for row in given_rows
    )


@settings(deadline=None)
@given(chunk_keywords, st.randoms(use_true_random=False))
def test_order_of_keywords_does_not_matter(given_rows: list[ChunkKeywords], random: object) -> None:
    shuffled = []
    for row in given_rows:
        words = list(row.keywords)
        random.shuffle(words)  # type: ignore[attr-defined]
        shuffled.append(ChunkKeywords(row.chunk_id, tuple(words)))
    assert encode_graph(link_concepts(shuffled)) == encode_graph(link_concepts(given_rows))


@given(st.integers(1, 40), st.data())
def test_npmi_is_between_its_bounds(total: int, data: st.DataObject) -> None:
    first_count = data.draw(st.integers(1, total))
    second_count = data.draw(st.integers(1, total))
    min_pair_count = max(1, first_count + second_count - total)
    pair_count = data.draw(
        st.integers(min_pair_count, max(min_pair_count, min(first_count, second_count)))
    )
    value = compute_npmi(pair_count, first_count, second_count, total)
    assert -1 <= value <= 1
    if pair_count == first_count == second_count:
        assert value == pytest.approx(1)
    if pair_count * total == first_count * second_count and pair_count < total:
        assert value == pytest.approx(0)


def test_npmi_of_a_worked_example() -> None:
    # p(x) = p(y) = 1/2. If p(x, y) = 1/4, the concepts are independent and NPMI is 0.
    # If p(x, y) = 3/8, NPMI is ln(3/2) / ln(8/3).
    assert compute_npmi(2, 4, 4, 8) == 0
    assert compute_npmi(3, 4, 4, 8) == pytest.approx(0.41339, abs=1e-5)


@pytest.mark.parametrize("counts", [(0, 1, 1, 1), (2, 1, 2, 3), (1, 1, 4, 3)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="impossible counts"):
        compute_npmi(*counts)


def test_duplicate_chunk_and_zero_min_cooccurrence_are_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        link_concepts([*make_rows(("a",)), *make_rows(("b",))])
    with pytest.raises(ValueError, match="min_cooccurrence"):
        link_concepts(make_rows(("log",)), min_cooccurrence=0)


def test_linked_keywords_per_chunk_are_limited() -> None:
    keywords = tuple(f"word{n}" for n in range(MAX_LINKED_KEYWORDS + 50))
    assert len(link_concepts([ChunkKeywords("d#1", keywords)])) == MAX_LINKED_KEYWORDS


def test_queries_match_nodes_despite_capitals_plurals_and_ocr() -> None:
    graph = link_concepts(
        make_rows(("B+-tree", "physical storage media", "index"), ("index", "two-phase lock"))
    )
    assert graph.match_concepts("Overview of PHYSICAL Storage Media?") == ["physical storage media"]
    assert graph.match_concepts("Which indices has the B + -Tree, and what index?") == [
        "b+ tree",
        "index",
    ]
    assert graph.match_concepts("two phase locks") == ["two phase lock"]
    assert graph.match_concepts("What is the weather?") == []
    assert graph.match_concepts("") == []


def test_longest_keyword_is_matched_first_and_words_used_once() -> None:
    graph = link_concepts(make_rows(("buffer", "buffer pool", "pool", "pool manager")))
    assert graph.match_concepts("buffer pool manager") == ["buffer pool"]
    assert graph.match_concepts("the pool manager's buffer") == ["pool manager", "buffer"]
    assert graph.match_concepts("pool of the buffer, pool") == ["pool", "buffer pool"]
    assert graph.match_concepts("pool or buffer or pool") == ["pool", "buffer"]


def test_function_words_alone_match_nothing() -> None:
    graph = link_concepts(make_rows(("it", "what", "log")))
    assert graph.match_concepts("What is it? A log.") == ["log"]


def test_query_with_an_alias_matches_its_node() -> None:
    # In the file, "forms" are the normal forms of the aliases, with which queries are compared.
    graph_bytes = encode_graph(link_concepts(make_rows(("lock", "log"))))
    graph = decode_graph(graph_bytes.replace(b'"aliases":[]', b'"aliases":["latch"]', 1)
                         .replace(b'"forms":[]', b'"forms":["latch"]', 1), "x")  # fmt: skip
    assert graph.match_concepts("a latch") == ["lock"]


def test_lookup_gets_only_unmatched_words() -> None:
    class FakeLookup:
        requested_words: tuple[str, ...] = ()

        def resolve_keywords(self, keywords: list[str]) -> list[str | None]:
            self.requested_words = tuple(keywords)
            return ["lock" if word == "latching" else "gone" for word in keywords]

    graph, lookup = link_concepts(make_rows(("lock", "log"))), FakeLookup()
    assert graph.match_concepts("latching of the log", lookup) == ["lock", "log"]  # type: ignore[arg-type]
    assert lookup.requested_words == ("latching",)


def test_concepts_of_a_chunk_and_chunks_of_a_concept_are_listed() -> None:
    graph = link_concepts(make_rows(("lock", "Log"), ("log",), ()))
    graph.build_indexes()
    assert graph.get_chunk_nodes("d#0") == ["lock", "log"]
    assert graph.get_chunk_nodes("d#1") == ["log"]
    assert graph.get_chunk_nodes("d#2") == []
    assert graph.get_chunk_ids("log") == ["d#0", "d#1"]
    assert graph.get_label("log") == "Log"


# -- the graph file


@settings(deadline=None)
@given(chunk_keywords)
def test_graph_is_unchanged_after_encoding_and_decoding(given_rows: list[ChunkKeywords]) -> None:
    graph = link_concepts(given_rows)
    decoded_graph = decode_graph(encode_graph(graph), "x")
    assert list(decoded_graph.graph.nodes(data=True)) == list(graph.graph.nodes(data=True))
    assert list(decoded_graph.graph.edges(data=True)) == list(graph.graph.edges(data=True))
    assert encode_graph(decoded_graph) == encode_graph(graph)


def test_networkx_reads_the_file_with_default_settings() -> None:
    import json

    import networkx as nx

    graph = link_concepts(make_rows(("lock", "log"), ("log", "lock", "index")))
    networkx_graph = nx.node_link_graph(json.loads(encode_graph(graph)))
    assert nx.utils.nodes_equal(networkx_graph.nodes(data=True), graph.graph.nodes(data=True))
    assert list(networkx_graph.edges.data("weight")) == list(graph.graph.edges.data("weight"))


@pytest.mark.parametrize("key", ["links", "edges"])
def test_edges_and_links_keys_are_both_read(key: str) -> None:
    import json

    import networkx as nx

    graph = link_concepts(make_rows(("lock", "log"), ("log", "lock", "index")))
    file_bytes = json.dumps(nx.node_link_data(graph.graph, edges=key)).encode()
    assert encode_graph(decode_graph(file_bytes, "x")) == encode_graph(graph)


def test_foreign_graph_without_aliases_is_read() -> None:
    decoded_graph = decode_graph(
        b'{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "data", '
        b'"chunk_ids": ["1"]}, {"id": "algorithm"}], "links": [{"source": "data", '
        b'"target": "algorithm", "weight": 2, "chunk_ids": ["1"]}]}',
        "x",
    )
    assert decoded_graph.match_concepts("What data?") == ["data"]
    assert decoded_graph.graph["algorithm"]["data"]["weight"] == 2


INVALID_GRAPHS = {
    "not JSON": b"{",
    "no object": b"[]",
    "neither": b'{"nodes": []}',
    "directed": b'{"directed": true, "nodes": [], "edges": []}',
    "twice": b'{"nodes": [{"id": "a"}, {"id": "a"}], "edges": []}',
    "itself": b'{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "a"}]}',
    "not a node": b'{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "b"}]}',
    "linked twice": b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": '
    b'[{"source": "a", "target": "b"}, {"source": "b", "target": "a"}]}',
    "has weight -1": b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": '
    b'[{"source": "a", "target": "b", "weight": -1}]}',
    "deep": b'{"nodes": [], "edges": [], "graph": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    "wrong types": b'{"nodes": [{"id": 7}], "edges": []}',
    "not a number": b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": '
    b'[{"source": "a", "target": "b", "npmi": NaN}]}',
}
"""Name of the test case → content of a graph file."""


@pytest.mark.parametrize("name", INVALID_GRAPHS)
def test_hostile_graph_files_are_refused(name: str) -> None:
    with pytest.raises(RunFolderError):
        decode_graph(INVALID_GRAPHS[name], "graph.json")


def test_graph_attributes_are_not_constructor_arguments() -> None:
    # nx.Graph has a parameter of this name.
    decoded_graph = decode_graph(
        b'{"nodes": [], "edges": [], "graph": {"incoming_graph_data": 1}}', "x"
    )
    assert isinstance(decoded_graph, ConceptGraph)
    assert len(decoded_graph) == 0
