"""Lets no more of a server's reply in than an answer can need, be it an answer or an error page.

Imported with the client library only, since it builds on that library's HTTP types.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from eval.model.failures import ReplyTooLargeError

MAX_REPLY_BYTES = 2 * 1024 * 1024
"""A longer reply is refused before it is read to its end: no answer is that long."""


async def cap(response: httpx2.Response) -> None:
    """Bounds a reply whose head has arrived; a hook of the HTTP client.

    Packed replies were not asked for and are refused: 2 MB of them may unpack to gigabytes.

    Raises:
        ReplyTooLargeError: the server announces more than is let in, or packs its reply.
    """
    packed = response.headers.get("content-encoding", "identity").lower()
    if packed != "identity":
        raise ReplyTooLargeError(f"the reply is packed ({packed[:20]}), which was not asked for")
    announced = response.headers.get("content-length", "")
    if announced.isdecimal():
        if int(announced[:20]) > MAX_REPLY_BYTES:
            raise ReplyTooLargeError(f"the reply is longer than {MAX_REPLY_BYTES} bytes")
    elif isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Capped(response.stream)


class _Capped(httpx2.AsyncByteStream):
    """A reply of unannounced length that breaks off where it gets too long."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > MAX_REPLY_BYTES:
                raise ReplyTooLargeError(f"the reply is longer than {MAX_REPLY_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
