"""Tests that the oracle takes none of four shortcuts of SHACL checking, each of which is wrong."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pyshacl
import pytest
import rdflib

from kg.claims import Claim
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.terms import RDF, RDFS, XSD, to_rdflib

E = "http://e/"
TYPE = RDF + "type"
INT = f"^^<{XSD}integer>"
PREFIXES = "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix e: <http://e/> .\n"


def make_claim(subject: str, predicate: str, obj: str) -> Claim:
    predicate = TYPE if predicate == "a" else E + predicate
    return Claim(E + subject, predicate, obj if obj.startswith('"') else E + obj)


class Case:
    """Facts, shapes and a claim, with the results of pySHACL and of the oracle."""

    def __init__(self, tmp_path: Path, facts: list[Claim], shapes: str, claim: Claim) -> None:
        path = tmp_path / "shapes.ttl"
        path.write_text(PREFIXES + shapes)
        self.shapes = Shapes.load(path)
        self.facts, self.claim = facts, claim

    def label_with_both_engines(self) -> set[str]:
        """Returns the labels that the oracle gives with each of its two engines."""
        return {
            Oracle(Graph.from_claims(self.facts), self.shapes, engine=engine)
            .license(self.claim)
            .label
            for engine in ("incremental", "pyshacl")
        }

    def conforms_in_pyshacl(self, facts: list[Claim] | None = None, **options: Any) -> bool:
        """Returns whether pySHACL finds that the facts and the claim conform to the shapes."""
        data = rdflib.Graph()
        for fact in [*(self.facts if facts is None else facts), self.claim]:
            data.add(tuple(map(to_rdflib, (fact.subj, fact.pred, fact.obj))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(pyshacl.validate(data, shacl_graph=self.shapes.to_rdflib(), **options)[0])


@pytest.fixture
def make_case(tmp_path: Path):
    return lambda *args: Case(tmp_path, *args)


def test_focus_nodes_also_filters_values_of_nested_shapes(make_case) -> None:
    # With focus_nodes=[x], pySHACL does not check v against the nested shape: the shape counts as
    # satisfied, so sh:not reports a violation that does not exist.
    case = make_case(
        [make_claim("x", "a", "R"), make_claim("v", "a", "K")],
        "e:S sh:targetClass e:R ; sh:property [ sh:path e:p ; "
        "sh:not [ sh:property [ sh:path e:q ; sh:minCount 1 ] ] ] .",
        make_claim("x", "p", "v"),
    )
    assert case.conforms_in_pyshacl()
    assert not case.conforms_in_pyshacl(focus_nodes=[E + "x"])
    assert case.label_with_both_engines() == {"U"}


def test_use_shapes_skips_nested_named_shapes(make_case) -> None:
    case = make_case(
        [make_claim("x", "a", "R"), make_claim("x", "p", "y")],
        "e:S sh:targetClass e:R ; sh:property e:One . e:One sh:path e:p ; sh:maxCount 1 .",
        make_claim("x", "p", "z"),
    )
    assert not case.conforms_in_pyshacl()
    assert case.conforms_in_pyshacl(use_shapes=[E + "S"])
    assert case.label_with_both_engines() == {"C"}


def test_neighbourhood_misses_focus_nodes_upstream(make_case) -> None:
    # A claim about z violates a shape at the focus node x, two links away from z.
    facts = [
        make_claim("x", "a", "R"),
        make_claim("x", "into", "y"),
        make_claim("y", "into", "z"),
        make_claim("x", "low", f'"5"{INT}'),
    ]
    case = make_case(
        facts,
        "e:S sh:targetClass e:R ; sh:property [ sh:path ( e:into e:into e:high ) ; "
        "sh:lessThan e:low ] .",
        make_claim("z", "high", f'"9"{INT}'),
    )
    neighbourhood = [fact for fact in facts if E + "z" in (fact.subj, fact.obj)]
    assert case.conforms_in_pyshacl(neighbourhood)
    assert not case.conforms_in_pyshacl()
    assert case.label_with_both_engines() == {"C"}


def test_inference_over_the_claim_hides_the_contradiction(make_case) -> None:
    facts = [make_claim("v", "a", "Country"), Claim(E + "p", RDFS + "range", E + "R")]
    case = make_case(
        facts,
        "e:S sh:targetSubjectsOf e:p ; sh:property [ sh:path e:p ; sh:class e:R ] .",
        make_claim("x", "p", "v"),
    )
    assert case.conforms_in_pyshacl(inference="rdfs")
    assert not case.conforms_in_pyshacl()
    assert case.label_with_both_engines() == {"C"}
