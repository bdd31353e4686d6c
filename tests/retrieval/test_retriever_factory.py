"""Tests that each retriever of a run can be opened by name and returns the run's chunk ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from epoche.cli import app
from kg.base.errors import EmbedderMismatchError, RunFolderError, SettingError
from kg.embedding import factory
from kg.embedding.embedder import Embedder
from kg.embedding.lexical import make_lexical_embedder
from kg.text.canonical.verifier import RuleVerifier
from kg.text.keywords.yake_extractor import Yake
from kg.text.run.folder import Run
from kg.text.run.pipeline import BuildPlan, build_run
from retrieval.ensemble import EnsembleRanker
from retrieval.factory import RetrieverOptions, list_run_passages, open_retriever, parse_weights
from retrieval.names import RUN_RETRIEVERS
from retrieval.protocol import Retriever
from retrieval.search_run import RetrieverName

TEXT = """# 1 Storage

Data are kept on storage media. Every storage medium has a price and a latency.

## 1.1 Overview of Physical Storage Media

Magnetic disks spin, and a disk arm moves over them. Flash memory has no disk arm and no latency
of rotation. Tapes are read from end to end.

# 2 Tree Indexes

A B+-tree index keeps its keys in order. Each node of the B+-tree is a disk block.

## 2.1 Splitting

When a leaf node of the B+-tree is full, the node is split, and a key moves to its parent.

# 3 Locking

Two-phase locking takes locks on disk blocks and keys. A lock is held until the transaction ends.
"""
QUERY = "Which node of a B+-tree is split when its keys are too many?"
HEADING_QUERY = "Physical Storage Media"


def build_small_run(folder: Path, **steps: bool) -> Run:
    (folder / "book.md").write_text(TEXT)
    plan = BuildPlan(documents=(folder / "book.md",), out=folder / "run", **steps)  # type: ignore[arg-type]
    return build_run(plan, Yake(), RuleVerifier(), make_lexical_embedder())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return build_small_run(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("name", RUN_RETRIEVERS)
def test_every_retriever_returns_chunk_ids_of_the_run(name: str, run: Run) -> None:
    retriever = open_retriever(name, run, embedder="lexical")
    assert isinstance(retriever, Retriever)
    assert retriever.name == name
    ids = {chunk.id for chunk in run.chunks}
    scores = retriever.get_scores(QUERY, 99)
    assert scores
    assert set(scores) <= ids
    assert next(iter(scores)) in ("book#2", "book#2.1")
    first_id = next(iter(ids))
    assert set(retriever.get_scores(QUERY, 99, {first_id, "elsewhere"})) <= {first_id}
    assert list(retriever.get_scores(QUERY, 2).items()) == list(scores.items())[:2]


@pytest.mark.parametrize("name", ["kg", "section_tree"])
def test_headings_and_concepts_match_in_any_case(name: str, run: Run) -> None:
    retriever = open_retriever(name, run)
    for query in (HEADING_QUERY, HEADING_QUERY.upper(), HEADING_QUERY.lower()):
        assert next(iter(retriever.get_scores(query, 1))) == "book#1.1"


def test_ensemble_fuses_the_parts_with_a_weight(run: Run) -> None:
    component_names = ("bm25", "dense", "facts")
    components = [open_retriever(name, run, embedder="lexical") for name in component_names]
    ensemble = open_retriever("ensemble", run, embedder="lexical")
    expected = EnsembleRanker(list_run_passages(run), components)
    assert ensemble.get_scores(QUERY, 9) == expected.get_scores(QUERY, 9)
    components[2] = open_retriever("kg", run)
    options = RetrieverOptions(weights={"dense": 0, "facts": 0, "kg": 3}, fusion="linear")
    weighted_ensemble = open_retriever("ensemble", run, options=options)
    expected = EnsembleRanker(
        list_run_passages(run), (components[0], components[2]), (1, 3), method="linear"
    )
    assert weighted_ensemble.get_scores(QUERY, 9) == expected.get_scores(QUERY, 9)


def test_options_reach_the_retriever(run: Run) -> None:
    kg = open_retriever("kg", run, options=RetrieverOptions(walk="ppr", use_lookup=False, beta=0.5))
    assert kg.params() == {  # type: ignore[attr-defined]
        "name": "kg",
        "mode": "ppr",
        "damping": 0.5,
        "beta": 0.5,
        "lookup": False,
    }
    tree = open_retriever("section_tree", run, options=RetrieverOptions(break_ties=False))
    assert tree.params()["ties"] is None  # type: ignore[attr-defined]
    for name, options, message in (
        ("altavista", RetrieverOptions(), "unknown retriever 'altavista'"),
        ("bm25", RetrieverOptions(weights={"bm25": 1}), "has no components"),
        ("hybrid", RetrieverOptions(weights={"kg": 1}), "has no component kg"),
    ):
        with pytest.raises(ValueError, match=message):
            open_retriever(name, run, options=options)


def test_run_without_sections_or_canonical_forms_is_searched(tmp_path: Path) -> None:
    run = build_small_run(tmp_path, sections=False, canonical=False)
    ensemble = open_retriever("ensemble", run, embedder="lexical")
    names = [part["name"] for part in ensemble.params()["retrievers"]]  # type: ignore[attr-defined]
    assert names == ["bm25", "dense", "facts"]
    assert next(iter(ensemble.get_scores(QUERY, 9))) in ("book#2", "book#2.1")
    for name, options in (
        ("section_tree", RetrieverOptions()),
        ("ensemble", RetrieverOptions(weights={"dense": 0, "facts": 0, "section_tree": 2})),
    ):
        with pytest.raises(RunFolderError, match="without a section tree"):
            open_retriever(name, run, options=options)
    zero_weights = dict.fromkeys(("bm25", "dense", "facts"), 0.0)
    with pytest.raises(SettingError, match="all weights are 0"):
        open_retriever("ensemble", run, options=RetrieverOptions(weights=zero_weights))


def test_another_embedding_model_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with the same name but other weights is refused too.

    Embeddings of the run cannot be compared with those of other weights.
    """
    other_embedder = Embedder(make_lexical_embedder().encode, "lexical", "ab" * 32)
    monkeypatch.setattr(factory, "make_lexical_embedder", lambda: other_embedder)
    with pytest.raises(EmbedderMismatchError):
        open_retriever("kg", run)


