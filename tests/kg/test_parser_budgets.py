"""Tests that files which would exhaust the parser's memory or time end in an error with a place."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kg.base.errors import GraphTooLargeError, ShapesError
from kg.graph import Graph
from kg.shapes import Shapes
from kg.triples import stream_guards

LINES = b"<http://a> <http://b> 'y' .\n" * 100_000
LONG = b"x" * (17 << 20)
HEAD = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
MULTI_LINE = b"x\n" * (9 << 20)


@pytest.mark.parametrize(
    ("name", "data", "lines"),
    [
        ("g.nt", LINES.replace(b"'", b'"') + b'<http://a> <http://b> "' + LONG + b'" .', 100_001),
        ("g.ttl", LINES + b'<http://a> <http://b> """' + MULTI_LINE + b'""" .\n', 100_001),
        ("g.ttl.gz", LINES + b'<http://a> <http://b> "' + LONG + b'" .\n', 100_001),
        ("g.jsonld", b'{"@id": "http://a", "http://b": "' + LONG + b'"}', 0),
    ],
)
def test_a_literal_that_is_too_long_is_located(
    tmp_path: Path, name: str, data: bytes, lines: int
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
    with pytest.raises(GraphTooLargeError, match="a literal or IRI is too long") as raised:
        Graph.load(path)
    assert name in str(raised.value)
    if lines:
        line = int(str(raised.value).split("after line ")[1].split(")")[0])
        # The parser reads blocks of lines.
        assert lines - 3_000 < line <= lines
    if name == "g.nt":
        with pytest.raises(ShapesError, match="a literal or IRI is too long"):
            Shapes.load(path)


def test_slow_nesting_is_stopped_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep.rdf"
    n = 20_000
    path.write_bytes(HEAD + b"<e:a>\n<e:p>\n" * n + b"</e:p></e:a>" * n + b"</rdf:RDF>")
    monkeypatch.setattr(stream_guards, "MAX_SLOW_SECONDS", 0.0)
    monkeypatch.setattr(stream_guards, "MIN_BYTES_PER_SECOND", 10**12)
    with pytest.raises(GraphTooLargeError, match=r"nest too deeply .*deep\.rdf, line \d+"):
        Graph.load(path)
    with pytest.raises(ShapesError, match="nest too deeply"):
        Shapes.load(path)


def test_nesting_that_is_quick_enough_is_read(tmp_path: Path) -> None:
    path = tmp_path / "nested.rdf"
    path.write_bytes(HEAD + b"<e:a><e:p>" * 2000 + b"</e:p></e:a>" * 2000 + b"</rdf:RDF>")
    assert len(Graph.load(path)) == 4000
