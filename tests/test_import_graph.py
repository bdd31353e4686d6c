"""Tests the layout: imports go one way and in no circle, and folders stay small."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import permutations
from pathlib import Path

import networkx as nx
import pytest
from name_shares import PACKAGES
from stage_calls import ROOT

pytestmark = pytest.mark.checkout

BENCHMARKS = ("abstention", "retrieval_eval", "skn", "extraction", "synthlink")
CROSSING = (
    # The system `formats` answers cards through SKN's formats.
    "eval.abstention.systems.formats",
    # Epoché's own extractors, SKN's among them, are scored as extractions.
    "eval.extraction.own_extractors",
    "eval.extraction.commands.score_own",
)
"""Modules of a benchmark that may import another one."""
MAX_MODULES = 20
"""Maximum number of modules directly in a folder."""


@cache
def list_modules() -> dict[str, Path]:
    """Returns the product's modules: dotted name → file; a package has its own name."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in files
    }


@cache
def build_import_graph() -> nx.DiGraph[str]:
    """Builds the graph of imports, also those in functions, but not those for type checkers."""
    modules = list_modules()
    graph: nx.DiGraph[str] = nx.DiGraph()
    for module, path in modules.items():
        tree = ast.parse(path.read_text("utf-8"))
        for_checkers = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for statement in node.body
            for inner in ast.walk(statement)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            if id(node) in for_checkers or node.module.split(".")[0] not in PACKAGES:
                continue
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                graph.add_edge(module, name if name in modules else node.module)
    return graph


def find_circles(graph: nx.DiGraph[str]) -> list[list[str]]:
    return [sorted(names) for names in nx.strongly_connected_components(graph) if len(names) > 1]


def build_child_graph(package: str) -> nx.DiGraph[str]:
    """Builds the graph of imports between the folders and modules directly in a package."""
    prefix = f"{package}."
    graph: nx.DiGraph[str] = nx.DiGraph()
    for importer, imported in build_import_graph().edges:
        if importer.startswith(prefix) and imported.startswith(prefix):
            names = [name.removeprefix(prefix).split(".")[0] for name in (importer, imported)]
            if names[0] != names[1]:
                graph.add_edge(*names)
    return graph


def test_modules_import_each_other_in_no_circle() -> None:
    assert build_import_graph().number_of_edges() > 1_000
    assert not find_circles(build_import_graph())


LAYERED = sorted(
    name for name, path in list_modules().items() if path.name == "__init__.py" and name != "epoche"
)


@pytest.mark.parametrize("package", LAYERED)
def test_folders_of_a_package_import_each_other_in_no_circle(package: str) -> None:
    assert not find_circles(build_child_graph(package))


def test_no_benchmark_imports_another() -> None:
    edges = build_import_graph().edges
    crossing = [
        f"{importer} imports {imported}"
        for one, other in permutations(BENCHMARKS, 2)
        for importer, imported in edges
        if importer.startswith(f"eval.{one}.") and imported.startswith(f"eval.{other}.")
        if not importer.startswith(CROSSING)
    ]
    assert not crossing


@pytest.mark.parametrize(
    "shared", ["harness", "judges", "metrics", "model", "stats", "blocks", "runs"]
)
def test_shared_parts_import_no_benchmark(shared: str) -> None:
    crossing = [
        f"{importer} imports {imported}"
        for importer, imported in build_import_graph().edges
        if importer.startswith(f"eval.{shared}.")
        and imported.startswith(tuple(f"eval.{name}." for name in BENCHMARKS))
    ]
    assert not crossing


def test_reporting_names_no_benchmark() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "reporting").rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if re.search("skn|extraction|synthlink", line, re.IGNORECASE)
    ]
    assert not named


def test_no_folder_has_more_than_twenty_modules() -> None:
    folders: dict[Path, int] = {}
    for path in list_modules().values():
        if path.name != "__init__.py":
            folders[path.parent] = folders.get(path.parent, 0) + 1
    assert not {
        str(folder.relative_to(ROOT)): n for folder, n in folders.items() if n > MAX_MODULES
    }
