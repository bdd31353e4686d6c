"""The command for searches on the web: replay, recording, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.search_engine import SearchEngine, make_certificates, page_of
from typer.testing import CliRunner

from epoche.cli import app
from retrieval.web import AUTHORITIES_VARIABLE, PROXY_VARIABLE
from retrieval.web_results import FrozenQuery, append_frozen, cleaned, query_sha256, read_frozen

live = pytest.mark.skipif(
    importlib.util.find_spec("ddgs") is None or shutil.which("openssl") is None,
    reason="needs the extra web, and openssl to make certificates",
)
RHINE = ("The \x1b[31mRhine", "https://example.org/rhine", "The Rhine flows into the North Sea.")
QUERY = "Where does the Rhine end?"


def web(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["retrieval", "web", *arguments])
    return done.exit_code, done.output


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchEngine]:
    make_certificates(tmp_path, "html.duckduckgo.com")
    with SearchEngine(tmp_path) as server:
        monkeypatch.setenv(PROXY_VARIABLE, server.address)
        monkeypatch.setenv(AUTHORITIES_VARIABLE, str(tmp_path / "ca.pem"))
        yield server


def test_a_recorded_search_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "web.jsonl"
    row = FrozenQuery(QUERY, query_sha256(QUERY), "2026-01-01T00:00:00+00:00", (), cleaned([RHINE]))
    append_frozen(file, row)
    code, text = web(QUERY, "--frozen", str(file))
    assert code == 0
    assert "  1  1.0000  web#" in text
    assert "https://example.org/rhine" in text
    assert "\x1b" not in text
    code, text = web(QUERY, "--frozen", str(file), "--json")
    (found,) = json.loads(text)["results"]
    assert (code, found["note"], found["score"]) == (0, "https://example.org/rhine", 1.0)
    code, text = web("never asked", "--frozen", str(file))
    assert code == 34
    assert "no search for 'never asked' was recorded" in text


def test_nothing_is_asked_of_the_web_unless_it_may_be(tmp_path: Path) -> None:
    file = str(tmp_path / "web.jsonl")
    assert web(QUERY)[0] == 19
    assert web(QUERY, "--backend", "mojeek", "--frozen", file)[0] == 19
    assert web("--questions", file)[0] == 19
    assert web("--questions", file, "--frozen", file)[0] == 19
    assert web()[0] == 19
    assert web(QUERY, "--questions", file)[0] == 19
    assert web(QUERY, "--frozen", file)[0] == 3


@live
def test_questions_are_recorded_once_and_a_failure_loses_nothing(
    engine: SearchEngine, tmp_path: Path
) -> None:
    questions, file = tmp_path / "cards.jsonl", tmp_path / "web.jsonl"
    texts = [QUERY, "And the Main?", QUERY]
    questions.write_text("".join(json.dumps({"id": n, "question": t}) + "\n"
                                 for n, t in enumerate(texts)))  # fmt: skip
    record = ("--live", "--frozen", str(file), "--backend", "duckduckgo")
    engine.page = page_of([RHINE])
    assert web(QUERY, *record)[0] == 0
    assert len(engine.requests) == 1
    engine.status = 429
    code, text = web("--questions", str(questions), *record)
    assert code == 34
    assert "it refused" in text
    assert len(read_frozen(file)) == 1
    engine.status, engine.page = 200, page_of([])
    code, text = web("--questions", str(questions), *record)
    assert code == 0
    assert "2 searches recorded (1 were there already; 1 found nothing)" in text
    assert len(engine.requests) == 3
    assert web(QUERY, "--frozen", str(file))[0] == 0
    assert web("And the Main?", "--frozen", str(file)) == (0, "nothing found\n")
    # Without a file nothing is kept, and the web is asked each time.
    assert web(QUERY, "--live", "--backend", "duckduckgo") == (0, "nothing found\n")
    questions.write_text('{"id": 1}\n')
    assert web("--questions", str(questions), *record)[0] == 12
    assert web("--questions", str(file), *record)[0] == 15, "it would take the place of itself"
