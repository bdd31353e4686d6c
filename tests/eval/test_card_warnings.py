"""Tests that a card set that leaks or lacks a label says so wherever its scores are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from stage_calls import CommandResult, run_epoche

from eval.abstention.manifest import read_manifest
from eval.abstention.metrics.record import read_metrics
from kg.base.provenance import compute_content_digest, manifest_path

LEAK = (
    "Labels can be predicted without reading the evidence, by degrees in the graph: balanced "
    "accuracy 0.480 [0.411, 0.530], chance 0.333."
)
HOSTILE = "No card has\n| <b>the</b> answer [NO](x) `\x1b[31m"
HOSTILE_TEXT = "No card has | <b>the</b> answer [NO](x) `"
FEW = ("--resamples", 100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cards whose manifest has two warnings, the results of two systems, and their metrics."""
    folder = tmp_path_factory.mktemp("warned")
    cards = folder / "cards.jsonl"
    run("cards", "--domain", "mayors", "--num-per-type", 4, "--out", cards)
    manifest = json.loads(manifest_path(cards).read_text("utf-8"))
    assert manifest["warnings"] == []
    manifest["warnings"] = [LEAK, HOSTILE]
    manifest["content_sha256"] = compute_content_digest(manifest)
    manifest_path(cards).write_text(json.dumps(manifest), "utf-8")
    for system in ("kg", "rag"):
        run("eval", "--cards", cards, "--system", system, "--out", folder / f"{system}.jsonl")
    return folder


def run(*arguments: object) -> CommandResult:
    done = run_epoche(*arguments)
    assert done.code == 0, done.err
    return done


def list_results(folder: Path) -> tuple[Path, Path]:
    return folder / "kg.jsonl", folder / "rag.jsonl"


def check_first_lines(text: str) -> None:
    """Checks that the warnings come first, a line each, without control characters."""
    first, second, *others = text.splitlines()
    assert first == f"WARNING: {LEAK}"
    assert second.startswith(f"WARNING: {HOSTILE_TEXT}")
    assert "\x1b" not in text
    assert not any("WARNING" in line for line in others)


