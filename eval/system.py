"""Defines the two protocols of systems under test, and the options that a factory receives."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from cards.card import CardView
from eval.model.options import ClientOptions
from eval.result import Answer
from kg.claims import Claim


@runtime_checkable
class System(Protocol):
    """Answers a card from its visible view only.

    ``answer`` may be an ``async def``; then many cards are asked at once. An ordinary method is
    called in the event loop's thread, one card at a time. A system that must release resources may
    have ``async def aclose(self)``, which is awaited at the end of the run, even if the run fails.
    """

    name: str

    def params(self) -> dict[str, Any]:
        """Returns all parameters that influence the answers, as JSON values, for the manifest."""
        ...

    def answer(self, card: CardView) -> Answer | str | Awaitable[Answer | str]:
        """Answers one card; the string ``"YES"``, ``"NO"`` or ``"UNKNOWN"`` is enough."""
        ...


@runtime_checkable
class ClaimOracle(Protocol):
    """A system that receives the claim itself instead of the view; all tables mark it as such."""

    name: str

    def params(self) -> dict[str, Any]:
        """Returns the same as ``System.params``."""
        ...

    def answer_claim(self, claim: Claim) -> Answer | Awaitable[Answer]:
        """Answers the claim behind a card; may be an ``async def`` too."""
        ...


class SystemOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that the command line passes to a system's factory."""

    domain: str | None = None
    graph: tuple[Path, ...] = ()
    shapes: tuple[Path, ...] = ()
    seed: int = 12345
    settings: dict[str, str] = {}
    """``--set key=value`` pairs: the documented settings that decide the system's answers."""
    client: ClientOptions = ClientOptions()
    """The options for calling models; systems with a model pass them to ``ModelClient.open``."""
