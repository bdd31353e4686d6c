"""Tests that ``make X``, ``epoche X`` and the script of a stage take the same flags."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

sys.path.insert(0, str(Path(__file__).parent))
from stage_calls import (
    GRAPH,
    PRODUCT,
    ROOT,
    SHAPES,
    CommandResult,
    check_error_line,
    command_line,
    run_epoche,
    run_process,
)

import kg
from epoche.cli import app
from eval.model.recorded_replies import SHIPPED, find_recordings
from eval.model.recording_plan import read_plan

SCRIPTS = {
    "cards": "cards/make_context_cards.py",
    "near-miss": "adversarial/make_near_miss.py",
    "paraphrase": "cards/paraphrase_cards.py",
    "join": "cards/join_cards.py",
    "eval": "eval/run_epistemic_tests.py",
    "metrics": "eval/metrics_abstention.py",
    "report": "reporting/html_report.py",
    "compare": "reporting/commands/compare_runs.py",
    "gate": "eval/commands/gate.py",
    "audit": "cards/audit_labels.py",
    "systems": "eval/commands/list_systems.py",
    "guard": "eval/guard/command.py",
    "merge": "eval/commands/merge.py",
    "outcomes": "eval/outcomes/command.py",
    "degrade": "eval/abstention/commands/degrade.py",
    "score": "eval/abstention/commands/score.py",
    "power": "eval/commands/power.py",
    "record": "eval/commands/record.py",
    "serve-model": "eval/commands/serve_model.py",
    "test-connection": "eval/commands/check_connection.py",
    "verify": "eval/commands/verify.py",
    "extract compare": "eval/extraction/commands/compare.py",
    "extract inspect": "eval/extraction/commands/inspect_dataset.py",
    "extract report": "eval/extraction/commands/report.py",
    "extract run": "eval/extraction/commands/run.py",
    "extract score": "eval/extraction/commands/score.py",
    "extract score-own": "eval/extraction/commands/score_own.py",
    "extract test-connection": "eval/extraction/commands/check_server.py",
    "extract validate-config": "eval/extraction/commands/validate_config.py",
    "kg build": "eval/text/build_graph.py",
    "kg diff": "kg/diff_runs.py",
    "kg export": "kg/export_graph.py",
    "kg extract": "eval/text/extract_triples.py",
    "kg facts": "kg/text/collect_facts.py",
    "kg init": "kg/init_domain.py",
    "kg plot": "reporting/commands/plot_graph.py",
    "retrieval eval": "eval/retrieval_eval/commands/evaluate.py",
    "retrieval import": "eval/retrieval_eval/commands/import_set.py",
    "retrieval score": "eval/retrieval_eval/commands/score.py",
    "retrieval search": "retrieval/search_run.py",
    "retrieval web": "retrieval/search_web.py",
    "skn format": "eval/skn/commands/format_skn.py",
    "skn judge": "eval/skn/commands/judge.py",
    "skn parse": "eval/skn/commands/parse_skn.py",
    "skn run": "eval/skn/commands/run.py",
    "skn score": "eval/skn/commands/score.py",
    "skn validate": "eval/skn/commands/validate_skn.py",
    "synthlink calibrate": "eval/synthlink/commands/calibrate.py",
    "synthlink run": "eval/synthlink/commands/run.py",
    "synthlink score": "eval/synthlink/commands/score.py",
}
PUBLISHED_FLAGS = {
    "cards": "--kg --pred --pred-label --num-per-type --out --seed --subj-hint",
    "near-miss": "--kg --pred --pred-label --num --out",
    "eval": "--cards --system --out --kg-path",
    "metrics": "--results --out --verbose",
    "report": "--results --metrics --out",
    "synthlink score": "--predictions --output-dir",
}
"""Flags of the commands in the published experiments; they must keep their names."""

MAKE_GOALS = (
    *("cards", "near-miss", "eval-kg", "eval-graph-rag", "eval-rag", "eval-controls"),
    *("sample", "metrics", "report", "compare", "audit", "inspect"),
    *("extract", "synthlink"),
)


def get_command_group() -> Any:
    """Returns the parser's command group; untyped, because typer brings its own copy of click."""
    return typer.main.get_group(app)


