"""Tests that the incremental engine gives the same results as pySHACL on random graphs."""

from __future__ import annotations

import contextlib
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from kg.base.errors import MissingExtraError, ShapesEngineError
from kg.claims import Claim
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.terms import OWL, RDF, RDFS, XSD

E = "http://e/"
NODES = [E + name for name in "abcde"]
CLASSES = [E + name for name in "ABC"]
PREDICATES = [E + name for name in "pqrs"]
TYPE = RDF + "type"
INTEGER = f"^^<{XSD}integer>"
LITERALS = [
    f'"1"{INTEGER}',
    f'"01"{INTEGER}',
    f'"7"{INTEGER}',
    f'"2.50"^^<{XSD}decimal>',
    f'"x"{INTEGER}',
    f'"3e0"^^<{XSD}double>',
    '"x"',
    '"longer text"',
    '"x"@en',
    '"y"@en',
    '"x"@de-at',
    f'"true"^^<{XSD}boolean>',
    f'"2020-01-01"^^<{XSD}date>',
    f'"2021-01-01T00:00:00"^^<{XSD}dateTime>',
    f'"2021-01-01T00:00:00Z"^^<{XSD}dateTime>',
    f'"2020-13-01"^^<{XSD}date>',
    '"k"^^<http://e/datatype>',
]
PREFIXES = f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix e: <{E}> .
@prefix xsd: <{XSD}> .
"""


class CaseGenerator:
    """Generates random graphs, shapes and claims over one small vocabulary.

    The probabilities are chosen so that every kind of graph and shape occurs.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def pick_item(self, items: list[str]) -> str:
        return self.rng.choice(items)

    def pick_iri(self, items: list[str]) -> str:
        return f"<{self.pick_item(items)}>"

    def pick_term(self) -> str:
        return self.pick_item(LITERALS) if self.rng.random() < 0.35 else self.pick_iri(NODES)

    # Graphs and claims

    def make_claim(self) -> Claim:
        roll = self.rng.random()
        if roll < 0.25:
            return Claim(self.pick_item(NODES), TYPE, self.pick_item(CLASSES))
        if roll < 0.28:
            return Claim(self.pick_item(CLASSES), RDFS + "subClassOf", self.pick_item(CLASSES))
        if roll < 0.3:
            return Claim(self.pick_item(NODES), OWL + "sameAs", self.pick_item(NODES))
        if roll < 0.31:
            return Claim(self.pick_item(NODES), E + "unheard", E + "of")
        if roll < 0.4:
            language = self.pick_item(['"x"@en', '"y"@en', '"z"@en', '"x"@de-at', '"y"@de-at'])
            return Claim(self.pick_item(NODES), self.pick_item(PREDICATES[:2]), language)
        subject = "_:b" if self.rng.random() < 0.03 else self.pick_item(NODES)
        if self.rng.random() < 0.25:
            return Claim(subject, self.pick_item(PREDICATES), self.pick_item(LITERALS))
        return Claim(subject, self.pick_item(PREDICATES), self.pick_item(NODES))

    def pick_axiom(self) -> Claim:
        return self.rng.choice(
            [
                Claim(E + "A", RDFS + "subClassOf", E + "B"),
                Claim(E + "B", RDFS + "subClassOf", E + "C"),
                Claim(E + "p", RDFS + "subPropertyOf", E + "q"),
                Claim(E + "q", OWL + "inverseOf", E + "r"),
                Claim(E + "r", TYPE, OWL + "TransitiveProperty"),
                Claim(E + "p", RDFS + "range", E + "A"),
                Claim(E + "s", TYPE, OWL + "FunctionalProperty"),
            ]
        )

    def make_graph(self) -> list[Claim]:
        facts = [self.make_claim() for _ in range(self.rng.randint(3, 22))]
        return facts + [self.pick_axiom() for _ in range(self.rng.randint(0, 3))]

    # Shapes

    def make_path(self, depth: int = 0) -> str:
        roll = self.rng.random()
        if depth > 2 or roll < 0.55:
            return self.pick_iri(PREDICATES)
        if roll < 0.65:
            return f"[ sh:inversePath {self.make_path(depth + 1)} ]"
        if roll < 0.77:
            return f"( {self.make_path(depth + 1)} {self.make_path(depth + 1)} )"
        if roll < 0.85:
            return (
                f"[ sh:alternativePath ( {self.make_path(depth + 1)} {self.make_path(depth + 1)} "
                ") ]"
            )
        kind = self.pick_item(["zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath"])
        return f"[ sh:{kind} {self.make_path(depth + 1)} ]"

    def make_value_constraint(self) -> str:
        kind = self.pick_item(
            [
                "class",
                "class",
                "datatype",
                "nodeKind",
                "in",
                "hasValue",
                "pattern",
                "minLength",
                "maxLength",
                "bound",
                "disjoint",
                "equals",
                "languageIn",
            ]
        )
        if kind == "class":
            return f"sh:class {self.pick_iri(CLASSES)}"
        if kind == "datatype":
            names = ["integer", "string", "decimal", "boolean", "date", "dateTime"]
            return f"sh:datatype xsd:{self.pick_item(names)}"
        if kind == "nodeKind":
            kinds = [
                "IRI",
                "Literal",
                "BlankNode",
                "BlankNodeOrIRI",
                "BlankNodeOrLiteral",
                "IRIOrLiteral",
            ]
            return f"sh:nodeKind sh:{self.pick_item(kinds)}"
        if kind == "in":
            members = " ".join(self.pick_term() for _ in range(self.rng.randint(1, 5)))
            return f"sh:in ( {members} )"
        if kind == "hasValue":
            return f"sh:hasValue {self.pick_term()}"
        if kind == "pattern":
            flags = self.pick_item(["", ' ; sh:flags "i"'])
            return f'sh:pattern "{self.pick_item(["^x", "[ab]$", "X", "^http", "[0-9]"])}"{flags}'
        if kind in ("minLength", "maxLength"):
            return f"sh:{kind} {self.rng.choice([0, 1, 3, 10])}"
        if kind == "bound":
            # LITERALS[14] is a time with a time zone.
            name = self.pick_item(["minInclusive", "minExclusive", "maxInclusive", "maxExclusive"])
            bound = self.pick_item(["1", "2.5", "7", '"x"', '"2020-06-01"^^xsd:date', LITERALS[14]])
            return f"sh:{name} {bound}"
        if kind == "languageIn":
            return f'sh:languageIn ( "{self.pick_item(["en", "de", "de-at", "*"])}" )'
        return f"sh:{kind} {self.pick_iri(PREDICATES)}"

    def make_query(self) -> str:
        p, q = self.pick_iri(PREDICATES), self.pick_iri(PREDICATES)
        conditions = self.pick_item(
            [
                f"$this {p} ?value . ?value {q} ?x .",
                f"$this {p} ?value . FILTER (?value = $this)",
                f"?value {p}+ $this . FILTER (isIRI(?value))",
                f"$this {p}/^{q} ?value . FILTER (?value != $this)",
                f"$this {p} ?value , ?other . FILTER (?value < ?other)",
                f"$this {p} ?x . ?x {q}* ?value . FILTER (?value != ?x && isIRI(?value))",
                f"$this {p} ?value . FILTER NOT EXISTS {{ ?value {q} ?x }}",
                f"$this {p} ?value . OPTIONAL {{ $this {q} ?x }} FILTER (!bound(?x))",
                f"$this {p} ?x . BIND (?x AS ?value)",
                f"$this {p} ?value . FILTER (STR(?value) > 'http://e/c')",
                f"$this {p} [ {q} ?value ] .",
                f"<{E}a> {p} ?value . $this {q} ?value .",
                f"?x {p} <{E}b> . $this {q} ?value . FILTER (?x = ?value || ?x < ?none)",
                f"?x {p} ?x . $this {q} ?value .",
                f"$this !{p} ?value . FILTER (isLITERAL(?value))",
                f"$this ({p}|^{q})? ?value . FILTER (?value != $this)",
                f"$this {p} ?value . ?value a <{E}A> .",
                f"$this ?any ?value . FILTER (?any = {p})",
                f"{{ $this {p} ?value }} UNION {{ $this {q} ?value }}",
                f"$this {p} 'x'@en . $this {q} ?value .",
                f"?value {p}* ?x . ?x {q} $this .",
                f"$this {p} ?value . FILTER (?value IN (1, 7, 'x') && ?value != 7)",
            ]
        )
        variables = self.pick_item(
            ["$this ?value", "$this ?value", "$this", "?value", "*", "?x ?value"]
        )
        return f'sh:sparql [ sh:select "SELECT {variables} WHERE {{ {conditions} }}" ]'

    def make_logic(self, depth: int) -> str:
        kind = self.pick_item(["not", "and", "or", "xone", "node"])
        if kind in ("not", "node"):
            return f"sh:{kind} {self.make_nested_shape(depth, node_shape_only=kind == 'node')}"
        members = " ".join(self.make_nested_shape(depth) for _ in range(self.rng.randint(1, 3)))
        return f"sh:{kind} ( {members} )"

    def make_nested_shape(self, depth: int, *, node_shape_only: bool = False) -> str:
        """Returns a nested shape: a node shape or, unless ``node_shape_only``, a property shape."""
        if not node_shape_only and self.rng.random() < 0.4:
            return f"[ {self.make_property_body(depth + 1)} ]"
        return f"[ {self.make_node_body(depth + 1)} ]"

    def make_node_body(self, depth: int) -> str:
        parts = [self.make_value_constraint() for _ in range(self.rng.randint(0, 1))]
        for _ in range(self.rng.randint(0 if parts else 1, 2)):
            roll = self.rng.random()
            if depth < 3 and roll < 0.35:
                parts.append(self.make_logic(depth))
            elif depth < 3 and roll < 0.8:
                parts.append(f"sh:property [ {self.make_property_body(depth + 1)} ]")
            elif depth < 2 and roll < 0.86:
                parts.append(self.make_closed())
            elif roll < 0.93:
                parts.append(self.make_query())
            else:
                parts.append(self.make_value_constraint())
        return " ; ".join(self.drop_repeated_parameters(parts))

    def make_closed(self) -> str:
        ignored = " ".join({self.pick_iri([*PREDICATES, TYPE]) for _ in range(4)})
        return f"sh:closed true ; sh:ignoredProperties ( {ignored} )"

    def make_property_body(self, depth: int) -> str:
        parts = [f"sh:path {self.make_path()}"]
        for _ in range(self.rng.randint(1, 2)):
            roll = self.rng.random()
            if roll < 0.2:
                parts.append(f"sh:maxCount {self.rng.choice([0, 1, 1, 2])}")
            elif roll < 0.3:
                parts.append(f"sh:minCount {self.rng.choice([1, 1, 2])}")
            elif roll < 0.38:
                kind = self.pick_item(["lessThan", "lessThanOrEquals"])
                parts.append(f"sh:{kind} {self.pick_iri(PREDICATES)}")
            elif roll < 0.42:
                parts.append("sh:uniqueLang true")
            elif depth < 3 and roll < 0.52:
                parts.append(self.make_logic(depth))
            elif depth < 3 and roll < 0.62:
                counts = self.pick_item(
                    ["sh:qualifiedMinCount 1", "sh:qualifiedMaxCount 1", "sh:qualifiedMaxCount 0",
                     "sh:qualifiedMinCount 1 ; sh:qualifiedMaxCount 1"]
                )  # fmt: skip
                disjoint = self.pick_item(["", " ; sh:qualifiedValueShapesDisjoint true"])
                parts.append(
                    f"sh:qualifiedValueShape {self.make_nested_shape(depth)} ; {counts}{disjoint}"
                )
            elif depth < 3 and roll < 0.7:
                parts.append(f"sh:property [ {self.make_property_body(depth + 1)} ]")
            else:
                parts.append(self.make_value_constraint())
        if self.rng.random() < 0.06:
            parts.append(self.pick_item(["sh:severity sh:Warning", "sh:deactivated true"]))
        return " ; ".join(self.drop_repeated_parameters(parts))

    def drop_repeated_parameters(self, parts: list[str]) -> list[str]:
        """Keeps one part for each parameter that a shape may have only once."""
        unique_parts: dict[str, str] = {}
        for part in parts:
            key = part.split()[0]
            repeatable = key in ("sh:property", "sh:not", "sh:or", "sh:class", "sh:node")
            unique_parts[part if repeatable else key] = part
        return list(unique_parts.values())

    def make_target(self) -> str:
        return self.rng.choice(
            [
                f"sh:targetClass {self.pick_iri(CLASSES)}",
                f"sh:targetClass {self.pick_iri(CLASSES)}",
                f"sh:targetSubjectsOf {self.pick_iri(PREDICATES)}",
                f"sh:targetObjectsOf {self.pick_iri(PREDICATES)}",
                f"sh:targetNode {self.pick_iri(NODES)}",
            ]
        )

    def make_simple_body(self) -> str:
        """Returns a single constraint, so that no other constraint hides its effect."""
        kind = self.pick_item(["path", "not", "languages", "siblings", "nested", "query"])
        if kind == "query":
            return self.make_query()
        if kind == "path":
            path = (
                f"( {self.pick_iri(PREDICATES)} {self.pick_iri(PREDICATES)} {self.make_path(2)} )"
            )
            return f"sh:property [ sh:path {path} ; {self.make_value_constraint()} ]"
        if kind == "not":
            return (
                f"sh:property [ sh:path {self.make_path(1)} ; "
                f"sh:{self.pick_item(['not', 'not', 'node'])} [ sh:class {self.pick_iri(CLASSES)} "
                "] ]"
            )
        if kind == "languages":
            return f"sh:property [ sh:path {self.pick_iri(PREDICATES[:2])} ; sh:uniqueLang true ]"
        if kind == "siblings":
            path, count = self.make_path(2), self.pick_item(["Max", "Min"])
            return " ; ".join(
                f"sh:property [ sh:path {path} ; sh:qualifiedValueShape [ sh:class e:{name} ] ; "
                f"sh:qualified{count}Count 1 ; sh:qualifiedValueShapesDisjoint true ]"
                for name in "AB"
            )
        inner = f"[ sh:path {self.make_path(1)} ; {self.make_value_constraint()} ]"
        return f"sh:property [ sh:path {self.make_path(1)} ; sh:property {inner} ]"

    def make_shapes(self) -> str:
        text = PREFIXES
        for number in range(self.rng.randint(1, 3)):
            roll = self.rng.random()
            if roll < 0.4:
                body = self.make_simple_body()
            else:
                body = self.make_node_body(0) if roll < 0.8 else self.make_property_body(0)
            text += f"e:Shape{number} {self.make_target()} ; {body} .\n"
        return text


