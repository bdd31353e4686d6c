"""Tests that runs in which rules stood in for a model state nothing about answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from skn_folders import answered_row, make_samples, write_run_folder
from skn_run_parts import offline_command, write_inputs
from stage_calls import check_error_line, run_epoche

from eval.skn.row import SknRow
from eval.skn.rules.retention import Retention, Share
from eval.skn.scoring.metric_definitions import METRICS, RETENTION_METRICS
from eval.skn.scoring.rule_use import ANSWER_METRICS, VERDICT_METRICS, RuleUse

RULES = {"by": "rules"}
CLAIMS = ("better", "significant", "adjusted p", "wins")
"""Words by which outputs state the result of a test; "better" is also in "higher is better"."""


def write_different_pipelines(folder: Path, **manifest: Any) -> Path:
    """Writes a run in which ``skn`` is right and shorter on all samples, ``json`` on none."""
    rows: list[SknRow] = []
    samples = make_samples(40)
    for sample in samples:
        for name, kept in (("json", 4), ("skn", 2)):
            share = Share(kept, 4)
            retention = Retention(
                **dict.fromkeys(("facts", "negations", "numbers", "names", "hedges"), share),
                characters=30,
                words=5,
                tokens=7,
            )
            row = answered_row(sample, name, right=name == "skn", retention=retention)
            rows.append(row)
    return write_run_folder(folder, samples, rows, **manifest)


def compare(folder: Path, *runs: Path) -> tuple[str, list[dict[str, Any]]]:
    out = folder / "comparison.json"
    result = run_epoche("compare", *runs, "--out", out, "--resamples", 200)
    assert result.code == 0, result.err
    return result.out, json.loads(out.read_bytes())["comparisons"]


def remove_directions(text: str) -> str:
    return text.replace("higher is better", "").replace("lower is better", "")


def test_models_are_compared(tmp_path: Path) -> None:
    folder = write_different_pipelines(tmp_path / "run")
    text, comparisons = compare(tmp_path, folder)
    assert "skn is better" in text
    assert {"skn"} == {row["better"] for row in comparisons if row["metric"] == "accuracy"}
    assert "skn is better" in (folder / "summary.txt").read_text()


@pytest.mark.parametrize("manifest", [{"offline": True}, {"agent": RULES, "judges": RULES}])
def test_offline_runs_state_what_is_kept_and_no_winner(
    tmp_path: Path, manifest: dict[str, Any]
) -> None:
    folder = write_different_pipelines(tmp_path / "run", **manifest)
    sentence = RuleUse(answers=True, verdicts=True).describe()
    text, comparisons = compare(tmp_path, folder)
    summary = (folder / "summary.txt").read_text()
    metrics = run_epoche("metrics", folder, "--resamples", 200).out
    for output in (text, summary, metrics):
        assert not any(word in remove_directions(output) for word in CLAIMS), output
        assert sentence in " ".join(output.split())
    assert "retained_facts" in text
    assert "Facts kept" in summary
    assert "context_tokens_est" in metrics
    assert all(row["p"] is row["p_holm"] is row["better"] is None for row in comparisons)
    facts = next(row for row in comparisons if row["metric"] == "retained_facts")
    assert abs(facts["difference"]) == 0.5
    compared = {row["metric"] for row in comparisons}
    assert not compared & (ANSWER_METRICS | VERDICT_METRICS)
    report = json.loads((folder / "metrics.json").read_bytes())["report"]
    assert report["notes"][0] == sentence
    assert report["comparisons"]
    assert all(row["better"] is row["p"] is None for row in report["comparisons"])
    values = report["pipelines"]["skn"]["metrics"]
    assert {name for name in METRICS if values[name]["why"] == "rules answered, no model"} == (
        (ANSWER_METRICS | VERDICT_METRICS) & set(METRICS)
    )
    assert values["context_chars"]["value"] > 0
    assert set(report["pipelines"]["skn"]["retention"]) == set(RETENTION_METRICS)


def test_published_keys_of_answers_are_null(tmp_path: Path) -> None:
    for mode in ("fair", "as-published"):
        folder = write_different_pipelines(tmp_path / mode, mode=mode, judges=RULES)
        keys = json.loads((folder / "metrics.json").read_bytes())["skn"]
        assert keys["accuracy"] is keys["ece"] is keys["groundedness"] is None
        assert set(keys["accuracy_ci"].values()) == {None}
        assert keys["abstention_f1"] is not None


def test_answers_of_a_model_judged_by_rules_keep_what_needs_no_judge(tmp_path: Path) -> None:
    folder = write_different_pipelines(tmp_path / "run", judges=RULES)
    text, comparisons = compare(tmp_path, folder)
    assert RuleUse(verdicts=True).describe() in text
    assert "abstention_f1" in text
    assert "accuracy (" not in text
    assert not {row["metric"] for row in comparisons} & VERDICT_METRICS
    assert any(row["p"] is not None for row in comparisons)
    summary = (folder / "summary.txt").read_text()
    assert "Accuracy" not in summary
    assert "Abstention F1" in summary


def test_answers_of_rules_judged_by_a_model_are_not_compared(tmp_path: Path) -> None:
    folder = write_different_pipelines(tmp_path / "run", agent=RULES)
    text, comparisons = compare(tmp_path, folder)
    assert RuleUse(answers=True).describe() in text
    assert all(row["p"] is None for row in comparisons)


def test_run_with_models_is_not_compared_with_rules(tmp_path: Path) -> None:
    """In a comparison of both kinds of runs, only pairs of models are tested."""
    model = write_different_pipelines(tmp_path / "model")
    rules = write_different_pipelines(tmp_path / "rules", offline=True)
    text, comparisons = compare(tmp_path, model, rules)
    assert f"rules: {RuleUse(answers=True, verdicts=True).describe()}" in text
    with_rules = [row for row in comparisons if "@rules" in row["candidate"] + row["baseline"]]
    assert with_rules
    assert all(row["p"] is row["better"] is None for row in with_rules)
    metrics = run_epoche("metrics", model, rules, "--resamples", 200).out
    assert "json@model  0.000" in metrics
    assert "json@rules  –  rules answered, no model" in metrics


def test_gate_has_no_accuracy_of_rules(tmp_path: Path) -> None:
    folder = write_different_pipelines(tmp_path / "run", offline=True)
    failed = run_epoche("gate", folder, "--metric", "accuracy>=0", "--resamples", 200)
    assert failed.code == 100
    assert "rules answered, no model" in failed.out
    passed = run_epoche("gate", folder, "--metric", "retained_facts>=.5", "--resamples", 200)
    assert passed.code == 0, passed.out
    other = write_different_pipelines(tmp_path / "other", offline=True)
    line = check_error_line(run_epoche("gate", folder, "--baseline", other), 1)
    assert "no metric that can be worse" in line
    assert "--metric" in line


def test_run_command_prints_what_is_kept(tmp_path: Path) -> None:
    folder = write_inputs(tmp_path, 6)
    result = run_epoche(*offline_command(folder))
    assert result.code == 0, result.err
    header = result.out.splitlines()[0].split()
    assert header == [
        *("kept", "of", "texts", "facts", "negations", "numbers", "names", "hedges"),
        *("characters", "tokens", "≈"),
    ]
    assert not any(word in result.out for word in CLAIMS)
    assert "to compare answers, name models with --model and --judge-model" in result.out


def test_rules_are_not_planned_with(tmp_path: Path) -> None:
    folder = write_different_pipelines(tmp_path / "run", offline=True)
    command = ("power", folder, "--metric", "accuracy", "--effect", 0.1)
    assert "accuracy" in check_error_line(run_epoche(*command), 12)
