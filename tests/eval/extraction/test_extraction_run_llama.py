"""Two models behind a real server with real constrained decoding; what they write is noise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from extraction_run_parts import data_of, metrics_of, rows_of
from servers.llama_server import LlamaServer
from stage_calls import epoche

COUNT = 6


@pytest.fixture
def data(tmp_path: Path, llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    return data_of(tmp_path, COUNT)


def test_two_models_are_compared_on_what_a_real_server_makes_them_write(
    llama_server: LlamaServer, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    file = tmp_path / "config.yaml"
    file.write_text("model: {max_tokens: 120, temperature: 1.0, seed: 7, logprobs: true}\n")
    models = f"custom/{llama_server.model},custom/another-name"
    arguments = ("--config", file, "--dataset", data, "--models", models, "--out", out)
    done = epoche("extract", "run", *arguments, "--repeat", 2, "--resamples", 100)
    assert done.code == 0, done.err
    rows = rows_of(out)
    assert len(rows) == COUNT * 2 * 2
    outcomes = {row["outcome"] for row in rows.values()}
    assert "ERROR" not in outcomes, "no call failed"
    # Constrained decoding makes JSON of noise: what is whole is valid, what is not was cut off.
    assert "INVALID" not in outcomes
    assert "OK" in outcomes
    for row in rows.values():
        assert row["outcome"] == "OK" or "max_tokens" in row["problem"]
        assert row["latency_s"] > 0
        if row["outcome"] == "OK":
            assert row["usage"]["prompt_tokens"] > 50
            assert 0 <= row["confidence"] < 1
            assert 0 <= row["ttft_s"] <= row["latency_s"], "llama.cpp tells how long it wrote"
    first = metrics_of(out)
    assert list(first) == sorted(models.split(","))
    for metrics in first.values():
        assert metrics["exact_match"]["value"] == 0.0, "noise is never right"
    comparison = json.loads((out / "comparison.json").read_bytes())
    assert len(comparison["ranking"]) == 2
    assert (out / "report.html").stat().st_size > 10_000
    before = (out / "metrics.json").read_bytes()
    assert epoche("extract", "run", *arguments, "--repeat", 2, "--resamples", 100).code == 0
    assert (out / "metrics.json").read_bytes() == before


def test_a_stream_from_a_real_server_times_its_first_token(
    llama_server: LlamaServer, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    file = tmp_path / "config.yaml"
    file.write_text("model: {max_tokens: 300, temperature: 1.0, seed: 3, stream: true}\n")
    arguments = ("--config", file, "--dataset", data, "--no-report")
    model = ("--model", f"custom/{llama_server.model}", "--out", out, "--resamples", 100)
    done = epoche("extract", "run", *arguments, *model)
    assert done.code == 0, done.err
    outcomes = [row["outcome"] for row in rows_of(out).values()]
    assert "ERROR" not in outcomes, "a reply that breaks off is the model's fault, not the call's"
    timed = [row for row in rows_of(out).values() if row["outcome"] == "OK"]
    assert timed
    for row in timed:
        assert 0 < row["ttft_s"] <= row["latency_s"]
