"""The connection to one server: sends single attempts through the OpenAI client, rate limited.

Chat completions are requested with the client's public method, ``chat.completions.create`` (with
``with_raw_response``, since our own parsing is faster and tolerates more), so that tools that trace
it see each attempt.

Retries are our own (``backoff``), because those of the OpenAI client hide how long a reply took and
do not pause other calls to the same server.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

import msgspec

from eval.model.options import ClientOptions
from eval.model.providers import Endpoint
from eval.model.server.limits import RateLimits
from eval.model.wire import read_chunk

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

_OTHER_MEMBERS = ("guided_json",)
"""Members of requests that are no arguments of the OpenAI client's method."""


@dataclass
class _LoopState:
    """The objects that belong to one event loop: sockets, concurrency slots and rate limits."""

    loop: asyncio.AbstractEventLoop
    client: AsyncOpenAI
    slots: asyncio.Semaphore
    limits: RateLimits


class Connection:
    """Sends requests to one server. Sockets are opened by the first request of an event loop."""

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        self._endpoint = endpoint
        self._options = options
        self._state: _LoopState | None = None

    async def request_chat(
        self, body: bytes, max_tokens: int, note_sending: Callable[[], None]
    ) -> tuple[bytes, float, int]:
        """Makes one attempt at a chat completion.

        Args:
            body: the request as JSON.
            max_tokens: maximum number of tokens of the reply, for the limit of tokens per minute.
            note_sending: called when all waits are over.

        Returns:
            The reply's bytes; seconds from sending to the last byte, without waiting for limits
            or a free slot; the tokens reserved, to be corrected with ``correct_reservation``.

        Raises:
            Exception: any failure; ``eval.model.server.failures.classify_error`` classifies it.
        """
        state = self._get_state()
        async with state.slots:
            # After taking the slot, since a pause may have been requested while waiting for it.
            reserved = await state.limits.wait_for_turn(len(body), max_tokens)
            note_sending()
            start = time.perf_counter()
            async with asyncio.timeout(self._options.timeout_s):
                response = await state.client.chat.completions.with_raw_response.create(
                    **_read_arguments(body)
                )
            return response.content, time.perf_counter() - start, reserved

    async def request_streamed_chat(
        self, body: bytes, max_tokens: int, note_sending: Callable[[], None]
    ) -> tuple[list[Any], float, float | None, int]:
        """Makes one attempt at a streamed chat completion, and reads it to its end.

        Args:
            body: the request as JSON, with ``stream`` set.
            max_tokens: as for ``request_chat``.
            note_sending: as for ``request_chat``.

        Returns:
            The chunks; seconds to the last chunk; seconds to the first chunk with text, or None;
            the tokens reserved.
        """
        chunks: list[Any] = []
        first_text_s: float | None = None
        state = self._get_state()
        async with state.slots:
            reserved = await state.limits.wait_for_turn(len(body), max_tokens)
            note_sending()
            start = time.perf_counter()
            async with asyncio.timeout(self._options.timeout_s):
                stream = await self._open_stream(state, body)
                async with stream:
                    async for chunk in stream:
                        chunks.append(chunk)
                        if first_text_s is None and read_chunk(chunk).text:
                            first_text_s = time.perf_counter() - start
            return chunks, time.perf_counter() - start, first_text_s, reserved

    async def stream_chat(
        self, body: bytes, max_tokens: int, note_sending: Callable[[], None]
    ) -> AsyncGenerator[Any, None]:
        """Makes one attempt at a streamed chat completion, and yields its chunks on arrival."""
        state = self._get_state()
        async with state.slots:
            await state.limits.wait_for_turn(len(body), max_tokens)
            note_sending()
            async with asyncio.timeout(self._options.timeout_s):
                stream = await self._open_stream(state, body)
            async with stream:
                while True:
                    # The timeout is per chunk, since the reader (a guard) may be slow.
                    async with asyncio.timeout(self._options.timeout_s):
                        chunk = await anext(stream, None)
                    if chunk is None:
                        return
                    yield chunk

    async def list_models(self, note_sending: Callable[[], None]) -> list[str]:
        """Returns the names of the models the server lists."""
        state = self._get_state()
        async with state.slots:
            note_sending()
            async with asyncio.timeout(self._options.timeout_s):
                page = await state.client.models.list()
        # The OpenAI client does not validate what the server sent.
        return [model.id for model in page.data or () if isinstance(model.id, str)]

    def correct_reservation(self, reserved_tokens: int, used_tokens: int) -> None:
        """Replaces a reservation of tokens by the number that the server counted."""
        self._get_state().limits.correct_reservation(reserved_tokens, used_tokens)

    def pause_requests(self, seconds: float) -> None:
        """Starts no request for the given time."""
        self._get_state().limits.pause_requests(seconds)

    async def aclose(self) -> None:
        """Closes the sockets of the running event loop; a later request opens new ones."""
        state = self._state
        if state is not None and state.loop is asyncio.get_running_loop():
            self._state = None
            await state.client.close()

    @staticmethod
    async def _open_stream(state: _LoopState, body: bytes) -> AsyncStream[ChatCompletionChunk]:
        stream: Any = await state.client.chat.completions.create(**_read_arguments(body))
        return stream  # type: ignore[no-any-return]  # the body asks for a stream

    def _get_state(self) -> _LoopState:
        loop = asyncio.get_running_loop()
        if self._state is None or self._state.loop is not loop:
            # Sockets of an ended loop can be neither used nor closed in another one.
            slots = asyncio.Semaphore(self._options.concurrency)
            self._state = _LoopState(loop, self._build_client(), slots, RateLimits(self._options))
        return self._state

    def _build_client(self) -> AsyncOpenAI:
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient, Omit

        from eval.model.server.response_limit import limit_response

        max_connections = self._options.concurrency
        timeout = httpx2.Timeout(self._options.timeout_s)
        http_client = DefaultAioHttpClient(
            timeout=timeout,
            limits=httpx2.Limits(
                max_connections=max_connections, max_keepalive_connections=max_connections
            ),
            # A redirect would send the key to an address that the user did not name.
            follow_redirects=False,
            event_hooks={"response": [limit_response]},
            # Use proxies and certificates of the environment, except for servers on this machine.
            trust_env=not self._endpoint.is_loopback,
            verify=_make_verification(self._endpoint),
        )
        omitted_headers: dict[str, Any] = {}
        if self._endpoint.provider != "openai":
            # Otherwise the library sends the OpenAI account named in the environment to any server.
            header_lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
            names = [line.partition(":")[0].strip() for line in header_lines if ":" in line]
            omitted_headers = {
                name: Omit() for name in ("OpenAI-Organization", "OpenAI-Project", *names)
            }
        return AsyncOpenAI(
            base_url=self._endpoint.request_url,
            api_key=self._endpoint.key or "none",
            max_retries=0,
            timeout=timeout,
            default_headers={**omitted_headers, "Accept-Encoding": "identity"},
            http_client=http_client,
        )