def list_commands(parent: Any = None, prefix: str = "") -> dict[str, Any]:
    """Lists every command by its full name, including those of groups."""
    commands: dict[str, Any] = {}
    for name, command in (parent or get_command_group()).commands.items():
        is_group = hasattr(command, "commands")
        commands |= (
            list_commands(command, f"{prefix}{name} ") if is_group else {prefix + name: command}
        )
    return commands


def list_flags(click_command: Any) -> dict[str, tuple[str, ...]]:
    """Lists the spellings of each parameter by its name, without ``--help``."""
    return {
        str(parameter.name): (*parameter.opts, *parameter.secondary_opts)
        for parameter in click_command.params
        if parameter.name != "help"
    }


def build_script_command(path: str) -> Any:
    """Builds the command that ``python PATH`` runs."""
    # In the wheel, the packages are parts of ``epoche``.
    package = kg.__name__.removesuffix("kg")
    module = importlib.import_module(package + path.removesuffix(".py").replace("/", "."))
    script_app = typer.Typer(add_completion=False)
    script_app.command()(module.main)
    return typer.main.get_command(script_app)


def test_commands_and_scripts_correspond() -> None:
    # "schema" has no script. Those of "kg inspect" and "kg analyze", kg/inspect_graph.py and
    # eval/text/analyze_query.py, do not call their function ``main``, so they are not found below.
    assert set(list_commands()) - {"schema", "kg inspect", "kg analyze"} == set(SCRIPTS)
    script_paths = {
        str(path.relative_to(PRODUCT))
        for package in ("kg", "cards", "adversarial", "eval", "reporting", "retrieval")
        for path in (PRODUCT / package).rglob("*.py")
        if "run_script(main)" in path.read_text("utf-8") and "domains" not in path.parts
    }
    assert script_paths == set(SCRIPTS.values())


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_and_command_take_the_same_flags(name: str) -> None:
    assert list_flags(list_commands()[name]) == list_flags(build_script_command(SCRIPTS[name]))


@pytest.mark.parametrize("name", PUBLISHED_FLAGS)
def test_published_experiment_flags_exist(name: str) -> None:
    known_flags = {
        flag for spellings in list_flags(list_commands()[name]).values() for flag in spellings
    }
    assert known_flags >= set(PUBLISHED_FLAGS[name].split())


def list_recipe_commands(goal: str, *variables: str) -> list[list[str]]:
    """Lists the ``epoche`` command lines that a make goal would run, split into words."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make")
    listing = subprocess.run(
        [make, "-n", goal, *variables],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line for line in listing.splitlines() if "-m epoche" in line]
    # Flags that depend on existing files can only be expanded by a shell, so they are dropped, and
    # so is what stands before the command, `… python -m epoche`.
    lines = [re.sub(r"\$\(for .*?done\)", "", line).partition(" -m epoche ")[2] for line in lines]
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize("goal", MAKE_GOALS)
@pytest.mark.parametrize(
    "variables",
    [
        (),
        ("NUM=7",),
        ("KG=my graph.ttl", "SHAPES=s.ttl", "PRED=http://x#mouth", "PRED_LABEL=mouth", "NUM=7"),
    ],
    ids=["default", "domain", "own graph"],
)
def test_make_uses_flags_that_exist(goal: str, variables: tuple[str, ...]) -> None:
    lines = list_recipe_commands(goal, *variables, "OUT=o")
    assert lines or goal == "sample"
    for words in lines:
        command = get_command_group()
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        known_flags = {flag for spellings in list_flags(command).values() for flag in spellings}
        used_flags = {word for word in words if word.startswith("--")}
        assert used_flags <= known_flags
        if len(variables) > 1 and "--kg" in used_flags:
            assert "my graph.ttl" in words
            assert "s.ttl" in words


# What a plan of a recording and the Makefile may set differently: it has no effect on requests.
FLAGS_OF_RUNS = {
    *("--out", "--cards", "--if-stale", "--model", "--models", "--concurrency", "--timeout"),
    *("--no-report", "--no-score", "--compare"),
}


def list_request_flags(words: Sequence[str]) -> tuple[str, ...]:
    """Lists the parts of a command that affect what a model is asked, sorted."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            parts.append([])
        parts[-1].append(word)
    command = [word for word in parts[0] if "/" not in word]
    kept = sorted(" ".join(part) for part in parts[1:] if part[0] not in FLAGS_OF_RUNS)
    if command[0] != "extract" and "--seed 12345" in kept:  # elsewhere, it is the default
        kept.remove("--seed 12345")
    return (*command, *kept)


