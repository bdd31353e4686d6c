"""The commands of the specification's appendix B, as users give them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from extraction_run_parts import data_of, extracting, metrics_of, right, rows_of, wrong
from servers import behaviours as does
from servers.behaviours import reply
from servers.scripted_server import ScriptedServer
from stage_calls import epoche, error_line, usage_error

COUNT = 9


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripted_model: str) -> Path:
    """The working folder, with data in it and a configuration that names the server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VLLM_API_KEY", ScriptedServer.api_key)
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    data_of(tmp_path, COUNT)
    return tmp_path


@pytest.fixture
def config(shop: Path, scripted_server: ScriptedServer) -> Path:
    path = shop / "config.yaml"
    path.write_text(
        f"model:\n  base_url: {scripted_server.base_url}\n  api_key: null\n"
        f"  model_name: {scripted_server.model}\n"
        "dataset:\n  name: data.jsonl\n"
        "metrics:\n  enabled: [field_f1, latency]\n  resamples: 100\n"
        "output:\n  results_dir: runs\n  report_format: markdown\n"
        "performance:\n  batch_size: 2\n  num_workers: 3\n  cache_dir: kept\n"
    )
    return path


def test_run_with_a_configuration(
    shop: Path, config: Path, scripted_server: ScriptedServer
) -> None:
    # Replies that take a while, so that calls made together are seen to be.
    scripted_server.behave_by(lambda asked: reply(right, delay=0.3))
    done = epoche("extract", "run", "--config", config)
    assert done.code == 0, done.err
    out = shop / "runs" / f"extract-vllm-{scripted_server.model}"
    assert len(rows_of(out)) == COUNT
    assert "field_f1_strict" in done.out
    assert "latency_p95_s" in done.out
    assert "schema_validity " not in done.out, "it was not asked for"
    assert "extraction_quality_score" in done.out, "the headline always is"
    assert f"report → runs/{out.name}/report.md" in done.out
    for name in ("report.html", "report.md", "metrics.json", "per_sample.csv", "summary.txt"):
        assert (out / name).stat().st_size
    assert (shop / "kept" / "responses.sqlite").exists()
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest["systems"] == [f"vllm/{scripted_server.model}"]
    assert manifest["measuring"]["resamples"] == 100
    assert 1 < scripted_server.most_in_flight <= 6, "batch size times workers"


