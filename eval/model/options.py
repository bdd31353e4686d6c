"""How models are called: what steers the calls, and nothing that decides what they answer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import msgspec

from kg.base.errors import SettingError, WriteError

CACHE_NAME = "responses.sqlite"
"""The cache beside a command's output."""


class ClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which model, how fast, how patiently, and where replies are kept.

    What decides answers (temperature, length, seed, structured output) is no part of this: it
    belongs to the system that asks, and is handed to ``ModelClient.open``. Clients with equal
    options share one connection pool, one rate limit and one cache.

    Attributes:
        base_url: address of the server, named in a configuration file; null means the provider's,
            from the environment or ``.env``.
        model: ``provider/model``; null means ``EPOCHE_MODEL`` from the environment or ``.env``.
        concurrency: most requests in flight at once, and connections kept open.
        requests_per_minute: most requests started a minute; null means no limit.
        tokens_per_minute: most tokens a minute, prompt and reply together; null means no limit.
        timeout_s: seconds one attempt may take, from sending it to the last byte of the reply.
        max_retries: attempts after the first, for failures that may pass.
        cache: SQLite file of replies; null means that none is kept.
        prices: JSON file of prices that go before the shipped ones.
        backoff_s: seconds before the first retry, doubled from one to the next, with jitter.
        longest_wait_s: no wait between two attempts is longer, whatever the server asks for.
        deadline_s: no retry begins later than so many seconds after the first attempt.
        jitter_seed: makes the waits reproducible, for tests; null means that they are not.
    """

    model: str | None = None
    base_url: str | None = None
    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout_s: float = 60.0
    max_retries: int = 8
    cache: Path | None = None
    prices: Path | None = None
    backoff_s: float = 0.5
    longest_wait_s: float = 60.0
    deadline_s: float = 900.0
    jitter_seed: int | None = None

    @classmethod
    def of_flags(
        cls,
        *,
        model: str | None,
        concurrency: int,
        rpm: float | None,
        tpm: float | None,
        timeout: float,
        retries: int,
        cache: Path | None,
        no_cache: bool,
        prices: Path | None,
        out: Path,
        written: Iterable[Path],
    ) -> ClientOptions:
        """What the flags that commands with a model share come to (``kg.base.options``).

        Args:
            model: ``--model``.
            concurrency: ``--concurrency``.
            rpm: ``--rpm``, requests a minute.
            tpm: ``--tpm``, tokens a minute.
            timeout: ``--timeout``, seconds.
            retries: ``--retries``.
            prices: ``--prices``.
            cache: where replies are kept; by default beside ``out``.
            no_cache: keep none.
            out: the command's output.
            written: files the command writes, which the cache must not be.

        Raises:
            WriteError: the cache would stand in the place of one of them.
            SettingError: a limit is no finite number.
        """
        replies = None if no_cache else cache or out.parent / CACHE_NAME
        if replies is not None and replies.resolve() in {path.resolve() for path in written}:
            raise WriteError(
                "the cache would take the place of what is written",
                where=str(replies),
                hint="Choose another --cache.",
            )
        return cls(
            model=model,
            concurrency=concurrency,
            requests_per_minute=rpm,
            tokens_per_minute=tpm,
            timeout_s=timeout,
            max_retries=retries,
            cache=replies,
            prices=prices,
        )

    def __post_init__(self) -> None:
        for flag, value in (
            ("--timeout", self.timeout_s),
            ("--rpm", self.requests_per_minute),
            ("--tpm", self.tokens_per_minute),
        ):
            if value is not None and not math.isfinite(value):
                raise SettingError("the limit is not a finite number", where=flag)
