"""Writes shapes of every kind, all of which the graphs of ``generate_graph`` satisfy.

They contain every SHACL Core component, nested and on inverse, sequence, alternative and transitive
paths, and two SPARQL constraints. ``bench_oracle.py`` imports ``write_shapes``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

SHAPES = """\
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix wm: <https://epoche.example/rivers#> .
@prefix : <https://epoche.example/shapes/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

:OneMouth sh:targetClass wm:River ; sh:property [ sh:path wm:flowsInto ; sh:maxCount 1 ] .
:MouthClass sh:targetSubjectsOf wm:flowsInto ;
    sh:property [ sh:path wm:flowsInto ; sh:class wm:WaterBody ; sh:nodeKind sh:IRI ] .
:SourceClass sh:targetSubjectsOf wm:hasSource ;
    sh:property [ sh:path wm:hasSource ; sh:class wm:Place ; sh:maxCount 1 ] .
:CountryClass sh:targetObjectsOf wm:traverses ; sh:class wm:Country ;
    sh:not [ sh:or ( [ sh:class wm:River ] [ sh:class wm:Sea ] ) ] .
:Length sh:targetClass wm:River ; sh:property [ sh:path wm:length ; sh:datatype xsd:decimal ;
    sh:minExclusive 0 ; sh:maxInclusive 10000.0 ; sh:maxCount 1 ] .
:Discharge sh:targetClass wm:River ; sh:property [ sh:path wm:discharge ;
    sh:datatype xsd:decimal ; sh:minInclusive 0.1 ; sh:maxExclusive 100000 ; sh:maxCount 1 ] .
:Elevation sh:targetClass wm:River ; sh:property [ sh:path wm:mouthElevation ;
    sh:lessThan wm:sourceElevation ; sh:datatype xsd:integer ] ;
    sh:property [ sh:path wm:sourceElevation ; sh:or ( [ sh:datatype xsd:integer ]
    [ sh:datatype xsd:decimal ] ) ; sh:maxCount 1 ] .
:NotLake sh:targetClass wm:River ; sh:not [ sh:class wm:Lake ] ;
    sh:xone ( [ sh:class wm:River ] [ sh:class wm:Sea ] ) .
:NoSelfMouth sh:targetClass wm:River ; sh:property [ sh:path wm:flowsInto ;
    sh:disjoint wm:hasTributary ] .
:NoCycle sh:targetClass wm:River ; sh:sparql [
    sh:select "SELECT $this WHERE { $this <https://epoche.example/rivers#flowsInto>+ $this }" ] .
:Downhill sh:targetClass wm:River ; sh:sparql [ sh:select \"\"\"
    SELECT $this ?value WHERE {
        $this <https://epoche.example/rivers#flowsInto> ?value .
        $this <https://epoche.example/rivers#sourceElevation> ?high .
        ?value <https://epoche.example/rivers#mouthElevation> ?low .
        FILTER (?low >= ?high) }\"\"\" ] .
:Tributaries sh:targetClass wm:Sea ; sh:property [ sh:path [ sh:inversePath wm:flowsInto ] ;
    sh:class wm:River ; sh:not [ sh:class wm:Country ] ] .
:System sh:targetObjectsOf wm:partOfSystem ; sh:class wm:RiverSystem ;
    sh:property [ sh:path [ sh:inversePath wm:partOfSystem ] ; sh:maxCount 40 ] .
:MainName sh:targetSubjectsOf wm:mainName ; sh:property [ sh:path wm:mainName ;
    sh:equals rdfs:label ] .
:SourceIsNoMouth sh:targetClass wm:River ; sh:property [
    sh:path ( wm:hasSource [ sh:inversePath wm:flowsInto ] ) ; sh:maxCount 0 ] .
:MouthShape sh:targetClass wm:River ; sh:property [ sh:path wm:flowsInto ; sh:node :Water ] .
:Water sh:nodeKind sh:IRI ; sh:property [ sh:path rdfs:label ; sh:uniqueLang true ;
    sh:languageIn ( "en" ) ; sh:minLength 1 ; sh:maxLength 100 ; sh:pattern "^[A-Z]" ] .
:AnySea sh:targetClass wm:River ; sh:property [ sh:path [ sh:oneOrMorePath wm:flowsInto ] ;
    sh:qualifiedValueShape [ sh:class wm:Sea ] ; sh:qualifiedMaxCount 1 ] .
:Countries sh:targetClass wm:River ; sh:property [
    sh:path [ sh:alternativePath ( wm:traverses wm:bordersOn ) ] ;
    sh:qualifiedValueShape [ sh:class wm:Country ] ; sh:qualifiedMaxCount 20 ;
    sh:qualifiedMinCount 1 ] .
:Land sh:targetClass wm:Country ; sh:closed true ;
    sh:ignoredProperties ( rdf:type rdfs:label owl:sameAs ) .
:Status sh:targetSubjectsOf wm:status ; sh:property [ sh:path wm:status ;
    sh:in ( "dry" "seasonal" "permanent" ) ] .
:Sea_0 sh:targetNode <https://epoche.example/rivers/Sea_0> ; sh:class wm:Sea ;
    sh:property [ sh:path rdf:type ; sh:hasValue wm:Sea ; sh:minCount 1 ] ;
    sh:and ( [ sh:nodeKind sh:IRI ] [ sh:not [ sh:class wm:River ] ] ) .
:Gauge sh:targetSubjectsOf wm:gauge ; sh:property [ sh:path wm:gauge ;
    sh:lessThanOrEquals wm:sourceElevation ; sh:datatype xsd:integer ] .
"""


def write_shapes(path: Path) -> Path:
    """Writes the Turtle file and returns its path."""
    path.write_text(SHAPES, encoding="utf-8")
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    write_shapes(parser.parse_args().out)
