"""Linking: counts, NPMI and matching, against a recount by hand."""

import math
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import RunFolderError
from kg.text.concepts.association import npmi
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.concepts.graph_file import decode_graph, encode_graph
from kg.text.concepts.linking import MAX_LINKED, link
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.normaliser import normalise

WORDS = ("lock", "Locks", "B+-tree", "b+ trees", "index", "buffer pool", "Buffer Pools", "log", "—")

chunk_keywords = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=6, unique=True), min_size=1, max_size=12
).map(lambda rows: [ChunkKeywords(f"d#{n}", tuple(row)) for n, row in enumerate(rows)])


def rows(*keywords: tuple[str, ...]) -> list[ChunkKeywords]:
    return [ChunkKeywords(f"d#{n}", words) for n, words in enumerate(keywords)]


@settings(deadline=None)
@given(chunk_keywords, st.integers(1, 3), st.booleans())
def test_counts_are_those_of_a_recount(
    given_rows: list[ChunkKeywords], least: int, drop: bool
) -> None:
    graph = link(given_rows, min_cooccurrence=least, drop_isolates=drop).graph
    sets = [{normalise(word) for word in row.keywords} - {""} for row in given_rows]
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
        spelt = Counter(w for row in given_rows for w in row.keywords if normalise(w) == node)
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
    assert encode_graph(link(shuffled)) == encode_graph(link(given_rows))


@given(st.integers(1, 40), st.data())
def test_npmi_stays_in_its_bounds(total: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, total))
    second = data.draw(st.integers(1, total))
    low = max(1, first + second - total)
    together = data.draw(st.integers(low, max(low, min(first, second))))
    value = npmi(together, first, second, total)
    assert -1 <= value <= 1
    if together == first == second:
        assert value == pytest.approx(1)
    if together * total == first * second and together < total:
        assert value == pytest.approx(0)


def test_npmi_as_worked_out_by_hand() -> None:
    # p(x) = p(y) = 1/2, p(x, y) = 1/4: independent. p(x, y) = 3/8: ln(3/2) / ln(8/3).
    assert npmi(2, 4, 4, 8) == 0
    assert npmi(3, 4, 4, 8) == pytest.approx(0.41339, abs=1e-5)


@pytest.mark.parametrize("counts", [(0, 1, 1, 1), (2, 1, 2, 3), (1, 1, 4, 3)])
def test_counts_of_nothing_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="of"):
        npmi(*counts)


def test_a_chunk_cannot_stand_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        link([*rows(("a",)), *rows(("b",))])
    with pytest.raises(ValueError, match="min_cooccurrence"):
        link(rows(("log",)), min_cooccurrence=0)


def test_a_hostile_chunk_cannot_square_its_keywords() -> None:
    many = tuple(f"word{n}" for n in range(MAX_LINKED + 50))
    assert len(link([ChunkKeywords("d#1", many)])) == MAX_LINKED


def test_queries_meet_nodes_in_capitals_plurals_and_scanned_spelling() -> None:
    graph = link(rows(("B+-tree", "physical storage media", "index"), ("index", "two-phase lock")))
    assert graph.match("Overview of PHYSICAL Storage Media?") == ["physical storage media"]
    assert graph.match("Which indices has the B + -Tree, and what index?") == ["b+ tree", "index"]
    assert graph.match("two phase locks") == ["two phase lock"]
    assert graph.match("What is the weather?") == []
    assert graph.match("") == []


def test_the_longest_form_goes_first_and_no_word_is_used_twice() -> None:
    graph = link(rows(("buffer", "buffer pool", "pool", "pool manager")))
    assert graph.match("buffer pool manager") == ["buffer pool"]
    assert graph.match("the pool manager's buffer") == ["pool manager", "buffer"]
    assert graph.match("pool of the buffer, pool") == ["pool", "buffer pool"]
    assert graph.match("pool or buffer or pool") == ["pool", "buffer"]


