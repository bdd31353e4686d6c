"""Limits how fast requests start: requests per minute, tokens per minute, and pauses.

The limits are smooth: at most one second's worth of requests starts at once, so that servers with
limits per second accept them too. They belong to one event loop.
"""

from __future__ import annotations

import asyncio
import time

from eval.model.options import ClientOptions

_CHARS_PER_TOKEN = 4
"""A rule of thumb for English, used until the server's own count corrects it."""


class RateLimits:
    """The rate limits of one server, shared by all calls in one event loop."""

    def __init__(self, options: ClientOptions) -> None:
        from aiolimiter import AsyncLimiter

        self._requests: AsyncLimiter | None = None
        self._tokens: AsyncLimiter | None = None
        if rpm := options.requests_per_minute:
            # The requests of one second may start at once, but at least one.
            burst = max(1.0, rpm / 60)
            self._requests = AsyncLimiter(burst, burst * 60 / rpm)
        if tpm := options.tokens_per_minute:
            # The tokens of ten seconds may be used at once, since a single request may need more
            # than the tokens of one second.
            self._tokens = AsyncLimiter(tpm / 6, 10)
        # Tokens used but not yet acquired from the limiter; negative if too many were acquired.
        self._token_debt = 0.0
        self._paused_until = 0.0
        self._turn = asyncio.Lock()

    async def wait_for_turn(self, request_bytes: int, max_tokens: int) -> int:
        """Waits until one more request may start.

        Args:
            request_bytes: length of the request.
            max_tokens: maximum number of tokens of the reply.

        Returns:
            The tokens reserved for the request, to be corrected with ``correct_reservation``.
        """
        # One call at a time waits for the limits and the others behind it, so that after a pause
        # no more calls start at once than the limits allow.
        async with self._turn:
            if self._requests is not None:
                await self._requests.acquire()
            reserved = await self._reserve_tokens(request_bytes, max_tokens)
            # Last, since a pause may have been requested while waiting for the limits.
            while (pause := self._paused_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
        return reserved

    async def _reserve_tokens(self, request_bytes: int, max_tokens: int) -> int:
        if self._tokens is None:
            return 0
        reserved = request_bytes // _CHARS_PER_TOKEN + max_tokens
        # The request is charged for the debt too. The limiter cannot grant more than its capacity
        # at once, so what exceeds the capacity remains as debt.
        charged_tokens = min(max(reserved + self._token_debt, 0.0), self._tokens.max_rate)
        self._token_debt += reserved - charged_tokens
        if charged_tokens:
            await self._tokens.acquire(charged_tokens)
        return reserved

    def correct_reservation(self, reserved_tokens: int, used_tokens: int) -> None:
        """Replaces a reservation by the number of tokens that the server counted."""
        self._token_debt += used_tokens - reserved_tokens

    def pause_requests(self, seconds: float) -> None:
        """Starts no request for the given time, because the server asked all calls to wait."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)
