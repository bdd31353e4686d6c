"""Tests that JSON-LD contexts are read from beside the file, and from nowhere else."""

from __future__ import annotations

import gzip
import json
import socket
from pathlib import Path

import pytest

from kg.base.errors import (
    EmptyGraphError,
    EpocheError,
    GraphSyntaxError,
    GraphTooLargeError,
    ShapesError,
)
from kg.claims import Claim
from kg.graph import Graph
from kg.shapes import Shapes
from kg.triples import jsonld_context

CONTEXT = {"@context": {"name": "http://e/name", "knows": {"@id": "http://e/knows"}}}
EXPECTED = {Claim("http://e/a", "http://e/name", '"Ada"')}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(content).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def load_claims(path: Path) -> set[Claim]:
    return set(Graph.load(path).iter_claims())


@pytest.mark.parametrize(
    ("reference", "file"),
    [
        ("context.jsonld", "context.jsonld"),
        ("./ctx/my%20context.json", "ctx/my context.json"),
        ("../elsewhere/context.jsonld", "context.jsonld"),
        ("https://w3id.org/ro/crate/1.1/context", "context"),
        ("https://w3id.org/ro/crate/1.1/context", "context.jsonld"),
        ("https://w3id.org/ro/crate/1.1/context?x=1#y", "context.json"),
        ("http://schema.org/", "schema.org.jsonld"),
        ("https://w3id.org/ro/crate/1.1/context", "1.1/context.jsonld"),
        ("https://w3id.org/ro/crate/1.1/context", "w3id.org/ro/crate/1.1/context"),
    ],
)
@pytest.mark.parametrize("name", ["graph.jsonld", "graph.json.gz"])
def test_a_context_beside_the_file_is_read(
    tmp_path: Path, reference: str, file: str, name: str
) -> None:
    write(tmp_path / file, CONTEXT)
    document = {"@context": reference, "@id": "http://e/a", "name": "Ada"}
    assert load_claims(write(tmp_path / name, document)) == EXPECTED


def test_contexts_are_found_wherever_they_may_stand(tmp_path: Path) -> None:
    write(tmp_path / "inner.jsonld", CONTEXT)
    write(tmp_path / "outer.jsonld", {"@context": ["inner.jsonld", {"age": "http://e/age"}]})
    write(tmp_path / "scoped.jsonld", {"@context": {"name": "http://e/scopedName"}})
    knows = {"@id": "http://e/knows", "@context": "scoped.jsonld"}
    document = [
        {"@context": ["outer.jsonld", {"knows": knows}], "@id": "http://e/a", "age": 3},
        {"@context": {"@import": "inner.jsonld", "age": "http://e/b"}, "@id": "http://e/b"},
        {"@context": ["outer.jsonld", {"knows": knows}], "@id": "http://e/c", "name": "Cy"},
    ]
    document[1]["name"] = "Bo"
    document[2]["knows"] = {"@context": None, "@id": "http://e/a", "http://e/n": 1.5}
    document.append(
        {
            "@context": ["outer.jsonld", {"knows": knows}],
            "@id": "http://e/d",
            "knows": {"@id": "http://e/e", "name": "Di"},
        }
    )
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    assert load_claims(write(tmp_path / "graph.jsonld", document)) == {
        Claim("http://e/a", "http://e/age", f'"3"^^<{integer}>'),
        Claim("http://e/b", "http://e/name", '"Bo"'),
        Claim("http://e/c", "http://e/name", '"Cy"'),
        Claim("http://e/c", "http://e/knows", "http://e/a"),
        Claim("http://e/a", "http://e/n", '"1.5E0"^^<http://www.w3.org/2001/XMLSchema#double>'),
        Claim("http://e/d", "http://e/knows", "http://e/e"),
        Claim("http://e/e", "http://e/scopedName", '"Di"'),
    }


@pytest.mark.parametrize(
    ("reference", "files", "message"),
    [
        ("https://example.org/a/ctx.jsonld", {}, r"ctx\.jsonld is not beside .* Save it there"),
        ("/etc/hostname", {}, "is not beside the file"),
        ("../outside.jsonld", {"../outside.jsonld": CONTEXT}, "is not beside the file"),
        ("graph.jsonld", {}, "is not beside the file"),
        ("ctx", {"ctx": {"no": 1}}, "has no @context"),
        ("ctx", {"ctx": {"@context": "ctx"}}, "refers to itself"),
        ("ctx", {"ctx": {"@context": ["b"]}, "b": {"@context": {"@import": "ctx"}}}, "to itself"),
        ("", {}, "is not beside the file"),
        ("http://[", {}, "does not parse"),
        ("a" * 5000, {}, "graph"),
        ("a\0b", {}, "graph"),
    ],
)
def test_other_contexts_are_named_in_the_error(
    tmp_path: Path, reference: str, files: dict[str, object], message: str
) -> None:
    folder = tmp_path / "data"
    for name, content in files.items():
        write(folder / name, content)
    path = write(folder / "graph.jsonld", {"@context": reference, "http://e/p": 1})
    with pytest.raises(GraphSyntaxError, match=message) as raised:
        Graph.load(path)
    assert "graph.jsonld" in str(raised.value)


