"""One call that is not measured, before those that are: a server loads its model on the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eval.model.calls import CallLog, recording
from kg.base.console import warn
from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from asyncio import Lock
    from collections.abc import Callable

    from eval.llm import ClientOptions
    from eval.model.prices import Price

_ASKED = "Reply with the word: ready"
_MAX_TOKENS = 8


class WarmUp:
    """Calls every model once, as soon as somebody is about to measure one.

    Args:
        models: how each is called; without a cache, which would keep the server asleep.
        called: is given the calls made, for what they cost.
        price: of their tokens; null means that of the price tables.
    """

    def __init__(
        self,
        models: Sequence[ClientOptions],
        called: Callable[[CallLog], None],
        price: Price | None = None,
    ) -> None:
        self._models = list(models)
        self._price = price
        self._called = called
        self._lock: Lock | None = None

    async def done(self) -> None:
        """Returns when the models are warm, whoever warms them.

        Raises:
            ModelAccessError: one cannot be used at all.
        """
        if not self._models:
            return
        if self._lock is None:
            import asyncio

            self._lock = asyncio.Lock()
        async with self._lock:
            while self._models:
                await self._warm(self._models[0])
                del self._models[:1]

    async def _warm(self, options: ClientOptions) -> None:
        from eval.llm import ModelClient

        with recording() as log:
            try:
                async with ModelClient.open(
                    options, max_tokens=_MAX_TOKENS, logprobs=False, price=self._price
                ) as client:
                    await client.complete([{"role": "user", "content": _ASKED}])
            except ModelCallError as error:  # the rows will tell, if it goes on like this
                warn(f"the call that warms the model up failed: {error.what}")
            finally:
                self._called(log)
