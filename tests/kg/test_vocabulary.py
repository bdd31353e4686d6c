"""What is said of a vocabulary, and what of the world."""

from pathlib import Path

import pytest

from cards.proving import speaks_of_vocabulary
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.terms import OWL, RDF_TYPE, RDFS, SKOS
from kg.vocabulary import is_vocabulary
from retrieval.passages import passages_of, states_a_fact

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
def test_relations_between_concepts_state_facts(name: str) -> None:
    assert not is_vocabulary(SKOS + name)
    claim = Claim("https://example.org/a", SKOS + name, "https://example.org/b")
    assert states_a_fact(claim)
    assert not speaks_of_vocabulary(claim)


@pytest.mark.parametrize(
    "iri", [SKOS + "prefLabel", SKOS + "altLabel", SKOS + "inScheme", SKOS + "Concept",
            RDFS + "label", OWL + "inverseOf", RDF_TYPE]
)  # fmt: skip
def test_labels_and_schema_state_none(iri: str) -> None:
    assert is_vocabulary(iri)


def test_only_the_relation_of_a_thesaurus_becomes_a_passage(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(TURTLE, "utf-8")
    (tmp_path / "s.ttl").write_text(SHAPES, "utf-8")
    kb = KnowledgeBase.open(graph=[tmp_path / "g.ttl"], shapes=[tmp_path / "s.ttl"])
    (only,) = passages_of(kb.graph, kb.words)
    assert "dog" in only.text
    assert "mammal" in only.text
