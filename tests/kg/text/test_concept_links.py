"""Linking of concepts: counts, NPMI and matching against a recount."""

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
from kg.text.normaliser import normalise_phrase

WORDS = ("lock", "Locks", "B+-tree", "b+ trees", "index", "buffer pool", "Buffer Pools", "log", "—")

chunk_keywords = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=6, unique=True), min_size=1, max_size=12
).map(lambda rows: [ChunkKeywords(f"d#{n}", tuple(row)) for n, row in enumerate(rows)])


def make_rows(*keywords: tuple[str, ...]) -> list[ChunkKeywords]:
    return [ChunkKeywords(f"d#{n}", words) for n, words in enumerate(keywords)]


@settings(deadline=None)
@given(chunk_keywords, st.integers(1, 3), st.booleans())
def test_counts_agree_with_a_recount(
    given_rows: list[ChunkKeywords], least: int, drop: bool
) -> None:
    graph = link_concepts(given_rows, min_cooccurrence=least, drop_isolates=drop).graph
    sets = [{normalise_phrase(word) for word in row.keywords} - {""} for row in given_rows]
    single = Counter(node for found in sets for node in found)
    pairs = Counter(pair for found in sets for pair in combinations(sorted(found), 2))
    kept = {pair: n for pair, n in pairs.items() if n >= least}
    linked = {node for pair in kept for node in pair}
    assert set(graph) == (linked if drop else set(single))
    assert {tuple(sorted(edge)) for edge in graph.edges} == set(kept)
    for node, data in graph.nodes(data=True):
        where = [f"d#{n}" for n, found in enumerate(sets) if node in found]
        assert data["chunk_ids"] == where
        assert data["count"] == single[node]
        spelt = Counter(
            w for row in given_rows for w in row.keywords if normalise_phrase(w) == node
        )
        assert spelt[data["label"]] == max(spelt.values())
        assert {data["label"], *data["aliases"]} == set(spelt)
    for one, other, data in graph.edges(data=True):
        where = [f"d#{n}" for n, found in enumerate(sets) if {one, other} <= found]
        assert data["chunk_ids"] == where
        assert data["weight"] == len(where)
        p = len(where) / len(sets)
        if p < 1:
            mutual = math.log(p / (single[one] * single[other] / len(sets) ** 2))
            assert data["npmi"] == pytest.approx(mutual / -math.log(p))
        else:
            assert data["npmi"] == 1


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
    first = data.draw(st.integers(1, total))
    second = data.draw(st.integers(1, total))
    low = max(1, first + second - total)
    together = data.draw(st.integers(low, max(low, min(first, second))))
    value = compute_npmi(together, first, second, total)
    assert -1 <= value <= 1
    if together == first == second:
        assert value == pytest.approx(1)
    if together * total == first * second and together < total:
        assert value == pytest.approx(0)


def test_npmi_of_a_worked_example() -> None:
    # p(x) = p(y) = 1/2, p(x, y) = 1/4: independent. p(x, y) = 3/8: ln(3/2) / ln(8/3).
    assert compute_npmi(2, 4, 4, 8) == 0
    assert compute_npmi(3, 4, 4, 8) == pytest.approx(0.41339, abs=1e-5)