def test_function_words_match_nothing_alone() -> None:
    graph = link(rows(("it", "what", "log")))
    assert graph.match("What is it? A log.") == ["log"]


def test_aliases_find_their_node() -> None:
    written = encode_graph(link(rows(("lock", "log"))))
    graph = decode_graph(written.replace(b'"aliases":[]', b'"aliases":["latch"]', 1)
                         .replace(b'"forms":[]', b'"forms":["latch"]', 1), "x")  # fmt: skip
    assert graph.match("a latch") == ["lock"]


def test_only_what_stands_in_the_lookup_is_asked_for() -> None:
    class Lookup:
        asked: tuple[str, ...] = ()

        def resolve_many(self, keywords: list[str]) -> list[str | None]:
            self.asked = tuple(keywords)
            return ["lock" if word == "latching" else "gone" for word in keywords]

    graph, lookup = link(rows(("lock", "log"))), Lookup()
    assert graph.match("latching of the log", lookup) == ["lock", "log"]  # type: ignore[arg-type]
    assert lookup.asked == ("latching",)


def test_chunks_know_their_concepts() -> None:
    graph = link(rows(("lock", "Log"), ("log",), ()))
    graph.prepare()
    assert graph.nodes_of_chunk("d#0") == ["lock", "log"]
    assert graph.nodes_of_chunk("d#1") == ["log"]
    assert graph.nodes_of_chunk("d#2") == []
    assert graph.chunk_ids("log") == ["d#0", "d#1"]
    assert graph.label("log") == "Log"


# -- the file


@settings(deadline=None)
@given(chunk_keywords)
def test_a_graph_survives_its_file(given_rows: list[ChunkKeywords]) -> None:
    graph = link(given_rows)
    read = decode_graph(encode_graph(graph), "x")
    assert list(read.graph.nodes(data=True)) == list(graph.graph.nodes(data=True))
    assert list(read.graph.edges(data=True)) == list(graph.graph.edges(data=True))
    assert encode_graph(read) == encode_graph(graph)


def test_networkx_reads_the_file_by_its_defaults() -> None:
    import json

    import networkx as nx

    graph = link(rows(("lock", "log"), ("log", "lock", "index")))
    plain = nx.node_link_graph(json.loads(encode_graph(graph)))
    assert nx.utils.graphs_equal(plain, graph.graph)


@pytest.mark.parametrize("key", ["links", "edges"])
def test_both_names_of_edges_are_read(key: str) -> None:
    import json

    import networkx as nx

    graph = link(rows(("lock", "log"), ("log", "lock", "index")))
    written = json.dumps(nx.node_link_data(graph.graph, edges=key)).encode()
    assert encode_graph(decode_graph(written, "x")) == encode_graph(graph)


def test_a_graph_of_others_needs_no_aliases() -> None:
    read = decode_graph(
        b'{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "data", '
        b'"chunk_ids": ["1"]}, {"id": "algorithm"}], "links": [{"source": "data", '
        b'"target": "algorithm", "weight": 2, "chunk_ids": ["1"]}]}',
        "x",
    )
    assert read.match("What data?") == ["data"]
    assert read.graph["algorithm"]["data"]["weight"] == 2


HOSTILE = {
    "not JSON": b"{",
    "no object": b"[]",
    "neither": b'{"nodes": []}',
    "directed": b'{"directed": true, "nodes": [], "edges": []}',
    "twice": b'{"nodes": [{"id": "a"}, {"id": "a"}], "edges": []}',
    "itself": b'{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "a"}]}',
    "no node": b'{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "b"}]}',
    "linked twice": b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": '
    b'[{"source": "a", "target": "b"}, {"source": "b", "target": "a"}]}',
    "linked by -1": b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": '
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


def test_attributes_of_a_graph_cannot_reach_its_constructor() -> None:
    read = decode_graph(b'{"nodes": [], "edges": [], "graph": {"incoming_graph_data": 1}}', "x")
    assert isinstance(read, ConceptGraph)
    assert len(read) == 0
