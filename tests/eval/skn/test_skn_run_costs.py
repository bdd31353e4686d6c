"""Costs of unfinished rows: no format gains time or tokens by failing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web
from servers import behaviours
from servers.scripted_server import ChatRequest, ScriptedServer

from eval.llm import ModelClient
from eval.skn.agent import ModelAgent, Response
from eval.skn.formats.extraction import Extraction, ModelExtractor
from eval.skn.pipelines import PIPELINES
from eval.skn.published.efficiency import compute_efficiency
from eval.skn.run_settings import Setting
from eval.skn.running.row import SknRow
from eval.skn.scoring.observation import build_observation

FLAT = '{"entities":[],"relationships":[],"claims":[]}'
ANSWER = '{"answer":"a","confidence":0.5,"reasoning":"r","abstained":false}'
SLOW_S = 0.15


async def reply_with_parse_error(request: ChatRequest) -> web.StreamResponse:
    """Replies like llama.cpp to truncated constrained JSON, after the usual reply time."""
    await asyncio.sleep(SLOW_S)
    said = "The model produced output that does not match the expected peg-native format"
    return web.json_response(behaviours.error_body(500, said), status=500)


def fail_first(then: str) -> behaviours.Behaviour:
    """Fails the first request with a parse error; the second reply is ``then``."""

    replies = iter([reply_with_parse_error])

    async def choose_reply(request: ChatRequest) -> web.StreamResponse:
        return await next(replies, behaviours.normal_reply(lambda _: then))(request)

    return choose_reply


def test_unparsed_reply_counts_time_but_not_tokens(
    scripted_server: ScriptedServer, open_scripted: Callable[[Setting], ModelClient]
) -> None:
    async def extracted() -> tuple[Extraction, Extraction]:
        setting = Setting(constrained=True)
        async with open_scripted(setting) as client:
            extractor = ModelExtractor(PIPELINES["json"], client, setting)
            scripted_server.behave(reply_with_parse_error)
            never = await extractor.extract("A text.", "A question?")
            scripted_server.behave(fail_first(FLAT))
            return never, await extractor.extract("Another text.", "A question?")

    never, repaired = asyncio.run(extracted())
    assert (never.validity, repaired.validity) == ("unreadable", "repaired")
    assert "the server could not read" in never.problem
    assert never.usage is None
    assert never.latency_s is not None
    assert never.latency_s >= 2 * SLOW_S
    # Only the second call was counted, so a sum would miss half of the tokens.
    assert repaired.usage is None
    assert repaired.latency_s is not None
    assert repaired.latency_s >= SLOW_S


def test_agent_counts_time_but_not_tokens_of_an_unparsed_reply(
    scripted_server: ScriptedServer, open_scripted: Callable[[Setting], ModelClient]
) -> None:
    async def run_agent() -> Response:
        async with open_scripted(Setting()) as client:
            scripted_server.behave(fail_first(ANSWER))
            return await ModelAgent(client, Setting()).answer_question("notes", "A question?")

    response = asyncio.run(run_agent())
    assert response.answer == "a"
    assert response.usage is None
    assert response.latency_s is not None
    assert response.latency_s >= SLOW_S


def make_row(outcome: Any, latency_s: float, *, replied: bool, **more: Any) -> SknRow:
    response = Response(
        answer="a", confidence=0.5, reasoning="", abstained=False, readable=True, latency_s=1.0
    )
    return SknRow(
        id=f"s{latency_s}",
        category="c",
        pipeline="json",
        repeat=0,
        answerable=True,
        outcome=outcome,
        latency_s=latency_s,
        response=response if replied else None,
        **more,
    )


def test_unfinished_row_has_no_latency() -> None:
    whole = make_row("ANSWERED", 3.0, replied=True)
    torn = make_row("INVALID", 0.5, replied=False, stage="extraction")
    assert build_observation(whole).latency_s == 3.0
    assert build_observation(torn).latency_s is None
    unreadable = msgspec.structs.replace(whole, outcome="INVALID", stage="agent")
    assert build_observation(unreadable).latency_s == 3.0  # the agent replied, whatever it said
    averages = compute_efficiency([whole, torn])["pipelines"]["json"]
    assert averages["avg_total_latency_s"] == pytest.approx(3.0)


def test_failed_extractions_do_not_shorten_a_format() -> None:
    def extracted(name: str, sample: str, context: str) -> SknRow:
        one = Extraction(pipeline=name, context=context, validity="strict")
        whole = make_row("ANSWERED", 1.0, replied=True, extraction=one)
        return msgspec.structs.replace(whole, id=sample, pipeline=name)

    rows = [
        *(extracted("json", "short", "x" * 10), extracted("json", "long", "")),
        *(extracted("skn", "short", "x" * 8), extracted("skn", "long", "x" * 80)),
    ]
    assert compute_efficiency(rows)["efficiency"]["char_ratio_skn_vs_json"] == pytest.approx(0.8)
    assert compute_efficiency(rows[:1])["efficiency"] == {}


def test_repair_turn_shows_a_long_reply_completely(
    scripted_server: ScriptedServer, open_scripted: Callable[[Setting], ModelClient]
) -> None:
    # JSON is longer than equivalent SKN; truncating it would make JSON harder to repair.
    long = '{"entities":[],"relationships":[],"claims":[' + "1," * 3_000 + "THE END"

    async def extracted() -> None:
        setting = Setting(max_tokens=2_000)
        async with open_scripted(setting) as client:
            scripted_server.behave(behaviours.normal_reply(lambda _: long))
            await ModelExtractor(PIPELINES["json"], client, setting).extract("A text.", "Q?")

    asyncio.run(extracted())
    assert scripted_server.requests[-1].body["messages"][-2]["content"] == long
