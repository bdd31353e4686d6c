"""The closure against ``owlrl``, W3C's reference rules, and every proof against a re-checker."""

from __future__ import annotations

import sys
from pathlib import Path

import owlrl
import pytest
import rdflib
from hypothesis import given, settings

from kg.claims import Claim
from kg.entailment import Closure, compile_axioms
from kg.graph import Graph
from kg.terms import OWL, RDF, RDFS, from_rdflib, is_blank, is_literal

sys.path.insert(0, str(Path(__file__).parent))
from entailment_cases import AXIOMS, E, KEYS, RARE, SCHEMA_RDFS, TYPE, graphs  # noqa: E402 - a helper beside this file, found once the path is set

REFLEXIVE = {
    OWL + "sameAs",
    RDFS + "subClassOf",
    RDFS + "subPropertyOf",
    OWL + "equivalentClass",
    OWL + "equivalentProperty",
}


def is_trivial(claim, asserted):
    """What the module's documentation says is left out."""
    if claim in asserted:
        return False
    return (
        (claim.subj == claim.obj and claim.pred in REFLEXIVE)
        or is_literal(claim.subj)
        or is_blank(claim.pred)
        or not claim.subj.startswith(E)
        or claim.obj == OWL + "Thing"
        or OWL + "error" in claim.pred
    )


def owlrl_closure(claims, semantics):
    graph = Graph.from_claims(claims).rdflib()
    work = rdflib.Graph()
    for triple in graph:
        work.add(triple)
    semantics(work, False, False, rdfs=semantics is owlrl.RDFS_Semantics).closure()
    # Triples with a literal as predicate or the like cannot be written as claims at all.
    return {Claim(*map(from_rdflib, triple)) for triple in work}


def our_closure(claims, regime="owl-rl"):
    closure = Closure(Graph.from_claims(claims), regime)
    text = closure.index.terms.text
    return {Claim(*map(text, triple)) for triple in closure.index.triples()}


def check_owl(claims):
    asserted = set(claims)
    theirs = {c for c in owlrl_closure(claims, owlrl.OWLRL_Semantics) if not is_trivial(c, asserted)}
    ours = {c for c in our_closure(claims) if not is_trivial(c, asserted)}
    assert ours == theirs


@settings(deadline=None, max_examples=60)
@given(graphs(*AXIOMS))
def test_owl_rl_infers_what_owlrl_infers(claims):
    check_owl(claims)


@settings(deadline=None, max_examples=25)
@given(graphs(*AXIOMS, *RARE, *RARE))
def test_axioms_inferred_from_data_count_too(claims):
    check_owl(claims)
