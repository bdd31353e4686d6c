"""Tests extraction runs on a real llama.cpp server, whose tiny model gives random replies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from extraction_run_parts import read_metrics, read_rows, write_samples
from servers.llama_server import LlamaServer
from stage_calls import run_epoche

SAMPLE_COUNT = 6


@pytest.fixture
def data(tmp_path: Path, llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    return write_samples(tmp_path, SAMPLE_COUNT)


def test_two_models_are_compared_on_a_real_server(
    llama_server: LlamaServer, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    config = tmp_path / "config.yaml"
    config.write_text("model: {max_tokens: 120, temperature: 1.0, seed: 7, logprobs: true}\n")
    models = f"custom/{llama_server.model},custom/another-name"
    arguments = ("--config", config, "--dataset", data, "--models", models, "--out", out)
    result = run_epoche("extract", "run", *arguments, "--repeat", 2, "--resamples", 100)
    assert result.code == 0, result.err
    rows = read_rows(out)
    assert len(rows) == SAMPLE_COUNT * 2 * 2
    outcomes = {row["outcome"] for row in rows.values()}
    assert "ERROR" not in outcomes
    # Constrained decoding makes random output valid under the schema, unless it is truncated.
    assert "INVALID" not in outcomes
    assert "OK" in outcomes
    for row in rows.values():
        assert row["outcome"] == "OK" or "max_tokens" in row["problem"]
        assert row["latency_s"] > 0
        if row["outcome"] == "OK":
            assert row["usage"]["prompt_tokens"] > 50
            assert 0 <= row["confidence"] < 1
            # llama.cpp reports its generation time, from which the first-token time follows.
            assert 0 <= row["ttft_s"] <= row["latency_s"]
    metrics_by_model = read_metrics(out)
    assert list(metrics_by_model) == sorted(models.split(","))
    for metrics in metrics_by_model.values():
        assert metrics["exact_match"]["value"] == 0.0, "a random reply should never be right"
    comparison = json.loads((out / "comparison.json").read_bytes())
    assert len(comparison["ranking"]) == 2
    assert (out / "report.html").stat().st_size > 10_000
    old_metrics = (out / "metrics.json").read_bytes()
    assert run_epoche("extract", "run", *arguments, "--repeat", 2, "--resamples", 100).code == 0
    assert (out / "metrics.json").read_bytes() == old_metrics


def test_stream_from_a_real_server_times_the_first_token(
    llama_server: LlamaServer, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    config = tmp_path / "config.yaml"
    config.write_text("model: {max_tokens: 300, temperature: 1.0, seed: 3, stream: true}\n")
    arguments = ("--config", config, "--dataset", data, "--no-report")
    model = ("--model", f"custom/{llama_server.model}", "--out", out, "--resamples", 100)
    result = run_epoche("extract", "run", *arguments, *model)
    assert result.code == 0, result.err
    outcomes = [row["outcome"] for row in read_rows(out).values()]
    # A truncated reply is not a failed call.
    assert "ERROR" not in outcomes
    complete_rows = [row for row in read_rows(out).values() if row["outcome"] == "OK"]
    assert complete_rows
    for row in complete_rows:
        assert 0 < row["ttft_s"] <= row["latency_s"]
