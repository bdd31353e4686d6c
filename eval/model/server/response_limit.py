"""Limits the size of a server's response, so that a hostile server cannot exhaust the memory.

Imported only together with the client library, since it uses that library's HTTP types.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from eval.model.server.failures import ReplyTooLargeError

MAX_REPLY_BYTES = 2 * 1024 * 1024
"""A longer response is refused before it is read to its end: no answer is that long."""


async def limit_response(response: httpx2.Response) -> None:
    """Limits a response whose headers have arrived; a hook of the HTTP client.

    Compressed responses are refused, since we do not accept any: 2 MB of compressed data may
    decompress to gigabytes.

    Raises:
        ReplyTooLargeError: the announced length is over the limit, or the response is compressed.
    """
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise ReplyTooLargeError(
            f"the reply is compressed ({encoding[:20]}), which was not requested"
        )
    content_length = response.headers.get("content-length", "")
    if content_length.isdecimal():
        # Only twenty digits are converted, since a hostile server may send very many.
        if int(content_length[:20]) > MAX_REPLY_BYTES:
            raise ReplyTooLargeError(f"the reply is longer than {MAX_REPLY_BYTES} bytes")
    elif isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _LimitedStream(response.stream)


class _LimitedStream(httpx2.AsyncByteStream):
    """A response of unannounced length that raises an error when it gets too long."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._stream:
            received += len(chunk)
            if received > MAX_REPLY_BYTES:
                raise ReplyTooLargeError(f"the reply is longer than {MAX_REPLY_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