def _make_verification(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """Makes what verifies certificates: those of the machine, which take 20 ms to load, if needed.

    A server on this machine without TLS is called directly, so none of them is; no certificate
    would be accepted.
    """
    if endpoint.is_loopback and endpoint.request_url.startswith("http:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return True


def _read_arguments(body: bytes) -> dict[str, Any]:
    """Returns a request as arguments of the client's public method.

    What is given as an argument, the client compares with its types, which takes longer than all
    else in a call. So the whole request is given as ``extra_body``, unless somebody watches.
    """
    from openai import omit

    members: dict[str, Any] = msgspec.json.decode(body)
    if not _is_watched():
        # The client must know of a stream; the other two must be arguments, but need no value.
        stream = {"stream": True} if members.get("stream") else {}
        return {"model": omit, "messages": omit, **stream, "extra_body": members}
    others = {name: members.pop(name) for name in _OTHER_MEMBERS if name in members}
    return {**members, "extra_body": others}


def _is_watched() -> bool:
    """Returns whether a tracing tool has replaced a method of the OpenAI client by its own."""
    from openai import AsyncOpenAI
    from openai.resources.chat.completions import AsyncCompletions

    folder = sys.modules["openai"].__path__[0]
    return not all(
        # Not isinstance, which a wrapper can deceive.
        type(method) is FunctionType and method.__code__.co_filename.startswith(folder)
        for method in (AsyncCompletions.create, AsyncOpenAI.request)
    )
