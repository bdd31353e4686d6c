"""Warms up models with an unmeasured call each, because the first call makes a server load one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eval.model.calls import CallLog, record_calls
from kg.base.console import print_warning
from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from asyncio import Lock
    from collections.abc import Callable

    from eval.model.client import ClientOptions
    from eval.model.prices import Price

_PROMPT = "Reply with the word: ready"
_MAX_TOKENS = 8


class WarmUp:
    """Calls every model once, before the first measured call.

    Args:
        models: options of each model; they must have no cache, so that the server is called.
        on_calls: called with the log of the calls, to count their cost.
        price: price of the tokens; None means the one in the price tables.
    """

    def __init__(
        self,
        models: Sequence[ClientOptions],
        on_calls: Callable[[CallLog], None],
        price: Price | None = None,
    ) -> None:
        self._models = list(models)
        self._price = price
        self._on_calls = on_calls
        self._lock: Lock | None = None

    async def ensure_warm(self) -> None:
        """Warms up the models, or waits until another task has done so.

        Raises:
            ModelAccessError: a model cannot be used.
        """
        if not self._models:
            return
        if self._lock is None:
            import asyncio

            self._lock = asyncio.Lock()
        async with self._lock:
            while self._models:
                await self._warm_model(self._models[0])
                del self._models[:1]

    async def _warm_model(self, options: ClientOptions) -> None:
        from eval.model.client import ModelClient

        with record_calls() as log:
            try:
                async with ModelClient.open(
                    options, max_tokens=_MAX_TOKENS, logprobs=False, price=self._price
                ) as client:
                    await client.complete([{"role": "user", "content": _PROMPT}])
            except ModelCallError as error:
                # Not fatal: if the failure persists, the rows will be ERROR.
                print_warning(f"the warm-up call of the model failed: {error.what}")
            finally:
                self._on_calls(log)
