"""Tests of the inspection of a graph and of ``epoche kg inspect``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kg.base.errors import GraphSyntaxError
from kg.claims import Claim
from kg.graph import Graph
from kg.inspect_graph import inspect_command
from kg.inspection import MAX_LISTED_FINDINGS, MAX_PRINTED_ROWS, inspect_graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.terms import RDF, RDFS, SKOS, is_malformed_iri

E = "http://e/"
TURTLE = """@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:River rdfs:subClassOf :Water ; owl:disjointWith :Wet . :a a :Wet .
:mouth a owl:FunctionalProperty .
:a a :River ; rdfs:label "Alpha" ; :mouth :b ; :length 5 ; :crosses :x, :y .
:b a :River ; rdfs:label "Beta", "alpha"@en ; :mouth <http://e/with space> ; :length -5 .
:c a :Lake ; :rare <http://e/http_//e/b> ; :anon [ :length 1 ] .
"""
SHAPES = """@prefix : <http://e/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
:S a sh:NodeShape ; sh:targetClass :River ;
  sh:property [ sh:path :length ; sh:minExclusive 0 ] ;
  sh:property [ sh:path ( :mouth [ sh:inversePath :crosses ] ) ; sh:maxCount 9 ] .
:Q a sh:NodeShape ; sh:targetSubjectsOf :rare ;
  sh:sparql [ sh:select "SELECT $this WHERE { $this <http://e/anon> ?x . ?x <http://e/none> 1 }" ] .
"""
RUNNER = CliRunner()


@pytest.fixture
def files(tmp_path):
    (tmp_path / "g.ttl").write_text(TURTLE)
    (tmp_path / "s.ttl").write_text(SHAPES)
    return tmp_path / "g.ttl", tmp_path / "s.ttl"


@pytest.fixture
def report(files):
    graph, shapes = Graph.load(files[0]), Shapes.load([files[1]])
    return inspect_graph(graph, shapes, Oracle(graph, shapes))


def test_inspection_counts_triples_and_terms(report):
    by_iri = {row.iri: row for row in report.predicates}
    assert report.triples == sum(row.triples for row in report.predicates)
    length = by_iri[E + "length"]
    assert (length.triples, length.subjects, length.single_valued) == (3, 3, True)
    crosses = by_iri[E + "crosses"]
    assert (crosses.triples, crosses.subjects, crosses.single_valued) == (2, 1, False)
    assert by_iri[E + "mouth"].functional
    assert not by_iri[E + "length"].functional
    # A single subject does not show that a predicate is single-valued.
    assert not by_iri[E + "rare"].single_valued
    classes = {row.iri: row for row in report.classes}
    assert classes[E + "River"].instances == 2
    assert (classes[E + "Water"].instances, classes[E + "Water"].entailed) == (0, 2)
    assert report.entailed == by_iri[RDF + "type"].entailed == 2
    assert report.blank_nodes == 1
    assert report.unlabelled == 3
    triple_counts = [row.triples + row.entailed for row in report.predicates]
    assert triple_counts == sorted(triple_counts, reverse=True)


def test_coverage_includes_paths_targets_and_queries(report):
    constrained = {row.iri for row in report.predicates if row.constrained}
    assert constrained == {E + name for name in ("length", "mouth", "crosses", "rare", "anon")}
    assert {row.iri for row in report.classes if row.constrained} == {E + "River"}
    assert report.shapes == 2


def test_findings_are_counted_listed_and_printed(report):
    assert set(report.malformed_iris) == {"http://e/with space", "http://e/http_//e/b"}
    assert [(row.label, row.iris) for row in report.homonyms] == [("Alpha", (E + "a", E + "b"))]
    assert report.violation_count == 1
    assert report.violations[0].focus_node == E + "b"
    assert report.inconsistency_count == 1
    assert report.inconsistencies[0].startswith("cax-dw: ")
    text = report.render_text()
    for part in ("with space", "Alpha: http://e/a, http://e/b", "functional", "MinExclusive"):
        assert part in text


def test_report_without_shapes_omits_them(files):
    report = inspect_graph(Graph.load(files[0]))
    assert report.shapes is None
    assert report.violation_count is None
    assert "COVERAGE" not in report.render_text()
    assert "no shape" not in report.render_text()


def test_long_lists_are_cut_and_totals_shown():
    claims = [Claim(f"{E}bad {n}", f"{E}p{n}", '"x"') for n in range(MAX_LISTED_FINDINGS + 5)]
    report = inspect_graph(Graph.from_claims(claims))
    assert report.malformed_count == MAX_LISTED_FINDINGS + 5
    assert len(report.malformed_iris) == MAX_LISTED_FINDINGS
    assert f"… and {MAX_LISTED_FINDINGS + 5 - MAX_PRINTED_ROWS:,} more" in report.render_text()


def test_hostile_text_stays_on_one_line():
    label_claim = Claim(f"{E}x\n\x1b[31m", RDFS + "label", '"a\\n\\u001B[2J"')
    other_claim = Claim(f"{E}y", SKOS + "altLabel", '"a\\n\\u001B[2J"')
    text = inspect_graph(Graph.from_claims([label_claim, other_claim])).render_text()
    assert "\x1b" not in text
    assert all(line == line.rstrip("\r") for line in text.split("\n"))


@pytest.mark.parametrize(
    ("iri", "malformed"),
    [
        ("http://e/a", False),
        ("urn:isbn:1", False),
        ("http://e/é", False),
        ("http://e/%C3%A9", False),
        ("http://web.archive.org/web/2020/http://e/page", False),
        ("http://e/a b", True),
        ("http://e/<x>", True),
        ("http://e/%zz", True),
        ("relative", True),
        ("", True),
        ("http://dbpedia.org/resource/http_//dbpedia.org/resource/X", True),
    ],
)
def test_malformed_iris_are_recognised(iri, malformed):
    assert is_malformed_iri(iri) == malformed


def run_inspect(*args):
    import typer

    app = typer.Typer()
    app.command()(inspect_command)
    return RUNNER.invoke(app, list(args))


def test_command_prints_text_or_json(files, tmp_path):
    graph, shapes = map(str, files)
    result = run_inspect("--kg", graph, "--shapes", shapes)
    assert result.exit_code == 0, result.output
    assert "PREDICATES" in result.output
    result = run_inspect("--kg", graph, "--json")
    assert json.loads(result.output)["triples"] == 19  # all triples of TURTLE
    out = tmp_path / "report.json"
    assert run_inspect("--kg", graph, "--json", "--out", str(out)).exit_code == 0
    assert json.loads(out.read_text())["malformed_count"] == 2


def test_command_on_the_shipped_domain():
    result = run_inspect("--domain", "rivers")
    assert result.exit_code == 0, result.output
    assert "SHACL VIOLATIONS (0)" in result.output


def test_command_reports_errors(tmp_path):
    invalid_file = tmp_path / "bad.ttl"
    invalid_file.write_text("<http://a> <http://b> .")
    assert isinstance(run_inspect("--kg", str(invalid_file)).exception, GraphSyntaxError)
