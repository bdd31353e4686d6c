"""What a system under test is: the two protocols and what a factory is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from cards.card import CardView
from eval.result import Answer
from kg.claims import Claim


@runtime_checkable
class System(Protocol):
    """Answers a card from its visible view only."""

    name: str

    def params(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON values, for the manifest."""
        ...

    def answer(self, card: CardView) -> Answer | str:
        """Answers one card; a plain ``"YES"``, ``"NO"`` or ``"UNKNOWN"`` is enough."""
        ...


@runtime_checkable
class ClaimOracle(Protocol):
    """The one exempt kind of system: it is handed the claim itself, and every table says so."""

    name: str

    def params(self) -> dict[str, Any]:
        """As in ``System``."""
        ...

    def answer_claim(self, claim: Claim) -> Answer:
        """Answers the claim behind a card."""
        ...


class SystemOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line hands to a system's factory."""

    domain: str | None = None
    graph: tuple[Path, ...] = ()
    shapes: tuple[Path, ...] = ()
    seed: int = 12345
    settings: dict[str, str] = {}
    """``--set key=value`` pairs, for whatever the system documents."""
