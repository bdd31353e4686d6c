"""Tests the systems that use a graph, on a small graph defined here."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from cards.card import Card, write_cards
from eval.abstention.manifest import read_manifest
from eval.abstention.metrics.observations import read_observations
from eval.abstention.result import read_results
from eval.abstention.runner import run
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import make_systems
from kg.base.errors import (
    CardSetMismatchError,
    GraphSyntaxError,
    MissingFileError,
    RecordError,
    SettingError,
)
from kg.claims import GOLD_OF_LABEL, Claim, Label
from kg.knowledge import KnowledgeBase

GRAPH = """
@prefix : <urn:x:> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:River a owl:Class ; rdfs:label "river" .
:Sea a owl:Class ; rdfs:label "sea" .
:mouth a owl:ObjectProperty ; rdfs:label "flows into" .
:receives a owl:ObjectProperty ; rdfs:label "receives" ; owl:inverseOf :mouth .
:rhine a :River ; rdfs:label "Rhine" ; :mouth :north .
:main a :River ; rdfs:label "Main" ; :mouth :rhine .
:lahn a :River ; rdfs:label "Lahn" .
:north a :Sea ; rdfs:label "North Sea" .
:baltic a :Sea ; rdfs:label "Baltic Sea" .
:no a owl:NegativePropertyAssertion ;
    owl:sourceIndividual :lahn ; owl:assertionProperty :mouth ; owl:targetIndividual :north .
"""
SHAPES = """
@prefix : <urn:x:> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
:OneMouth a sh:NodeShape ; sh:targetSubjectsOf :mouth ;
    sh:property [ sh:path :mouth ; sh:maxCount 1 ; sh:message "more than one mouth" ] .
