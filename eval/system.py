"""What a system under test is: the two protocols and what a factory is given."""

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

    ``answer`` may be an ``async def``: then many cards are asked at once. A plain one is called in
    the loop's own thread, one card at a time. A system that holds something open while it is asked
    may have ``async def aclose(self)``, which is awaited when the run ends, however it ends.
    """

    name: str

    def params(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON values, for the manifest."""
        ...

    def answer(self, card: CardView) -> Answer | str | Awaitable[Answer | str]:
        """Answers one card; a plain ``"YES"``, ``"NO"`` or ``"UNKNOWN"`` is enough."""
        ...


@runtime_checkable
class ClaimOracle(Protocol):
    """The one exempt kind of system: it is handed the claim itself, and every table says so."""

    name: str

    def params(self) -> dict[str, Any]:
        """As in ``System``."""
        ...

    def answer_claim(self, claim: Claim) -> Answer | Awaitable[Answer]:
        """Answers the claim behind a card; may be an ``async def`` too."""
        ...


class SystemOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line hands to a system's factory."""

    domain: str | None = None
    graph: tuple[Path, ...] = ()
    shapes: tuple[Path, ...] = ()
    seed: int = 12345
    settings: dict[str, str] = {}
    """``--set key=value`` pairs, for whatever the system documents: what decides answers."""
    client: ClientOptions = ClientOptions()
    """How models are called, for systems that call one; hand it to ``ModelClient.open``."""
