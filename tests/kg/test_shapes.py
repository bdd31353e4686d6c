"""Tests of reading shapes from files, and of the errors of ill-formed shapes."""

from __future__ import annotations

import gzip
import socket
from pathlib import Path

import pytest
import rdflib

from kg.base.errors import MissingFileError, MissingShapesError, ShapesError
from kg.claims import Claim, Violation
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.shapes.paths import (
    PathStartFinder,
    compile_path,
    format_result_path,
    parse_path,
    reverse_path,
)
from kg.shapes.program import Program
from kg.shapes.reader import get_term_text
from kg.triples.index import Index

E = "http://e/"
PREFIXES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix e: <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def load_shapes(tmp_path: Path, text: str, name: str = "shapes.ttl") -> Shapes:
    path = tmp_path / name
    path.write_text((PREFIXES if name.endswith("ttl") else "") + text)
    return Shapes.load(path)


# Reading


def test_four_formats_give_the_same_shapes(tmp_path: Path) -> None:
    turtle = (
        PREFIXES + "e:S sh:targetClass e:R ; sh:property e:P . e:P sh:path e:p ; sh:maxCount 1 ."
    )
    graph = rdflib.Graph().parse(data=turtle, format="turtle")
    hashes = set()
    for name, rdf_format in (
        ("a.ttl", "turtle"),
        ("a.nt", "nt"),
        ("a.rdf", "xml"),
        ("a.jsonld", "json-ld"),
    ):
        path = tmp_path / name
        graph.serialize(path, format=rdf_format, encoding="utf-8")
        hashes.add(Shapes.load(path).sha256)
    assert len(hashes) == 1


def test_blank_nodes_of_several_files_stay_distinct(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ttl").write_text(
            PREFIXES + f"e:{name} sh:targetClass e:R ; sh:property _:p . _:p sh:path e:{name} ; "
            "sh:maxCount 1 ."
        )
    shapes = Shapes.load([tmp_path / "a.ttl", tmp_path / "b.ttl"])
    assert [constraint.path for constraint in shapes.list_constraints()] == [E + "a", E + "b"]


def test_nested_constraints_are_listed_with_their_paths(tmp_path: Path) -> None:
    shapes = load_shapes(
        tmp_path,
        """e:S sh:targetClass e:R ; sh:not [ sh:class e:L ] ;
             sh:property [ sh:path e:p ; sh:maxCount 1 ; sh:message "one"@en ;
                           sh:property [ sh:path [ sh:inversePath e:q ] ; sh:in ( e:a "b" ) ] ] .
           e:Off sh:targetClass e:R ; sh:deactivated true ; sh:class e:X .""",
    )
    constraints = {(c.shape, c.path, c.component): c for c in shapes.list_constraints()}
    assert set(constraints) == {
        (E + "S", "", "NotConstraintComponent"),
        (E + "S", E + "p", "MaxCountConstraintComponent"),
        (E + "S", "<http://e/p>/(^<http://e/q>)", "InConstraintComponent"),
    }
    max_count = constraints[E + "S", E + "p", "MaxCountConstraintComponent"]
    assert (max_count.parameters, max_count.message) == ({"maxCount": "1"}, "one")
    assert max_count.target == (("class", E + "R"),)
    ((inner_constraint,),) = constraints[E + "S", "", "NotConstraintComponent"].inner
    assert inner_constraint.parameters == {"class": E + "L"}


