"""Tests that runs are measured on the questions that all of them asked."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from stage_calls import CommandResult, check_error_line, run_epoche, write_edited_manifest
from synthlink_run_parts import make_run_command, write_inputs

from eval.metrics.measurement import FAILURE_METRIC, ResamplingPlan
from eval.synthlink.measurement import measure_runs
from eval.synthlink.metrics import METRICS
from eval.synthlink.scoring.outputs import read_scores

QUESTION_COUNT = 8
LIMIT = 3
PLAN = ResamplingPlan(resamples=100)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with scored runs of all questions, of the first three, and of two shards."""
    folder = write_inputs(tmp_path_factory.mktemp("asked"), QUESTION_COUNT)
    runs: dict[str, tuple[object, ...]] = {
        "whole": (),
        "limited": ("--limit", LIMIT),
        "repeated": ("--limit", LIMIT, "--repeat", 2),
        "odd": ("--shard", "1/2"),
        "even": ("--shard", "2/2"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        for name, flags in runs.items():
            command = make_run_command(folder, "--resamples", 100, *flags, out=name)
            done = run_epoche(*command)
            assert done.code == 0, done.err
    return folder


@pytest.mark.parametrize("name", ["limited", "repeated", "odd"])
def test_questions_that_one_run_did_not_ask_are_left_out(workspace: Path, name: str) -> None:
    measurement = measure_runs([workspace / name, workspace / "whole"], PLAN)
    n_asked = QUESTION_COUNT // 2 if name == "odd" else LIMIT
    runs = measurement.runs
    assert (runs.n_items, runs.n_left_out) == (n_asked, QUESTION_COUNT - n_asked)
    assert any("are left out" in note for note in runs.notes)
    # The same system answered, so no metric differs on the questions that both were asked.
    candidate, baseline = (system.name for system in runs.systems)
    compared = measurement.compare([(candidate, baseline)], METRICS)
    assert {item.difference for item in compared if item.n} == {0.0}
    assert {item.n for item in compared} <= {n_asked, 0}
    estimates = measurement.estimates(candidate)
    assert estimates == measurement.estimates(baseline) or name == "repeated"
    assert estimates["f1"].value == measurement.estimates(baseline)["f1"].value
    assert estimates[FAILURE_METRIC].value == 0


def test_a_limited_run_is_measured_on_what_it_asked(workspace: Path) -> None:
    measurement = measure_runs([workspace / "limited"], PLAN)
    report = read_scores(workspace / "limited").report
    asked = next(iter(report.modes.values())).questions[:LIMIT]
    estimate = measurement.estimates("first")["f1"]
    assert estimate.n == LIMIT
    assert estimate.value == pytest.approx(mean(row.parts.f1 or 0.0 for row in asked))
    assert not [note for note in measurement.runs.notes if "no usable answer" in note]


def test_blank_answers_among_the_asked_questions_are_still_noted(workspace: Path) -> None:
    # The agent abstains on the fifth question, which only the first shard asks.
    for name, n_blank in (("odd", 1), ("even", 0)):
        notes = [
            note
            for note in measure_runs([workspace / name], PLAN).runs.notes
            if "answers are blank" in note
        ]
        assert len(notes) == n_blank
        assert all(f"{n_blank} of {QUESTION_COUNT // 2} answers" in note for note in notes)


def test_the_commands_leave_out_questions_too(workspace: Path, tmp_path: Path) -> None:
    paths = (workspace / "limited", workspace / "whole")
    record = tmp_path / "comparison.json"
    done = run_epoche("compare", *paths, "--resamples", 100, "--out", record)
    assert done.code == 0, done.err
    differences = json.loads(record.read_bytes())["comparisons"]
    compared = [item for item in differences if item["metric"] == "f1"]
    assert [(item["n"], item["difference"]) for item in compared] == [(LIMIT, 0.0)]
    gate = ("gate", paths[0], "--baseline", paths[1], "--metric", "error_rate<=0")
    done = run_epoche(*gate, "--resamples", 100)
    assert done.code == 100, "a run that was asked fewer questions does not pass unnoticed"
    done = run_epoche(*gate, "--resamples", 100, "--max-failures", 1)
    assert done.code == 0, done.err


def test_scores_in_another_folder_know_what_the_run_asked(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "scores"
    done = run_epoche(
        *("synthlink", "score", "--predictions", workspace / "limited" / "predictions.json"),
        *("--catalog", workspace / "catalog.jsonl", "--pages", workspace / "pages.jsonl"),
        *("--resamples", 100, "--output-dir", elsewhere),
    )
    assert done.code == 0, done.err
    assert measure_runs([elsewhere], PLAN).runs.n_items == LIMIT
    # Nobody knows what was asked for predictions without a run: all questions count.
    alone = tmp_path / "alone.json"
    shutil.copy(workspace / "limited" / "predictions.json", alone)
    done = run_epoche(
        *("synthlink", "score", "--predictions", alone, "--resamples", 100),
        *("--catalog", workspace / "catalog.jsonl", "--output-dir", tmp_path / "other"),
    )
    assert done.code == 0, done.err
    runs: Any = measure_runs([tmp_path / "other"], PLAN).runs
    assert (runs.n_items, runs.n_left_out) == (QUESTION_COUNT, 0)


def test_a_run_that_was_asked_less_is_no_baseline_for_all_questions(
    workspace: Path, tmp_path: Path
) -> None:
    def score(*flags: object) -> CommandResult:
        return run_epoche(
            *("synthlink", "score", "--predictions", workspace / "whole" / "predictions.json"),
            *("--compare", workspace / "limited" / "predictions.json", "--resamples", 100),
            *("--catalog", workspace / "catalog.jsonl", "--out", tmp_path / "out", *flags),
        )

    message = f"was asked {LIMIT} of {QUESTION_COUNT} questions, and {QUESTION_COUNT} are scored"
    assert message in check_error_line(score(), 19)
    done = score("--limit", LIMIT)
    assert done.code == 0, done.err


def test_runs_without_a_question_in_common_are_refused(workspace: Path) -> None:
    done = run_epoche("compare", workspace / "odd", workspace / "even")
    assert re.search("no question in common", check_error_line(done, 14))


def test_a_run_that_was_stopped_is_to_be_finished(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    out.mkdir()
    for name in ("run_manifest.json", "rows.jsonl", "replies.jsonl"):
        shutil.copy(workspace / "whole" / name, out)
    manifest = json.loads((out / "run_manifest.json").read_bytes())
    write_edited_manifest(out / "run_manifest.json", {**manifest, "status": "interrupted"})
    line = check_error_line(run_epoche("metrics", out), 3)
    assert "no predictions yet; it is interrupted" in line
    assert "goes on where it stopped" in line
