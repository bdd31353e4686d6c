"""Opening the retrievers of a run by name: built from documents, over the same chunk ids."""

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
from retrieval.factory import (
    RUN_RETRIEVERS,
    RetrieverOptions,
    list_run_passages,
    open_retriever,
    parse_weights,
)
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
ASKED = "Which node of a B+-tree is split when its keys are too many?"
BERTS = "Physical Storage Media"


def build_small_run(folder: Path, **left_out: bool) -> Run:
    (folder / "book.md").write_text(TEXT)
    plan = BuildPlan(documents=(folder / "book.md",), out=folder / "run", **left_out)  # type: ignore[arg-type]
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
    scores = retriever.get_scores(ASKED, 99)
    assert scores
    assert set(scores) <= ids
    assert next(iter(scores)) in ("book#2", "book#2.1")
    first = next(iter(ids))
    assert set(retriever.get_scores(ASKED, 99, {first, "elsewhere"})) <= {first}
    assert list(retriever.get_scores(ASKED, 2).items()) == list(scores.items())[:2]


@pytest.mark.parametrize("name", ["kg", "section_tree"])
def test_headings_and_concepts_match_in_any_case(name: str, run: Run) -> None:
    retriever = open_retriever(name, run)
    for query in (BERTS, BERTS.upper(), BERTS.lower()):
        assert next(iter(retriever.get_scores(query, 1))) == "book#1.1"


def test_ensemble_fuses_its_four_parts(run: Run) -> None:
    parts = ("bm25", "dense", "kg", "section_tree")
    alone = [open_retriever(name, run, embedder="lexical") for name in parts]
    whole = open_retriever("ensemble", run, embedder="lexical")
    by_hand = EnsembleRanker(list_run_passages(run), alone)
    assert whole.get_scores(ASKED, 9) == by_hand.get_scores(ASKED, 9)
    linear = RetrieverOptions(weights={"dense": 0, "kg": 3, "section_tree": 0}, fusion="linear")
    some = open_retriever("ensemble", run, options=linear)
    by_hand = EnsembleRanker(list_run_passages(run), (alone[0], alone[2]), (1, 3), method="linear")
    assert some.get_scores(ASKED, 9) == by_hand.get_scores(ASKED, 9)


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
    for name, choices, match in (
        ("altavista", RetrieverOptions(), "unknown retriever 'altavista'"),
        ("bm25", RetrieverOptions(weights={"bm25": 1}), "has no components"),
        ("hybrid", RetrieverOptions(weights={"kg": 1}), "has no component kg"),
    ):
        with pytest.raises(ValueError, match=match):
            open_retriever(name, run, options=choices)


def test_run_without_sections_or_canonical_forms_is_searched(tmp_path: Path) -> None:
    run = build_small_run(tmp_path, sections=False, canonical=False)
    ensemble = open_retriever("ensemble", run, embedder="lexical")
    names = [part["name"] for part in ensemble.params()["retrievers"]]  # type: ignore[attr-defined]
    assert names == ["bm25", "dense", "kg"]
    assert next(iter(ensemble.get_scores(ASKED, 9))) in ("book#2", "book#2.1")
    for name, choices in (
        ("section_tree", RetrieverOptions()),
        ("ensemble", RetrieverOptions(weights={"dense": 0, "section_tree": 2})),
    ):
        with pytest.raises(RunFolderError, match="without a section tree"):
            open_retriever(name, run, options=choices)
    nothing = dict.fromkeys(("bm25", "dense", "kg"), 0.0)
    with pytest.raises(SettingError, match="all weights are 0"):
        open_retriever("ensemble", run, options=RetrieverOptions(weights=nothing))


def test_another_embedding_model_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same name, other weights: existing embeddings cannot be compared with new ones."""
    other = Embedder(make_lexical_embedder().encode, "lexical", "ab" * 32)
    monkeypatch.setattr(factory, "make_lexical_embedder", lambda: other)
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
        done = CliRunner().invoke(app, ["retrieval", "search", *arguments])
        return done.exit_code, done.stdout

    told = ("--run", str(run.folder), "--retriever", "kg")
    code, text = run_search(ASKED, *told, "-k", "2")
    assert code == 0
    assert "  1  1.0000  book#2" in text
    assert "2.1 Splitting" in text
    code, text = run_search(ASKED, *told, "--json", "--walk", "ppr", "--beta", "0.5")
    found = json.loads(text)
    assert (code, found["query"], found["retriever"]["mode"]) == (0, ASKED, "ppr")
    assert [row["rank"] for row in found["results"]] == list(range(1, len(found["results"]) + 1))
    assert all(row["text"] and 0 < row["score"] <= 1 for row in found["results"])
    assert run_search("zebra", *told) == (0, "nothing found\n")
    assert run_search(ASKED, "--run", str(run.folder / "no"))[0] == 3
    weights = ("--retriever", "ensemble", "--weight", "dense=0", "--weight", "kg=2")
    assert run_search(ASKED, "--run", str(run.folder), *weights, "-k", "1")[0] == 0
    assert run_search(ASKED, "--run", str(run.folder), "--weight", "bm26=0")[0] == 19
    for without_effect in (("--walk", "ppr"), ("--beta", "1"), ("--weight", "kg=1")):
        bm25 = ("--run", str(run.folder), "--retriever", "bm25")
        assert run_search(ASKED, *bm25, *without_effect)[0] == 19
    assert tuple(RetrieverName) == RUN_RETRIEVERS


def test_damaged_runs_are_refused_by_every_retriever(tmp_path: Path) -> None:
    run = build_small_run(tmp_path)
    graph = run.folder / "graph.json"
    graph.write_bytes(graph.read_bytes()[:-2] + b" }")
    from kg.text.run.folder import open_run

    with pytest.raises(RunFolderError):
        open_retriever("kg", open_run(run.folder))
