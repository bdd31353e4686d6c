"""Asynchronous systems for tests of the runner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cards.card import CardView
from eval.model.calls import current_calls
from eval.model.usage import Usage

Reply = Callable[[int], Awaitable[Any]]


class ScriptedSystem:
    """Answers each question with a scripted coroutine and counts how many run at once."""

    def __init__(self, reply: Reply, name: str = "scripted") -> None:
        self.name = name
        self.reply = reply
        self.concurrent = 0
        self.max_concurrent = 0
        self.asked_numbers: list[int] = []
        self.closed = 0

    def params(self) -> dict[str, Any]:
        return {}

    async def answer(self, card: CardView) -> Any:
        # The questions are "Does Brook 7 flow into Lake 7?".
        number = int(card.question.split()[2])
        self.asked_numbers.append(number)
        self.concurrent += 1
        self.max_concurrent = max(self.max_concurrent, self.concurrent)
        try:
            return await self.reply(number)
        finally:
            self.concurrent -= 1

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed += 1


@pytest.fixture
def make_system() -> Callable[[Reply], ScriptedSystem]:
    """Returns the class ``ScriptedSystem``, which makes a system from a coroutine function."""
    return ScriptedSystem


async def add_call(cost: float | None, *, cached: bool = False, latency_s: float = 0.25) -> None:
    """Records a reply of 10 + 5 tokens in the call log, like a model client."""
    await asyncio.sleep(0)
    current_calls().add_reply(latency_s=latency_s, usage=Usage(10, 5, cost), cached=cached)


@pytest.fixture
def record_call() -> Callable[..., Awaitable[None]]:
    """Returns a coroutine function that records a reply and its cost in the call log."""
    return add_call