@pytest.mark.checkout
@pytest.mark.parametrize(
    "plan", sorted({path.name.rsplit(".", 3)[1] for path in find_recordings(SHIPPED)} - {"guard"})
)
def test_make_asks_what_was_recorded(plan: str) -> None:
    """A recording is stale if make asks other cards, or with other settings, than its plan."""
    asked = {
        list_request_flags(words)
        for goal in ("all", "compare", "extract", "skn", "synthlink")
        for words in list_recipe_commands(goal)
    }
    for command in read_plan(SHIPPED / f"{plan}.txt"):
        assert list_request_flags(shlex.split(command)) in asked, command


def test_make_replays_whatever_cards_are_drawn_from_rivers() -> None:
    def list_replays(*variables: str) -> list[list[str]]:
        lines = [line for goal in goals for line in list_recipe_commands(goal, *variables)]
        return [words for words in lines if "recorded/" in " ".join(words)]

    goals = ("all", "compare")
    replays = list_replays()
    assert len(replays) == 16
    for variable in ("SEED=3", "NUM=7", "NUM_FAITHFUL=0", "PRED=mouth"):
        assert list_replays(variable) == replays
    for variable in ("DOMAIN=mayors", "SYSTEMS=kg", "KG=a.ttl"):
        assert not list_replays(variable)


