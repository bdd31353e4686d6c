"""Tests the model client with a real server: llama.cpp with a tiny random model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from servers.llama_server import LlamaServer

from eval.model.calls import record_calls
from eval.model.client import ClientOptions, Message, ModelClient
from eval.model.replies.probability import compute_answer_probability
from kg.base.errors import ModelAccessError, ModelCallError


class AnswerReply(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]


class AnswerWithReason(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]
    reason: str


@pytest.fixture
def options(llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch) -> ClientOptions:
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    return ClientOptions(model=f"custom/{llama_server.model}", concurrency=64, backoff_s=0.01)


def build_question(text: object) -> list[Message]:
    return [{"role": "user", "content": f"Does {text} flow into Lake Four?"}]


def test_sixty_four_concurrent_structured_answers(options: ClientOptions, tmp_path: Path) -> None:
    cached_options = msgspec.structs.replace(options, cache=tmp_path / "c.sqlite")

    async def run_client() -> list[object]:
        async with ModelClient.open(cached_options, max_tokens=64, seed=1) as client:
            with record_calls() as log:
                replies = await asyncio.gather(
                    *(client.ask(build_question(n), AnswerReply) for n in range(64))
                )
            for reply in replies:
                assert reply.value is not None
                assert reply.value.answer in {"YES", "NO", "UNKNOWN"}
                assert reply.completion.mode == "json_schema"
                probability = compute_answer_probability(reply.completion)
                assert probability is not None
                assert 0 < probability <= 1
            assert (log.calls, log.retries, log.repairs, log.fallbacks) == (64, 0, 0, [])
            assert log.prompt_tokens > 64
            return [
                (answer.value, answer.completion.logprobs, answer.completion.latency_s)
                for answer in replies
            ]

    first_replies, repeated_replies = asyncio.run(run_client()), asyncio.run(run_client())
    assert first_replies == repeated_replies


def test_reply_the_server_cannot_parse_is_not_an_error(options: ClientOptions) -> None:
    async def run_client() -> None:
        async with ModelClient.open(options, max_tokens=20) as client:
            with record_calls() as log:
                reply = await client.ask(build_question("Brook"), AnswerWithReason)
            assert reply.value is None
            assert reply.problem
            assert (log.retries, log.repairs) == (0, 1)

    asyncio.run(run_client())


def test_a_stream_comes_in_pieces(options: ClientOptions) -> None:
    async def run_client() -> None:
        async with ModelClient.open(options, max_tokens=20) as client:
            with record_calls() as log:
                pieces: list[str] = []
                problem = ""
                try:
                    async for piece in client.stream(build_question("Brook")):
                        pieces.append(piece)
                except ModelCallError as error:
                    problem = error.what
            completion = await client.complete(build_question("Brook"))
            assert len(pieces) > 1
            assert "".join(pieces) == completion.text
            assert "cut off after 20 tokens" in problem
            assert log.completion_tokens == 20
            assert completion.finish_reason == "length"

    asyncio.run(run_client())


def test_wrong_key_and_bad_request_are_reported(
    options: ClientOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run_client() -> None:
        async with ModelClient.open(options) as client:
            await client.complete(build_question("Brook" * 40_000))

    with pytest.raises(ModelCallError, match="HTTP 400"):
        asyncio.run(run_client())
    monkeypatch.setenv("EPOCHE_API_KEY", "sk-wrong-123456")
    with pytest.raises(ModelAccessError, match="HTTP 401"):
        asyncio.run(run_client())