def test_flags_go_before_the_configuration(
    shop: Path, config: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(extracting())
    config.write_text(config.read_text() + "  max_cost: 5\n")
    done = epoche(
        *("extract", "run", "--config", config, "--model", "other/name", "--sample", 4),
        *("--seed", 3, "--no-report", "--prices", _free(shop)),
    )
    assert done.code == 0, done.err
    out = shop / "runs" / "extract-vllm-other-name"
    assert len(rows_of(out)) == 4
    assert {asked.body["model"] for asked in scripted_server.requests} == {"other/name"}
    assert not (out / "report.html").exists()


def _free(folder: Path) -> Path:
    path = folder / "prices.json"
    path.write_text('{"vllm/other/name": {"prompt": 0, "completion": 0}}')
    return path


def test_run_report_compare(shop: Path, config: Path, scripted_server: ScriptedServer) -> None:
    scripted_server.behave_by(
        lambda asked: reply(wrong if asked.body["model"] == "weak" else right)
    )
    for name in ("good", "weak"):
        arguments = ("--config", config, "--model", name, "--out", f"runs/{name}", "--no-report")
        assert epoche("extract", "run", *arguments).code == 0
    both = ("--config", config, "--models", "good,weak", "--out", "runs/both")
    assert epoche("extract", "run", *both).code == 0
    assert (shop / "runs" / "both" / "comparison.json").exists()
    done = epoche("extract", "report", "--results-dir", "runs/good", "--output", "page/good.html")
    assert done.code == 0, done.err
    assert (shop / "page" / "good.html").read_text().startswith("<!DOCTYPE html>")
    assert (shop / "page" / "good.md").exists()
    done = epoche(
        *("extract", "compare", "--runs", "good,weak", "--results-dir", "runs"),
        *("--output", "page/comparison.html"),
    )
    assert done.code == 0, done.err
    page = (shop / "page" / "comparison.html").read_text()
    assert "good" in page
    assert "weak" in page


def test_a_report_can_be_made_of_a_run_that_was_cut_off(
    shop: Path, config: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(extracting(**{f"s{n:02}": does.reset() for n in range(4, COUNT)}))
    stop = ("--max-consecutive-errors", 2, "--retries", 0, "--concurrency", 1)
    error_line(epoche("extract", "run", "--config", config, "--out", "runs/cut", *stop), 27)
    before = (shop / "runs" / "cut" / "rows.jsonl").read_bytes()
    done = epoche("extract", "report", "--results-dir", "runs/cut")
    assert done.code == 0, done.err
    out = shop / "runs" / "cut"
    assert "cut off" in (out / "summary.txt").read_text()
    assert (out / "report.html").exists()
    assert (out / "rows.jsonl").read_bytes() == before
    scripted_server.behave_by(extracting())
    assert epoche("extract", "run", "--config", config, "--out", out, "--no-report").code == 0
    assert not (out / "report.html").exists(), "it was made of other rows"


def test_what_is_not_wanted_is_not_written(
    shop: Path, config: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(extracting())
    switched = config.read_text().replace(
        "output:\n", "output:\n  save_predictions: false\n  save_per_sample: false\n"
    )
    config.write_text(switched.replace("  cache_dir: kept\n", "  enable_caching: false\n"))
    assert epoche("extract", "run", "--config", config, "--out", "o", "--no-report").code == 0
    assert {path.name for path in (shop / "o").iterdir()} == {
        *("rows.jsonl", "samples.jsonl", "manifest.json", "metrics.json", "summary.txt")
    }


def test_averages_weights_and_limits_are_those_of_the_configuration(
    shop: Path, config: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(extracting(s00="{}", s01="{}"))
    text = config.read_text().replace(
        "metrics:\n",
        "metrics:\n  aggregation: {f1_type: macro}\n  eqs_weights: {schema_validity: 1, "
        "field_f1_partial: 0, type_accuracy: 0, no_hallucination: 0}\n"
        "  sla: {minimum: {success_rate: 0.5}}\n",
    )
    config.write_text(text)
    assert epoche("extract", "run", "--config", config, "--out", "o", "--no-report").code == 0
    report = json.loads((shop / "o" / "metrics.json").read_bytes())["report"]
    (system,) = report["systems"].values()
    assert report["average"] == "macro"
    assert system["metrics"]["extraction_quality_score"]["value"] == pytest.approx(7 / 9)
    checks = {one["metric"]: one["limit"] for one in system["sla"]["minimum"]["checks"]}
    assert checks["success_rate"] == 0.5
    (metrics,) = metrics_of(shop / "o").values()
    averages = system["averages"]["field_f1_partial"]
    assert metrics["field_f1_partial"]["value"] == averages["macro"]["value"]


def test_matching_rules_of_the_configuration_decide_the_scores(
    shop: Path, config: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(lambda asked: reply(lambda one: right(one).replace("Firm", "FIRM")))
    found = []
    for number, sensitive in enumerate(("false", "true")):
        config.write_text(
            config.read_text().replace("metrics:\n", "metrics:\n  field_matching:\n", 1)
            if number
            else config.read_text()
        )
        if number:
            config.write_text(
                config.read_text().replace(
                    "field_matching:\n", f"field_matching:\n    case_sensitive: {sensitive}\n"
                )
            )
        assert epoche("extract", "run", "--config", config, "--out", f"o{number}").code == 0
        (metrics,) = metrics_of(shop / f"o{number}").values()
        found.append(metrics["exact_match"]["value"])
    assert found == [1.0, pytest.approx(3 / 9)]


def test_test_connection(shop: Path, config: Path, scripted_server: ScriptedServer) -> None:
    scripted_server.behave(reply(lambda _: '{"greeting": "hello"}'))
    done = epoche("extract", "test-connection", "--base-url", scripted_server.base_url)
    assert done.code == 0, done.err
    assert f"the first that is listed is asked: {scripted_server.model}" in done.out
    assert "json_schema  yes" in done.out
    done = epoche("extract", "test-connection", "--config", config)
    assert done.code == 0, done.err
    assert "the first" not in done.out
    gone = error_line(
        epoche("extract", "test-connection", "--base-url", "http://127.0.0.1:9/v1"), 23
    )
    # `epoche test-connection` would ask somewhere else: it knows no --base-url.
    assert "epoche extract test-connection, with the same" in gone
    assert "VLLM_API_KEY" in gone


def test_commands_that_cannot_be_carried_out(
    shop: Path, config: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("extract", "run", "--dataset", "data.jsonl", "--out", "o")
    assert "no model is named" in error_line(epoche(*run), 19)
    assert "offline" in error_line(epoche(*run, "--offline", "--model", "ollama/x"), 19)
    assert "unknown provider" in error_line(epoche(*run, "--model", "nobody/x"), 23)
    assert "cannot be model.structured" in error_line(
        epoche(*run, "--offline", "--structured", "magic"), 19
    )
    error_line(epoche("extract", "run", "--offline", "--dataset", "no.jsonl", "--out", "o"), 3)
    error_line(epoche("extract", "report", "--results-dir", "nowhere"), 3)
    error_line(epoche("extract", "compare", "--runs", "nowhere,neither"), 3)
    assert "no run is named" in error_line(epoche("extract", "compare", "--runs", " ,"), 19)
    assert epoche(*run, "--offline", "--no-report").code == 0
    assert "ends in" in error_line(
        epoche("extract", "report", "--results-dir", "o", "--output", "page.pdf"), 19
    )
    error_line(
        epoche("extract", "report", "--results-dir", "o", "--output", "data.jsonl/x.html"), 15
    )
    usage_error(epoche("extract", "run", "--limit", "0"))
    monkeypatch.delenv("VLLM_API_KEY")
    error_line(epoche("extract", "run", "--config", config, "--out", "p"), 23)
