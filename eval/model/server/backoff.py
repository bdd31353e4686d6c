"""Decides whether and when a failed attempt is retried: exponential back-off with jitter."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from random import Random
from typing import NamedTuple

from eval.model.options import ClientOptions
from eval.model.server.failures import Failure, FailureKind

_MAX_UNREACHED_RETRIES = 4
"""Maximum number of retries while an address has never answered.

The server may be starting, or the address may be wrong.
"""


class RetryWait(NamedTuple):
    """A wait before the next attempt.

    Attributes:
        seconds: duration of the wait of this call.
        pause_all_s: seconds during which no other call may start either, because the server
            requested a pause; 0 for none.
    """

    seconds: float
    pause_all_s: float = 0.0


class Attempts:
    """The attempts of one call.

    Args:
        options: retries, back-off and deadline.
        jitter: random generator that varies the waits.

    Attributes:
        retries: number of retries so far.
        timeouts: number of attempts so far that timed out; counted by the caller.
    """

    def __init__(self, options: ClientOptions, jitter: Random) -> None:
        self._options = options
        self._jitter = jitter
        self._start = time.monotonic()
        self.retries = 0
        self.timeouts = 0

    def note_sending(self) -> None:
        """Starts the clock when the first attempt is sent, after all waits for its turn."""
        if not self.retries:
            self._start = time.monotonic()

    def compute_wait(self, failure: Failure, *, has_answered: bool) -> RetryWait | None:
        """Returns how long to wait after ``failure``, or None if there is no further attempt.

        Args:
            failure: the failure of the last attempt.
            has_answered: whether the server has ever answered.
        """
        options = self._options
        max_retries = options.max_retries
        if failure.kind is FailureKind.unreached and not has_answered:
            max_retries = min(max_retries, _MAX_UNREACHED_RETRIES)
        temporary = failure.kind in {FailureKind.temporary, FailureKind.unreached}
        is_late = time.monotonic() - self._start >= options.deadline_s
        if not temporary or is_late or self.retries >= max_retries:
            return None
        # The exponent is capped so that 2.0 ** retries cannot overflow.
        max_seconds = min(options.backoff_s * 2.0 ** min(self.retries, 60), options.max_wait_s)
        # Jitter over the upper half separates calls that failed at the same time.
        seconds = max_seconds * self._jitter.uniform(0.5, 1.0)
        self.retries += 1
        requested_s = parse_retry_after(failure.retry_after, time.time())
        if requested_s is None:
            return RetryWait(seconds)
        requested_s = min(requested_s, options.max_wait_s)
        jitter = min(seconds, options.backoff_s) * self._jitter.random()
        return RetryWait(requested_s + jitter, requested_s)


def parse_retry_after(header: str | None, now: float) -> float | None:
    """Parses a ``Retry-After`` header to seconds; None if it is absent or malformed.

    Args:
        header: seconds, or an HTTP date (RFC 9110, section 10.2.3).
        now: the current Unix time.
    """
    if header is None:
        return None
    text = header.strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, OverflowError, OSError):
            return None
    # A date in the past means now; "nan" and "inf" are malformed.
    return max(seconds, 0.0) if abs(seconds) < float("inf") else None
