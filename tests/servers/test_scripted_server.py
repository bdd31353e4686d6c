"""Tests that the scripted server replies and fails as its script says.

The official client and a plain HTTP client check the replies.
"""

from __future__ import annotations

import asyncio
import json
import socket
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
from servers.scripted_server import ScriptedServer, fail_first_attempts

MESSAGES: list[Any] = [{"role": "user", "content": "Does the Elbe flow into the North Sea?"}]


async def request_completion(server: ScriptedServer, *, timeout: float = 5, **options: Any) -> Any:
    """Requests one completion with the official client, whose retries are switched off."""
    async with AsyncOpenAI(
        base_url=server.base_url,
        api_key=server.api_key,
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAioHttpClient(),
    ) as api:
        return await api.chat.completions.create(
            **{"model": server.model, "messages": MESSAGES, **options}
        )


def run_request(server: ScriptedServer, **options: Any) -> Any:
    """Runs ``request_completion`` and returns its result."""
    return asyncio.run(request_completion(server, **options))


def read_body(server: ScriptedServer) -> bytes:
    """Reads the body that the server sends, without the official client."""

    async def post_request() -> bytes:
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"{server.base_url}/chat/completions",
                json={"model": server.model, "messages": MESSAGES},
                headers={"Authorization": f"Bearer {server.api_key}"},
            ) as response,
        ):
            return await response.read()

    return asyncio.run(post_request())


def test_normal_reply_depends_only_on_the_prompt(scripted_server: ScriptedServer) -> None:
    first_reply, second_reply = (
        run_request(scripted_server, logprobs=True),
        run_request(scripted_server),
    )
    text = first_reply.choices[0].message.content
    assert text == second_reply.choices[0].message.content
    assert json.loads(text)["answer"] in {"YES", "NO", "UNKNOWN"}
    assert "".join(token.token for token in first_reply.choices[0].logprobs.content) == text
    assert second_reply.choices[0].logprobs is None
    assert (
        first_reply.usage.total_tokens
        == first_reply.usage.prompt_tokens + first_reply.usage.completion_tokens
    )
    assert [(request.number, request.attempt) for request in scripted_server.requests] == [
        (0, 0),
        (1, 0),
    ]
    assert scripted_server.requests[0].prompt == MESSAGES[0]["content"]
    other_reply = run_request(
        scripted_server, messages=[{"role": "user", "content": "and the Rhine?"}]
    )
    assert other_reply.choices[0].message.content != text


def test_streams_hold_the_same_text(scripted_server: ScriptedServer) -> None:
    async def read_stream() -> str:
        async with AsyncOpenAI(
            base_url=scripted_server.base_url,
            api_key=scripted_server.api_key,
            http_client=DefaultAioHttpClient(),
        ) as api:
            stream = await api.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(read_stream()) == run_request(scripted_server).choices[0].message.content


def test_another_key_is_refused(scripted_server: ScriptedServer) -> None:
    # The client takes its key from this attribute; the server still accepts only its own key.
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
    def get_retry_after() -> str | None:
        with pytest.raises(RateLimitError) as error:
            run_request(scripted_server)
        value = error.value.response.headers.get("retry-after")
        return None if value is None else str(value)

    scripted_server.behave(
        [
            behaviours.rate_limit_error(),
            behaviours.rate_limit_error(0.5),
            behaviours.rate_limit_error(30, as_date=True),
        ]
    )
    assert get_retry_after() is None
    assert get_retry_after() == "0.5"
    date = get_retry_after()
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
    message: dict[str, Any] = json.loads(body)["choices"][0]["message"]
    return message


BODY_CHECKS: dict[str, Callable[[bytes], bool]] = {
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


@pytest.mark.parametrize("fault", BODY_CHECKS)
def test_faulty_bodies_have_the_named_fault(scripted_server: ScriptedServer, fault: str) -> None:
    scripted_server.behave(behaviours.FAULTS[fault]())
    assert BODY_CHECKS[fault](read_body(scripted_server))


def test_structured_output_can_be_missing(scripted_server: ScriptedServer) -> None:
    json_schema_option: Any = {
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    }
    scripted_server.behave(behaviours.reject_structured_output())
    with pytest.raises(BadRequestError, match="json_schema"):
        run_request(scripted_server, **json_schema_option)
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


def test_256_requests_wait_concurrently(scripted_server: ScriptedServer) -> None:
    scripted_server.behave(behaviours.normal_reply(delay=0.5))

    async def send_requests() -> None:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def send_request(seed: int) -> None:
                async with session.post(
                    f"{scripted_server.base_url}/chat/completions",
                    json={"model": "m", "messages": MESSAGES, "seed": seed},
                    headers={"Authorization": f"Bearer {scripted_server.api_key}"},
                ) as response:
                    assert response.status == 200
                    await response.read()

            await asyncio.gather(*map(send_request, range(256)))

    asyncio.run(send_requests())
    assert len(scripted_server.requests) == 256
    # Nearly all requests arrive during the 0.5 s in which the first of them wait.
    assert scripted_server.max_in_flight > 200
    assert scripted_server.in_flight == 0


def test_requests_of_a_stopped_client_do_not_count_for_the_next(
    scripted_server: ScriptedServer,
) -> None:
    """A client that stops right after it sent a request leaves nothing in the new log."""
    address = scripted_server.base_url.removeprefix("http://").removesuffix("/v1").split(":")
    body = b'{"model": "scripted-1", "messages": []}'
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: loopback\r\n"
        f"Authorization: Bearer {scripted_server.api_key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(50):
        with socket.create_connection((address[0], int(address[1]))) as connection:
            connection.sendall(head.encode() + body)
        scripted_server.clear_log()
        time.sleep(0.005)
        assert not scripted_server.requests
