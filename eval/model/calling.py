"""One request until it is answered: the cache, the attempts, the waits between them.

What several clients of one server share is here too: connection, cache, and what the server is
known not to do.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NoReturn

import msgspec

from eval.model.cache import ReplyCache, reply_key
from eval.model.calls import CallLog
from eval.model.connection import Connection
from eval.model.environment import Variables
from eval.model.failures import Failure, Kind, ReplyTooLargeError, judge
from eval.model.options import ClientOptions
from eval.model.providers import PROVIDERS, Endpoint
from eval.model.retrying import Attempts
from eval.model.wire import Received, ReportedError, UnreadableBodyError, read_body, read_chunks
from kg.base.errors import ModelAccessError, ModelCallError

UNREADABLE = "unreadable"
"""Finish reason of a reply that the server itself could not make sense of."""


class FeatureRefusedError(Exception):
    """The server does not do something it was asked for; ask without."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.what)


class Caller:
    """Sends requests to one server. Made by ``shared_caller``, closed by ``release``."""

    def __init__(self, endpoint: Endpoint, options: ClientOptions, variables: Variables) -> None:
        self.endpoint = endpoint
        self._options = options
        self._variables = variables
        self._connection = Connection(endpoint, options)
        self._cache = ReplyCache(options.cache) if options.cache is not None else None
        self._under_way: dict[bytes, asyncio.Future[None]] = {}
        self._jitter = random.Random(options.jitter_seed)  # noqa: S311 - spreads waits
        self._answered = False
        self._server = f"{endpoint.base_url} {endpoint.model}"
        self.refused = set() if self._cache is None else self._cache.refused(self._server)
        self.users = 0

    def note_refused(self, feature: str) -> None:
        """Remembers that the server does not do ``feature``."""
        self.refused.add(feature)
        if self._cache is not None:
            self._cache.note_refused(self._server, feature)

    async def fetch(
        self, body: bytes, *, log: CallLog, sample: int, max_tokens: int, streamed: bool = False
    ) -> tuple[Received, bool]:
        """The reply to one request, and whether it came from the cache.

        Args:
            body: the request as JSON.
            log: where retries are counted, and which says which repeat this is.
            sample: which of several samples of one answer.
            max_tokens: most tokens the reply may have.
            streamed: whether the body asks for a stream, which is read to its end.

        Raises:
            FeatureRefusedError: the server does not take the response format, or gives no
                log-probabilities.
            ModelAccessError: every call would fail.
            ModelCallError: this one failed for good.
        """
        if self._cache is None:
            return await self._send(body, log, max_tokens, streamed), False
        key = reply_key(self.endpoint.base_url, body, log.repeat, sample)
        # The same request may be under way already, from another system: one reply serves both,
        # or the rows would depend on which of two replies came first.
        while (earlier := self._under_way.get(key)) is not None:
            await asyncio.wait((earlier,))
        known = self._cache.get(key)
        if known is not None:
            return known, True
        done = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            received = await self._send(body, log, max_tokens, streamed)
            if _is_answer(received):
                received = self._cache.put(key, received)
        finally:
            del self._under_way[key]
            done.set_result(None)
        return received, False

    async def stream(
        self, body: bytes, *, log: CallLog, max_tokens: int
    ) -> AsyncGenerator[object, None]:
        """The chunks of a streamed reply; retried only until the first of them has come.

        Raises:
            ModelAccessError, ModelCallError: as ``fetch``.
        """
        begun = False
        attempts = self._attempts()
        while True:
            try:
                # Closed at once when the reader stops early, or its slot would stay taken.
                async with aclosing(self._connection.chat_stream(body, max_tokens)) as chunks:
                    async for chunk in chunks:
                        begun = self._answered = True
                        yield chunk
            except _failures() as error:
                failure = judge(error)
                if begun:
                    self._give_up(failure, error)
                await self._wait(attempts, failure, error, log)
            else:
                return

    async def models(self) -> list[str]:
        """Names of the models the server lists.

        Raises:
            ModelAccessError, ModelCallError: as ``fetch``.
        """
        attempts = self._attempts()
        while True:
            try:
                found = await self._connection.models()
            except _failures() as error:
                await self._wait(attempts, judge(error), error, CallLog())
            else:
                self._answered = True
                return [self._variables.hide(n) if self._holds_key(n) else n for n in found]

    async def aclose(self) -> None:
        """Closes connections and the cache."""
        await self._connection.aclose()
        if self._cache is not None:
            self._cache.close()

    async def _send(self, body: bytes, log: CallLog, max_tokens: int, streamed: bool) -> Received:
        attempts = self._attempts()
        while True:
            try:
                received, reserved = await self._attempt(body, max_tokens, streamed)
            except _failures() as error:
                failure = judge(error)
                if failure.kind is Kind.refused:
                    told = self._variables.hide(failure.what)
                    return Received("", "content_filter", told, latency_s=_seconds(error))
                if failure.kind is Kind.unreadable:
                    return Received("", UNREADABLE, latency_s=_seconds(error))
                await self._wait(attempts, failure, error, log)
                continue
            if received.prompt_tokens is not None:
                used = received.prompt_tokens + (received.completion_tokens or 0)
                self._connection.count(reserved, used)
            received = msgspec.structs.replace(
                received,
                at_s=round(time.time(), 3),
                retries=attempts.retries,
                timeouts=attempts.timeouts,
            )
            return self._without_key(received)

    async def _attempt(self, body: bytes, max_tokens: int, streamed: bool) -> tuple[Received, int]:
        """One attempt: what came, and the tokens reserved for it."""
        if streamed:
            chunks, whole, first, reserved = await self._connection.chat_streamed(body, max_tokens)
            self._answered = True
            return read_chunks(chunks, whole, first), reserved
        raw, latency_s, reserved = await self._connection.chat(body, max_tokens)
        self._answered = True
        return read_body(raw, latency_s), reserved

    def _without_key(self, received: Received) -> Received:
        """Keeps a key out of results and cache that a hostile or broken server says back."""
        texts = {
            "text": received.text,
            "refusal": received.refusal,
            "finish_reason": received.finish_reason,
            "served": received.served,
        }
        tokens = "".join(token for token, _ in received.logprobs or ())
        if not any(self._holds_key(text) for text in (*texts.values(), tokens)):
            return received
        # Without log-probabilities: their tokens spell the text that is hidden.
        hidden = {name: text and self._variables.hide(text) for name, text in texts.items()}
        return msgspec.structs.replace(received, logprobs=None, **hidden)

    def _holds_key(self, text: str | None) -> bool:
        key = self.endpoint.key
        return bool(key and text and key in text)

    def _attempts(self) -> Attempts:
        return Attempts(self._options, self._jitter)

    async def _wait(
        self, attempts: Attempts, failure: Failure, error: Exception, log: CallLog
    ) -> None:
        """Waits before the next attempt.

        Raises:
            FeatureRefusedError, ModelAccessError, ModelCallError: there is none.
        """
        log.timeouts += failure.timed_out
        attempts.timeouts += failure.timed_out
        wait = attempts.next_wait(failure, reached=self._answered)
        if wait is None:
            self._give_up(failure, error, attempts.retries)
        if wait.everyone:
            self._connection.pause(wait.everyone)
        log.retries += 1
        await asyncio.sleep(wait.seconds)

    def _give_up(self, failure: Failure, error: Exception, retries: int = 0) -> NoReturn:
        what = self._variables.hide(failure.what)
        where = f"{self.endpoint.name} at {self.endpoint.base_url}"
        if failure.kind in {Kind.format, Kind.logprobs}:
            raise FeatureRefusedError(Failure(failure.kind, what)) from error
        never_reached = failure.kind is Kind.unreached and not self._answered
        if failure.kind is Kind.access or never_reached:
            raise ModelAccessError(
                f"the model cannot be used: {what}",
                where=where,
                hint=self._advice(),
            ) from error
        tried = f" after {retries} retries" if retries else ""
        raise ModelCallError(f"a model call failed{tried}: {what}", where=where) from error

    def _advice(self) -> str:
        """What to do where the server cannot be used: the check must ask at the same address."""
        check = f"epoche test-connection --model {self.endpoint.name}"
        if self._options.base_url is not None:
            check = "epoche extract test-connection, with the same --config or --base-url"
        key = PROVIDERS[self.endpoint.provider].key_variable
        return f"Is the server running there, and does {key} hold its key? Check it with: {check}"


