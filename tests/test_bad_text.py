"""Documents, runs, searches and model steps that cannot be: one line, a code, nothing lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from library_documents import write_documents
from servers import behaviours as does
from servers.scripted_server import ScriptedServer

sys.path.insert(0, str(Path(__file__).parent))
from stage_calls import epoche
from test_bad_input import GARBAGE, fails, write

from kg.text.run import form


@pytest.fixture
def run(shop: Path) -> Path:
    """A run of three small documents beside the files of every other stage."""
    documents = write_documents(shop / "docs")
    assert epoche("kg", "build", documents, "--out", "runs/small").code == 0
    return shop / "runs" / "small"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.md", b"", "empty"),
        ("scan.pdf", GARBAGE, "PDF"),
        ("binary.txt", GARBAGE, r"binary\.txt"),
    ],
)
def test_documents_that_hold_no_text(shop: Path, name: str, content: bytes, said: str) -> None:
    write(name, content)
    fails(shop, 30, "kg", "build", name, "--out", "runs/new", said=said)


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    "command",
    [
        ("kg", "inspect", "--run", "runs/small"),
        ("kg", "export", "--run", "runs/small", "--ttl", "new.ttl"),
        ("kg", "analyze", "Who lends tools?", "--run", "runs/small"),
        ("kg", "plot", "--run", "runs/small", "--out", "new.html"),
        ("retrieval", "search", "tools", "--run", "runs/small", "--retriever", "kg"),
    ],
)
def test_a_run_that_was_cut_off(shop: Path, command: tuple[str, ...]) -> None:
    graph = shop / "runs" / "small" / form.GRAPH
    graph.write_bytes(graph.read_bytes()[:-7])
    fails(shop, 31, *command, said=r"half written.*graph\.json")


@pytest.mark.extra("dense", "minilm")
def test_a_run_of_another_embedding_model(run: Path, shop: Path) -> None:
    write("more.md", "# 9 Keys\n\nA key opens the library.\n")
    extend = ("kg", "build", "more.md", "--out", "runs/small", "--extend")
    fails(shop, 32, *extend, "--embedder", "minilm", said="built with the embedding model lexical")
    assert run.is_dir()


def test_a_model_whose_replies_are_of_no_use(
    shop: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    write("doc.md", "# 1 Keys\n\nA key opens the library.\n")
    scripted_server.behave(does.reply(lambda _asked: "keywords? surely"))
    build = ("kg", "build", "doc.md", "--out", "runs/new", "--no-cache", "--no-resume")
    model = ("--keywords", "model", "--model", f"custom/{scripted_server.model}")
    fails(shop, 33, *build, *model, "--strict", said="1 chunks? got no usable reply")


def test_a_search_that_was_not_recorded(shop: Path) -> None:
    write("searches.jsonl", "")
    command = ("retrieval", "web", "who lends tools", "--frozen", "searches.jsonl")
    fails(shop, 34, *command, said="who lends tools")


def test_a_run_that_says_nothing_of_what_falls_under_what(shop: Path) -> None:
    write("doc.md", "# 1 Keys\n\nA key opens the library.\n")
    assert epoche("kg", "build", "doc.md", "--out", "runs/flat", "--no-sections").code == 0
    export = ("kg", "export", "--run", "runs/flat", "--ttl", "new.ttl")
    fails(shop, 35, *export, said="no section tree")


def test_texts_that_are_no_skn(shop: Path) -> None:
    write("torn.skn", '[SKN]\n@src web | fresh:low | reliability:0.5\n@facts\n  ! "torn')
    fails(shop, 36, "skn", "parse", "torn.skn", said=r"does not end.*\(torn\.skn:4:5\)")
    fails(shop, 36, "skn", "format", "--in-place", "torn.skn", said=r"torn\.skn:4:")
    fails(shop, 36, "skn", "validate", "torn.skn", said="1 of 1 files are not valid")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (b"{", r"no JSON.*\(bad\.json\)"),
        (b'{"type": "strin"}', r"ill-formed.*\(bad\.json: /type\)"),
        (b'{"$ref": "http://127.0.0.1:1/schema"}', "leads out of the schema.*never fetched"),
        (b'{"$schema": "http://json-schema.org/draft-04/schema#"}', "no draft that is known"),
        (b'{"x-match": "nearly"}', "nearly"),
        (b"[" * 100_000, "nested too deeply"),
        (GARBAGE, "no JSON"),
    ],
)
def test_a_schema_that_cannot_be_used(shop: Path, schema: bytes, said: str) -> None:
    write("bad.json", schema)
    fails(shop, 37, "extract", "inspect", "--schema", "bad.json", said=said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"model: {timeout: 5", r"not YAML.*\(bad\.yaml:1\)"),
        (b"model:\n  timeuot: 5\n", r"unknown key.*\(bad\.yaml:2\)\. did you mean timeout"),
        (b"model:\n  api_key: sk-4711-4711\n", r"environment.*\(bad\.yaml:2\)"),
        (GARBAGE, r"\(bad\.yaml"),
    ],
)
def test_configurations_that_cannot_be_used(shop: Path, content: bytes, said: str) -> None:
    write("bad.yaml", content)
    fails(shop, 38, "extract", "run", "--offline", "--config", "bad.yaml", said=said)


def test_samples_that_are_none(shop: Path) -> None:
    write("bad.jsonl", b'{"text": "no schema"}\n')
    fails(shop, 12, "extract", "inspect", "bad.jsonl", said="its schema is missing")
    fails(shop, 3, "extract", "inspect", "none.jsonl", said="does not exist")
