"""Sends many prompts to a model concurrently and parses the replies to a given type.

All build steps that call a model use it. A call that failed after all retries, or an invalid reply,
is reported as None, so that it can be counted and is not mistaken for an empty result. An error
that affects every call (such as a refused key or an unknown model) aborts the build.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from eval.model.calls import CallLog
    from eval.model.client import ModelClient
    from eval.model.completion import Message
    from eval.model.options import ClientOptions

T = TypeVar("T")


class BatchClient(Generic[T]):
    """Sends prompts to one model and parses the replies to one type.

    Args:
        options: the model and how it is called.
        reply_type: the type that replies are parsed to, a msgspec struct.
        max_tokens: maximum number of tokens of a reply.

    Raises:
        EpocheError: as ``ModelClient.open``. The client is opened once here, so that a missing key
            is detected before the build starts.
    """

    def __init__(self, options: ClientOptions, reply_type: type[T], max_tokens: int) -> None:
        self._options = options
        self._reply_type = reply_type
        self._max_tokens = max_tokens
        self._params = asyncio.run(self._fetch_params())

    def params(self) -> dict[str, Any]:
        """Returns every parameter of the model that affects its replies, without secrets."""
        return dict(self._params)

    def send_prompts(
        self,
        prompts: Sequence[list[Message]],
        on_reply: Callable[[int, T | None], None],
    ) -> CallLog:
        """Sends all prompts, ``options.concurrency`` at once.

        Args:
            prompts: the conversations.
            on_reply: called with the index of each prompt and its parsed reply as soon as it
                arrives; None instead of a reply that is invalid or whose call failed after all
                retries.

        Returns:
            A log of the calls.

        Raises:
            ModelAccessError: no call can succeed, for instance because the key is refused.
        """
        return asyncio.run(self._send_concurrently(prompts, on_reply))

    def _open_client(self) -> ModelClient:
        from eval.model.client import ModelClient

        return ModelClient.open(self._options, max_tokens=self._max_tokens, logprobs=False)

    async def _fetch_params(self) -> dict[str, Any]:
        async with self._open_client() as client:
            return client.params()

    async def _send_concurrently(
        self, prompts: Sequence[list[Message]], on_reply: Callable[[int, T | None], None]
    ) -> CallLog:
        from eval.model.calls import record_calls

        # All workers take their prompts from this one iterator.
        pending = iter(enumerate(prompts))

        async def process_prompts(client: ModelClient) -> None:
            for index, prompt in pending:
                try:
                    value = (await client.ask(prompt, self._reply_type)).value
                except ModelCallError:
                    value = None
                on_reply(index, value)

        with record_calls() as call_log:
            async with self._open_client() as client:
                try:
                    async with asyncio.TaskGroup() as task_group:
                        for _ in range(min(self._options.concurrency, len(prompts))):
                            task_group.create_task(process_prompts(client))
                except BaseExceptionGroup as errors:
                    # Each of these errors affects every call, so the first one is enough.
                    raise errors.exceptions[0] from None
        return call_log
