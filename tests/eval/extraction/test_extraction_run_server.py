"""Tests extraction runs on a scripted server, where every fault should get its outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from extraction_run_parts import (
    make_extraction_model,
    make_text_reply,
    read_metrics,
    read_rows,
    reply_correctly,
    reply_with_wrong_field,
    write_samples,
)
from servers import behaviours
from servers.behaviours import normal_reply
from servers.scripted_server import ScriptedServer
from stage_calls import CommandResult, check_error_line, run_epoche

from eval.extraction.configuration.config import SYSTEM_PROMPT

SAMPLE_COUNT = 12

# Exit codes in these tests: 3 missing file, 14 mismatch with the earlier run, 23 no access to the
# model, 26 cost limit, 27 too many errors.


@pytest.fixture
def run_extract(tmp_path: Path, scripted_model: str) -> Callable[..., tuple[CommandResult, Path]]:
    """Returns a function that runs the command, by default with the scripted model."""

    def run_samples(
        *options: object, count: int = SAMPLE_COUNT, out: str = "out", models: str = scripted_model
    ) -> tuple[CommandResult, Path]:
        data = write_samples(tmp_path, count)
        common_options = ("--resamples", 100, "--no-report", "--retries", 1)
        cache_option = () if "--cache" in options else ("--no-cache",)
        arguments = (
            "--dataset",
            data,
            "--models",
            models,
            "--out",
            tmp_path / out,
            *common_options,
        )
        return run_epoche("extract", "run", *arguments, *cache_option, *options), tmp_path / out

    return run_samples


def read_rows_by_sample(out: Path) -> dict[str, dict[str, Any]]:
    return {name: row for (name, _, _), row in read_rows(out).items()}


def test_perfect_model_gets_perfect_scores(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(make_extraction_model())
    result, out = run_extract()
    assert result.code == 0, result.err
    assert "extraction_quality_score  1.000" in result.out
    rows = read_rows_by_sample(out)
    assert list(rows) == [f"s{number:02}" for number in range(SAMPLE_COUNT)]
    for row in rows.values():
        assert (row["outcome"], row["problem"], row["raw"]) == ("OK", "", "")
        assert row["latency_s"] > 0
        # The reply is not streamed, and the server reports no timing.
        assert row["ttft_s"] is None
        assert row["at_s"] > 1_600_000_000
        assert row["usage"]["prompt_tokens"] > 10
        assert row["usage"]["cost_usd"] is None, "the model has no known price"
        assert (row["retries"], row["timed_out"]) == (0, False)
    (metrics,) = read_metrics(out).values()
    for name in ("extraction_quality_score", "field_f1_strict", "exact_match", "success_rate"):
        assert metrics[name]["value"] == 1.0
    assert metrics["hallucination_rate"]["value"] == 0.0
    manifest = json.loads((out / "manifest.json").read_bytes())
    unusable = {"INVALID": 0, "UNPARSABLE": 0, "ERROR": 0, "NULLS": 0}
    assert manifest["counts"] == {"OK": SAMPLE_COUNT, **unusable}
    assert manifest["status"] == "complete"
    assert "loopback-scripted" not in (out / "manifest.json").read_text(), (
        "the API key must not be written"
    )
    assert (out / "samples.jsonl").read_bytes().count(b"\n") == SAMPLE_COUNT


def test_model_gets_only_text_and_schema_of_the_sample(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(make_extraction_model())
    assert run_extract(count=2)[0].code == 0
    # The connection check at the start of a run asks whether the model is ready.
    requests = [request for request in scripted_server.requests if "ready" not in request.prompt]
    assert len(requests) == 2
    for request in requests:
        system, user = request.body["messages"]
        assert system == {"role": "system", "content": SYSTEM_PROMPT}
        assert "years old and works at" in user["content"]
        assert '"company": {' in user["content"]
        assert "x-match" not in json.dumps(request.body), (
            "scoring keys must not be sent to the model"
        )
        assert "people" not in request.prompt
        assert request.body["temperature"] == 0.0
        assert request.body["max_tokens"] == 2048


FAULTS: dict[str, tuple[str | behaviours.Behaviour, str, str]] = {
    "a list instead of an object": (
        '[{"name": "Ada", "age": 1, "company": "x"}]',
        "INVALID",
        "not valid",
    ),
    "fenced": ('```json\n{"name": "Ada", "age": 20, "company": "F"}\n```', "OK", ""),
    "prose around": ('Sure: {"name": "Ada", "age": 20, "company": "F"}.', "OK", ""),
    "wrong type": ('{"name": "Ada", "age": "20", "company": "F"}', "INVALID", "not valid"),
    "null": ("null", "INVALID", "not valid"),
    "prose": ("I do not know.", "UNPARSABLE", "not JSON"),
    "truncated": ('{"name": "Ada", "age": 2', "UNPARSABLE", "not JSON"),
    "NaN": ('{"name": "Ada", "age": NaN, "company": "F"}', "UNPARSABLE", "NaN"),
    "too large": ('{"name": "Ada", "age": 1e999, "company": "F"}', "UNPARSABLE", "too large"),
    "a key twice": ('{"name": "A", "name": "B", "age": 1, "company": "F"}', "UNPARSABLE", "twice"),
    "half a character": ('{"name": "\\udc00", "age": 1, "company": "F"}', "UNPARSABLE", "half"),
    "deep": ("[" * 5000 + "]" * 5000, "UNPARSABLE", "too deeply"),
    "empty": ("", "UNPARSABLE", "empty"),
    "refusal": (behaviours.refusal_reply(), "UNPARSABLE", "refused: I'm sorry"),
    "filter": (behaviours.filtered_reply(), "UNPARSABLE", "refused: by a content filter"),
    "cut off": (behaviours.cut_off_reply(), "UNPARSABLE", "cut off at max_tokens"),
    "500": (behaviours.http_error(500), "ERROR", "HTTP 500"),
    "429": (behaviours.rate_limit_error(0.01), "ERROR", "HTTP 429"),
    "400": (behaviours.http_error(400, "the prompt is too long"), "ERROR", "too long"),
    "a web page": (behaviours.html_reply(), "ERROR", "not a chat completion"),
    "reset": (behaviours.reset_connection(), "ERROR", "connection was lost"),
    "hang": (behaviours.never_reply(), "ERROR", "no complete reply in time"),
}
"""Name of a fault → (reply text or server behaviour, expected outcome, part of the problem)."""


def test_every_fault_gets_its_outcome_and_reason(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    # Every third sample gets a fault, the other two thirds get the right reply.
    names = [f"s{number:02}" for number in range(3 * len(FAULTS)) if number % 3 == 0]
    faults = dict(zip(names, FAULTS.values(), strict=False))
    fault_names = dict(zip(names, FAULTS, strict=True))
    scripted_server.behave_with(
        make_extraction_model(**{name: fault[0] for name, fault in faults.items()})
    )
    result, out = run_extract("--timeout", 1, "--concurrency", 16, count=3 * len(FAULTS))
    assert result.code == 0, result.err
    rows = read_rows_by_sample(out)
    for name, (_, outcome, reason) in faults.items():
        row, fault_name = rows[name], fault_names[name]
        # The first two counts of a tally are those of the expected and of the predicted fields.
        assert row["outcome"] == outcome, (fault_name, row)
        assert reason in row["problem"], (fault_name, row["problem"])
        assert row["timed_out"] is (fault_name == "hang"), fault_name
        assert row["score"]["tally"][0] == 3, "the expected count should not depend on the reply"
        if outcome == "ERROR":
            assert row["usage"] is None
            assert row["latency_s"] is None
        if outcome in {"UNPARSABLE", "ERROR"}:
            assert row["predicted"] is None
            assert row["score"]["tally"][1] == 0
    faultless_rows = [row for name, row in rows.items() if name not in faults]
    assert {row["outcome"] for row in faultless_rows} == {"OK"}, (
        "a fault should affect only its own sample"
    )
    # Sample s03 has the second fault, a fenced reply.
    assert rows["s03"]["raw"].startswith("```json"), (
        "a raw reply that is more than JSON should be kept"
    )
    retried_faults = {
        fault_name for name, fault_name in fault_names.items() if rows[name]["retries"]
    }
    assert retried_faults == {"500", "429", "a web page", "reset", "hang"}
    (metrics,) = read_metrics(out).values()
    failed = sum(outcome == "ERROR" for _, outcome, _ in FAULTS.values())
    total = len(rows)
    assert metrics["success_rate"]["value"] == pytest.approx(1 - failed / total)
    assert metrics["timeout_rate"]["value"] == pytest.approx(1 / total)
    score = metrics["extraction_quality_score"]
    assert score["worst"] < score["value"] < score["best"], (
        "a failed call should widen the bounds, not count as zero"
    )
    assert f"{failed} of {total} rows are ERROR" in result.err


def test_two_models_get_the_same_samples(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        lambda request: normal_reply(
            reply_with_wrong_field if request.body["model"] == "weak" else reply_correctly
        )
    )
    result, out = run_extract("--repeat", 2, models="custom/good, custom/weak")
    assert result.code == 0, result.err
    assert len(read_rows(out)) == SAMPLE_COUNT * 2 * 2
    metrics = read_metrics(out)
    assert list(metrics) == ["custom/good", "custom/weak"]
    good_f1, weak_f1 = (
        model_metrics["field_f1_strict"]["value"] for model_metrics in metrics.values()
    )
    assert good_f1 == 1.0
    assert 0.2 < weak_f1 < 0.8
    comparison = json.loads((out / "comparison.json").read_bytes())
    assert comparison


def test_token_prices_come_from_the_configuration(
    run_extract: Callable[..., tuple[CommandResult, Path]],
    scripted_server: ScriptedServer,
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_extraction_model())
    config = tmp_path / "c.yaml"
    config.write_text("model: {input_price_per_1k: 2, output_price_per_1k: 10}\n")
    result, out = run_extract("--config", config, count=2)
    assert result.code == 0, result.err
    for row in read_rows_by_sample(out).values():
        usage = row["usage"]
        expected = usage["prompt_tokens"] * 0.002 + usage["completion_tokens"] * 0.01
        assert usage["cost_usd"] == pytest.approx(expected)
    price_table = tmp_path / "prices.json"
    price_table.write_text(
        f'{{"custom/{scripted_server.model}": {{"prompt": 0, "completion": 0}}}}'
    )
    _, free_out = run_extract("--config", config, "--prices", price_table, count=2, out="free")
    costs = [row["usage"]["cost_usd"] for row in read_rows_by_sample(free_out).values()]
    assert costs == [0, 0], "the flag should override the configuration"
    price_table.write_text("{}")
    _, unpriced_out = run_extract("--config", config, "--prices", price_table, count=2, out="other")
    assert [row["usage"]["cost_usd"] for row in read_rows_by_sample(unpriced_out).values()] == [
        row["usage"]["cost_usd"] for row in read_rows_by_sample(out).values()
    ]
    check_error_line(
        run_extract("--config", config, "--prices", tmp_path / "none", out="none")[0], 3
    )
    stopped_result, _ = run_extract(
        "--config", config, "--max-cost", 0.5, "--concurrency", 1, out="poor"
    )
    check_error_line(stopped_result, 26)
    row_count = (tmp_path / "poor" / "rows.jsonl").read_bytes().count(b"\n")
    assert 0 < row_count < SAMPLE_COUNT


def test_repeated_run_is_answered_from_the_cache(
    run_extract: Callable[..., tuple[CommandResult, Path]],
    scripted_server: ScriptedServer,
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_extraction_model(s02=behaviours.reset_connection()))
    cache_option = ("--cache", tmp_path / "kept.sqlite")
    assert run_extract(*cache_option)[0].code == 0
    first_rows = read_rows_by_sample(tmp_path / "out")
    scripted_server.behave(behaviours.http_error(500))
    scripted_server.clear_log()
    result, out = run_extract(*cache_option, out="again")
    assert result.code == 0, result.err
    repeated_rows = read_rows_by_sample(out)
    assert repeated_rows.pop("s02")["outcome"] == "ERROR"
    del first_rows["s02"]
    assert repeated_rows == first_rows, (
        "a cached reply should have the latency and usage of its first call"
    )
    prompts = [request.prompt for request in scripted_server.requests]
    assert all("Order 702 " in prompt for prompt in prompts), (
        "only sample s02 should be asked again"
    )


def test_first_token_time_and_confidence_are_recorded(
    run_extract: Callable[..., tuple[CommandResult, Path]],
    scripted_server: ScriptedServer,
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_extraction_model())
    _, out = run_extract("--stream", count=3)
    for row in read_rows_by_sample(out).values():
        assert 0 < row["ttft_s"] <= row["latency_s"]
        assert row["confidence"] is None, "there is no confidence without log-probabilities"
    config = tmp_path / "c.yaml"
    config.write_text("model: {logprobs: true}\n")
    _, out = run_extract("--config", config, count=3, out="sure")
    for row in read_rows_by_sample(out).values():
        assert 0 < row["confidence"] < 1
    (metrics,) = read_metrics(out).values()
    assert metrics["expected_calibration_error"]["value"] is not None


def test_server_that_ignores_the_schema_is_reported(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(make_text_reply("```json\n{}\n```"))
    result, out = run_extract("--structured", "guided_json", count=2)
    assert result.code == 0, result.err
    assert "guided_json not followed, in 2 calls" in result.out
    for row in read_rows_by_sample(out).values():
        assert row["notes"] == ["guided_json not followed"]
        assert row["outcome"] == "INVALID"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seed", 7), "seed"),
        (("--structured", "text"), "structured"),
        (("--sample", 3), "other samples"),
    ],
)
def test_folder_is_not_resumed_by_another_run(
    run_extract: Callable[..., tuple[CommandResult, Path]],
    scripted_server: ScriptedServer,
    options: tuple[object, ...],
    message: str,
) -> None:
    scripted_server.behave_with(make_extraction_model())
    _, out = run_extract()
    old_bytes = (out / "rows.jsonl").read_bytes()
    result, _ = run_extract(*options)
    assert message in check_error_line(result, 14)
    assert (out / "rows.jsonl").read_bytes() == old_bytes
    assert run_extract(*options, "--overwrite")[0].code == 0
