"""Tests of the oracle's verdicts on claims: entailed, denied, contradictory and unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kg.base.errors import ShapesEngineError
from kg.claims import Claim, Verdict
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.shapes.program import Program
from kg.terms import OWL, RDF, RDFS, XSD

E = "http://e/"
TYPE = RDF + "type"
INT = f"^^<{XSD}integer>"
PREFIXES = f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix e: <{E}> .
@prefix xsd: <{XSD}> .
"""


def expand_term(text: str) -> str:
    if text.startswith(('"', "_:", "http")):
        return text
    return {"a": TYPE, "sub": RDFS + "subClassOf", "same": OWL + "sameAs"}.get(text, E + text)


def parse_claim(text: str) -> Claim:
    subject, predicate, obj = text.split(" ", 2)
    return Claim(expand_term(subject), expand_term(predicate), expand_term(obj))


@pytest.fixture
def ask_oracle(tmp_path: Path):
    """Returns ``ask_oracle(facts, shapes, claim)``, which gives the verdict on the claim.

    It asks both engines and checks that their verdicts are equal.
    """

    def license_with_both_engines(
        facts: str, shapes: str, claim_text: str, **options: object
    ) -> Verdict:
        path = tmp_path / "shapes.ttl"
        path.write_text(PREFIXES + shapes)
        parsed_shapes = Shapes.load(path) if shapes else None
        claims = [parse_claim(line.strip()) for line in facts.splitlines() if line.strip()]
        verdicts = [
            Oracle(Graph.from_claims(claims), parsed_shapes, engine=engine, **options).license(
                parse_claim(claim_text)
            )
            for engine in ("incremental", "pyshacl")
        ]
        incremental, pyshacl = verdicts
        assert incremental.label == pyshacl.label
        assert incremental.proof.violations == pyshacl.proof.violations
        assert incremental.proof.reason == pyshacl.proof.reason
        return incremental

    return license_with_both_engines


# Entailed


def test_asserted_claim_is_its_own_premise(ask_oracle) -> None:
    verdict = ask_oracle("x p y", "", "x p y")
    assert (verdict.label, verdict.proof.kind) == ("E", "asserted")
    assert verdict.proof.premises == (parse_claim("x p y"),)
    assert verdict.proof.engine == "index"


def test_derived_claim_rests_on_asserted_premises(ask_oracle) -> None:
    facts = f"x p y\n p {RDFS}subPropertyOf q\n q {OWL}inverseOf r"
    verdict = ask_oracle(facts, "", "y r x")
    assert (verdict.label, verdict.proof.kind) == ("E", "derived")
    assert set(verdict.proof.premises) == {
        parse_claim("x p y"),
        parse_claim(f"p {RDFS}subPropertyOf q"),
        parse_claim(f"q {OWL}inverseOf r"),
    }
    assert verdict.proof.steps[-1].conclusion == parse_claim("y r x")
    assert ask_oracle(facts, "", "y r x", regime="none").label == "U"
    assert ask_oracle(facts, "", "x q y", regime="rdfs").label == "E"


def test_entailment_takes_precedence_over_violations(ask_oracle) -> None:
    shapes = "e:S sh:targetNode e:x ; sh:property [ sh:path e:p ; sh:maxCount 0 ] ."
    assert ask_oracle("x p y", shapes, "x p y").label == "E"


def test_string_and_language_spellings_are_one_literal(ask_oracle) -> None:
    assert ask_oracle('x p "t"', "", f'x p "t"^^<{XSD}string>').label == "E"
    assert ask_oracle('x p "t"@en-gb', "", 'x p "t"@en-GB').label == "E"


# Denied

DENIAL = f"""n a {OWL}NegativePropertyAssertion
    n {OWL}sourceIndividual x
    n {OWL}assertionProperty p
    n {OWL}targetIndividual y
"""


