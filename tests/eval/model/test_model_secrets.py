"""Tests that an API key is sent only to its server and appears in no output or file."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers.behaviours import Behaviour, ChatRequest, edited_reply, error_body, normal_reply
from servers.scripted_server import ScriptedServer

from eval.model.calls import record_calls
from eval.model.client import ModelClient
from eval.model.redaction import SECRET_PLACEHOLDER, hide_key

ROOT = Path(__file__).parents[3]


class Verdict(msgspec.Struct):
    answer: str


def list_key_forms(key: str) -> list[bytes]:
    """Returns the forms in which a key might appear: as it is, and in base 64."""
    return [key.encode(), base64.b64encode(key.encode()).rstrip(b"=")]


def echo_key(status: int) -> Behaviour:
    """Returns the behaviour of a server that repeats the key in headers, error or reply."""

    async def answer_with_key(request: ChatRequest) -> Any:
        from aiohttp import web

        text = f"your key {request.key} (Bearer {request.key})"
        if status != 200:
            headers = {"X-Key": request.key}
            return web.json_response(error_body(status, text), status=status, headers=headers)
        return await normal_reply(lambda request: f'{{"answer": "{text}"}}')(request)

    return answer_with_key


def add_key_to_reply(change: Callable[[dict[str, Any], str], object]) -> Behaviour:
    """Returns the behaviour of a server that puts the key into another part of a valid reply."""

    async def answer_with_key(request: ChatRequest) -> Any:
        return await edited_reply(lambda body: change(body, request.key))(request)

    return answer_with_key


def put_key_into_tokens(body: dict[str, Any], key: str) -> None:
    tokens = [{"token": token, "logprob": -0.1} for token in ("so ", key)]
    body["choices"][0]["logprobs"] = {"content": tokens}


@pytest.mark.parametrize(
    "change",
    [
        lambda body, key: body.update(model=f"model of {key}"),
        lambda body, key: body["choices"][0].update(finish_reason=f"stop {key}"),
        put_key_into_tokens,
    ],
    ids=["model", "finish_reason", "tokens"],
)
def test_key_repeated_outside_the_text_is_not_stored(
    open_client: Callable[..., ModelClient],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    change: Callable[[dict[str, Any], str], object],
) -> None:
    scripted_server.behave(add_key_to_reply(change))

    async def run_client() -> str:
        async with open_client(cache=tmp_path / "c.sqlite") as client:
            reply = await client.complete([{"role": "user", "content": "q"}])
            return repr((reply, client.observed()))

    shown = asyncio.run(run_client()).encode()
    outputs = shown + b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [
        key_form for key_form in list_key_forms(scripted_server.api_key) if key_form in outputs
    ] == []
    assert b"drawn from" in outputs, "the reply itself should be stored"


def test_key_in_the_pieces_of_a_stream_is_hidden(
    open_client: Callable[..., ModelClient], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(echo_key(200))  # a piece has at most eight letters

    async def run_client() -> str:
        async with open_client() as client:
            pieces = [piece async for piece in client.stream([{"role": "user", "content": "q"}])]
            assert len(pieces) > 3
            return "".join(pieces)

    text = asyncio.run(run_client())
    assert text == '{"answer": "your key [hidden] (Bearer [hidden])"}'


@given(
    st.lists(st.sampled_from(["ab", "aba", "bc", "ababac", "abab", "ac", "x"]), max_size=30),
    st.lists(st.integers(1, 7), min_size=1),
)
def test_a_key_is_hidden_in_any_pieces(parts: list[str], sizes: list[int]) -> None:
    key, text = "ababac", "".join(parts)

    async def cut_text() -> AsyncGenerator[str, None]:
        start = 0
        for size in itertools.cycle(sizes):
            yield text[start : start + size]
            start += size
            if start >= len(text):
                raise EOFError

    async def join_shown() -> str:
        shown = ""
        with contextlib.suppress(EOFError):
            async for piece in hide_key(cut_text(), key):
                shown += piece
        return shown

    assert asyncio.run(join_shown()) == text.replace(key, SECRET_PLACEHOLDER)


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500])
def test_key_repeated_by_the_server_is_not_shown_or_stored(
    open_client: Callable[..., ModelClient],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    status: int,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("DEBUG")
    scripted_server.behave(echo_key(status))
    key = scripted_server.api_key
    shown_values: list[object] = []

    async def run_client() -> None:
        client = open_client(cache=tmp_path / "c.sqlite", max_retries=1)
        shown_values.append(
            (client.params(), repr(client), vars(client), repr(client._caller.endpoint))
        )
        async with client:
            try:
                with record_calls() as log:
                    turns = [{"role": "user", "content": "q"}]
                    shown_values.append(await client.ask(turns, Verdict))
            except Exception as error:
                shown_values.append((str(error), repr(error), error.args))
            shown_values.append((log, client.observed()))

    asyncio.run(run_client())
    printed = capfd.readouterr()
    shown_text = repr(shown_values) + printed.out + printed.err + caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    outputs = shown_text.encode() + b"".join(path.read_bytes() for path in files)
    assert [key_form for key_form in list_key_forms(key) if key_form in outputs] == []
    assert scripted_server.requests[0].key == key


def test_command_shows_no_key_from_dotenv(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        f"EPOCHE_BASE_URL={scripted_server.base_url}\nEPOCHE_API_KEY={scripted_server.api_key}\n"
    )
    scripted_server.behave(echo_key(400))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_LOG": "debug"}
    result = subprocess.run(
        [sys.executable, "-m", "eval.commands.check_connection", "--model", "custom/scripted-1"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 24, "the exit code of a failed model call"
    assert b"HTTP 400" in result.stderr
    for key_form in list_key_forms(scripted_server.api_key):
        assert key_form not in result.stdout + result.stderr


def test_openai_account_headers_are_sent_to_openai_only(
    open_client: Callable[..., ModelClient],
    scripted_server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: secret-mine\nX-Two: two-mine")
    received_headers: list[str] = []

    async def record_headers(request: ChatRequest) -> Any:
        received_headers.append(str(request.web.headers))
        return await normal_reply()(request)

    scripted_server.behave(record_headers)

    async def run_client() -> None:
        async with open_client() as client:
            await client.complete([{"role": "user", "content": "q"}])

    asyncio.run(run_client())
    assert received_headers
    assert "mine" not in received_headers[0]
