"""A whole run through llama.cpp: real requests, real structured output, replies that are noise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers.llama_server import LlamaServer
from skn_run_parts import rows_of, shop_of
from stage_calls import epoche

from eval.skn.pipelines import FAIR_ABLATION_PIPELINES, PIPELINES

SKN = [name for name, pipeline in PIPELINES.items() if pipeline.notation == "skn"]


def test_noise_from_a_real_server_ends_in_metrics_and_a_report(
    llama_server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_of(tmp_path, 2)
    monkeypatch.delenv("EPOCHE_JUDGE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    files = ("--dataset", shop / "samples.json", "--search", shop / "search.jsonl")
    who = ("--model", f"custom/{llama_server.model}", "--judge-model", "same")
    how = ("--judge-repeats", 1, "--max-tokens", 60, "--resamples", 100, "--limit", 1)
    arguments = ("skn", "run", "--ablation", "--constrained", *files, *who, *how)
    done = epoche(*arguments, "--out", shop / "out")
    assert done.code == 0, done.err
    rows = {row["pipeline"]: row for row in rows_of(shop / "out")}
    assert list(rows) == list(FAIR_ABLATION_PIPELINES)
    for name, row in rows.items():
        assert row["outcome"] != "ERROR", "no call of it failed"
        assert row["usage"]["prompt_tokens"] > 100
        assert row["latency_s"] > 0
        if PIPELINES[name].notation == "skn":
            # Noise is no answer and no abstention.
            assert (row["outcome"], row["extraction"]["validity"]) == ("INVALID", "unreadable")
    # The server can make JSON even of noise; the same cannot be asked of it for SKN.
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
    assert epoche(*arguments, "--out", shop / "out").code == 0
    assert (shop / "out" / "metrics.json").read_bytes() == before
