"""The scripted server fails as scripted, seen by the official client and by a bare socket."""

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
from servers import behaviours
from servers.scripted_server import ScriptedServer, fail_after, fail_first_attempts

ASK: list[Any] = [{"role": "user", "content": "Does the Elbe flow into the North Sea?"}]


async def request_completion(server: ScriptedServer, *, timeout: float = 5, **more: Any) -> Any:
    """One call with the official client, without its own retries."""
    async with AsyncOpenAI(
        base_url=server.base_url,
        api_key=server.api_key,
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAioHttpClient(),
    ) as api:
        return await api.chat.completions.create(**{"model": server.model, "messages": ASK, **more})


def run_request(server: ScriptedServer, **more: Any) -> Any:
    """Runs ``call`` to its end."""
    return asyncio.run(request_completion(server, **more))


def read_body(server: ScriptedServer) -> bytes:
    """The body the server sends, read without the client."""

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


def test_normal_reply_depends_only_on_the_prompt(scripted_server: ScriptedServer) -> None:
    one, two = run_request(scripted_server, logprobs=True), run_request(scripted_server)
    text = one.choices[0].message.content
    assert text == two.choices[0].message.content
    assert json.loads(text)["answer"] in {"YES", "NO", "UNKNOWN"}
    assert "".join(token.token for token in one.choices[0].logprobs.content) == text
    assert two.choices[0].logprobs is None
    assert one.usage.total_tokens == one.usage.prompt_tokens + one.usage.completion_tokens
    assert [(asked.number, asked.attempt) for asked in scripted_server.requests] == [(0, 0), (1, 0)]
    assert scripted_server.requests[0].prompt == ASK[0]["content"]
    other = run_request(scripted_server, messages=[{"role": "user", "content": "and the Rhine?"}])
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

    assert asyncio.run(talk()) == run_request(scripted_server).choices[0].message.content


def test_another_key_is_refused(scripted_server: ScriptedServer) -> None:
    scripted_server.api_key = "sk-other"
    with pytest.raises(AuthenticationError):
        run_request(scripted_server)
    assert not scripted_server.requests


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (behaviours.rate_limit_error(2), RateLimitError),
        (behaviours.quota_error(), RateLimitError),
        (behaviours.expired_key_error(), AuthenticationError),
        (behaviours.unknown_model_error(), NotFoundError),
        (behaviours.http_error(400), BadRequestError),
        (behaviours.http_error(500), InternalServerError),
        (behaviours.http_error(502), InternalServerError),
        (behaviours.http_error(503), InternalServerError),
        (behaviours.reset_connection(), APIConnectionError),
        (behaviours.truncated_reply(), (APIConnectionError, aiohttp.ClientPayloadError)),
    ],
)
def test_faults_reach_the_client(
    scripted_server: ScriptedServer,
    behaviour: behaviours.Behaviour,
    error: type[OpenAIError] | tuple[type[Exception], ...],
) -> None:
    scripted_server.behave(behaviour)
    with pytest.raises(error):
        run_request(scripted_server)
    assert len(scripted_server.requests) == 1


def test_retry_after_in_seconds_and_as_a_date(scripted_server: ScriptedServer) -> None:
    def header() -> str | None:
        with pytest.raises(RateLimitError) as caught:
            run_request(scripted_server)
        value = caught.value.response.headers.get("retry-after")
        return None if value is None else str(value)

    scripted_server.behave(
        [
            behaviours.rate_limit_error(),
            behaviours.rate_limit_error(0.5),
            behaviours.rate_limit_error(30, as_date=True),
        ]
    )
    assert header() is None
    assert header() == "0.5"
    date = header()
    assert date is not None
    assert 25 < parsedate_to_datetime(date).timestamp() - time.time() <= 30


def test_hanging_request_ends_by_timeout(scripted_server: ScriptedServer) -> None:
    scripted_server.behave(behaviours.never_reply())
    with pytest.raises(APITimeoutError):
        run_request(scripted_server, timeout=0.2)


