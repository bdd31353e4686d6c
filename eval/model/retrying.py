"""Whether and when a failed attempt is made again: exponential back-off with jitter."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from random import Random
from typing import NamedTuple

from eval.model.failures import Failure, Kind
from eval.model.options import ClientOptions

_UNREACHED_RETRIES = 4
"""Retries while nobody has ever answered at an address: a server may be starting, or not exist."""


class Wait(NamedTuple):
    """A wait before the next attempt.

    Attributes:
        seconds: how long this call waits.
        everyone: how long no other call may start either, because the server asked for it.
    """

    seconds: float
    everyone: float = 0.0


class Attempts:
    """The attempts of one call.

    Args:
        options: how patient it is.
        jitter: spreads the waits.

    Attributes:
        retries: attempts after the first that were granted so far.
        timeouts: attempts so far that were not complete in time; the caller counts them.
    """

    def __init__(self, options: ClientOptions, jitter: Random) -> None:
        self._options = options
        self._jitter = jitter
        self._start = time.monotonic()
        self.retries = 0
        self.timeouts = 0

    def next_wait(self, failure: Failure, *, reached: bool) -> Wait | None:
        """How long to wait after ``failure``; null when there is no further attempt.

        Args:
            failure: what became of the attempt.
            reached: whether the server has ever answered.
        """
        options = self._options
        most = options.max_retries
        if failure.kind is Kind.unreached and not reached:
            most = min(most, _UNREACHED_RETRIES)
        passing = failure.kind in {Kind.again, Kind.unreached}
        late = time.monotonic() - self._start >= options.deadline_s
        if not passing or late or self.retries >= most:
            return None
        # Spread over the upper half: enough to part callers that failed together.
        longest = min(options.backoff_s * 2.0 ** min(self.retries, 60), options.longest_wait_s)
        seconds = longest * self._jitter.uniform(0.5, 1.0)
        self.retries += 1
        asked = retry_after_seconds(failure.retry_after, time.time())
        if asked is None:
            return Wait(seconds)
        asked = min(asked, options.longest_wait_s)
        return Wait(asked + min(seconds, options.backoff_s) * self._jitter.random(), asked)


def retry_after_seconds(header: str | None, now: float) -> float | None:
    """Seconds a ``Retry-After`` header asks to wait; null when it is absent or says nothing.

    Args:
        header: seconds, or an HTTP date (RFC 9110, section 10.2.3).
        now: the present in Unix time.
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
    # A date gone by means now; "nan" and "inf" mean nothing.
    return max(seconds, 0.0) if abs(seconds) < float("inf") else None