def test_a_context_that_is_no_json_or_too_large_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "graph.jsonld", [{"@context": "ctx", "name": "x"}] * 100)
    (tmp_path / "ctx").write_text("{")
    with pytest.raises(GraphSyntaxError, match="is not JSON"):
        Graph.load(path)
    write(tmp_path / "ctx", CONTEXT)
    monkeypatch.setattr(jsonld_context, "MAX_INSERTED_BYTES", 1000)
    with pytest.raises(GraphTooLargeError, match="@contexts have more than 1000 bytes"):
        Graph.load(path)
    monkeypatch.setattr(jsonld_context, "MAX_FILE_BYTES", 10)
    with pytest.raises(GraphTooLargeError, match="larger than 10 bytes"):
        Graph.load(path)


def test_deeply_nested_contexts_do_not_crash(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonld"
    for text in ("[" * 500 + '"ctx"' + "]" * 500, '{"a":{"@context":' * 250 + '"c"' + "}}" * 250):
        path.write_text(f'{{"@context": {text}, "http://e/p": 1}}')
        with pytest.raises(EpocheError):
            Graph.load(path)


def test_shapes_have_local_contexts_too(tmp_path: Path) -> None:
    sh = "http://www.w3.org/ns/shacl#"
    shape = {
        "@context": "shacl.jsonld",
        "@id": "http://e/S",
        "targetClass": {"@id": "http://e/C"},
        "property": {"path": {"@id": "http://e/p"}, "maxCount": 1},
    }
    path = write(tmp_path / "shapes.jsonld", shape)
    with pytest.raises(ShapesError, match=r"shacl\.jsonld is not beside the file"):
        Shapes.load(path)
    write(tmp_path / "shacl.jsonld", {"@context": {"@vocab": sh}})
    assert Shapes.load(path).list_iris() == ["http://e/S"]


def test_two_addresses_are_not_read_from_one_file(tmp_path: Path) -> None:
    contexts = ["https://a.example/1/context.jsonld", "https://a.example/2/context.jsonld"]
    document = {"@context": contexts, "@id": "http://e/a", "name": "Ada", "born": "1815"}
    path = write(tmp_path / "graph.jsonld", document)
    write(tmp_path / "context.jsonld", CONTEXT)
    with pytest.raises(GraphSyntaxError, match=r"both be read from context\.jsonld") as caught:
        Graph.load(path)
    assert "a.example/2/context.jsonld" in caught.value.hint
    write(tmp_path / "a.example/2/context.jsonld", {"@context": {"born": "http://e/born"}})
    assert load_claims(path) == {*EXPECTED, Claim("http://e/a", "http://e/born", '"1815"')}
    # Other spellings of one address are one.
    same = {**document, "@context": ["http://a.example/1/context.jsonld", contexts[0]]}
    assert load_claims(write(tmp_path / "same.jsonld", same)) == EXPECTED


@pytest.mark.parametrize(
    ("contexts", "is_ambiguous"),
    [
        (["https://a.example/1/context", "https://a.example/1/context.jsonld"], False),
        (["https://a.example/1/context", "https://A.example/1/context"], False),
        (["context.jsonld", "https://a.example/1/context"], False),
        (["https://a.example/1/context", "context", "https://a.example/2/context"], True),
        (["https://a.example/context?v=1", "https://a.example/context?v=2"], True),
        (["https://a.example/context", "https://b.example/context"], True),
    ],
)
@pytest.mark.parametrize("n_files", [1, 2])
def test_addresses_are_told_apart(
    tmp_path: Path, contexts: list[str], is_ambiguous: bool, n_files: int
) -> None:
    write(tmp_path / "context.jsonld", CONTEXT)
    parts = [contexts] if n_files == 1 else [[context] for context in contexts]
    paths = [
        write(tmp_path / f"g{n}.jsonld", {"@context": part, "@id": "http://e/a", "name": "Ada"})
        for n, part in enumerate(parts)
    ]
    if is_ambiguous:
        with pytest.raises(GraphSyntaxError, match="would both be read from"):
            Graph.load(paths)
    else:
        assert set(Graph.load(paths).iter_claims()) == EXPECTED


def test_a_context_refers_to_what_lies_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "a.example/2/context.jsonld", {"@context": ["other.jsonld"]})
    write(tmp_path / "a.example/2/other.jsonld", CONTEXT)
    document = {"@context": "https://a.example/2/context", "@id": "http://e/a", "name": "Ada"}
    assert load_claims(write(tmp_path / "graph.jsonld", document)) == EXPECTED


def test_long_addresses_are_named_in_an_error(tmp_path: Path) -> None:
    for address in (f"https://a.example/{'a/' * 5_000}context", f"https://a.example/{'a' * 5_000}"):
        with pytest.raises(GraphSyntaxError, match="is not beside the file"):
            Graph.load(write(tmp_path / "graph.jsonld", {"@context": address, "name": "Ada"}))


def test_a_file_whose_keys_nothing_defines_says_so(tmp_path: Path) -> None:
    with pytest.raises(EmptyGraphError, match="no @context defines a key of its 2 values") as error:
        Graph.load(write(tmp_path / "graph.jsonld", [{"name": "Ada", "born": 1815}]))
    assert "@vocab" in error.value.hint


def test_keys_that_no_context_defines_are_left_out_and_counted(tmp_path: Path) -> None:
    document = {**CONTEXT, "@id": "http://e/a", "name": "Ada", "colour": ["red", "blue"]}
    graph = Graph.load(write(tmp_path / "graph.jsonld", document))
    assert set(graph.iter_claims()) == EXPECTED
    assert graph.omissions == ("graph.jsonld: 2 values of keys that no @context defines left out",)