def test_make_extract_replays_only_what_was_recorded() -> None:
    (words,) = list_recipe_commands("extract", "EXTRACT_FLAGS=--limit 3 --no-report")
    models = {
        f"recorded/{path.name.rsplit('.', 3)[0]}"
        for path in find_recordings(SHIPPED)
        if path.name.endswith(".extract.jsonl.xz")
    }
    assert set(words[words.index("--models") + 1].split(",")) == models
    for variable in ("SEED=3", "EXTRACT_FLAGS=--sample 9", "EXTRACT_FLAGS=--dataset=mine.jsonl"):
        assert not list_recipe_commands("extract", variable)
    (words,) = list_recipe_commands("extract", "SEED=3", "EPOCHE_MODEL=ollama/a")
    assert words[:4] == ["extract", "run", "--model", "ollama/a"]


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("DOMIAN=mayors", "no such variable: DOMIAN. There are: PYTHON DOMAIN"),
        ("NUM=abc", "NUM must be a whole number, not 'abc'"),
        ("SEED=1.5", "SEED must be a whole number, not '1.5'"),
        ("NUM_NEAR=", "NUM_NEAR must be a whole number, not ''"),
    ],
)
def test_make_refuses_misspelt_variables_and_numbers(variable: str, message: str) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make")
    # Within `make test`, an inner make would also print the folder that it enters.
    listing = subprocess.run(
        [make, "--no-print-directory", "-n", "cards", variable],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listing.returncode == 2
    assert message in listing.stderr
    assert not listing.stdout


def test_make_keeps_graphs_of_one_name_apart(tmp_path: Path) -> None:
    """Two graphs called data.ttl have the same folder of results by default."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for file in ("data.ttl", "my data.ttl"):
            (tmp_path / name / file).write_text("", "utf-8")
        (tmp_path / name / "mine").mkdir()

    def claim_folder(*variables: str) -> subprocess.CompletedProcess[str]:
        command = [make, "--no-print-directory", "own-folder", *variables]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    for source in ("KG={}/data.ttl", "KG={}/my data.ttl", "DOMAIN={}/mine"):
        out = f"OUT={tmp_path / 'out' / source[:2]}{len(source)}"
        first, second = (source.format(tmp_path / name) for name in ("a", "b"))
        for variable, code in ((first, 0), (first, 0), (second, 2), (first, 0)):
            done = claim_folder(variable, out)
            assert done.returncode == code, done.stderr
        done = claim_folder(second, out)
        assert f"has the results of {first.split('=', 1)[1]}. Choose a folder" in done.stderr
        relative = os.path.relpath(first.split("=", 1)[1], ROOT)
        done = claim_folder(f"{source.split('=')[0]}={relative}", out)
        assert done.returncode == 0, done.stderr
    # What is no longer there keeps nobody out.
    shutil.rmtree(tmp_path / "a")
    done = claim_folder(second, out)
    assert done.returncode == 0, done.stderr
    for goal in ("cards", "near-miss", "eval"):
        command = [make, "-n", goal, "KG=data.ttl", "OUT=o"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert "file='o/source.txt'" in done.stdout


def test_make_takes_every_variable_of_its_help() -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make")
    text = subprocess.run([make, "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = re.findall(r"\b([A-Z_]+)=", text.stdout)
    assert len(names) > 10
    subprocess.run(
        [make, "-n", "cards", *(f"{name}=7" for name in names)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )


def run_script(name: str, *arguments: object, cwd: Path) -> CommandResult:
    path = PRODUCT / SCRIPTS[name]
    return run_process([sys.executable, str(path), *map(str, arguments)], cwd)


def test_published_command_lines_run(tmp_path: Path) -> None:
    shutil.copy(GRAPH, tmp_path / "knowledge_graph.ttl")
    shutil.copy(SHAPES, tmp_path / "shapes.ttl")
    mayor = "https://epoche.example/mayors#mayor"
    source = ("--kg", "knowledge_graph.ttl", "--pred", mayor, "--pred-label", "mayor")
    cards, near_miss_cards = "results/context_cards.jsonl", "results/near_miss_cards.jsonl"
    card_options = (*source, "--num-per-type", 20, "--out", cards)
    failure = run_script("cards", *card_options, cwd=tmp_path)
    assert "--shapes" in check_error_line(failure, 7)
    assert not (tmp_path / "results").exists()

    shapes = ("--shapes", "shapes.ttl")
    result = run_script("cards", *card_options, *shapes, cwd=tmp_path)
    assert result.code == 0, result.err
    rows = [json.loads(line) for line in (tmp_path / cards).read_text("utf-8").splitlines()]
    assert {"id", "facts", "question", "gold", "label", "claim"} <= rows[0].keys()
    result = run_script(
        "near-miss", *source, *shapes, "--num", 5, "--out", near_miss_cards, cwd=tmp_path
    )
    assert result.code == 0, result.err
    for system, graph_options in (
        ("kg", ()),
        ("graph_rag", ("--kg-path", "knowledge_graph.ttl", *shapes)),
    ):
        out = f"results/{system}_results.jsonl"
        eval_options = ("--cards", cards, "--system", system, "--out", out)
        result = run_script("eval", *eval_options, *graph_options, cwd=tmp_path)
        assert result.code == 0, result.err
    # Without shapes, those of the cards are used.
    eval_options = ("--cards", cards, "--system", "graph_rag", "--kg-path", "knowledge_graph.ttl")
    result = run_script("eval", *eval_options, "--out", "results/x.jsonl", cwd=tmp_path)
    assert result.code == 0, result.err
    answers = (tmp_path / "results/kg_results.jsonl").read_text("utf-8").splitlines()
    assert all(json.loads(answer)["pass"] for answer in answers), "the graph of the cards was used"
    row = json.loads(answers[0])
    assert {"id", "gold", "pred", "pass", "system", "label"} <= row.keys()
    results = ("--results", "results/graph_rag_results.jsonl")
    metrics_options = (*results, "--out", "results/metrics.json", "--verbose")
    result = run_script("metrics", *metrics_options, cwd=tmp_path)
    assert result.code == 0, result.err
    assert "graph_rag" in result.out
    report_options = (*results, "--metrics", "results/metrics.json", "--out", "results/report.html")
    result = run_script("report", *report_options, cwd=tmp_path)
    assert result.code == 0, result.err
    assert (tmp_path / "results/report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_systems_use_the_graph_of_the_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph is found from any working folder, also after the cards are joined and moved."""
    home, away = tmp_path / "home", tmp_path / "away"
    shutil.copytree(GRAPH.parent, home / "domain")
    text = (home / "domain" / "mayors.ttl").read_text("utf-8")
    (home / "domain" / "mayors.ttl").write_text(text + ":x a cm:City .\n", encoding="utf-8")
    monkeypatch.chdir(home)
    graph = ("--kg", "domain/mayors.ttl", "--shapes", "domain/mayors.shacl.ttl")
    for name, source in (("a", graph), ("b", ("--domain", "domain"))):
        cards, near_miss_cards, joined = (
            f"r/{name}-{part}.jsonl" for part in ("cards", "near", "joined")
        )
        assert run_epoche("cards", *source, "--num-per-type", 3, "--out", cards).code == 0
        assert (
            run_epoche("near-miss", "--cards", cards, "--num", 3, "--out", near_miss_cards).code
            == 0
        )
        assert run_epoche("join", cards, near_miss_cards, "--out", joined).code == 0
        assert str(tmp_path) not in Path(f"r/{name}-joined.manifest.json").read_text("utf-8")
    home.rename(away)
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        out = tmp_path / f"{name}.jsonl"
        eval_options = ("--cards", f"away/r/{name}-joined.jsonl", "--system", "kg", "--out", out)
        result = run_epoche("eval", *eval_options)
        assert result.code == 0, result.err
        assert "warning" not in result.err
        assert all(json.loads(row)["pass"] for row in out.read_text("utf-8").splitlines())
    # Never the full graph, which the shipped domain of the same name would have.
    (away / "r" / "a-cards.graph.nt").unlink()
    (away / "r" / "b-cards.graph.nt").unlink()
    for name in ("a", "b"):
        eval_options = (
            "--cards",
            f"away/r/{name}-joined.jsonl",
            "--system",
            "kg",
            "--out",
            "new.jsonl",
        )
        result = run_epoche("eval", *eval_options, "--overwrite")
        assert "graph that the cards were made from does not exist" in result.err


def test_command_and_script_write_the_same_bytes(tmp_path: Path) -> None:
    flags = ("--domain", "mayors", "--num-per-type", 3, "--out")
    assert run_epoche("cards", *flags, tmp_path / "a.jsonl").code == 0
    assert run_script("cards", *flags, tmp_path / "b.jsonl", cwd=tmp_path).code == 0
    assert run_process(command_line("cards", *flags, tmp_path / "c.jsonl"), tmp_path).code == 0
    expected = (tmp_path / "a.jsonl").read_bytes()
    assert expected == (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


def test_every_command_has_help(tmp_path: Path) -> None:
    for name in (*SCRIPTS, "schema", "kg", "kg inspect", "kg analyze", "retrieval"):
        result = run_epoche(*name.split(), "--help")
        assert result.code == 0
        assert "Usage: " in result.out
    version = run_process(command_line("--version"), tmp_path)
    assert re.fullmatch(r"epoche \d+\.\d+\.\d+\n", version.out)
