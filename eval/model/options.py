"""The options for calling models: model, limits, retries and cache, but not sampling."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import msgspec

from kg.base.errors import SettingError, WriteError

CACHE_NAME = "responses.sqlite"
"""Name of the default cache file, in the folder of a command's output."""


class ClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The model to call, rate limits, timeouts, retries, cache and prices.

    Parameters that decide answers (temperature, length, seed, structured output) are not part of
    the options: they belong to the system, which passes them to ``ModelClient.open``. Clients with
    equal options share one connection pool, one rate limit and one cache.

    Attributes:
        base_url: address of the server, named in a configuration file; None means that of the
            provider, from the environment or ``.env``.
        model: ``provider/model``; None means ``EPOCHE_MODEL`` from the environment or ``.env``.
        concurrency: maximum number of requests in flight, and of open connections.
        requests_per_minute: maximum number of requests per minute; None for no limit.
        tokens_per_minute: maximum number of tokens per minute, prompt and reply together; None for
            no limit.
        timeout_s: seconds that one attempt may take, from sending to the last byte of the reply.
        max_retries: maximum number of retries, for failures that may be temporary.
        cache: SQLite file of replies; None for no cache.
        prices: JSON file of prices, which take precedence over the shipped ones.
        backoff_s: seconds before the first retry; doubled for each further retry, with jitter.
        max_wait_s: maximum wait between two attempts, even if the server asks for more.
        deadline_s: a call is not tried again this many seconds after its first attempt was sent.
        jitter_seed: makes the waits reproducible, for tests; None for random waits.
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
    max_wait_s: float = 60.0
    deadline_s: float = 900.0
    jitter_seed: int | None = None

    @classmethod
    def from_flags(
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
        outputs: Iterable[Path],
    ) -> ClientOptions:
        """Creates the options from the flags of commands with a model (``kg.base.options``).

        Args:
            model: ``--model``.
            concurrency: ``--concurrency``.
            rpm: ``--rpm``, requests per minute.
            tpm: ``--tpm``, tokens per minute.
            timeout: ``--timeout``, seconds.
            retries: ``--retries``.
            cache: ``--cache``, file of replies; by default in the folder of ``out``.
            no_cache: ``--no-cache``.
            prices: ``--prices``.
            out: the command's output.
            outputs: files that the command writes, which the cache must not overwrite.

        Raises:
            WriteError: the cache is a file that the command writes.
            SettingError: a limit is not a finite number.
        """
        cache_file = None if no_cache else cache or out.parent / CACHE_NAME
        if cache_file is not None and cache_file.resolve() in {path.resolve() for path in outputs}:
            raise WriteError(
                "the cache would overwrite a file that the command writes",
                where=str(cache_file),
                hint="Choose another --cache.",
            )
        return cls(
            model=model,
            concurrency=concurrency,
            requests_per_minute=rpm,
            tokens_per_minute=tpm,
            timeout_s=timeout,
            max_retries=retries,
            cache=cache_file,
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
