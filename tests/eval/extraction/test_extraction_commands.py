"""Tests the commands of appendix B of the specification, run as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from extraction_reader import READER
from extraction_run_parts import (
    make_extraction_model,
    read_metrics,
    read_rows,
    reply_correctly,
    reply_with_wrong_field,
    write_samples,
)
from servers import behaviours
from servers.behaviours import normal_reply
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, check_usage_error, run_epoche

# The numbers passed to `check_error_line` are the exit codes of docs/reference/exit-codes.md.

SAMPLE_COUNT = 9


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripted_model: str) -> Path:
    """The working folder, with samples and the variables of the scripted server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VLLM_API_KEY", ScriptedServer.api_key)
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    write_samples(tmp_path, SAMPLE_COUNT)
    return tmp_path


@pytest.fixture
def config_file(workspace: Path, scripted_server: ScriptedServer) -> Path:
    path = workspace / "config.yaml"
    path.write_text(
        f"model:\n  base_url: {scripted_server.base_url}\n  api_key: null\n"
        f"  model_name: {scripted_server.model}\n"
        "dataset:\n  name: data.jsonl\n"
        "metrics:\n  enabled: [field_f1, latency]\n  resamples: 100\n"
        "output:\n  results_dir: runs\n  report_format: markdown\n"
        "performance:\n  batch_size: 2\n  num_workers: 3\n  cache_dir: kept\n"
    )
    return path


def test_run_uses_the_configuration(
    workspace: Path, config_file: Path, scripted_server: ScriptedServer
) -> None:
    # Slow replies, so that concurrent calls overlap visibly.
    scripted_server.behave_with(lambda request: normal_reply(reply_correctly, delay=0.3))
    result = run_epoche("extract", "run", "--config", config_file)
    assert result.code == 0, result.err
    out = workspace / "runs" / f"extract-vllm-{scripted_server.model}"
    assert len(read_rows(out)) == SAMPLE_COUNT
    assert "field_f1_strict" in result.out
    assert "latency_p95_s" in result.out
    assert "schema_validity " not in result.out, "the configuration does not enable it"
    assert "extraction_quality_score" in result.out, "the headline metric is always computed"
    assert f"report → runs/{out.name}/report.md" in result.out
    for name in ("report.html", "report.md", "metrics.json", "per_sample.csv", "summary.txt"):
        assert (out / name).stat().st_size
    assert (workspace / "kept" / "responses.sqlite").exists()
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest["systems"] == [f"vllm/{scripted_server.model}"]
    assert manifest["measuring"]["resamples"] == 100
    assert 1 < scripted_server.max_in_flight <= 6, "at most batch size × workers requests at once"


