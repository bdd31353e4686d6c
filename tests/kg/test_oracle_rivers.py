"""Tests that the engines agree about a thousand claims on the shipped rivers."""

from __future__ import annotations

from collections import Counter

import pytest
from rivers_claims import CLAIM_COUNT, make_claims

from kg.domains import rivers
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.shapes.evaluation import Result

FOLDER = next(iter(rivers.__path__))


def open_oracle(engine: str = "incremental") -> Oracle:
    graph = Graph.load(f"{FOLDER}/rivers.ttl")
    shapes = Shapes.load(f"{FOLDER}/rivers.shacl.ttl")
    return Oracle(graph, shapes, engine=engine)  # type: ignore[arg-type]


def evaluate_every_shape(oracle: Oracle) -> Counter[Result]:
    """Returns all violations by evaluating every shape on every focus node, without a cache."""
    index, results = oracle.closure.index, []
    assert oracle._program is not None
    oracle._program.compiler.cache_scope.index = None
    for targeted in oracle._program.targeted_shapes:
        assert targeted.evaluation == "compiled"
        for focus in list(targeted.target.find_focus_nodes(index)):
            targeted.compiled.collect_results(index, focus, results)
    return Counter(results)


@pytest.mark.slow
def test_thousand_claims_agree_with_retargeted_pyshacl() -> None:
    # With an audit rate of 1, pySHACL checks every claim, "retargeted" to the focus nodes that the
    # claim affects. Any difference between the results raises an error.
    audited_oracle, unaudited_oracle = open_oracle(), open_oracle()
    audited_oracle._audit_rate = 1.0
    labels = Counter()
    for claim in make_claims(unaudited_oracle):
        verdict = audited_oracle.license(claim)
        assert unaudited_oracle.license(claim) == verdict
        labels[verdict.label] += 1
    assert sum(labels.values()) == CLAIM_COUNT
    assert min(labels["E"], labels["C"], labels["U"]) > 100, labels


@pytest.mark.slow
def test_unaffected_focus_nodes_keep_their_results() -> None:
    # The audit assumes that only the focus nodes that it derives from a claim have new results.
    oracle = open_oracle()
    old_results = evaluate_every_shape(oracle)
    assert not old_results
    for claim in make_claims(oracle)[::25]:
        triple = oracle._to_triple(claim)
        index = oracle.closure.index
        expected: Counter[Result] = Counter()
        if index.add_triple(*triple):
            expected = evaluate_every_shape(oracle) - old_results
            index.discard_triple(*triple)
        assert oracle._program is not None
        texts = sorted(map(oracle._program.to_raw_result, expected.elements()))
        assert list(oracle.find_new_results(claim)) == texts, claim


@pytest.mark.slow
def test_sample_agrees_with_whole_graph_pyshacl() -> None:
    incremental_oracle, pyshacl_oracle = open_oracle(), open_oracle("pyshacl")
    labels = Counter()
    for claim in make_claims(incremental_oracle):
        verdict = incremental_oracle.license(claim)
        # pySHACL is slow on the whole graph, so it checks only one C and one U claim.
        if verdict.label == "E" or labels[verdict.label]:
            continue
        labels[verdict.label] += 1
        expected = pyshacl_oracle.license(claim)
        assert (verdict.label, verdict.proof.violations) == (
            expected.label,
            expected.proof.violations,
        )
    assert set(labels) == {"C", "U"}
