"""Tests of ``epoche kg analyze`` on texts and on graphs, and of the calibrated score."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from shipped import open_shipped

from cards.generation.difficulty import compute_difficulty
from cards.generation.graph_lookup import GraphLookup
from eval.text.analyze_query import analyze_command
from eval.text.miss_probability import (
    FEATURES,
    analyze_question,
    compute_score_features,
    load_model,
    predict_miss_probability,
)
from kg.base.errors import SettingError
from kg.claims import Claim
from kg.difficulty.analysis import MAX_NODES, analyze_in_facts, analyze_in_run, find_named_entities
from kg.text.chunks import Chunk
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.run.folder import Run
from kg.text.run.pipeline import BuildPlan, build_run
from retrieval.bm25 import BM25
from retrieval.protocol import Passage

BOOK = """# 1 Locks

## 1.1 Two-phase locking

A transaction takes a shared lock. Two-phase locking makes schedules serialisable.

## 1.2 Deadlock

A waits-for graph shows a deadlock. One transaction is the victim.

# 2 Logs

## 2.1 Write-ahead logging

The log record goes to stable storage first.
"""
KEYWORDS = {
    "book#1.1": ("transaction", "shared lock", "two-phase locking"),
    "book#1.2": ("transaction", "deadlock", "waits-for graph"),
    "book#2.1": ("log record", "stable storage"),
}


class FixedExtractor:
    """A keyword extractor that returns the keywords in ``KEYWORDS``."""

    name = "listed"
    failed = 0

    def params(self) -> dict[str, object]:
        return {"keywords": KEYWORDS}

    def extract_keywords(self, chunks: list[Chunk], on_done: object) -> list[ChunkKeywords]:
        return [ChunkKeywords(chunk.id, KEYWORDS.get(chunk.id, ())) for chunk in chunks]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("analysis")
    (folder / "book.md").write_text(BOOK, encoding="utf-8")
    plan = BuildPlan(documents=(folder / "book.md",), out=folder / "run", canonical=False)
    return build_run(plan, FixedExtractor(), None, None)


def test_question_about_a_text_is_analysed(run: Run) -> None:
    analysis = analyze_in_run(run, "Can a shared lock end in deadlock?")
    assert [node.name for node in analysis.matched] == ["shared lock", "deadlock"]
    assert analysis.features is not None
    # The path goes through "transaction", which shares a chunk with both.
    assert analysis.features.max_path_length == 2
    assert [(node.id, node.asked) for node in analysis.nodes] == [
        ("shared lock", True),
        ("deadlock", True),
        ("transaction", False),
    ]
    assert {(link.source, link.target, link.weight) for link in analysis.links} == {
        ("shared lock", "transaction", 1),
        ("deadlock", "transaction", 1),
    }
    assert analysis.features.doc_count == 2
    assert analysis.score.level == "EASY"
    calibrated = analyze_question(run, "Can a shared lock end in deadlock?").calibrated
    assert calibrated is not None
    assert 0 < calibrated.probability < 1

    unconnected_analysis = analyze_in_run(run, "deadlock and stable storage")
    assert unconnected_analysis.features is not None
    assert (
        unconnected_analysis.features.component_count,
        unconnected_analysis.features.max_path_length,
    ) == (2, 3)


def test_question_outside_the_text_is_unanswerable(run: Run) -> None:
    analysis = analyze_question(run, "Who won the match?")
    assert (analysis.score.level, analysis.features, analysis.calibrated) == (
        "UNANSWERABLE",
        None,
        None,
    )
    assert (analysis.matched, analysis.nodes, analysis.links) == ((), (), ())


def test_card_and_its_question_have_the_same_difficulty() -> None:
    rivers = open_shipped("rivers")
    lookup = GraphLookup(rivers)
    base = "https://epoche.example/rivers"
    for subject, question in (
        ("inn", "Does the Inn flow into the Danube?"),
        ("rhine", "Does the RHINE flow into the danube?"),
    ):
        analysis = analyze_in_facts(lookup.fact_graph, lookup.terms, rivers.labels, question)
        claim = Claim(f"{base}/{subject}", f"{base}#flowsInto", f"{base}/danube")
        level, details = compute_difficulty(lookup.fact_graph, lookup.terms, claim)
        assert analysis.score.level == level.upper()
        assert msgspec.to_builtins(analysis.features) == details["features"]
        assert analysis.calibrated is None
        facts = {(link.source, link.predicate, link.target) for link in analysis.links}
        assert all(rivers.graph.has_claim(Claim(s, p, o)) for s, p, o in facts if p is not None)
        assert len(facts) == len(analysis.links) > 0


def test_entities_are_found_in_a_question() -> None:
    rivers = open_shipped("rivers")
    lookup = GraphLookup(rivers)

    def find_names(text: str) -> list[str]:
        nodes = find_named_entities(lookup.fact_graph, lookup.terms, rivers.labels, text)
        return [rivers.labels.get_label(lookup.terms.get_text(node)) for node in nodes]

    assert find_names("Does the North Sea lie beyond the Rhine? The Rhine!") == [
        "North Sea",
        "Rhine",
    ]
    # Classes and predicates have names but are not entities. Function words are not names.
    assert find_names("is the river of the country in the system") == []
    assert find_names("") == []
    flows_into = lookup.intern_term("https://epoche.example/rivers#flowsInto")
    subjects = lookup.graph_index.get_subjects(flows_into)
    long_question = " ".join(rivers.labels.get_label(lookup.terms.get_text(s)) for s in subjects)
    analysis = analyze_in_facts(lookup.fact_graph, lookup.terms, rivers.labels, long_question)
    assert len(analysis.matched) == MAX_NODES
    assert analysis.left_out > 0


def test_the_command_prints_json(run: Run, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "epoche", "kg", "analyze"]
    process = subprocess.run(
        [*command, "What is a deadlock?", "--run", str(run.folder)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    row = json.loads(process.stdout)
    assert row["source"] == {"run": run.sha256}
    assert [node["name"] for node in row["matched"]] == ["deadlock"]
    assert set(row) == {
        "question", "matched", "left_out", "features", "score", "calibrated", "nodes", "links",
        "source",
    }  # fmt: skip
    graph = tmp_path / "g.ttl"
    graph.write_text(
        "@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':a :knows :b . :c :knows :b . :a rdfs:label "Ada" . :c rdfs:label "Cy \\u001b[2J" .\n'
    )
    analyze_command("Does Ada know Cy?", kg=[graph], out=tmp_path / "out.json")
    row = json.loads((tmp_path / "out.json").read_text())
    assert [node["name"] for node in row["matched"]] == ["Ada"]
    for sources in ({}, {"run": run.folder, "kg": [graph]}):
        with pytest.raises(SettingError):
            analyze_command("x", **sources)  # type: ignore[arg-type]


def test_calibrated_score_follows_its_formula_or_is_null() -> None:
    texts = {f"p{n}": f"lock {'deadlock ' * n} page" for n in range(12)}
    bm25 = BM25([Passage(id_, text) for id_, text in texts.items()])
    scores = sorted(bm25.get_scores("deadlock", 10).values(), reverse=True)
    model = load_model()
    odds = (
        model.intercept
        + model.weights["top_score"] * math.log1p(scores[0])
        + model.weights["gap"] * (scores[0] - scores[9]) / scores[0]
    )
    predicted = predict_miss_probability(bm25, "deadlock")
    assert predicted is not None
    assert predicted.probability == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-4)
    assert predict_miss_probability(bm25, "zebra") is None
    assert compute_score_features([2.0]) == (pytest.approx(math.log(3)), 1.0)
    # A high score that stands out is found more surely than ten low ones that are alike.
    sure, unsure = compute_score_features([30.0, *[5.0] * 9]), compute_score_features([3.0] * 10)
    weights = [model.weights[name] for name in FEATURES]
    odds_of = [sum(w * x for w, x in zip(weights, f, strict=True)) for f in (sure, unsure)]
    assert odds_of[0] < odds_of[1] - 3


def test_shipped_model_records_its_data_and_quality() -> None:
    model = load_model()
    assert model.fitted_on.keys() == model.validation.keys()
    for quality in model.validation.values():
        for name in ("brier", "brier_less_base_rate", "auroc"):
            assert quality[name]["low"] <= quality[name]["value"] <= quality[name]["high"]
    n_ordered = sum(quality["auroc"]["low"] > 0.5 for quality in model.validation.values())
    n_better = sum(q["brier_less_base_rate"]["high"] < 0 for q in model.validation.values())
    assert f"above chance on {n_ordered})" in model.worth
    assert model.worth.endswith(f"base rate on {n_better}")
    assert all(source["questions"] > source["missed"] > 0 for source in model.fitted_on.values())
