"""Systems that wait, for tests of the runner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cards.card import CardView
from eval.model.calls import current_calls
from eval.result import Usage

Reply = Callable[[int], Awaitable[Any]]


class Scripted:
    """Does for each question what it is told; knows how many it is being asked at once."""

    def __init__(self, reply: Reply, name: str = "scripted") -> None:
        self.name = name
        self.reply = reply
        self.now = 0
        self.most = 0
        self.asked: list[int] = []
        self.closed = 0

    def params(self) -> dict[str, Any]:
        return {}

    async def answer(self, card: CardView) -> Any:
        number = int(card.question.split()[2])
        self.asked.append(number)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await self.reply(number)
        finally:
            self.now -= 1

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed += 1


@pytest.fixture
def scripted() -> Callable[[Reply], Scripted]:
    return Scripted


async def pay(cost: float | None, *, cached: bool = False, latency_s: float = 0.25) -> None:
    """Does what a model client does when a reply has come."""
    await asyncio.sleep(0)
    current_calls().add(latency_s=latency_s, usage=Usage(10, 5, cost), cached=cached)


@pytest.fixture(name="pay")
def paying() -> Callable[..., Awaitable[None]]:
    return pay
