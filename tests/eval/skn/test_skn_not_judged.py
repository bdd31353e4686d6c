"""Tests that runs that nobody judged state nothing that rests on verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from section_blocks import find_grid
from skn_folders import abstained_row, answered_row, make_samples, write_run_folder
from skn_run_parts import write_inputs
from stage_calls import check_error_line, run_epoche

from eval.runs.sections import build_section
from eval.skn.row import SknRow
from eval.skn.scoring.metric_definitions import METRICS, NOT_JUDGED_NOTE, VERDICT_METRICS
from reporting.section_page import build_page_files


def write_different_pipelines(folder: Path, **manifest: Any) -> Path:
    """Writes a run in which ``skn`` is right or rightly abstains on all samples, ``json`` never."""
    samples = make_samples(40)
    rows: list[SknRow] = []
    for sample in samples:
        rows.append(answered_row(sample, "json", right=False))
        rows.append(
            answered_row(sample, "skn") if sample.answerable else abstained_row(sample, "skn")
        )
    return write_run_folder(folder, samples, rows, **manifest)


def write_unjudged(folder: Path, **manifest: Any) -> Path:
    """Writes the same run without verdicts."""
    samples = make_samples(40)
    rows: list[SknRow] = []
    for sample in samples:
        rows.append(answered_row(sample, "json", verdicts=None))
        rows.append(
            answered_row(sample, "skn", verdicts=None)
            if sample.answerable
            else abstained_row(sample, "skn")
        )
    fields = {"judges": {}, "judge_model": None}
    return write_run_folder(folder, samples, rows, **fields | manifest)


def compare(folder: Path, *runs: Path) -> tuple[str, list[dict[str, Any]]]:
    out = folder / "comparison.json"
    result = run_epoche("compare", *runs, "--out", out, "--resamples", 200)
    assert result.code == 0, result.err
    return result.out, json.loads(out.read_bytes())["comparisons"]


def test_models_are_compared(tmp_path: Path) -> None:
    folder = write_different_pipelines(tmp_path / "run")
    text, comparisons = compare(tmp_path, folder)
    assert "skn is better" in text
    assert {"skn"} == {row["better"] for row in comparisons if row["metric"] == "accuracy"}
    assert "skn is better" in (folder / "summary.txt").read_text()


def test_what_needs_no_verdict_is_given_and_compared(tmp_path: Path) -> None:
    folder = write_unjudged(tmp_path / "run")
    text, comparisons = compare(tmp_path, folder)
    metrics = run_epoche("metrics", folder, "--resamples", 200).out
    summary = (folder / "summary.txt").read_text()
    for output in (text, metrics, summary):
        assert NOT_JUDGED_NOTE in " ".join(output.split())
    assert "abstention_f1" in text
    assert "accuracy (" not in text
    assert "Accuracy" not in summary
    assert "Abstention F1" in summary
    assert "Judge             none" in summary
    compared = {row["metric"]: row for row in comparisons}
    assert not compared.keys() & VERDICT_METRICS
    assert compared["abstention_accuracy"]["better"] == "skn"
    report = json.loads((folder / "metrics.json").read_bytes())["report"]
    assert report["notes"][0] == NOT_JUDGED_NOTE
    assert not any("missing verdict" in note for note in report["notes"])
    assert "judge:none" in report["signature"]
    values = report["pipelines"]["skn"]["metrics"]
    assert {name for name in METRICS if values[name]["why"] == "not judged"} == (
        VERDICT_METRICS & set(METRICS)
    )
    assert not any(values[name]["value"] for name in VERDICT_METRICS)
    assert (values["abstention_f1"]["value"], values["mean_confidence"]["value"]) == (1, 0.8)
    for estimates in report["pipelines"]["skn"]["per_category"].values():
        assert estimates["accuracy"]["why"] == "not judged"
        assert estimates["abstention_accuracy"]["value"] == 1


@pytest.mark.parametrize("mode", ["fair", "as-published"])
def test_published_keys_that_need_verdicts_are_null(tmp_path: Path, mode: str) -> None:
    folder = write_unjudged(tmp_path / "run", mode=mode)
    keys = json.loads((folder / "metrics.json").read_bytes())["skn"]
    assert keys["accuracy"] is keys["ece"] is keys["groundedness"] is None
    assert set(keys["accuracy_ci"].values()) == {None}
    assert keys["abstention_f1"] is not None


def test_verdicts_of_rules_do_not_count(tmp_path: Path) -> None:
    """Earlier versions had judges that compared words."""
    folder = write_different_pipelines(tmp_path / "run", judges={"by": "rules"}, judge_model=None)
    report = json.loads((folder / "metrics.json").read_bytes())["report"]
    assert report["pipelines"]["skn"]["metrics"]["accuracy"]["value"] is None


def test_a_judged_run_is_not_compared_by_verdicts_with_one_that_is_not(tmp_path: Path) -> None:
    judged = write_different_pipelines(tmp_path / "judged")
    unjudged = write_unjudged(tmp_path / "unjudged")
    text, comparisons = compare(tmp_path, judged, unjudged)
    assert f"unjudged: {NOT_JUDGED_NOTE}" in text
    compared = {row["metric"] for row in comparisons}
    assert "abstention_accuracy" in compared
    assert not compared & VERDICT_METRICS
    metrics = run_epoche("metrics", judged, unjudged, "--resamples", 200).out
    assert "json@judged    0.000" in metrics
    assert "json@unjudged  –  not judged" in metrics


def test_gate_and_power_have_no_accuracy(tmp_path: Path) -> None:
    folder = write_unjudged(tmp_path / "run")
    failed = run_epoche("gate", folder, "--metric", "skn:accuracy>=0", "--resamples", 200)
    assert failed.code == 100
    assert "not judged" in failed.out
    passed = run_epoche("gate", folder, "--metric", "skn:abstention_f1>=.5", "--resamples", 200)
    assert passed.code == 0, passed.out
    command = ("power", folder, "--metric", "accuracy", "--effect", 0.1)
    assert "accuracy" in check_error_line(run_epoche(*command), 12)


def test_the_page_says_so(tmp_path: Path) -> None:
    section = build_section(write_unjudged(tmp_path / "run"))
    assert section.notices == (NOT_JUDGED_NOTE,)
    parts = {part.id for part in section.parts}
    assert not parts & {"calibration", "judges"}
    assert parts >= {"headline", "abstention", "categories", "samples"}
    columns = {column.name for column in find_grid(section, "headline", "Every pipeline").columns}
    assert columns == {"Pipeline", "abstention F1", "failed", "unjudged"}
    assert not any("verdict" in caveat for caveat in section.caveats)
    assert NOT_JUDGED_NOTE in build_page_files(section)["report.md"].decode()


def write_answers(folder: Path) -> Path:
    """Writes inputs, a system that answers them, and predictions of the same answers."""
    write_inputs(folder, 6)
    source = "def answer(view):\n    return 'Because of a full queue.'\n"
    (folder / "own_answers.py").write_text(source)
    lines = [
        json.dumps({"id": f"q{number:02}", "answer": "Because of a full queue."}) + "\n"
        for number in range(6)
    ]
    (folder / "own.jsonl").write_text("".join(lines))
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("skn", "run", "--system", "callable:own_answers:answer"),
        ("skn", "score", "--predictions", "answer=own.jsonl"),
    ],
)
def test_other_systems_and_predictions_need_no_judge(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_answers(tmp_path))
    monkeypatch.delenv("EPOCHE_JUDGE_MODEL", raising=False)
    data = ("--dataset", "samples.json", "--search", "search.jsonl", "--resamples", 100)
    line = check_error_line(run_epoche(*command, *data, "--out", "out"), 19)
    assert "--judge-model" in line
    assert "--no-judge" in line
    result = run_epoche(*command, *data, "--no-judge", "--out", "out")
    assert (result.code, result.err) == (0, "")
    header, row, *_ = result.out.splitlines()
    assert header.split() == ["pipeline", "ans/abst/inv/err", "abst.", "F1", "context"]
    assert row.split()[:2] == ["answer", "6/0/0/0"]
    assert NOT_JUDGED_NOTE in result.out
    manifest = json.loads(Path("out/manifest.json").read_bytes())
    assert (manifest["judges"], manifest["judge_model"]) == ({}, None)
    assert manifest["status"] == "complete"
    for step in (("verify", "out"), ("report", "out", "--out", "page.html")):
        done = run_epoche(*step)
        assert done.code == 0, done.err
    judges = ("--judge-model", "a/b")
    both = run_epoche(*command, *data, "--no-judge", *judges, "--out", "other")
    assert "--no-judge" in check_error_line(both, 19)


def test_unjudged_predictions_need_no_recorded_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped searches have none of these questions, and nothing would read them."""
    monkeypatch.chdir(write_answers(tmp_path))
    monkeypatch.delenv("EPOCHE_JUDGE_MODEL", raising=False)
    command = ("skn", "score", "--predictions", "answer=own.jsonl", "--dataset", "samples.json")
    result = run_epoche(*command, "--no-judge", "--resamples", 100, "--out", "out")
    assert result.code == 0, result.err
    sources = [json.loads(line) for line in Path("out/sources.jsonl").read_text().splitlines()]
    assert all("was recorded" in source["error"] for source in sources)
    # Judges read them, and a file that is named is meant to be read.
    judged = run_epoche(*command, "--judge-model", "a/b", "--out", "judged")
    assert "no search" in check_error_line(judged, 34)
    Path("other.jsonl").write_text("")
    named = run_epoche(*command, "--no-judge", "--search", "other.jsonl", "--out", "named")
    assert named.code != 0
