"""Compares the closure with that of ``owlrl``, and checks every proof against the W3C rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import owlrl
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import GraphTooLargeError
from kg.claims import Claim, Step
from kg.domain import SHIPPED_FOLDER
from kg.entailment import Closure, compile_axioms
from kg.graph import Graph
from kg.reasoning import schema
from kg.terms import OWL, RDF, RDFS, from_rdflib, is_blank, is_literal

sys.path.insert(0, str(Path(__file__).parent))
from entailment_cases import (
    AXIOMS,
    KEY_AXIOMS,
    PROHIBITIONS,
    RARE_AXIOMS,
    SCHEMA_RDFS,
    TYPE,
    E,
    copied_restrictions,
    graphs,
    make_restriction,
    to_term,
)
from proof_checker import is_valid, make_rule_instances

REFLEXIVE = {
    OWL + "sameAs",
    RDFS + "subClassOf",
    RDFS + "subPropertyOf",
    OWL + "equivalentClass",
    OWL + "equivalentProperty",
}


def is_trivial(claim, asserted):
    """Returns whether the comparison omits a claim that was not asserted.

    Epoché does not infer reflexive claims, claims that RDF does not allow, claims about the
    vocabulary, memberships in ``owl:Thing`` and error messages; owlrl does.
    """
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


def compute_owlrl_closure(claims, semantics):
    graph = Graph.from_claims(claims).to_rdflib()
    rdflib_graph = rdflib.Graph()
    for triple in graph:
        rdflib_graph.add(triple)
    semantics(rdflib_graph, False, False, rdfs=semantics is owlrl.RDFS_Semantics).closure()
    # owlrl also infers triples that RDF does not allow, so the closure is compared as claims.
    return {Claim(*map(from_rdflib, triple)) for triple in rdflib_graph}


def count_inferred(closure):
    return sum(not closure.is_asserted(*triple) for triple in closure.index.iter_triples())


def compute_closure(claims, regime="owl-rl"):
    closure = Closure(Graph.from_claims(claims), regime)
    text = closure.index.terms.get_text
    return {Claim(*map(text, triple)) for triple in closure.index.iter_triples()}


def check_owl_closure(claims):
    asserted = set(claims)
    expected = {
        c
        for c in compute_owlrl_closure(claims, owlrl.OWLRL_Semantics)
        if not is_trivial(c, asserted)
    }
    actual = {c for c in compute_closure(claims) if not is_trivial(c, asserted)}
    assert actual == expected


@settings(deadline=None, max_examples=45)
@given(graphs(*AXIOMS))
def test_owl_rl_infers_what_owlrl_infers(claims):
    check_owl_closure(claims)


@settings(deadline=None, max_examples=25)
@given(graphs(*AXIOMS, *RARE_AXIOMS, *RARE_AXIOMS))  # twice, so that more of them are drawn
def test_inferred_axioms_are_applied(claims):
    check_owl_closure(claims)


@settings(deadline=None, max_examples=60)
@given(graphs(*SCHEMA_RDFS))
def test_rdfs_infers_what_owlrl_infers(claims):
    asserted = set(claims)
    # owlrl also infers that everything is a resource and every class is a subclass of itself.
    expected = {
        c
        for c in compute_owlrl_closure(claims, owlrl.RDFS_Semantics)
        if not is_trivial(c, asserted) and c.obj not in {RDFS + "Resource", RDF + "Property"}
    }
    actual = {c for c in compute_closure(claims, "rdfs") if not is_trivial(c, asserted)}
    assert actual == expected


def check_proofs(claims, regime, closure=None):
    asserted = set(claims)
    closure = closure or Closure(Graph.from_claims(claims), regime)
    text = closure.index.terms.get_text
    derived_count = 0
    for triple in list(closure.index.iter_triples()):
        claim = Claim(*map(text, triple))
        steps = closure.derive_claim(claim)
        if claim in asserted:
            assert steps == ()
            assert closure.is_asserted(*triple)
            continue
        derived_count += 1
        known_claims = set(asserted)
        for step in steps:
            assert set(step.premises) <= known_claims, step
            assert is_valid(step), step
            assert step.conclusion not in known_claims
            known_claims.add(step.conclusion)
        assert steps[-1].conclusion == claim
        used_premises = {premise for step in steps for premise in step.premises}
        assert all(step.conclusion in used_premises for step in steps[:-1])
    assert derived_count == count_inferred(closure)


@settings(deadline=None, max_examples=120)
@given(graphs(*AXIOMS, KEY_AXIOMS, *RARE_AXIOMS, max_axioms=7))
def test_every_proof_is_a_well_founded_chain_of_w3c_rules(claims):
    check_proofs(claims, "owl-rl")


def check_copies(claims):
    """Checks that copied restrictions change no conclusion about others, nor types."""
    closure = Closure(Graph.from_claims(claims))
    actual = compute_closure(claims)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "_find_copied_restrictions", lambda *_: {})
        complete = compute_closure(claims)
    assert actual <= complete
    for claim in complete - actual:
        assert is_blank(claim.subj) or is_blank(claim.obj), claim
        assert claim.pred != TYPE, claim
    check_proofs(claims, "owl-rl", closure)
    return complete - actual


@settings(deadline=None, max_examples=200)
@given(copied_restrictions())
def test_copied_restrictions_change_no_conclusion_about_others(claims):
    check_copies(claims)


SUB, EQUIVALENT = RDFS + "subClassOf", OWL + "equivalentClass"


@pytest.mark.parametrize(
    "links",
    [
        [("_:r0", SUB, "C2"), ("C1", SUB, "_:r1"), ("C3", SUB, "C1")],
        [("_:r1", SUB, "C2"), ("C1", SUB, "_:r0"), ("C3", SUB, "C1")],
        [("C2", EQUIVALENT, "_:r0"), ("C1", SUB, "_:r1"), ("C3", SUB, "C1")],
        [("_:r1", SUB, "_:r3"), ("_:r3", SUB, "C2"), ("C1", SUB, "_:r0")],
        # Of a restriction whose class is a copy.
        [("_:r0", SUB, "C2"), ("C1", EQUIVALENT, "_:r4"), ("C3", EQUIVALENT, "_:r5")],
    ],
)
def test_axioms_reach_others_through_copied_restrictions(links):
    claims = [Claim(E + "p0", TYPE, OWL + "ObjectProperty"), Claim(E + "C0", TYPE, OWL + "Class")]
    fillers = {"_:r0": "C0", "_:r1": "C0", "_:r2": "C0", "_:r3": "C3", "_:r4": "_:r1", "_:r5": "C2"}
    for restriction, filler in fillers.items():
        claims += make_restriction(restriction, E + "p0", "someValuesFrom", filler)
    claims += [Claim(to_term(s), p, to_term(o)) for s, p, o in links]
    claims.append(Claim(E + "i0", TYPE, E + "C1"))
    assert check_copies(claims)  # of the copies themselves less is inferred


@settings(deadline=None, max_examples=30)
@given(graphs(*SCHEMA_RDFS))
def test_every_rdfs_proof_is_valid(claims):
    check_proofs(claims, "rdfs")


@settings(deadline=None, max_examples=200)
@given(graphs(*AXIOMS, KEY_AXIOMS, *RARE_AXIOMS, max_axioms=7), st.data())
def test_removing_triples_leaves_the_closure_of_the_rest(claims, data):
    check_removal(claims, data, "owl-rl")


@settings(deadline=None, max_examples=50)
@given(graphs(*SCHEMA_RDFS), st.data())
def test_removing_triples_leaves_the_rdfs_closure_of_the_rest(claims, data):
    check_removal(claims, data, "rdfs")


def check_removal(claims, data, regime):
    """Checks two removals in sequence, by the closure of the rest and by all its proofs."""
    full = Graph.from_claims(claims)
    closure, graph = Closure(full, regime), full
    for in_place in (False, True):
        triples = sorted(graph.index.iter_triples())
        chosen = data.draw(st.sets(st.sampled_from(triples), max_size=6)) if triples else set()
        graph = graph.without(chosen)
        closure = closure.without(graph, chosen, in_place=in_place)
        expected = Closure(graph, regime)
        assert set(closure.index.iter_triples()) == set(expected.index.iter_triples())
        check_proofs(list(graph.iter_claims()), regime, closure)


def test_removal_is_not_computed_anew(monkeypatch):
    """Facts about a shipped domain are removed without a second run over the graph."""
    graph = Graph.load(SHIPPED_FOLDER / "rivers" / "rivers.ttl")
    closure = Closure(graph)
    mouth = next(
        p
        for p in graph.index.list_predicates()
        if graph.index.terms.get_text(p).endswith("flowsInto")
    )
    removed = [(s, mouth, o) for s, o in list(graph.index.iter_pairs(mouth))[::9]]
    rest = graph.without(removed)
    expected = set(Closure(rest).index.iter_triples())
    monkeypatch.setattr(Closure, "__init__", None)
    assert set(closure.without(rest, removed).index.iter_triples()) == expected


def test_proof_checker_rejects_wrong_steps():
    def make_iri(local_name):
        return E + local_name

    valid_step = Step(
        "prp-trp",
        (
            Claim(make_iri("p"), TYPE, OWL + "TransitiveProperty"),
            Claim(make_iri("a"), make_iri("p"), make_iri("b")),
            Claim(make_iri("b"), make_iri("p"), make_iri("c")),
        ),
        Claim(make_iri("a"), make_iri("p"), make_iri("c")),
    )
    assert is_valid(valid_step)
    assert not is_valid(Step("prp-trp", valid_step.premises[:2], valid_step.conclusion))
    assert not is_valid(Step("prp-symp", valid_step.premises, valid_step.conclusion))
    assert not is_valid(
        Step("prp-trp", valid_step.premises, Claim(make_iri("c"), make_iri("p"), make_iri("a")))
    )


KEYED_CLAIMS = [
    Claim(E + "C", OWL + "hasKey", E + "L"),
    Claim(E + "L", RDF + "first", E + "name"),
    Claim(E + "L", RDF + "rest", E + "L2"),
    Claim(E + "L2", RDF + "first", E + "born"),
    Claim(E + "L2", RDF + "rest", RDF + "nil"),
    *(
        Claim(E + who, *fact)
        for who in ("x", "y", "z")
        for fact in ((TYPE, E + "C"), (E + "name", '"Ann"'))
    ),
    Claim(E + "x", E + "born", '"1900"'),
    Claim(E + "y", E + "born", '"1900"'),
    Claim(E + "z", E + "born", '"1901"'),
]


def test_keys_need_every_property():
    # owlrl ignores the last property of a key, so this rule is not compared with owlrl.
    equalities = {c for c in compute_closure(KEYED_CLAIMS) if c.pred == OWL + "sameAs"}
    assert equalities == {
        Claim(E + "x", OWL + "sameAs", E + "y"),
        Claim(E + "y", OWL + "sameAs", E + "x"),
    }
    claims_without_a_type = [c for c in KEYED_CLAIMS if c != Claim(E + "x", TYPE, E + "C")]
    assert not {c for c in compute_closure(claims_without_a_type) if c.pred == OWL + "sameAs"}
    # Any of the claims about the three things may come last in the graph.
    for last_claim in KEYED_CLAIMS[5:]:
        order = [c for c in KEYED_CLAIMS if c != last_claim] + [last_claim]
        assert compute_closure(order) == compute_closure(KEYED_CLAIMS)


def test_literals_are_never_inferred_as_subjects_or_equal():
    claims = [
        Claim(E + "p", TYPE, OWL + "FunctionalProperty"),
        Claim(E + "p", TYPE, OWL + "SymmetricProperty"),
        Claim(E + "p", RDFS + "range", E + "C"),
        Claim(E + "a", E + "p", '"1"'),
        Claim(E + "a", E + "p", '"2"'),
        Claim(E + "a", OWL + "sameAs", '"odd"'),
    ]
    closure = compute_closure(claims)
    assert not [c for c in closure if is_literal(c.subj)]
    assert closure == set(claims)


def test_triples_added_to_the_index_infer_nothing():
    graph = Graph.from_claims([Claim(E + "p", RDFS + "range", E + "C")])
    closure = Closure(graph)
    intern = graph.index.terms.intern
    closure.index.add_triple(intern(E + "a"), intern(E + "p"), intern(E + "b"))
    assert not closure.has_claim(Claim(E + "b", TYPE, E + "C"))
    assert not graph.has_claim(Claim(E + "a", E + "p", E + "b"))
    assert closure.derive_claim(Claim(E + "a", E + "p", E + "b")) is None


def test_axioms_among_the_facts_are_applied():
    # Axioms among the facts, e.g. of a card, are applied together with those compiled earlier.
    index = Graph.from_claims([]).index
    compiled = compile_axioms(index, [Claim(E + "p", RDFS + "domain", E + "C")], "owl-rl")
    for fact in (
        Claim(E + "C", RDFS + "subClassOf", E + "D"),
        Claim(E + "p", TYPE, OWL + "SymmetricProperty"),
    ):
        scratch = index.make_empty_index()
        intern = scratch.terms.intern
        for c in (fact, Claim(E + "a", E + "p", E + "b")):
            scratch.add_triple(intern(c.subj), intern(c.pred), intern(c.obj))
        closure = Closure(scratch, "owl-rl", axioms=compiled)
        subject = E + "b" if fact.pred == TYPE else E + "a"
        assert closure.has_claim(Claim(subject, TYPE, E + ("C" if fact.pred == TYPE else "D")))


def test_regime_none_adds_nothing():
    graph = Graph.from_claims(KEYED_CLAIMS)
    closure = Closure(graph, "none")
    assert closure.index is graph.index
    assert closure.derive_claim(KEYED_CLAIMS[0]) == ()
    assert closure.derive_claim(Claim(E + "x", OWL + "sameAs", E + "y")) is None
    assert closure.derive_claim(Claim("http://never/seen", E + "p", E + "y")) is None
    assert closure.find_same_terms(0) == (0,)
    assert count_inferred(closure) == 0


def test_equal_terms_form_one_class():
    closure = Closure(
        Graph.from_claims(
            [Claim(E + a, OWL + "sameAs", E + b) for a, b in (("a", "b"), ("c", "b"))]
            + [Claim(E + "a", E + "p", E + "d")]
        )
    )
    get_id = closure.index.terms.get
    # The term itself comes first.
    assert (
        next(closure.index.terms.get_text(t) for t in closure.find_same_terms(get_id(E + "c")))
        == E + "c"
    )
    assert {closure.index.terms.get_text(t) for t in closure.find_same_terms(get_id(E + "c"))} == {
        E + "a",
        E + "b",
        E + "c",
    }
    assert closure.has_claim(Claim(E + "c", E + "p", E + "d"))


@settings(deadline=None, max_examples=60)
@given(graphs(*AXIOMS, KEY_AXIOMS))
def test_compiled_axioms_give_the_same_closure(claims):
    facts = [c for c in claims if c.subj.startswith(E + "i")]  # the things i0 to i3
    axioms = [c for c in claims if c not in set(facts)]
    index = Graph.from_claims([]).index
    compiled = compile_axioms(index, axioms, "owl-rl")
    for _ in range(2):
        scratch = index.make_empty_index()
        intern = scratch.terms.intern
        scratch.add_triples((intern(c.subj), intern(c.pred), intern(c.obj)) for c in facts)
        old_triples = list(scratch.iter_triples())
        closure = Closure(scratch, "owl-rl", axioms=compiled)
        text = closure.index.terms.get_text
        assert {Claim(*map(text, t)) for t in closure.index.iter_triples()} == compute_closure(
            claims
        )
        assert list(scratch.iter_triples()) == old_triples
        assert all(closure.derive_claim(axiom) == () for axiom in axioms)


def test_long_chains_do_not_recurse():
    links = [Claim(f"{E}n{i}", E + "p", f"{E}n{i + 1}") for i in range(80)]
    claims = [Claim(E + "p", TYPE, OWL + "TransitiveProperty"), *links]
    closure = Closure(Graph.from_claims(claims))
    proof = closure.derive_claim(Claim(E + "n0", E + "p", E + "n80"))
    assert all(map(is_valid, proof))
    assert count_inferred(closure) == 80 * 79 // 2


def test_proofs_are_found_in_large_logs():
    claims = [Claim(E + "p", OWL + "inverseOf", E + "q"), Claim(E + "q", RDFS + "range", E + "C")]
    claims += [Claim(f"{E}a{i}", E + "p", f"{E}b{i % 97}") for i in range(2_100)]
    closure = Closure(Graph.from_claims(claims))
    assert count_inferred(closure) == 4_200
    # Large logs use sorted arrays instead of dictionaries; the lower limit makes this log large.
    closure._run.log._max_dictionary_entries = 4_000
    for i in (0, 96, 2_099):
        steps = closure.derive_claim(Claim(f"{E}a{i}", TYPE, E + "C"))
        assert [step.rule for step in steps] == ["prp-inv1", "prp-rng"]
        assert all(map(is_valid, steps))
    assert closure.derive_claim(Claim(E + "a1", TYPE, E + "p")) is None
    assert closure.derive_claim(Claim(E + "b1", E + "q", E + "a0")) is None


@pytest.mark.parametrize("next_node", [E + "L", E + "nowhere"])
def test_broken_lists_are_ignored(next_node):
    claims = [
        Claim(E + "C", OWL + "unionOf", E + "L"),
        Claim(E + "L", RDF + "first", E + "D"),
        Claim(E + "L", RDF + "rest", next_node),
        Claim(E + "x", TYPE, E + "D"),
    ]
    assert compute_closure(claims) == set(claims)


# The conclusions of these rules are trivial and are only inferred where another rule needs them.
TRIVIAL_RULES = {"scm-cls", "scm-op"}
RULE_INSTANCES = [case for case in make_rule_instances() if case[0] not in TRIVIAL_RULES]


@pytest.mark.parametrize("case", RULE_INSTANCES, ids=[case[0] for case in RULE_INSTANCES])
def test_every_rule_needs_exactly_its_premises(case):
    name, premises, conclusion = case
    regime = "rdfs" if name.startswith("rdfs") else "owl-rl"
    claims = [Claim(*triple) for triple in premises]
    # The conclusion does not depend on the order of the premises.
    for offset in range(len(claims)):
        order = claims[offset:] + claims[:offset]
        closure = Closure(Graph.from_claims(order), regime)
        steps = closure.derive_claim(Claim(*conclusion))
        assert steps, order
        assert all(map(is_valid, steps))
    # eq-trans is a case of eq-rep-s and eq-rep-o, applied to owl:sameAs.
    expected = {name, "eq-rep-s", "eq-rep-o"} if name == "eq-trans" else {name}
    assert expected & {step.rule for step in steps}
    for omitted_claim in claims:
        remaining_claims = [claim for claim in claims if claim != omitted_claim]
        assert not Closure(Graph.from_claims(remaining_claims), regime).has_claim(
            Claim(*conclusion)
        ), omitted_claim


@settings(deadline=None, max_examples=60)
@given(graphs(*PROHIBITIONS, *SCHEMA_RDFS, AXIOMS[-1]))  # the last axioms are owl:sameAs
def test_inconsistencies_agree_with_owlrl(claims):
    rdflib_graph = rdflib.Graph()
    for triple in Graph.from_claims(claims).to_rdflib():
        rdflib_graph.add(triple)
    reference = owlrl.OWLRL_Semantics(rdflib_graph, False, False)
    reference.closure()
    closure = Closure(Graph.from_claims(claims))
    inconsistencies = list(closure.find_inconsistencies())
    assert bool(inconsistencies) == bool(reference.error_messages)
    for inconsistency in inconsistencies:
        assert all(closure.has_claim(premise) for premise in inconsistency.premises)
        assert len(set(inconsistency.premises)) == len(inconsistency.premises)
    assert list(Closure(Graph.from_claims(claims), "rdfs").find_inconsistencies()) == []


def test_all_different_checks_the_last_member():
    # owlrl ignores the last member, so this rule is not compared with owlrl.
    nodes = [E + "L0", E + "L1", RDF + "nil"]
    claims = [Claim(E + "x", TYPE, OWL + "AllDifferent"), Claim(E + "x", OWL + "members", nodes[0])]
    for node, item, next_node in zip(nodes, [E + "a", E + "b"], nodes[1:], strict=False):
        claims += [Claim(node, RDF + "first", item), Claim(node, RDF + "rest", next_node)]
    assert not list(Closure(Graph.from_claims(claims)).find_inconsistencies())
    claims.append(Claim(E + "b", OWL + "sameAs", E + "a"))
    (inconsistency,) = Closure(Graph.from_claims(claims)).find_inconsistencies()
    assert inconsistency.rule == "eq-diff2"


def test_shipped_rivers_are_consistent():
    path = SHIPPED_FOLDER / "rivers" / "rivers.ttl"
    assert list(Closure(Graph.load(path)).find_inconsistencies()) == []


def test_closure_above_the_limit_is_aborted(monkeypatch):
    from kg.reasoning import run

    monkeypatch.setattr(run, "MAX_INFERRED_TRIPLES", 500)
    claims = [Claim(f"{E}n{i}", E + "p", f"{E}n{i + 1}") for i in range(100)]
    claims.append(Claim(E + "p", TYPE, OWL + "TransitiveProperty"))
    with pytest.raises(GraphTooLargeError, match="500 triples"):
        Closure(Graph.from_claims(claims))


def test_blank_inverse_expressions_are_ignored():
    # `[ owl:inverseOf p ]` is a property only in generalised RDF, which allows blank predicates.
    claims = [
        Claim("_:b0", OWL + "inverseOf", E + "p"),
        Claim("_:b0", RDFS + "subPropertyOf", E + "q"),
        Claim(E + "a", E + "p", E + "b"),
    ]
    assert compute_closure(claims) == set(claims)


CLOSURE_SCRIPT = """
import sys
from kg.claims import Claim
from kg.entailment import Closure
from kg.graph import Graph
from kg.words.labels import Labels
graph = Graph.load(sys.argv[1])
closure = Closure(graph)
text = closure.index.terms.get_text
claims = [Claim(*map(text, t)) for t in closure.index.iter_triples()]
print(claims, [closure.derive_claim(c) for c in claims[::50]], Labels(graph).find_homonyms())
"""


def test_closure_is_independent_of_the_hash_seed():
    path = SHIPPED_FOLDER / "rivers" / "rivers.ttl"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", CLOSURE_SCRIPT, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 100_000


ZERO = '"0"^^<http://www.w3.org/2001/XMLSchema#nonNegativeInteger>'
# The premises of each rule that infers an inconsistency. LIST begins the two members of list l.
PROHIBITION_PREMISES = {
    "eq-diff1": "x owl:sameAs y, x owl:differentFrom y",
    "prp-irp": "p rdf:type owl:IrreflexiveProperty, x p x",
    "prp-asyp": "p rdf:type owl:AsymmetricProperty, x p y, y p x",
    "prp-pdw": "p owl:propertyDisjointWith q, x p y, x q y",
    "prp-npa1": "n owl:sourceIndividual x, n owl:assertionProperty p, n owl:targetIndividual y, "
    "x p y",
    "prp-npa2": "n owl:sourceIndividual x, n owl:assertionProperty p, n owl:targetValue y, x p y",
    "cls-nothing2": "x rdf:type owl:Nothing",
    "cls-com": "c owl:complementOf d, x rdf:type c, x rdf:type d",
    "cls-maxc1": "c owl:maxCardinality ZERO, c owl:onProperty p, x rdf:type c, x p y",
    "cls-maxqc1": "c owl:maxQualifiedCardinality ZERO, c owl:onProperty p, c owl:onClass d, "
    "x rdf:type c, x p y, y rdf:type d",
    "cls-maxqc2": "c owl:maxQualifiedCardinality ZERO, c owl:onProperty p, "
    "c owl:onClass owl:Thing, x rdf:type c, x p y",
    "cax-dw": "c owl:disjointWith d, x rdf:type c, x rdf:type d",
    "eq-diff2": "n rdf:type owl:AllDifferent, n owl:members l, LIST x y, x owl:sameAs y",
    "eq-diff3": "n rdf:type owl:AllDifferent, n owl:distinctMembers l, LIST x y, x owl:sameAs y",
    "prp-adp": "n rdf:type owl:AllDisjointProperties, n owl:members l, LIST p q, x p y, x q y",
    "cax-adc": "n rdf:type owl:AllDisjointClasses, n owl:members l, LIST c d, x rdf:type c, "
    "x rdf:type d",
}
NAMESPACES = {"owl": OWL, "rdf": RDF}


def parse_triples(text):
    for part in text.split(", "):
        tokens = part.split()
        if tokens[0] == "LIST":
            yield from parse_triples(
                f"l rdf:first {tokens[1]}, l rdf:rest m, "
                f"m rdf:first {tokens[2]}, m rdf:rest rdf:nil"
            )
            continue
        terms = []
        for token in tokens:
            prefix, _, local = token.rpartition(":")
            terms.append(ZERO if token == "ZERO" else NAMESPACES.get(prefix, E) + local)
        yield Claim(*terms)


@pytest.mark.parametrize("rule", sorted(PROHIBITION_PREMISES))
def test_every_prohibition_needs_exactly_its_premises(rule):
    claims = list(parse_triples(PROHIBITION_PREMISES[rule]))
    inconsistencies = list(Closure(Graph.from_claims(claims)).find_inconsistencies())
    premise_sets = [
        set(inconsistency.premises)
        for inconsistency in inconsistencies
        if inconsistency.rule == rule
    ]
    assert set(claims) in premise_sets
    for omitted_claim in claims:
        remaining_claims = [claim for claim in claims if claim != omitted_claim]
        assert not list(Closure(Graph.from_claims(remaining_claims)).find_inconsistencies())
