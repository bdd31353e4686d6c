"""Tests that unusable documents, runs, searches and model replies give one error line each.

The exit code must be that of the error (see docs/reference/exit-codes.md), and no file may change.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from library_documents import write_documents
from servers import behaviours
from servers.scripted_server import ScriptedServer

sys.path.insert(0, str(Path(__file__).parent))
from stage_calls import run_epoche
from test_bad_input import GARBAGE, check_failure, write_file

from kg.text.run import layout


@pytest.fixture
def small_run(workspace: Path) -> Path:
    """A run of three small documents, next to the outputs of every other stage."""
    documents = write_documents(workspace / "docs")
    assert run_epoche("kg", "build", documents, "--out", "runs/small").code == 0
    return workspace / "runs" / "small"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.md", b"", "empty"),
        ("scan.pdf", GARBAGE, "PDF"),
        ("binary.txt", GARBAGE, r"binary\.txt"),
    ],
)
def test_documents_without_text_are_reported(
    workspace: Path, name: str, content: bytes, message: str
) -> None:
    write_file(name, content)
    check_failure(workspace, 30, "kg", "build", name, "--out", "runs/new", message=message)


@pytest.mark.usefixtures("small_run")
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
def test_half_written_run_is_reported(workspace: Path, command: tuple[str, ...]) -> None:
    graph = workspace / "runs" / "small" / layout.GRAPH
    graph.write_bytes(graph.read_bytes()[:-7])
    check_failure(workspace, 31, *command, message=r"the run is incomplete: graph\.json")


@pytest.mark.extra("minilm")
def test_run_of_another_embedding_model_is_refused(small_run: Path, workspace: Path) -> None:
    write_file("more.md", "# 9 Keys\n\nA key opens the library.\n")
    extend = ("kg", "build", "more.md", "--out", "runs/small", "--extend")
    check_failure(
        workspace,
        32,
        *extend,
        "--embedder",
        "minilm",
        message="built with the embedding model lexical",
    )
    assert small_run.is_dir()


def test_model_with_unusable_replies_is_reported(
    workspace: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    write_file("doc.md", "# 1 Keys\n\nA key opens the library.\n")
    scripted_server.behave(behaviours.normal_reply(lambda _request: "keywords? surely"))
    build = ("kg", "build", "doc.md", "--out", "runs/new", "--no-cache", "--no-resume")
    model = ("--keywords", "model", "--model", f"custom/{scripted_server.model}")
    check_failure(
        workspace, 33, *build, *model, "--strict", message="1 chunks? got no usable reply"
    )


def test_unrecorded_search_is_reported(workspace: Path) -> None:
    write_file("searches.jsonl", "")
    command = ("retrieval", "web", "who lends tools", "--frozen", "searches.jsonl")
    check_failure(workspace, 34, *command, message="who lends tools")


def test_run_without_section_tree_cannot_be_exported(workspace: Path) -> None:
    write_file("doc.md", "# 1 Keys\n\nA key opens the library.\n")
    assert run_epoche("kg", "build", "doc.md", "--out", "runs/flat", "--no-sections").code == 0
    export = ("kg", "export", "--run", "runs/flat", "--ttl", "new.ttl")
    check_failure(workspace, 35, *export, message="no section tree")


def test_invalid_skn_texts_are_reported(workspace: Path) -> None:
    write_file("torn.skn", '[SKN]\n@src web | fresh:low | reliability:0.5\n@facts\n  ! "torn')
    check_failure(
        workspace, 36, "skn", "parse", "torn.skn", message=r"does not end.*\(torn\.skn:4:5\)"
    )
    check_failure(workspace, 36, "skn", "format", "--in-place", "torn.skn", message=r"torn\.skn:4:")
    check_failure(
        workspace, 36, "skn", "validate", "torn.skn", message="1 of 1 files are not valid"
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (b"{", r"not JSON.*\(bad\.json\)"),
        (b'{"type": "strin"}', r"malformed.*\(bad\.json: /type\)"),
        (b'{"$ref": "http://127.0.0.1:1/schema"}', "leads out of the schema.*never fetched"),
        (b'{"$schema": "http://json-schema.org/draft-03/schema#"}', "an unsupported draft"),
        (b'{"x-match": "nearly"}', "nearly"),
        (b"[" * 100_000, "nested too deeply"),
        (GARBAGE, "not JSON"),
    ],
)
def test_unusable_schema_is_reported(workspace: Path, schema: bytes, message: str) -> None:
    write_file("bad.json", schema)
    check_failure(workspace, 37, "extract", "inspect", "--schema", "bad.json", message=message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"model: {timeout: 5", r"not YAML.*\(bad\.yaml:1\)"),
        (b"model:\n  timeuot: 5\n", r"unknown key.*\(bad\.yaml:2\)\. did you mean timeout"),
        (b"model:\n  api_key: sk-4711-4711\n", r"environment.*\(bad\.yaml:2\)"),
        (GARBAGE, r"\(bad\.yaml"),
    ],
)
def test_unusable_configurations_are_reported(
    workspace: Path, content: bytes, message: str
) -> None:
    write_file("bad.yaml", content)
    check_failure(workspace, 38, "extract", "run", "--config", "bad.yaml", message=message)


def test_invalid_samples_are_reported(workspace: Path) -> None:
    write_file("bad.jsonl", b'{"text": "no schema"}\n')
    check_failure(workspace, 12, "extract", "inspect", "bad.jsonl", message="its schema is missing")
    check_failure(
        workspace, 3, "extract", "inspect", "none.jsonl", message="no such file or folder"
    )
