"""Tests runs that ask every question several times: their files, and means over repeats."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, run_epoche, write_edited_manifest
from synthlink_judge_parts import make_judge_model
from synthlink_run_parts import make_run_command, read_rows, write_inputs

from eval.metrics.measurement import FAILURE_METRIC, ResamplingPlan
from eval.synthlink.answer_source import find_source, list_repeat_files
from eval.synthlink.files import PREDICTIONS, RUN_MANIFEST, name_predictions
from eval.synthlink.measurement import measure_runs
from eval.synthlink.metrics import METRICS
from eval.synthlink.scoring.outputs import ScoredPredictions, read_scores
from eval.synthlink.scoring.record import RepeatScores
from eval.synthlink.verdicts.record import JUDGED_FILE
from kg.base.files import sha256_file

QUESTION_COUNT = 6
REPEATS = 3
VARYING_AGENT = '''
from eval.synthlink.agents.trail import CitedPage, Round, Trail


class Varying:
    """Answers a question differently every time, and fails on question 1 the third time."""

    name = "varying"

    def __init__(self, options):
        self._counts = {}

    def params(self):
        return {}

    def answer(self, question):
        count = self._counts[question] = self._counts.get(question, 0) + 1
        number = int("".join(filter(str.isdigit, question)))
        if number == 1 and count == 3:
            raise ValueError("no luck")
        texts = {1: f"Goldmark: the founder, Mira Voss{number}, came from Tarn{number}."}
        text = texts.get(count, f"Repeat {count} names the town of Nowhere.")
        page = CitedPage(f"https://example.org/observatory/{number}", "a page")
        steps = (Round(found=(page,), read=(page,), answer=text),)
        return Trail(answer=text, docs=(page,), rounds=steps)
'''


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a scored run of three repeats."""
    folder = write_inputs(tmp_path_factory.mktemp("repeats"), QUESTION_COUNT)
    (folder / "varying.py").write_text(VARYING_AGENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        result = run_epoche(*make_command(folder))
    # One of 18 answers failed, which the command reports.
    assert result.code == 0, result.err
    return folder


def make_command(folder: Path, *flags: object, out: str = "out") -> list[object]:
    repeats = ("--repeat", REPEATS, "--resamples", 100, "--concurrency", 1)
    return make_run_command(folder, *repeats, *flags, system="varying:Varying", out=out)


def score(folder: Path, *flags: object, predictions: str = "out/predictions.json") -> Any:
    files = ("--catalog", folder / "catalog.jsonl", "--pages", folder / "pages.jsonl")
    return run_epoche(
        *("synthlink", "score", "--predictions", folder / predictions, "--resamples", 100),
        *files,
        *flags,
    )


def read_repeats(scored: ScoredPredictions) -> RepeatScores:
    assert scored.repeats is not None
    return scored.repeats


def test_each_repeat_has_its_file_of_predictions(workspace: Path) -> None:
    out = workspace / "out"
    rows = read_rows(out)
    assert len(rows) == REPEATS * QUESTION_COUNT
    assert sorted(path.name for path in out.glob("predictions*")) == [
        "predictions.json",
        "predictions.repeat1.json",
        "predictions.repeat2.json",
    ]
    counts = []
    for repeat in range(REPEATS):
        predictions = json.loads((out / name_predictions(repeat)).read_bytes())
        expected = {
            row["id"]: row["trail"]["answer"]
            for row in rows
            if row["repeat"] == repeat and row["outcome"] == "ANSWERED"
        }
        assert {one["question_id"]: one["predicted_answer"] for one in predictions} == expected
        counts.append(len(predictions))
    assert sorted(counts) == [QUESTION_COUNT - 1, QUESTION_COUNT, QUESTION_COUNT]


def test_scores_are_means_over_all_repeats(workspace: Path, tmp_path: Path) -> None:
    out = workspace / "out"
    scored = read_scores(out)
    repeats = read_repeats(scored)
    assert repeats.n_repeats == REPEATS
    singles = []
    for repeat in range(REPEATS):
        folder = tmp_path / str(repeat)
        # Alone, the file of a repeat is scored like any other predictions.
        (folder / "in").mkdir(parents=True)
        (folder / "in" / "alone.json").write_bytes((out / name_predictions(repeat)).read_bytes())
        done = score(
            workspace, "--out", folder / "out", predictions=str(folder / "in" / "alone.json")
        )
        assert done.code == 0, done.err
        singles.append(read_scores(folder / "out"))
        assert singles[-1].repeats is None
    assert scored.report.modes == singles[0].report.modes
    for mode, combined in repeats.modes.items():
        rows_by_repeat = [single.report.modes[mode].questions for single in singles]
        for metric in METRICS:
            own_means = [
                single.report.modes[mode].overall.measures[metric].value for single in singles
            ]
            assert list(combined.by_repeat[metric]) == pytest.approx(own_means)
            if None not in own_means:
                assert combined.spread[metric] == pytest.approx(stdev(own_means), abs=1e-6)
            question_means = []
            for number, question in enumerate(combined.questions):
                values = [getattr(rows[number].parts, metric) for rows in rows_by_repeat]
                defined = [value for value in values if value is not None]
                if metric == "aggregate" and question.means[metric] is None:
                    defined = []  # one answer that is not judged leaves no mean
                elif metric in question.unjudged:
                    # No answer is judged, so the zero of a failed repeat is not measured either.
                    assert {
                        rows[number].status
                        for rows, value in zip(rows_by_repeat, values, strict=True)
                        if value is not None
                    } <= {"missing"}
                    defined = []
                expected = mean(defined) if defined else None
                assert question.means[metric] == pytest.approx(expected)
                question_means += [] if expected is None else [expected]
            estimate = combined.means[metric]
            assert estimate.n == len(question_means)
            if question_means:
                assert estimate.value == pytest.approx(mean(question_means), abs=1e-6)
    corrected = repeats.modes["corrected"]
    assert [row.n_unusable for row in corrected.questions] == [0, 1, 0, 0, 0, 0]
    others, failed = corrected.questions[0].means["p_at_5"], corrected.questions[1].means["p_at_5"]
    assert others is not None
    assert failed == pytest.approx(others * 2 / 3), "a failure counts as 0"
    assert corrected.means["p_at_5"].n == QUESTION_COUNT
    assert corrected.spread["p_at_5"]
    text = (out / "synthlink_overall_score.txt").read_text()
    assert "every question was asked 3 times" in text
    value = repeats.modes["literal"].means["aggregate"].value
    assert value is not None
    assert f"literal, mean over 3 repeats: {value:.3f} [" in text
    assert "corrected, mean over 3 repeats: no aggregate" in text


def test_metrics_of_a_run_use_all_repeats(workspace: Path) -> None:
    out = workspace / "out"
    measurement = measure_runs([out], ResamplingPlan(resamples=50))
    (system,) = measurement.runs.systems
    estimates = measurement.estimates(system.name)
    means = read_repeats(read_scores(out)).modes["corrected"].means
    for metric in METRICS:
        assert estimates[metric].value == pytest.approx(means[metric].value)
    failures = estimates[FAILURE_METRIC]
    assert (failures.numerator, failures.denominator) == (1, REPEATS * QUESTION_COUNT)
    changed = out / name_predictions(2)
    before = changed.read_bytes()
    changed.write_bytes(before.replace(b"Nowhere", b"Somewhere"))
    try:
        assert "other predictions" in check_error_line(run_epoche("metrics", out), 14)
    finally:
        changed.write_bytes(before)


def test_comparisons_use_means_over_repeats(workspace: Path, tmp_path: Path) -> None:
    predictions = json.loads((workspace / "out" / PREDICTIONS).read_bytes())
    (tmp_path / "other.json").write_text(json.dumps(predictions))
    done = score(workspace, "--compare", tmp_path / "other.json", "--out", tmp_path / "compared")
    assert done.code == 0, done.err
    scored = read_scores(tmp_path / "compared")
    (difference,) = [
        item
        for item in scored.comparisons[0].differences
        if (item.mode, item.group, item.metric) == ("corrected", "all", "f1")
    ]
    combined = read_repeats(scored).modes["corrected"]
    assert difference.value_candidate == pytest.approx(combined.means["f1"].value)
    assert difference.value_baseline == pytest.approx(combined.by_repeat["f1"][0])


def test_a_missing_file_of_a_repeat_is_an_error(workspace: Path, tmp_path: Path) -> None:
    path = workspace / "out" / name_predictions(1)
    content = path.read_bytes()
    path.unlink()
    try:
        done = score(workspace, "--out", tmp_path / "scored")
        assert name_predictions(1) in check_error_line(done, 3)
        assert not (tmp_path / "scored").exists()
    finally:
        path.write_bytes(content)


def test_judges_are_asked_about_claims_of_all_repeats(
    workspace: Path, tmp_path: Path, scripted_server: ScriptedServer, scripted_model: str
) -> None:
    scripted_server.behave_with(make_judge_model())
    out = tmp_path / "scored"
    done = score(workspace, "--judge-model", scripted_model, "--out", out)
    assert done.code == 0, done.err
    claims = {json.loads(line)["claim"] for line in (out / JUDGED_FILE).read_bytes().splitlines()}
    assert {f"Repeat {count} names the town of Nowhere." for count in (2, 3)} <= claims
    scripted_server.behave(behaviours.http_error(500))
    scripted_server.clear_log()
    assert score(workspace, "--judge-model", scripted_model, "--out", out).code == 0
    assert not scripted_server.requests


def test_overwritten_run_leaves_no_file_of_old_repeats(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.syspath_prepend(workspace)
    assert run_epoche(*make_command(workspace, "--no-score", out="again")).code == 0
    flags = ("--repeat", 1, "--overwrite", "--no-score")
    assert run_epoche(*make_command(workspace, *flags, out="again")).code == 0
    assert [path.name for path in (workspace / "again").glob("predictions*")] == [PREDICTIONS]
    assert read_scores_of(workspace / "again", tmp_path).repeats is None


def read_scores_of(folder: Path, out: Path) -> ScoredPredictions:
    done = score(folder.parent, "--out", out, predictions=f"{folder.name}/predictions.json")
    assert done.code == 0, done.err
    return read_scores(out)


def test_files_of_repeats_are_known_to_come_from_the_run(workspace: Path, tmp_path: Path) -> None:
    manifest = json.loads((workspace / "out" / RUN_MANIFEST).read_bytes())
    write_edited_manifest(tmp_path / RUN_MANIFEST, {**manifest, "system": "graph_walk"})
    assert list_repeat_files(tmp_path / PREDICTIONS) == [
        tmp_path / name_predictions(n) for n in (1, 2)
    ]
    assert list_repeat_files(tmp_path / name_predictions(1)) == []
    assert list_repeat_files(workspace / PREDICTIONS) == []
    for repeat in range(REPEATS):
        assert not find_source(tmp_path / name_predictions(repeat)).by_model
    assert find_source(tmp_path / name_predictions(REPEATS)).by_model, "it is of no run of ours"


@pytest.mark.parametrize("repeat", range(REPEATS))
def test_predictions_that_the_rows_do_not_give_are_not_measured(
    workspace: Path, tmp_path: Path, repeat: int
) -> None:
    out = tmp_path / "changed"
    shutil.copytree(workspace / "out", out)
    path = out / name_predictions(repeat)
    predictions = json.loads(path.read_bytes())
    predictions[0]["predicted_answer"] = "Another answer."
    path.write_text(json.dumps(predictions))
    assert "other predictions" in check_error_line(run_epoche("metrics", out), 14)
    # A manifest that names the changed file does not make it the run's.
    manifest = json.loads((out / "manifest.json").read_bytes())
    entry, key = manifest, "predictions_sha256"
    if repeat:
        entry, key = manifest["repeats"][repeat - 1], "sha256"
    entry[key] = sha256_file(path)
    write_edited_manifest(out / "manifest.json", manifest)
    line = check_error_line(run_epoche("metrics", out), 14)
    assert "not the predictions" in line
    assert path.name in line