def test_subset_keeps_only_requested_targets(tmp_path: Path) -> None:
    shapes = load_shapes(
        tmp_path,
        "e:A a sh:NodeShape ; sh:targetClass e:R ; sh:node e:B ."
        " e:B sh:targetNode e:x ; sh:class e:K ."
        " e:C a rdfs:Class , sh:NodeShape ; sh:nodeKind sh:IRI .",
    )
    assert shapes.list_iris() == [E + "A", E + "B", E + "C"]
    assert shapes.shapes[E + "C"].targets.classes == (E + "C",)
    selected_shapes = shapes.select_shapes([E + "A"])
    assert selected_shapes.list_iris() == [E + "A"]
    assert selected_shapes.sha256 != shapes.sha256
    selected_shapes.to_rdflib().serialize(tmp_path / "selected.ttl", format="turtle")
    reloaded_shapes = Shapes.load(tmp_path / "selected.ttl")
    assert reloaded_shapes.list_iris() == [E + "A"]
    assert E + "B" in reloaded_shapes.shapes
    with pytest.raises(ShapesError, match="is not a shape"):
        shapes.select_shapes([E + "Nothing"])


IMPORTING = "<http://o/main> a owl:Ontology ; owl:imports <{iri}> . e:S sh:targetNode e:a . "
IMPORTED = "e:S sh:class e:K . "


@pytest.mark.parametrize(
    ("iri", "name", "head"),
    [
        ("http://o/core", "other.ttl", "<http://o/core> a owl:Ontology . "),
        ("http://o/core#", "other.ttl", "<http://o/core> a owl:Ontology . "),
        ("http://o/core/1.4", "other.ttl", "<http://o/x> owl:versionIRI <http://o/core/1.4> . "),
        ("http://o/Core", "core.ttl", ""),
        ("http://o/core.ttl", "core.ttl.gz", ""),
        ("core.ttl", "core.ttl", ""),
    ],
)
@pytest.mark.parametrize("given", [True, False])
def test_imports_are_read_from_local_files(
    tmp_path: Path, iri: str, name: str, head: str, given: bool
) -> None:
    folder = tmp_path / "elsewhere" if given and head else tmp_path
    folder.mkdir(exist_ok=True)
    content = (PREFIXES + head + IMPORTED).encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    (tmp_path / "broken.ttl").write_text("<a> <b>", "utf-8")
    (tmp_path / "data.csv").write_text("x", "utf-8")
    main = tmp_path / "main.ttl"
    main.write_text(PREFIXES + IMPORTING.format(iri=iri), "utf-8")
    shapes = Shapes.load([main, folder / name] if given else main)
    assert len(check_node(shapes, "e:a e:p e:b")) == 1
    assert any(f"imported from {name}" in note for note in shapes.notes) == (not given)
    assert not any("not followed" in note for note in shapes.notes)


