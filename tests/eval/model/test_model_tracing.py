"""Tests what tracing tools see of model calls, with OpenTelemetry's OpenAI instrumentation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from stage_calls import run_epoche

from eval.model.question_spans import CONTENT_VARIABLE

# Runs a command in a process of its own, since a provider is set once per process.
TRACED_COMMAND = """
import sys
from opentelemetry import trace
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

provider = TracerProvider()
exporter = ConsoleSpanExporter(
    out=open(sys.argv.pop(1), "w"), formatter=lambda span: span.to_json(indent=None) + "\\n"
)
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
OpenAIInstrumentor().instrument()
from epoche.cli import main
main()
"""

Span = dict[str, Any]


@pytest.fixture
def run_traced(
    scripted_server: ScriptedServer, card_file: Callable[[int], Path], tmp_path: Path
) -> Callable[..., list[Span]]:
    """Returns a function that answers ten cards with ``raw`` and returns all spans."""
    cards = card_file(10)

    def run_command(
        name: str = "first", *flags: str, exit_code: int = 0, **variables: str
    ) -> list[Span]:
        spans = tmp_path / f"{name}.spans.jsonl"
        command = ["eval", "--cards", str(cards), "--system", "raw", "--retries", "0"]
        command += ["--model", f"custom/{scripted_server.model}", "--concurrency", "4", *flags]
        command += ["--out", str(tmp_path / f"{name}.jsonl")]
        done = subprocess.run(
            [sys.executable, "-c", TRACED_COMMAND, str(spans), *command],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "EPOCHE_BASE_URL": scripted_server.base_url,
                "EPOCHE_API_KEY": scripted_server.api_key,
                "TRACELOOP_TRACE_CONTENT": "false",
                **variables,
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == exit_code, done.stderr
        assert scripted_server.api_key not in spans.read_text("utf-8")
        return [json.loads(line) for line in spans.read_text("utf-8").splitlines()]

    return run_command


def split_spans(spans: list[Span]) -> tuple[list[Span], list[Span]]:
    """Returns the spans of calls and those of questions."""
    questions = [span for span in spans if "epoche.item.id" in span["attributes"]]
    return [span for span in spans if span not in questions], questions


def test_each_call_is_one_span_below_that_of_its_question(
    run_traced: Callable[..., list[Span]], scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    calls, questions = split_spans(run_traced())
    assert len(calls) == len(questions) == len(scripted_server.requests) == 10
    assert all(call["attributes"]["gen_ai.operation.name"] == "chat" for call in calls)
    assert {call["parent_id"] for call in calls} == {
        question["context"]["span_id"] for question in questions
    }
    rows = {
        row["id"]: row
        for row in map(json.loads, (tmp_path / "first.jsonl").read_text().splitlines())
    }
    for question in questions:
        attributes = question["attributes"]
        row = rows.pop(attributes["epoche.item.id"])
        assert attributes == {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": row["system"],
            "epoche.item.id": row["id"],
            "epoche.repeat": 0,
            "epoche.outcome": row["pred"],
            "epoche.calls": 1,
            "epoche.calls.cached": 0,
        }
        assert question["name"] == f"invoke_agent {row['system']}"
    assert not rows
    calls, questions = split_spans(run_traced("again"))
    assert not calls
    assert [question["attributes"]["epoche.calls.cached"] for question in questions] == [1] * 10


def test_a_request_is_the_same_whether_or_not_it_is_watched(
    run_traced: Callable[..., list[Span]],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_traced()
    watched = [request.body for request in scripted_server.requests]
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    (cards,) = tmp_path.glob("*cards*.jsonl")
    model = f"custom/{scripted_server.model}"
    command = ("eval", "--cards", cards, "--system", "raw", "--model", model, "--no-cache")
    done = run_epoche(*command, "--out", tmp_path / "unwatched.jsonl")
    assert done.code == 0, done.err
    unwatched = [request.body for request in scripted_server.requests[len(watched) :]]
    assert len(watched) == 10
    assert sorted(map(json.dumps, watched)) == sorted(
        json.dumps({name: body[name] for name in watched[0]}) for body in unwatched
    )
    assert all(set(body) == set(watched[0]) for body in unwatched)


def test_texts_and_gold_answers_are_in_spans_only_if_asked_for(
    run_traced: Callable[..., list[Span]], scripted_server: ScriptedServer
) -> None:
    # OpenTelemetry's EVENT_ONLY puts texts into events, not into spans.
    for name, settings in (("unset", {}), ("events", {CONTENT_VARIABLE: "EVENT_ONLY"})):
        text = json.dumps(run_traced(name, "--no-cache", **settings))
        assert "gold" not in text
        assert "<question>" not in text
    wanted = {CONTENT_VARIABLE: "true", "TRACELOOP_TRACE_CONTENT": "true"}
    calls, questions = split_spans(run_traced("again", "--no-cache", **wanted))
    assert len(calls) == 10
    assert all("<question>" in json.dumps(call["attributes"]) for call in calls)
    assert {"YES", "NO", "UNKNOWN"} >= {
        json.loads(question["attributes"]["epoche.row"])["gold"] for question in questions
    }


def test_failed_questions_are_errors_without_the_message(
    run_traced: Callable[..., list[Span]], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.http_error(500))
    calls, questions = split_spans(run_traced(exit_code=27))
    assert len(calls) == len(scripted_server.requests) == 10
    for question in questions:
        assert question["attributes"]["epoche.outcome"] == "ERROR"
        assert question["attributes"]["error.type"] == "error"
        assert question["status"] == {"status_code": "ERROR"}
        assert not question["events"]


def test_nothing_of_opentelemetry_is_loaded_by_itself() -> None:
    code = "import sys, epoche.cli, eval.harness.workers; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout.split()
    assert not [module for module in modules if module.startswith("opentelemetry")]
