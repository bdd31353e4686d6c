"""Runs a server that answers every chat completion with the same text after a fixed delay.

    python benchmarks/delay_server.py --delay-ms 50

It prints its address when it starts, and its counts as JSON when its standard input is closed:
requests, maximum number of requests in flight, seconds from the first request to the last reply,
and CPU seconds. It parses as little HTTP as possible, so that a benchmark measures the client
rather than this server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping

MODEL = "delayed-1"
REPLY_TEXT = (
    '{"answer": "UNKNOWN", "confidence": 0.5, "reason": "Nothing that is told settles it."}'
)
REPLY = {
    "id": "chatcmpl-0",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": MODEL,
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": REPLY_TEXT},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 120, "completion_tokens": 24, "total_tokens": 144},
}
MODELS = {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0}]}


class Counts:
    """Counts and times (in seconds, by the loop's clock) of the server's requests.

    The values are class attributes, which all connections share.
    """

    requests = 0
    in_flight = 0
    most_in_flight = 0
    first_request_time = 0.0
    """Time of the first request."""
    last_reply_time = 0.0
    """Time of the latest reply."""


def encode_http(body: Mapping[str, object]) -> bytes:
    """Returns a complete HTTP response with the given JSON body."""
    raw = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n"
    return head.encode() + b"\r\n" + raw


class Connection(asyncio.Protocol):
    """A keep-alive connection; its requests are answered one after the other."""

    completion = encode_http(REPLY)
    models = encode_http(MODELS)

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._received = b""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Stores the transport, to which replies are written."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Splits the stream into requests; each is answered after the delay."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].lower()
            length = 0
            if (header := head.find(b"content-length:")) >= 0:
                length = int(head[header + len(b"content-length:") :].split(b"\r\n", 1)[0])
            if len(self._received) < end + 4 + length:
                return
            self._received = self._received[end + 4 + length :]
            if head.startswith(b"get"):
                self._transport.write(self.models)
                continue
            Counts.first_request_time = Counts.first_request_time or self._loop.time()
            Counts.requests += 1
            Counts.in_flight += 1
            Counts.most_in_flight = max(Counts.most_in_flight, Counts.in_flight)
            self._loop.call_later(self._delay, self._answer)

    def _answer(self) -> None:
        Counts.in_flight -= 1
        Counts.last_reply_time = self._loop.time()
        if not self._transport.is_closing():
            self._transport.write(self.completion)


async def serve_until_eof(delay: float) -> None:
    """Serves until standard input ends, then prints the counts."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(delay), "127.0.0.1", 0, backlog=1_024)
    print("http://{}:{}/v1".format(*server.sockets[0].getsockname()), flush=True)
    cpu_start = time.process_time()
    await loop.run_in_executor(None, sys.stdin.read)
    counts = {
        "requests": Counts.requests,
        "most_in_flight": Counts.most_in_flight,
        "asking_s": Counts.last_reply_time - Counts.first_request_time,
        "cpu_s": time.process_time() - cpu_start,
    }
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay-ms", type=float, default=50.0, help="delay before each reply")
    asyncio.run(serve_until_eof(parser.parse_args().delay_ms / 1_000))
