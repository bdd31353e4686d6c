"""``make X``, ``epoche X`` and the script of a stage take the same flags."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

sys.path.insert(0, str(Path(__file__).parent))
from stage_calls import (
    GRAPH,
    ROOT,
    SHAPES,
    CommandResult,
    check_error_line,
    command_line,
    run_epoche,
    run_process,
)

from epoche.cli import app

SCRIPTS = {
    "cards": "cards/make_context_cards.py",
    "near-miss": "adversarial/make_near_miss.py",
    "join": "cards/join_cards.py",
    "eval": "eval/run_epistemic_tests.py",
    "metrics": "eval/metrics_abstention.py",
    "report": "reporting/html_report.py",
    "compare": "reporting/compare_runs.py",
    "gate": "eval/gate_runs.py",
    "audit": "cards/audit_labels.py",
    "systems": "eval/list_systems.py",
    "guard": "eval/guard_text.py",
    "merge": "eval/merge_runs.py",
    "power": "eval/power_analysis.py",
    "test-connection": "eval/check_connection.py",
    "extract compare": "reporting/compare_extraction.py",
    "extract inspect": "eval/extraction/commands/inspect_dataset.py",
    "extract report": "reporting/report_extraction.py",
    "extract run": "reporting/run_extraction.py",
    "extract score-own": "reporting/score_own.py",
    "extract test-connection": "eval/extraction/commands/check_server.py",
    "extract validate-config": "eval/extraction/commands/validate_config.py",
    "kg build": "eval/text/build_graph.py",
    "kg export": "kg/export_graph.py",
    "kg extract": "eval/text/extract_triples.py",
    "kg plot": "reporting/plot_graph.py",
    "retrieval eval": "eval/ranking/measure_retrieval.py",
    "retrieval search": "retrieval/search_run.py",
    "retrieval web": "retrieval/search_web.py",
    "skn format": "eval/skn/commands/format_skn.py",
    "skn parse": "eval/skn/commands/parse_skn.py",
    "skn run": "reporting/run_skn.py",
    "skn validate": "eval/skn/commands/validate_skn.py",
    "synthlink run": "reporting/run_synthlink.py",
    "synthlink score": "reporting/score_synthlink.py",
}
SEED_FLAGS = {
    "cards": "--kg --pred --pred-label --num-per-type --out --seed --subj-hint",
    "near-miss": "--kg --pred --pred-label --num --out",
    "eval": "--cards --system --out --kg-path",
    "metrics": "--results --out --verbose",
    "report": "--results --metrics --out",
    "synthlink score": "--predictions --output-dir",
}
MAKE_GOALS = (
    *("cards", "near-miss", "eval-kg", "eval-graph-rag", "eval-rag", "eval-controls"),
    *("metrics", "report", "compare", "audit", "inspect"),
)


def command_group() -> Any:
    """The whole command as the parser knows it (typer brings its own copy of click)."""
    return typer.main.get_group(app)


def list_commands(parent: Any = None, prefix: str = "") -> dict[str, Any]:
    """Every command by its full name, including those of groups."""
    found: dict[str, Any] = {}
    for name, one in (parent or command_group()).commands.items():
        inner = hasattr(one, "commands")
        found |= list_commands(one, f"{prefix}{name} ") if inner else {prefix + name: one}
    return found


def list_flags(click_command: Any) -> dict[str, tuple[str, ...]]:
    """Parameter name → its spellings, without ``--help``."""
    return {
        str(parameter.name): (*parameter.opts, *parameter.secondary_opts)
        for parameter in click_command.params
        if parameter.name != "help"
    }


def script_command(path: str) -> Any:
    """The command that ``python PATH`` builds."""
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    one = typer.Typer(add_completion=False)
    one.command()(module.main)
    return typer.main.get_command(one)


def test_commands_and_scripts_correspond() -> None:
    # The first has no script; those of the others, kg/inspect_graph.py and kg/analyze_query.py,
    # call their function by another name.
    assert set(list_commands()) - {"schema", "kg inspect", "kg analyze"} == set(SCRIPTS)
    starts = {
        str(path.relative_to(ROOT))
        for room in ("kg", "cards", "adversarial", "eval", "reporting", "retrieval")
        for path in (ROOT / room).rglob("*.py")
        if "run_script(main)" in path.read_text("utf-8") and "domains" not in path.parts
    }
    assert starts == set(SCRIPTS.values())


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_and_command_take_the_same_flags(name: str) -> None:
    assert list_flags(list_commands()[name]) == list_flags(script_command(SCRIPTS[name]))


@pytest.mark.parametrize("name", SEED_FLAGS)
def test_published_experiment_flags_exist(name: str) -> None:
    known = {flag for spelt in list_flags(list_commands()[name]).values() for flag in spelt}
    assert known >= set(SEED_FLAGS[name].split())


def recipe_command(goal: str, *variables: str) -> list[list[str]]:
    """The ``epoche`` command lines that a make goal would run, split into words."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make")
    shown = subprocess.run(
        [make, "-n", goal, *variables],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line for line in shown.splitlines() if "-m epoche" in line]
    # Flags that depend on existing files can only be expanded by a shell, so they are dropped.
    return [shlex.split(re.sub(r"\$\(for .*?done\)", "", line))[3:] for line in lines]


