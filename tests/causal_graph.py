"""Provides a small graph for tests of paths: causes and effects of events, inventors and years."""

from __future__ import annotations

from pathlib import Path

from kg.claims import Claim
from kg.knowledge import KnowledgeBase

HOSTILE_LABEL = "the {{ 7*7 }} <b>tower</b> without an end"
GRAPH = f"""
@prefix : <https://g.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Person a owl:Class ; rdfs:label "person" .
:Country a owl:Class ; rdfs:label "country" .
:causes a owl:ObjectProperty ; rdfs:label "causes" .
:inventor a owl:ObjectProperty ; rdfs:label "inventor" .
:year a owl:DatatypeProperty ; rdfs:label "year" .
:country a owl:ObjectProperty ; rdfs:label "country" .
:storm rdfs:label "the storm of Halle" ; :causes :flood , :fire ; :year 1901 ; :country :nl .
:flood rdfs:label "the flood at Ems" ; :causes :dyke ; :country :nl .
:dyke rdfs:label "the dyke law" ; :causes :pump ; :year 1910 .
:pump rdfs:label "the steam pump" ; :causes :polder , :storm ; :inventor :anna .
:polder rdfs:label "the new polder" ; :country :nl .
:fire rdfs:label "the fire in Delft" ; :year 1901 .
:mill rdfs:label "the tall mill" ; :causes :tower ; :inventor :anna , :bert .
:tower rdfs:label "{HOSTILE_LABEL}" ; :causes :bell .
:bell rdfs:label "the bell" .
:anna a :Person ; rdfs:label "Anna Berg" .
:bert a :Person ; rdfs:label "Bert Cole" .
:nl a :Country ; rdfs:label "the Netherlands" .
"""
SHAPES = """
@prefix : <https://g.example/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
:OneYear a sh:NodeShape ; sh:targetSubjectsOf :year ;
    sh:property [ sh:path :year ; sh:maxCount 1 ] .
"""


def make_iri(name: str) -> str:
    """Returns the IRI of an entity of the small graph."""
    return f"https://g.example/{name}"


def make_claim(subj: str, pred: str, obj: str) -> Claim:
    """Returns a claim about entities of the small graph."""
    return Claim(make_iri(subj), make_iri(pred), make_iri(obj))


def open_small_graph(folder: Path) -> KnowledgeBase:
    """Writes the small graph to a folder and opens it."""
    (folder / "g.ttl").write_text(GRAPH, encoding="utf-8")
    (folder / "s.ttl").write_text(SHAPES, encoding="utf-8")
    return KnowledgeBase.open(graph=[folder / "g.ttl"], shapes=[folder / "s.ttl"])
