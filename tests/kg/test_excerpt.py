"""Tests that the excerpt of shapes that a card states contradicts what the whole shapes do."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from kg.base.errors import ShapesEngineError
from kg.claims import Claim, Regime, Verdict
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.oracle import Oracle
from kg.terms import RDF_TYPE, RDFS
from tests.kg.test_oracle_engines import (
    CLASSES,
    NODES,
    PREDICATES,
    PREFIXES,
    CaseGenerator,
    E,
    load_shapes,
)


class SharedShapesGenerator(CaseGenerator):
    """Generates shapes that refer to the same named shapes in several ways."""

    SHARED = ("e:Shared0", "e:Shared1")

    def make_logic(self, depth: int) -> str:
        if self.rng.random() < 0.4:
            return f"sh:node {self.pick_item([*self.SHARED])}"
        return super().make_logic(depth)

    def make_nested_shape(self, depth: int, *, node_shape_only: bool = False) -> str:
        if self.rng.random() < 0.4:
            return self.pick_item([*self.SHARED])
        return super().make_nested_shape(depth, node_shape_only=node_shape_only)

    def make_shared_shape(self, name: str) -> str:
        """Returns a node shape that refers to no other."""
        bodies = [self.make_property_body(3) for _ in range(self.rng.randint(1, 3))]
        parts = [f"sh:property [ {body} ]" for body in bodies]
        if self.rng.random() < 0.3:
            parts.append(self.make_target())
        return f"{name} a sh:NodeShape ; {' ; '.join(parts)} .\n"

    def make_shapes(self) -> str:
        return super().make_shapes() + "".join(map(self.make_shared_shape, self.SHARED))

    def make_graph(self) -> list[Claim]:
        relations = [RDFS + "domain", RDFS + "range"]
        axioms = [
            Claim(self.pick_item(PREDICATES), self.pick_item(relations), self.pick_item(CLASSES))
            for _ in range(self.rng.randint(0, 3))
        ]
        return super().make_graph() + axioms


def list_results(verdict: Verdict) -> set[tuple[str, ...]]:
    """Returns what contradicts a claim, without messages."""
    violations = verdict.proof.violations if verdict.label == "C" else ()
    return {(v.shape, v.component, v.focus_node, v.path, v.value) for v in violations}


@pytest.mark.slow
@pytest.mark.parametrize("regime", ["none", "rdfs"])
@pytest.mark.parametrize("generator_type", [CaseGenerator, SharedShapesGenerator])
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_constraints_that_a_claim_cannot_violate_change_no_verdict(
    seed: int, generator_type: type[CaseGenerator], regime: Regime, tmp_path: Path
) -> None:
    generator = generator_type(seed)
    facts, text = generator.make_graph(), generator.make_shapes()
    note(f"{text}\n{facts}")
    shapes = load_shapes(tmp_path, text)
    graph = Graph.from_claims(facts)
    whole = Oracle(graph, shapes, regime=regime)
    # What breaks a nested shape already breaks it no more with a claim, but may break its excerpt.
    old_results = {
        (v.shape, v.component, v.focus_node, v.path, v.value) for v in whole.find_violations()
    }
    for pred in [*PREDICATES, RDF_TYPE, RDFS + "subClassOf"]:
        parts = shapes.select_constraints(shapes.targeted_nodes, [pred])
        reduced = Oracle(graph, parts, regime=regime)
        reference = Oracle(graph, parts, regime=regime, engine="pyshacl")
        for number in range(3):
            claim = msgspec.structs.replace(generator.make_claim(), pred=pred)
            if pred not in PREDICATES:
                subjects = NODES if pred == RDF_TYPE else CLASSES
                pair = generator.pick_item(subjects), generator.pick_item(CLASSES)
                claim = Claim(pair[0], pred, pair[1])
            verdict, expected = reduced.license(claim), whole.license(claim)
            results, expected_results = list_results(verdict), list_results(expected)
            assert expected_results <= results, claim
            assert results <= expected_results | old_results, claim
            assert verdict.label == expected.label or verdict.label == "C", claim
            if number == 0:
                with contextlib.suppress(ShapesEngineError):
                    found = reduced.find_new_results(claim)
                    assert reference.find_new_results(claim) == found, claim


SHARED_SHAPE = (
    "e:N a sh:NodeShape ; sh:property [ sh:path e:p ; sh:maxCount 1 ] ; "
    "sh:property [ sh:path e:r ; sh:maxCount 1 ] .\n"
)
APPLIED = {
    # New values of p get the whole of a shape that values of q, which are old, have as well.
    "path": "e:S sh:targetClass e:A ; sh:property [ sh:path e:q ; sh:node e:N ] ; "
    "sh:property [ sh:path e:p ; sh:node e:N ] .",
    "longer path": "e:S sh:targetClass e:A ; sh:node e:N ; "
    "sh:property [ sh:path ( e:p [ sh:zeroOrMorePath e:q ] ) ; sh:and ( e:N ) ] .",
    "path of a nested shape": "e:S sh:targetClass e:A ; sh:property [ sh:path e:q ; sh:node e:N ] "
    "; sh:node [ sh:property [ sh:path e:p ; sh:property [ sh:path e:q ; sh:node e:N ] ] ] .",
    # A claim makes b a focus node of T.
    "target": "e:S sh:targetClass e:A ; sh:property [ sh:path e:q ; sh:node e:N ] .\n"
    "e:T a sh:NodeShape ; sh:targetObjectsOf e:p ; sh:node e:N .",
}


@pytest.mark.parametrize("regime", ["none", "rdfs"])
@pytest.mark.parametrize("name", APPLIED)
def test_a_shape_that_a_claim_applies_to_another_thing_stays_whole(
    name: str, regime: Regime, tmp_path: Path
) -> None:
    facts = [("a", RDF_TYPE, "A"), ("a", E + "q", "c"), ("b", E + "q", "b")]
    facts += [("b", E + "r", value) for value in "de"]
    graph = Graph.from_claims([Claim(E + s, pred, E + o) for s, pred, o in facts])
    shapes = load_shapes(tmp_path, PREFIXES + SHARED_SHAPE + APPLIED[name])
    claim = Claim(E + "a", E + "p", E + "b")
    assert Oracle(graph, shapes, regime=regime).license(claim).label == "C"
    for parts in (
        shapes.select_constraints(shapes.targeted_nodes, [E + "p"]),
        shapes.select_constraints(reversed(shapes.targeted_nodes), [E + "p"]),
    ):
        assert Oracle(graph, parts, regime=regime).license(claim).label == "C"


def test_a_domain_applies_no_shape_to_the_subject_of_a_claim(tmp_path: Path) -> None:
    """Nothing is inferred from a claim, so that rules need not be longer for its domain's sake."""
    turtle = PREFIXES + f"@prefix rdfs: <{RDFS}> .\n"
    (tmp_path / "graph.ttl").write_text(
        turtle + "e:p rdfs:domain e:A ; rdfs:range e:B . e:x e:p e:y . e:a e:r e:c , e:d .\n"
        "e:b e:r e:c , e:d .\n"
    )
    (tmp_path / "shapes.ttl").write_text(
        PREFIXES + "e:S a sh:NodeShape ; sh:targetClass e:A , e:B ; sh:property [ sh:path e:p ; "
        "sh:maxCount 3 ] ; sh:property [ sh:path e:r ; sh:maxCount 1 ] ."
    )
    kb = KnowledgeBase.open(
        graph=[tmp_path / "graph.ttl"], shapes=[tmp_path / "shapes.ttl"], regime="rdfs"
    )
    rulebook = kb.verbaliser.rulebook
    claim = Claim(E + "a", E + "p", E + "b")
    assert kb.oracle.license(claim).label == "U"
    facts = [Claim(E + s, E + "r", E + o) for s in "ab" for o in "cd"]
    axioms = [axiom for rule in rulebook.get_rules(E + "p") for axiom in rule.axioms]
    assert {axiom.pred for axiom in axioms} == {RDFS + "domain", RDFS + "range"}
    for shapes in (kb.shapes, rulebook.select_shapes(E + "p")):
        assert kb.oracle.make_local_oracle(facts, shapes, axioms).license(claim).label == "U"
    # Once a is an A, it breaks the shape with the claim or without it.
    facts.append(Claim(E + "a", E + "p", E + "y"))
    for shapes in (kb.shapes, rulebook.select_shapes(E + "p")):
        assert kb.oracle.make_local_oracle(facts, shapes, axioms).license(claim).label == "U"
    (rule,) = [rule for rule in rulebook.get_rules(E + "p") if rule.shapes]
    assert rule.text.endswith("has at most 3 values of “p”.")
    assert rule.text.count(".") == 1