def load_shapes(tmp: Path, text: str) -> Shapes:
    path = tmp / "shapes.ttl"
    path.write_text(text)
    return Shapes.load(path)


def compare_engines(seed: int, folder: Path, claim_count: int = 10) -> int:
    """Compares the engines on one random case; returns how many claims could be compared."""
    generator = CaseGenerator(seed)
    facts, shapes_text = generator.make_graph(), generator.make_shapes()
    regime = generator.rng.choice(["none", "rdfs", "owl-rl"])
    unique_names = generator.rng.random() < 0.7
    shapes = load_shapes(folder, shapes_text)
    graph = Graph.from_claims(facts)
    incremental_oracle = Oracle(graph, shapes, regime=regime, unique_names=unique_names)
    pyshacl_oracle = Oracle(
        Graph.from_claims(facts), shapes, regime=regime, unique_names=unique_names, engine="pyshacl"
    )
    old_triples = list(incremental_oracle.closure.index.iter_triples())
    compared_count = 0
    for _ in range(claim_count):
        claim = generator.make_claim()
        note(f"{shapes_text}\n{facts}\n{claim}")
        try:
            expected, expected_results = (
                pyshacl_oracle.license(claim),
                pyshacl_oracle.find_new_results(claim),
            )
        except ShapesEngineError:
            continue  # pySHACL fails on blank or ill-typed values of sh:lessThan
        assert incremental_oracle.find_new_results(claim) == expected_results, (
            shapes_text,
            facts,
            regime,
            claim,
        )
        verdict = incremental_oracle.license(claim)
        assert verdict.label == expected.label
        assert verdict.proof.violations == expected.proof.violations
        assert verdict.proof.reason == expected.proof.reason
        compared_count += 1
    with contextlib.suppress(ShapesEngineError):
        expected_violations = pyshacl_oracle.find_violations()
        assert incremental_oracle.find_violations() == expected_violations
    assert list(incremental_oracle.closure.index.iter_triples()) == old_triples, (
        "the claim must be removed from the index"
    )
    return compared_count


