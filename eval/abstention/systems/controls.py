"""Controls: trivial systems that ignore the card, for comparison with real systems.

The controls are always-YES, always-NO, always-UNKNOWN, and a uniform random choice. A metric on
which a control has the best value must be read together with other metrics. The system ``controls``
runs all four and writes their rows to one file, card by card.
"""

from __future__ import annotations

import random
from typing import Any

from cards.card import CardView
from eval.abstention.result import Answer
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from kg.base.files import to_json_bytes
from kg.claims import Gold

_CHOICES: tuple[Gold, ...] = ("YES", "NO", "UNKNOWN")


class ConstantAnswer:
    """Gives the same answer to every card."""

    def __init__(self, pred: Gold) -> None:
        self.name = f"always-{pred}"
        self._answer = Answer(pred=pred)

    def params(self) -> dict[str, Any]:
        """Returns the constant answer, the only parameter."""
        return {"pred": self._answer.pred}

    def answer(self, card: CardView) -> Answer:  # noqa: ARG002 - it ignores the card
        """Returns the constant answer."""
        return self._answer


class RandomChoice:
    """Chooses an answer uniformly at random, seeded by the card's visible text.

    A card therefore gets the same answer in every file, independent of the order and number of
    cards and of the other systems of the run.
    """

    name = "random"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def params(self) -> dict[str, Any]:
        """Returns the seed."""
        return {"seed": self._seed}

    def answer(self, card: CardView) -> Answer:
        """Returns one of the three answers, at random but always the same for the same card."""
        rng = random.Random(to_json_bytes([self._seed, card]))  # noqa: S311 - no secret
        return Answer(pred=rng.choice(_CHOICES))


@register("always-YES")
def create_always_yes(options: SystemOptions) -> ConstantAnswer:
    """Control: YES to everything."""
    Settings(options.settings, "always-YES").refuse_unknown()
    return ConstantAnswer("YES")


@register("always-NO")
def create_always_no(options: SystemOptions) -> ConstantAnswer:
    """Control: NO to everything."""
    Settings(options.settings, "always-NO").refuse_unknown()
    return ConstantAnswer("NO")


@register("always-UNKNOWN")
def create_always_unknown(options: SystemOptions) -> ConstantAnswer:
    """Control: UNKNOWN to everything."""
    Settings(options.settings, "always-UNKNOWN").refuse_unknown()
    return ConstantAnswer("UNKNOWN")


@register("random")
def create_random_choice(options: SystemOptions) -> RandomChoice:
    """Control: one of the three answers at random, fixed by --seed and the card's text."""
    Settings(options.settings, "random").refuse_unknown()
    return RandomChoice(options.seed)


@register("controls")
def create_controls(options: SystemOptions) -> tuple[ConstantAnswer | RandomChoice, ...]:
    """The four controls (always-YES, always-NO, always-UNKNOWN, random) into one file."""
    Settings(options.settings, "controls").refuse_unknown()
    return (*(ConstantAnswer(pred) for pred in _CHOICES), RandomChoice(options.seed))
