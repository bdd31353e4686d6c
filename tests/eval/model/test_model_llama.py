"""The client over a real server (llama.cpp with a tiny random model: its answers are noise)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from servers.llama_server import LlamaServer

from eval.llm import ClientOptions, Message, ModelClient
from eval.model.calls import recording
from eval.model.probability import answer_probability
from kg.base.errors import ModelAccessError, ModelCallError


class Choice(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]


class Rambling(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]
    reason: str


@pytest.fixture
def options(llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch) -> ClientOptions:
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    return ClientOptions(model=f"custom/{llama_server.model}", concurrency=64, backoff_s=0.01)


def question(text: object) -> list[Message]:
    return [{"role": "user", "content": f"Does {text} flow into Lake Four?"}]


def test_sixty_four_structured_answers_at_once(options: ClientOptions, tmp_path: Path) -> None:
    cached = msgspec.structs.replace(options, cache=tmp_path / "c.sqlite")

    async def run() -> list[object]:
        async with ModelClient.open(cached, max_tokens=64, seed=1) as client:
            with recording() as log:
                replies = await asyncio.gather(
                    *(client.ask(question(n), Choice) for n in range(64))
                )
            for reply in replies:
                assert reply.value is not None
                assert reply.value.answer in {"YES", "NO", "UNKNOWN"}
                assert reply.completion.mode == "json_schema"
                sure = answer_probability(reply.completion)
                assert sure is not None
                assert 0 < sure <= 1
            assert (log.calls, log.retries, log.repairs, log.fallbacks) == (64, 0, 0, [])
            assert log.prompt_tokens > 64
            return [(r.value, r.completion.logprobs, r.completion.latency_s) for r in replies]

    first, again = asyncio.run(run()), asyncio.run(run())
    assert first == again


def test_a_reply_the_server_cannot_read_itself_is_no_error(options: ClientOptions) -> None:
    async def run() -> None:
        async with ModelClient.open(options, max_tokens=20) as client:
            with recording() as log:
                reply = await client.ask(question("Brook"), Rambling)
            assert reply.value is None
            assert reply.problem
            assert (log.retries, log.repairs) == (0, 1)

    asyncio.run(run())


def test_a_stream_comes_in_pieces(options: ClientOptions) -> None:
    async def run() -> None:
        async with ModelClient.open(options, max_tokens=20) as client:
            with recording() as log:
                pieces = [piece async for piece in client.stream(question("Brook"))]
            whole = await client.complete(question("Brook"))
            assert len(pieces) > 1
            assert "".join(pieces) == whole.text
            assert log.completion_tokens == 20
            assert whole.finish_reason == "length"

    asyncio.run(run())


def test_a_wrong_key_and_a_bad_request(
    options: ClientOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with ModelClient.open(options) as client:
            await client.complete(question("Brook" * 40_000))

    with pytest.raises(ModelCallError, match="HTTP 400"):
        asyncio.run(run())
    monkeypatch.setenv("EPOCHE_API_KEY", "sk-wrong-123456")
    with pytest.raises(ModelAccessError, match="HTTP 401"):
        asyncio.run(run())
