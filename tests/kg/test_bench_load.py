"""The generated graph and the loading benchmark: same bytes, honest size, flags honoured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kg.entailment import Closure
from kg.graph import Graph
from kg.terms import RDF_TYPE

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WM = "https://epoche.example/rivers#"


def run(script, *flags):
    command = [sys.executable, str(BENCHMARKS / script), *flags]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    path = tmp_path_factory.mktemp("generated") / "g.ttl"
    run("generate_graph.py", "--triples", "20000", "--out", str(path))
    return path


def test_generated_graph_has_its_size_and_repeats(generated, tmp_path):
    graph = Graph.load(generated)
    assert abs(len(graph) - 20_000) < 200
    again, other = tmp_path / "again.ttl", tmp_path / "other.ttl"
    run("generate_graph.py", "--triples", "20000", "--out", str(again))
    run("generate_graph.py", "--triples", "20000", "--out", str(other), "--seed", "1")
    assert again.read_bytes() == generated.read_bytes() != other.read_bytes()


def test_generated_graph_leaves_mouths_unstated_and_drains_through_short_chains(generated):
    graph = Graph.load(generated)
    closure = Closure(graph)
    get = graph.index.terms.get
    rivers = len(graph.index.subjects(get(RDF_TYPE), get(WM + "River")))
    mouths = graph.index.count(get(WM + "flowsInto"))
    assert 0.8 < mouths / rivers < 0.95
    assert mouths < closure.index.count(get(WM + "drainsInto")) < 4 * mouths
    assert list(closure.inconsistencies()) == []


def test_benchmark_honours_its_flags(generated):
    rows = json.loads(run("bench_load.py", "--file", str(generated), "--runs", "1", "--json"))
    assert list(rows) == ["rdflib parse", "load", "load and close"]
    assert rows["rdflib parse"]["triples"] == rows["load"]["triples"]
    assert rows["load and close"]["triples"] > rows["load"]["triples"]
    assert rows["rdflib parse"]["cpu_ratio"] == 1
    assert rows["load"]["cpu_ratio"] < 1
    table = run("bench_load.py", "--triples", "3000", "--runs", "1")
    assert "× rdflib" in table
