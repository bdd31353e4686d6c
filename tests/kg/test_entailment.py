"""The closure against ``owlrl``, the W3C reference rules, and every proof against a checker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import owlrl
import pytest
import rdflib
from hypothesis import given, settings

from kg.base.errors import GraphTooLargeError
from kg.claims import Claim, Step
from kg.entailment import Closure, compile_axioms
from kg.graph import Graph
from kg.terms import OWL, RDF, RDFS, from_rdflib, is_blank, is_literal

sys.path.insert(0, str(Path(__file__).parent))
from entailment_cases import AXIOMS, KEYS, PROHIBITIONS, RARE, SCHEMA_RDFS, TYPE, E, graphs
from proof_checker import instances, is_valid

REFLEXIVE = {
    OWL + "sameAs",
    RDFS + "subClassOf",
    RDFS + "subPropertyOf",
    OWL + "equivalentClass",
    OWL + "equivalentProperty",
}


def is_trivial(claim, asserted):
    """Whether the comparison omits a claim: reflexive, outside RDF, or about schema and errors."""
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
    graph = Graph.from_claims(claims).to_rdflib()
    work = rdflib.Graph()
    for triple in graph:
        work.add(triple)
    semantics(work, False, False, rdfs=semantics is owlrl.RDFS_Semantics).closure()
    # Triples with a literal as predicate or the like cannot be written as claims at all.
    return {Claim(*map(from_rdflib, triple)) for triple in work}


def our_closure(claims, regime="owl-rl"):
    closure = Closure(Graph.from_claims(claims), regime)
    text = closure.index.terms.get_text
    return {Claim(*map(text, triple)) for triple in closure.index.iter_triples()}


def check_owl_closure(claims):
    asserted = set(claims)
    theirs = {
        c for c in owlrl_closure(claims, owlrl.OWLRL_Semantics) if not is_trivial(c, asserted)
    }
    ours = {c for c in our_closure(claims) if not is_trivial(c, asserted)}
    assert ours == theirs


@settings(deadline=None, max_examples=45)
@given(graphs(*AXIOMS))
def test_owl_rl_infers_what_owlrl_infers(claims):
    check_owl_closure(claims)


@settings(deadline=None, max_examples=25)
@given(graphs(*AXIOMS, *RARE, *RARE))
def test_inferred_axioms_are_applied(claims):
    check_owl_closure(claims)


@settings(deadline=None, max_examples=60)
@given(graphs(*SCHEMA_RDFS))
def test_rdfs_infers_what_owlrl_infers(claims):
    asserted = set(claims)
    # owlrl also makes everything a resource and every class its own subclass.
    theirs = {
        c
        for c in owlrl_closure(claims, owlrl.RDFS_Semantics)
        if not is_trivial(c, asserted) and c.obj not in {RDFS + "Resource", RDF + "Property"}
    }
    ours = {c for c in our_closure(claims, "rdfs") if not is_trivial(c, asserted)}
    assert ours == theirs


def check_proofs(claims, regime):
    asserted = set(claims)
    closure = Closure(Graph.from_claims(claims), regime)
    text = closure.index.terms.get_text
    derived = 0
    for triple in list(closure.index.iter_triples()):
        claim = Claim(*map(text, triple))
        steps = closure.derive_claim(claim)
        if claim in asserted:
            assert steps == ()
            assert closure.is_asserted(*triple)
            continue
        derived += 1
        known = set(asserted)
        for step in steps:
            assert set(step.premises) <= known, step
            assert is_valid(step), step
            assert step.conclusion not in known
            known.add(step.conclusion)
        assert steps[-1].conclusion == claim
        used = {premise for step in steps for premise in step.premises}
        assert all(step.conclusion in used for step in steps[:-1])
    assert derived == closure.inferred_count


@settings(deadline=None, max_examples=120)
@given(graphs(*AXIOMS, KEYS, *RARE, most=7))
def test_every_proof_is_a_well_founded_chain_of_w3c_rules(claims):
    check_proofs(claims, "owl-rl")


@settings(deadline=None, max_examples=30)
@given(graphs(*SCHEMA_RDFS))
def test_rdfs_proofs(claims):
    check_proofs(claims, "rdfs")


def test_proof_checker_rejects_wrong_steps():
    def iri_of(name):
        return E + name

    good = Step(
        "prp-trp",
        (
            Claim(iri_of("p"), TYPE, OWL + "TransitiveProperty"),
            Claim(iri_of("a"), iri_of("p"), iri_of("b")),
            Claim(iri_of("b"), iri_of("p"), iri_of("c")),
        ),
        Claim(iri_of("a"), iri_of("p"), iri_of("c")),
    )
    assert is_valid(good)
    assert not is_valid(Step("prp-trp", good.premises[:2], good.conclusion))
    assert not is_valid(Step("prp-symp", good.premises, good.conclusion))
    assert not is_valid(
        Step("prp-trp", good.premises, Claim(iri_of("c"), iri_of("p"), iri_of("a")))
    )


KEYED = [
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
    # owlrl forgets the last property of a key, so this rule has tests of its own.
    same = {c for c in our_closure(KEYED) if c.pred == OWL + "sameAs"}
    assert same == {
        Claim(E + "x", OWL + "sameAs", E + "y"),
        Claim(E + "y", OWL + "sameAs", E + "x"),
    }
    untyped = [c for c in KEYED if c != Claim(E + "x", TYPE, E + "C")]
    assert not {c for c in our_closure(untyped) if c.pred == OWL + "sameAs"}
    # The type, or the last shared value, may also come last in the graph.
    for last in KEYED[5:]:
        order = [c for c in KEYED if c != last] + [last]
        assert our_closure(order) == our_closure(KEYED)


def test_literals_are_never_subjects_or_equal():
    claims = [
        Claim(E + "p", TYPE, OWL + "FunctionalProperty"),
        Claim(E + "p", TYPE, OWL + "SymmetricProperty"),
        Claim(E + "p", RDFS + "range", E + "C"),
        Claim(E + "a", E + "p", '"1"'),
        Claim(E + "a", E + "p", '"2"'),
        Claim(E + "a", OWL + "sameAs", '"odd"'),
    ]
    closed = our_closure(claims)
    assert not [c for c in closed if is_literal(c.subj)]
    assert closed == set(claims)


def test_tested_claims_infer_nothing():
    graph = Graph.from_claims([Claim(E + "p", RDFS + "range", E + "C")])
    closure = Closure(graph)
    intern = graph.index.terms.intern
    closure.index.add_triple(intern(E + "a"), intern(E + "p"), intern(E + "b"))
    assert not closure.has_claim(Claim(E + "b", TYPE, E + "C"))
    assert not graph.has_claim(Claim(E + "a", E + "p", E + "b"))
    assert closure.derive_claim(Claim(E + "a", E + "p", E + "b")) is None


def test_axioms_in_the_data_are_compiled():
    # In addition to axioms compiled earlier, as when a card's facts include one.
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
    graph = Graph.from_claims(KEYED)
    closure = Closure(graph, "none")
    assert closure.index is graph.index
    assert closure.derive_claim(KEYED[0]) == ()
    assert closure.derive_claim(Claim(E + "x", OWL + "sameAs", E + "y")) is None
    assert closure.derive_claim(Claim("http://never/seen", E + "p", E + "y")) is None
    assert closure.find_same_terms(0) == (0,)
    assert closure.inferred_count == 0


def test_same_returns_the_equality_class():
    closure = Closure(
        Graph.from_claims(
            [Claim(E + a, OWL + "sameAs", E + b) for a, b in (("a", "b"), ("c", "b"))]
            + [Claim(E + "a", E + "p", E + "d")]
        )
    )
    get = closure.index.terms.get
    assert (
        next(closure.index.terms.get_text(t) for t in closure.find_same_terms(get(E + "c")))
        == E + "c"
    )
    assert {closure.index.terms.get_text(t) for t in closure.find_same_terms(get(E + "c"))} == {
        E + "a",
        E + "b",
        E + "c",
    }
    assert closure.has_claim(Claim(E + "c", E + "p", E + "d"))


@settings(deadline=None, max_examples=60)
@given(graphs(*AXIOMS, KEYS))
def test_compiled_axioms_give_the_same_closure(claims):
    data = [c for c in claims if c.subj.startswith(E + "i")]
    axioms = [c for c in claims if c not in set(data)]
    index = Graph.from_claims([]).index
    compiled = compile_axioms(index, axioms, "owl-rl")
    for _ in range(2):
        scratch = index.make_empty_index()
        intern = scratch.terms.intern
        scratch.add_triples((intern(c.subj), intern(c.pred), intern(c.obj)) for c in data)
        before = list(scratch.iter_triples())
        closure = Closure(scratch, "owl-rl", axioms=compiled)
        text = closure.index.terms.get_text
        assert {Claim(*map(text, t)) for t in closure.index.iter_triples()} == our_closure(claims)
        assert list(scratch.iter_triples()) == before
        assert all(closure.derive_claim(axiom) == () for axiom in axioms)


def test_long_chains_do_not_recurse():
    steps = [Claim(f"{E}n{i}", E + "p", f"{E}n{i + 1}") for i in range(80)]
    claims = [Claim(E + "p", TYPE, OWL + "TransitiveProperty"), *steps]
    closure = Closure(Graph.from_claims(claims))
    proof = closure.derive_claim(Claim(E + "n0", E + "p", E + "n80"))
    assert all(map(is_valid, proof))
    assert closure.inferred_count == 80 * 79 // 2


def test_proofs_are_found_in_large_logs():
    claims = [Claim(E + "p", OWL + "inverseOf", E + "q"), Claim(E + "q", RDFS + "range", E + "C")]
    claims += [Claim(f"{E}a{i}", E + "p", f"{E}b{i % 97}") for i in range(2_100)]
    closure = Closure(Graph.from_claims(claims))
    assert closure.inferred_count == 4_200
    # As above half a million inferred triples: sorted arrays instead of dictionaries.
    closure._run.log._max_dictionary_entries = 4_000
    for i in (0, 96, 2_099):
        steps = closure.derive_claim(Claim(f"{E}a{i}", TYPE, E + "C"))
        assert [step.rule for step in steps] == ["prp-inv1", "prp-rng"]
        assert all(map(is_valid, steps))
    assert closure.derive_claim(Claim(E + "a1", TYPE, E + "p")) is None
    assert closure.derive_claim(Claim(E + "b1", E + "q", E + "a0")) is None


@pytest.mark.parametrize("rest", [E + "L", E + "nowhere"])
def test_broken_lists_are_ignored(rest):
    claims = [
        Claim(E + "C", OWL + "unionOf", E + "L"),
        Claim(E + "L", RDF + "first", E + "D"),
        Claim(E + "L", RDF + "rest", rest),
        Claim(E + "x", TYPE, E + "D"),
    ]
    assert our_closure(claims) == set(claims)


# Their conclusions are trivial; they are inferred only where another rule needs them.
TRIVIAL_RULES = {"scm-cls", "scm-op"}
INSTANCES = [case for case in instances() if case[0] not in TRIVIAL_RULES]


@pytest.mark.parametrize("case", INSTANCES, ids=[case[0] for case in INSTANCES])
def test_every_rule_needs_exactly_its_premises(case):
    name, premises, conclusion = case
    regime = "rdfs" if name.startswith("rdfs") else "owl-rl"
    claims = [Claim(*triple) for triple in premises]
    # In whatever order the premises come, the conclusion is reached.
    for turn in range(len(claims)):
        order = claims[turn:] + claims[:turn]
        closure = Closure(Graph.from_claims(order), regime)
        steps = closure.derive_claim(Claim(*conclusion))
        assert steps, order
        assert all(map(is_valid, steps))
    # eq-trans is eq-rep-s or eq-rep-o applied to owl:sameAs itself.
    expected = {name, "eq-rep-s", "eq-rep-o"} if name == "eq-trans" else {name}
    assert expected & {step.rule for step in steps}
    for left_out in claims:
        rest = [claim for claim in claims if claim != left_out]
        assert not Closure(Graph.from_claims(rest), regime).has_claim(Claim(*conclusion)), left_out


@settings(deadline=None, max_examples=60)
@given(graphs(*PROHIBITIONS, *SCHEMA_RDFS, AXIOMS[-1]))
def test_inconsistencies_agree_with_owlrl(claims):
    work = rdflib.Graph()
    for triple in Graph.from_claims(claims).to_rdflib():
        work.add(triple)
    theirs = owlrl.OWLRL_Semantics(work, False, False)
    theirs.closure()
    closure = Closure(Graph.from_claims(claims))
    ours = list(closure.find_inconsistencies())
    assert bool(ours) == bool(theirs.error_messages)
    for found in ours:
        assert all(closure.has_claim(premise) for premise in found.premises)
        assert len(set(found.premises)) == len(found.premises)
    assert list(Closure(Graph.from_claims(claims), "rdfs").find_inconsistencies()) == []


def test_all_different_checks_the_last_member():
    # owlrl stops before it.
    nodes = [E + "L0", E + "L1", RDF + "nil"]
    claims = [Claim(E + "x", TYPE, OWL + "AllDifferent"), Claim(E + "x", OWL + "members", nodes[0])]
    for node, item, rest in zip(nodes, [E + "a", E + "b"], nodes[1:], strict=False):
        claims += [Claim(node, RDF + "first", item), Claim(node, RDF + "rest", rest)]
    assert not list(Closure(Graph.from_claims(claims)).find_inconsistencies())
    claims.append(Claim(E + "b", OWL + "sameAs", E + "a"))
    (found,) = Closure(Graph.from_claims(claims)).find_inconsistencies()
    assert found.rule == "eq-diff2"


def test_shipped_rivers_are_consistent():
    path = Path(__file__).parents[2] / "kg/domains/rivers/rivers.ttl"
    assert list(Closure(Graph.load(path)).find_inconsistencies()) == []


def test_closure_above_the_limit_is_aborted(monkeypatch):
    import kg.reasoning.run

    monkeypatch.setattr(kg.reasoning.run, "MAX_INFERRED_TRIPLES", 500)
    claims = [Claim(f"{E}n{i}", E + "p", f"{E}n{i + 1}") for i in range(100)]
    claims.append(Claim(E + "p", TYPE, OWL + "TransitiveProperty"))
    with pytest.raises(GraphTooLargeError, match="500 triples"):
        Closure(Graph.from_claims(claims))


def test_blank_inverse_expressions_are_ignored():
    # `[ owl:inverseOf p ]` stands for a property only in generalised RDF.
    claims = [
        Claim("_:b0", OWL + "inverseOf", E + "p"),
        Claim("_:b0", RDFS + "subPropertyOf", E + "q"),
        Claim(E + "a", E + "p", E + "b"),
    ]
    assert our_closure(claims) == set(claims)


DETERMINISM = """
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
    path = Path(__file__).parents[2] / "kg/domains/rivers/rivers.ttl"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", DETERMINISM, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 100_000


ZERO = '"0"^^<http://www.w3.org/2001/XMLSchema#nonNegativeInteger>'
FALSE_RULES = {
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
        words = part.split()
        if words[0] == "LIST":
            yield from parse_triples(
                f"l rdf:first {words[1]}, l rdf:rest m, m rdf:first {words[2]}, m rdf:rest rdf:nil"
            )
            continue
        terms = []
        for word in words:
            prefix, _, local = word.rpartition(":")
            terms.append(ZERO if word == "ZERO" else NAMESPACES.get(prefix, E) + local)
        yield Claim(*terms)


@pytest.mark.parametrize("rule", sorted(FALSE_RULES))
def test_every_prohibition_needs_exactly_its_premises(rule):
    claims = list(parse_triples(FALSE_RULES[rule]))
    found = list(Closure(Graph.from_claims(claims)).find_inconsistencies())
    own = [set(clash.premises) for clash in found if clash.rule == rule]
    assert set(claims) in own
    for left_out in claims:
        rest = [claim for claim in claims if claim != left_out]
        assert not list(Closure(Graph.from_claims(rest)).find_inconsistencies())
