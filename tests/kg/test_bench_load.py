"""Tests of the generated graph and of the benchmarks of loading and building a graph."""

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
RIVERS_NAMESPACE = "https://epoche.example/rivers#"


def run_benchmark(script, *flags):
    command = [sys.executable, str(BENCHMARKS / script), *flags]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


@pytest.fixture(scope="module")
def generated_graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("generated") / "g.ttl"
    run_benchmark("generate_graph.py", "--triples", "20000", "--out", str(path))
    return path


def test_generated_graph_has_the_requested_size_and_is_reproducible(generated_graph, tmp_path):
    graph = Graph.load(generated_graph)
    assert abs(len(graph) - 20_000) < 200  # within 1 % of the requested size
    second_copy, copy_with_other_seed = tmp_path / "again.ttl", tmp_path / "other.ttl"
    run_benchmark("generate_graph.py", "--triples", "20000", "--out", str(second_copy))
    run_benchmark(
        "generate_graph.py", "--triples", "20000", "--out", str(copy_with_other_seed), "--seed", "1"
    )
    assert (
        second_copy.read_bytes()
        == generated_graph.read_bytes()
        != copy_with_other_seed.read_bytes()
    )


def test_generated_graph_omits_some_mouths_and_has_short_chains(generated_graph):
    graph = Graph.load(generated_graph)
    closure = Closure(graph)
    get_id = graph.index.terms.get
    rivers = len(graph.index.find_subjects(get_id(RDF_TYPE), get_id(RIVERS_NAMESPACE + "River")))
    mouths = graph.index.count_triples(get_id(RIVERS_NAMESPACE + "flowsInto"))
    # The generator omits 12 % of the mouths; on average a river drains into less than four waters.
    assert 0.8 < mouths / rivers < 0.95
    assert (
        mouths < closure.index.count_triples(get_id(RIVERS_NAMESPACE + "drainsInto")) < 4 * mouths
    )
    assert list(closure.find_inconsistencies()) == []


def test_benchmark_honours_its_flags(generated_graph):
    rows = json.loads(
        run_benchmark("bench_load.py", "--file", str(generated_graph), "--runs", "1", "--json")
    )
    assert list(rows) == ["rdflib parse", "load", "load and close"]
    assert rows["rdflib parse"]["triples"] == rows["load"]["triples"]
    assert rows["load and close"]["triples"] > rows["load"]["triples"]
    assert rows["rdflib parse"]["cpu_ratio"] == 1
    assert rows["load"]["cpu_ratio"] < 1
    table = run_benchmark("bench_load.py", "--triples", "3000", "--runs", "1")
    assert "× rdflib" in table


def test_benchmark_of_builds_measures_a_tenth_and_all(tmp_path):
    for number in range(20):
        (tmp_path / f"{number:02}.md").write_text(f"# Lock {number}\n\nThe lock manager waits.\n")
    table = json.loads(run_benchmark("bench_build.py", str(tmp_path), "--json"))
    words = {name: rows["build"]["words"] for name, rows in table.items()}
    assert words["all"] == 10 * words["a tenth"] == 120
    figures = ("cpu_s", "peak_mib", "disk_mib", "text_mib")
    assert all(row[key] > 0 for rows in table.values() for row in rows.values() for key in figures)