def check_banner(page: Path) -> None:
    """Checks that a page begins with the warnings, before its first sentence and number."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    title = soup.find("h1")
    assert title
    banner = title.find_next_sibling()
    assert banner
    assert "warning" in banner["class"]
    _, first, second = (line.get_text() for line in banner.find_all("p"))
    assert first == LEAK
    assert "<b>the</b>" in second
    assert banner.find("b") is None


def check_markdown(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if line]
    assert lines[0].startswith("# ")
    for line, words in zip(
        lines[1:3], ("without reading the evidence", "No card has"), strict=True
    ):
        assert line.startswith("> **Warning:** ")
        assert words in line
    assert "<b>" not in lines[2]


def test_runs_carry_the_warnings_of_their_cards(folder: Path, tmp_path: Path) -> None:
    for path in list_results(folder):
        assert read_manifest(manifest_path(path)).card_warnings == (LEAK, HOSTILE)
    cards, shards = folder / "cards.jsonl", [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for number, shard in enumerate(shards, 1):
        part = ("--system", "rag", "--shard", f"{number}/2", "--out", shard)
        run("eval", "--cards", cards, *part)
    run("merge", *shards, "--cards", cards, "--out", tmp_path / "merged.jsonl")
    merged = read_manifest(tmp_path / "merged.manifest.json")
    assert merged.card_warnings == (LEAK, HOSTILE)


def test_metrics_begin_with_the_warnings(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    metrics = ("metrics", *list_results(folder), *FEW, "--out", out)
    check_first_lines(run(*metrics).out)
    assert read_metrics(out).warnings == (LEAK, HOSTILE)
    keys = list(json.loads(out.read_text("utf-8")))
    assert keys.index("warnings") < keys.index("policies")
    # Tables and the texts around them are wrapped.
    wide = " ".join(run(*metrics, "--verbose").out.split())
    assert wide.startswith(f"WARNING: {LEAK} WARNING: {HOSTILE_TEXT}")


def test_compare_begins_with_the_warnings(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    check_first_lines(run("compare", *list_results(folder), *FEW, "--out", out).out)
    assert json.loads(out.read_text("utf-8"))["warnings"] == [LEAK, HOSTILE]
    check_banner(out.with_suffix(".html"))
    check_markdown(out.with_suffix(".md"))


def test_the_report_begins_with_the_warnings(folder: Path, tmp_path: Path) -> None:
    out, metrics = tmp_path / "r.html", tmp_path / "m.json"
    run("metrics", *list_results(folder), *FEW, "--out", metrics)
    # Metrics of an earlier version do not have them.
    record: dict[str, Any] = json.loads(metrics.read_text("utf-8"))
    del record["warnings"]
    record["content_sha256"] = compute_content_digest(record)
    metrics.write_text(json.dumps(record), "utf-8")
    report = ("report", *list_results(folder), "--metrics", metrics, "--out", out)
    check_first_lines(run(*report).out)
    check_banner(out)
    check_markdown(out.with_suffix(".md"))
    document = json.loads(out.with_suffix(".json").read_text("utf-8"))
    assert document["warnings"][0] == LEAK


def test_the_gate_prints_the_warnings_once(folder: Path) -> None:
    files = ("--baseline", folder / "kg.jsonl", *FEW)
    done = run_epoche("gate", folder / "rag.jsonl", *files, "--metric", "LA>=0")
    check_first_lines(done.out)


def test_results_of_others_get_the_warnings_of_their_cards(folder: Path, tmp_path: Path) -> None:
    cards, path = folder / "cards.jsonl", tmp_path / "theirs.jsonl"
    path.write_bytes((folder / "rag.jsonl").read_bytes())
    out = tmp_path / "m.json"
    run("metrics", path, *FEW, "--out", out)
    (unverified,) = read_metrics(out).warnings
    assert "rows:unverified" in unverified
    printed = run("metrics", path, "--cards", cards, *FEW, "--out", out).out
    first, _, others = printed.partition("\n")
    assert first == f"WARNING: {unverified}"
    check_first_lines(others)
    assert read_metrics(out).warnings == (unverified, LEAK, HOSTILE)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    predictions = tmp_path / "p.jsonl"
    predictions.write_text(
        "".join(json.dumps({"id": row["id"], "pred": row["pred"]}) + "\n" for row in rows), "utf-8"
    )
    scored = ("--predictions", f"x={predictions}", "--out", tmp_path / "x.jsonl")
    check_first_lines(run("score", "--cards", cards, *scored, *FEW).out)
    assert read_manifest(tmp_path / "x.manifest.json").card_warnings == (LEAK, HOSTILE)


def test_strict_metrics_stop_on_such_cards(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    done = run_epoche("metrics", *list_results(folder), "--strict", *FEW, "--out", out)
    assert done.code == 17
    assert LEAK in done.err
    assert not out.exists()


def test_cards_that_lack_a_label_say_so_with_every_score(tmp_path: Path) -> None:
    """No rule forbids a second hobby, so no card about it can be contradictory."""
    ex = "https://example.org/"
    graph, shapes = tmp_path / "people.ttl", tmp_path / "shapes.ttl"
    lines = [f"@prefix ex: <{ex}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for n in range(60):
        name = f"Person {chr(65 + n % 26)}{chr(97 + n // 26)}"
        lines.append(f'ex:p{n} a ex:Person ; rdfs:label "{name}" ; ex:hobby ex:h{n % 7} .')
    lines += [f'ex:h{n} a ex:Hobby ; rdfs:label "Hobby {"ABCDEFG"[n]}" .' for n in range(7)]
    graph.write_text("\n".join(lines), "utf-8")
    shapes.write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        f"<{ex}S> a sh:PropertyShape ; sh:targetSubjectsOf <{ex}age> ; sh:path <{ex}age> ; "
        "sh:maxCount 1 .",
        "utf-8",
    )
    cards, results = tmp_path / "cards.jsonl", tmp_path / "kg.jsonl"
    make = ("cards", "--kg", graph, "--shapes", shapes, "--pred", f"{ex}hobby", "--num-per-type", 5)
    run(*make, "--out", cards)
    run("eval", "--cards", cards, "--system", "kg", "--out", results)
    metrics = ("metrics", results, *FEW, "--out", tmp_path / "m.json")
    assert run(*metrics).out.startswith("WARNING: No card has the answer NO")
    assert run_epoche(*metrics, "--strict").code == 17
    assert run_epoche(*make, "--strict", "--out", tmp_path / "none.jsonl").code != 0
    assert not (tmp_path / "none.jsonl").exists()


def test_other_cards_have_no_banner(tmp_path: Path) -> None:
    cards, results = tmp_path / "cards.jsonl", tmp_path / "kg.jsonl"
    run("cards", "--domain", "mayors", "--num-per-type", 3, "--out", cards)
    run("eval", "--cards", cards, "--system", "kg", "--out", results)
    run("eval", "--cards", cards, "--system", "rag", "--out", tmp_path / "rag.jsonl")
    pages = tmp_path / "c.json"
    printed = [
        run("metrics", results, "--strict", *FEW, "--out", tmp_path / "metrics.json").out,
        run("compare", results, tmp_path / "rag.jsonl", *FEW, "--out", pages).out,
        run("report", results, "--out", tmp_path / "r.html").out,
    ]
    printed += [path.read_text("utf-8") for path in tmp_path.glob("*.md")]
    printed += [path.read_text("utf-8").split("<main")[1] for path in tmp_path.glob("*.html")]
    assert len(printed) == 7
    assert not any("warning" in text.lower().replace("card_warnings", "") for text in printed)


@pytest.mark.parametrize("as_folder", [False, True])
def test_results_of_other_cards_are_left_out_of_the_whole_comparison(
    tmp_path: Path, *, as_folder: bool
) -> None:
    cards, others = tmp_path / "c.jsonl", tmp_path / "others" / "c.jsonl"
    for path, seed in ((cards, 1), (others, 2)):
        run("cards", "--domain", "rivers", "--num-per-type", 5, "--seed", seed, "--out", path)
    results = tmp_path / "results"
    for name, path, system in (("a", cards, "graph_rag"), ("b", cards, "rag"), ("c", others, "kg")):
        run("eval", "--cards", path, "--system", system, "--out", results / f"{name}.jsonl")
    paths = [results] if as_folder else sorted(results.glob("?.jsonl"))
    done = run_epoche("compare", *paths, "--cards", cards, "--skip-other-cards", "--out", cards)
    assert done.code != 0  # the cards are not overwritten
    out = tmp_path / "comparison.json"
    done = run_epoche("compare", *paths, "--cards", cards, "--skip-other-cards", "--out", out)
    assert done.code == 0, done.err
    assert done.err.count("c.jsonl left out") == 1
    assert {*json.loads(out.read_bytes())["systems"]} == {"graph_rag", "rag"}


def test_a_model_that_cannot_be_used_leaves_no_empty_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMACPP_BASE_URL", "http://127.0.0.1:9/v1")
    cards, out = tmp_path / "c.jsonl", tmp_path / "r.jsonl"
    run("cards", "--domain", "mayors", "--num-per-type", 2, "--out", cards)
    ask = ("eval", "--cards", cards, "--out", out, "--system")
    done = run_epoche(*ask, "raw", "--model", "llamacpp/none", "--retries", 0)
    assert done.code == 23, done.err
    assert [path.name for path in tmp_path.glob("r.*")] == []
    run(*ask, "kg")
