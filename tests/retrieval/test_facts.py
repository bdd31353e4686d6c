"""Tests retrieval by facts: the walk against networkx, independence of order, and whole runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from epoche.cli import app
from eval.retrieval_eval.data.multihop import read_musique
from kg.base.errors import RecordError
from kg.embedding.lexical import make_lexical_embedder
from kg.text.canonical.verifier import RuleVerifier
from kg.text.facts.fact import Fact, read_facts, write_facts
from kg.text.facts.rules import find_facts
from kg.text.keywords.yake_extractor import Yake
from kg.text.run.folder import Run
from kg.text.run.pipeline import BuildPlan, build_run
from retrieval.adjacency import Adjacency
from retrieval.bm25 import BM25
from retrieval.factory import RetrieverOptions, open_retriever
from retrieval.facts.fact_graph import FactGraph
from retrieval.facts.retriever import FactRetriever
from retrieval.protocol import Passage

LEXICAL = make_lexical_embedder()
TEXTS = {
    "journal": "The Journal of Rivers is published by the Society of Hydrology.",
    "society": "The first president of the society was Anna Gletscher.",
    "anna": "Gletscher was born in Chur.",
    "noise": "Bread is baked from flour and water.",
    "noise 2": "A journal has a president for every society.",
}
FACTS = [
    Fact(
        chunk_id="journal",
        subject="Journal of Rivers",
        relation="is published by",
        object="Society of Hydrology",
        quote="is published by the Society",
    ),
    Fact(
        chunk_id="society",
        subject="Society of Hydrology",
        relation="has the first president",
        object="Anna Gletscher",
    ),
    Fact(chunk_id="anna", subject="Anna Gletscher", relation="was born in", object="Chur"),
    Fact(chunk_id="noise", subject="bread", relation="is baked from", object="flour"),
]
QUESTION = "Where was the president of the publisher of the Journal of Rivers born?"


def make_retriever(
    facts: Sequence[Fact] = FACTS, texts: Sequence[tuple[str, str]] = tuple(TEXTS.items())
) -> FactRetriever:
    passages = [Passage(passage_id, text) for passage_id, text in texts]
    return FactRetriever(passages, facts, LEXICAL, BM25(passages), source="file")


nodes = st.integers(0, 7)
weights = st.floats(0.1, 10)
edge_maps = st.dictionaries(
    st.tuples(nodes, nodes).filter(lambda pair: pair[0] < pair[1]), weights, max_size=20
)
restarts = st.lists(st.floats(0, 5), min_size=8, max_size=8).filter(
    lambda values: sum(values) > 0.1
)


@given(edge_maps, restarts, st.floats(0, 0.9))
@settings(deadline=None, max_examples=100)
def test_pagerank_is_that_of_networkx(
    edges: dict[tuple[int, int], float], restart: list[float], damping: float
) -> None:
    adjacency = Adjacency(8, ((left, right, w) for (left, right), w in edges.items()))
    shares = adjacency.compute_weighted_pagerank(np.array(restart), damping)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0).all()
    graph = nx.Graph()
    graph.add_nodes_from(range(8))
    graph.add_weighted_edges_from((left, right, w) for (left, right), w in edges.items())
    personalization = dict(enumerate(restart))
    expected = nx.pagerank(
        graph, alpha=damping, personalization=personalization, tol=1e-13, max_iter=10_000
    )
    assert shares == pytest.approx([expected[node] for node in range(8)], abs=1e-8)


def test_pagerank_of_uniform_seeds_agrees_with_the_local_one() -> None:
    adjacency = Adjacency(5, [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 1.0)])
    reached, local = adjacency.compute_pagerank(np.array([0, 2]), 0.5)
    exact = adjacency.compute_weighted_pagerank(np.array([1.0, 0, 1, 0, 0]), 0.5)
    assert exact[reached] == pytest.approx(local, abs=2e-3)
    assert exact[4] == 0


def test_passages_that_share_no_word_with_the_question_are_found_through_facts() -> None:
    scores = make_retriever().get_scores(QUESTION, 5)
    assert next(iter(scores)) == "journal"
    assert set(list(scores)[:3]) == {"journal", "society", "anna"}
    assert "anna" not in BM25(
        [Passage(passage_id, text) for passage_id, text in TEXTS.items()]
    ).get_scores("Who presides over the publisher of the Journal of Rivers?", 5)
    assert make_retriever().link_facts(QUESTION)[0][0].startswith("Journal of Rivers")


@given(st.permutations(FACTS), st.permutations(list(TEXTS.items())))
@settings(deadline=None, max_examples=30)
def test_order_of_facts_and_passages_has_no_effect(
    facts: list[Fact], texts: list[tuple[str, str]]
) -> None:
    expected = make_retriever().get_scores(QUESTION, 5)
    shuffled = make_retriever(facts, texts)
    assert shuffled.params() == make_retriever().params()
    assert shuffled.get_scores(QUESTION, 5) == pytest.approx(expected, rel=1e-9)


def test_same_input_gives_the_same_bytes() -> None:
    first, second = (list(make_retriever().get_scores(QUESTION, 5).items()) for _ in range(2))
    assert first == second


def test_graph_links_phrases_passages_and_synonyms_with_the_published_weights() -> None:
    facts = [
        Fact(chunk_id="a", subject="Publix Super Markets", relation="is in", object="Florida"),
        Fact(chunk_id="b", subject="Publix Super Market", relation="is in", object="florida"),
        Fact(chunk_id="b", subject="Publix Supermarkets", relation="is in", object="1963"),
        Fact(chunk_id="b", subject="year 1963", relation="is before", object="year 1964"),
    ]
    graph = FactGraph(facts, {"a": 0, "b": 1, "c": 2}, LEXICAL)
    assert graph.phrases == [
        *("1963", "florida", "publix super market", "publix supermarket"),
        *("year 1963", "year 1964"),
    ]
    matrix = graph.adjacency._matrix.toarray()
    assert (matrix == matrix.T).all()
    florida, publix, joined, passage = 1, 2, 3, len(graph.phrases)
    assert matrix[florida, publix] == 4, "two statements, each in both directions"
    assert matrix[florida, passage] == matrix[florida, passage + 1] == 1
    assert 1.6 <= matrix[publix, joined] <= 2, "synonyms: twice the cosine"
    assert matrix[4, 5] == 2, "phrases with other numbers are no synonyms"
    assert not matrix[passage + 2].any()


def test_without_facts_passages_are_ranked_by_their_own_scores() -> None:
    passages = [Passage(passage_id, text) for passage_id, text in TEXTS.items()]
    bm25 = BM25(passages)
    retriever = FactRetriever(passages, [], LEXICAL, bm25, source="rules")
    assert list(retriever.get_scores(QUESTION, 5)) == list(bm25.get_scores(QUESTION, 5))
    assert retriever.get_scores("zzz", 5) == {}
    assert FactRetriever([], [], LEXICAL, BM25([]), source="rules").get_scores("a", 5) == {}


def test_parameters_out_of_bounds_are_refused() -> None:
    passages = [Passage("a", "text")]
    for bounds in ({"linked_facts": 0}, {"damping": 1.0}, {"passage_weight": -1.0}):
        with pytest.raises(ValueError, match="out of bounds"):
            FactRetriever(passages, [], LEXICAL, BM25(passages), source="", **bounds)  # type: ignore[arg-type]


def test_facts_survive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    assert write_facts(path, FACTS) == len(FACTS)
    assert read_facts(path, TEXTS) == FACTS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chunk_id": "elsewhere"}, "no chunk 'elsewhere'"),
        ({"quote": "is printed by"}, "quote 'is printed by' does not occur"),
        ({"subject": "!?"}, "its subject has no words"),
        ({"relation": "x" * 1_001}, "its relation has more than"),
        ({"object": 3}, "not a valid fact"),
    ],
)
def test_wrong_facts_are_refused_with_their_line(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "facts.jsonl"
    rows = [{"chunk_id": "anna", "subject": "Anna", "relation": "is", "object": "a person"}] * 2
    path.write_text("".join(json.dumps(row) + "\n" for row in (rows[0], {**rows[1], **changes})))
    with pytest.raises(RecordError, match=message) as caught:
        read_facts(path, TEXTS)
    assert caught.value.where.endswith(":2")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("facts")
    chunks = folder / "chunks.jsonl"
    chunks.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in TEXTS.items()))
    plan = BuildPlan(documents=(chunks,), out=folder / "run")
    return build_run(plan, Yake(), RuleVerifier(), LEXICAL)


def test_facts_of_a_file_are_used_by_facts_and_ensemble(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    write_facts(path, FACTS)
    by_rules = open_retriever("facts", run, embedder="lexical")
    given = open_retriever(
        "facts", run, embedder="lexical", options=RetrieverOptions(facts=str(path))
    )
    params = [retriever.params()["facts"] for retriever in (by_rules, given)]  # type: ignore[attr-defined]
    assert params == ["rules", "file"]
    assert given.get_scores(QUESTION, 5) == make_retriever().get_scores(QUESTION, 5)
    ensemble = open_retriever("ensemble", run, embedder="lexical")
    names = [part["name"] for part in ensemble.params()["retrievers"]]  # type: ignore[attr-defined]
    assert names == ["bm25", "dense", "facts"]


def test_search_command_takes_facts(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    write_facts(path, FACTS)
    command = ["retrieval", "search", QUESTION, "--run", str(run.folder), "--embedder", "lexical"]
    flags = ["--retriever", "facts", "--facts", str(path), "-k", "3", "--json"]
    result = CliRunner().invoke(app, [*command, *flags], catch_exceptions=False)
    found = [row["id"] for row in json.loads(result.stdout)["results"]]
    assert found == list(make_retriever().get_scores(QUESTION, 3))
    refused = CliRunner().invoke(app, [*command, "--retriever", "bm25", "--facts", str(path)])
    assert refused.exit_code == 19
    assert "--facts has no effect on bm25" in refused.output


def test_facts_by_rules_find_more_on_musique_than_words(public_data: Path) -> None:
    folder = public_data / "foreign" / "retrieval" / "musique-100"
    if not folder.is_dir():
        pytest.skip("no MuSiQue in the public data")
    imported = read_musique(folder / "musique_train.json.gz")
    chunks = list(imported.chunks.values())
    passages = [Passage(chunk.id, chunk.text) for chunk in chunks]
    bm25 = BM25(passages)
    facts = FactRetriever(passages, find_facts(chunks), LEXICAL, bm25, source="rules")
    by_words, by_facts = (
        np.array(
            [
                set(question.gold) <= set(retriever.get_scores(question.question, 10))
                for question in imported.questions.values()
            ]
        )
        for retriever in (bm25, facts)
    )
    # Without a model: 28 and 41 of 100 when this was written.
    assert (by_facts & ~by_words).sum() > (by_words & ~by_facts).sum() + 5
