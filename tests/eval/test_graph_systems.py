"""The systems that use a graph, over a small one of the test's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from cards.card import Card, write_cards
from eval.manifest import read_manifest
from eval.registry import make_systems
from eval.result import read_results
from eval.runner import run
from eval.system import SystemOptions
from kg.base.errors import (
    CardSetMismatchError,
    GraphSyntaxError,
    MissingFileError,
    RecordError,
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
    words = KnowledgeBase.open(None, options.graph, options.shapes).words
    made = []
    for number, (label, subj, pred, obj) in enumerate(CLAIMS):
        claim = Claim(f"urn:x:{subj}", f"urn:x:{pred}", f"urn:x:{obj}")
        made.append(
            Card(
                id=f"c{number}",
                facts=(),
                question=words.questions(claim)[0],
                gold=GOLD_OF_LABEL[label],
                label=label,
                claim=claim,
            )
        )
    write_cards(tmp_path / "cards.jsonl", made)
    return tmp_path / "cards.jsonl"


def answers(name: str, options: SystemOptions, cards: Path, out: Path) -> list[str]:
    run(cards, make_systems(name, options), out, asked_as=name)
    return [row.pred for row in read_results(out)]


def test_kg_gives_the_licence_and_its_proof(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "kg.jsonl"
    assert answers("kg", options, cards, out) == [GOLD_OF_LABEL[label] for label, *_ in CLAIMS]
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
    found = answers("rag", options, cards, out)
    assert found[0] == "YES", "stated"
    assert found[2] == "UNKNOWN", "that a river has one mouth is written nowhere"
    assert found[3] == "NO", "denied in so many words"
    assert found[4] == "UNKNOWN"
    manifest = read_manifest(tmp_path / "rag.manifest.json")
    assert manifest.oracles == ()
    assert manifest.graph_sha256 is not None
    assert manifest.shapes_sha256 is None, "it never looks at shapes"
    assert manifest.params["retriever"]["name"] == "bm25"


def test_graph_rag_is_no_oracle_and_reads_the_question(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "g.jsonl"
    found = answers("graph_rag", options, cards, out)
    assert found == [GOLD_OF_LABEL[label] for label, *_ in CLAIMS]
    assert read_manifest(tmp_path / "g.manifest.json").oracles == ()


@pytest.mark.parametrize("name", ["kg", "rag", "graph_rag"])
def test_a_changed_graph_is_not_resumed(
    name: str, options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "r.jsonl"
    answers(name, options, cards, out)
    before = hashlib.sha256(out.read_bytes()).hexdigest()
    options.graph[0].write_text(GRAPH + ":lahn :mouth :rhine .\n")
    with pytest.raises(CardSetMismatchError, match="graph_sha256"):
        answers(name, options, cards, out)
    assert hashlib.sha256(out.read_bytes()).hexdigest() == before


def test_a_graph_that_cannot_be_used_leaves_results_alone(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "r.jsonl"
    answers("kg", options, cards, out)
    before = out.read_bytes()
    options.graph[0].write_text(":broken")
    with pytest.raises(GraphSyntaxError):
        answers("kg", options, cards, out)
    with pytest.raises(MissingFileError):
        answers("kg", replace(options, graph=(tmp_path / "none.ttl",)), cards, out)
    assert out.read_bytes() == before


def test_every_system_writes_the_same_bytes_again(
    options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    for name in ("kg", "rag", "graph_rag", "controls"):
        first, second = tmp_path / f"{name}1.jsonl", tmp_path / f"{name}2.jsonl"
        answers(name, options, cards, first)
        answers(name, options, cards, second)
        assert first.read_bytes() == second.read_bytes()
        assert json.loads(first.read_text().splitlines()[0])["latency_s"] is None


@pytest.mark.parametrize("grouping", ["fact", "subject"])
def test_rag_groups_passages_as_told(
    grouping: str, options: SystemOptions, cards: Path, tmp_path: Path
) -> None:
    told = replace(options, settings={"passages": grouping})
    assert answers("rag", told, cards, tmp_path / "r.jsonl")[0] == "YES"
    assert read_manifest(tmp_path / "r.manifest.json").params["passages"] == grouping


def test_the_command_line_hands_over_graph_and_shapes(
    options: SystemOptions,
    cards: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from eval.run_epistemic_tests import main

    ask: Callable[..., None] = main
    ask(
        cards=cards,
        system="kg",
        out=tmp_path / "r.jsonl",
        kg_path=list(options.graph),
        shapes=list(options.shapes),
    )
    assert "kg: 5 answers" in capsys.readouterr().out


def test_cards_that_know_their_graph_are_asked_of_it(
    options: SystemOptions, cards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from eval.card_origin import CardOrigin, card_origin, default_domain
    from eval.run_epistemic_tests import main

    assert card_origin(cards) == CardOrigin()
    main(cards, "kg", tmp_path / "unsaid.jsonl")
    assert "used the shipped rivers" in capsys.readouterr().err
    main(cards, "kg", tmp_path / "said.jsonl", domain="rivers")
    main(cards, "controls", tmp_path / "none.jsonl")
    assert capsys.readouterr().err == ""
    beside = tmp_path / "cards.manifest.json"
    for damaged in (b"[1]", b'{"domain": "riv', b'{"domain": 7}', b"\xff{}"):
        beside.write_bytes(damaged)
        with pytest.raises(RecordError, match="not a card manifest") as caught:
            card_origin(cards)
        assert str(beside) in (caught.value.where or "")
    beside.write_text(json.dumps({"kind": "cards", "domain": "rivers", "graph_sha256": "0" * 64}))
    assert default_domain(card_origin(cards)) == "rivers"
    assert default_domain(CardOrigin(domain="my/own.toml")) is None
    main(cards, "kg", tmp_path / "k.jsonl", list(options.graph), list(options.shapes))
    said = capsys.readouterr().err
    assert "made from another graph (000000000000)" in said
    assert read_manifest(tmp_path / "k.manifest.json").domain == "rivers"
    main(cards, "controls", tmp_path / "c.jsonl")
    assert capsys.readouterr().err == ""


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the embedder by counts of letters; returns the models that were asked for."""
    import numpy as np

    from kg.embedding import choosing, embedder

    def encode(texts: Sequence[str]) -> np.ndarray:
        rows = [[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts]
        return np.array(rows, dtype=np.float32)

    asked: list[str] = []

    def load_embedder(model: str) -> embedder.Embedder:
        asked.append(model)
        return embedder.Embedder(encode, "letters", "ab" * 32)

    monkeypatch.setattr(choosing, "load_embedder", load_embedder)
    return asked


def test_rag_can_retrieve_by_embeddings(
    options: SystemOptions, cards: Path, tmp_path: Path, letters: list[str]
) -> None:
    told = replace(
        options, settings={"retriever": "dense", "embedder": "some/model", "top_k": "20"}
    )
    assert answers("rag", told, cards, tmp_path / "r.jsonl")[0] == "YES"
    retriever = read_manifest(tmp_path / "r.manifest.json").params["retriever"]
    assert letters == ["some/model"]
    assert retriever == {"name": "dense", "embedder": "letters", "weights_sha256": "ab" * 32}


def test_rag_can_fuse_both(
    options: SystemOptions, cards: Path, tmp_path: Path, letters: list[str]
) -> None:
    def told(**settings: str) -> list[str]:
        out = tmp_path / f"{'-'.join(settings.values())}.jsonl"
        return answers("rag", replace(options, settings={**settings, "top_k": "2"}), cards, out)

    both = told(retriever="hybrid", fusion="linear", dense_weight="0.25")
    retriever = read_manifest(tmp_path / "hybrid-linear-0.25.manifest.json").params["retriever"]
    assert (retriever["method"], retriever["weights"]) == ("linear", [0.75, 0.25])
    assert [part["name"] for part in retriever["retrievers"]] == ["bm25", "dense"]
    assert both[0] == "YES"
    # With all the weight on one of them, the other must make no difference.
    assert told(retriever="hybrid", dense_weight="0") == told(retriever="bm25")
    assert told(retriever="hybrid", dense_weight="1") == told(retriever="dense")