def test_negative_property_assertion_denies(ask_oracle) -> None:
    verdict = ask_oracle(DENIAL, "", "x p y")
    assert (verdict.label, verdict.proof.kind) == ("C", "denied")
    assert len(verdict.proof.premises) == 4
    assert ask_oracle(DENIAL, "", "x p z").label == "U"
    assert ask_oracle(DENIAL, "", "y p x").label == "U"


def test_literal_value_can_be_denied(ask_oracle) -> None:
    facts = f'n {OWL}sourceIndividual x\n n {OWL}assertionProperty p\n n {OWL}targetValue "5"{INT}'
    assert ask_oracle(facts, "", f'x p "5"{INT}').label == "C"
    assert ask_oracle(facts, "", f'x p "6"{INT}').label == "U"


def test_denial_covers_consequences_of_the_claim(ask_oracle) -> None:
    facts = DENIAL + f"q {RDFS}subPropertyOf p\n r {OWL}inverseOf q"
    assert ask_oracle(facts, "", "y r x").label == "C"
    assert ask_oracle(facts, "", "x q y", regime="rdfs").label == "C"
    assert ask_oracle(facts, "", "y r x", regime="rdfs").label == "U"
    assert ask_oracle(facts, "", "x q y", regime="none").label == "U"


def test_denial_covers_every_equal_iri(ask_oracle) -> None:
    assert ask_oracle(DENIAL + "y same z", "", "x p z").label == "C"
    assert ask_oracle(DENIAL + f"p a {OWL}SymmetricProperty", "", "y p x").label == "C"


# Contradictory and unknown

MAX_ONE_SHAPE = "e:S sh:targetClass e:R ; sh:property [ sh:path e:p ; sh:maxCount 1 ] ."


def test_second_value_contradicts_only_under_unique_names(ask_oracle) -> None:
    verdict = ask_oracle("x a R\n x p y", MAX_ONE_SHAPE, "x p z")
    assert (verdict.label, verdict.proof.kind) == ("C", "violation")
    violation = verdict.proof.violations[0]
    assert violation.component == "MaxCountConstraintComponent"
    assert (violation.focus_node, violation.path) == (E + "x", E + "p")
    assert violation.message == "more than 1 value"
    verdict = ask_oracle("x a R\n x p y", MAX_ONE_SHAPE, "x p z", unique_names=False)
    assert verdict.label == "U"
    assert "names" in verdict.proof.reason
    assert verdict.proof.violations


def test_first_value_is_unknown_without_a_violation(ask_oracle) -> None:
    verdict = ask_oracle("x a R", MAX_ONE_SHAPE, "x p z")
    assert verdict.label == "U"
    assert (verdict.proof.kind, verdict.proof.violations) == ("unproved", ())


def test_equal_iris_count_as_one_value(ask_oracle) -> None:
    facts = "x a R\n x p y\n y same z"
    assert ask_oracle(facts, MAX_ONE_SHAPE, "x p z", regime="none").label == "U"
    assert (
        ask_oracle(
            "x a R\n x p y\n z same w\n w same y", MAX_ONE_SHAPE, "x p z", regime="none"
        ).label
        == "U"
    )
    assert ask_oracle("x a R\n x p _:b", MAX_ONE_SHAPE, "x p z").label == "U"
    assert ask_oracle(f'x a R\n x p "1"{INT}', MAX_ONE_SHAPE, f'x p "01"{INT}').label == "U"
    assert ask_oracle(f'x a R\n x p "1"{INT}', MAX_ONE_SHAPE, f'x p "2"{INT}').label == "C"


def test_existing_violations_do_not_count_against_a_claim(ask_oracle) -> None:
    assert ask_oracle("x a R\n x p y\n x p z", MAX_ONE_SHAPE, "x p w").label == "U"


def test_newly_targeted_node_is_checked(ask_oracle) -> None:
    assert ask_oracle("x p y\n x p z", MAX_ONE_SHAPE, "x a R").label == "C"
    assert ask_oracle("x p y\n x p z\n x a Q", MAX_ONE_SHAPE, "Q sub R").label == "C"


