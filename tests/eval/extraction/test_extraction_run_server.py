"""Extraction through a scripted server: every way a reply can go wrong has its own outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from extraction_run_parts import data_of, extracting, metrics_of, right, rows_of, saying, wrong
from servers import behaviours as does
from servers.behaviours import reply
from servers.scripted_server import ScriptedServer
from stage_calls import Done, epoche, error_line

from eval.extraction.running.config import SYSTEM

COUNT = 12


@pytest.fixture
def extract(tmp_path: Path, scripted_model: str) -> Callable[..., tuple[Done, Path]]:
    """Runs the command on some samples, with the scripted model unless others are named."""

    def run(
        *more: object, count: int = COUNT, out: str = "out", models: str = scripted_model
    ) -> tuple[Done, Path]:
        data = data_of(tmp_path, count)
        how = ("--resamples", 100, "--no-report", "--retries", 1)
        cached = () if "--cache" in more else ("--no-cache",)
        arguments = ("--dataset", data, "--models", models, "--out", tmp_path / out, *how)
        return epoche("extract", "run", *arguments, *cached, *more), tmp_path / out

    return run


def by_sample(out: Path) -> dict[str, dict[str, Any]]:
    return {name: row for (name, _, _), row in rows_of(out).items()}


def test_a_model_that_extracts_all_has_all_ones(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(extracting())
    done, out = extract()
    assert done.code == 0, done.err
    assert "extraction_quality_score  1.000" in done.out
    rows = by_sample(out)
    assert list(rows) == [f"s{number:02}" for number in range(COUNT)]
    for row in rows.values():
        assert (row["outcome"], row["problem"], row["raw"]) == ("OK", "", "")
        assert row["latency_s"] > 0
        assert row["ttft_s"] is None, "it was not streamed, and nobody told"
        assert row["at_s"] > 1_600_000_000
        assert row["usage"]["prompt_tokens"] > 10
        assert row["usage"]["cost_usd"] is None, "no table knows its price"
        assert (row["retries"], row["timed_out"]) == (0, False)
    (metrics,) = metrics_of(out).values()
    for name in ("extraction_quality_score", "field_f1_strict", "exact_match", "success_rate"):
        assert metrics[name]["value"] == 1.0
    assert metrics["hallucination_rate"]["value"] == 0.0
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest["counts"] == {"OK": COUNT, "INVALID": 0, "UNPARSABLE": 0, "ERROR": 0}
    assert manifest["status"] == "complete"
    assert "loopback-scripted" not in (out / "manifest.json").read_text(), "no key anywhere"
    assert (out / "samples.jsonl").read_bytes().count(b"\n") == COUNT


def test_the_model_sees_text_and_schema_and_nothing_else_of_the_sample(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(extracting())
    assert extract(count=2)[0].code == 0
    asked = [one for one in scripted_server.requests if "ready" not in one.prompt]
    assert len(asked) == 2
    for one in asked:
        system, user = one.body["messages"]
        assert system == {"role": "system", "content": SYSTEM}
        assert "years old and works at" in user["content"]
        assert '"company": {' in user["content"]
        assert "x-match" not in json.dumps(one.body), "how it is scored is not the model's affair"
        assert "people" not in one.prompt
        assert one.body["temperature"] == 0.0
        assert one.body["max_tokens"] == 2048


FAULTS: dict[str, tuple[str | does.Behaviour, str, str]] = {
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
    "refusal": (does.refusal(), "UNPARSABLE", "refused: I'm sorry"),
    "filter": (does.filtered(), "UNPARSABLE", "refused: by a content filter"),
    "cut off": (does.cut_off(), "UNPARSABLE", "cut off at max_tokens"),
    "500": (does.status(500), "ERROR", "HTTP 500"),
    "429": (does.rate_limited(0.01), "ERROR", "HTTP 429"),
    "400": (does.status(400, "the prompt is too long"), "ERROR", "too long"),
    "a web page": (does.web_page(), "ERROR", "no chat completion"),
    "reset": (does.reset(), "ERROR", "connection broke"),
    "hang": (does.hang(), "ERROR", "no complete reply in time"),
}


def test_every_fault_has_its_outcome_and_its_reason(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer
) -> None:
    names = [f"s{number:02}" for number in range(3 * len(FAULTS)) if number % 3 == 0]
    faulty = dict(zip(names, FAULTS.values(), strict=False))
    kinds = dict(zip(names, FAULTS, strict=True))
    scripted_server.behave_by(extracting(**{name: fault[0] for name, fault in faulty.items()}))
    done, out = extract("--timeout", 1, "--concurrency", 16, count=3 * len(FAULTS))
    assert done.code == 0, done.err
    rows = by_sample(out)
    for name, (_, outcome, why) in faulty.items():
        row, kind = rows[name], kinds[name]
        assert row["outcome"] == outcome, (kind, row)
        assert why in row["problem"], (kind, row["problem"])
        assert row["timed_out"] is (kind == "hang"), kind
        assert row["score"]["tally"][0] == 3, "what was expected is known whatever came"
        if outcome == "ERROR":
            assert row["usage"] is None
            assert row["latency_s"] is None
        if outcome in {"UNPARSABLE", "ERROR"}:
            assert row["predicted"] is None
            assert row["score"]["tally"][1] == 0
    good = [row for name, row in rows.items() if name not in faulty]
    assert {row["outcome"] for row in good} == {"OK"}, "nobody else is touched"
    assert rows["s03"]["raw"].startswith("```json"), "what was said is kept where it was more"
    retried = {kind for name, kind in kinds.items() if rows[name]["retries"]}
    assert retried == {"500", "429", "a web page", "reset", "hang"}
    (metrics,) = metrics_of(out).values()
    failed = sum(outcome == "ERROR" for _, outcome, _ in FAULTS.values())
    total = len(rows)
    assert metrics["success_rate"]["value"] == pytest.approx(1 - failed / total)
    assert metrics["timeout_rate"]["value"] == pytest.approx(1 / total)
    score = metrics["extraction_quality_score"]
    assert score["worst"] < score["value"] < score["best"], "failed calls are bounded, not zero"
    assert f"{failed} of {total} rows are ERROR" in done.err


def test_only_failed_calls_are_asked_again(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(extracting(s01=does.status(500), s04="no JSON", s07=does.hang()))
    first, out = extract("--timeout", 0.5)
    assert first.code == 0, first.err
    before = by_sample(out)
    scripted_server.behave_by(extracting())
    scripted_server.forget()
    done, _ = extract("--timeout", 0.5)
    assert done.code == 0
    assert len(scripted_server.requests) == 0, "nothing is missing, so nothing is asked"
    done, _ = extract("--retry-errors")
    assert done.code == 0, done.err
    assert f"2 rows ({COUNT - 2} were there already)" in done.out
    rows = by_sample(out)
    assert {name for name, row in rows.items() if row["outcome"] != "OK"} == {"s04"}
    assert {name for name in rows if rows[name] != before[name]} == {"s01", "s07"}
    assert list(rows) == list(before), "in the same order"


def test_two_models_are_put_the_same_samples_and_compared(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(
        lambda asked: reply(wrong if asked.body["model"] == "weak" else right)
    )
    done, out = extract("--repeat", 2, models="custom/good, custom/weak")
    assert done.code == 0, done.err
    assert len(rows_of(out)) == COUNT * 2 * 2
    metrics = metrics_of(out)
    assert list(metrics) == ["custom/good", "custom/weak"]
    good, weak = (one["field_f1_strict"]["value"] for one in metrics.values())
    assert good == 1.0
    assert 0.2 < weak < 0.8
    comparison = json.loads((out / "comparison.json").read_bytes())
    assert comparison


def test_tokens_cost_what_the_configuration_says(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave_by(extracting())
    file = tmp_path / "c.yaml"
    file.write_text("model: {input_price_per_1k: 2, output_price_per_1k: 10}\n")
    done, out = extract("--config", file, count=2)
    assert done.code == 0, done.err
    for row in by_sample(out).values():
        usage = row["usage"]
        expected = usage["prompt_tokens"] * 0.002 + usage["completion_tokens"] * 0.01
        assert usage["cost_usd"] == pytest.approx(expected)
    table = tmp_path / "prices.json"
    table.write_text(f'{{"custom/{scripted_server.model}": {{"prompt": 0, "completion": 0}}}}')
    _, free = extract("--config", file, "--prices", table, count=2, out="free")
    costs = [row["usage"]["cost_usd"] for row in by_sample(free).values()]
    assert costs == [0, 0], "a flag goes before the configuration"
    table.write_text("{}")
    _, other = extract("--config", file, "--prices", table, count=2, out="other")
    assert [row["usage"]["cost_usd"] for row in by_sample(other).values()] == [
        row["usage"]["cost_usd"] for row in by_sample(out).values()
    ]
    error_line(extract("--config", file, "--prices", tmp_path / "none", out="none")[0], 3)
    stopped, _ = extract("--config", file, "--max-cost", 0.5, "--concurrency", 1, out="poor")
    error_line(stopped, 26)
    kept = (tmp_path / "poor" / "rows.jsonl").read_bytes().count(b"\n")
    assert 0 < kept < COUNT


def test_a_repeated_run_is_answered_by_the_cache_without_the_server(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave_by(extracting(s02=does.reset()))
    cache = ("--cache", tmp_path / "kept.sqlite")
    assert extract(*cache)[0].code == 0
    first = by_sample(tmp_path / "out")
    scripted_server.behave(does.status(500))
    scripted_server.forget()
    done, out = extract(*cache, out="again")
    assert done.code == 0, done.err
    again = by_sample(out)
    assert again.pop("s02")["outcome"] == "ERROR"
    del first["s02"]
    assert again == first, "latency, tokens and the moment are those of the first call"
    asked = [one.prompt for one in scripted_server.requests]
    assert all("Order 702 " in prompt for prompt in asked), "no other sample is asked"


def test_streamed_runs_know_the_first_token_and_calibrated_ones_their_confidence(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave_by(extracting())
    _, out = extract("--stream", count=3)
    for row in by_sample(out).values():
        assert 0 < row["ttft_s"] <= row["latency_s"]
        assert row["confidence"] is None, "log-probabilities were not asked for"
    file = tmp_path / "c.yaml"
    file.write_text("model: {logprobs: true}\n")
    _, out = extract("--config", file, count=3, out="sure")
    for row in by_sample(out).values():
        assert 0 < row["confidence"] < 1
    (metrics,) = metrics_of(out).values()
    assert metrics["expected_calibration_error"]["value"] is not None


def test_a_server_that_ignores_the_schema_is_told_on(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(saying("```json\n{}\n```"))
    done, out = extract("--structured", "guided_json", count=2)
    assert done.code == 0, done.err
    assert "guided_json not followed, in 2 calls" in done.out
    for row in by_sample(out).values():
        assert row["notes"] == ["guided_json not followed"]
        assert row["outcome"] == "INVALID"


def test_a_run_that_fails_again_and_again_stops_and_keeps_its_rows(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(extracting(**{f"s{n:02}": does.reset() for n in range(COUNT)}))
    done, out = extract("--max-consecutive-errors", 3, "--concurrency", 1)
    error_line(done, 27)
    assert (out / "rows.jsonl").read_bytes().count(b"\n") == 3
    assert not (out / "metrics.json").exists(), "nothing is made of half a run"
    scripted_server.behave_by(extracting())
    done, _ = extract("--retry-errors")
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
def test_a_folder_is_not_taken_up_by_another_run(
    extract: Callable[..., tuple[Done, Path]],
    scripted_server: ScriptedServer,
    change: tuple[object, ...],
    what: str,
) -> None:
    scripted_server.behave_by(extracting())
    _, out = extract()
    before = (out / "rows.jsonl").read_bytes()
    done, _ = extract(*change)
    assert what in error_line(done, 14)
    assert (out / "rows.jsonl").read_bytes() == before
    assert extract(*change, "--overwrite")[0].code == 0


def test_a_model_that_cannot_be_reached_ends_the_run(
    extract: Callable[..., tuple[Done, Path]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(does.expired_key())
    done, out = extract()
    error_line(done, 23)
    assert (out / "rows.jsonl").read_bytes() == b""