def test_ensemble_weights_are_parsed() -> None:
    assert parse_weights(["kg=0.5", "bm25=2"], "ensemble") == {"kg": 0.5, "bm25": 2.0}
    for pairs, name in (
        (["kg"], "ensemble"),
        (["kg=x"], "ensemble"),
        (["kg=-1"], "ensemble"),
        (["kg=nan"], "ensemble"),
        (["kg=inf"], "ensemble"),
        (["kg=1", "kg=1"], "ensemble"),
        (["kg=1"], "hybrid"),
        (["bm25=1"], "bm25"),
    ):
        with pytest.raises(SettingError, match="is not a valid weight for"):
            parse_weights(pairs, name)


def test_command_prints_text_or_json(run: Run) -> None:
    def run_search(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["retrieval", "search", *arguments])
        return result.exit_code, result.stdout

    kg_arguments = ("--run", str(run.folder), "--retriever", "kg")
    code, text = run_search(QUERY, *kg_arguments, "-k", "2")
    assert code == 0
    assert "  1  1.0000  book#2" in text
    assert "2.1 Splitting" in text
    code, text = run_search(QUERY, *kg_arguments, "--json", "--walk", "ppr", "--beta", "0.5")
    document = json.loads(text)
    assert (code, document["query"], document["retriever"]["mode"]) == (0, QUERY, "ppr")
    assert [row["rank"] for row in document["results"]] == list(
        range(1, len(document["results"]) + 1)
    )
    assert all(row["text"] and 0 < row["score"] <= 1 for row in document["results"])
    assert run_search("zebra", *kg_arguments) == (0, "nothing found\n")
    # Exit codes (docs/reference/exit-codes.md): 3 missing file, 19 invalid setting.
    assert run_search(QUERY, "--run", str(run.folder / "no"))[0] == 3
    weights = ("--retriever", "ensemble")
    # Neither needs an embedding model.
    for weight in ("dense=0", "facts=0", "kg=2"):
        weights += ("--weight", weight)
    assert run_search(QUERY, "--run", str(run.folder), *weights, "-k", "1")[0] == 0
    assert run_search(QUERY, "--run", str(run.folder), "--weight", "bm26=0")[0] == 19
    # BM25 has no walk, no beta and no weights, so these options are refused.
    for options in (("--walk", "ppr"), ("--beta", "1"), ("--weight", "kg=1")):
        bm25 = ("--run", str(run.folder), "--retriever", "bm25")
        assert run_search(QUERY, *bm25, *options)[0] == 19
    assert tuple(RetrieverName) == RUN_RETRIEVERS


def test_damaged_runs_are_refused_by_every_retriever(tmp_path: Path) -> None:
    run = build_small_run(tmp_path)
    graph_file = run.folder / "graph.json.gz"
    graph_file.write_bytes(graph_file.read_bytes()[:-2] + b" }")
    from kg.text.run.folder import open_run

    with pytest.raises(RunFolderError):
        open_retriever("kg", open_run(run.folder))