def test_warning_never_contradicts(ask_oracle) -> None:
    shapes = (
        "e:S sh:targetClass e:R ; sh:property [ sh:path e:p ; sh:maxCount 1 ; "
        "sh:severity sh:Warning ] ."
    )
    assert ask_oracle("x a R\n x p y", shapes, "x p z").label == "U"


def test_message_of_the_shape_is_shown_in_english(ask_oracle) -> None:
    shapes = (
        "e:S sh:targetClass e:R ; sh:property [ sh:path e:p ; sh:maxCount 1 ; "
        'sh:message "nur einer"@de , "only one"@en ] .'
    )
    assert ask_oracle("x a R\n x p y", shapes, "x p z").proof.violations[0].message == "only one"


def test_inference_from_the_claim_does_not_hide_its_contradiction(ask_oracle) -> None:
    # If rdfs:range were applied to the claim, z would have the required class.
    facts = f"p {RDFS}range R\n z a Country"
    shapes = "e:S sh:targetSubjectsOf e:p ; sh:property [ sh:path e:p ; sh:class e:R ] ."
    assert ask_oracle(facts, shapes, "x p z").label == "C"


# Missing facts

MISSING_FACT_CASES = [
    # shapes, facts, claim, label
    ("sh:property [ sh:path e:q ; sh:minCount 1 ]", "", "x a R", "U"),
    ("sh:property [ sh:path e:q ; sh:hasValue e:v ]", "", "x a R", "U"),
    ("sh:hasValue e:other", "", "x a R", "C"),
    (
        "sh:property [ sh:path e:q ; sh:qualifiedValueShape [ sh:class e:K ] ; "
        "sh:qualifiedMinCount 1 ]",
        "x q v",
        "x a R",
        "U",
    ),
    ("sh:property [ sh:path e:p ; sh:class e:K ]", "x a R", "x p v", "U"),
    ("sh:property [ sh:path e:p ; sh:class e:K ]", "x a R\n v a L", "x p v", "C"),
    ("sh:property [ sh:path e:p ; sh:class e:K ]", f"x a R\n v a {OWL}Thing", "x p v", "U"),
    ("sh:property [ sh:path e:p ; sh:class e:K ]", "x a R", 'x p "v"', "C"),
    ("sh:property [ sh:path e:p ; sh:equals e:q ]", "x a R", "x p v", "U"),
    ("sh:property [ sh:path e:p ; sh:equals e:q ]", "x a R\n x q w", "x p v", "C"),
    # Nested shapes: the value lacks a property, or has another class.
    ("sh:property [ sh:path e:p ; sh:node [ sh:property [ sh:path e:q ; sh:minCount 1 ] ] ]",
     "x a R", "x p v", "U"),
    ("sh:property [ sh:path e:p ; sh:node [ sh:property [ sh:path e:q ; sh:minCount 1 ] ; "
     "sh:nodeKind sh:Literal ] ]", "x a R", "x p v", "C"),
    ("sh:property [ sh:path e:p ; sh:and ( [ sh:class e:K ] [ sh:nodeKind sh:IRI ] ) ]",
     "x a R", "x p v", "U"),
    ("sh:property [ sh:path e:p ; sh:or ( [ sh:class e:K ] [ sh:class e:L ] ) ]",
     "x a R", "x p v", "U"),
    ("sh:property [ sh:path e:p ; sh:or ( [ sh:class e:K ] [ sh:class e:L ] ) ]",
     "x a R\n v a M", "x p v", "C"),
    # sh:not: the node meets the inner shape because of facts, or only because a fact is missing.
    ("sh:not [ sh:class e:L ]", "x a R", "x a L", "C"),
    ("sh:not [ sh:property [ sh:path e:q ; sh:minCount 1 ] ]", "x a R", "x q v", "C"),
    ("sh:not [ sh:property [ sh:path e:q ; sh:in ( e:v ) ] ]", "", "x a R", "U"),
    ("sh:not [ sh:property [ sh:path e:q ; sh:maxCount 3 ] ]", "", "x a R", "U"),
    ("sh:not [ sh:property [ sh:path e:q ; sh:in ( e:v ) ] ]", "x q v", "x a R", "C"),
    # sh:xone: the node meets two shapes, none because facts are missing, or none despite values.
    ("sh:xone ( [ sh:class e:K ] [ sh:class e:L ] )", "x a R\n x a K", "x a L", "C"),
    ("sh:xone ( [ sh:property [ sh:path e:q ; sh:minCount 1 ] ] "
     "[ sh:property [ sh:path e:r ; sh:minCount 1 ] ] )", "", "x a R", "U"),
    ("sh:xone ( [ sh:property [ sh:path e:q ; sh:minCount 1 ] ] "
     "[ sh:property [ sh:path e:r ; sh:minCount 1 ] ] )", "x a R\n x q v", "x r v", "C"),
    ("sh:xone ( [ sh:nodeKind sh:Literal ] [ sh:nodeKind sh:BlankNode ] )", "", "x a R", "C"),
    # Qualified counts: values that certainly count, and values that may not count.
    ("sh:property [ sh:path e:p ; sh:qualifiedValueShape [ sh:class e:K ] ; "
     "sh:qualifiedMaxCount 1 ]", "x a R\n x p u\n u a K\n v a K", "x p v", "C"),
    ("sh:property [ sh:path e:p ; sh:qualifiedValueShape [ sh:not [ sh:class e:K ] ] ; "
     "sh:qualifiedMaxCount 1 ]", "x a R\n x p u", "x p v", "U"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "facts", "claim_text", "label"), MISSING_FACT_CASES)