@pytest.mark.parametrize("counts", [(0, 1, 1, 1), (2, 1, 2, 3), (1, 1, 4, 3)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="impossible counts"):
        compute_npmi(*counts)


def test_duplicate_chunk_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        link_concepts([*make_rows(("a",)), *make_rows(("b",))])
    with pytest.raises(ValueError, match="min_cooccurrence"):
        link_concepts(make_rows(("log",)), min_cooccurrence=0)


def test_linked_keywords_per_chunk_are_limited() -> None:
    many = tuple(f"word{n}" for n in range(MAX_LINKED_KEYWORDS + 50))
    assert len(link_concepts([ChunkKeywords("d#1", many)])) == MAX_LINKED_KEYWORDS


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


def test_longest_form_is_matched_first_and_words_used_once() -> None:
    graph = link_concepts(make_rows(("buffer", "buffer pool", "pool", "pool manager")))
    assert graph.match_concepts("buffer pool manager") == ["buffer pool"]
    assert graph.match_concepts("the pool manager's buffer") == ["pool manager", "buffer"]
    assert graph.match_concepts("pool of the buffer, pool") == ["pool", "buffer pool"]
    assert graph.match_concepts("pool or buffer or pool") == ["pool", "buffer"]


def test_function_words_alone_match_nothing() -> None:
    graph = link_concepts(make_rows(("it", "what", "log")))
    assert graph.match_concepts("What is it? A log.") == ["log"]


def test_aliases_find_their_node() -> None:
    written = encode_graph(link_concepts(make_rows(("lock", "log"))))
    graph = decode_graph(written.replace(b'"aliases":[]', b'"aliases":["latch"]', 1)
                         .replace(b'"forms":[]', b'"forms":["latch"]', 1), "x")  # fmt: skip
    assert graph.match_concepts("a latch") == ["lock"]


def test_lookup_gets_only_unmatched_words() -> None:
    class Lookup:
        asked: tuple[str, ...] = ()

        def resolve_keywords(self, keywords: list[str]) -> list[str | None]:
            self.asked = tuple(keywords)
            return ["lock" if word == "latching" else "gone" for word in keywords]

    graph, lookup = link_concepts(make_rows(("lock", "log"))), Lookup()
    assert graph.match_concepts("latching of the log", lookup) == ["lock", "log"]  # type: ignore[arg-type]
    assert lookup.asked == ("latching",)


def test_chunks_know_their_concepts() -> None:
    graph = link_concepts(make_rows(("lock", "Log"), ("log",), ()))
    graph.build_indexes()
    assert graph.get_chunk_nodes("d#0") == ["lock", "log"]
    assert graph.get_chunk_nodes("d#1") == ["log"]
    assert graph.get_chunk_nodes("d#2") == []
    assert graph.get_chunk_ids("log") == ["d#0", "d#1"]
    assert graph.get_label("log") == "Log"


# -- the file


@settings(deadline=None)
@given(chunk_keywords)
def test_graph_is_unchanged_after_its_file(given_rows: list[ChunkKeywords]) -> None:
    graph = link_concepts(given_rows)
    read = decode_graph(encode_graph(graph), "x")
    assert list(read.graph.nodes(data=True)) == list(graph.graph.nodes(data=True))
    assert list(read.graph.edges(data=True)) == list(graph.graph.edges(data=True))
    assert encode_graph(read) == encode_graph(graph)


def test_networkx_reads_the_file_with_defaults() -> None:
    import json

    import networkx as nx

    graph = link_concepts(make_rows(("lock", "log"), ("log", "lock", "index")))
    plain = nx.node_link_graph(json.loads(encode_graph(graph)))
    assert nx.utils.graphs_equal(plain, graph.graph)


@pytest.mark.parametrize("key", ["links", "edges"])
def test_edges_and_links_keys_are_both_read(key: str) -> None:
    import json

    import networkx as nx

    graph = link_concepts(make_rows(("lock", "log"), ("log", "lock", "index")))
    written = json.dumps(nx.node_link_data(graph.graph, edges=key)).encode()
    assert encode_graph(decode_graph(written, "x")) == encode_graph(graph)


def test_foreign_graph_without_aliases_is_read() -> None:
    read = decode_graph(
        b'{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "data", '
        b'"chunk_ids": ["1"]}, {"id": "algorithm"}], "links": [{"source": "data", '
        b'"target": "algorithm", "weight": 2, "chunk_ids": ["1"]}]}',
        "x",
    )
    assert read.match_concepts("What data?") == ["data"]
    assert read.graph["algorithm"]["data"]["weight"] == 2


HOSTILE = {
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


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_graph_files_are_refused(name: str) -> None:
    with pytest.raises(RunFolderError):
        decode_graph(HOSTILE[name], "graph.json")


def test_graph_attributes_are_not_constructor_arguments() -> None:
    read = decode_graph(b'{"nodes": [], "edges": [], "graph": {"incoming_graph_data": 1}}', "x")
    assert isinstance(read, ConceptGraph)
    assert len(read) == 0