def test_imports_of_imports_are_read_and_missing_ones_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_connection(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse_connection)
    texts = {
        "b": "<http://o/b> a owl:Ontology ; owl:imports <http://o/c>, <http://o/main> . ",
        "c": "<http://o/c> a owl:Ontology ; owl:imports <http://localhost:1/never>, <../x> . "
        + IMPORTED,
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.ttl").write_text(PREFIXES + text, "utf-8")
    (tmp_path.parent / "x").write_text(PREFIXES + "e:S sh:class e:L .", "utf-8")
    shapes = load_shapes(tmp_path, IMPORTING.format(iri="http://o/b"))
    assert len(check_node(shapes, "e:a e:p e:b")) == 1
    (missing,) = (note for note in shapes.notes if "not followed" in note)
    assert "2 × owl:imports" in missing
    assert "http://localhost:1/never" in missing


# Refusals

ILL_FORMED = [
    ("sh:property [ sh:path e:p ; sh:maxCount \"1\" ]", "sh:maxCount is not a non-negative"),
    ("sh:property [ sh:path e:p ; sh:maxCount -1 ]", "sh:maxCount is not a non-negative integer"),
    ("sh:property [ sh:path e:p ; sh:minCount 1 , 2 ]", "more than one sh:minCount"),
    ("sh:property [ sh:maxCount 1 ]", "does not point to a property shape"),
    ("sh:property [ sh:class e:K ]", "does not point to a property shape"),
    ("sh:node [ sh:path e:p ]", "does not point to a node shape"),
    ("sh:property [ sh:path \"p\" ]", "sh:path contains the literal"),
    ("sh:property [ sh:path [ ] ]", "not a SHACL path"),
    ("sh:property [ sh:path ( e:p ) ]", "at least two members"),
    ("sh:property [ sh:path [ sh:alternativePath ( e:p ) ] ]", "at least two members"),
    ("sh:property [ sh:path e:p , e:q ]", "more than one sh:path"),
    ("sh:or e:notAList", "broken RDF list"),
    ("sh:or ( )", "empty list"),
    ("sh:in e:notAList", "broken RDF list"),
    ("sh:in _:l . _:l <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> 1 ; "
     "<http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:l", "broken RDF list"),
    ("sh:not \"text\"", "a literal where a shape is expected"),
    ("sh:class \"K\"", "sh:class is not an IRI"),
    ("sh:nodeKind sh:Violation", "is not a node kind"),
    ("sh:pattern \"[\"", "not a regular expression"),
    ("sh:pattern e:p", "sh:pattern must be text"),
    ("sh:minInclusive e:five", "sh:minInclusive is not a literal"),
    ("sh:minLength \"three\"", "sh:minLength is not a non-negative integer"),
    ("sh:languageIn ( e:en )", "sh:languageIn must list strings"),
    ("sh:property [ sh:path e:p ; sh:uniqueLang \"yes\" ]", "must be true or false"),
    ("sh:clas e:K", "Did you mean sh:class"),
    ("sh:targetNodes e:K", "Did you mean sh:targetNode"),
    ("sh:property [ sh:path e:p ; sh:maxCuont 1 ]", "Did you mean sh:maxCount"),
    ("sh:property [ sh:path e:p ; sh:mincount 1 ]", "Did you mean sh:minCount"),
    ("sh:datatypo xsd:string", "Did you mean sh:datatype"),
    ("a sh:NodeShap", "Did you mean sh:NodeShape"),
    ("sh:severity sh:Waring", "Did you mean sh:Warning"),
    ("sh:sparql [ ]", "sh:sparql needs sh:select"),
    ("sh:sparql [ sh:select \"SELECT $this WHERE { $this\" ]", "does not parse"),
    ("sh:sparql [ sh:select \"ASK { $this ?p ?o }\" ]", "must be a SELECT"),
    ("sh:sparql [ sh:select \"SELECT ?x WHERE { ?x ?p ?o }\" ]", r"does not use \$this"),
    ("sh:sparql [ sh:select \"SELECT $this WHERE { $this $PATH ?o }\" ]", "has no sh:path"),
    ("sh:severity sh:Violation , sh:Warning", "more than one sh:severity"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), ILL_FORMED)
def test_ill_formed_shapes_are_refused_by_name(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(ShapesError, match=message) as exc_info:
        load_shapes(tmp_path, f"e:S sh:targetClass e:R ; {body} .")
    assert "shapes.ttl" in exc_info.value.format_line()
    assert exc_info.value.exit_code == 8


def test_ill_formed_blank_shapes_are_named_by_what_they_are_inside(tmp_path: Path) -> None:
    # A qualified shape without a number has no effect, and is read on its own.
    body = """sh:property [ sh:path e:p ;
        sh:qualifiedValueShape [ sh:message "One pump." ; sh:class "K" ] ]"""
    with pytest.raises(ShapesError) as exc_info:
        load_shapes(tmp_path, f"e:S sh:targetClass e:R ; {body} .")
    assert "shape inside http://e/S (“One pump.”)" in exc_info.value.format_line()
    assert "_:" not in exc_info.value.format_line()


# Parts that are left out

OMITTED = [
    ("sh:rule [ a sh:SPARQLRule ; sh:construct \"\" ] , [ a sh:TripleRule ; sh:subject sh:this ]",
     "2 × sh:rule (rules of SHACL Advanced Features) left out, e.g. of http://e/S"),
    ("sh:rule [ a sh:TripleRule ; sh:object [ sh:path ( e:p ) ] ]", "1 × sh:rule"),
    ("sh:target [ a sh:SPARQLTarget ; sh:select \"SELECT ?this {}\" ]", "1 × sh:target (targets"),
    ("sh:targetClass [ owl:unionOf ( e:A e:B ) ]", "sh:targetClass that are no IRIs"),
    ("sh:js [ sh:jsFunctionName \"f\" ]", "1 × sh:js (constraints of SHACL-JS)"),
    ("sh:expression [ sh:path e:p ]", "1 × sh:expression"),
    ("sh:property [ sh:path e:p ; sh:singleLine true ]", "constraints of SHACL 1.2"),
    ("sh:frobnicate 1", "sh:frobnicate (not a term of SHACL)"),
    *((f"sh:{name} ( xsd:date )", f"1 × sh:{name} (not a term of SHACL) left out, e.g. of http")
      for name in ("datatypeIn", "classIn", "minValue", "maxValue", "nodeKindIn", "on")),
    ("sh:maxCount 1", "1 × sh:maxCount in a shape without sh:path left out, e.g. of http://e/S"),
    ("sh:lessThan e:p", "1 × sh:lessThan in a shape without sh:path left out"),
    ("sh:node [ sh:qualifiedMaxCount 0 ; sh:message \"No pipes.\" ]",
     "in a shape without sh:path left out, e.g. inside http://e/S (“No pipes.”)"),
    ("sh:class e:K . [] sh:targetClass e:L ; sh:maxCount 1 ; sh:node [ sh:class e:M ]",
     "sh:maxCount in a shape without sh:path left out, e.g. of http://e/L"),
    ("e:lang \"en\" . e:C a sh:ConstraintComponent ; sh:parameter [ sh:path e:lang ] ; "
     "sh:validator [ a sh:SPARQLAskValidator ; sh:ask \"ASK {}\" ]", "uses of custom constraint"),
    ("sh:node e:Elsewhere", "references to shapes that no file defines"),
    ("sh:or ( e:Elsewhere [ sh:class e:K ] )", "references to shapes that no file defines"),
    ("sh:property e:Elsewhere ; sh:closed true", "references to shapes that no file defines"),
    ("sh:node e:S", "references of shapes to themselves"),
    ("sh:property [ sh:path e:p ; sh:node [ sh:not e:S ] ]", "references of shapes to themselves"),
    ("sh:property [ sh:path e:p ; sh:qualifiedMaxCount 1 ; sh:qualifiedValueShape e:S ]",
     "references of shapes to themselves"),
    ("sh:pattern \"a\" ; sh:flags \"x\"", "sh:flags other than i and m"),
    ("sh:pattern \"\\\\p{L}+\"", "classes of characters that only XPath has"),
    ("sh:flags \"i\"", "sh:flags without sh:pattern"),
    ("sh:property [ sh:path e:p ; sh:qualifiedValueShape [ sh:class e:K ] ]",
     "sh:qualifiedValueShape without"),
    ("sh:property [ sh:path e:p ; sh:qualifiedMinCount 1 ]", "sh:qualifiedMinCount without"),
    ("sh:ignoredProperties ( e:p )", "sh:ignoredProperties without sh:closed"),
    ("sh:sparql [ sh:select \"SELECT $this WHERE { $this x:p ?o }\" ]", "a prefix that"),
    ("sh:sparql [ sh:select \"SELECT $this WHERE { $this ?p ?o FILTER (<http://e/f>(?o)) }\" ] . "
     "<http://e/f> a sh:SPARQLFunction ; sh:parameter [ sh:path e:arg ] ; sh:select \"\"",
     "custom functions"),
    ("sh:sparql [ sh:select \"SELECT $this WHERE { GRAPH $shapesGraph { $this ?p ?o } }\" ]",
     "$shapesGraph"),
    ("sh:sparql [ sh:select \"SELECT $this WHERE { SERVICE <http://s/> { $this ?p ?o } }\" ]",
     "SERVICE"),
    ("sh:sparql [ sh:select \"SELECT $this WHERE { $this ?p ?o MINUS { $this e:p ?o } }\" ; "
     "sh:prefixes e:O ] . e:O sh:declare [ sh:prefix \"e\" ; sh:namespace \"http://e/\" ]",
     "MINUS"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected_note"), OMITTED)
def test_unsupported_parts_are_named_and_left_out(
    tmp_path: Path, body: str, expected_note: str
) -> None:
    shapes = load_shapes(tmp_path, f"e:S sh:targetNode e:a ; sh:class e:K ; {body} .")
    assert any(expected_note in note for note in shapes.notes), shapes.notes
    # The rest of the shape is evaluated, and pySHACL agrees.
    (violation,) = check_node(shapes, "e:a e:p e:b")
    assert violation.component == "ClassConstraintComponent"


def check_node(shapes: Shapes, turtle: str) -> tuple[Violation, ...]:
    """Returns the violations of a graph, after comparing the two engines."""
    graph = rdflib.Graph().parse(data=f"{PREFIXES}{turtle} .", format="turtle")
    claims = [Claim(*map(get_term_text, triple)) for triple in graph]
    incremental, pyshacl = (
        Oracle(Graph.from_claims(claims), shapes, engine=engine).find_violations()
        for engine in ("incremental", "pyshacl")
    )
    assert incremental == pyshacl
    return incremental


@pytest.mark.parametrize(
    "body",
    [
        "sh:not [ sh:class e:K ; sh:js [ ] ]",
        "sh:not [ sh:node [ sh:property [ sh:path e:p ; sh:js [ ] ] ] ]",
        "sh:not [ sh:or ( [ sh:js [ ] ] [ sh:class e:K ] ) ]",
        "sh:xone ( [ sh:class e:K ] [ sh:js [ ] ; sh:class e:L ] )",
        "sh:property [ sh:path e:p ; sh:qualifiedMaxCount 0 ; "
        "sh:qualifiedValueShape [ sh:js [] ] ]",
        "sh:property [ sh:path e:p ; sh:qualifiedMaxCount 0 ; sh:qualifiedValueShape "
        "[ sh:nodeKind sh:IRI ] ; sh:qualifiedValueShapesDisjoint true ] , "
        "[ sh:path e:p ; sh:qualifiedMinCount 0 ; sh:qualifiedValueShape [ sh:js [] ] ; "
        "sh:qualifiedValueShapesDisjoint true ]",
        "sh:closed true ; sh:property e:Elsewhere",
        "sh:not e:Elsewhere",
        "sh:not [ sh:not e:Elsewhere ]",
        "sh:not [ sh:class e:K ; sh:datatypeIn ( e:D ) ]",
        "sh:not [ sh:class e:K ; sh:maxCount 1 ]",
        "sh:property [ sh:path e:p ; sh:qualifiedMaxCount 0 ; "
        "sh:qualifiedValueShape [ sh:nodeKind sh:IRI ; sh:qualifiedMaxCount 0 ] ]",
    ],
)
def test_leaving_out_a_part_forbids_nothing_more(tmp_path: Path, body: str) -> None:
    shapes = load_shapes(tmp_path, f"e:S sh:targetNode e:a ; {body} .")
    assert check_node(shapes, "e:a a e:K , e:L ; e:p e:b") == ()


def test_shape_whose_only_target_is_left_out_has_no_focus_nodes(tmp_path: Path) -> None:
    text = 'e:S sh:target [ sh:select "SELECT ?this {}" ] ; sh:class e:K . '
    with pytest.raises(MissingShapesError, match="1 × sh:target"):
        load_shapes(tmp_path, text)
    shapes = load_shapes(tmp_path, f"{text} e:T sh:targetNode e:b ; sh:class e:K .")
    assert shapes.targeted_nodes == (E + "T",)
    (violation,) = check_node(shapes, "e:a e:p e:b")
    assert violation.focus_node == E + "b"


def test_files_may_contain_shacl_itself_and_reports(tmp_path: Path) -> None:
    shapes = load_shapes(
        tmp_path,
        """<> a owl:Ontology ; owl:imports sh: .
        sh:MinCountConstraintComponent a sh:ConstraintComponent ;
            sh:parameter sh:MinCountConstraintComponent-minCount .
        sh:MinCountConstraintComponent-minCount a sh:Parameter ; sh:path sh:minCount .
        e:S a sh:NodeShape ; sh:targetSubjectsOf sh:property ;
            sh:property [ sh:path sh:property ; sh:node e:T ] .
        e:T sh:property [ sh:path sh:minCount ; sh:maxCount 1 ; sh:minExclusive -1 ] .
        e:V sh:targetNode e:a ; sh:class e:K .
        [] a sh:ValidationReport ; sh:conforms false ; sh:result [ a sh:ValidationResult ;
            sh:focusNode e:a ; sh:resultSeverity sh:Violation ; sh:value e:b ; sh:resultPath e:p ;
            sh:sourceConstraintComponent sh:ClassConstraintComponent ; sh:sourceShape e:V ;
            sh:resultMessage "no" ; sh:detail [ ] ] .""",
    )
    assert shapes.notes == ()
    violations = check_node(shapes, "e:a sh:property [ sh:minCount 1 , 2 ]")
    assert {v.shape.split("/http")[0] for v in violations} == {E + "S", E + "V"}


@pytest.mark.parametrize(
    "body", ["a sh:NodeShape ; sh:path e:p ; sh:minCount 1", "a sh:PropertyShape ; sh:class e:K"]
)
def test_path_decides_what_a_shape_is(tmp_path: Path, body: str) -> None:
    shapes = load_shapes(tmp_path, f"e:S sh:targetNode e:a ; {body} .")
    assert len(check_node(shapes, "e:a e:q e:b")) == 1


def test_too_deep_nesting_is_refused(tmp_path: Path) -> None:
    body = "sh:class e:K"
    for _ in range(15):
        body = f"sh:node [ {body} ]"
    with pytest.raises(ShapesError, match="nested deeper"):
        load_shapes(tmp_path, f"e:S sh:targetClass e:R ; {body} .")
    path = "e:p"
    for _ in range(12):
        path = f"[ sh:zeroOrOnePath {path} ]"
    with pytest.raises(ShapesError, match="path is nested deeper"):
        load_shapes(
            tmp_path, f"e:S sh:targetClass e:R ; sh:property [ sh:path {path} ; sh:maxCount 1 ] ."
        )


def test_shape_can_be_used_many_times(tmp_path: Path) -> None:
    shapes = load_shapes(
        tmp_path,
        "e:S sh:targetClass e:R ; sh:node e:N ; sh:not [ sh:and ( e:N e:M ) ] . "
        "e:N sh:nodeKind sh:IRI . e:M sh:node e:N .",
    )
    assert len(shapes) == 1  # the number of shapes with targets


def test_syntax_error_has_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(ShapesError) as exc_info:
        load_shapes(tmp_path, "e:S sh:targetClass ;;\n oops")
    assert ":6:" in exc_info.value.where


def test_missing_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        Shapes.load(tmp_path / "none.ttl")
    with pytest.raises(MissingShapesError):
        load_shapes(tmp_path, "")
    with pytest.raises(MissingShapesError):
        load_shapes(tmp_path, "e:S a sh:NodeShape ; sh:class e:K .")
    with pytest.raises(MissingShapesError):
        Shapes.load([])
    with pytest.raises(ShapesError, match="format"):
        load_shapes(tmp_path, "x", "shapes.csv")


@pytest.mark.parametrize("name", ["a.ttl", "a.rdf", "a.jsonld", "a.nt"])
def test_random_bytes_are_refused_without_a_crash(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe<<{{@@\x00 sh:path")
    with pytest.raises(ShapesError):
        Shapes.load(path)


# Paths

PATHS = [
    ("e:p", "http://e/p", {"b"}),
    ("[ sh:inversePath e:p ]", "^<http://e/p>", {"z", "e"}),
    ("( e:p e:q )", "<http://e/p>/<http://e/q>", {"c"}),
    ("[ sh:alternativePath ( e:p e:r ) ]", "<http://e/p>|<http://e/r>", {"b", "d"}),
    ("[ sh:oneOrMorePath e:p ]", "<http://e/p>+", {"b", "e", "a"}),
    ("[ sh:zeroOrMorePath e:q ]", "<http://e/q>*", {"a"}),
    ("[ sh:zeroOrOnePath e:p ]", "<http://e/p>?", {"a", "b"}),
    ("( [ sh:inversePath e:p ] [ sh:zeroOrMorePath e:p ] )",
     "(^<http://e/p>)/(<http://e/p>*)", {"z", "a", "b", "e"}),
]  # fmt: skip
EDGES = "a p b, b q c, a r d, b p e, e p a, z p a"


@pytest.mark.parametrize(("turtle", "text", "expected"), PATHS)
def test_paths_reach_the_expected_nodes(turtle: str, text: str, expected: set[str]) -> None:
    graph = rdflib.Graph().parse(data=PREFIXES + f"e:P sh:path {turtle} .", format="turtle")
    node = graph.value(rdflib.URIRef(E + "P"), rdflib.URIRef("http://www.w3.org/ns/shacl#path"))
    assert node is not None
    path = parse_path(graph, node, "")
    assert format_result_path(graph, node) == text
    index = Index()
    intern = index.terms.intern
    for edge in EDGES.split(", "):
        index.add_triple(*(intern(E + name) for name in edge.split()))
    start = intern(E + "a")
    values = compile_path(path, index.terms)(index, start)
    assert {index.terms.get_text(value)[len(E) :] for value in values} == expected
    evaluate_reverse = compile_path(reverse_path(path), index.terms)
    assert all(start in evaluate_reverse(index, value) for value in values)
    start_finder = PathStartFinder(path, index.terms)
    triples = [t for t in index.iter_triples() if start in start_finder.find_starts(index, *t)]
    # From a, this path reaches only a, over no triple.
    assert triples or turtle == "[ sh:zeroOrMorePath e:q ]"


def test_prefixes_and_path_are_filled_into_queries(tmp_path: Path) -> None:
    shapes = load_shapes(
        tmp_path,
        """e:O a owl:Ontology ;
            sh:declare [ sh:prefix "x" ; sh:namespace "http://e/"^^xsd:anyURI ] .
        e:S sh:targetClass e:R ; sh:path [ sh:inversePath e:p ] ; sh:sparql [ sh:prefixes e:O ;
            sh:select "SELECT $this ?value WHERE { $this $PATH ?value . ?value x:q $this }" ] .""",
    )
    (parameter,) = shapes.shapes[E + "S"].parameters
    assert parameter.query is not None
    assert "PREFIX x: <http://e/>" in parameter.query.text
    assert "$this ^<http://e/p> ?value" in parameter.query.text
    assert [t.evaluation for t in Program(shapes, Index().terms).targeted_shapes] == ["compiled"]


def test_contradicting_prefixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ShapesError, match="declared twice with different namespaces"):
        load_shapes(
            tmp_path,
            """e:O sh:declare [ sh:prefix "x" ; sh:namespace "http://e/" ] ,
                               [ sh:prefix "x" ; sh:namespace "http://f/" ] .
            e:S sh:targetClass e:R ; sh:sparql [ sh:prefixes e:O ;
                sh:select "SELECT $this WHERE { $this x:q $this }" ] .""",
        )