def test_flags_override_the_configuration(
    workspace: Path, config_file: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(make_extraction_model())
    config_file.write_text(config_file.read_text() + "  max_cost: 5\n")
    result = run_epoche(
        *("extract", "run", "--config", config_file, "--model", "other/name", "--sample", 4),
        *("--seed", 3, "--no-report", "--prices", _write_free_prices(workspace)),
    )
    assert result.code == 0, result.err
    out = workspace / "runs" / "extract-vllm-other-name"
    assert len(read_rows(out)) == 4
    assert {request.body["model"] for request in scripted_server.requests} == {"other/name"}
    assert not (out / "report.html").exists()


def _write_free_prices(folder: Path) -> Path:
    path = folder / "prices.json"
    path.write_text('{"vllm/other/name": {"prompt": 0, "completion": 0}}')
    return path


def test_run_report_and_compare_work_together(
    workspace: Path, config_file: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        lambda request: normal_reply(
            reply_with_wrong_field if request.body["model"] == "weak" else reply_correctly
        )
    )
    for name in ("good", "weak"):
        arguments = (
            "--config",
            config_file,
            "--model",
            name,
            "--out",
            f"runs/{name}",
            "--no-report",
        )
        assert run_epoche("extract", "run", *arguments).code == 0
    comparison_flags = ("--config", config_file, "--models", "good,weak", "--out", "runs/both")
    assert run_epoche("extract", "run", *comparison_flags).code == 0
    assert (workspace / "runs" / "both" / "comparison.json").exists()
    result = run_epoche(
        "extract", "report", "--results-dir", "runs/good", "--output", "page/good.html"
    )
    assert result.code == 0, result.err
    assert (workspace / "page" / "good.html").read_text().startswith("<!DOCTYPE html>")
    assert (workspace / "page" / "good.md").exists()
    result = run_epoche(
        *("extract", "compare", "--runs", "good,weak", "--results-dir", "runs"),
        *("--output", "page/comparison.html"),
    )
    assert result.code == 0, result.err
    page = (workspace / "page" / "comparison.html").read_text()
    assert "good" in page
    assert "weak" in page


def test_interrupted_run_can_be_reported(
    workspace: Path, config_file: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        make_extraction_model(
            **{f"s{n:02}": behaviours.reset_connection() for n in range(4, SAMPLE_COUNT)}
        )
    )
    limits = ("--max-consecutive-errors", 2, "--retries", 0, "--concurrency", 1)
    check_error_line(
        run_epoche("extract", "run", "--config", config_file, "--out", "runs/cut", *limits), 27
    )
    old_rows = (workspace / "runs" / "cut" / "rows.jsonl").read_bytes()
    result = run_epoche("extract", "report", "--results-dir", "runs/cut")
    assert result.code == 0, result.err
    out = workspace / "runs" / "cut"
    assert "interrupted" in (out / "summary.txt").read_text()
    assert (out / "report.html").exists()
    assert (out / "rows.jsonl").read_bytes() == old_rows
    scripted_server.behave_with(make_extraction_model())
    assert (
        run_epoche("extract", "run", "--config", config_file, "--out", out, "--no-report").code == 0
    )
    assert not (out / "report.html").exists(), "the outdated report is deleted"


def test_disabled_outputs_are_not_written(
    workspace: Path, config_file: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(make_extraction_model())
    config = config_file.read_text().replace(
        "output:\n", "output:\n  save_predictions: false\n  save_per_sample: false\n"
    )
    config_file.write_text(config.replace("  cache_dir: kept\n", "  enable_caching: false\n"))
    assert (
        run_epoche("extract", "run", "--config", config_file, "--out", "o", "--no-report").code == 0
    )
    assert {path.name for path in (workspace / "o").iterdir()} == {
        *("replies.jsonl", "rows.jsonl", "samples.jsonl"),
        *("manifest.json", "metrics.json", "summary.txt"),
    }


def test_configuration_sets_averages_weights_and_limits(
    workspace: Path, config_file: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(make_extraction_model(s00="{}", s01="{}"))
    text = config_file.read_text().replace(
        "metrics:\n",
        "metrics:\n  aggregation: {f1_type: macro}\n  eqs_weights: {schema_validity: 1, "
        "field_f1_partial: 0, type_accuracy: 0, no_hallucination: 0}\n"
        "  sla: {minimum: {success_rate: 0.5}}\n",
    )
    config_file.write_text(text)
    assert (
        run_epoche("extract", "run", "--config", config_file, "--out", "o", "--no-report").code == 0
    )
    report = json.loads((workspace / "o" / "metrics.json").read_bytes())["report"]
    (system,) = report["systems"].values()
    assert report["average"] == "macro"
    # Two of the nine replies are `{}`, which lacks required fields; 7 of 9 are valid.
    assert system["metrics"]["extraction_quality_score"]["value"] == pytest.approx(7 / 9)
    limits_by_metric = {
        check["metric"]: check["limit"] for check in system["sla"]["minimum"]["checks"]
    }
    assert limits_by_metric["success_rate"] == 0.5
    (metrics,) = read_metrics(workspace / "o").values()
    averages = system["averages"]["field_f1_partial"]
    assert metrics["field_f1_partial"]["value"] == averages["macro"]["value"]


def test_configuration_sets_the_matching_rules(
    workspace: Path, config_file: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        lambda _: normal_reply(lambda request: reply_correctly(request).replace("Firm", "FIRM"))
    )
    text = config_file.read_text()
    exact_match_rates = []
    # The default ignores case.
    for folder, matching_rules in (
        ("default", ""),
        ("case_sensitive", "  field_matching:\n    case_sensitive: true\n"),
    ):
        config_file.write_text(text.replace("metrics:\n", f"metrics:\n{matching_rules}", 1))
        assert run_epoche("extract", "run", "--config", config_file, "--out", folder).code == 0
        (metrics,) = read_metrics(workspace / folder).values()
        exact_match_rates.append(metrics["exact_match"]["value"])
    # Six of the nine samples name a "Firm"; the three orders do not.
    assert exact_match_rates == [1.0, pytest.approx(3 / 9)]


def test_test_connection(
    workspace: Path, config_file: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(normal_reply(lambda _: '{"greeting": "hello"}'))
    result = run_epoche("extract", "test-connection", "--base-url", scripted_server.base_url)
    assert result.code == 0, result.err
    assert f"using the first one the server lists: {scripted_server.model}" in result.out
    assert "json_schema  yes" in result.out
    result = run_epoche("extract", "test-connection", "--config", config_file)
    assert result.code == 0, result.err
    assert "the first" not in result.out
    error = check_error_line(
        run_epoche("extract", "test-connection", "--base-url", "http://127.0.0.1:9/v1"), 23
    )
    # The hint names this command, not `epoche test-connection`: that one has no --base-url, so it
    # would ask another server.
    assert "epoche extract test-connection, with the same" in error
    assert "VLLM_API_KEY" in error


def test_invalid_commands_are_refused(
    workspace: Path,
    config_file: Path,
    scripted_server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_command = ("extract", "run", "--dataset", "data.jsonl", "--out", "o")
    assert "no model is given" in check_error_line(run_epoche(*run_command), 19)
    assert "unknown provider" in check_error_line(
        run_epoche(*run_command, "--model", "nobody/x"), 23
    )
    assert "cannot be model.structured" in check_error_line(
        run_epoche(*run_command, *READER, "--structured", "magic"), 19
    )
    check_error_line(
        run_epoche("extract", "run", *READER, "--dataset", "no.jsonl", "--out", "o"), 3
    )
    check_error_line(run_epoche("extract", "report", "--results-dir", "nowhere"), 3)
    check_error_line(run_epoche("extract", "compare", "--runs", "nowhere,neither"), 3)
    assert "no run is given" in check_error_line(
        run_epoche("extract", "compare", "--runs", " ,"), 19
    )
    assert run_epoche(*run_command, *READER, "--no-report").code == 0
    assert "must end in" in check_error_line(
        run_epoche("extract", "report", "--results-dir", "o", "--output", "page.pdf"), 19
    )
    check_error_line(
        run_epoche("extract", "report", "--results-dir", "o", "--output", "data.jsonl/x.html"), 15
    )
    check_usage_error(run_epoche("extract", "run", "--limit", "0"))
    monkeypatch.delenv("VLLM_API_KEY")
    check_error_line(run_epoche("extract", "run", "--config", config_file, "--out", "p"), 23)
