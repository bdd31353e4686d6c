"""The engines agree on the results and verdicts of a thousand claims on the shipped rivers."""

from __future__ import annotations

from collections import Counter

import pytest
from rivers_claims import CLAIMS, make_claims

import kg.domains.rivers
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.shapes.evaluation import Result

FOLDER = next(iter(kg.domains.rivers.__path__))


def open_oracle(engine: str = "incremental") -> Oracle:
    graph = Graph.load(f"{FOLDER}/rivers.ttl")
    shapes = Shapes.load(f"{FOLDER}/rivers.shacl.ttl")
    return Oracle(graph, shapes, engine=engine)  # type: ignore[arg-type]


def evaluate_every_shape(oracle: Oracle) -> Counter[Result]:
    """All violations, by evaluating every shape on every focus node without dependencies."""
    index, found = oracle.closure.index, []
    assert oracle._program is not None
    oracle._program.compiler.cache_scope.index = None
    for targeted in oracle._program.targeted:
        assert targeted.evaluation == "compiled"
        for focus in list(targeted.target.find_focus_nodes(index)):
            targeted.compiled.collect_results(index, focus, found)
    return Counter(found)


@pytest.mark.slow
def test_thousand_claims_agree_with_retargeted_pyshacl() -> None:
    # audit_rate=1 has pySHACL check each claim on the affected focus nodes and raises on a
    # disagreement about a single result.
    audited, plain = open_oracle(), open_oracle()
    audited._audit_rate = 1.0
    labels = Counter()
    for claim in make_claims(plain):
        verdict = audited.license(claim)
        assert plain.license(claim) == verdict
        labels[verdict.label] += 1
    assert sum(labels.values()) == CLAIMS
    assert min(labels["E"], labels["C"], labels["U"]) > 100, labels


@pytest.mark.slow
def test_unaffected_focus_nodes_keep_their_results() -> None:
    # The audit assumes that only the derived focus nodes have new results.
    oracle = open_oracle()
    before = evaluate_every_shape(oracle)
    assert not before
    for claim in make_claims(oracle)[::25]:
        triple = oracle._to_triple(claim)
        index = oracle.closure.index
        expected: Counter[Result] = Counter()
        if index.add_triple(*triple):
            expected = evaluate_every_shape(oracle) - before
            index.discard_triple(*triple)
        assert oracle._program is not None
        texts = sorted(map(oracle._program.to_raw_result, expected.elements()))
        assert list(oracle.find_new_results(claim)) == texts, claim


@pytest.mark.slow
def test_sample_agrees_with_whole_graph_pyshacl() -> None:
    fast, whole = open_oracle(), open_oracle("pyshacl")
    seen = Counter()
    for claim in make_claims(fast):
        verdict = fast.license(claim)
        if verdict.label == "E" or seen[verdict.label]:
            continue
        seen[verdict.label] += 1
        expected = whole.license(claim)
        assert (verdict.label, verdict.proof.violations) == (
            expected.label,
            expected.proof.violations,
        )
    assert set(seen) == {"C", "U"}
