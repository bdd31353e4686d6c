"""Tests that passages state all asserted facts of a graph, no inferred ones, and no vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg.domain import Domain
from kg.graph import Graph
from kg.words.labels import Labels
from kg.words.verbaliser import Verbaliser
from retrieval.passages import build_passages

TURTLE = """
@prefix : <urn:x:> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:River a owl:Class ; rdfs:label "river" ; rdfs:subClassOf :Water .
:flowsInto a owl:ObjectProperty ; rdfs:domain :River ; rdfs:label "flows into" .
:rhine a :River ; rdfs:label "Rhine" ; skos:altLabel "Rhein" ; :flowsInto :sea ; :length 1233 .
:main a :River ; rdfs:label "Main" ; :flowsInto :rhine .
:sea rdfs:label "North\\nSea {{7*7}} <script>" ; rdfs:comment "cold" .
:not1 a owl:NegativePropertyAssertion ;
    owl:sourceIndividual :main ; owl:assertionProperty :flowsInto ; owl:targetIndividual :sea .
:not2 a owl:NegativePropertyAssertion ;
    owl:sourceIndividual :main ; owl:assertionProperty :length ; owl:targetValue 5 .
:half a owl:NegativePropertyAssertion ; owl:sourceIndividual :main .
:main owl:sameAs :mainz .
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    (tmp_path / "g.ttl").write_text(TURTLE)
    return Graph.load([tmp_path / "g.ttl"])


@pytest.fixture
def verbaliser(graph: Graph) -> Verbaliser:
    domain = Domain(name="x", graph_files=(), shapes_files=())
    return Verbaliser(domain, Labels(graph), graph)


def test_every_fact_is_one_sentence(graph: Graph, verbaliser: Verbaliser) -> None:
    passages = build_passages(graph, verbaliser)
    texts = [passage.text for passage in passages]
    # Three facts of the Rhine, three of the Main, and two complete denials (:half is not one).
    assert len(texts) == 8
    assert "Rhine is a river." in texts
    assert "Main flows into Rhine." in texts
    assert sum("not" in text for text in texts) == 2
    assert any("Main" in text and "North Sea" in text and "not" in text for text in texts)
    assert not any(word in "".join(texts) for word in ("Rhein", "cold", "Class", "domain"))
    assert all("\n" not in text for text in texts), "a label cannot start a new sentence"
    assert [passage.id for passage in passages] == [f"f{n:06d}" for n in range(1, 9)]


def test_subject_passages_contain_the_same_sentences(graph: Graph, verbaliser: Verbaliser) -> None:
    facts = [passage.text for passage in build_passages(graph, verbaliser, "fact")]
    subjects = build_passages(graph, verbaliser, "subject")
    assert [passage.id for passage in subjects] == ["urn:x:main", "urn:x:rhine"]
    lines = [line for passage in subjects for line in passage.text.splitlines()]
    assert sorted(lines) == sorted(facts)
    assert "not" in subjects[0].text


def test_an_empty_graph_has_no_passages(verbaliser: Verbaliser) -> None:
    assert build_passages(Graph.from_claims([]), verbaliser) == []