def _seconds(error: Exception) -> float:
    """How long the server took to say an error that counts as its reply.

    Else whatever breaks off most often would seem the fastest. 0 where nobody measured it: an
    error that comes in the body of a reply.
    """
    from openai import APIStatusError

    if not isinstance(error, APIStatusError):
        return 0.0
    return round(error.response.elapsed.total_seconds(), 6)


def _is_answer(received: Received) -> bool:
    """Whether a reply may be kept: not empty, not refused. Cut off by ``max_tokens`` is one."""
    refused = received.refusal is not None or received.finish_reason == "content_filter"
    return bool(received.text.strip()) and not refused


def _failures() -> tuple[type[Exception], ...]:
    """What an attempt may raise; all else is a bug and keeps its traceback."""
    import aiohttp
    import httpx2
    from openai import OpenAIError

    ours = (ReplyTooLargeError, ReportedError, UnreadableBodyError)
    return (*ours, OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError)


_callers: dict[tuple[Endpoint, ClientOptions], Caller] = {}


def shared_caller(endpoint: Endpoint, options: ClientOptions, variables: Variables) -> Caller:
    """The caller for these, one for all who ask; each must ``release`` it once."""
    key = (endpoint, options)
    if key not in _callers:
        _callers[key] = Caller(endpoint, options, variables)
    _callers[key].users += 1
    return _callers[key]


async def release(caller: Caller) -> None:
    """Gives a shared caller back; the last one closes it."""
    caller.users -= 1
    if not caller.users:
        for key in [key for key, value in _callers.items() if value is caller]:
            del _callers[key]
        await caller.aclose()
