"""Defines what a system is, for all benchmarks."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class System(Protocol):
    """Answers items from what it may see of them.

    ``answer`` may be an ``async def``; then many items are asked at once. An ordinary method is
    called in the event loop's thread, one item at a time. A system that must release resources may
    have ``async def aclose(self)``, which is awaited at the end of the run, even if the run fails.
    """

    @property
    def name(self) -> str:
        """Name of the system in replies and rows."""
        ...

    def params(self) -> dict[str, Any]:
        """Returns all parameters that influence the answers, as JSON values, for the manifest."""
        ...

    def answer(self, view: Any, /) -> Any:
        """Answers one item: the benchmark's own value, a text, or a ``Reply``."""
        ...


def is_async(system: System) -> bool:
    """Returns whether a system's answer must be awaited."""
    return inspect.iscoroutinefunction(system.answer)


def find_close_functions(systems: Iterable[Any]) -> tuple[Callable[[], Awaitable[object]], ...]:
    """Returns functions that close the systems that have ``aclose``, each at most once."""
    found = (getattr(system, "aclose", None) for system in systems)
    return tuple(close_once(close) for close in found if callable(close))


def close_once(close: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
    """Returns a function that awaits ``close`` when it is called first, and then nothing."""
    is_closed = False

    async def close_first() -> None:
        nonlocal is_closed
        if not is_closed:
            is_closed = True
            await close()

    return close_first