def test_missing_facts_make_a_claim_unknown(ask_oracle, shape, facts, claim_text, label) -> None:
    verdict = ask_oracle(facts, f"e:S sh:targetClass e:R ; {shape} .", claim_text)
    assert verdict.label == label, verdict
    assert verdict.proof.violations, "the verdict must list the violation, whatever its label"
    assert bool(verdict.proof.reason) == (label == "U")


def test_only_new_results_of_a_constraint_decide(ask_oracle) -> None:
    # With the claim, both sh:not are violated. The first one was violated before, so it does not
    # count. The second one is only violated because no fact states a value of q.
    shapes = (
        "e:S sh:targetClass e:R ; sh:not [ sh:class e:L ] ; "
        "sh:not [ sh:property [ sh:path e:r ; sh:minCount 1 ] ; "
        "sh:property [ sh:path e:q ; sh:in ( e:v ) ] ] ."
    )
    assert ask_oracle("x a R\n x a L", shapes, "x r v").label == "U"


# Engines


def make_oracle(tmp_path: Path, shapes: str, facts: str, **options: object) -> Oracle:
    path = tmp_path / "shapes.ttl"
    path.write_text(PREFIXES + shapes)
    claims = [parse_claim(line) for line in facts.splitlines()]
    return Oracle(Graph.from_claims(claims), Shapes.load(path), **options)


def test_shapes_that_cannot_be_compiled_are_checked_by_pyshacl(tmp_path: Path) -> None:
    # The queries of e:Whole and e:Part cannot be compiled. That of e:Whole needs the whole graph.
    shapes = """e:Whole sh:targetClass e:R ; sh:sparql [ sh:select
            '''SELECT $this WHERE { $this <http://e/p> ?v .
                FILTER NOT EXISTS { ?v <http://e/q> ?w } }''' ] .
        e:Part sh:targetClass e:R ; sh:sparql [ sh:select
            "SELECT $this ?value WHERE { $this <http://e/r> ?v . BIND (?v AS ?value) }" ] .
        e:Fast sh:targetClass e:R ; sh:property [ sh:path e:s ; sh:maxCount 0 ] ."""
    oracle = make_oracle(tmp_path, shapes, "x a R")
    engines = {
        predicate: oracle.license(parse_claim(f"x {predicate} y")).proof.engine
        for predicate in ("p", "q", "r", "s", "t")
    }
    assert engines == {
        "p": "pyshacl",
        "q": "pyshacl",
        "r": "retargeted-pyshacl",
        "s": "incremental",
        "t": "incremental",
    }
    assert {oracle.license(parse_claim(f"x {p} y")).label for p in ("p", "r", "s")} == {"C"}
    assert oracle.license(parse_claim("x a R")).label == "E"