@pytest.mark.slow
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_incremental_engine_agrees_with_whole_graph_pyshacl(seed: int, tmp_path: Path) -> None:
    compare_engines(seed, tmp_path)


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_pyrudof_agrees_with_the_incremental_engine(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pyrudof reads the machine's certificates for every graph, which takes longer than all else.
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    generator = CaseGenerator(seed)
    facts, text = generator.make_graph(), generator.make_shapes()
    note(f"{text}\n{facts}")
    shapes = load_shapes(tmp_path, text)
    incremental, pyrudof = (
        Oracle(Graph.from_claims(facts), shapes, regime="none", engine=engine)
        for engine in ("incremental", "pyrudof")
    )
    for _ in range(5):
        claim = generator.make_claim()
        with contextlib.suppress(ShapesEngineError):  # pySHACL fails on some shapes left to it
            assert pyrudof.find_new_results(claim) == incremental.find_new_results(claim), claim
            assert pyrudof.license(claim).label == incremental.license(claim).label


def test_pyrudof_names_itself_in_proofs_and_leaves_the_rest_to_pyshacl(tmp_path: Path) -> None:
    text = f"{PREFIXES}e:S sh:targetClass e:A ; sh:property [ sh:path e:p ; sh:maxCount 1 ] ."
    rest = "e:T sh:targetClass e:A ; sh:or ( [ sh:class e:B ] [ sh:nodeKind sh:Literal ] ) ."
    facts = [Claim(E + "a", TYPE, E + "A"), Claim(E + "a", E + "p", E + "b")]
    oracle = Oracle(Graph.from_claims(facts), load_shapes(tmp_path, text + rest), engine="pyrudof")
    verdict = oracle.license(Claim(E + "a", E + "p", E + "c"))
    assert (verdict.label, verdict.proof.engine) == ("C", "pyrudof")
    assert {v.component for v in oracle.find_violations()} == {"OrConstraintComponent"}


def test_a_missing_pyrudof_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyrudof", None)
    shapes = load_shapes(tmp_path, f"{PREFIXES}e:S sh:targetClass e:A ; sh:nodeKind sh:IRI .")
    with pytest.raises(MissingExtraError, match=r"epoche\[rudof\]"):
        Oracle(Graph.from_claims([]), shapes, engine="pyrudof")


class CutShapesGenerator(CaseGenerator):
    """Generates shapes in which some constraints are ``MARK``, to be replaced."""

    MARK = "sh:class e:Mark"

    def make_value_constraint(self) -> str:
        return self.MARK if self.rng.random() < 0.3 else super().make_value_constraint()


@pytest.mark.slow
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_leaving_out_a_constraint_adds_no_violation(seed: int, tmp_path: Path) -> None:
    generator = CutShapesGenerator(seed)
    facts = generator.make_graph()
    facts += [Claim(node, TYPE, E + "Mark") for node in NODES if generator.rng.random() < 0.5]
    text = generator.make_shapes()
    note(f"{text}\n{facts}")
    results = []
    for constraint in (generator.MARK, "sh:expression [ sh:path e:p ]"):
        shapes = load_shapes(tmp_path, text.replace(generator.MARK, constraint))
        assert bool(shapes.notes) == (constraint != generator.MARK and generator.MARK in text)
        oracle = Oracle(Graph.from_claims(facts), shapes, regime="none")
        violations = oracle.find_violations()
        with contextlib.suppress(ShapesEngineError):
            reference = Oracle(Graph.from_claims(facts), shapes, regime="none", engine="pyshacl")
            assert reference.find_violations() == violations
        results.append(Counter((v.component, v.focus_node, v.path, v.value) for v in violations))
    assert results[1] <= results[0]
