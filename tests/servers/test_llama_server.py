"""The real test server follows the protocol, as seen by the official client."""

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

ASK: list[Any] = [{"role": "user", "content": "Does the Elbe flow into the North Sea?"}]
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


def open_client(server: LlamaServer, **changed: Any) -> AsyncOpenAI:
    settings = {"base_url": server.base_url, "api_key": server.api_key, "max_retries": 0}
    return AsyncOpenAI(http_client=DefaultAioHttpClient(), **{**settings, **changed})


def test_chat_with_usage_and_logprobs(llama_server: LlamaServer) -> None:
    async def talk() -> None:
        async with open_client(llama_server) as api:
            assert llama_server.model in {model.id for model in (await api.models.list()).data}
            done = await api.chat.completions.create(
                model=llama_server.model, messages=ASK, max_tokens=5, logprobs=True, temperature=0
            )
        (choice,) = done.choices
        assert choice.message.role == "assistant"
        assert done.usage is not None
        assert 1 <= done.usage.completion_tokens <= 5
        assert done.usage.prompt_tokens > 10
        assert choice.logprobs is not None
        assert choice.logprobs.content
        assert all(token.logprob <= 0 for token in choice.logprobs.content)

    asyncio.run(talk())


def test_structured_output_follows_the_schema(llama_server: LlamaServer) -> None:
    async def talk() -> set[str]:
        said = set()
        async with open_client(llama_server) as api:
            for seed in range(12):
                done = await api.chat.completions.create(
                    model=llama_server.model,
                    messages=ASK,
                    response_format=SCHEMA,
                    max_tokens=64,
                    temperature=1.5,
                    seed=seed,
                )
                said.add(json.loads(done.choices[0].message.content or "")["answer"])
        return said

    assert asyncio.run(talk()) <= {"YES", "NO", "UNKNOWN"}


def test_streaming_gives_the_same_text(llama_server: LlamaServer) -> None:
    async def talk() -> tuple[str, str | None]:
        sent: Any = {"model": llama_server.model, "messages": ASK, "max_tokens": 12}
        async with open_client(llama_server) as api:
            whole = await api.chat.completions.create(**sent, temperature=0)
            parts = []
            async for chunk in await api.chat.completions.create(
                **sent, temperature=0, stream=True
            ):
                parts += [choice.delta.content or "" for choice in chunk.choices]
        return "".join(parts), whole.choices[0].message.content

    streamed, whole = asyncio.run(talk())
    assert streamed == whole


def test_wrong_key_and_wrong_request_are_refused(llama_server: LlamaServer) -> None:
    async def talk() -> None:
        async with open_client(llama_server, api_key="sk-wrong") as api:
            with pytest.raises(AuthenticationError):
                await api.chat.completions.create(model=llama_server.model, messages=ASK)
        wrong: Any = {"type": "json_schema", "json_schema": {"schema": {"type": "no such type"}}}
        async with open_client(llama_server) as api:
            with pytest.raises(BadRequestError):
                await api.chat.completions.create(
                    model=llama_server.model, messages=ASK, response_format=wrong
                )

    asyncio.run(talk())


def test_64_at_once_are_all_answered(llama_server: LlamaServer) -> None:
    async def talk() -> list[int]:
        async with open_client(llama_server, timeout=30) as api:
            done = await asyncio.gather(
                *(
                    api.chat.completions.create(
                        model=llama_server.model, messages=ASK, response_format=SCHEMA, seed=seed
                    )
                    for seed in range(64)
                )
            )
        return [len(json.loads(one.choices[0].message.content or "")) for one in done]

    assert asyncio.run(talk()) == [1] * 64


def test_model_bytes_are_reproducible(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        write_model(tmp_path / name)
    assert (tmp_path / "a.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()


def test_server_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    starter = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from servers.llama_server import llama_server\n"
        "with llama_server(Path(sys.argv[1])) as server:\n"
        "    print(server.base_url, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", starter, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        check=False,
        timeout=60,
    )
    address = done.stdout.decode().strip()
    assert address.startswith("http://127.0.0.1:")

    async def is_gone() -> bool:
        port = int(address.split(":")[2].split("/")[0])
        for _ in range(200):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                return True
            writer.close()
            await writer.wait_closed()
            await asyncio.sleep(0.02)
        return False

    assert asyncio.run(is_gone())
