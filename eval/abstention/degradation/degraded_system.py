"""Shows a system cards whose facts are those of a degraded graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from cards.card import CardView
from eval.abstention.answers import is_async
from eval.abstention.degradation.degraded_graph import Level
from eval.abstention.system import AnySystem, ClaimOracle


def show_degraded_cards(
    system: AnySystem, level: Level, sentences: Mapping[str, str | None]
) -> AnySystem:
    """Returns the system as it answers cards with other facts.

    A system that receives the claim instead of the card is returned as it is.

    Args:
        system: the system; it uses the degraded graph already, if it uses one.
        level: how much is damaged, for the manifest.
        sentences: what cards say instead of a sentence, as of ``list_degraded_sentences``.
    """
    if isinstance(system, ClaimOracle):
        return system
    return _DegradedSystem(system, level, sentences)


class _DegradedSystem:
    """Passes everything on to a system, except the facts of a card that the graph has lost."""

    def __init__(self, system: Any, level: Level, sentences: Mapping[str, str | None]) -> None:
        self._system = system
        self._level = level
        self._sentences = sentences
        self.name: str = system.name
        self.answer: Any = self._answer_async if is_async(system) else self._answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def params(self) -> dict[str, Any]:
        """Returns the parameters of the system, and how much its cards are damaged."""
        return {**self._system.params(), "degradation": self._level._asdict()}

    def _answer(self, card: CardView) -> Any:
        return self._system.answer(self._degrade(card))

    async def _answer_async(self, card: CardView) -> Any:
        return await self._system.answer(self._degrade(card))

    def _degrade(self, card: CardView) -> CardView:
        facts = (self._sentences.get(sentence, sentence) for sentence in card.facts)
        return replace(card, facts=tuple(fact for fact in facts if fact is not None))
