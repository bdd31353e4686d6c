"""Tests that aliases of an entity do not compete with it for its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from cards.generation.graph_lookup import GraphLookup
from eval.questions.mentions import MentionIndex
from kg.graph import Graph
from kg.inspection import inspect_graph
from kg.knowledge import KnowledgeBase
from kg.words.labels import Labels

PREFIXES = """
@prefix e: <http://e/> . @prefix x: <http://external/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
"""
SHAPES = "e:S sh:targetSubjectsOf e:capital ; sh:property [ sh:path e:capital ; sh:maxCount 1 ] ."
CITY = 'e:r rdfs:label "Rome" . e:italy e:capital e:r ; rdfs:label "Italy" .'


def load(folder: Path, text: str) -> Graph:
    path = folder / "graph.ttl"
    path.write_text(PREFIXES + text)
    return Graph.load(path)


def is_nameable(folder: Path, text: str, iri: str) -> bool:
    load(folder, text)
    (folder / "shapes.ttl").write_text(PREFIXES + SHAPES)
    kb = KnowledgeBase.open(None, [folder / "graph.ttl"], [folder / "shapes.ttl"])
    assert bool(MentionIndex(kb).find_entities(("rome",)) == (iri,)) == (
        GraphLookup(kb).is_nameable(kb.graph.index.terms.ids[iri])
    )
    return GraphLookup(kb).is_nameable(kb.graph.index.terms.ids[iri])


@pytest.mark.parametrize(
    "link",
    [
        "e:r owl:sameAs x:Rome .",
        'e:r owl:sameAs x:1 . x:1 rdfs:label "Rome" .',
        "e:r skos:exactMatch x:Rome .",
        "e:r skos:closeMatch x:rome .",
        "e:r foaf:page x:Rome .",
        # Both are described, and link to each other.
        'e:r skos:exactMatch x:1 . x:1 skos:exactMatch e:r ; rdfs:label "Rome" ; e:area 3 .',
        # The same as the same.
        'e:r owl:sameAs x:2 . x:1 owl:sameAs x:2 ; rdfs:label "Rome" ; e:area 3 .',
    ],
)
def test_an_alias_is_no_rival_for_the_name(tmp_path: Path, link: str) -> None:
    labels = Labels(load(tmp_path, CITY + link))
    assert labels.find_entities("Rome") == ["http://e/r"]
    assert labels.find_homonyms() == {}
    assert inspect_graph(load(tmp_path, CITY + link)).homonym_count == 0
    assert is_nameable(tmp_path, CITY + link, "http://e/r")


@pytest.mark.parametrize(
    "link",
    [
        'x:1 rdfs:label "Rome" .',
        # It has a fact of its own.
        "e:r foaf:page x:Rome . x:Rome e:area 3 .",
        # Two things that are close to a third.
        'e:r skos:closeMatch x:2 . x:1 skos:closeMatch x:2 ; rdfs:label "Rome" ; e:area 3 .',
        # Another entity links to it.
        "e:bob e:livesIn x:Rome .",
    ],
)
def test_another_thing_is_a_rival_for_the_name(tmp_path: Path, link: str) -> None:
    assert len(Labels(load(tmp_path, CITY + link)).find_entities("Rome")) == 2


def test_pages_have_no_name_of_their_own_beside_the_thing(tmp_path: Path) -> None:
    page = "<https://en.wikipedia.org/wiki/Rome>"
    labels = Labels(load(tmp_path, f"{CITY} e:statement e:source {page} ."))
    assert labels.find_entities("Rome") == ["http://e/r"]
    # Of two pages alone, neither is the thing.
    pages = ["http://a.com/index.html", "http://b.com/index.html"]
    labels = Labels(load(tmp_path, " ".join(f"e:x{n} e:at <{p}> ." for n, p in enumerate(pages))))
    assert labels.find_entities("index.html") in ([], pages)


def test_names_of_an_alias_lead_to_the_entity(tmp_path: Path) -> None:
    graph = load(tmp_path, CITY + 'e:r owl:sameAs x:1 . x:1 rdfs:label "Roma" .')
    labels = Labels(graph)
    assert labels.find_entities("Roma") == ["http://e/r"]
    assert labels.list_aliases("http://e/r") == ["http://external/1"]
    # A value that other facts mention keeps its own name.
    graph = load(tmp_path, CITY + 'e:r skos:closeMatch x:1 . x:1 rdfs:label "Roma" . e:a e:b x:1 .')
    assert Labels(graph).find_entities("Roma") == ["http://external/1"]


def test_what_is_true_of_an_alias_is_not_asked_as_false(tmp_path: Path) -> None:
    """The reader of a card cannot tell an alias from the entity."""
    load(tmp_path, CITY + 'e:r skos:exactMatch x:1 . x:1 rdfs:label "Roma" . e:a e:b x:1 .')
    (tmp_path / "shapes.ttl").write_text(PREFIXES + SHAPES)
    kb = KnowledgeBase.open(None, [tmp_path / "graph.ttl"], [tmp_path / "shapes.ttl"])
    ids = kb.graph.index.terms.ids
    assert GraphLookup(kb).get_namesakes(ids["http://e/r"]) == {ids["http://external/1"]}
