"""The scripted server fails exactly as told, as the official client and a bare socket see it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import pytest
from openai import (
    APIConnectionError,
    APITimeoutError,
    AsyncOpenAI,
    AuthenticationError,
    BadRequestError,
    DefaultAioHttpClient,
    InternalServerError,
    NotFoundError,
    OpenAIError,
    RateLimitError,
)
from servers import behaviours as does
from servers.scripted_server import ScriptedServer, after, first

ASK: list[Any] = [{"role": "user", "content": "Does the Elbe flow into the North Sea?"}]


async def call(server: ScriptedServer, *, timeout: float = 5, **more: Any) -> Any:
    """One call with the official client, without its own retries."""
    async with AsyncOpenAI(
        base_url=server.base_url,
        api_key=server.api_key,
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAioHttpClient(),
    ) as api:
        return await api.chat.completions.create(**{"model": server.model, "messages": ASK, **more})


def ask(server: ScriptedServer, **more: Any) -> Any:
    """``call``, run to its end."""
    return asyncio.run(call(server, **more))


def body_of(server: ScriptedServer) -> bytes:
    """What the server sends as the body, read without the client."""

    async def talk() -> bytes:
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"{server.base_url}/chat/completions",
                json={"model": server.model, "messages": ASK},
                headers={"Authorization": f"Bearer {server.api_key}"},
            ) as response,
        ):
            return await response.read()

    return asyncio.run(talk())


def test_a_normal_reply_depends_on_the_prompt_alone(scripted_server: ScriptedServer) -> None:
    one, two = ask(scripted_server, logprobs=True), ask(scripted_server)
    text = one.choices[0].message.content
    assert text == two.choices[0].message.content
    assert json.loads(text)["answer"] in {"YES", "NO", "UNKNOWN"}
    assert "".join(token.token for token in one.choices[0].logprobs.content) == text
    assert two.choices[0].logprobs is None
    assert one.usage.total_tokens == one.usage.prompt_tokens + one.usage.completion_tokens
    assert [(asked.number, asked.attempt) for asked in scripted_server.requests] == [(0, 0), (1, 0)]
    assert scripted_server.requests[0].prompt == ASK[0]["content"]
    other = ask(scripted_server, messages=[{"role": "user", "content": "and the Rhine?"}])
    assert other.choices[0].message.content != text


def test_streams_hold_the_same_text(scripted_server: ScriptedServer) -> None:
    async def talk() -> str:
        async with AsyncOpenAI(
            base_url=scripted_server.base_url,
            api_key=scripted_server.api_key,
            http_client=DefaultAioHttpClient(),
        ) as api:
            stream = await api.chat.completions.create(model="m", messages=ASK, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(talk()) == ask(scripted_server).choices[0].message.content


def test_another_key_is_refused(scripted_server: ScriptedServer) -> None:
    scripted_server.api_key = "sk-other"
    with pytest.raises(AuthenticationError):
        ask(scripted_server)
    assert not scripted_server.requests


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (does.rate_limited(2), RateLimitError),
        (does.out_of_quota(), RateLimitError),
        (does.expired_key(), AuthenticationError),
        (does.no_such_model(), NotFoundError),
        (does.status(400), BadRequestError),
        (does.status(500), InternalServerError),
        (does.status(502), InternalServerError),
        (does.status(503), InternalServerError),
        (does.reset(), APIConnectionError),
        (does.truncated(), (APIConnectionError, aiohttp.ClientPayloadError)),
    ],
)
def test_failures_reach_the_client(
    scripted_server: ScriptedServer,
    behaviour: does.Behaviour,
    error: type[OpenAIError] | tuple[type[Exception], ...],
) -> None:
    scripted_server.behave(behaviour)
    with pytest.raises(error):
        ask(scripted_server)
    assert len(scripted_server.requests) == 1


def test_retry_after_in_seconds_and_as_a_date(scripted_server: ScriptedServer) -> None:
    def header() -> str | None:
        with pytest.raises(RateLimitError) as caught:
            ask(scripted_server)
        value = caught.value.response.headers.get("retry-after")
        return None if value is None else str(value)

    scripted_server.behave(
        [does.rate_limited(), does.rate_limited(0.5), does.rate_limited(30, as_date=True)]
    )
    assert header() is None
    assert header() == "0.5"
    date = header()
    assert date is not None
    assert 25 < parsedate_to_datetime(date).timestamp() - time.time() <= 30


def test_a_hang_ends_by_a_timeout(scripted_server: ScriptedServer) -> None:
    scripted_server.behave(does.hang())
    with pytest.raises(APITimeoutError):
        ask(scripted_server, timeout=0.2)


def test_a_drip_outlasts_a_timeout_of_the_read(scripted_server: ScriptedServer) -> None:
    async def within(seconds: float) -> None:
        async with asyncio.timeout(seconds):
            await call(scripted_server, timeout=0.2)

    scripted_server.behave(does.drip(interval=0.05))
    with pytest.raises(TimeoutError):
        asyncio.run(within(1.0))
    scripted_server.behave(does.drip(interval=0.01, size=100))
    asyncio.run(within(1.0))


def not_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return True
    return False


def message(body: bytes) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(body)["choices"][0]["message"]
    return said


BODIES: dict[str, Callable[[bytes], bool]] = {
    "half JSON": not_json,
    "invalid JSON": not_json,
    "web page": not_json,
    "latin-1": lambda body: not_json(body) and not not_json(body.decode("latin-1").encode()),
    "invalid UTF-8": lambda body: not_json(body) and b"\xff" in body,
    "no choices": lambda body: json.loads(body)["choices"] == [],
    "empty text": lambda body: message(body)["content"] == "",
    "null text": lambda body: message(body)["content"] is None,
    "list of parts": lambda body: message(body)["content"][0]["type"] == "text",
    "refusal": lambda body: message(body)["content"] is None and bool(message(body)["refusal"]),
    "content filter": lambda body: b"content_filter" in body and message(body)["content"] == "",
    "cut off": lambda body: not_json(message(body)["content"].encode()) and b'"length"' in body,
    "10 MB": lambda body: 9_900_000 < len(message(body)["content"]) < 10_100_000,
    "prose": lambda body: not_json(message(body)["content"].encode()),
    "no usage": lambda body: "usage" not in json.loads(body),
}


@pytest.mark.parametrize("fault", BODIES)
def test_bodies_are_wrong_in_the_way_they_say(scripted_server: ScriptedServer, fault: str) -> None:
    scripted_server.behave(does.FAULTS[fault]())
    assert BODIES[fault](body_of(scripted_server))


def test_structured_output_can_be_missing(scripted_server: ScriptedServer) -> None:
    wish: Any = {
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    }
    scripted_server.behave(does.without_structure())
    with pytest.raises(BadRequestError, match="json_schema"):
        ask(scripted_server, **wish)
    assert ask(scripted_server, response_format={"type": "json_object"}).choices
    scripted_server.behave(does.without_structure(refuses=("json_schema", "json_object")))
    with pytest.raises(BadRequestError):
        ask(scripted_server, response_format={"type": "json_object"})
    assert ask(scripted_server).choices


def test_scripts_go_by_number_by_attempt_and_by_list(scripted_server: ScriptedServer) -> None:
    scripted_server.behave([does.status(500), does.reply()])
    with pytest.raises(InternalServerError):
        ask(scripted_server)
    assert ask(scripted_server, max_tokens=1).choices
    assert ask(scripted_server, max_tokens=1).choices
    scripted_server.forget()
    scripted_server.behave_by(first(1, does.status(503)))
    for seed in (1, 2):
        with pytest.raises(InternalServerError):
            ask(scripted_server, seed=seed)
        assert ask(scripted_server, seed=seed).choices
    scripted_server.forget()
    scripted_server.behave_by(after(2, does.expired_key()))
    assert ask(scripted_server).choices
    assert ask(scripted_server).choices
    with pytest.raises(AuthenticationError):
        ask(scripted_server)


def test_256_wait_at_once(scripted_server: ScriptedServer) -> None:
    scripted_server.behave(does.reply(delay=0.5))

    async def talk() -> None:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def one(seed: int) -> None:
                async with session.post(
                    f"{scripted_server.base_url}/chat/completions",
                    json={"model": "m", "messages": ASK, "seed": seed},
                    headers={"Authorization": f"Bearer {scripted_server.api_key}"},
                ) as response:
                    assert response.status == 200
                    await response.read()

            await asyncio.gather(*map(one, range(256)))

    asyncio.run(talk())
    assert len(scripted_server.requests) == 256
    assert scripted_server.most_in_flight > 200
    assert scripted_server.in_flight == 0
