"""Asks a model for many typed replies at once: what all steps of a build that call a model share.

A call that failed for good and a reply that cannot be read are counted, never taken for "nothing
found"; what concerns every call (a refused key, no such model) ends the build.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.calls import CallLog
    from eval.model.completion import Message
    from eval.model.options import ClientOptions

T = TypeVar("T")


class BatchAsker(Generic[T]):
    """One model and the one form of reply it is asked for.

    Args:
        options: which model, and how it is called.
        reply: a msgspec struct.
        max_tokens: most tokens of a reply.

    Raises:
        EpocheError: as ``ModelClient.open``; a missing key is found out before any work.
    """

    def __init__(self, options: ClientOptions, reply: type[T], max_tokens: int) -> None:
        self._options = options
        self._reply = reply
        self._max_tokens = max_tokens
        self._params = asyncio.run(self._described())

    def params(self) -> dict[str, Any]:
        """Everything about the model that decides its replies; no secret."""
        return dict(self._params)

    def ask(
        self,
        prompts: Sequence[list[Message]],
        on_reply: Callable[[int, T | None], None],
    ) -> CallLog:
        """Asks all of them, ``options.concurrency`` at once.

        Args:
            prompts: the conversations.
            on_reply: is told the number of each prompt and its reply as soon as it is there; None
                where the call failed for good or the reply could not be read.

        Returns:
            What the calls came to.

        Raises:
            ModelAccessError: no call can succeed.
        """
        return asyncio.run(self._ask(prompts, on_reply))

    def _open(self) -> ModelClient:
        from eval.llm import ModelClient

        return ModelClient.open(self._options, max_tokens=self._max_tokens, logprobs=False)

    async def _described(self) -> dict[str, Any]:
        async with self._open() as client:
            return client.params()

    async def _ask(
        self, prompts: Sequence[list[Message]], on_reply: Callable[[int, T | None], None]
    ) -> CallLog:
        from eval.model.calls import recording

        waiting = iter(enumerate(prompts))

        async def work(client: ModelClient) -> None:
            for number, prompt in waiting:
                try:
                    value = (await client.ask(prompt, self._reply)).value
                except ModelCallError:
                    value = None
                on_reply(number, value)

        with recording() as log:
            async with self._open() as client:
                try:
                    async with asyncio.TaskGroup() as group:
                        for _ in range(min(self._options.concurrency, len(prompts))):
                            group.create_task(work(client))
                except BaseExceptionGroup as errors:
                    # One is as good as another: each concerns every call.
                    raise errors.exceptions[0] from None
        return log
