"""Gets the reply to a request from the cache or the server, with retries and waits between them.

Several clients of one server share a caller, and with it the connection, the cache and the set of
features that the server refuses.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NoReturn

import msgspec

from eval.model.cache import reply_key
from eval.model.calls import CallLog
from eval.model.environment import Variables
from eval.model.options import ClientOptions
from eval.model.providers import PROVIDERS, RECORDED, Endpoint
from eval.model.recorded_replies import RecordingCache, open_cache
from eval.model.server.backoff import Attempts
from eval.model.server.connection import Connection
from eval.model.server.failures import Failure, FailureKind, ReplyTooLargeError, classify_error
from eval.model.wire import (
    ReceivedReply,
    ReportedError,
    UnreadableBodyError,
    read_body,
    read_chunks,
)
from kg.base.errors import ModelAccessError, ModelCallError

UNREADABLE_FINISH_REASON = "unreadable"
"""Finish reason if a server reports that it could not parse its own model's reply."""


class FeatureRefusedError(Exception):
    """The server refuses a requested feature; the request can be sent without it."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.what)


class Caller:
    """Sends requests to one server.

    Create it with ``get_shared_caller``, and close it with ``release_caller``.
    """

    def __init__(self, endpoint: Endpoint, options: ClientOptions, variables: Variables) -> None:
        self.endpoint = endpoint
        self._options = options
        self._variables = variables
        self._connection = Connection(endpoint, options)
        self._cache = open_cache(options.cache, endpoint, variables)
        self._pending: dict[bytes, asyncio.Future[None]] = {}
        self._jitter = random.Random(options.jitter_seed)  # noqa: S311 - spreads waits
        self._has_answered = False
        self._server = f"{endpoint.base_url} {endpoint.model}"
        self.refused_features = (
            set() if self._cache is None else self._cache.read_refused_features(self._server)
        )
        self.user_count = 0

    def params(self) -> dict[str, str]:
        """Returns the address, and for a recorded model the hash of its weights."""
        weights = None if self._cache is None else self._cache.weights_sha256
        known = {} if weights is None else {"weights_sha256": weights}
        return {"endpoint": self.endpoint.base_url, **known}

    def add_refused_feature(self, feature: str) -> None:
        """Remembers that the server refuses ``feature``."""
        self.refused_features.add(feature)
        if self._cache is not None:
            self._cache.add_refused_feature(self._server, feature)

    async def fetch_reply(
        self, body: bytes, *, log: CallLog, sample: int, max_tokens: int, streamed: bool = False
    ) -> tuple[ReceivedReply, bool]:
        """Returns the reply to one request, and whether it came from the cache.

        Args:
            body: the request as JSON.
            log: counts retries and timeouts; its ``repeat`` is part of the cache key.
            sample: index of the sample, if a system samples several replies for one answer.
            max_tokens: maximum number of tokens of the reply.
            streamed: whether the body requests a stream, which is read to its end.

        Raises:
            FeatureRefusedError: the server refuses the response format or log-probabilities.
            ModelAccessError: every call would fail, or this call failed during a recording.
            ModelCallError: this call failed and will not be retried.
        """
        if self._cache is None:
            return await self._send_request(body, log, max_tokens, streamed), False
        key = reply_key(self.endpoint.base_url, body, log.repeat, sample)
        if isinstance(self._cache, RecordingCache):
            self._cache.note_sampling(body)
        # Another system may have sent the same request already. Both must get the same reply, or
        # the rows would depend on which of two replies arrived first.
        while (pending := self._pending.get(key)) is not None:
            await asyncio.wait((pending,))
        cached = self._cache.get(key)
        if cached is not None:
            return cached, True
        finished = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            received = await self._send_request(body, log, max_tokens, streamed)
            if self._cache.keeps_every_reply or _is_cacheable(received):
                received = self._cache.store_reply(key, received)
        except ModelCallError as error:
            if self._cache.keeps_every_reply:  # a run with a failed call cannot be replayed
                raise ModelAccessError(
                    f"a reply cannot be recorded: {error}", where=self.endpoint.base_url
                ) from error
            raise
        finally:
            del self._pending[key]
            finished.set_result(None)
        return received, False

    async def stream_chunks(
        self, body: bytes, *, log: CallLog, max_tokens: int
    ) -> AsyncGenerator[object, None]:
        """Yields the chunks of a streamed reply; retries only before the first chunk.

        Raises:
            ModelAccessError, ModelCallError: as ``fetch_reply``.
        """
        # After the first chunk a retry would repeat text that the caller has already used.
        has_chunks = False
        attempts = self._start_attempts()
        while True:
            try:
                # aclosing frees the concurrency slot at once when the reader stops early.
                stream = self._connection.stream_chat(body, max_tokens, attempts.note_sending)
                async with aclosing(stream) as chunks:
                    async for chunk in chunks:
                        has_chunks = self._has_answered = True
                        yield chunk
            except _get_expected_errors() as error:
                failure = classify_error(error)
                if has_chunks:
                    self._raise_failure(failure, error)
                await self._wait_or_raise(attempts, failure, error, log)
            else:
                return

    async def list_models(self) -> list[str]:
        """Returns the names of the models the server lists.

        Raises:
            ModelAccessError, ModelCallError: as ``fetch_reply``.
        """
        attempts = self._start_attempts()
        while True:
            try:
                names = await self._connection.list_models(attempts.note_sending)
            except _get_expected_errors() as error:
                await self._wait_or_raise(attempts, classify_error(error), error, CallLog())
            else:
                self._has_answered = True
                return [
                    self._variables.redact_text(name) if self._contains_api_key(name) else name
                    for name in names
                ]

    async def aclose(self) -> None:
        """Closes connections and the cache."""
        await self._connection.aclose()
        if self._cache is not None:
            self._cache.close()

    async def close_sockets(self) -> None:
        """Closes the sockets of the running event loop; a later request opens new ones."""
        await self._connection.aclose()

    async def _send_request(
        self, body: bytes, log: CallLog, max_tokens: int, streamed: bool
    ) -> ReceivedReply:
        attempts = self._start_attempts()
        while True:
            try:
                received, reserved_tokens = await self._try_request(
                    body, max_tokens, streamed, attempts
                )
            except _get_expected_errors() as error:
                failure = classify_error(error)
                if failure.kind is FailureKind.filtered:
                    refusal = self._variables.redact_text(failure.what)
                    return ReceivedReply(
                        "", "content_filter", refusal, latency_s=_get_elapsed_seconds(error)
                    )
                if failure.kind is FailureKind.unreadable:
                    return ReceivedReply(
                        "", UNREADABLE_FINISH_REASON, latency_s=_get_elapsed_seconds(error)
                    )
                await self._wait_or_raise(attempts, failure, error, log)
                continue
            if received.prompt_tokens is not None:
                used_tokens = received.prompt_tokens + (received.completion_tokens or 0)
                self._connection.correct_reservation(reserved_tokens, used_tokens)
            received = msgspec.structs.replace(
                received,
                at_s=round(time.time(), 3),
                retries=attempts.retries,
                timeouts=attempts.timeouts,
            )
            return self._redact_api_key(received)

    async def _try_request(
        self, body: bytes, max_tokens: int, streamed: bool, attempts: Attempts
    ) -> tuple[ReceivedReply, int]:
        """Makes one attempt; returns the reply and the number of tokens reserved for it.

        The reservation counts against the rate limit until the reply's real usage is known.
        """
        if streamed:
            chunks, seconds, first_text_s, reserved = await self._connection.request_streamed_chat(
                body, max_tokens, attempts.note_sending
            )
            self._has_answered = True
            return read_chunks(chunks, seconds, first_text_s), reserved
        raw, latency_s, reserved = await self._connection.request_chat(
            body, max_tokens, attempts.note_sending
        )
        self._has_answered = True
        return read_body(raw, latency_s), reserved

    def _redact_api_key(self, received: ReceivedReply) -> ReceivedReply:
        """Removes the API key from a reply, in case a hostile or broken server repeats it."""
        texts = {
            "text": received.text,
            "refusal": received.refusal,
            "finish_reason": received.finish_reason,
            "served": received.served,  # the model's name as the server reports it
        }
        tokens = "".join(token for token, _ in received.logprobs or ())
        if not any(self._contains_api_key(text) for text in (*texts.values(), tokens)):
            return received
        # Log-probabilities are dropped, because their tokens spell out the hidden text.
        redacted = {
            name: text and self._variables.redact_text(text) for name, text in texts.items()
        }
        return msgspec.structs.replace(received, logprobs=None, **redacted)

    def _contains_api_key(self, text: str | None) -> bool:
        key = self.endpoint.key
        return bool(key and text and key in text)

    def _start_attempts(self) -> Attempts:
        return Attempts(self._options, self._jitter)

    async def _wait_or_raise(
        self, attempts: Attempts, failure: Failure, error: Exception, log: CallLog
    ) -> None:
        """Waits before the next attempt.

        Raises:
            FeatureRefusedError, ModelAccessError, ModelCallError: there is no next attempt.
        """
        log.timeouts += failure.timed_out
        attempts.timeouts += failure.timed_out
        wait = attempts.compute_wait(failure, has_answered=self._has_answered)
        if wait is None:
            self._raise_failure(failure, error, attempts.retries)
        if wait.pause_all_s:
            self._connection.pause_requests(wait.pause_all_s)
        log.retries += 1
        await asyncio.sleep(wait.seconds)

    def _raise_failure(self, failure: Failure, error: Exception, retries: int = 0) -> NoReturn:
        what = self._variables.redact_text(failure.what)
        where = f"{self.endpoint.name} at {self.endpoint.base_url}"
        if failure.kind in {FailureKind.format, FailureKind.logprobs}:
            raise FeatureRefusedError(Failure(failure.kind, what)) from error
        never_reached = failure.kind is FailureKind.unreached and not self._has_answered
        if failure.kind is FailureKind.access or never_reached:
            raise ModelAccessError(
                f"the model cannot be used: {what}",
                where=where,
                hint=self._build_access_hint(),
            ) from error
        retry_note = f" after {retries} retries" if retries else ""
        raise ModelCallError(f"a model call failed{retry_note}: {what}", where=where) from error

    def _build_access_hint(self) -> str:
        """Returns what to check if the model cannot be used, with the command that tests it."""
        if self.endpoint.provider == RECORDED:
            return "A recorded model answers only what was recorded."
        command = f"epoche test-connection --model {self.endpoint.name}"
        if self._options.base_url is not None:
            command = "epoche extract test-connection, with the same --config or --base-url"
        key_variable = PROVIDERS[self.endpoint.provider].key_variable
        question = f"Is the server running there, and is {key_variable} set to its key?"
        return f"{question} Check it with: {command}"


def _get_elapsed_seconds(error: Exception) -> float:
    """Returns the seconds that the server took to send an error that counts as its reply.

    If these seconds were not counted, a server that fails often would seem fast.

    Returns:
        The seconds; 0 for an error in the body of a reply, whose time was not measured.
    """
    from openai import APIStatusError

    if not isinstance(error, APIStatusError):
        return 0.0
    return round(error.response.elapsed.total_seconds(), 6)


def _is_cacheable(received: ReceivedReply) -> bool:
    """Returns whether a reply may be cached: it is not empty and not refused.

    A reply that was cut off by ``max_tokens`` may be cached.
    """
    is_refused = received.refusal is not None or received.finish_reason == "content_filter"
    return bool(received.text.strip()) and not is_refused


def _get_expected_errors() -> tuple[type[Exception], ...]:
    """Returns the exceptions that an attempt may raise; any other is a bug and is not caught."""
    import aiohttp
    import httpx2
    from openai import OpenAIError

    own_errors = (ReplyTooLargeError, ReportedError, UnreadableBodyError)
    return (*own_errors, OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError)


_callers: dict[tuple[Endpoint, ClientOptions], Caller] = {}


def get_shared_caller(endpoint: Endpoint, options: ClientOptions, variables: Variables) -> Caller:
    """Returns the caller for these arguments, created on first use.

    Every user must release it once with ``release_caller``.
    """
    key = (endpoint, options)
    if key not in _callers:
        _callers[key] = Caller(endpoint, options, variables)
    _callers[key].user_count += 1
    return _callers[key]


async def close_sockets() -> None:
    """Closes the sockets of all callers at the end of an event loop; the callers stay usable.

    A client that is used in two event loops, one after the other, cannot close the sockets of the
    first loop in the second one.
    """
    for caller in list(_callers.values()):
        await caller.close_sockets()


async def release_caller(caller: Caller) -> None:
    """Releases a shared caller, and closes it if it has no other users."""
    caller.user_count -= 1
    if not caller.user_count:
        for key in [key for key, value in _callers.items() if value is caller]:
            del _callers[key]
        await caller.aclose()
