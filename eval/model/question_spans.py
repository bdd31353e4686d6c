"""Traces the questions of a run with OpenTelemetry, if the program that runs them is traced.

Each question is a span, and the calls that it makes, which the instrumentation of the OpenAI
client records, are its children. Nothing is imported and nothing is recorded unless OpenTelemetry
is loaded already, as it is by ``opentelemetry-instrument`` (extra ``otel``) or by a program that
sets it up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from eval.model.calls import CallLog

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""OpenTelemetry's own variable: spans contain texts and gold answers only if it says so."""
_CONTENT_IN_SPANS = frozenset({"1", "true", "span_only", "span_and_event"})


class _RowSummary(msgspec.Struct):
    """What a span shows of a row of any benchmark."""

    id: str = ""
    system: str = ""
    repeat: int = 0
    pred: str = ""
    """The answer to a card, INVALID or ERROR."""
    status: str = "ok"
    """For other items: ok, invalid or error."""
    failed: bool = False
    """Whether a judge could not be called."""

    @property
    def outcome(self) -> str:
        return "error" if self.failed else self.pred or self.status


_decode_row = msgspec.json.Decoder(_RowSummary).decode


@contextmanager
def trace_question(calls: CallLog) -> Iterator[Callable[[bytes], None]]:
    """Opens a span for a question; gives a function that stores the row that answers it.

    The span has the item's id, the system, the outcome and the number of calls. It contains no
    prompt, reply or gold answer, unless ``CONTENT_VARIABLE`` asks for them.

    Args:
        calls: the log of the question's calls.
    """
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield lambda _: None
        return
    tracer = trace.get_tracer("epoche")
    with tracer.start_as_current_span(
        # What an exception says may quote a prompt.
        "invoke_agent",
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def store_row(row: bytes) -> None:
            if not span.is_recording():
                return
            summary = _decode_row(row)
            span.update_name(f"invoke_agent {summary.system}")
            span.set_attributes(
                {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": summary.system,
                    "epoche.item.id": summary.id,
                    "epoche.repeat": summary.repeat,
                    "epoche.outcome": summary.outcome,
                    "epoche.calls": calls.calls,
                    "epoche.calls.cached": calls.cached,
                }
            )
            if summary.outcome.casefold() == "error":
                span.set_attribute("error.type", "error")
                span.set_status(trace.StatusCode.ERROR)
            if os.environ.get(CONTENT_VARIABLE, "").strip().casefold() in _CONTENT_IN_SPANS:
                span.set_attribute("epoche.row", row.decode("utf-8").strip())

        yield store_row
