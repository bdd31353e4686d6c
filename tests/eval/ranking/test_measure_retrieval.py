"""The command on a run of three chapters, from the command line to the written files."""

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
LINES = [json.loads(line) for line in (CORPUS / "questions.jsonl").read_bytes().splitlines()]
QUESTIONS = [line for line in LINES if all(gold.split("#")[0] in CHAPTERS for gold in line["gold"])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of the same chapters, with and without canonical forms, and their questions."""
    made = tmp_path_factory.mktemp("measured")
    chapters = [CORPUS / "book" / f"{name}.md" for name in CHAPTERS]
    for name, flags in (("run", ()), ("plain", ("--no-canonical",)), ("flat", ("--no-sections",))):
        done = run_epoche("kg", "build", *chapters, "--out", made / "runs" / name, *flags)
        assert done.code == 0, done.err
    lines = "".join(json.dumps(line) + "\n" for line in QUESTIONS)
    (made / "questions.jsonl").write_text(lines, "utf-8")
    return made


def run_measure(folder: Path, out: Path, *flags: object, run: str = "run") -> CommandResult:
    return run_epoche(
        *("retrieval", "eval", "--run", folder / "runs" / run),
        *("--questions", folder / "questions.jsonl", "--embedder", "lexical"),
        *("--resamples", 200, "--out", out, *flags),
    )


@pytest.fixture(scope="module")
def measured_run(folder: Path) -> tuple[CommandResult, Path]:
    """One measurement with all options."""
    out = folder / "out"
    other = folder / "runs" / "plain"
    return run_measure(folder, out, "--ablate", "--tune", "--other-run", other), out


def load_report(out: Path) -> dict[str, Any]:
    text = (out / "metrics.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    return found


def test_all_results_are_written_and_printed(measured_run: tuple[CommandResult, Path]) -> None:
    done, out = measured_run
    assert done.code == 0, done.err
    found = load_report(out)
    asked = [line for line in QUESTIONS if line["split"] == "test"]
    assert found["questions"]["n"] == len(asked)
    assert found["questions"]["split"] == "test"
    assert list(found["retrievers"]) == [
        *("bm25", "dense", "hybrid", "kg", "section_tree", "ensemble"),
        *("hybrid tuned", "ensemble tuned"),
    ]
    pairs = {(one["first"], one["second"]) for one in found["comparisons"]}
    assert {("ensemble", name) for name in ("bm25", "dense", "hybrid")} <= pairs
    assert ("hybrid", "bm25") in pairs
    assert ("bm25", "hybrid") not in pairs
    variants = {one["second"] for one in found["ablations"]}
    assert variants == {
        "hybrid tuned",
        *(f"ensemble without {part}" for part in ("bm25", "dense", "kg", "section_tree")),
        *("ensemble without graph", "ensemble linear"),
        *(
            f"{before}{name}"
            for before in ("", "ensemble with ")
            for name in (
                *("kg by PageRank", "kg without edges", "kg by form alone"),
                *("section_tree without ties", "kg of the other run"),
                "section_tree of the other run",
            )
        ),
    }
    assert found["signature"] in done.out
    assert found["signature"].startswith("nDCG@10|questions:")
    assert "ensemble tuned" in done.out
    assert "ensemble tuned, chosen on" in done.out
    assert "What do the graph's edges add?" in (out / "retrieval.md").read_text("utf-8")


def test_rows_and_trec_files_give_the_same_means(measured_run: tuple[CommandResult, Path]) -> None:
    _, out = measured_run
    found = load_report(out)
    rows = [json.loads(line) for line in (out / "questions.jsonl").read_bytes().splitlines()]
    qrels = list(ir_measures.read_trec_qrels(str(out / "qrels.trec")))
    for name, one in {**found["retrievers"], **found["variants"]}.items():
        run = list(ir_measures.read_trec_run(str(out / "runs" / f"{make_file_name(name)}.trec")))
        mine = [row["measures"] for row in rows if row["retriever"] == name and row["measures"]]
        for measure_name in ("R@5", "nDCG@10", "RR"):
            value = one["measures"]["all"][measure_name]["value"]
            wanted = ir_measures.parse_measure(measure_name)
            theirs = ir_measures.calc_aggregate([wanted], qrels, run)[wanted]
            assert value == pytest.approx(theirs)
            assert value == pytest.approx(sum(row[measure_name] for row in mine) / len(mine))


def test_fused_rankings_match_the_fused_retrievers(folder: Path) -> None:
    run = open_run(folder / "runs" / "run")
    gathering = RankingCollector(run, "lexical", lambda questions, _name: questions)
    questions = read_questions(folder / "questions.jsonl", gathering.ids)[:12]
    names = ("hybrid", "ensemble", "kg")
    gathered = gathering.collect_rankings(names, questions)
    assert list(gathered) == list(names)
    for name in names:
        themselves = rank_questions(
            open_retriever(name, run, embedder="lexical"), questions, gathering.ids
        )
        for question in questions:
            mine = gathered[name].by_question[question.id]
            assert list(mine.items()) == list(themselves.by_question[question.id].items())


def test_test_questions_do_not_influence_tuning(folder: Path, tmp_path: Path) -> None:
    chosen = []
    for turned in (False, True):
        lines = [dict(line) for line in QUESTIONS[::3]]
        for line in lines:
            if turned and line["split"] == "test" and line["gold"]:
                line["gold"] = ["04-normal-forms#4.1"]
        path = tmp_path / "questions.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        out = tmp_path / f"out{turned}"
        done = run_measure(folder, out, "--tune", "--questions", path, "--baseline", "bm25")
        assert done.code == 0, done.err
        chosen.append(load_report(out)["tuning"])
    assert chosen[0] == chosen[1]


def test_bytes_do_not_depend_on_the_hash_seed(folder: Path, tmp_path: Path) -> None:
    written = []
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
        written.append([(path.relative_to(out), path.read_bytes()) for path in files])
    assert written[0] == written[1]
    assert len(written[0]) == 6


def test_run_without_sections_has_three_components(folder: Path, tmp_path: Path) -> None:
    flags = ("--retriever", "ensemble", "--ablate")
    done = run_measure(folder, tmp_path, *flags, run="flat")
    assert done.code == 0, done.err
    found = load_report(tmp_path)
    assert "section_tree" not in found["retrievers"]
    assert not any("section" in one["second"] for one in found["ablations"])
    done = run_measure(folder, tmp_path, "--retriever", "section_tree", run="flat")
    assert done.code == 31
    assert "without a section tree" in done.err


@pytest.mark.parametrize(
    ("flags", "code", "said"),
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
    folder: Path, tmp_path: Path, flags: tuple[str, ...], code: int, said: str
) -> None:
    done = run_measure(folder, tmp_path / "out", *flags)
    assert done.code == code, done.err
    assert said in done.err
    assert not (tmp_path / "out").exists()


def test_unknown_gold_chunks_are_refused(folder: Path, tmp_path: Path) -> None:
    done = run_measure(folder, tmp_path / "out", "--questions", CORPUS / "questions.jsonl")
    assert done.code == 12
    assert "the run has no chunk" in done.err
    assert "questions.jsonl:1" in done.err


def test_another_run_must_have_the_same_chunks(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    chapter = CORPUS / "book" / f"{CHAPTERS[0]}.md"
    assert run_epoche("kg", "build", chapter, "--out", other, "--no-canonical").code == 0
    done = run_measure(folder, tmp_path / "out", "--ablate", "--other-run", other)
    assert done.code == 31
    assert "differ from those of --run" in done.err


def test_previous_files_are_kept_if_writing_fails(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_measure(folder, out, "--retriever", "kg").code == 0
    before = (out / "metrics.json").read_bytes()
    (out / "runs" / "section_tree.trec").mkdir()
    done = run_measure(folder, out, "--retriever", "section_tree")
    assert done.code == 15
    assert (out / "metrics.json").read_bytes() == before


def test_single_question_has_no_minimum_detectable_effect(folder: Path, tmp_path: Path) -> None:
    line = next(line for line in QUESTIONS if line["split"] == "test" and line["gold"])
    (tmp_path / "questions.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    (tmp_path / "runs").symlink_to(folder / "runs")
    done = run_measure(tmp_path, tmp_path / "out")
    assert done.code == 0, done.err
    differences = load_report(tmp_path / "out")["comparisons"]
    assert any(one["difference"] for one in differences)
    assert {one["minimum_detectable_effect"] for one in differences} == {None}
    assert "80 % power" not in done.out


def test_questions_file_is_not_overwritten(folder: Path) -> None:
    before = (folder / "questions.jsonl").read_bytes()
    done = run_measure(folder, folder, "--retriever", "kg")
    assert "it is made from" in check_error_line(done, 15)
    assert (folder / "questions.jsonl").read_bytes() == before
