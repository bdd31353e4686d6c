"""Tests the command for web searches: replay, recording, and refused options.

docs/reference/exit-codes.md lists the exit codes.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.search_engine import SearchEngine, make_certificates, render_results_page
from typer.testing import CliRunner

from epoche.cli import app
from retrieval.web import CA_FILE_VARIABLE, PROXY_VARIABLE
from retrieval.web_results import (
    FrozenQuery,
    append_frozen_query,
    clean_results,
    hash_query,
    read_frozen_queries,
)

needs_live_search = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
RHINE = ("The \x1b[31mRhine", "https://example.org/rhine", "The Rhine flows into the North Sea.")
QUERY = "Where does the Rhine end?"


def run_web_search(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["retrieval", "web", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchEngine]:
    make_certificates(tmp_path, "html.duckduckgo.com")
    with SearchEngine(tmp_path) as server:
        monkeypatch.setenv(PROXY_VARIABLE, server.address)
        monkeypatch.setenv(CA_FILE_VARIABLE, str(tmp_path / "ca.pem"))
        yield server


def test_recorded_search_is_printed(tmp_path: Path) -> None:
    frozen_file = tmp_path / "web.jsonl"
    row = FrozenQuery(
        QUERY, hash_query(QUERY), "2026-01-01T00:00:00+00:00", (), clean_results([RHINE])
    )
    append_frozen_query(frozen_file, row)
    code, text = run_web_search(QUERY, "--frozen", str(frozen_file))
    assert code == 0
    assert "  1  1.0000  web#" in text
    assert "https://example.org/rhine" in text
    assert "\x1b" not in text
    code, text = run_web_search(QUERY, "--frozen", str(frozen_file), "--json")
    (result,) = json.loads(text)["results"]
    assert (code, result["note"], result["score"]) == (0, "https://example.org/rhine", 1.0)
    code, text = run_web_search("never asked", "--frozen", str(frozen_file))
    assert code == 34
    assert "no search for 'never asked' was recorded" in text


def test_web_search_needs_explicit_options(tmp_path: Path) -> None:
    frozen_file = str(tmp_path / "web.jsonl")
    assert run_web_search(QUERY)[0] == 19
    assert run_web_search(QUERY, "--backend", "mojeek", "--frozen", frozen_file)[0] == 19
    assert run_web_search("--questions", frozen_file)[0] == 19
    assert run_web_search("--questions", frozen_file, "--frozen", frozen_file)[0] == 19
    assert run_web_search()[0] == 19
    assert run_web_search(QUERY, "--questions", frozen_file)[0] == 19
    assert run_web_search(QUERY, "--frozen", frozen_file)[0] == 3


@needs_live_search
def test_searches_are_recorded_once_and_kept_after_a_failure(
    engine: SearchEngine, tmp_path: Path
) -> None:
    questions, frozen_file = tmp_path / "cards.jsonl", tmp_path / "web.jsonl"
    texts = [QUERY, "And the Main?", QUERY]
    questions.write_text("".join(json.dumps({"id": n, "question": t}) + "\n"
                                 for n, t in enumerate(texts)))  # fmt: skip
    record_options = ("--live", "--frozen", str(frozen_file), "--backend", "duckduckgo")
    engine.page = render_results_page([RHINE])
    assert run_web_search(QUERY, *record_options)[0] == 0
    assert len(engine.requests) == 1
    engine.status = 429
    code, text = run_web_search("--questions", str(questions), *record_options)
    assert code == 34
    assert "duckduckgo: refused" in text
    assert len(read_frozen_queries(frozen_file)) == 1
    engine.status, engine.page = 200, render_results_page([])
    code, text = run_web_search("--questions", str(questions), *record_options)
    assert code == 0
    assert "2 searches recorded (1 were recorded before; 1 found nothing)" in text
    assert len(engine.requests) == 3
    assert run_web_search(QUERY, "--frozen", str(frozen_file))[0] == 0
    assert run_web_search("And the Main?", "--frozen", str(frozen_file)) == (0, "nothing found\n")
    # Without --frozen nothing is recorded, and every search is sent.
    assert run_web_search(QUERY, "--live", "--backend", "duckduckgo") == (0, "nothing found\n")
    questions.write_text('{"id": 1}\n')
    assert run_web_search("--questions", str(questions), *record_options)[0] == 12
    assert run_web_search("--questions", str(frozen_file), *record_options)[0] == 15, (
        "the recording must not overwrite its own questions"
    )
