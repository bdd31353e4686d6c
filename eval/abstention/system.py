"""Defines the two protocols of systems that answer cards."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, runtime_checkable

from cards.card import CardView
from eval.abstention.result import Answer
from eval.harness.systems.system_options import SystemOptions as SystemOptions
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


AnySystem = System | ClaimOracle
