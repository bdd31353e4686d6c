"""Tests that an ontology without individuals gives cards about its classes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from stage_calls import run_epoche

from cards.card import read_cards
from kg.domain import load_domain
from kg.graph import Graph
from kg.profile.class_links import list_class_links
from kg.terms import RDF_TYPE

EX = "https://example.org/"
PREFIXES = (
    f"@prefix ex: <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)
NAMES = ("ad", "bel", "cor", "dun", "elf", "fir", "gor", "hil", "ist", "jol")


def write_ontology(path: Path, n_classes: int = 90) -> Path:
    """Writes body parts that are part of others, which restrictions of classes state."""
    lines = [
        PREFIXES,
        "ex:partOf a owl:ObjectProperty ; rdfs:label 'part of' .",
        "ex:Organ a owl:Class ; rdfs:label 'organ' .",
    ]
    for n in range(n_classes):
        name = NAMES[n % 10] + NAMES[n // 10]
        parents = ["ex:Organ"]
        if n:
            parents.append(f"[ owl:onProperty ex:partOf ; owl:someValuesFrom ex:c{n // 2} ]")
        if n % 3 == 0:
            parents.append(
                "[ owl:intersectionOf ( ex:Organ [ a owl:Restriction ; owl:onProperty ex:side ; "
                f"owl:hasValue '{'left' if n % 2 else 'right'}' ] ) ]"
            )
        lines.append(
            f"ex:c{n} a owl:Class ; rdfs:label '{name}' ; rdfs:subClassOf {', '.join(parents)} ."
        )
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_restrictions_become_links(tmp_path: Path) -> None:
    links = list_class_links(Graph.load(write_ontology(tmp_path / "o.ttl")))
    by_predicate = Counter(link.pred for link in links)
    assert by_predicate == {EX + "partOf": 89, EX + "side": 30, RDF_TYPE: 90}
    assert all(
        link.obj == f"{EX}c{int(link.subj.removeprefix(EX + 'c')) // 2}"
        for link in links
        if link.pred == EX + "partOf"
    )


def test_few_restrictions_and_graphs_of_things_have_no_class_links(tmp_path: Path) -> None:
    assert not list_class_links(Graph.load(write_ontology(tmp_path / "o.ttl", 8)))
    things = tmp_path / "things.ttl"
    things.write_text(
        PREFIXES + "\n".join(f"ex:i{n} a ex:c{n % 9} ; ex:near ex:i{n + 1} ." for n in range(300)),
        "utf-8",
    )
    assert not list_class_links(Graph.load([write_ontology(tmp_path / "o.ttl"), things]))


def test_an_ontology_alone_gives_cards(tmp_path: Path) -> None:
    folder, out = tmp_path / "d", tmp_path / "c.jsonl"
    init = ("kg", "init", write_ontology(tmp_path / "o.ttl"), "--out", folder)
    for _ in range(2):  # The second draft replaces the first.
        done = run_epoche(*init)
        assert done.code == 0, done.err
    assert (folder / "class-links.nt").exists()
    assert [path.name for path in load_domain(folder).graph_files] == ["o.ttl", "class-links.nt"]
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 8, "--out", out)
    assert done.code == 0, done.err
    cards = read_cards(out)
    assert Counter(card.label for card in cards) == {"E": 8, "C": 8, "U": 8}
    assert {card.claim.pred for card in cards} == {EX + "partOf"}
