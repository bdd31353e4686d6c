"""Tests that names which ``owl:sameAs`` makes one thing count once for maximum counts."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyshacl
import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg.claims import Claim
from kg.graph import Graph
from kg.oracle import Engine, Oracle
from kg.shapes import Shapes
from kg.terms import OWL

E = "http://e/"
SAME_AS = OWL + "sameAs"
NODES = [E + name for name in "abcdef"]
SHAPES = f"""
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix e: <{E}> .
e:S sh:targetSubjectsOf e:p ; sh:property
    [ sh:path e:p ; sh:maxCount 2 ],
    [ sh:path e:q ; sh:maxCount 1 ],
    [ sh:path [ sh:inversePath e:p ] ; sh:maxCount 1 ],
    [ sh:path e:q ; sh:qualifiedMaxCount 1 ; sh:qualifiedValueShape [ sh:nodeKind sh:IRI ] ] .
"""
CLAIMS = st.builds(
    Claim,
    st.sampled_from(NODES),
    st.sampled_from([E + "p", E + "q", SAME_AS]),
    st.sampled_from(NODES),
)


def load_shapes(folder: Path) -> Shapes:
    path = folder / "shapes.ttl"
    path.write_text(SHAPES)
    return Shapes.load(path)


def find_same_names(claims: list[Claim]) -> dict[str, str]:
    """Returns for each node the first name of the same thing."""
    first = {node: node for node in NODES}
    for claim, _ in itertools.product(claims, NODES):
        if claim.pred == SAME_AS:
            smaller, larger = sorted((first[claim.subj], first[claim.obj]))
            first = {node: smaller if name == larger else name for node, name in first.items()}
    return first


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(claims=st.lists(CLAIMS, max_size=14))
@pytest.mark.parametrize("engine", ["incremental", "pyshacl"])
def test_violations_are_those_of_the_merged_graph(
    tmp_path: Path, engine: Engine, claims: list[Claim]
) -> None:
    """The reference is pySHACL, without inference, on the graph with one name for each thing."""
    first = find_same_names(claims)
    merged = rdflib.Graph()
    for claim in claims:
        if claim.pred != SAME_AS:
            merged.add(
                (
                    rdflib.URIRef(first[claim.subj]),
                    rdflib.URIRef(claim.pred),
                    rdflib.URIRef(first[claim.obj]),
                )
            )
    shapes = load_shapes(tmp_path)
    conforms, report, _ = pyshacl.validate(merged, shacl_graph=shapes.to_rdflib())
    sh = rdflib.Namespace("http://www.w3.org/ns/shacl#")
    expected = {
        (str(node), str(report.value(result, sh.sourceConstraintComponent)).rsplit("#", 1)[1])
        for result, node in report.subject_objects(sh.focusNode)
    }
    oracle = Oracle(Graph.from_claims(claims), shapes, regime="owl-rl", engine=engine)
    found = oracle.find_violations()
    assert {(first[v.focus_node], v.component) for v in found} == expected
    assert conforms == (not found)


@pytest.mark.parametrize("engine", ["incremental", "pyshacl"])
@pytest.mark.parametrize("regime", ["none", "owl-rl"])
def test_a_further_thing_contradicts_where_the_names_of_one_do_not(
    tmp_path: Path, engine: Engine, regime: str
) -> None:
    claims = [
        Claim(E + "a", E + "p", E + "d"),
        Claim(E + "a", E + "q", E + "b"),
        Claim(E + "a", E + "q", E + "c"),
        Claim(E + "c", SAME_AS, E + "b"),
    ]
    oracle = Oracle(Graph.from_claims(claims), load_shapes(tmp_path), regime=regime, engine=engine)
    assert oracle.find_violations() == ()
    # Before, the graph broke the rule by itself, so that a further value was unknown.
    verdict = oracle.license(Claim(E + "a", E + "q", E + "e"))
    assert verdict.label == "C"
    assert oracle.license(Claim(E + "f", E + "q", E + "e")).label == "U"
