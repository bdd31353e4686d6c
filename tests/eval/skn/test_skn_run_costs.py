"""What a row costs where something broke off: no format gains seconds or tokens by failing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web
from servers import behaviours as does
from servers.scripted_server import Asked, ScriptedServer

from eval.llm import ModelClient
from eval.skn.agent import ModelAgent, Response
from eval.skn.formats.extracting import Extraction, ModelExtractor
from eval.skn.pipelines import PIPELINES
from eval.skn.published.efficiency import efficiency
from eval.skn.running.row import SknRow
from eval.skn.scoring.observing import observed
from eval.skn.setting import Setting

FLAT = '{"entities":[],"relationships":[],"claims":[]}'
ANSWER = '{"answer":"a","confidence":0.5,"reasoning":"r","abstained":false}'
SLOW_S = 0.15


async def unread(asked: Asked) -> web.StreamResponse:
    """What llama.cpp says of constrained JSON that breaks off, after as long as any reply takes."""
    await asyncio.sleep(SLOW_S)
    said = "The model produced output that does not match the expected peg-native format"
    return web.json_response(does.error_body(500, said), status=500)


def unread_first(then: str) -> does.Behaviour:
    """The first reply is none the server can read; the second is ``then``."""

    replies = iter([unread])

    async def behave(asked: Asked) -> web.StreamResponse:
        return await next(replies, does.reply(lambda _: then))(asked)

    return behave


def test_a_reply_the_server_cannot_read_took_its_time_and_its_tokens_are_not_known(
    scripted_server: ScriptedServer, open_scripted: Callable[[Setting], ModelClient]
) -> None:
    async def extracted() -> tuple[Extraction, Extraction]:
        setting = Setting(constrained=True)
        async with open_scripted(setting) as client:
            extractor = ModelExtractor(PIPELINES["json"], client, setting)
            scripted_server.behave(unread)
            never = await extractor.extract("A text.", "A question?")
            scripted_server.behave(unread_first(FLAT))
            return never, await extractor.extract("Another text.", "A question?")

    never, repaired = asyncio.run(extracted())
    assert (never.validity, repaired.validity) == ("unreadable", "repaired")
    assert "the server could not read" in never.problem
    assert never.usage is None
    assert never.latency_s is not None
    assert never.latency_s >= 2 * SLOW_S
    # The second call was counted, the first was not: their sum would pass half for all.
    assert repaired.usage is None
    assert repaired.latency_s is not None
    assert repaired.latency_s >= SLOW_S


def test_the_agent_likewise(
    scripted_server: ScriptedServer, open_scripted: Callable[[Setting], ModelClient]
) -> None:
    async def answered() -> Response:
        async with open_scripted(Setting()) as client:
            scripted_server.behave(unread_first(ANSWER))
            return await ModelAgent(client, Setting()).reason("notes", "A question?")

    response = asyncio.run(answered())
    assert response.answer == "a"
    assert response.usage is None
    assert response.latency_s is not None
    assert response.latency_s >= SLOW_S


def row(outcome: Any, latency_s: float, *, replied: bool, **more: Any) -> SknRow:
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


def test_a_row_that_broke_off_makes_no_format_fast() -> None:
    whole = row("ANSWERED", 3.0, replied=True)
    torn = row("INVALID", 0.5, replied=False, stage="extraction")
    assert observed(whole).latency_s == 3.0
    assert observed(torn).latency_s is None
    unreadable = msgspec.structs.replace(whole, outcome="INVALID", stage="agent")
    assert observed(unreadable).latency_s == 3.0  # the agent replied, whatever it said
    averages = efficiency([whole, torn])["pipelines"]["json"]
    assert averages["avg_total_latency_s"] == pytest.approx(3.0)


def test_a_format_that_fails_on_long_texts_does_not_seem_the_shorter() -> None:
    def extracted(name: str, sample: str, context: str) -> SknRow:
        one = Extraction(pipeline=name, context=context, validity="strict")
        whole = row("ANSWERED", 1.0, replied=True, extraction=one)
        return msgspec.structs.replace(whole, id=sample, pipeline=name)

    rows = [
        *(extracted("json", "short", "x" * 10), extracted("json", "long", "")),
        *(extracted("skn", "short", "x" * 8), extracted("skn", "long", "x" * 80)),
    ]
    assert efficiency(rows)["efficiency"]["char_ratio_skn_vs_json"] == pytest.approx(0.8)
    assert efficiency(rows[:1])["efficiency"] == {}


def test_a_long_reply_is_shown_back_whole(
    scripted_server: ScriptedServer, open_scripted: Callable[[Setting], ModelClient]
) -> None:
    # JSON is longer than SKN that says the same; cut, it would be the harder to mend.
    long = '{"entities":[],"relationships":[],"claims":[' + "1," * 3_000 + "THE END"

    async def extracted() -> None:
        setting = Setting(max_tokens=2_000)
        async with open_scripted(setting) as client:
            scripted_server.behave(does.reply(lambda _: long))
            await ModelExtractor(PIPELINES["json"], client, setting).extract("A text.", "Q?")

    asyncio.run(extracted())
    assert scripted_server.requests[-1].body["messages"][-2]["content"] == long