def test_audit_detects_a_wrong_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R\nx p y", audit_rate=1.0)
    assert oracle.license(parse_claim("x p z")).label == "C"
    assert oracle.license(parse_claim("y p z")).label == "U"
    monkeypatch.setattr("kg.shapes.components.MaxCount.find_failing_values", lambda *_: ())
    with pytest.raises(ShapesEngineError, match="disagree"):
        oracle.license(parse_claim("x p w"))


def test_audit_draws_the_same_claims_for_a_seed(tmp_path: Path) -> None:
    draws = []
    for _ in range(2):
        oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R", audit_rate=0.3, audit_seed=5)
        draws.append([oracle._random.random() for _ in range(5)])
    assert draws[0] == draws[1]


def test_pyshacl_failure_is_reported(tmp_path: Path) -> None:
    shapes = "e:S sh:targetClass e:R ; sh:property [ sh:path e:p ; sh:lessThan e:q ] ."
    facts = f'x a R\nx q "1"{INT}'
    with pytest.raises(ShapesEngineError, match="pySHACL could not validate"):
        make_oracle(tmp_path, shapes, facts, engine="pyshacl").license(parse_claim("x p _:b"))
    assert make_oracle(tmp_path, shapes, facts).license(parse_claim("x p _:b")).label == "C"


def test_graph_is_unchanged_by_the_oracle(tmp_path: Path) -> None:
    oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R\nx p y", regime="none")
    old_triples = list(oracle.closure.index.iter_triples())
    verdicts = list(oracle.license_many(map(parse_claim, ["x p z", "x p w", "x p z", "y a R"])))
    assert [verdict.label for verdict in verdicts] == ["C", "C", "C", "U"]
    assert list(oracle.closure.index.iter_triples()) == old_triples


def test_violations_of_the_graph_are_listed(tmp_path: Path) -> None:
    for engine in ("incremental", "pyshacl"):
        oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R\nx p y\nx p z\nw a R", engine=engine)
        assert [(v.focus_node, v.path) for v in oracle.find_violations()] == [(E + "x", E + "p")]


def test_invalid_triple_is_refused(tmp_path: Path) -> None:
    oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R")
    for claim in (Claim('"l"', E + "p", E + "o"), Claim(E + "x", "_:b", E + "o")):
        with pytest.raises(ValueError, match="not a triple"):
            oracle.license(claim)
    with pytest.raises(ValueError, match="not a literal"):
        oracle.license(Claim(E + "x", E + "p", '"torn"^^<'))


# Local oracles


def test_local_oracle_uses_only_the_given_facts(tmp_path: Path) -> None:
    oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R\nx p y")
    assert oracle.license(parse_claim("x p z")).label == "C"
    shapes = oracle._program.shapes
    assert oracle.make_local_oracle([], shapes).license(parse_claim("x p z")).label == "U"
    local_oracle = oracle.make_local_oracle([parse_claim("k a R"), parse_claim("k p y")], shapes)
    assert local_oracle.license(parse_claim("k p z")).label == "C"
    assert local_oracle.license(parse_claim("x p y")).label == "U"
    assert (
        oracle.make_local_oracle([parse_claim("k p y")], None).license(parse_claim("k p z")).label
        == "U"
    )
    assert local_oracle.closure.index.terms is oracle.closure.index.terms


