"""Tests that all engines agree on the W3C SHACL test suite, for every triple added to its data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import rdflib

from kg.base.errors import ShapesEngineError, ShapesError
from kg.claims import Claim
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.shapes.reader import get_term_text

SHT = rdflib.Namespace("http://www.w3.org/ns/shacl-test#")
MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
MAX_CLAIMS = 12
"""Maximum number of triples of one test that are taken away and added again."""


def iter_cases(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yields the name, data file and shapes file of each test."""
    for file in sorted(folder.rglob("*.ttl")):
        graph = rdflib.Graph().parse(file, format="turtle", publicID=file.as_uri())
        for test in graph.subjects(rdflib.RDF.type, SHT.Validate):
            action = graph.value(test, MF.action)
            data, shapes = (
                Path(str(graph.value(action, SHT[key])).removeprefix("file://"))
                for key in ("dataGraph", "shapesGraph")
            )
            yield f"{file.parent.name}/{file.stem}", data, shapes


@pytest.mark.slow
def test_engines_agree_on_the_suite_and_on_added_triples(
    public_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pyrudof reads the machine's certificates for every graph, which takes longer than all else.
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    folder = public_data / "w3c-shacl"
    if not folder.is_dir():
        pytest.skip("needs w3c-shacl/ in the public data")
    compared_count, skipped = 0, []
    for name, data_file, shapes_file in iter_cases(folder):
        try:
            shapes = Shapes.load(shapes_file)
        except ShapesError:
            skipped.append(name)  # ill-formed on purpose, or nested too deeply
            continue
        data = rdflib.Graph().parse(data_file, format="turtle", publicID=data_file.as_uri())
        claims = sorted(Claim(*map(get_term_text, triple)) for triple in data)
        facts = [c for c in claims if not f"{c.subj} {c.pred} {c.obj}".count("/ns/shacl")]
        for claim in [None, *facts[:MAX_CLAIMS]]:
            graph = Graph.from_claims(c for c in claims if c != claim)
            pyshacl, *others = (
                Oracle(graph, shapes, regime="none", engine=engine)
                for engine in ("pyshacl", "incremental", "pyrudof")
            )
            for oracle in (pyshacl, *others):
                # The verdict needs the same results again.
                oracle._checker.find_new_results = cache(oracle._checker.find_new_results)
            try:
                if claim is None:
                    for oracle in others:
                        assert oracle.find_violations() == pyshacl.find_violations(), name
                    continue
                expected = pyshacl.find_new_results(claim), pyshacl.license(claim).label
            except ShapesEngineError:
                skipped.append(name)  # SHACL forbids the query, and pySHACL refuses it
                break
            for oracle in others:
                found = oracle.find_new_results(claim), oracle.license(claim).label
                assert found == expected, (name, claim, oracle.engine)
            compared_count += 1
    assert compared_count >= 900
    assert len(skipped) <= 6, skipped
