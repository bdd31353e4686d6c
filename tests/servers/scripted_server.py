"""An OpenAI-compatible server on loopback whose replies are set by the test.

It runs in a thread with its own event loop and logs the requests it receives. A ``Behaviour`` (see
``behaviours``) decides how it responds to a completion request. A test sets one behaviour for all
requests, a list of behaviours (one per request; the last one also for all further requests), or a
function that chooses a behaviour for each request.
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
from servers.behaviours import API_KEY, MODEL, Behaviour, ChatRequest, error_body, normal_reply

Script = Behaviour | Sequence[Behaviour]
BehaviourChooser = Callable[[ChatRequest], Behaviour]


class ScriptedServer:
    """The server, as a context manager that starts and stops it.

    Attributes:
        base_url: address of the API, ``/v1`` included.
        model: name of the model it lists.
        api_key: the key it accepts; any other gets 401.
        requests: the completion requests so far, in order of arrival.
        in_flight: number of requests that are being answered now.
        max_in_flight: maximum of ``in_flight`` so far.
    """

    model = MODEL
    api_key = API_KEY

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[ChatRequest] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self._body_counts: Counter[bytes] = Counter()
        self._choose_behaviour: BehaviourChooser = lambda request: _NORMAL_REPLY
        self._thread = threading.Thread(
            target=self._run_thread, name="scripted server", daemon=True
        )
        self._ready = threading.Event()

    def behave(self, script: Script) -> None:
        """Sets one behaviour for all further requests, or a list with one for each of them."""
        if callable(script):
            self._choose_behaviour = lambda request: script
            return
        behaviours, start = list(script), len(self.requests)
        self._choose_behaviour = lambda request: behaviours[
            min(request.number - start, len(behaviours) - 1)
        ]

    def behave_with(self, chooser: BehaviourChooser) -> None:
        """Sets a function that chooses the behaviour of each request from now on.

        ``behave`` sets the behaviours themselves.
        """
        self._choose_behaviour = chooser

    def clear_log(self) -> None:
        """Clears the log, so that numbers and attempts start at 0 again.

        Requests that a stopped client has already sent are logged first, so that they do not count
        as requests of the next client.
        """
        asyncio.run_coroutine_threadsafe(self._read_sent_requests(), self._loop).result(10)
        self.requests.clear()
        self._body_counts.clear()
        self.max_in_flight = 0

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
        self._loop.call_soon_threadsafe(self._stop_requested.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the server did not stop"

    def _run_thread(self) -> None:
        try:
            # asyncio.run also cancels requests that are still being answered.
            asyncio.run(self._serve_requests())
        finally:
            self._ready.set()

    async def _serve_requests(self) -> None:
        self._loop, self._stop_requested = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._complete_chat)
        app.router.add_get("/v1/models", self._list_models)
        # A hanging request must end with its client and must not delay the end of a test.
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.05, handler_cancellation=True
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, backlog=1_024).start()
            host, port = runner.addresses[0][:2]
            self.base_url = f"http://{host}:{port}/v1"
            self._ready.set()
            await self._stop_requested.wait()
        finally:
            await runner.cleanup()

    async def _read_sent_requests(self) -> None:
        # Each turn of the loop polls its sockets once. A request needs about five turns, from the
        # accepted connection to the handler.
        for _ in range(50):
            await asyncio.sleep(0)

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        if (refusal := _refuse_key(request)) is not None:
            return refusal
        row = {"id": self.model, "object": "model", "created": 0, "owned_by": "tests"}
        return web.json_response({"object": "list", "data": [row]})

    async def _complete_chat(self, request: web.Request) -> web.StreamResponse:
        if (refusal := _refuse_key(request)) is not None:
            return refusal
        sent_bytes = await request.read()
        chat_request = ChatRequest(
            number=len(self.requests),
            attempt=self._body_counts[sent_bytes],
            body=msgspec.json.decode(sent_bytes),
            key=_get_api_key(request),
            received_at=time.monotonic(),
            web=request,
        )
        self.requests.append(chat_request)
        self._body_counts[sent_bytes] += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            return await self._choose_behaviour(chat_request)(chat_request)
        finally:
            self.in_flight -= 1


def fail_first_attempts(
    attempts: int, fault: Behaviour, normal: Behaviour | None = None
) -> BehaviourChooser:
    """Makes the server fail the first ``attempts`` attempts at each request, then answer it.

    Requests with the same body count as attempts at one request, so the order of concurrent
    requests does not matter.
    """
    normal_reply_behaviour = normal or _NORMAL_REPLY
    return lambda request: fault if request.attempt < attempts else normal_reply_behaviour


_NORMAL_REPLY = normal_reply()


def _get_api_key(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _refuse_key(request: web.Request) -> web.Response | None:
    if _get_api_key(request) == API_KEY:
        return None
    body = error_body(401, "Incorrect API key provided.", "invalid_api_key")
    return web.json_response(body, status=401)
