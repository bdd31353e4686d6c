"""One server, spoken to through the official client: one attempt at a time, with limits on all.

The official client brings the protocol; retries are ours (``eval.model.retrying``), because its own
hide how long a reply took and forget that other calls are waiting for the same server.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval.model.limits import RateLimits
from eval.model.options import ClientOptions
from eval.model.providers import Endpoint

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk


@dataclass
class _Live:
    """What belongs to one event loop: sockets, slots and limits."""

    loop: asyncio.AbstractEventLoop
    client: AsyncOpenAI
    slots: asyncio.Semaphore
    limits: RateLimits


class Connection:
    """Requests to one server. Opened by the first of them, in whatever event loop that runs."""

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        self._endpoint = endpoint
        self._options = options
        self._live: _Live | None = None

    async def chat(self, body: bytes, max_tokens: int) -> tuple[bytes, float, int]:
        """One attempt at a chat completion.

        Args:
            body: the request as JSON.
            max_tokens: most tokens the reply may have, for the limit of tokens a minute.

        Returns:
            The reply's bytes; seconds from sending to the last byte, without waiting for limits
            or a free slot; the tokens reserved, to be corrected by ``count``.

        Raises:
            Exception: whatever went wrong; ``eval.model.failures.judge`` tells what it means.
        """
        import httpx2

        live = self._opened()
        async with live.slots:
            # In the slot: whoever waited for one must still heed a pause asked for meanwhile.
            reserved = await live.limits.wait(len(body), max_tokens)
            start = time.perf_counter()
            async with asyncio.timeout(self._options.timeout_s):
                response = await live.client.post(
                    "/chat/completions", cast_to=httpx2.Response, content=body
                )
            return response.content, time.perf_counter() - start, reserved

    async def chat_streamed(
        self, body: bytes, max_tokens: int
    ) -> tuple[list[Any], float, float | None, int]:
        """One attempt at a chat completion that is streamed, read to its end.

        Args:
            body: the request as JSON, which asks for a stream.
            max_tokens: as for ``chat``.

        Returns:
            The chunks; seconds to the last of them; seconds to the first that held text, null if
            none did; the tokens reserved.
        """
        chunks: list[Any] = []
        first: float | None = None
        live = self._opened()
        async with live.slots:
            reserved = await live.limits.wait(len(body), max_tokens)
            start = time.perf_counter()
            async with asyncio.timeout(self._options.timeout_s):
                stream = await self._stream(live, body)
                async with stream:
                    async for chunk in stream:
                        chunks.append(chunk)
                        if first is None and _has_text(chunk):
                            first = time.perf_counter() - start
            return chunks, time.perf_counter() - start, first, reserved

    async def chat_stream(self, body: bytes, max_tokens: int) -> AsyncGenerator[Any, None]:
        """One attempt at a streamed chat completion: its chunks, as the client reads them."""
        live = self._opened()
        async with live.slots:
            await live.limits.wait(len(body), max_tokens)
            async with asyncio.timeout(self._options.timeout_s):
                stream = await self._stream(live, body)
            async with stream:
                while True:
                    # Each piece has the time of a whole reply: a guard may read slowly.
                    async with asyncio.timeout(self._options.timeout_s):
                        chunk = await anext(stream, None)
                    if chunk is None:
                        return
                    yield chunk

    async def models(self) -> list[str]:
        """Names of the models the server lists."""
        live = self._opened()
        async with live.slots, asyncio.timeout(self._options.timeout_s):
            page = await live.client.models.list()
        # The SDK hands on whatever the server sent.
        return [model.id for model in page.data or () if isinstance(model.id, str)]

    def count(self, reserved: int, used: int) -> None:
        """Corrects a reservation of tokens by what the server counted."""
        self._opened().limits.correct(reserved, used)

    def pause(self, seconds: float) -> None:
        """Starts no request for so long."""
        self._opened().limits.pause(seconds)

    async def aclose(self) -> None:
        """Closes all sockets; a later request opens new ones."""
        live, self._live = self._live, None
        if live is not None and live.loop is asyncio.get_running_loop():
            await live.client.close()

    @staticmethod
    async def _stream(live: _Live, body: bytes) -> AsyncStream[ChatCompletionChunk]:
        from openai import AsyncStream
        from openai.types.chat import ChatCompletionChunk

        return await live.client.post(
            "/chat/completions",
            cast_to=ChatCompletionChunk,
            content=body,
            stream=True,
            stream_cls=AsyncStream[ChatCompletionChunk],
        )

    def _opened(self) -> _Live:
        loop = asyncio.get_running_loop()
        if self._live is None or self._live.loop is not loop:
            # Sockets of a loop that has ended cannot be used (or closed) in another.
            slots = asyncio.Semaphore(self._options.concurrency)
            self._live = _Live(loop, self._client(), slots, RateLimits(self._options))
        return self._live

    def _client(self) -> AsyncOpenAI:
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient, Omit

        from eval.model.capping import cap

        most = self._options.concurrency
        timeout = httpx2.Timeout(self._options.timeout_s)
        http_client = DefaultAioHttpClient(
            timeout=timeout,
            limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most),
            # A key is sent to the address that was named and to no other.
            follow_redirects=False,
            event_hooks={"response": [cap]},
            # Proxies (and certificates) of the environment, but not on the way to this machine.
            trust_env=not self._endpoint.is_loopback,
        )
        unwanted: dict[str, Any] = {}
        if self._endpoint.provider != "openai":
            # The library would send what the environment says of an OpenAI account to any server.
            account = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
            names = [line.partition(":")[0].strip() for line in account if ":" in line]
            unwanted = {name: Omit() for name in ("OpenAI-Organization", "OpenAI-Project", *names)}
        return AsyncOpenAI(
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.key or "none",
            max_retries=0,
            timeout=timeout,
            default_headers={**unwanted, "Accept-Encoding": "identity"},
            http_client=http_client,
        )


def _has_text(chunk: Any) -> bool:
    return any(choice.delta and choice.delta.content for choice in chunk.choices or ())
