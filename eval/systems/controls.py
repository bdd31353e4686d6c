"""Controls: policies that know nothing. A metric that one of them wins is worth nothing alone.

Always-YES, always-NO, always-UNKNOWN, and a uniform random choice. ``controls`` runs the four into
one file, their rows card by card.
"""

from __future__ import annotations

import random
from typing import Any

from cards.card import CardView
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions
from kg.base.files import to_json_bytes
from kg.claims import Gold

_CHOICES: tuple[Gold, ...] = ("YES", "NO", "UNKNOWN")


class Constant:
    """Gives the same answer to every card."""

    def __init__(self, pred: Gold) -> None:
        self.name = f"always-{pred}"
        self._answer = Answer(pred=pred)

    def params(self) -> dict[str, Any]:
        """Nothing but the answer decides."""
        return {"pred": self._answer.pred}

    def answer(self, card: CardView) -> Answer:  # noqa: ARG002 - it looks at nothing
        """The one answer."""
        return self._answer


class RandomChoice:
    """Chooses uniformly, seeded by the card's visible text.

    The order of cards, their number and the other systems of the run make no difference: the same
    card gets the same answer in every file.
    """

    name = "random"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def params(self) -> dict[str, Any]:
        """The seed."""
        return {"seed": self._seed}

    def answer(self, card: CardView) -> Answer:
        """One of the three answers."""
        chooser = random.Random(to_json_bytes([self._seed, card]))  # noqa: S311 - no secret
        return Answer(pred=chooser.choice(_CHOICES))


@register("always-YES")
def always_yes(options: SystemOptions) -> Constant:
    """Control: YES to everything."""
    Settings(options.settings, "always-YES").refuse_others()
    return Constant("YES")


@register("always-NO")
def always_no(options: SystemOptions) -> Constant:
    """Control: NO to everything."""
    Settings(options.settings, "always-NO").refuse_others()
    return Constant("NO")


@register("always-UNKNOWN")
def always_unknown(options: SystemOptions) -> Constant:
    """Control: UNKNOWN to everything."""
    Settings(options.settings, "always-UNKNOWN").refuse_others()
    return Constant("UNKNOWN")


@register("random")
def random_choice(options: SystemOptions) -> RandomChoice:
    """Control: one of the three answers at random, fixed by --seed and the card's text."""
    Settings(options.settings, "random").refuse_others()
    return RandomChoice(options.seed)


@register("controls")
def controls(options: SystemOptions) -> tuple[Constant | RandomChoice, ...]:
    """The four controls (always-YES, always-NO, always-UNKNOWN, random) into one file."""
    Settings(options.settings, "controls").refuse_others()
    return (*(Constant(pred) for pred in _CHOICES), RandomChoice(options.seed))
