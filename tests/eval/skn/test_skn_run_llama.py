"""A whole run through llama.cpp: real requests and structured output, random replies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers.llama_server import LlamaServer
from skn_run_parts import read_rows, write_inputs
from stage_calls import run_epoche

from eval.skn.pipelines import FAIR_ABLATION_PIPELINES, PIPELINES

SKN = [name for name, pipeline in PIPELINES.items() if pipeline.notation == "skn"]


def test_random_replies_of_a_real_server_give_metrics_and_a_report(
    llama_server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = write_inputs(tmp_path, 2)
    monkeypatch.delenv("EPOCHE_JUDGE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    files = ("--dataset", shop / "samples.json", "--search", shop / "search.jsonl")
    who = ("--model", f"custom/{llama_server.model}", "--judge-model", "same")
    how = ("--judge-repeats", 1, "--max-tokens", 60, "--resamples", 100, "--limit", 1)
    arguments = ("skn", "run", "--ablation", "--constrained", *files, *who, *how)
    done = run_epoche(*arguments, "--out", shop / "out")
    assert done.code == 0, done.err
    rows = {row["pipeline"]: row for row in read_rows(shop / "out")}
    assert list(rows) == list(FAIR_ABLATION_PIPELINES)
    for name, row in rows.items():
        assert row["outcome"] != "ERROR", "no call may fail"
        assert row["usage"]["prompt_tokens"] > 100
        assert row["latency_s"] > 0
        if PIPELINES[name].notation == "skn":
            # Random replies are neither answers nor abstentions.
            assert (row["outcome"], row["extraction"]["validity"]) == ("INVALID", "unreadable")
    # Constrained decoding gives valid JSON even from random output; SKN has no such mode.
    read = {row["extraction"]["validity"] for name, row in rows.items() if name not in SKN}
    assert "strict" in read
    assert "cannot do for SKN" in (shop / "out" / "summary.txt").read_text()
    (anchor,) = map(json.loads, (shop / "out" / "anchors.jsonl").read_bytes().splitlines())
    assert (anchor["id"], anchor["asked_wrong"]) == ("q00", True)
    manifest = json.loads((shop / "out" / "manifest.json").read_bytes())
    assert manifest["calls"]["repairs"] >= len(SKN)
    assert manifest["setting"]["constrained"] is True
    before = (shop / "out" / "metrics.json").read_bytes()
    accuracy = json.loads(before)["report"]["pipelines"]["skn"]["metrics"]["accuracy"]
    assert (accuracy["worst"], accuracy["best"]) == (0.0, 1.0), "nothing is known"
    assert (shop / "out" / "report.html").stat().st_size
    assert run_epoche(*arguments, "--out", shop / "out").code == 0
    assert (shop / "out" / "metrics.json").read_bytes() == before
