"""Tests which triples describe a vocabulary and which state facts."""

from pathlib import Path

import pytest

from cards.generation.prover import is_about_vocabulary
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.terms import OWL, RDF_TYPE, RDFS, SKOS
from kg.vocabulary import is_vocabulary
from retrieval.passages import build_passages, is_factual_claim

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <https://example.org/> .
:dog a skos:Concept ; skos:prefLabel "dog" ; skos:altLabel "hound" ; skos:inScheme :animals ;
    skos:broader :mammal .
:mammal a skos:Concept ; skos:prefLabel "mammal" ; skos:inScheme :animals .
"""
SHAPES = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<https://example.org/One> a sh:PropertyShape ; sh:targetSubjectsOf skos:broader ;
    sh:path skos:broader ; sh:maxCount 1 .
"""


@pytest.mark.parametrize("name", ["broader", "narrower", "related", "exactMatch"])
def test_relations_between_concepts_are_facts(name: str) -> None:
    assert not is_vocabulary(SKOS + name)
    claim = Claim("https://example.org/a", SKOS + name, "https://example.org/b")
    assert is_factual_claim(claim)
    assert not is_about_vocabulary(claim)


@pytest.mark.parametrize(
    "iri", [SKOS + "prefLabel", SKOS + "altLabel", SKOS + "inScheme", SKOS + "Concept",
            RDFS + "label", OWL + "inverseOf", RDF_TYPE]
)  # fmt: skip
def test_labels_and_schema_are_vocabulary(iri: str) -> None:
    assert is_vocabulary(iri)


def test_only_thesaurus_relations_become_passages(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(TURTLE, "utf-8")
    (tmp_path / "s.ttl").write_text(SHAPES, "utf-8")
    kb = KnowledgeBase.open(graph=[tmp_path / "g.ttl"], shapes=[tmp_path / "s.ttl"])
    (passage,) = build_passages(kb.graph, kb.verbaliser)
    assert "dog" in passage.text.lower()
    assert "mammal" in passage.text
