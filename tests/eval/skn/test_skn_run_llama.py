"""Tests a complete run against a real llama.cpp server, whose model replies at random."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers.llama_server import LlamaServer
from skn_run_parts import read_rows, write_inputs
from stage_calls import run_epoche

from eval.harness.reply import VOTES, read_votes
from eval.skn.formats.pipelines import FAIR_ABLATION_PIPELINES, PIPELINES

SKN_PIPELINES = [name for name, pipeline in PIPELINES.items() if pipeline.notation == "skn"]


@pytest.mark.slow
def test_random_replies_of_a_real_server_give_metrics_and_a_report(
    llama_server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_inputs(tmp_path, 2)
    monkeypatch.delenv("EPOCHE_JUDGE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    input_options = ("--dataset", folder / "samples.json", "--search", folder / "search.jsonl")
    model_options = ("--model", f"custom/{llama_server.model}", "--judge-model", "same")
    run_options = ("--judge-repeats", 1, "--max-tokens", 60, "--resamples", 100, "--limit", 1)
    arguments = (
        "skn",
        "run",
        "--ablation",
        "--constrained",
        *input_options,
        *model_options,
        *run_options,
    )
    result = run_epoche(*arguments, "--out", folder / "out")
    assert result.code == 0, result.err
    rows = {row["pipeline"]: row for row in read_rows(folder / "out")}
    assert list(rows) == list(FAIR_ABLATION_PIPELINES)
    for name, row in rows.items():
        assert row["outcome"] != "ERROR", "no call may fail"
        assert row["usage"]["prompt_tokens"] > 100
        assert row["latency_s"] > 0
        if PIPELINES[name].notation == "skn":
            # Random replies are neither answers nor abstentions.
            assert (row["outcome"], row["extraction"]["validity"]) == ("INVALID", "unreadable")
    # Constrained decoding gives valid JSON even from random output; SKN has no such mode.
    json_validities = {
        row["extraction"]["validity"] for name, row in rows.items() if name not in SKN_PIPELINES
    }
    assert "strict" in json_validities
    assert "cannot do for SKN" in (folder / "out" / "summary.txt").read_text()
    (anchor,) = [vote for vote in read_votes(folder / "out" / VOTES) if vote.anchor]
    assert (anchor.id, anchor.verdict["asked_wrong"]) == ("q00", True)
    manifest = json.loads((folder / "out" / "manifest.json").read_bytes())
    assert manifest["calls"]["repairs"] >= len(SKN_PIPELINES)
    assert manifest["setting"]["constrained"] is True
    metrics_bytes = (folder / "out" / "metrics.json").read_bytes()
    accuracy = json.loads(metrics_bytes)["report"]["pipelines"]["skn"]["metrics"]["accuracy"]
    assert (accuracy["worst"], accuracy["best"]) == (0.0, 1.0), (
        "without a readable answer every accuracy is possible"
    )
    assert (folder / "out" / "report.html").stat().st_size
    assert run_epoche(*arguments, "--out", folder / "out").code == 0
    assert (folder / "out" / "metrics.json").read_bytes() == metrics_bytes
