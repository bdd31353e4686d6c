"""The four shortcuts that were measured to be wrong, each shown wrong, each avoided."""

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


def c(subject: str, predicate: str, obj: str) -> Claim:
    predicate = TYPE if predicate == "a" else E + predicate
    return Claim(E + subject, predicate, obj if obj.startswith('"') else E + obj)


class Case:
    """Facts, shapes and a claim; what pySHACL says with options, and what the oracle says."""

    def __init__(self, tmp_path: Path, facts: list[Claim], shapes: str, claim: Claim) -> None:
        path = tmp_path / "shapes.ttl"
        path.write_text(PREFIXES + shapes)
        self.shapes = Shapes.load(path)
        self.facts, self.claim = facts, claim

    def labels(self) -> set[str]:
        """Labels by both engines."""
        return {
            Oracle(Graph.from_claims(self.facts), self.shapes, engine=engine)
            .license(self.claim)
            .label
            for engine in ("incremental", "pyshacl")
        }

    def conforms(self, facts: list[Claim] | None = None, **options: Any) -> bool:
        """pySHACL on the facts and the claim."""
        data = rdflib.Graph()
        for fact in [*(self.facts if facts is None else facts), self.claim]:
            data.add(tuple(map(to_rdflib, (fact.subj, fact.pred, fact.obj))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(pyshacl.validate(data, shacl_graph=self.shapes.rdflib(), **options)[0])


@pytest.fixture
def case(tmp_path: Path):
    return lambda *args: Case(tmp_path, *args)


def test_focus_nodes_also_filters_values_of_nested_shapes(case) -> None:
    # v is no focus node, so that its nested shape passes vacuously and sh:not fires.
    asked = case(
        [c("x", "a", "R"), c("v", "a", "K")],
        "e:S sh:targetClass e:R ; sh:property [ sh:path e:p ; "
        "sh:not [ sh:property [ sh:path e:q ; sh:minCount 1 ] ] ] .",
        c("x", "p", "v"),
    )
    assert asked.conforms()
    assert not asked.conforms(focus_nodes=[E + "x"])
    assert asked.labels() == {"U"}


def test_use_shapes_forgets_nested_named_shapes(case) -> None:
    asked = case(
        [c("x", "a", "R"), c("x", "p", "y")],
        "e:S sh:targetClass e:R ; sh:property e:One . e:One sh:path e:p ; sh:maxCount 1 .",
        c("x", "p", "z"),
    )
    assert not asked.conforms()
    assert asked.conforms(use_shapes=[E + "S"])
    assert asked.labels() == {"C"}


def test_neighbourhood_misses_focus_nodes_upstream(case) -> None:
    # A claim about z breaks a shape whose focus node x is two steps up.
    facts = [c("x", "a", "R"), c("x", "into", "y"), c("y", "into", "z"), c("x", "low", f'"5"{INT}')]
    asked = case(
        facts,
        "e:S sh:targetClass e:R ; sh:property [ sh:path ( e:into e:into e:high ) ; "
        "sh:lessThan e:low ] .",
        c("z", "high", f'"9"{INT}'),
    )
    near = [fact for fact in facts if E + "z" in (fact.subj, fact.obj)]
    assert asked.conforms(near)
    assert not asked.conforms()
    assert asked.labels() == {"C"}


def test_inference_over_the_claim_hides_the_contradiction(case) -> None:
    facts = [c("v", "a", "Country"), Claim(E + "p", RDFS + "range", E + "R")]
    asked = case(
        facts,
        "e:S sh:targetSubjectsOf e:p ; sh:property [ sh:path e:p ; sh:class e:R ] .",
        c("x", "p", "v"),
    )
    assert asked.conforms(inference="rdfs")
    assert not asked.conforms()
    assert asked.labels() == {"C"}
