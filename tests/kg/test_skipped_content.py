"""Tests that content which cards cannot state is named with a count, and the rest is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stage_calls import run_epoche

from kg.graph import Graph
from kg.inspection import inspect_graph

PREFIXES = """
@prefix e: <http://e/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix schema: <http://schema.org/> .
"""
CITIES = "".join(
    f'e:c{n} a e:City ; rdfs:label "City {n}x" ; e:in e:r{n % 4} .\n'
    f'e:r{n % 4} a e:Region ; rdfs:label "Region {n % 4}x" .\n'
    f'e:t{n} a e:City ; rdfs:label "Town {n}y" ; e:near e:c{n} .\n'
    for n in range(16)
)
SHAPES = "e:S sh:targetSubjectsOf e:in ; sh:property [ sh:path e:in ; sh:maxCount 1 ] ."


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("e:a e:area [ schema:value 3 ; schema:unitCode 'KMK' ] .", "with a unit: 1"),
        ("e:a e:members ( e:b e:c ) .", "RDF lists: 1"),
        ("e:a e:at [ e:street 'Main' ] .", "(facts: 2, nodes: 1)"),
        (
            "e:s rdf:subject e:a ; rdf:predicate e:p ; rdf:object e:b ; e:source e:x .",
            "(statements: 1)",
        ),
        ("<< e:a e:p e:b >> e:source e:x .", "graph.ttl: 1 statement about triples"),
        ("e:a e:p e:b {| e:source e:x |} .", "about triples (RDF 1.2 triple terms) left out"),
        ("e:C owl:unionOf ( e:A e:B ) .", ""),
        ("e:C rdfs:subClassOf [ a owl:Restriction ; owl:onProperty e:p ; owl:hasValue 3 ] .", ""),
    ],
)
def test_what_cards_leave_out_is_counted(tmp_path: Path, text: str, note: str) -> None:
    path, shapes = tmp_path / "graph.ttl", tmp_path / "shapes.ttl"
    path.write_text(PREFIXES + CITIES + text)
    shapes.write_text(PREFIXES + SHAPES)
    notes = " ".join(inspect_graph(Graph.load(path)).notes)
    assert note in notes
    flags = ("--kg", path, "--shapes", shapes, "--pred", "in", "--num-per-type", 2)
    done = run_epoche("cards", *flags, "--out", tmp_path / "cards.jsonl")
    assert done.code == 0, done.err
    assert note in done.err.replace("\n", " ")
    assert ("leave out" in notes or "left out" in notes or "reified" in notes) == bool(note)


def test_statements_about_statements_are_not_asked_about(tmp_path: Path) -> None:
    """Nor do the pages that they come from have names, which would be those of the cities."""
    path, folder, cards = tmp_path / "g.ttl", tmp_path / "mine", tmp_path / "cards.jsonl"
    names = [f"{a}{b}o" for a in ("Ba", "Ce", "Di", "Fo", "Gu") for b in ("ra", "le", "ni", "so")]
    path.write_text(
        PREFIXES
        + "".join(
            f'e:{name} a e:City ; rdfs:label "{name}" ; e:founded {1900 + n % 6} ; e:near e:Arno .'
            f"e:s{n} a rdf:Statement ; rdf:subject e:{name} ; rdf:predicate e:near ; "
            f"rdf:object e:Arno ; e:confidence 0.{n % 5 + 1} ; "
            f"e:source <https://en.wikipedia.org/wiki/{name}> .\n"
            for n, name in enumerate(names)
        )
    )
    done = run_epoche("kg", "init", path, "--out", folder, "--json")
    page = json.loads(done.out)
    assert [row["label"] for row in page["predicates"] if row["is_asked"]] == ["founded"]
    assert f"(statements: {len(names)})" in " ".join(page["skipped"])
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 4, "--out", cards)
    texts = cards.read_text("utf-8")
    assert "confidence" not in texts
    assert not any(f"{name} (" in texts for name in names)


def test_shapes_in_the_graph_are_named(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(PREFIXES + CITIES + SHAPES)
    note = "SHACL shapes in the graph are not taken as rules (shapes: 1)"
    assert note in run_epoche("kg", "init", path, "--out", tmp_path / "a").err
    done = run_epoche("kg", "init", path, "--shapes", path, "--out", tmp_path / "b")
    assert note not in done.err
    own = tmp_path / "own.ttl"
    own.write_text(PREFIXES + SHAPES)
    assert note in run_epoche("kg", "init", path, "--shapes", own, "--out", tmp_path / "c").err


@pytest.mark.parametrize("extension", ["trig", "nq"])
def test_facts_of_named_graphs_are_used(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"graph.{extension}"
    path.write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    if extension == "trig":
        path.write_text("<http://e/g> { <http://e/a> <http://e/p> <http://e/b> }")
    else:
        path.write_text("<http://e/a> <http://e/p> <http://e/b> <http://e/g> .")
    graph = Graph.load(path)
    assert len(graph) == 1
    assert graph.notes == (f"graph.{extension}: 1 named graph merged into one",)


def test_many_files_with_named_graphs_give_one_remark(tmp_path: Path) -> None:
    paths = [tmp_path / f"g{number}.trig" for number in range(6)]
    for path in paths:
        subject = f"<http://e/{path.stem}>"
        path.write_text(
            f"{subject} {{ {subject} <http://e/p> 1 }} <http://e/h> {{ {subject} <http://e/p> 2 }}"
        )
    assert Graph.load(paths).notes == (
        "12 named graphs merged into one, of 6 files: g0.trig, g1.trig, g2.trig and 3 more",
    )


@pytest.mark.parametrize("engine", ["incremental", "pyshacl"])
def test_iris_that_need_escapes_are_used(tmp_path: Path, engine: str) -> None:
    """Spaces, quotes, braces, backslashes and letters of other scripts are kept as they are."""
    path, shapes = tmp_path / "graph.ttl", tmp_path / "shapes.ttl"
    text = CITIES
    for n, odd in enumerate(("a b", 'a"b', "a{b}", "a|b", "a^b", "a`b", "山", "é%41")):
        text = text.replace(f"e:c{n} ", f"<http://e/{odd}> ")
    path.write_text(PREFIXES + text, "utf-8")
    shapes.write_text(PREFIXES + SHAPES)
    out = tmp_path / "cards.jsonl"
    flags = ("--kg", path, "--shapes", shapes, "--pred", "in", "--num-per-type", 4)
    done = run_epoche("cards", *flags, "--engine", engine, "--out", out)
    assert done.code == 0, done.err
    claims = [json.loads(line)["claim"] for line in out.read_text("utf-8").splitlines()]
    assert any(set(claim["subj"]) & set(' "{|^`山é') for claim in claims)
