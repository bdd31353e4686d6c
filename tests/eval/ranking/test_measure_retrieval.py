"""Tests ``epoche retrieval eval`` on a run of three chapters, from its flags to its outputs.

Of its exit codes, 12 means an invalid question, 15 that a file cannot be written, and 31 that the
run does not fit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from stage_calls import CommandResult, check_error_line, run_epoche, write_edited_manifest

import retrieval
from eval.metrics.measurement import ResamplingPlan
from eval.retrieval_eval.files import make_file_name
from eval.retrieval_eval.measurement import measure_runs
from eval.retrieval_eval.questions import read_questions
from eval.retrieval_eval.systems.retriever_set import RetrieverSet
from eval.retrieval_eval.systems.view import RANKING_DEPTH
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
        *("bm25", "dense", "hybrid", "facts", "kg", "section_tree", "ensemble"),
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
        *(f"ensemble without {part}" for part in ("bm25", "dense", "facts")),
        *("ensemble", "ensemble linear"),
        *("kg by PageRank", "kg without edges", "kg by form alone"),
        *("section_tree without ties", "kg of the other run", "section_tree of the other run"),
        *("facts of the other run", "ensemble with facts of the other run"),
    }
    candidates = {ablation["candidate"] for ablation in report["ablations"]}
    assert {"ensemble with kg", "ensemble with section_tree"} <= candidates
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
    retrievers = RetrieverSet(run, "lexical")
    questions = read_questions(folder / "questions.jsonl", retrievers.ids)[:12]
    for name in ("hybrid", "ensemble", "kg"):
        opened = retrievers.open(name)
        reference = open_retriever(name, run, embedder="lexical")
        for question in questions:
            assert opened.search(question.question, RANKING_DEPTH) == reference.search(
                question.question, RANKING_DEPTH
            )


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
        (("--set", "word=x"), 2, "--set needs --system"),
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


def test_outputs_can_be_written_later_if_writing_fails(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # A folder that has the name of an output file, so that this file cannot be written.
    (out / "runs" / "section_tree.trec").mkdir(parents=True)
    assert run_measure(folder, out, "--retriever", "section_tree").code == 15
    assert not list(out.glob("*.json*"))
    (out / "runs" / "section_tree.trec").rmdir()
    assert run_measure(folder, out, "--retriever", "section_tree").code == 0


def test_resamples_and_baselines_can_be_changed_without_a_search(
    folder: Path, tmp_path: Path
) -> None:
    assert run_measure(folder, tmp_path, "--retriever", "kg", "--baseline", "bm25").code == 0
    # bm25 is a baseline no longer; the retrievers are the same, in the same order.
    n_replies = len((tmp_path / "replies.jsonl").read_bytes().splitlines())
    flags = ("--baseline", "bm25", "--baseline", "kg", "--retriever", "bm25", "--seed", 7)
    again = run_measure(folder, tmp_path, *flags)
    assert again.code == 0, again.err
    assert f"({n_replies} rankings were there already)" in again.out
    report = load_report(tmp_path)
    assert report["seed"] == 7
    assert report["baselines"] == ["bm25", "kg"]
    other = run_measure(folder, tmp_path, "--retriever", "section_tree", "--baseline", "bm25")
    assert "another systems" in check_error_line(other, 14)


def test_numbers_of_a_part_of_the_questions_are_signed(folder: Path, tmp_path: Path) -> None:
    flags = ("--retriever", "kg", "--limit", 6, "--shard", "2/3", "--repeat", 2)
    assert run_measure(folder, tmp_path, *flags).code == 0
    report = load_report(tmp_path)
    assert report["questions"]["n"] == 2
    assert "|split:test|limit:6|shard:2/3|repeats:2|run:" in report["signature"]
    whole = tmp_path / "whole"
    assert run_measure(folder, whole, "--retriever", "kg", "--limit", 6, "--shard", "2/3").code == 0
    # A retriever that does not change its mind has the same values however often it is asked.
    for name, retriever in load_report(whole)["retrievers"].items():
        assert report["retrievers"][name]["measures"] == retriever["measures"]


FOREIGN = """
class Reader:
    def __init__(self, options):
        self.texts, self.word = options.passages, options.settings.get("word", "lock")
    name = "reader"
    def params(self):
        return {"word": self.word}
    def answer(self, view):
        assert set(view.__struct_fields__) == {"query", "k"}
        return [id_ for id_, text in self.texts.items() if self.word in text]

class Hub:
    name = "hub"
    def __init__(self, options): pass
    def params(self):
        return {}
    def get_scores(self, query, pool_size, chunks=None):
        return {"12-locking#12.2": 0.5}