"""
CLAIMS: list[tuple[Label, str, str, str]] = [
    ("E", "main", "mouth", "rhine"),
    ("E", "rhine", "receives", "main"),
    ("C", "main", "mouth", "baltic"),
    ("C", "lahn", "mouth", "north"),
    ("U", "lahn", "mouth", "rhine"),
]


@pytest.fixture
def options(tmp_path: Path) -> SystemOptions:
    (tmp_path / "g.ttl").write_text(GRAPH)
    (tmp_path / "s.ttl").write_text(SHAPES)
    return SystemOptions(graph=(tmp_path / "g.ttl",), shapes=(tmp_path / "s.ttl",))


@pytest.fixture
def cards(tmp_path: Path, options: SystemOptions) -> Path:
    verbaliser = KnowledgeBase.open(None, options.graph, options.shapes).verbaliser
    card_list = []
    for number, (label, subj, pred, obj) in enumerate(CLAIMS):
        claim = Claim(f"urn:x:{subj}", f"urn:x:{pred}", f"urn:x:{obj}")
        card_list.append(
            Card(
                id=f"c{number}",
                facts=(),
                question=verbaliser.render_questions(claim)[0],
                gold=GOLD_OF_LABEL[label],
                label=label,
                claim=claim,
            )
        )
    write_cards(tmp_path / "cards.jsonl", card_list)
    return tmp_path / "cards.jsonl"


def collect_predictions(name: str, options: SystemOptions, cards: Path, out: Path) -> list[str]:
    run(cards, make_systems(name, options), out, system_name=name)
    return [row.pred for row in read_results(out)]


def test_kg_returns_the_licence_and_its_proof(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "kg.jsonl"
    assert collect_predictions("kg", options, cards, out) == [
        GOLD_OF_LABEL[label] for label, *_ in CLAIMS
    ]
    rows = list(read_results(out))
    assert all(row.raw and row.passed for row in rows)
    assert "Rhine" in rows[0].raw
    manifest = read_manifest(tmp_path / "kg.manifest.json")
    assert manifest.oracles == ("kg",)
    knowledge = KnowledgeBase.open(None, options.graph, options.shapes)
    assert manifest.graph_sha256 == knowledge.graph.sha256
    assert manifest.shapes_sha256 == knowledge.shapes.sha256


def test_rag_reads_the_same_graph_as_text_only(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rag.jsonl"
    predictions = collect_predictions("rag", options, cards, out)
    assert predictions[0] == "YES", "the text states the claim"
    assert predictions[2] == "UNKNOWN", "no text says that a river has only one mouth"
    assert predictions[3] == "NO", "the text denies the claim"
    assert predictions[4] == "UNKNOWN"
    manifest = read_manifest(tmp_path / "rag.manifest.json")
    assert manifest.oracles == ()
    assert manifest.graph_sha256 is not None
    assert manifest.shapes_sha256 is None, "the system does not use shapes"
    assert manifest.params["retriever"]["name"] == "bm25"


def test_graph_rag_reads_the_question_and_not_the_claim(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "g.jsonl"
    predictions = collect_predictions("graph_rag", options, cards, out)
    assert predictions == [GOLD_OF_LABEL[label] for label, *_ in CLAIMS]
    assert read_manifest(tmp_path / "g.manifest.json").oracles == ()


@pytest.mark.parametrize("name", ["kg", "rag", "graph_rag"])
def test_run_with_a_changed_graph_is_not_resumed(
    name: str, options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "r.jsonl"
    collect_predictions(name, options, cards, out)
    before = hashlib.sha256(out.read_bytes()).hexdigest()
    options.graph[0].write_text(GRAPH + ":lahn :mouth :rhine .\n")
    with pytest.raises(CardSetMismatchError, match="graph_sha256"):
        collect_predictions(name, options, cards, out)
    assert hashlib.sha256(out.read_bytes()).hexdigest() == before


def test_unusable_graph_leaves_results_unchanged(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "r.jsonl"
    collect_predictions("kg", options, cards, out)
    before = out.read_bytes()
    options.graph[0].write_text(":broken")
    with pytest.raises(GraphSyntaxError):
        collect_predictions("kg", options, cards, out)
    with pytest.raises(MissingFileError):
        collect_predictions("kg", replace(options, graph=(tmp_path / "none.ttl",)), cards, out)
    assert out.read_bytes() == before


def test_two_runs_of_a_system_write_the_same_bytes(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    for name in ("kg", "rag", "graph_rag", "controls"):
        first_out, second_out = tmp_path / f"{name}1.jsonl", tmp_path / f"{name}2.jsonl"
        collect_predictions(name, options, cards, first_out)
        collect_predictions(name, options, cards, second_out)
        assert first_out.read_bytes() == second_out.read_bytes()
        assert json.loads(first_out.read_text().splitlines()[0])["latency_s"] is None


@pytest.mark.parametrize("grouping", ["fact", "subject"])
def test_rag_groups_passages_by_setting(
    grouping: str, options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    rag_options = replace(options, settings={"passages": grouping})
    assert collect_predictions("rag", rag_options, cards, tmp_path / "r.jsonl")[0] == "YES"
    assert read_manifest(tmp_path / "r.manifest.json").params["passages"] == grouping


def test_command_line_passes_graph_and_shapes(
    options: SystemOptions,
    cards: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from eval.run_epistemic_tests import main

    run_eval: Callable[..., None] = main
    run_eval(
        cards=cards,
        system="kg",
        out=tmp_path / "r.jsonl",
        kg_path=list(options.graph),
        shapes=list(options.shapes),
    )
    assert "kg: 5 answers" in capsys.readouterr().out


def test_cards_with_a_named_graph_use_it(
    options: SystemOptions, cards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cards.card_origin import CardOrigin, find_shipped_domain, read_card_origin
    from eval.run_epistemic_tests import main

    assert read_card_origin(cards) == CardOrigin()
    main(cards, "kg", tmp_path / "unsaid.jsonl")
    assert "used the shipped domain rivers" in capsys.readouterr().err
    main(cards, "kg", tmp_path / "said.jsonl", domain="rivers")
    main(cards, "controls", tmp_path / "none.jsonl")
    assert capsys.readouterr().err == ""
    own = read_observations([tmp_path / "said.jsonl"])
    assert not any("graph:" in text for text in (*own.signature_details, *own.warnings))
    card_manifest = tmp_path / "cards.manifest.json"
    for content in (b"[1]", b'{"domain": "riv', b'{"domain": 7}', b"\xff{}"):
        card_manifest.write_bytes(content)
        with pytest.raises(RecordError, match="not a card manifest") as error:
            read_card_origin(cards)
        assert str(card_manifest) in (error.value.where or "")
    card_manifest.write_text(
        json.dumps({"kind": "cards", "domain": "rivers", "graph_sha256": "0" * 64})
    )
    assert find_shipped_domain(read_card_origin(cards)) == "rivers"
    assert find_shipped_domain(CardOrigin(domain="my/own.toml")) is None
    named = (list(options.graph), list(options.shapes))
    with pytest.raises(CardSetMismatchError, match="made from another graph"):
        main(cards, "kg", tmp_path / "k.jsonl", *named)
    assert not (tmp_path / "k.jsonl").exists()
    main(cards, "kg", tmp_path / "k.jsonl", *named, other_graph=True)
    manifest = json.loads((tmp_path / "k.manifest.json").read_text("utf-8"))
    assert manifest["other_graph"]
    observations = read_observations([tmp_path / "k.jsonl"])
    (signed,) = [one for one in observations.signature_details if one.startswith("graph:")]
    assert signed == f"graph:{manifest['graph_sha256'][:8]}"
    assert any(signed in warning and "k.jsonl" in warning for warning in observations.warnings)
    assert read_manifest(tmp_path / "k.manifest.json").domain == "rivers"
    main(cards, "controls", tmp_path / "c.jsonl")
    assert capsys.readouterr().err == ""


@pytest.fixture
def letter_embedder(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the embedder by letter counts; returns the requested models."""
    import numpy as np

    from kg.embedding import embedder, factory

    def count_letters(texts: Sequence[str]) -> np.ndarray:
        rows = [[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts]
        return np.array(rows, dtype=np.float32)

    requested_models: list[str] = []

    def load_embedder(model: str) -> embedder.Embedder:
        requested_models.append(model)
        return embedder.Embedder(count_letters, "letters", "ab" * 32)

    monkeypatch.setattr(factory, "load_embedder", load_embedder)
    return requested_models


def test_rag_can_retrieve_by_embeddings(
    options: SystemOptions, cards: Path, tmp_path: Path, letter_embedder: list[str]
) -> None:
    rag_options = replace(
        options, settings={"retriever": "dense", "embedder": "some/model", "top_k": "20"}
    )
    assert collect_predictions("rag", rag_options, cards, tmp_path / "r.jsonl")[0] == "YES"
    retriever = read_manifest(tmp_path / "r.manifest.json").params["retriever"]
    assert letter_embedder == ["some/model"]
    assert retriever == {"name": "dense", "embedder": "letters", "weights_sha256": "ab" * 32}


def test_rag_dense_is_rag_with_embeddings(
    options: SystemOptions, cards: Path, tmp_path: Path, letter_embedder: list[str]
) -> None:
    dense = replace(options, settings={"top_k": "20"})
    rag = replace(options, settings={"top_k": "20", "retriever": "dense"})
    predictions = collect_predictions("rag_dense", dense, cards, tmp_path / "d.jsonl")
    assert predictions == collect_predictions("rag", rag, cards, tmp_path / "r.jsonl")
    assert {row.system for row in read_results(tmp_path / "d.jsonl")} == {"rag_dense"}
    dense_manifest, rag_manifest = (
        read_manifest(tmp_path / f"{name}.manifest.json") for name in ("d", "r")
    )
    assert dense_manifest.params == rag_manifest.params
    assert letter_embedder == ["", ""]
    for settings in ({"retriever": "bm25"}, {"context": "card"}):
        with pytest.raises(SettingError):
            make_systems("rag_dense", replace(options, settings=settings))


@pytest.mark.slow
@pytest.mark.extra("minilm")
def test_rag_dense_needs_no_pytorch(cards: Path, tmp_path: Path) -> None:
    driver = (
        "import sys\n"
        "from epoche.cli import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "assert not {'torch', 'sentence_transformers', 'transformers'} & sys.modules.keys()\n"
    )
    outputs = set()
    for threads in ("1", "3"):
        out = tmp_path / threads / "dense.jsonl"
        command = ("eval", "--kg", "g.ttl", "--shapes", "s.ttl", "--system", "rag_dense")
        subprocess.run(
            [sys.executable, "-c", driver, *command, "--cards", str(cards), "--out", str(out)],
            cwd=tmp_path,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OPENBLAS_NUM_THREADS": threads},
            check=True,
        )
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        assert [row["pred"] for row in rows[:1]] == ["YES"], "the sentence was not found"
        # Rows have the time that an answer took.
        outputs.add(str([(row["id"], row["pred"], row["raw"]) for row in rows]))
    assert len(outputs) == 1


def test_rag_can_fuse_bm25_and_embeddings(
    options: SystemOptions, cards: Path, tmp_path: Path, letter_embedder: list[str]
) -> None:
    def run_rag(**settings: str) -> list[str]:
        out = tmp_path / f"{'-'.join(settings.values())}.jsonl"
        return collect_predictions(
            "rag", replace(options, settings={**settings, "top_k": "2"}), cards, out
        )

    predictions = run_rag(retriever="hybrid", fusion="linear", dense_weight="0.25")
    retriever = read_manifest(tmp_path / "hybrid-linear-0.25.manifest.json").params["retriever"]
    assert (retriever["method"], retriever["weights"]) == ("linear", [0.75, 0.25])
    assert [part["name"] for part in retriever["retrievers"]] == ["bm25", "dense"]
    assert predictions[0] == "YES"
    # With the whole weight on one retriever, the other must have no effect.
    assert run_rag(retriever="hybrid", dense_weight="0") == run_rag(retriever="bm25")
    assert run_rag(retriever="hybrid", dense_weight="1") == run_rag(retriever="dense")
