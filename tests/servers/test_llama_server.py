"""Tests with the official client that the llama.cpp test server follows the protocol."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, AuthenticationError, BadRequestError, DefaultAioHttpClient
from servers.llama_server import LlamaServer, write_model

MESSAGES: list[Any] = [{"role": "user", "content": "Does the Elbe flow into the North Sea?"}]
SCHEMA: Any = {
    "type": "json_schema",
    "json_schema": {
        "name": "Verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"answer": {"enum": ["YES", "NO", "UNKNOWN"]}},
            "required": ["answer"],
            "additionalProperties": False,
        },
    },
}


def open_client(server: LlamaServer, **changes: Any) -> AsyncOpenAI:
    settings = {"base_url": server.base_url, "api_key": server.api_key, "max_retries": 0}
    return AsyncOpenAI(http_client=DefaultAioHttpClient(), **{**settings, **changes})


def test_chat_with_usage_and_logprobs(llama_server: LlamaServer) -> None:
    async def request_completions() -> None:
        async with open_client(llama_server) as api:
            assert llama_server.model in {model.id for model in (await api.models.list()).data}
            completion = await api.chat.completions.create(
                model=llama_server.model,
                messages=MESSAGES,
                max_tokens=5,
                logprobs=True,
                temperature=0,
            )
        (choice,) = completion.choices
        assert choice.message.role == "assistant"
        assert completion.usage is not None
        assert 1 <= completion.usage.completion_tokens <= 5
        assert completion.usage.prompt_tokens > 10
        assert choice.logprobs is not None
        assert choice.logprobs.content
        assert all(token.logprob <= 0 for token in choice.logprobs.content)

    asyncio.run(request_completions())


def test_structured_output_follows_the_schema(llama_server: LlamaServer) -> None:
    async def request_completions() -> set[str]:
        answers = set()
        async with open_client(llama_server) as api:
            for seed in range(12):
                completion = await api.chat.completions.create(
                    model=llama_server.model,
                    messages=MESSAGES,
                    response_format=SCHEMA,
                    max_tokens=64,
                    temperature=1.5,
                    seed=seed,
                )
                answers.add(json.loads(completion.choices[0].message.content or "")["answer"])
        return answers

    assert asyncio.run(request_completions()) <= {"YES", "NO", "UNKNOWN"}


def test_streaming_gives_the_same_text(llama_server: LlamaServer) -> None:
    async def request_completions() -> tuple[str, str | None]:
        request: Any = {"model": llama_server.model, "messages": MESSAGES, "max_tokens": 12}
        async with open_client(llama_server) as api:
            full_text = await api.chat.completions.create(**request, temperature=0)
            streamed_parts = []
            async for chunk in await api.chat.completions.create(
                **request, temperature=0, stream=True
            ):
                streamed_parts += [choice.delta.content or "" for choice in chunk.choices]
        return "".join(streamed_parts), full_text.choices[0].message.content

    streamed, full_text = asyncio.run(request_completions())
    assert streamed == full_text


def test_wrong_key_and_wrong_request_are_refused(llama_server: LlamaServer) -> None:
    async def request_completions() -> None:
        async with open_client(llama_server, api_key="sk-wrong") as api:
            with pytest.raises(AuthenticationError):
                await api.chat.completions.create(model=llama_server.model, messages=MESSAGES)
        invalid_format: Any = {
            "type": "json_schema",
            "json_schema": {"schema": {"type": "no such type"}},
        }
        async with open_client(llama_server) as api:
            with pytest.raises(BadRequestError):
                await api.chat.completions.create(
                    model=llama_server.model, messages=MESSAGES, response_format=invalid_format
                )

    asyncio.run(request_completions())


def test_64_concurrent_requests_are_answered(llama_server: LlamaServer) -> None:
    async def request_completions() -> list[int]:
        async with open_client(llama_server, timeout=30) as api:
            completions = await asyncio.gather(
                *(
                    api.chat.completions.create(
                        model=llama_server.model,
                        messages=MESSAGES,
                        response_format=SCHEMA,
                        seed=seed,
                    )
                    for seed in range(64)
                )
            )
        return [
            len(json.loads(completion.choices[0].message.content or ""))
            for completion in completions
        ]

    # Each reply is a JSON object with the one key "answer".
    assert asyncio.run(request_completions()) == [1] * 64


def test_model_bytes_are_reproducible(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        write_model(tmp_path / name)
    assert (tmp_path / "a.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()


def test_server_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent_script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from servers.llama_server import llama_server\n"
        "with llama_server(Path(sys.argv[1])) as server:\n"
        "    print(server.base_url, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", parent_script, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        check=False,
        timeout=60,
    )
    address = result.stdout.decode().strip()
    assert address.startswith("http://127.0.0.1:")

    async def wait_until_gone() -> bool:
        port = int(address.split(":")[2].split("/")[0])
        for _ in range(200):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                await writer.wait_closed()
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:
                # The server is just ending: ask again.
                pass
            await asyncio.sleep(0.02)
        return False

    assert asyncio.run(wait_until_gone())
