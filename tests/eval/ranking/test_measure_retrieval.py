"""Tests ``epoche retrieval eval`` on a run of three chapters, from its flags to its outputs.

Of its exit codes, 12 means an invalid question, 15 that a file cannot be written, and 31 that the
run does not fit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from stage_calls import CommandResult, check_error_line, run_epoche

import retrieval
from eval.ranking.collector import RankingCollector
from eval.ranking.outputs import make_file_name
from eval.ranking.questions import read_questions
from eval.ranking.rankings import rank_questions
from kg.text.run.folder import open_run
from retrieval.factory import open_retriever

CORPUS = Path(retrieval.__file__).parent / "corpora" / "keeping_data"
CHAPTERS = ("04-normal-forms", "07-tree-indexes", "12-locking")
ALL_QUESTIONS = [
    json.loads(line) for line in (CORPUS / "questions.jsonl").read_bytes().splitlines()
]
QUESTIONS = [
    question
    for question in ALL_QUESTIONS
    if all(gold.split("#")[0] in CHAPTERS for gold in question["gold"])
]
"""The questions that these chapters answer, and the unanswerable ones."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the questions about the chapters, and three runs over the chapters.

    The runs are ``run``, ``plain`` (without canonical forms) and ``flat`` (without sections).
    """
    root = tmp_path_factory.mktemp("measured")
    chapters = [CORPUS / "book" / f"{name}.md" for name in CHAPTERS]
    for name, flags in (("run", ()), ("plain", ("--no-canonical",)), ("flat", ("--no-sections",))):
        result = run_epoche("kg", "build", *chapters, "--out", root / "runs" / name, *flags)
        assert result.code == 0, result.err
    lines = "".join(json.dumps(line) + "\n" for line in QUESTIONS)
    (root / "questions.jsonl").write_text(lines, "utf-8")
    return root


def run_measure(folder: Path, out: Path, *flags: object, run: str = "run") -> CommandResult:
    return run_epoche(
        *("retrieval", "eval", "--run", folder / "runs" / run),
        *("--questions", folder / "questions.jsonl", "--embedder", "lexical"),
        *("--resamples", 200, "--out", out, *flags),
    )


@pytest.fixture(scope="module")
def measured_run(folder: Path) -> tuple[CommandResult, Path]:
    """The result and the output folder of one measurement with all options."""
    out = folder / "out"
    other = folder / "runs" / "plain"
    return run_measure(folder, out, "--ablate", "--tune", "--other-run", other), out


def load_report(out: Path) -> dict[str, Any]:
    text = (out / "metrics.json").read_text("utf-8")
    report: dict[str, Any] = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    return report


def test_all_results_are_written_and_printed(measured_run: tuple[CommandResult, Path]) -> None:
    result, out = measured_run
    assert result.code == 0, result.err
    report = load_report(out)
    test_questions = [line for line in QUESTIONS if line["split"] == "test"]
    assert report["questions"]["n"] == len(test_questions)
    assert report["questions"]["split"] == "test"
    assert list(report["retrievers"]) == [
        *("bm25", "dense", "hybrid", "kg", "section_tree", "ensemble"),
        *("hybrid tuned", "ensemble tuned"),
    ]
    pairs = {
        (comparison["candidate"], comparison["baseline"]) for comparison in report["comparisons"]
    }
    assert {("ensemble", name) for name in ("bm25", "dense", "hybrid")} <= pairs
    assert ("hybrid", "bm25") in pairs
    assert ("bm25", "hybrid") not in pairs
    variants = {ablation["baseline"] for ablation in report["ablations"]}
    assert variants == {
        "hybrid tuned",
        *(f"ensemble without {part}" for part in ("bm25", "dense", "kg", "section_tree")),
        *("ensemble without graph", "ensemble linear"),
        *(
            f"{prefix}{name}"
            for prefix in ("", "ensemble with ")
            for name in (
                *("kg by PageRank", "kg without edges", "kg by form alone"),
                *("section_tree without ties", "kg of the other run"),
                "section_tree of the other run",
            )
        ),
    }
    assert report["signature"] in result.out
    assert report["signature"].startswith("nDCG@10|questions:")
    assert "ensemble tuned" in result.out
    assert "ensemble tuned, chosen on" in result.out
    assert "What do the graph's edges add?" in (out / "retrieval.md").read_text("utf-8")


def test_rows_and_trec_files_give_the_same_means(measured_run: tuple[CommandResult, Path]) -> None:
    _, out = measured_run
    report = load_report(out)
    rows = [json.loads(line) for line in (out / "questions.jsonl").read_bytes().splitlines()]
    qrels = list(ir_measures.read_trec_qrels(str(out / "qrels.trec")))
    for name, retriever_report in {**report["retrievers"], **report["variants"]}.items():
        run = list(ir_measures.read_trec_run(str(out / "runs" / f"{make_file_name(name)}.trec")))
        row_measures = [
            row["measures"] for row in rows if row["retriever"] == name and row["measures"]
        ]
        for measure_name in ("R@5", "nDCG@10", "RR"):
            value = retriever_report["measures"]["all"][measure_name]["value"]
            measure = ir_measures.parse_measure(measure_name)
            reference = ir_measures.calc_aggregate([measure], qrels, run)[measure]
            assert value == pytest.approx(reference)
            assert value == pytest.approx(
                sum(row[measure_name] for row in row_measures) / len(row_measures)
            )


def test_fused_rankings_match_the_fused_retrievers(folder: Path) -> None:
    run = open_run(folder / "runs" / "run")
    collector = RankingCollector(run, "lexical", lambda questions, _name: questions)
    questions = read_questions(folder / "questions.jsonl", collector.ids)[:12]
    names = ("hybrid", "ensemble", "kg")
    rankings = collector.collect_rankings(names, questions)
    assert list(rankings) == list(names)
    for name in names:
        retriever_rankings = rank_questions(
            open_retriever(name, run, embedder="lexical"), questions, collector.ids
        )
        for question in questions:
            scores = rankings[name].by_question[question.id]
            assert list(scores.items()) == list(retriever_rankings.by_question[question.id].items())


def test_test_questions_do_not_influence_tuning(folder: Path, tmp_path: Path) -> None:
    tunings = []
    for change_gold in (False, True):
        questions = [dict(question) for question in QUESTIONS[::3]]
        for question in questions:
            if change_gold and question["split"] == "test" and question["gold"]:
                question["gold"] = ["04-normal-forms#4.1"]
        path = tmp_path / "questions.jsonl"
        path.write_text("".join(json.dumps(question) + "\n" for question in questions), "utf-8")
        out = tmp_path / f"out{change_gold}"
        result = run_measure(folder, out, "--tune", "--questions", path, "--baseline", "bm25")
        assert result.code == 0, result.err
        tunings.append(load_report(out)["tuning"])
    assert tunings[0] == tunings[1]


def test_bytes_do_not_depend_on_the_hash_seed(folder: Path, tmp_path: Path) -> None:
    # ``--run`` gets the folder of runs, of which the command opens the latest.
    outputs = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        subprocess.run(
            [
                *(sys.executable, "-m", "epoche", "retrieval", "eval"),
                *("--run", str(folder / "runs"), "--retriever", "kg", "--baseline", "bm25"),
                *("--questions", str(folder / "questions.jsonl"), "--resamples", "200"),
                *("--out", str(out)),
            ],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        files = sorted(path for path in out.rglob("*") if path.is_file())
        outputs.append([(path.relative_to(out), path.read_bytes()) for path in files])
    assert outputs[0] == outputs[1]
    # Four files, and one TREC file for each of the two retrievers.
    assert len(outputs[0]) == 6


def test_run_without_sections_has_no_section_tree(folder: Path, tmp_path: Path) -> None:
    flags = ("--retriever", "ensemble", "--ablate")
    result = run_measure(folder, tmp_path, *flags, run="flat")
    assert result.code == 0, result.err
    report = load_report(tmp_path)
    assert "section_tree" not in report["retrievers"]
    assert not any("section" in ablation["baseline"] for ablation in report["ablations"])
    result = run_measure(folder, tmp_path, "--retriever", "section_tree", run="flat")
    assert result.code == 31
    assert "without a section tree" in result.err


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (("--retriever", "oracle"), 2, "unknown retriever 'oracle'"),
        (("--tune", "--split", "dev"), 2, "--tune uses the dev questions"),
        (("--other-run", "nowhere"), 2, "--other-run needs --ablate"),
        (("--split", "train"), 2, "train"),
        (("--run", "nowhere"), 3, "does not exist"),
        (("--questions", "nowhere.jsonl"), 3, "does not exist"),
    ],
)
def test_unmeasurable_input_gives_its_exit_code(
    folder: Path, tmp_path: Path, flags: tuple[str, ...], code: int, message: str
) -> None:
    result = run_measure(folder, tmp_path / "out", *flags)
    assert result.code == code, result.err
    assert message in result.err
    assert not (tmp_path / "out").exists()


def test_unknown_gold_chunks_are_refused(folder: Path, tmp_path: Path) -> None:
    result = run_measure(folder, tmp_path / "out", "--questions", CORPUS / "questions.jsonl")
    assert result.code == 12
    assert "the run has no chunk" in result.err
    assert "questions.jsonl:1" in result.err


def test_other_run_must_have_the_same_chunks(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    chapter = CORPUS / "book" / f"{CHAPTERS[0]}.md"
    assert run_epoche("kg", "build", chapter, "--out", other, "--no-canonical").code == 0
    result = run_measure(folder, tmp_path / "out", "--ablate", "--other-run", other)
    assert result.code == 31
    assert "differ from those of --run" in result.err


def test_previous_files_are_kept_if_writing_fails(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_measure(folder, out, "--retriever", "kg").code == 0
    before = (out / "metrics.json").read_bytes()
    # A folder that has the name of an output file, so that this file cannot be written.
    (out / "runs" / "section_tree.trec").mkdir()
    result = run_measure(folder, out, "--retriever", "section_tree")
    assert result.code == 15
    assert (out / "metrics.json").read_bytes() == before


def test_single_question_has_no_minimum_detectable_effect(folder: Path, tmp_path: Path) -> None:
    line = next(line for line in QUESTIONS if line["split"] == "test" and line["gold"])
    (tmp_path / "questions.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    (tmp_path / "runs").symlink_to(folder / "runs")
    result = run_measure(tmp_path, tmp_path / "out")
    assert result.code == 0, result.err
    comparisons = load_report(tmp_path / "out")["comparisons"]
    assert any(comparison["difference"] for comparison in comparisons)
    assert {comparison["minimum_detectable_effect"] for comparison in comparisons} == {None}
    assert "80 % power" not in result.out


def test_questions_file_is_not_overwritten(folder: Path) -> None:
    before = (folder / "questions.jsonl").read_bytes()
    result = run_measure(folder, folder, "--retriever", "kg")
    assert "it is made from" in check_error_line(result, 15)
    assert (folder / "questions.jsonl").read_bytes() == before