def test_dripping_reply_outlasts_a_read_timeout(scripted_server: ScriptedServer) -> None:
    async def request_within(seconds: float) -> None:
        async with asyncio.timeout(seconds):
            await request_completion(scripted_server, timeout=0.2)

    scripted_server.behave(behaviours.drip_reply(interval=0.05))
    with pytest.raises(TimeoutError):
        asyncio.run(request_within(1.0))
    scripted_server.behave(behaviours.drip_reply(interval=0.01, size=100))
    asyncio.run(request_within(1.0))


def is_invalid_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return True
    return False


def parse_message(body: bytes) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(body)["choices"][0]["message"]
    return said


BODIES: dict[str, Callable[[bytes], bool]] = {
    "half JSON": is_invalid_json,
    "invalid JSON": is_invalid_json,
    "web page": is_invalid_json,
    "latin-1": lambda body: (
        is_invalid_json(body) and not is_invalid_json(body.decode("latin-1").encode())
    ),
    "invalid UTF-8": lambda body: is_invalid_json(body) and b"\xff" in body,
    "no choices": lambda body: json.loads(body)["choices"] == [],
    "empty text": lambda body: parse_message(body)["content"] == "",
    "null text": lambda body: parse_message(body)["content"] is None,
    "list of parts": lambda body: parse_message(body)["content"][0]["type"] == "text",
    "refusal": lambda body: (
        parse_message(body)["content"] is None and bool(parse_message(body)["refusal"])
    ),
    "content filter": lambda body: (
        b"content_filter" in body and parse_message(body)["content"] == ""
    ),
    "cut off": lambda body: (
        is_invalid_json(parse_message(body)["content"].encode()) and b'"length"' in body
    ),
    "10 MB": lambda body: 9_900_000 < len(parse_message(body)["content"]) < 10_100_000,
    "prose": lambda body: is_invalid_json(parse_message(body)["content"].encode()),
    "no usage": lambda body: "usage" not in json.loads(body),
}


@pytest.mark.parametrize("fault", BODIES)
def test_faulty_bodies_have_the_named_fault(scripted_server: ScriptedServer, fault: str) -> None:
    scripted_server.behave(behaviours.FAULTS[fault]())
    assert BODIES[fault](read_body(scripted_server))


def test_structured_output_can_be_missing(scripted_server: ScriptedServer) -> None:
    wish: Any = {
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    }
    scripted_server.behave(behaviours.reject_structured_output())
    with pytest.raises(BadRequestError, match="json_schema"):
        run_request(scripted_server, **wish)
    assert run_request(scripted_server, response_format={"type": "json_object"}).choices
    scripted_server.behave(
        behaviours.reject_structured_output(rejected_formats=("json_schema", "json_object"))
    )
    with pytest.raises(BadRequestError):
        run_request(scripted_server, response_format={"type": "json_object"})
    assert run_request(scripted_server).choices


def test_scripts_choose_by_number_attempt_and_list(scripted_server: ScriptedServer) -> None:
    scripted_server.behave([behaviours.http_error(500), behaviours.normal_reply()])
    with pytest.raises(InternalServerError):
        run_request(scripted_server)
    assert run_request(scripted_server, max_tokens=1).choices
    assert run_request(scripted_server, max_tokens=1).choices
    scripted_server.clear_log()
    scripted_server.behave_with(fail_first_attempts(1, behaviours.http_error(503)))
    for seed in (1, 2):
        with pytest.raises(InternalServerError):
            run_request(scripted_server, seed=seed)
        assert run_request(scripted_server, seed=seed).choices
    scripted_server.clear_log()
    scripted_server.behave_with(fail_after(2, behaviours.expired_key_error()))
    assert run_request(scripted_server).choices
    assert run_request(scripted_server).choices
    with pytest.raises(AuthenticationError):
        run_request(scripted_server)


def test_256_requests_wait_concurrently(scripted_server: ScriptedServer) -> None:
    scripted_server.behave(behaviours.normal_reply(delay=0.5))

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
    assert scripted_server.max_in_flight > 200
    assert scripted_server.in_flight == 0
