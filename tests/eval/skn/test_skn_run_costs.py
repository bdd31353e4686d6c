"""Tests the costs of failed calls: a format must not look faster or shorter because it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web
from servers import behaviours
from servers.scripted_server import ChatRequest, ScriptedServer

from eval.model.client import ModelClient
from eval.skn.agent import ModelAgent, Response
from eval.skn.formats.extraction import Extraction, ModelExtractor
from eval.skn.formats.pipelines import PIPELINES
from eval.skn.formats.settings import Setting
from eval.skn.published.efficiency import compute_efficiency
from eval.skn.row import SknRow
from eval.skn.scoring.observation import build_observation

EMPTY_JSON_EXTRACTION = '{"entities":[],"relationships":[],"claims":[]}'
AGENT_REPLY = '{"answer":"a","confidence":0.5,"reasoning":"r","abstained":false}'
REPLY_DELAY_S = 0.15


async def reply_with_parse_error(request: ChatRequest) -> web.StreamResponse:
    """Fails after the usual reply time, as llama.cpp does when constrained JSON is truncated."""
    await asyncio.sleep(REPLY_DELAY_S)
    message = "The model produced output that does not match the expected peg-native format"
    return web.json_response(behaviours.error_body(500, message), status=500)


def fail_first_request(later_reply: str) -> behaviours.Behaviour:
    """Fails the first request with a parse error; every later reply is ``later_reply``."""
    failures = iter([reply_with_parse_error])

    async def choose_reply(request: ChatRequest) -> web.StreamResponse:
        return await next(failures, behaviours.normal_reply(lambda _: later_reply))(request)

    return choose_reply


def test_unparsed_reply_counts_time_but_not_tokens(
    scripted_server: ScriptedServer, open_scripted_client: Callable[[Setting], ModelClient]
) -> None:
    async def run_extractor() -> tuple[Extraction, Extraction]:
        setting = Setting(constrained=True)
        async with open_scripted_client(setting) as client:
            extractor = ModelExtractor(PIPELINES["json"], client, setting)
            scripted_server.behave(reply_with_parse_error)
            unreadable = await extractor.extract("A text.", "A question?")
            scripted_server.behave(fail_first_request(EMPTY_JSON_EXTRACTION))
            return unreadable, await extractor.extract("Another text.", "A question?")

    unreadable, repaired = asyncio.run(run_extractor())
    assert (unreadable.validity, repaired.validity) == ("unreadable", "repaired")
    assert "the server could not read" in unreadable.problem
    assert unreadable.usage is None
    assert unreadable.latency_s is not None
    assert unreadable.latency_s >= 2 * REPLY_DELAY_S, "the call and its repair both took time"
    # The server reports no tokens for the failed call, so a sum would miss half of them.
    assert repaired.usage is None
    assert repaired.latency_s is not None
    assert repaired.latency_s >= REPLY_DELAY_S


def test_agent_counts_time_but_not_tokens_of_an_unparsed_reply(
    scripted_server: ScriptedServer, open_scripted_client: Callable[[Setting], ModelClient]
) -> None:
    async def run_agent() -> Response:
        async with open_scripted_client(Setting()) as client:
            scripted_server.behave(fail_first_request(AGENT_REPLY))
            return await ModelAgent(client, Setting()).answer_question("notes", "A question?")

    response = asyncio.run(run_agent())
    assert response.answer == "a"
    assert response.usage is None
    assert response.latency_s is not None
    assert response.latency_s >= REPLY_DELAY_S


def make_row(outcome: Any, latency_s: float, *, replied: bool, **fields: Any) -> SknRow:
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
        **fields,
    )


def test_unfinished_row_has_no_latency() -> None:
    finished = make_row("ANSWERED", 3.0, replied=True)
    unfinished = make_row("INVALID", 0.5, replied=False, stage="extraction")
    assert build_observation(finished).latency_s == 3.0
    assert build_observation(unfinished).latency_s is None
    unreadable_agent = msgspec.structs.replace(finished, outcome="INVALID", stage="agent")
    assert build_observation(unreadable_agent).latency_s == 3.0, "the agent did reply"
    averages = compute_efficiency([finished, unfinished])["pipelines"]["json"]
    assert averages["avg_total_latency_s"] == pytest.approx(3.0)


def test_failed_extractions_do_not_change_the_length_ratio() -> None:
    def make_extracted_row(name: str, sample: str, context: str) -> SknRow:
        extraction = Extraction(pipeline=name, context=context, validity="strict")
        row = make_row("ANSWERED", 1.0, replied=True, extraction=extraction)
        return msgspec.structs.replace(row, id=sample, pipeline=name)

    rows = [
        *(make_extracted_row("json", "short", "x" * 10), make_extracted_row("json", "long", "")),
        *(make_extracted_row("skn", "short", "x" * 8), make_extracted_row("skn", "long", "x" * 80)),
    ]
    # Without its empty JSON extraction, the sample "long" is left out: 8 / 10 characters remain.
    assert compute_efficiency(rows)["efficiency"]["char_ratio_skn_vs_json"] == pytest.approx(0.8)
    assert compute_efficiency(rows[:1])["efficiency"] == {}


def test_repair_turn_shows_a_long_reply_completely(
    scripted_server: ScriptedServer, open_scripted_client: Callable[[Setting], ModelClient]
) -> None:
    # JSON is longer than equivalent SKN; truncating it would make JSON harder to repair.
    long_reply = '{"entities":[],"relationships":[],"claims":[' + "1," * 3_000 + "THE END"

    async def run_extractor() -> None:
        setting = Setting(max_tokens=2_000)
        async with open_scripted_client(setting) as client:
            scripted_server.behave(behaviours.normal_reply(lambda _: long_reply))
            await ModelExtractor(PIPELINES["json"], client, setting).extract("A text.", "Q?")

    asyncio.run(run_extractor())
    assert scripted_server.requests[-1].body["messages"][-2]["content"] == long_reply
