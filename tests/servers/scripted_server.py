"""An OpenAI-compatible server on loopback that does what a test tells it.

It runs in a thread with an event loop of its own. What it does with a completion request is a
``Behaviour`` (see ``behaviours``): one for all, a list (one a request, the last for all further
ones), or a function that picks one for each request. It keeps a log of what it was asked.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import msgspec
from aiohttp import web
from servers.behaviours import API_KEY, MODEL, Asked, Behaviour, error_body, reply

Script = Behaviour | Sequence[Behaviour]
Pick = Callable[[Asked], Behaviour]


class ScriptedServer:
    """The server; use it as a context.

    Attributes:
        base_url: address of the API, ``/v1`` included.
        model: name of the model it lists.
        api_key: the key it accepts; any other gets 401.
        requests: the completion requests so far, in the order they came.
        in_flight: how many of them are being answered now.
        most_in_flight: the most there ever were.
    """

    model = MODEL
    api_key = API_KEY

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[Asked] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._bodies: Counter[bytes] = Counter()
        self._pick: Pick = lambda asked: _NORMAL
        self._thread = threading.Thread(target=self._run, name="scripted server", daemon=True)
        self._ready = threading.Event()

    def behave(self, script: Script) -> None:
        """Says what to do from now on: one behaviour, or one for each of the next requests."""
        if callable(script):
            self._pick = lambda asked: script
            return
        steps, start = list(script), len(self.requests)
        self._pick = lambda asked: steps[min(asked.number - start, len(steps) - 1)]

    def behave_by(self, pick: Pick) -> None:
        """Says what to do from now on, request by request."""
        self._pick = pick

    def forget(self) -> None:
        """Empties the log, so that numbers and attempts start at 0 again."""
        self.requests.clear()
        self._bodies.clear()
        self.most_in_flight = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        assert self.base_url, "the server did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the server did not stop"

    def _run(self) -> None:
        try:
            # Also cancels what is left.
            asyncio.run(self._serve())
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        # A hanging request must not outlast its client, nor hold up the end of a test.
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.05, handler_cancellation=True
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, backlog=1_024).start()
            host, port = runner.addresses[0][:2]
            self.base_url = f"http://{host}:{port}/v1"
            self._ready.set()
            await self._over.wait()
        finally:
            await runner.cleanup()

    async def _models(self, request: web.Request) -> web.StreamResponse:
        if (refused := _refused(request)) is not None:
            return refused
        row = {"id": self.model, "object": "model", "created": 0, "owned_by": "tests"}
        return web.json_response({"object": "list", "data": [row]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if (refused := _refused(request)) is not None:
            return refused
        sent = await request.read()
        asked = Asked(
            number=len(self.requests),
            attempt=self._bodies[sent],
            body=msgspec.json.decode(sent),
            key=_key(request),
            at=time.monotonic(),
            web=request,
        )
        self.requests.append(asked)
        self._bodies[sent] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._pick(asked)(asked)
        finally:
            self.in_flight -= 1


def first(times: int, fault: Behaviour, then: Behaviour | None = None) -> Pick:
    """Fails the first ``times`` attempts at every request, then answers it.

    Attempts are told by the request's body, so this means the same however many are in flight.
    """
    good = then or _NORMAL
    return lambda asked: fault if asked.attempt < times else good


def after(count: int, fault: Behaviour, before: Behaviour | None = None) -> Pick:
    """Answers ``count`` requests, then fails all further ones."""
    good = before or _NORMAL
    return lambda asked: fault if asked.number >= count else good


_NORMAL = reply()


def _key(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _refused(request: web.Request) -> web.Response | None:
    if _key(request) == API_KEY:
        return None
    body = error_body(401, "Incorrect API key provided.", "invalid_api_key")
    return web.json_response(body, status=401)
