"""Tests that shapes which would take forever end in an error that names them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from stage_calls import PRODUCT, check_error_line, run_epoche

from kg.base.errors import SettingError, ShapesError
from kg.base.time_budget import VARIABLE, limit_time, read_seconds
from kg.claims import Claim
from kg.knowledge import KnowledgeBase

EX = "https://example.org/"
PREFIXES = (
    f"@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
)
PATTERN = 'sh:property [ sh:path ex:code ; sh:pattern "^(a+)+$" ]'
QUERY = (
    "sh:sparql [ a sh:SPARQLConstraint ; sh:message 'm' ; sh:select '''SELECT $this WHERE "
    "{ ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h FILTER(?a = ?h && ?b = 'zzz') }''' ]"
)
STARS = (
    "sh:property [ sh:path [ sh:zeroOrMorePath [ sh:oneOrMorePath [ sh:zeroOrOnePath ex:knows ] ] ]"
    " ; sh:maxCount 500 ]"
)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    lines = [
        f'ex:p{n} a ex:Person ; rdfs:label "Person {chr(65 + n % 26)}{n}" ; '
        f'ex:code "{"a" * 40}b{n}" ; ex:knows ex:p{(n + 1) % 60}, ex:p{n * 7 % 60} .'
        for n in range(60)
    ]
    path = tmp_path / "g.ttl"
    path.write_text(PREFIXES + "\n".join(lines), "utf-8")
    return path


def write_shapes(folder: Path, body: str) -> Path:
    path = folder / "s.ttl"
    path.write_text(f"{PREFIXES}ex:Slow sh:targetClass ex:Person ; {body} .", "utf-8")
    return path


@pytest.mark.parametrize(
    ("body", "engine"),
    [(PATTERN, "incremental"), (PATTERN, "pyshacl"), (QUERY, "incremental")],
)
def test_slow_shapes_are_stopped_and_named(
    tmp_path: Path, graph: Path, monkeypatch: pytest.MonkeyPatch, body: str, engine: str
) -> None:
    monkeypatch.setenv(VARIABLE, "0.1")
    shapes = write_shapes(tmp_path, body)
    done = run_epoche(
        *("cards", "--kg", graph, "--shapes", shapes, "--pred", "code", "--engine", engine),
        *("--out", tmp_path / "c.jsonl"),
    )
    line = check_error_line(done, 8)
    assert f"{EX}Slow" in line
    assert "of processor time" in line
    assert VARIABLE in line
    assert not (tmp_path / "c.jsonl").exists()


def test_a_stopped_claim_leaves_the_graph_as_it_was(
    tmp_path: Path, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0.1")
    kb = KnowledgeBase.open(None, [graph], [write_shapes(tmp_path, PATTERN)])
    size = len(kb.oracle.closure.index)
    claim = Claim(EX + "p1", EX + "code", f'"{"a" * 50}c"')
    with pytest.raises(ShapesError, match="of processor time on"):
        kb.oracle.license(claim)
    assert len(kb.oracle.closure.index) == size
    # What takes little time is decided as before.
    assert kb.oracle.license(Claim(EX + "p1", EX + "knows", EX + "p9")).label == "U"


def test_nested_stars_are_one_star(tmp_path: Path, graph: Path) -> None:
    kb = KnowledgeBase.open(None, [graph], [write_shapes(tmp_path, STARS)])
    assert not kb.oracle.find_violations()


def test_threads_and_other_work_are_not_stopped() -> None:
    results: list[int] = []

    def work() -> None:
        with limit_time(lambda seconds: ShapesError(f"{seconds}")) as budget:
            budget.restart()
            results.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [1]


@pytest.mark.parametrize("text", ["0", "-1", "many", "nan", "inf"])
def test_bad_numbers_of_seconds_are_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(SettingError, match="not a positive number of seconds"):
        read_seconds()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_no_timer_runs_while_the_process_ends() -> None:
    # Its signal would kill the process: Python handles none any more.
    script = """
import atexit, signal
from kg.base.time_budget import limit_time
show = lambda: print(signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 0)
atexit.register(show)
with limit_time(lambda _seconds: ValueError()):
    show()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PRODUCT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