def test_local_oracle_reasons_with_its_axioms(tmp_path: Path) -> None:
    oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R")
    inverse = [parse_claim(f"q {OWL}inverseOf p")]
    local_oracle = oracle.make_local_oracle([parse_claim("k p y")], None, inverse)
    assert local_oracle.license(parse_claim("y q k")).label == "E"
    assert (
        oracle.make_local_oracle([parse_claim("k p y")], None).license(parse_claim("y q k")).label
        == "U"
    )


def test_local_programs_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R")
    shapes = oracle._program.shapes
    programs: list[Program] = []
    original_init = Program.__init__

    def record_program(self: Program, *args: Any) -> None:
        programs.append(self)
        original_init(self, *args)

    monkeypatch.setattr(Program, "__init__", record_program)
    for _ in range(3):
        oracle.make_local_oracle([parse_claim("k p y")], shapes.select_shapes([E + "S"]))
    assert len(programs) == 1


def test_threads_do_not_affect_each_other(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    oracle = make_oracle(tmp_path, MAX_ONE_SHAPE, "x a R\nx p y\nw a R")
    claims = [parse_claim(f"{subject} p v{n}") for n in range(100) for subject in "xw"]
    with ThreadPoolExecutor(8) as pool:
        labels = [verdict.label for verdict in pool.map(oracle.license, claims)]
    assert labels == ["C", "U"] * 100


def test_claim_equal_in_rdflib_leaves_the_data_unchanged(tmp_path: Path) -> None:
    # rdflib drops the text direction "--ltr", so for rdflib the claim is a fact already.
    shapes = "e:S sh:targetClass e:R ; sh:property [ sh:path e:p ; sh:maxCount 1 ] ."
    oracle = make_oracle(tmp_path, shapes, 'x a R\nx p "t"@en--ltr', engine="pyshacl")
    assert oracle.license(parse_claim('x p "t"@en')).label == "U"
    assert len(oracle._data.graph_without(None)) == 2


def test_query_message_names_the_values_found(ask_oracle) -> None:
    shapes = (
        'e:S sh:targetClass e:R ; sh:sparql [ sh:message "{$this} must not lead to {?value}" ; '
        'sh:select "SELECT $this ?value WHERE { $this <http://e/p> ?value }" ] .'
    )
    verdict = ask_oracle("x a R", shapes, "x p y")
    assert verdict.proof.violations[0].message == f"{E}x must not lead to {E}y"


def test_deactivated_shapes_and_queries_are_ignored(ask_oracle) -> None:
    query = 'sh:select "SELECT $this WHERE { $this <http://e/p> ?v }" ; sh:deactivated true'
    shapes = (
        f"e:S sh:targetClass e:R ; sh:sparql [ {query} ] . "
        "e:T sh:targetClass e:R ; sh:deactivated true ; "
        "sh:property [ sh:path e:p ; sh:maxCount 0 ] ."
    )
    assert ask_oracle("x a R", shapes, "x p y").label == "U"


def test_what_a_closed_shape_forbids_is_certain_only_if_it_is_stated(tmp_path: Path) -> None:
    """Publishers close shapes for what they state, not for inverses that follow."""
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(
        """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
        :S a sh:NodeShape ; sh:targetNode :morphine , :codeine ; sh:closed true ;
            sh:property [ sh:path :prodrugOf ] .""",
        "utf-8",
    )
    inverse = Claim("http://e/prodrugOf", OWL + "inverseOf", "http://e/activeForm")
    link = Claim("http://e/codeine", "http://e/prodrugOf", "http://e/morphine")
    extra = Claim("http://e/codeine", "http://e/colour", '"white"')
    oracle = Oracle(Graph.from_claims([inverse, link, extra]), Shapes.load(shapes))
    found = {(v.focus_node, v.path) for v in oracle.find_violations()}
    assert found == {
        ("http://e/codeine", "http://e/colour"),
        ("http://e/morphine", "http://e/activeForm"),
    }
    certain = {v.focus_node for v in oracle.find_violations(certain_only=True)}
    assert certain == {"http://e/codeine"}