@pytest.mark.parametrize("goal", MAKE_GOALS)
@pytest.mark.parametrize(
    "variables",
    [
        ("NUM=7",),
        ("KG=my graph.ttl", "SHAPES=s.ttl", "PRED=http://x#mouth", "PRED_LABEL=mouth", "NUM=7"),
    ],
    ids=["domain", "own graph"],
)
def test_make_uses_flags_that_exist(goal: str, variables: tuple[str, ...]) -> None:
    lines = recipe_command(goal, *variables, "OUT=o")
    assert lines
    for words in lines:
        of = command_group()
        while hasattr(of, "commands"):
            of = of.commands[words.pop(0)]
        known = {flag for spelt in list_flags(of).values() for flag in spelt}
        used = {word for word in words if word.startswith("--")}
        assert used <= known
        if len(variables) > 1 and "--kg" in used:
            assert "my graph.ttl" in words
            assert "s.ttl" in words


def run_script(name: str, *arguments: object, cwd: Path) -> CommandResult:
    path = ROOT / SCRIPTS[name]
    return run_process([sys.executable, str(path), *map(str, arguments)], cwd)


def test_published_command_lines_run(tmp_path: Path) -> None:
    shutil.copy(GRAPH, tmp_path / "knowledge_graph.ttl")
    shutil.copy(SHAPES, tmp_path / "shapes.ttl")
    mayor = "https://epoche.example/mayors#mayor"
    source = ("--kg", "knowledge_graph.ttl", "--pred", mayor, "--pred-label", "mayor")
    cards, near = "results/context_cards.jsonl", "results/near_miss_cards.jsonl"
    made = (*source, "--num-per-type", 20, "--out", cards)
    refused = run_script("cards", *made, cwd=tmp_path)
    assert "--shapes" in check_error_line(refused, 7)
    assert not (tmp_path / "results").exists()

    shapes = ("--shapes", "shapes.ttl")
    done = run_script("cards", *made, *shapes, cwd=tmp_path)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (tmp_path / cards).read_text("utf-8").splitlines()]
    assert {"id", "facts", "question", "gold", "label", "claim"} <= rows[0].keys()
    done = run_script("near-miss", *source, *shapes, "--num", 5, "--out", near, cwd=tmp_path)
    assert done.code == 0, done.err
    for system, more in (("kg", ()), ("graph_rag", ("--kg-path", "knowledge_graph.ttl", *shapes))):
        out = f"results/{system}_results.jsonl"
        asked = ("--cards", cards, "--system", system, "--out", out)
        done = run_script("eval", *asked, *more, cwd=tmp_path)
        assert done.code == 0, done.err
    asked = ("--cards", cards, "--system", "graph_rag", "--kg-path", "knowledge_graph.ttl")
    refused = run_script("eval", *asked, "--out", "results/x.jsonl", cwd=tmp_path)
    assert "--shapes" in check_error_line(refused, 7)
    answers = (tmp_path / "results/kg_results.jsonl").read_text("utf-8").splitlines()
    assert all(json.loads(answer)["pass"] for answer in answers), "it asked the cards' own graph"
    row = json.loads(answers[0])
    assert {"id", "gold", "pred", "pass", "system", "label"} <= row.keys()
    results = ("--results", "results/graph_rag_results.jsonl")
    measured = (*results, "--out", "results/metrics.json", "--verbose")
    done = run_script("metrics", *measured, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "graph_rag" in done.out
    shown = (*results, "--metrics", "results/metrics.json", "--out", "results/report.html")
    done = run_script("report", *shown, cwd=tmp_path)
    assert done.code == 0, done.err
    assert (tmp_path / "results/report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_systems_use_the_graph_of_the_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any working folder and however the graph was named, also after joining and moving."""
    home, away = tmp_path / "home", tmp_path / "away"
    shutil.copytree(GRAPH.parent, home / "domain")
    text = (home / "domain" / "mayors.ttl").read_text("utf-8")
    (home / "domain" / "mayors.ttl").write_text(text + ":x a cm:City .\n", encoding="utf-8")
    monkeypatch.chdir(home)
    graph = ("--kg", "domain/mayors.ttl", "--shapes", "domain/mayors.shacl.ttl")
    for name, source in (("a", graph), ("b", ("--domain", "domain"))):
        cards, near, joined = (f"r/{name}-{part}.jsonl" for part in ("cards", "near", "joined"))
        assert run_epoche("cards", *source, "--num-per-type", 3, "--out", cards).code == 0
        assert run_epoche("near-miss", *source, "--num", 3, "--out", near).code == 0
        assert run_epoche("join", cards, near, "--out", joined).code == 0
        assert str(tmp_path) not in Path(f"r/{name}-joined.manifest.json").read_text("utf-8")
    home.rename(away)
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        out = tmp_path / f"{name}.jsonl"
        asked = ("--cards", f"away/r/{name}-joined.jsonl", "--system", "kg", "--out", out)
        done = run_epoche("eval", *asked)
        assert done.code == 0, done.err
        assert "warning" not in done.err
        assert all(json.loads(row)["pass"] for row in out.read_text("utf-8").splitlines())
    (away / "domain" / "domain.toml").unlink()
    (away / "domain" / "mayors.ttl").unlink()
    for name in ("a", "b"):
        asked = ("--cards", f"away/r/{name}-joined.jsonl", "--system", "kg", "--out", "new.jsonl")
        done = run_epoche("eval", *asked, "--overwrite")
        assert "the cards were made from another graph" in done.err


def test_command_and_script_write_the_same_bytes(tmp_path: Path) -> None:
    flags = ("--domain", "mayors", "--num-per-type", 3, "--out")
    assert run_epoche("cards", *flags, tmp_path / "a.jsonl").code == 0
    assert run_script("cards", *flags, tmp_path / "b.jsonl", cwd=tmp_path).code == 0
    assert run_process(command_line("cards", *flags, tmp_path / "c.jsonl"), tmp_path).code == 0
    first = (tmp_path / "a.jsonl").read_bytes()
    assert first == (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


def test_every_command_has_help(tmp_path: Path) -> None:
    for name in (*SCRIPTS, "schema", "kg", "kg inspect", "kg analyze", "retrieval"):
        done = run_epoche(*name.split(), "--help")
        assert done.code == 0
        assert "Usage: " in done.out
    shown = run_process(command_line("--version"), tmp_path)
    assert re.fullmatch(r"epoche \d+\.\d+\.\d+\n", shown.out)