async def guess(view):
    return [("12-locking#12.2", 2.0), ("moon", 1.0)]

def broken(view):
    raise ValueError("no index")
"""


def test_foreign_retrievers_are_measured(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "foreign_retrievers.py").write_text(FOREIGN, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = "foreign_retrievers"
    out = tmp_path / "out"
    result = run_measure(
        folder,
        out,
        *("--system", f"{module}:Reader", "--set", "word=lock", "--system", f"{module}:Hub"),
        *("--baseline", "bm25", "--limit", 8, "--split", "all"),
    )
    assert result.code == 0, result.err
    report = load_report(out)
    assert list(report["retrievers"]) == ["bm25", "reader", "hub"]
    assert report["retrievers"]["reader"]["params"] == {"word": "lock"}
    auroc = report["retrievers"]["hub"]["measures"]["all"]["AUROC"]
    assert "not comparable" in auroc["why"] or "no unanswerable" in auroc["why"]
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]
    assert {row["outcome"] for row in rows} == {"OK"}
    assert {len(row["found"]) for row in rows if row["system"] == "hub"} == {1}


def test_the_documented_retriever_works(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "retrieval.md").read_text("utf-8")
    (source,) = (block for block in page.split("```") if "class Longest" in block)
    (tmp_path / "my_retriever.py").write_text(source.removeprefix("python\n"), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    flags = ("--system", "my_retriever:Longest", "--baseline", "bm25", "--limit", 4)
    result = run_measure(folder, tmp_path / "out", *flags)
    assert result.code == 0, result.err
    lines = (tmp_path / "out" / "rows.jsonl").read_bytes().splitlines()
    found = [row for row in map(json.loads, lines) if row["system"] == "longest"]
    assert {row["outcome"] for row in found} == {"OK"}
    assert all(row["found"] for row in found)


def test_failures_of_foreign_retrievers_find_nothing_and_are_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_retrievers.py").write_text(FOREIGN, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    systems = [f"callable:failing_retrievers:{name}" for name in ("guess", "broken")]
    flags = ("--baseline", "bm25", "--limit", 3)
    result = run_measure(
        folder, tmp_path / "out", "--system", systems[0], "--system", systems[1], *flags
    )
    assert "all rows of broken are ERROR" in check_error_line(result, 27)
    assert "OK 3, INVALID 3, ERROR 3" in result.out
    rows = [
        json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_bytes().splitlines()
    ]
    problems = {(row["system"], row["outcome"]): row["problem"] for row in rows}
    assert problems["guess", "INVALID"] == "'moon' at rank 2 is not a passage of the corpus"
    assert "no index" in problems["broken", "ERROR"]
    report = load_report(tmp_path / "out")
    assert any("guess gave no ranking" in note for note in report["notes"])
    assert report["retrievers"]["broken"]["measures"]["all"]["R@10"]["value"] == 0.0
    measurement = measure_runs([tmp_path / "out"], ResamplingPlan(resamples=100))
    rates = {name: measurement.estimates(name)["error_rate"] for name in ("bm25", "broken")}
    assert {name: rate.value for name, rate in rates.items()} == {"bm25": 0.0, "broken": 1.0}


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        (("callable:named_retrievers:guess",) * 2, ""),
        (("callable:named_retrievers:bm25",), "another retriever is called 'bm25'"),
        (("named_retrievers:Empty",), "not a retriever: it lacks answer(view), params()"),
    ],
)
def test_foreign_retrievers_need_a_name_of_their_own(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    systems: tuple[str, ...],
    message: str,
) -> None:
    source = f"{FOREIGN}\nbm25 = lambda view: []\nbm25.__name__ = 'bm25'\n"
    source += "class Empty:\n    name = 'empty'\n"
    (tmp_path / "named_retrievers.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    flags = [flag for system in systems for flag in ("--system", system)]
    result = run_measure(folder, tmp_path / "out", *flags, "--baseline", "bm25", "--limit", 1)
    assert (result.code == 0) == (not message), result.err
    assert message in result.err
    assert (tmp_path / "out").exists() == (not message)


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


def test_missing_rows_of_an_interrupted_run_are_noted(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_measure(folder, out, "--retriever", "kg", "--limit", 6).code == 0
    assert "missing" not in run_epoche("metrics", out).out
    lines = (out / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (out / "rows.jsonl").write_bytes(b"".join(lines[:-2]))
    manifest = json.loads((out / "manifest.json").read_bytes())
    write_edited_manifest(out / "manifest.json", {**manifest, "status": "interrupted"})
    result = run_epoche("metrics", out, "--allow-changed")
    assert "2 rows are missing from out and count as failed calls: the run is interrupted." in (
        result.out
    )
