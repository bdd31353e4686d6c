"""How fast requests may start: so many a minute, so many tokens a minute, none while told to wait.

The limits are smooth: at most one second's worth of requests starts at once, so that a server that
counts by the second is content too. They belong to one event loop.
"""

from __future__ import annotations

import asyncio
import time

from eval.model.options import ClientOptions

_CHARS_PER_TOKEN = 4
"""A rule of thumb for English, used until the server's own count corrects it."""


class RateLimits:
    """The limits of one server, shared by all who call it in one event loop."""

    def __init__(self, options: ClientOptions) -> None:
        from aiolimiter import AsyncLimiter

        self._requests: AsyncLimiter | None = None
        self._tokens: AsyncLimiter | None = None
        if rpm := options.requests_per_minute:
            burst = max(1.0, rpm / 60)
            self._requests = AsyncLimiter(burst, burst * 60 / rpm)
        if tpm := options.tokens_per_minute:
            # Ten seconds' worth, since one request may need more than a second's.
            self._tokens = AsyncLimiter(tpm / 6, 10)
        self._debt = 0.0
        self._not_before = 0.0

    async def wait(self, request_bytes: int, max_tokens: int) -> int:
        """Waits until one more request may start.

        Args:
            request_bytes: length of the request.
            max_tokens: most tokens the reply may have.

        Returns:
            The tokens reserved for it; hand them to ``correct`` with the real count.
        """
        while (pause := self._not_before - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is None:
            return 0
        reserved = request_bytes // _CHARS_PER_TOKEN + max_tokens
        # What earlier requests used beyond their reservation, or left of it, counts here.
        amount = min(max(reserved + self._debt, 0.0), self._tokens.max_rate)
        self._debt += reserved - amount
        if amount:
            await self._tokens.acquire(amount)
        return reserved

    def correct(self, reserved: int, used: int) -> None:
        """Corrects a reservation by what the server counted."""
        self._debt += used - reserved

    def pause(self, seconds: float) -> None:
        """Starts nothing for so long: the server asked for it, and it asked of everyone."""
        self._not_before = max(self._not_before, time.monotonic() + seconds)
