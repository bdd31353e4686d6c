"""Extraction through a scripted server: every faulty reply gets its own outcome."""

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

from eval.extraction.running.config import SYSTEM

COUNT = 12


@pytest.fixture
def run_extract(tmp_path: Path, scripted_model: str) -> Callable[..., tuple[CommandResult, Path]]:
    """Returns a function that runs the command, by default with the scripted model."""

    def run_samples(
        *more: object, count: int = COUNT, out: str = "out", models: str = scripted_model
    ) -> tuple[CommandResult, Path]:
        data = write_samples(tmp_path, count)
        how = ("--resamples", 100, "--no-report", "--retries", 1)
        cached = () if "--cache" in more else ("--no-cache",)
        arguments = ("--dataset", data, "--models", models, "--out", tmp_path / out, *how)
        return run_epoche("extract", "run", *arguments, *cached, *more), tmp_path / out

    return run_samples


def by_sample(out: Path) -> dict[str, dict[str, Any]]:
    return {name: row for (name, _, _), row in read_rows(out).items()}


def test_perfect_model_gets_perfect_scores(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(make_extraction_model())
    done, out = run_extract()
    assert done.code == 0, done.err
    assert "extraction_quality_score  1.000" in done.out
    rows = by_sample(out)
    assert list(rows) == [f"s{number:02}" for number in range(COUNT)]
    for row in rows.values():
        assert (row["outcome"], row["problem"], row["raw"]) == ("OK", "", "")
        assert row["latency_s"] > 0
        assert row["ttft_s"] is None, "not streamed, and the server reports no timing"
        assert row["at_s"] > 1_600_000_000
        assert row["usage"]["prompt_tokens"] > 10
        assert row["usage"]["cost_usd"] is None, "the model has no known price"
        assert (row["retries"], row["timed_out"]) == (0, False)
    (metrics,) = read_metrics(out).values()
    for name in ("extraction_quality_score", "field_f1_strict", "exact_match", "success_rate"):
        assert metrics[name]["value"] == 1.0
    assert metrics["hallucination_rate"]["value"] == 0.0
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest["counts"] == {"OK": COUNT, "INVALID": 0, "UNPARSABLE": 0, "ERROR": 0}
    assert manifest["status"] == "complete"
    assert "loopback-scripted" not in (out / "manifest.json").read_text(), (
        "the API key must not be written"
    )
    assert (out / "samples.jsonl").read_bytes().count(b"\n") == COUNT


def test_the_model_sees_text_and_schema_and_nothing_else_of_the_sample(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(make_extraction_model())
    assert run_extract(count=2)[0].code == 0
    asked = [one for one in scripted_server.requests if "ready" not in one.prompt]
    assert len(asked) == 2
    for one in asked:
        system, user = one.body["messages"]
        assert system == {"role": "system", "content": SYSTEM}
        assert "years old and works at" in user["content"]
        assert '"company": {' in user["content"]
        assert "x-match" not in json.dumps(one.body), "scoring keys must not be sent to the model"
        assert "people" not in one.prompt
        assert one.body["temperature"] == 0.0
        assert one.body["max_tokens"] == 2048


FAULTS: dict[str, tuple[str | behaviours.Behaviour, str, str]] = {
    "a list for an object": ('[{"name": "Ada", "age": 1, "company": "x"}]', "INVALID", "not valid"),
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


def test_every_fault_gets_its_outcome_and_reason(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    names = [f"s{number:02}" for number in range(3 * len(FAULTS)) if number % 3 == 0]
    faulty = dict(zip(names, FAULTS.values(), strict=False))
    kinds = dict(zip(names, FAULTS, strict=True))
    scripted_server.behave_with(
        make_extraction_model(**{name: fault[0] for name, fault in faulty.items()})
    )
    done, out = run_extract("--timeout", 1, "--concurrency", 16, count=3 * len(FAULTS))
    assert done.code == 0, done.err
    rows = by_sample(out)
    for name, (_, outcome, why) in faulty.items():
        row, kind = rows[name], kinds[name]
        assert row["outcome"] == outcome, (kind, row)
        assert why in row["problem"], (kind, row["problem"])
        assert row["timed_out"] is (kind == "hang"), kind
        assert row["score"]["tally"][0] == 3, "the expected count does not depend on the reply"
        if outcome == "ERROR":
            assert row["usage"] is None
            assert row["latency_s"] is None
        if outcome in {"UNPARSABLE", "ERROR"}:
            assert row["predicted"] is None
            assert row["score"]["tally"][1] == 0
    good = [row for name, row in rows.items() if name not in faulty]
    assert {row["outcome"] for row in good} == {"OK"}, "a fault affects only its own sample"
    assert rows["s03"]["raw"].startswith("```json"), (
        "the raw reply is kept if it has more than the JSON"
    )
    retried = {kind for name, kind in kinds.items() if rows[name]["retries"]}
    assert retried == {"500", "429", "a web page", "reset", "hang"}
    (metrics,) = read_metrics(out).values()
    failed = sum(outcome == "ERROR" for _, outcome, _ in FAULTS.values())
    total = len(rows)
    assert metrics["success_rate"]["value"] == pytest.approx(1 - failed / total)
    assert metrics["timeout_rate"]["value"] == pytest.approx(1 / total)
    score = metrics["extraction_quality_score"]
    assert score["worst"] < score["value"] < score["best"], "failed calls are bounded, not zero"
    assert f"{failed} of {total} rows are ERROR" in done.err


def test_only_failed_calls_are_asked_again(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        make_extraction_model(
            s01=behaviours.http_error(500), s04="no JSON", s07=behaviours.never_reply()
        )
    )
    first, out = run_extract("--timeout", 0.5)
    assert first.code == 0, first.err
    before = by_sample(out)
    scripted_server.behave_with(make_extraction_model())
    scripted_server.clear_log()
    done, _ = run_extract("--timeout", 0.5)
    assert done.code == 0
    assert len(scripted_server.requests) == 0, "all rows exist, so no request is made"
    done, _ = run_extract("--retry-errors")
    assert done.code == 0, done.err
    assert f"2 rows ({COUNT - 2} were there already)" in done.out
    rows = by_sample(out)
    assert {name for name, row in rows.items() if row["outcome"] != "OK"} == {"s04"}
    assert {name for name in rows if rows[name] != before[name]} == {"s01", "s07"}
    assert list(rows) == list(before), "in the same order"


def test_two_models_get_the_same_samples(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        lambda request: normal_reply(
            reply_with_wrong_field if request.body["model"] == "weak" else reply_correctly
        )
    )
    done, out = run_extract("--repeat", 2, models="custom/good, custom/weak")
    assert done.code == 0, done.err
    assert len(read_rows(out)) == COUNT * 2 * 2
    metrics = read_metrics(out)
    assert list(metrics) == ["custom/good", "custom/weak"]
    good, weak = (one["field_f1_strict"]["value"] for one in metrics.values())
    assert good == 1.0
    assert 0.2 < weak < 0.8
    comparison = json.loads((out / "comparison.json").read_bytes())
    assert comparison


def test_token_prices_come_from_the_configuration(
    run_extract: Callable[..., tuple[CommandResult, Path]],
    scripted_server: ScriptedServer,
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_extraction_model())
    file = tmp_path / "c.yaml"
    file.write_text("model: {input_price_per_1k: 2, output_price_per_1k: 10}\n")
    done, out = run_extract("--config", file, count=2)
    assert done.code == 0, done.err
    for row in by_sample(out).values():
        usage = row["usage"]
        expected = usage["prompt_tokens"] * 0.002 + usage["completion_tokens"] * 0.01
        assert usage["cost_usd"] == pytest.approx(expected)
    table = tmp_path / "prices.json"
    table.write_text(f'{{"custom/{scripted_server.model}": {{"prompt": 0, "completion": 0}}}}')
    _, free = run_extract("--config", file, "--prices", table, count=2, out="free")
    costs = [row["usage"]["cost_usd"] for row in by_sample(free).values()]
    assert costs == [0, 0], "a flag overrides the configuration"
    table.write_text("{}")
    _, other = run_extract("--config", file, "--prices", table, count=2, out="other")
    assert [row["usage"]["cost_usd"] for row in by_sample(other).values()] == [
        row["usage"]["cost_usd"] for row in by_sample(out).values()
    ]
    check_error_line(run_extract("--config", file, "--prices", tmp_path / "none", out="none")[0], 3)
    stopped, _ = run_extract("--config", file, "--max-cost", 0.5, "--concurrency", 1, out="poor")
    check_error_line(stopped, 26)
    kept = (tmp_path / "poor" / "rows.jsonl").read_bytes().count(b"\n")
    assert 0 < kept < COUNT


def test_repeated_run_is_answered_from_the_cache(
    run_extract: Callable[..., tuple[CommandResult, Path]],
    scripted_server: ScriptedServer,
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_extraction_model(s02=behaviours.reset_connection()))
    cache = ("--cache", tmp_path / "kept.sqlite")
    assert run_extract(*cache)[0].code == 0
    first = by_sample(tmp_path / "out")
    scripted_server.behave(behaviours.http_error(500))
    scripted_server.clear_log()
    done, out = run_extract(*cache, out="again")
    assert done.code == 0, done.err
    again = by_sample(out)
    assert again.pop("s02")["outcome"] == "ERROR"
    del first["s02"]
    assert again == first, "cached replies keep the first call's latency and usage"
    asked = [one.prompt for one in scripted_server.requests]
    assert all("Order 702 " in prompt for prompt in asked), "only this sample is asked again"


def test_first_token_time_and_confidence_are_recorded(
    run_extract: Callable[..., tuple[CommandResult, Path]],
    scripted_server: ScriptedServer,
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_extraction_model())
    _, out = run_extract("--stream", count=3)
    for row in by_sample(out).values():
        assert 0 < row["ttft_s"] <= row["latency_s"]
        assert row["confidence"] is None, "log-probabilities were not asked for"
    file = tmp_path / "c.yaml"
    file.write_text("model: {logprobs: true}\n")
    _, out = run_extract("--config", file, count=3, out="sure")
    for row in by_sample(out).values():
        assert 0 < row["confidence"] < 1
    (metrics,) = read_metrics(out).values()
    assert metrics["expected_calibration_error"]["value"] is not None


def test_server_that_ignores_the_schema_is_reported(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(make_text_reply("```json\n{}\n```"))
    done, out = run_extract("--structured", "guided_json", count=2)
    assert done.code == 0, done.err
    assert "guided_json not followed, in 2 calls" in done.out
    for row in by_sample(out).values():
        assert row["notes"] == ["guided_json not followed"]
        assert row["outcome"] == "INVALID"


def test_run_stops_after_repeated_failures_and_keeps_its_rows(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        make_extraction_model(**{f"s{n:02}": behaviours.reset_connection() for n in range(COUNT)})
    )
    done, out = run_extract("--max-consecutive-errors", 3, "--concurrency", 1)
    check_error_line(done, 27)
    assert (out / "rows.jsonl").read_bytes().count(b"\n") == 3
    assert not (out / "metrics.json").exists(), "an incomplete run has no final outputs"
    scripted_server.behave_with(make_extraction_model())
    done, _ = run_extract("--retry-errors")
    assert done.code == 0, done.err
    assert {row["outcome"] for row in by_sample(out).values()} == {"OK"}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("--seed", 7), "seed"),
        (("--structured", "text"), "structured"),
        (("--sample", 3), "other samples"),
    ],
)
def test_folder_is_not_resumed_by_another_run(
    run_extract: Callable[..., tuple[CommandResult, Path]],
    scripted_server: ScriptedServer,
    change: tuple[object, ...],
    what: str,
) -> None:
    scripted_server.behave_with(make_extraction_model())
    _, out = run_extract()
    before = (out / "rows.jsonl").read_bytes()
    done, _ = run_extract(*change)
    assert what in check_error_line(done, 14)
    assert (out / "rows.jsonl").read_bytes() == before
    assert run_extract(*change, "--overwrite")[0].code == 0


def test_unreachable_model_ends_the_run(
    run_extract: Callable[..., tuple[CommandResult, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.expired_key_error())
    done, out = run_extract()
    check_error_line(done, 23)
    assert (out / "rows.jsonl").read_bytes() == b""
